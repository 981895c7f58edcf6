//! Persistent collective operations (chapter 6), those among neighbors included (chapter 8).

use crate::collective_forms::{Form, with_collectives};
use crate::collectives;
use core::ffi::{c_int, c_void};
use weft_base::abi::{self, Aint, Count};
use weft_base::{Counts, In, Out, Result};

macro_rules! persistent {
    ($($of:ident $_b:literal, $_n:ident $_nt:literal, $name:ident $text:literal ($($argument:ident: $kind:ty),*);)*) => {$(
        #[doc = concat!("`", $text, "`")]
        ///
        /// # Errors
        /// As the blocking form for the arguments, and `MPI_ERR_INFO`.
        #[allow(clippy::too_many_arguments)]
        pub fn $name($($argument: $kind,)* info: abi::Info, request: Out<abi::Request>) -> Result {
            collectives::$of(Form::Persistent(info, request), $($argument),*)
        }
    )*};
}
with_collectives!(persistent);
