//! Calls of the user's functions.
#![allow(unsafe_code)]

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use weft_base::abi::{Count, Status};
use weft_base::constants::MPI_SUCCESS;
use weft_base::{Error, Result};

/// `MPI_Comm_copy_attr_function` and its siblings for datatypes and windows (whose first argument has the same size).
type CopyAttribute =
    unsafe extern "C" fn(usize, c_int, *mut c_void, *mut c_void, *mut *mut c_void, *mut c_int) -> c_int;
/// `MPI_Comm_delete_attr_function` and its siblings.
type DeleteAttribute = unsafe extern "C" fn(usize, c_int, *mut c_void, *mut c_void) -> c_int;
/// `MPI_Comm_errhandler_function` and its siblings.
type ErrorHandler = unsafe extern "C" fn(*mut usize, *mut c_int, ...);

/// What runs an error handler of another language.
type ForeignErrorHandler = unsafe extern "C" fn(usize, usize, *mut c_int);

/// `MPI_Grequest_query_function`
type Query = unsafe extern "C" fn(*mut c_void, *mut Status) -> c_int;
/// `MPI_Grequest_free_function`
type Free = unsafe extern "C" fn(*mut c_void) -> c_int;
/// `MPI_Grequest_cancel_function`
type Cancel = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;

/// `MPI_T_event_cb_function`
type ToolEvent = unsafe extern "C" fn(usize, usize, c_int, *mut c_void);
/// `MPI_T_event_dropped_cb_function`
type ToolDropped = unsafe extern "C" fn(Count, usize, c_int, c_int, *mut c_void);
/// `MPI_T_event_free_cb_function`
type ToolFreed = unsafe extern "C" fn(usize, c_int, *mut c_void);

/// Tells a tool of an event.
pub fn tool_event(function: usize, instance: usize, registration: usize, safety: c_int, user_data: usize) {
    // SAFETY: the tool registered this address as a callback for events.
    unsafe {
        core::mem::transmute::<usize, ToolEvent>(function)(
            instance,
            registration,
            safety,
            user_data as *mut c_void,
        );
    }
}

/// Tells a tool how many events were dropped.
pub fn tool_dropped(
    function: usize,
    count: Count,
    registration: usize,
    source: c_int,
    safety: c_int,
    user_data: usize,
) {
    // SAFETY: the tool registered this address as a handler of dropped events.
    unsafe {
        core::mem::transmute::<usize, ToolDropped>(function)(
            count,
            registration,
            source,
            safety,
            user_data as *mut c_void,
        );
    }
}

/// Tells a tool that a registration is not used any more.
pub fn tool_event_freed(function: usize, registration: usize, safety: c_int, user_data: usize) {
    // SAFETY: the tool gave this address when it freed the registration.
    unsafe {
        core::mem::transmute::<usize, ToolFreed>(function)(registration, safety, user_data as *mut c_void);
    }
}

/// Runs an attribute's copy function. Returns its error code and the new value, if it wants the attribute copied.
pub fn copy_attribute(
    function: usize,
    object: usize,
    keyval: c_int,
    extra_state: usize,
    value: usize,
) -> (c_int, Option<usize>) {
    let (mut copy, mut flag) = (core::ptr::null_mut(), 0);
    // SAFETY: the user registered this address as a function of this type.
    let code = unsafe {
        let function = core::mem::transmute::<usize, CopyAttribute>(function);
        function(object, keyval, extra_state as *mut c_void, value as *mut c_void, &mut copy, &mut flag)
    };
    (code, (flag != 0).then_some(copy as usize))
}

/// Runs an attribute's delete function and returns its error code.
pub fn delete_attribute(
    function: usize,
    object: usize,
    keyval: c_int,
    value: usize,
    extra_state: usize,
) -> c_int {
    // SAFETY: the user registered this address as a function of this type.
    unsafe {
        let function = core::mem::transmute::<usize, DeleteAttribute>(function);
        function(object, keyval, value as *mut c_void, extra_state as *mut c_void)
    }
}

/// Runs an error handler on the object with handle `object` and returns the code it leaves.
pub fn error_handler(function: usize, object: usize, code: c_int) -> c_int {
    let (mut object, mut code) = (object, code);
    HANDLERS.set(HANDLERS.get() + 1);
    // SAFETY: the user registered this address as a function of this type.
    unsafe {
        let function = core::mem::transmute::<usize, ErrorHandler>(function);
        function(&mut object, &mut code);
    }
    HANDLERS.set(HANDLERS.get().saturating_sub(1));
    code
}

/// Runs an error handler of another language: its binding's function, with the word that came with it.
pub fn foreign_error_handler(function: usize, word: usize, object: usize, code: c_int) -> c_int {
    let mut code = code;
    HANDLERS.set(HANDLERS.get() + 1);
    // SAFETY: the binding registered this address as a function of this type, for this word.
    unsafe {
        core::mem::transmute::<usize, ForeignErrorHandler>(function)(word, object, &mut code);
    }
    HANDLERS.set(HANDLERS.get().saturating_sub(1));
    code
}

thread_local! {
    /// How many error handlers of the calling thread run, one inside the other. A handler that leaves by a jump stays counted.
    static HANDLERS: Cell<u32> = const { Cell::new(0) };
}

/// Tells whether an error handler runs in the calling thread.
pub(crate) fn is_in_error_handler() -> bool {
    HANDLERS.get() > 0
}

/// Runs the query function of a generalized request, which fills in the status, and returns its error code.
pub fn query(function: usize, extra_state: usize, status: &mut Status) -> c_int {
    // SAFETY: the user registered this address as a function of this type.
    unsafe { core::mem::transmute::<usize, Query>(function)(extra_state as *mut c_void, status) }
}

/// Runs the free function of a generalized request and returns its error code.
pub fn free(function: usize, extra_state: usize) -> c_int {
    // SAFETY: the user registered this address as a function of this type.
    unsafe { core::mem::transmute::<usize, Free>(function)(extra_state as *mut c_void) }
}

/// Runs the cancel function of a generalized request and returns its error code.
pub fn cancel(function: usize, extra_state: usize, complete: bool) -> c_int {
    // SAFETY: the user registered this address as a function of this type.
    unsafe {
        core::mem::transmute::<usize, Cancel>(function)(extra_state as *mut c_void, c_int::from(complete))
    }
}

/// Makes the error of a callback's return code, as `MPI_Comm_dup` and friends report it.
///
/// # Errors
/// The callback's code, unless it is `MPI_SUCCESS`.
pub fn from_callback(code: c_int, what: &str) -> Result {
    if code == MPI_SUCCESS {
        return Ok(());
    }
    Err(Error::new(code, format!("{what} returned error code {code}")))
}
