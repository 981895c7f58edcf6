//! Tells tools what has happened to a rank: at the end of the rank's next call, when no lock is held and the tool may call
//! MPI. One thread of the rank tells at a time.

use crate::process::Process;
use crate::tools::handles::Handles;
use crate::tools::listening::Registration;
use crate::tools::state;
use core::ffi::c_int;
use std::sync::atomic::Ordering;
use weft_base::tools::events::{News, Source};
use weft_base::tools::ranks;

/// Calls what tools of the calling thread's rank have registered for what has happened to the rank.
pub fn deliver() {
    let Some(process) = Process::known() else { return };
    let Some(tools) = state::known(process) else { return };
    let told = &ranks::of(process.world_rank).told;
    // What callbacks cause is told at the end of the next call, so this ends.
    let count = told.len();
    if count == 0 || tools.is_telling.swap(true, Ordering::Acquire) {
        return;
    }
    for (number, news) in std::iter::from_fn(|| told.pop()).take(count) {
        let Some(registration) = tools.registrations.find(number as usize) else { continue };
        match news {
            News::Happened(instance) => {
                let handle = Handles::<Registration>::number();
                *tools.current.lock() = Some((handle, instance));
                registration.tell(handle);
                *tools.current.lock() = None;
            }
            News::Dropped(source, count) => registration.tell_dropped(count, source_index(source)),
        }
    }
    tools.is_telling.store(false, Ordering::Release);
}

/// Returns the index of a source.
pub(super) fn source_index(source: Source) -> c_int {
    Source::ALL.iter().position(|&other| other == source).map_or(0, |index| index as c_int)
}
