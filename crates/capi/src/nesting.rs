//! How deep a thread is in calls, where tools listen to events: a function of the program that a call runs may call MPI, and
//! the end of such an inner call is no time to run a tool's callback, which may call anything.
//!
//! Calls are only noted while tools listen. What a thread has noted is void once listening has begun again since, as the ends of
//! calls may have been missed.

use core::cell::Cell;
use weft_base::tools::watch;

thread_local! {
    /// In which of the times of listening, and how deep. It is the rank's own: each has thread-local data of its own.
    static DEPTH: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
}

/// Notes that the thread enters a call.
pub(crate) fn enter() {
    let now = watch::beginnings();
    let (when, depth) = DEPTH.get();
    DEPTH.set((now, if when == now { depth + 1 } else { 1 }));
}

/// Notes that the thread leaves a call; tells whether it was in no other.
pub(crate) fn leave() -> bool {
    let (when, depth) = DEPTH.get();
    if when != watch::beginnings() || depth == 0 {
        // It entered before anybody listened.
        return true;
    }
    DEPTH.set((when, depth - 1));
    depth == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_base::tools::events::Event;
    use weft_base::tools::watch::Sight;

    #[test]
    fn only_the_outermost_call_ends_all() {
        enter();
        enter();
        assert!(!leave());
        assert!(leave());
        // A call that began before anybody listened.
        assert!(leave());
        // What was noted is void when listening begins again.
        enter();
        enter();
        watch::begin(Sight::Events(Event::RankParked));
        assert!(leave());
        enter();
        assert!(leave());
        watch::end(Sight::Events(Event::RankParked));
    }
}
