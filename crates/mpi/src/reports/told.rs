//! What is counted and told of collective operations, windows and files, where tools look (`weft_base::tools`). While none
//! does, each function is a load and a branch.

use std::sync::atomic::{AtomicBool, Ordering};
use weft_base::tools::counters::Counter;
use weft_base::tools::events::Event;
use weft_base::tools::{ranks, watch};
use weft_coll::Call;
use weft_comm::Communicator;

/// Returns the number under which tools know an object by its address: as long as the object is there, no other has it.
pub(crate) fn number_of<T: ?Sized>(object: &T) -> u64 {
    core::ptr::from_ref(object).cast::<()>().addr() as u64
}

/// Returns the number under which tools know a communicator.
pub(crate) fn number_of_communicator(values: &Communicator) -> u64 {
    values.point_to_point_context().into()
}

#[cold]
#[inline(never)]
fn begin(rank: u32, object: u64, call: Call) {
    if watch::is_counting() {
        ranks::count_of(rank, Counter::Collectives, object, 1);
    }
    if watch::has_listeners_of(Event::CollectiveBegun) {
        ranks::tell(rank, Event::CollectiveBegun, object, &[call as i64]);
    }
}

#[cold]
#[inline(never)]
fn end(rank: u32, object: u64, call: Call) {
    if watch::has_listeners_of(Event::CollectiveEnded) {
        ranks::tell(rank, Event::CollectiveEnded, object, &[call as i64]);
    }
}

/// Does a blocking collective operation.
#[inline(always)]
pub(crate) fn collective<R>(values: &Communicator, call: Call, run: impl FnOnce() -> R) -> R {
    if !watch::is_watched() {
        return run();
    }
    let (rank, object) = (values.group.world_rank(values.rank), number_of_communicator(values));
    begin(rank, object, call);
    let since = weft_sys::clock::now_ns();
    let result = run();
    if watch::is_counting() {
        let time = weft_sys::clock::now_ns().saturating_sub(since);
        ranks::count_of(rank, Counter::CollectiveTime, object, time);
    }
    end(rank, object, call);
    result
}

/// A collective operation that ends later.
pub(crate) struct Later {
    rank: u32,
    object: u64,
    call: Call,
    is_open: AtomicBool,
}

impl Later {
    /// Makes one that has not begun.
    pub(crate) fn new(values: &Communicator, call: Call) -> Self {
        let (rank, object) = (values.group.world_rank(values.rank), number_of_communicator(values));
        Self { rank, object, call, is_open: AtomicBool::new(false) }
    }

    /// Notes its beginning.
    pub(crate) fn begin(&self) {
        if watch::is_watched() {
            self.is_open.store(true, Ordering::Relaxed);
            begin(self.rank, self.object, self.call);
        }
    }

    /// Notes its end, once for each beginning.
    pub(crate) fn end(&self) {
        if self.is_open.load(Ordering::Relaxed) && self.is_open.swap(false, Ordering::Relaxed) {
            end(self.rank, self.object, self.call);
        }
    }
}

/// Counts a one-sided operation of a rank.
#[inline(always)]
pub(crate) fn access(rank: u32, window: u64, bytes: u64) {
    if watch::is_counting() {
        count_two(rank, window, (Counter::Accesses, Counter::AccessBytes), bytes);
    }
}

/// Counts an operation of a rank on a file.
#[inline(always)]
pub(crate) fn transfer(rank: u32, file: u64, reads: bool, bytes: u64) {
    if watch::is_counting() {
        let counters = match reads {
            true => (Counter::FileReads, Counter::FileReadBytes),
            false => (Counter::FileWrites, Counter::FileWriteBytes),
        };
        count_two(rank, file, counters, bytes);
    }
}

#[cold]
#[inline(never)]
fn count_two(rank: u32, object: u64, (operations, sums): (Counter, Counter), bytes: u64) {
    ranks::count_of(rank, operations, object, 1);
    ranks::count_of(rank, sums, object, bytes);
}
