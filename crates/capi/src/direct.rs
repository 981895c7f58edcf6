//! Procedures which concern C and Fortran only and need nothing below: address arithmetic, handles as integers,
//! statuses as Fortran sees them.

use core::ffi::c_int;
use weft_base::abi::{self, Aint, Status};
use weft_base::arguments::{In, Out};
use weft_base::constants::{MPI_ERR_ARG, MPI_ERR_OTHER, MPI_F_STATUS_SIZE};
use weft_base::{Error, Result};
use weft_mpi::arguments::wide_handles::{NOTHING, from_int, limit_reached, to_int};
use weft_mpi::errors::handling::{Object, raise};

/// `MPI_Aint_add`: addresses wrap, as unsigned ones do.
pub fn aint_add(base: Aint, disp: Aint) -> Aint {
    base.wrapping_add(disp)
}

/// `MPI_Aint_diff`
pub fn aint_diff(addr1: Aint, addr2: Aint) -> Aint {
    addr1.wrapping_sub(addr2)
}

/// Returns the integer of a handle. An object for which there is none is an error of the call.
#[inline(always)]
fn number(call: &'static str, handle: usize) -> c_int {
    let number = to_int(handle);
    if number == NOTHING {
        refuse(call, handle);
    }
    number
}

#[cold]
#[inline(never)]
fn refuse(call: &'static str, handle: usize) {
    if let Some(most) = limit_reached(handle) {
        let text = format!(
            "the object is one beside {most} others of its kind, and there are no more integers; free objects"
        );
        raise(call, Object::None, Error::new(MPI_ERR_OTHER, text));
    }
}

macro_rules! conversions {
    ($($handle:ident: $toint:ident $fromint:ident $c2f:ident $f2c:ident, $toint_name:literal $c2f_name:literal;)*) => {$(
        #[doc = concat!("Converts an `MPI_", stringify!($handle), "` to an integer.")]
        pub fn $toint(handle: abi::$handle) -> c_int {
            number($toint_name, handle.0)
        }
        #[doc = concat!("Converts an integer to the `MPI_", stringify!($handle), "` it was made from.")]
        pub fn $fromint(number: c_int) -> abi::$handle {
            abi::$handle(from_int(number))
        }
        #[doc = concat!("Converts an `MPI_", stringify!($handle), "` to Fortran's integer.")]
        pub fn $c2f(handle: abi::$handle) -> c_int {
            number($c2f_name, handle.0)
        }
        #[doc = concat!("Converts Fortran's integer to an `MPI_", stringify!($handle), "`.")]
        pub fn $f2c(number: c_int) -> abi::$handle {
            abi::$handle(from_int(number))
        }
    )*};
}

conversions! {
    Comm: comm_toint comm_fromint comm_c2f comm_f2c, "MPI_Comm_toint" "MPI_Comm_c2f";
    Datatype: type_toint type_fromint type_c2f type_f2c, "MPI_Type_toint" "MPI_Type_c2f";
    Errhandler: errhandler_toint errhandler_fromint errhandler_c2f errhandler_f2c, "MPI_Errhandler_toint" "MPI_Errhandler_c2f";
    File: file_toint file_fromint file_c2f file_f2c, "MPI_File_toint" "MPI_File_c2f";
    Group: group_toint group_fromint group_c2f group_f2c, "MPI_Group_toint" "MPI_Group_c2f";
    Info: info_toint info_fromint info_c2f info_f2c, "MPI_Info_toint" "MPI_Info_c2f";
    Message: message_toint message_fromint message_c2f message_f2c, "MPI_Message_toint" "MPI_Message_c2f";
    Op: op_toint op_fromint op_c2f op_f2c, "MPI_Op_toint" "MPI_Op_c2f";
    Request: request_toint request_fromint request_c2f request_f2c, "MPI_Request_toint" "MPI_Request_c2f";
    Session: session_toint session_fromint session_c2f session_f2c, "MPI_Session_toint" "MPI_Session_c2f";
    Win: win_toint win_fromint win_c2f win_f2c, "MPI_Win_toint" "MPI_Win_c2f";
}

fn check(what: &str, null: bool) -> Result {
    if null { Err(Error::new(MPI_ERR_ARG, format!("the {what} is a null pointer"))) } else { Ok(()) }
}

fn to_words(status: Status) -> [c_int; MPI_F_STATUS_SIZE as usize] {
    let [a, b, c, d, e] = status.internal;
    [status.source, status.tag, status.error, a, b, c, d, e]
}

fn from_words(words: &[c_int]) -> Status {
    let mut internal = [0; 5];
    internal.copy_from_slice(&words[3..8]);
    Status { source: words[0], tag: words[1], error: words[2], internal }
}

fn store(words: [c_int; 8], target: Out<c_int>) {
    for (index, word) in words.into_iter().enumerate() {
        target.set_at(index, word);
    }
}

/// `MPI_Status_c2f`
///
/// # Errors
/// `MPI_ERR_ARG` for a null pointer.
pub fn status_c2f(c_status: In<Status>, f_status: Out<c_int>) -> Result {
    check("status", c_status.is_null() || f_status.is_null())?;
    store(to_words(c_status.get(0)), f_status);
    Ok(())
}

/// `MPI_Status_f2c`
///
/// # Errors
/// `MPI_ERR_ARG` for a null pointer.
pub fn status_f2c(f_status: In<c_int>, c_status: Out<Status>) -> Result {
    check("status", f_status.is_null() || c_status.is_null())?;
    c_status.set(from_words(&f_status.to_vec(8)));
    Ok(())
}

/// `MPI_Status_c2f08`: both are the same eight words.
///
/// # Errors
/// `MPI_ERR_ARG` for a null pointer.
pub fn status_c2f08(c_status: In<Status>, f08_status: Out<Status>) -> Result {
    check("status", c_status.is_null() || f08_status.is_null())?;
    f08_status.set(c_status.get(0));
    Ok(())
}

/// `MPI_Status_f082c`
///
/// # Errors
/// `MPI_ERR_ARG` for a null pointer.
pub fn status_f082c(f08_status: In<Status>, c_status: Out<Status>) -> Result {
    status_c2f08(f08_status, c_status)
}

/// `MPI_Status_f2f08`
///
/// # Errors
/// `MPI_ERR_ARG` for a null pointer.
pub fn status_f2f08(f_status: In<c_int>, f08_status: Out<Status>) -> Result {
    status_f2c(f_status, f08_status)
}

/// `MPI_Status_f082f`
///
/// # Errors
/// `MPI_ERR_ARG` for a null pointer.
pub fn status_f082f(f08_status: In<Status>, f_status: Out<c_int>) -> Result {
    status_c2f(f08_status, f_status)
}
