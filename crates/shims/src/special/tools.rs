//! Objects to which variables and events of the tool information interface are bound.
//!
//! Unsafe because it calls C, and reads what the program passes.
#![allow(unsafe_code)]

use crate::abi::{Abi, Handle};
use crate::c;
use core::ffi::{c_int, c_void};
use core::ptr::null_mut;
use weft_base::constants::{
    MPI_T_BIND_MPI_COMM, MPI_T_BIND_MPI_DATATYPE, MPI_T_BIND_MPI_ERRHANDLER, MPI_T_BIND_MPI_FILE,
    MPI_T_BIND_MPI_GROUP, MPI_T_BIND_MPI_INFO, MPI_T_BIND_MPI_OP, MPI_T_BIND_MPI_REQUEST,
    MPI_T_BIND_MPI_SESSION, MPI_T_BIND_MPI_WIN,
};

/// Reads the handle that an address leads to, by what the variable or event is bound to; none where it is bound to nothing.
///
/// # Safety
/// `object` is null or the address of such a handle.
unsafe fn bound<A: Abi>(bind: c_int, object: *mut c_void) -> Option<usize> {
    unsafe fn read<H: Handle>(object: *mut c_void) -> usize {
        // SAFETY: the address of a handle of this kind.
        unsafe { (*object.cast::<H>()).ours() }
    }
    let read = match bind {
        _ if object.is_null() => return None,
        MPI_T_BIND_MPI_COMM => read::<A::Comm>,
        MPI_T_BIND_MPI_DATATYPE => read::<A::Datatype>,
        MPI_T_BIND_MPI_ERRHANDLER => read::<A::Errhandler>,
        MPI_T_BIND_MPI_FILE => read::<A::File>,
        MPI_T_BIND_MPI_GROUP => read::<A::Group>,
        MPI_T_BIND_MPI_OP => read::<A::Op>,
        MPI_T_BIND_MPI_REQUEST => read::<A::Request>,
        MPI_T_BIND_MPI_WIN => read::<A::Win>,
        MPI_T_BIND_MPI_INFO => read::<A::Info>,
        MPI_T_BIND_MPI_SESSION => read::<A::Session>,
        _ => return None,
    };
    // SAFETY: the caller's promise.
    Some(unsafe { read(object) })
}

/// Returns what the call takes in place of an address of the program.
fn place(handle: &mut Option<usize>, object: *mut c_void) -> *mut c_void {
    handle.as_mut().map_or(object, |handle| core::ptr::from_mut(handle).cast())
}

/// `MPI_T_cvar_handle_alloc`
///
/// # Safety
/// As the interface says.
pub unsafe fn t_cvar_handle_alloc<A: Abi>(
    cvar_index: c_int,
    obj_handle: *mut c_void,
    handle: *mut usize,
    count: *mut c_int,
) -> c_int {
    let [mut name, mut verbosity, mut desc, mut bind, mut scope] = [0; 5];
    let [mut datatype, mut enumtype] = [0; 2];
    // SAFETY: variables; texts are not wanted. What is wrong with the index is said by the call itself.
    unsafe {
        c::MPI_T_cvar_get_info(
            cvar_index,
            null_mut(),
            &mut name,
            &mut verbosity,
            &mut datatype,
            &mut enumtype,
            null_mut(),
            &mut desc,
            &mut bind,
            &mut scope,
        );
        let mut object = bound::<A>(bind, obj_handle);
        A::error_theirs(c::MPI_T_cvar_handle_alloc(cvar_index, place(&mut object, obj_handle), handle, count))
    }
}

/// `MPI_T_pvar_handle_alloc`
///
/// # Safety
/// As the interface says.
pub unsafe fn t_pvar_handle_alloc<A: Abi>(
    pe_session: usize,
    pvar_index: c_int,
    obj_handle: *mut c_void,
    handle: *mut usize,
    count: *mut c_int,
) -> c_int {
    let [mut name, mut verbosity, mut class, mut desc, mut bind, mut readonly, mut continuous, mut atomic] =
        [0; 8];
    let [mut datatype, mut enumtype] = [0; 2];
    // SAFETY: variables, and no texts. A wrong index is reported by the second call.
    unsafe {
        c::MPI_T_pvar_get_info(
            pvar_index,
            null_mut(),
            &mut name,
            &mut verbosity,
            &mut class,
            &mut datatype,
            &mut enumtype,
            null_mut(),
            &mut desc,
            &mut bind,
            &mut readonly,
            &mut continuous,
            &mut atomic,
        );
        let mut object = bound::<A>(bind, obj_handle);
        let object = place(&mut object, obj_handle);
        A::error_theirs(c::MPI_T_pvar_handle_alloc(pe_session, pvar_index, object, handle, count))
    }
}

/// `MPI_T_event_handle_alloc`
///
/// # Safety
/// As the interface says.
pub unsafe fn t_event_handle_alloc<A: Abi>(
    event_index: c_int,
    obj_handle: *mut c_void,
    info: A::Info,
    event_registration: *mut usize,
) -> c_int {
    let [mut name, mut verbosity, mut elements, mut desc, mut bind] = [0; 5];
    let mut enumtype = 0;
    // SAFETY: variables, no texts and no arrays. The call itself says what is wrong with an index.
    unsafe {
        c::MPI_T_event_get_info(
            event_index,
            null_mut(),
            &mut name,
            &mut verbosity,
            null_mut(),
            null_mut(),
            &mut elements,
            &mut enumtype,
            null_mut(),
            null_mut(),
            &mut desc,
            &mut bind,
        );
        let mut object = bound::<A>(bind, obj_handle);
        let object = place(&mut object, obj_handle);
        A::error_theirs(c::MPI_T_event_handle_alloc(event_index, object, info.ours(), event_registration))
    }
}
