//! Functions that the standard has removed.
//!
//! Unsafe because C calls them with pointers that are what their interfaces say.
#![allow(unsafe_code)]

use crate::This;
use crate::generated::tables;
use crate::handles::{Comm, Datatype, Errhandler};
use core::ffi::{c_int, c_void};
use weft_shims::c;
use weft_shims::handles::{Handles, Variable};

weft_shims::leftovers!();
