//! Time limits of waits: the door's thread ends them.

use crate::line::awaiting;
use crate::server::door;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use weft_sched::WaitSet;

/// The end of a wait that may last so long.
pub(crate) struct Limit {
    /// When it is over.
    pub at: Instant,
    is_over: AtomicBool,
    /// Wakes those who wait.
    wake: Box<dyn Fn() + Send + Sync>,
}

impl Limit {
    /// Ends the wait.
    pub fn pass(&self) {
        self.is_over.store(true, Ordering::Release);
        (self.wake)();
    }
}

/// What waits of a kind have in common: where they wait.
pub(crate) trait Waiting: Send + Sync + 'static {
    /// Returns where.
    fn set(&self) -> &WaitSet;
}

/// Waits until `done`, or for so long. Returns whether it was in time.
///
/// # Errors
/// What the kernel says when there is no door yet and it cannot be opened.
pub(crate) fn wait_within<W: Waiting>(
    place: &Arc<W>,
    limit: Option<Duration>,
    done: impl Fn() -> bool,
) -> io::Result<bool> {
    let Some(limit) = limit else {
        awaiting(|| place.set().wait(&done));
        return Ok(true);
    };
    let wakes = place.clone();
    let limit = Arc::new(Limit {
        at: Instant::now() + limit,
        is_over: AtomicBool::new(false),
        wake: Box::new(move || wakes.set().wake_all()),
    });
    let door = door()?;
    door.watch(limit.clone());
    awaiting(|| place.set().wait(|| done() || limit.is_over.load(Ordering::Acquire)));
    door.forget(&limit);
    Ok(done())
}
