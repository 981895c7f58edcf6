//! Handles and statuses of the interface.
//!
//! Unsafe because it calls C, and reads the variables that handles lead to.
#![allow(unsafe_code)]

use crate::generated::objects::ADDRESSES;
use crate::generated::tables;
use core::ffi::c_int;
use weft_base::abi;
use weft_shims::{Handle, StatusLayout, c, wrong_handle};

/// What our predefined handles are below.
const PREDEFINED: usize = 4096;

macro_rules! kinds {
    ($($kind:ident: $toint:ident $fromint:ident),* $(,)?) => {$(
        #[doc = concat!("`MPI_", stringify!($kind), "`")]
        #[derive(Clone, Copy)]
        #[repr(transparent)]
        pub struct $kind(usize);

        impl Handle for $kind {
            #[inline(always)]
            fn ours(self) -> usize {
                if self.0 & 1 != 0 {
                    // SAFETY: takes any number.
                    return unsafe { c::$fromint((self.0 >> 3) as c_int) };
                }
                // A variable is aligned to words, and in no first page.
                if self.0 < PREDEFINED || self.0 & 7 != 0 {
                    return wrong_handle(self.0);
                }
                // SAFETY: the address of one of the variables, as the program has no other even handles.
                match unsafe { *(self.0 as *const usize) } {
                    handle if handle < PREDEFINED && handle != 0 => handle,
                    _ => wrong_handle(self.0),
                }
            }

            #[inline(always)]
            fn theirs(handle: usize) -> Self {
                match ADDRESSES.get(handle) {
                    Some(address) => Self(address.0 as usize),
                    // SAFETY: takes any handle.
                    None => Self((unsafe { c::$toint(handle) } as u32 as usize) << 3 | 1),
                }
            }

            fn number(self) -> c_int {
                // SAFETY: takes any handle.
                unsafe { c::$toint(self.ours()) }
            }

            fn of_number(number: c_int) -> Self {
                // SAFETY: takes any number.
                Self::theirs(unsafe { c::$fromint(number) })
            }
        }
    )*};
}

kinds! {
    Comm: MPI_Comm_toint MPI_Comm_fromint,
    Datatype: MPI_Type_toint MPI_Type_fromint,
    Errhandler: MPI_Errhandler_toint MPI_Errhandler_fromint,
    File: MPI_File_toint MPI_File_fromint,
    Group: MPI_Group_toint MPI_Group_fromint,
    Info: MPI_Info_toint MPI_Info_fromint,
    Message: MPI_Message_toint MPI_Message_fromint,
    Op: MPI_Op_toint MPI_Op_fromint,
    Request: MPI_Request_toint MPI_Request_fromint,
    Session: MPI_Session_toint MPI_Session_fromint,
    Win: MPI_Win_toint MPI_Win_fromint,
}

/// `MPI_Status`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Status {
    source: c_int,
    tag: c_int,
    error: c_int,
    cancelled: c_int,
    count: u64,
}

impl StatusLayout for Status {
    const IGNORE: usize = 0;

    #[inline]
    fn ours(&self) -> abi::Status {
        let mut status = abi::Status::of(self.count, self.cancelled != 0);
        status.source = tables::rank_ours(self.source);
        status.tag = tables::tag_ours(self.tag);
        status.error = tables::error_ours(self.error);
        status
    }

    #[inline]
    fn store(&mut self, status: &abi::Status) {
        self.count = status.bytes();
        self.cancelled = status.cancelled().into();
        self.source = tables::rank_theirs(status.source);
        self.tag = tables::tag_theirs(status.tag);
    }

    #[inline]
    fn store_error(&mut self, error: c_int) {
        self.error = tables::error_theirs(error);
    }
}
