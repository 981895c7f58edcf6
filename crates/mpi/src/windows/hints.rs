//! Hints of windows: what an info object may say, and what is reported.

use crate::arguments::check;
use crate::environment::info::{self, Info};
use crate::environment::memory_kinds;
use crate::process::Process;
use std::sync::Arc;
use weft_base::{Out, Result, abi};

/// The hints that are reported, with their defaults.
pub(super) const HINTS: [(&str, &str); 7] = [
    ("no_locks", "false"),
    ("accumulate_ordering", "rar,raw,war,waw"),
    ("accumulate_ops", "same_op_no_op"),
    ("mpi_accumulate_granularity", "0"),
    ("same_size", "false"),
    ("same_disp_unit", "false"),
    ("alloc_shared_noncontig", "false"),
];

/// Tells whether a hint has a value that means something.
fn is_recognised(key: &str, value: &str) -> bool {
    match key {
        "accumulate_ordering" => {
            value == "none" || value.split(',').all(|o| ["rar", "raw", "war", "waw"].contains(&o.trim()))
        }
        "accumulate_ops" => ["same_op", "same_op_no_op"].contains(&value),
        "mpi_accumulate_granularity" => value.trim_start_matches('+').parse::<u64>().is_ok(),
        memory_kinds::ASSERT_KEY => memory_kinds::is_recognised(value),
        _ => ["true", "false"].contains(&value) && HINTS.iter().any(|(known, _)| *known == key),
    }
}

/// Takes those of an info object's pairs that mean something; some do so only when the window is created.
pub(super) fn update_hints(hints: &mut Vec<(String, String)>, pairs: Vec<(String, String)>, creation: bool) {
    const FIXED: [&str; 4] = ["no_locks", "same_size", "same_disp_unit", "alloc_shared_noncontig"];
    for (key, value) in pairs {
        if !is_recognised(&key, value.trim_matches(' ')) || !creation && FIXED.contains(&key.as_str()) {
            continue;
        }
        match hints.iter_mut().find(|(known, _)| *known == key) {
            Some((_, old)) => *old = value,
            None => hints.push((key, value)),
        }
    }
}

/// Tells whether a hint is given and true.
pub(super) fn is_true(hints: &[(String, String)], key: &str) -> bool {
    hints.iter().any(|(known, value)| known == key && value.trim_matches(' ') == "true")
}

/// `MPI_Win_set_info`
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_INFO`
pub fn win_set_info(win: abi::Win, info: abi::Info) -> Result {
    let window = Process::current()?.window(win)?;
    update_hints(&mut window.hints.lock(), info::optional(info)?, false);
    Ok(())
}

/// `MPI_Win_get_info`
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_ARG`
pub fn win_get_info(win: abi::Win, info_used: Out<abi::Info>) -> Result {
    check::output(info_used, "info_used")?;
    let process = Process::current()?;
    let window = process.window(win)?;
    let mut pairs = window.hints.lock().clone();
    pairs.push((memory_kinds::KEY.into(), memory_kinds::of_origin(process, window.group.origin())));
    info_used.set(abi::Info(process.infos.insert(Arc::new(Info::new(pairs)))));
    Ok(())
}
