//! The threads that wait for the file system, so that no rank's core does.
//!
//! There are none before they are needed, and then as many as have something to do, up to a bound. What waits in the queue is
//! announced to the scheduler: who waits for it is not waiting for ever.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use weft_base::settings::FILE_THREADS;
use weft_sync::Lock;
use weft_sys::process::spawn_apart;

type Job = Box<dyn FnOnce() + Send>;

/// What a thread's stack has room for: calls of the system, and no data.
const STACK: usize = 256 << 10;

struct Pool {
    queue: Mutex<Queue>,
    ready: Condvar,
}

struct Queue {
    jobs: VecDeque<Job>,
    /// How many threads there are, and how many of them wait.
    threads: u64,
    idle: u64,
}

static POOL: Pool =
    Pool { queue: Mutex::new(Queue { jobs: VecDeque::new(), threads: 0, idle: 0 }), ready: Condvar::new() };

impl Pool {
    fn lock(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does jobs, for ever.
    fn serve(&self) {
        let mut queue = self.lock();
        loop {
            while let Some(job) = queue.jobs.pop_front() {
                drop(queue);
                job();
                queue = self.lock();
            }
            queue.idle += 1;
            queue = self.ready.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.idle -= 1;
        }
    }

    /// Makes one more thread if that is sensible. Returns whether somebody serves the queue.
    fn grow(&self) -> bool {
        let mut queue = self.lock();
        if queue.idle >= queue.jobs.len() as u64 || queue.threads >= FILE_THREADS.get() {
            return true;
        }
        queue.threads += 1;
        drop(queue);
        if spawn_apart("weft-files", STACK, || POOL.serve()).is_ok() {
            return true;
        }
        let mut queue = self.lock();
        queue.threads -= 1;
        queue.threads > 0
    }

    fn add(&self, job: Job) {
        self.lock().jobs.push_back(job);
        self.ready.notify_one();
        while !self.grow() {
            // Nobody else does it.
            let Some(job) = self.lock().jobs.pop_front() else { return };
            job();
        }
    }
}

/// Has something done by a thread of the pool.
pub fn start(job: impl FnOnce() + Send + 'static) {
    weft_sched::expect_events(true);
    POOL.add(Box::new(move || {
        job();
        weft_sched::expect_events(false);
    }));
}

/// Has something done by a thread of the pool, while the calling rank's core goes on with others.
pub(crate) fn wait_for<T: Send + 'static>(job: impl FnOnce() -> T + Send + 'static) -> T {
    let (waiter, outcome) = (weft_sched::current(), Arc::new(Lock::new(None)));
    let filled = outcome.clone();
    start(move || {
        let done = job();
        *filled.lock() = Some(done);
        waiter.unpark();
    });
    let mut found = None;
    weft_sched::wait_until(|| {
        found = found.take().or_else(|| outcome.lock().take());
        found.is_some()
    });
    found.expect("waited for")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn all_is_done_however_much_comes_at_once() {
        let done = Arc::new(AtomicU32::new(0));
        for _ in 0..500 {
            let done = done.clone();
            start(move || _ = done.fetch_add(1, Ordering::Relaxed));
        }
        assert_eq!(wait_for(|| 7), 7);
        while done.load(Ordering::Relaxed) < 500 {
            wait_for(|| ());
        }
    }
}
