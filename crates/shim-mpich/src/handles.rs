//! Handles and statuses of the interface.
//!
//! Unsafe because it calls C.
#![allow(unsafe_code)]

use crate::generated::tables;
use core::ffi::c_int;
use weft_base::abi;
use weft_base::constants::MPI_FILE_NULL;
use weft_shims::{Handle, StatusLayout, c, wrong_handle};

/// Tells whether a number may be that of a created object. Numbers of requests and of most others are negative; those that
/// are not have an index, from 4096, in bits where predefined handles of this interface have higher ones.
#[inline(always)]
fn is_created(number: c_int) -> bool {
    number < 0 || (1 << 12..1 << 24).contains(&(number & 0xfff_ffff))
}

macro_rules! kinds {
    ($($kind:ident: $ours:ident $theirs:ident $toint:ident $fromint:ident),* $(,)?) => {$(
        #[doc = concat!("`MPI_", stringify!($kind), "`")]
        #[derive(Clone, Copy)]
        #[repr(transparent)]
        pub struct $kind(c_int);

        impl Handle for $kind {
            #[inline(always)]
            fn ours(self) -> usize {
                match tables::$ours(self.0) {
                    // SAFETY: takes any number.
                    0 if is_created(self.0) => unsafe { c::$fromint(self.0) },
                    0 => wrong_handle(self.0 as u32 as usize),
                    handle => handle,
                }
            }

            #[inline(always)]
            fn theirs(handle: usize) -> Self {
                match tables::$theirs(handle) {
                    // SAFETY: takes any handle.
                    0 => Self(unsafe { c::$toint(handle) }),
                    number => Self(number),
                }
            }

            fn number(self) -> c_int {
                self.0
            }

            fn of_number(number: c_int) -> Self {
                Self(number)
            }
        }
    )*};
}

kinds! {
    Comm: comm_ours comm_theirs MPI_Comm_toint MPI_Comm_fromint,
    Datatype: datatype_ours datatype_theirs MPI_Type_toint MPI_Type_fromint,
    Errhandler: errhandler_ours errhandler_theirs MPI_Errhandler_toint MPI_Errhandler_fromint,
    Group: group_ours group_theirs MPI_Group_toint MPI_Group_fromint,
    Info: info_ours info_theirs MPI_Info_toint MPI_Info_fromint,
    Message: message_ours message_theirs MPI_Message_toint MPI_Message_fromint,
    Op: op_ours op_theirs MPI_Op_toint MPI_Op_fromint,
    Request: request_ours request_theirs MPI_Request_toint MPI_Request_fromint,
    Session: session_ours session_theirs MPI_Session_toint MPI_Session_fromint,
    Win: win_ours win_theirs MPI_Win_toint MPI_Win_fromint,
}

/// `MPI_File`, an address there: null, or our handle.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct File(usize);

impl Handle for File {
    #[inline(always)]
    fn ours(self) -> usize {
        match self.0 {
            0 => MPI_FILE_NULL.0,
            low if low < 1 << 16 => wrong_handle(low),
            handle => handle,
        }
    }

    #[inline(always)]
    fn theirs(handle: usize) -> Self {
        Self(if handle == MPI_FILE_NULL.0 { 0 } else { handle })
    }

    fn number(self) -> c_int {
        // SAFETY: takes any handle.
        if self.0 == 0 { 0 } else { unsafe { c::MPI_File_toint(self.ours()) } }
    }

    fn of_number(number: c_int) -> Self {
        // SAFETY: takes any number.
        Self(if number == 0 { 0 } else { unsafe { c::MPI_File_fromint(number) } })
    }
}

/// `MPI_Status`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Status {
    count_low: c_int,
    /// The upper bits of the count, and the lowest says whether it was cancelled.
    count_high_and_cancelled: c_int,
    source: c_int,
    tag: c_int,
    error: c_int,
}

impl StatusLayout for Status {
    const IGNORE: usize = 1;

    #[inline]
    fn ours(&self) -> abi::Status {
        let high = self.count_high_and_cancelled as u32;
        let count = u64::from(self.count_low as u32) | u64::from(high >> 1) << 32;
        let mut status = abi::Status::of(count, high & 1 != 0);
        status.source = tables::rank_ours(self.source);
        status.tag = tables::tag_ours(self.tag);
        status.error = tables::error_ours(self.error);
        status
    }

    #[inline]
    fn store(&mut self, status: &abi::Status) {
        let count = status.bytes();
        self.count_low = count as u32 as c_int;
        self.count_high_and_cancelled =
            (((count >> 32) as u32) << 1 | u32::from(status.cancelled())) as c_int;
        self.source = tables::rank_theirs(status.source);
        self.tag = tables::tag_theirs(status.tag);
    }

    #[inline]
    fn store_error(&mut self, error: c_int) {
        self.error = tables::error_theirs(error);
    }
}
