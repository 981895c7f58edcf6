//! What is counted and told of ranks that park and switch, where tools look (`weft_base::tools`).

use weft_base::tools::counters::Counter;
use weft_base::tools::events::Event;
use weft_base::tools::{ranks, watch};
use weft_sys::clock;

/// Counts how long the calling thread, which belongs to a rank or to none, is parked, which `wait` returns from.
#[cold]
#[inline(never)]
pub(crate) fn rest(rank: Option<u32>, wait: &dyn Fn()) {
    let since = clock::now_ns();
    wait();
    let Some(rank) = rank else { return };
    let time = clock::now_ns().saturating_sub(since);
    if watch::is_counting() {
        ranks::count(rank, Counter::Parks, 1);
        ranks::count(rank, Counter::ParkedTime, time);
    }
    if watch::has_listeners_of(Event::RankParked) {
        ranks::tell(rank, Event::RankParked, 0, &[time as i64]);
    }
}

/// Counts that a worker begins to run a thread of a rank, which another worker may have run before.
#[cold]
#[inline(never)]
pub(crate) fn switch(rank: Option<u32>, is_moved: bool) {
    let Some(rank) = rank else { return };
    ranks::count(rank, Counter::Switches, 1);
    if is_moved {
        ranks::count(rank, Counter::Moves, 1);
    }
}
