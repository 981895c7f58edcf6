//! The library `libmpi.so.40`, for programs that were built for Open MPI 4 or 5.
//!
//! Handles are addresses there. Those of predefined objects are addresses of variables, which a program may have copied into
//! itself when it was linked: so the variable says which of our handles it stands for, and where it is is asked of the linker.
//! A handle of an object that the program creates is odd, and so no such address: it is made of the integer that Fortran has for it.
//!
//! - `generated`: the functions, tables of values, and the variables. `handles`: handles and statuses. `variables`:
//!   the form of these variables. `data`: other ones.
//! - `leftovers`: functions that the standard has removed.

mod data;
mod generated;
mod handles;
mod leftovers;
mod variables;

use generated::tables;
use weft_shims::Abi;

/// This interface.
pub(crate) struct This;

macro_rules! from_tables {
    ($($name:ident)*) => {$(
        fn $name(value: i32) -> i32 {
            tables::$name(value)
        }
    )*};
}

impl Abi for This {
    type Comm = handles::Comm;
    type Datatype = handles::Datatype;
    type Errhandler = handles::Errhandler;
    type File = handles::File;
    type Group = handles::Group;
    type Info = handles::Info;
    type Op = handles::Op;
    type Request = handles::Request;
    type Session = handles::Session;
    type Win = handles::Win;
    type Status = handles::Status;

    const BSEND_OVERHEAD: usize = 128;

    fn buffer_ours(address: usize) -> usize {
        tables::buffer_ours(address)
    }

    fn buffer_theirs(address: usize) -> usize {
        tables::buffer_theirs(address)
    }

    from_tables! {
        error_ours error_theirs keyval_ours keyval_theirs rank_ours rank_theirs order_theirs distribution_theirs
        distribution_argument_theirs flavor_theirs model_theirs
    }
}
