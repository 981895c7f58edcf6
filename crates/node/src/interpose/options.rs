//! `getopt` and its relatives.

use super::replace;
use core::ffi::{CStr, c_char, c_int};
use core::ptr::{null, null_mut};
use std::sync::PoisonError;
use weft_node::RankState;
use weft_node::options::{Call, LongOption};

type Arguments = *const *mut c_char;

/// # Safety
/// As the C functions demand.
unsafe fn scan(
    rank: &'static RankState,
    (argc, argv): (c_int, Arguments),
    short: *const c_char,
    (long, long_index): (*const LongOption, *mut c_int),
    (long_only, posix): (bool, bool),
) -> c_int {
    let posixly_correct = posix || !super::environment::value(rank, c"POSIXLY_CORRECT").is_null();
    // SAFETY: the caller's vector, string and table; the rank's own variables.
    unsafe {
        let arguments = match usize::try_from(argc) {
            Ok(count) if count > 0 => core::slice::from_raw_parts_mut(argv.cast_mut(), count),
            _ => &mut [],
        };
        let mut call = Call {
            arguments,
            short: CStr::from_ptr(short).to_bytes(),
            long,
            long_index,
            long_only,
            posixly_correct,
            print: &mut |text| {
                let stream = *rank.streams.variable(2);
                libc::fwrite(text.as_ptr().cast(), 1, text.len(), stream.cast());
            },
        };
        let mut scan = rank.scan.lock().unwrap_or_else(PoisonError::into_inner);
        rank.with_options(|variables| scan.next(variables, &mut call))
    }
}

replace! {
    /// Returns the rank's next option.
    fn getopt(argc: c_int, argv: Arguments, short: *const c_char) -> c_int [rank] {
        // SAFETY: the caller's promise.
        unsafe { scan(rank, (argc, argv), short, (null(), null_mut()), (false, false)) }
    }
    /// Returns the rank's next option and stops at the first operand.
    fn __posix_getopt(argc: c_int, argv: Arguments, short: *const c_char) -> c_int [rank] {
        // SAFETY: the caller's promise.
        unsafe { scan(rank, (argc, argv), short, (null(), null_mut()), (false, true)) }
    }
    /// Returns the rank's next option, short or long.
    fn getopt_long(
        argc: c_int, argv: Arguments, short: *const c_char, long: *const LongOption, index: *mut c_int,
    ) -> c_int [rank] {
        // SAFETY: the caller's promise.
        unsafe { scan(rank, (argc, argv), short, (long, index), (false, false)) }
    }
    /// Returns the rank's next option; long ones may begin with one dash.
    fn getopt_long_only(
        argc: c_int, argv: Arguments, short: *const c_char, long: *const LongOption, index: *mut c_int,
    ) -> c_int [rank] {
        // SAFETY: the caller's promise.
        unsafe { scan(rank, (argc, argv), short, (long, index), (true, false)) }
    }
}
