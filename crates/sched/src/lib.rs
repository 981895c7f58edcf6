//! Ranks, workers, switching, parking.
//!
//! A [`Thread`] is anything that can wait in the library: a rank's own thread or a foreign thread of a rank.
//! There is one primitive: [`park`] until [`Thread::unpark`], with a token so that a wake-up is never lost; and
//! [`WaitSet`] for many that wait for one event.
//!
//! A rank is a pthread with its own stack, thread control block and thread-local storage. Its kernel thread goes to
//! sleep for ever as soon as the C library has set it up; *workers* run its context by loading its stack pointer and
//! thread pointer. `errno`, `thread_local` and `pthread_self` are thus the rank's on whatever worker. Where the thread
//! pointer cannot be switched, each rank runs on its own kernel thread and parks on a futex.
//!
//! What is *not* the rank's: the kernel's thread number, the signal mask, the alternate signal stack, processor
//! affinity. `pthread_exit` in a rank would end a worker and must be replaced by [`finish_current_rank`].
//!
//! - `worker`, `context`, `stacks`: who runs ranks, and the switch. Workers without ranks to run take those of others.
//! - `monitor`: rescues ranks from a worker that does not switch. `foreign`: threads that are none of the library's.
//! - `idle`: who polls for wake-ups from other processes, and sleeps where those ring.
//! - `census`: finds that nobody can run. `outside`: which threads sleep in the kernel until another one of the process wakes
//!   them.
//! - `told`: what tools count, and are told.
//! - `errand`: what a thread of a certain rank has to do, such as to call a user's function.
//!
//! Built with `--cfg loom` only the protocols are compiled, for the model checker.

mod ready;
mod state;

#[cfg(loom)]
mod models;

#[cfg(not(loom))]
mod census;
#[cfg(not(loom))]
mod context;
#[cfg(not(loom))]
mod errand;
#[cfg(not(loom))]
mod foreign;
#[cfg(not(loom))]
mod idle;
#[cfg(not(loom))]
mod limits;
#[cfg(not(loom))]
mod monitor;
#[cfg(not(loom))]
mod naps;
#[cfg(not(loom))]
mod outside;
#[cfg(not(loom))]
mod pool;
#[cfg(not(loom))]
mod stacks;
#[cfg(not(loom))]
mod thread;
#[cfg(not(loom))]
mod told;
#[cfg(not(loom))]
mod wait_set;
#[cfg(not(loom))]
mod worker;

#[cfg(not(loom))]
pub use census::{Rest, Traffic, count_all_threads, on_rest, rest, rest_or_tell, watched_poll};
#[cfg(not(loom))]
pub use foreign::{announce, any_announced, foreign_threads, foreign_threads_of, inherit, withdraw};
#[cfg(not(loom))]
pub use idle::{Source, has_source, late_wakes, set_source};
#[cfg(not(loom))]
pub use outside::{Place, knows_all_threads};
#[cfg(not(loom))]
pub use pool::{
    Config, Scheduler, allow_executable_stacks, expect_events, finish_current_rank, home_worker,
    mappings_per_rank, on_deadlock, processors, spawn_rank, start, thread_of, threads, wait_for_ranks,
    workers,
};
#[cfg(not(loom))]
pub use thread::{
    ARGUMENTS, Life, NO_RANK, Said, Thread, begin_call, begin_call_with, current, known, look_again,
    may_spin, park, poll_failed, poll_succeeded, suspend, take_turn, wait_until, yield_now,
};
#[cfg(not(loom))]
pub use wait_set::WaitSet;
