//! Time limits of waits: the door's thread ends them.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use weft_sched::WaitSet;
use weft_sync::Lock;

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

/// Waits for what another process does, which is no deadlock.
pub(crate) fn awaiting(wait: impl FnOnce()) {
    weft_sched::expect_events(true);
    wait();
    weft_sched::expect_events(false);
}

/// The waits of a process that end at some time, and the bell at which the door's thread looks again.
pub(crate) struct Limits {
    list: Lock<Vec<Arc<Limit>>>,
    bell: (UnixStream, UnixStream),
}

impl Limits {
    pub fn new() -> io::Result<Self> {
        Ok(Self { list: Lock::default(), bell: UnixStream::pair()? })
    }

    /// Makes the thread look again.
    pub fn ring(&self) {
        let _ = (&self.bell.0).write_all(&[1]);
    }

    /// Returns what can be read when the bell has rung.
    pub fn bell(&self) -> BorrowedFd<'_> {
        self.bell.1.as_fd()
    }

    /// Takes out the waits whose time is over; returns them, and when the next one's is.
    pub fn take_over(&self, now: Instant) -> (Vec<Arc<Limit>>, Option<Instant>) {
        let mut list = self.list.lock();
        let (over, others): (Vec<_>, Vec<_>) =
            core::mem::take(&mut *list).into_iter().partition(|limit| limit.at <= now);
        *list = others;
        (over, list.iter().map(|limit| limit.at).min())
    }

    /// Waits until `done`, or for so long. Returns whether it was in time.
    pub fn wait_within<W: Waiting>(
        &self,
        place: &Arc<W>,
        limit: Option<Duration>,
        done: impl Fn() -> bool,
    ) -> bool {
        let Some(limit) = limit else {
            awaiting(|| place.set().wait(&done));
            return true;
        };
        let wakes = place.clone();
        let limit = Arc::new(Limit {
            at: Instant::now() + limit,
            is_over: AtomicBool::new(false),
            wake: Box::new(move || wakes.set().wake_all()),
        });
        self.list.lock().push(limit.clone());
        self.ring();
        awaiting(|| place.set().wait(|| done() || limit.is_over.load(Ordering::Acquire)));
        self.list.lock().retain(|other| !Arc::ptr_eq(other, &limit));
        done()
    }
}
