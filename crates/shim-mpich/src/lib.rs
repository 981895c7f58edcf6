//! The library `libmpi.so.12`, for programs that were built for MPICH, Intel MPI, or another MPI with MPICH's binary interface.
//!
//! Handles are integers there. Those of predefined objects are in tables; those of objects that the program creates are the
//! integers that Fortran has for them (`MPI_Comm_toint`), none of which is that of a predefined one (`handles::is_created`).
//! A file is an address there, and is our handle.
//!
//! - `generated`: the functions, and tables of values. `handles`: handles and statuses. `data`: variables of the interface.
//! - `leftovers`: functions that the standard has removed.

mod data;
mod generated;
mod handles;
mod leftovers;

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

    // Intel's; MPICH has 96.
    const BSEND_OVERHEAD: usize = 88;

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
