//! What every exported function does before and after its work, and how `MPI_` names reach `PMPI_` ones.

use weft_base::arguments::Out;
use weft_base::constants::{MPI_ERR_UNSUPPORTED_OPERATION, MPI_SUCCESS};
pub(crate) use weft_base::settings::is_checking;
use weft_base::tools::watch;
use weft_base::{Error, Result, Subject};
pub(crate) use weft_mpi::errors::handling::Object;
use weft_mpi::reports::thread_levels;
use weft_sys::errno;

use crate::generated::arguments::ONLY;
use crate::nesting;

use core::ffi::c_int;

/// Notes which call the current thread is in, for reports. It stays noted after the call: clearing it would cost a
/// store in every call, and a report can tell a rank that waits from one that runs.
///
/// Returns what ends the call, and leaves `errno` as it was.
#[inline(always)]
pub(crate) fn begin(call: &'static &'static str) -> Begun {
    let errno = weft_sched::begin_call(call);
    if watch::is_attended() {
        begin_attended(call);
    }
    Begun { _errno: errno }
}

/// A call that goes on as long as this is there.
pub(crate) struct Begun {
    _errno: errno::Kept,
}

impl Drop for Begun {
    #[inline(always)]
    fn drop(&mut self) {
        if watch::is_attended() {
            end_attended();
        }
    }
}

/// As [`begin`], for a call that may wait: notes words of its arguments, too; see `weft_base::noted`.
#[inline(always)]
pub(crate) fn begin_with<const N: usize>(call: &'static &'static str, words: [u64; N]) -> Begun {
    let errno = weft_sched::begin_call_with(call, words);
    if watch::is_attended() {
        begin_attended(call);
    }
    Begun { _errno: errno }
}

/// Puts two numbers into a word.
#[inline(always)]
pub(crate) fn pair(low: c_int, high: c_int) -> u64 {
    u64::from(low as u32) | u64::from(high as u32) << 32
}

/// Notes that the thread is in a call, where tools listen. In checking mode, notes the call with the place in the program where it is, which reports of the rank's state find, too.
#[cold]
#[inline(never)]
fn begin_attended(call: &'static str) {
    if watch::has_listeners() {
        nesting::enter();
    }
    if !is_checking() {
        return;
    }
    let site = weft_base::site::enter(call);
    weft_sched::current().set_call(&site.call);
    thread_levels::enter(site);
}

/// Ends what [`begin_attended`] began, and calls what tools have registered for what has happened.
#[cold]
#[inline(never)]
fn end_attended() {
    if is_checking() {
        thread_levels::leave();
    }
    if watch::has_listeners() && nesting::leave() {
        weft_mpi::tools::delivery::deliver();
    }
}

/// Ends a call: gives an error to the handler of the object it concerns.
#[inline(always)]
pub(crate) fn finish(call: &'static str, result: Result, object: impl FnOnce() -> Object) -> c_int {
    match result {
        Ok(()) => MPI_SUCCESS,
        Err(error) => fail(call, object(), error),
    }
}

#[cold]
#[inline(never)]
fn fail(call: &'static str, object: Object, error: Error) -> c_int {
    weft_mpi::errors::handling::raise(call, object, name_argument(call, error))
}

/// An argument of a call: what an error about it is about, its name and its value.
pub(crate) type Argument = (Subject, &'static str, i64);

/// Ends a call some of whose arguments only differ in their values; otherwise as [`finish`].
#[inline(always)]
pub(crate) fn finish_among<const N: usize>(
    call: &'static str,
    result: Result,
    object: impl FnOnce() -> Object,
    arguments: impl FnOnce() -> [Argument; N],
) -> c_int {
    match result {
        Ok(()) => MPI_SUCCESS,
        Err(error) => fail_among(call, object(), error, &arguments()),
    }
}

#[cold]
#[inline(never)]
fn fail_among(call: &'static str, object: Object, error: Error, arguments: &[Argument]) -> c_int {
    let found = error.unnamed.and_then(|(subject, value)| {
        arguments.iter().find(|(about, _, is)| *about == subject && *is == value).map(|(_, name, _)| *name)
    });
    fail(call, object, if let Some(name) = found { error.named(name) } else { error })
}

/// Gives what an error is about the name that the procedure gives its argument, where it can only be one.
fn name_argument(call: &'static str, error: Error) -> Error {
    let Some((subject, _)) = error.unnamed else { return error };
    let from = ONLY.partition_point(|(name, ..)| *name < call);
    let mut row = ONLY[from..].iter().take_while(|(name, ..)| *name == call);
    match row.find(|(_, found, _)| *found == subject) {
        Some((.., argument)) => error.named(argument),
        None => error,
    }
}

/// Ends a call of the tool information interface, which reports errors by its return value only.
#[inline(always)]
#[allow(dead_code)] // Generated code calls it as soon as such a procedure is done.
pub(crate) fn finish_tool(_call: &'static str, result: Result) -> c_int {
    result.map_or_else(|error| error.class, |()| MPI_SUCCESS)
}

/// Values an exported function may return when it is not done.
#[allow(dead_code)] // Generated code calls it where a procedure is not done.
pub(crate) trait Failed {
    /// Makes the value from an error code.
    fn failed(code: c_int) -> Self;
}

impl Failed for c_int {
    fn failed(code: c_int) -> Self {
        code
    }
}

impl Failed for f64 {
    fn failed(_: c_int) -> Self {
        0.0
    }
}

/// Raises the error of a procedure that is not done.
#[cold]
#[inline(never)]
#[allow(dead_code)] // Generated code calls it where a procedure is not done.
pub(crate) fn unsupported<T: Failed>(call: &'static str, object: impl FnOnce() -> Object) -> T {
    T::failed(fail(call, object(), not_done(call)))
}

/// Returns the error of a procedure of the tool information interface that is not done.
#[cold]
#[allow(dead_code)] // As above.
pub(crate) fn unsupported_tool(call: &'static str) -> c_int {
    not_done(call).class
}

fn not_done(call: &'static str) -> Error {
    Error::new(
        MPI_ERR_UNSUPPORTED_OPERATION,
        format!("{call} is not implemented in this version; docs/book/src/api-status.md lists what is"),
    )
}

/// Reads the handle a call was to change, for its error handler.
#[allow(dead_code)] // As above.
pub(crate) fn target<T: Copy>(handle: Out<T>) -> Option<T> {
    if handle.is_null() { None } else { Some(handle.get_at(0)) }
}

/// Defines exported names that jump to other exported functions of the same signature.
///
/// A jump and not a second entry of the same address: a tool that replaces `MPI_X` still finds `PMPI_X`, and a
/// symbolic alias cannot be exported from a Rust library.
macro_rules! aliases {
    ($($alias:ident => $function:ident),* $(,)?) => {$(
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $alias() {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!("jmp {}", sym $function);
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!("b {}", sym $function);
        }
    )*};
}
pub(crate) use aliases;
