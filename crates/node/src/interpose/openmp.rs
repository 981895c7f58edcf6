//! The two locks of libgomp that belong to the whole process: that of the unnamed `omp critical`, and that of atomic
//! operations for which the processor has no instruction. A rank has its own.
//!
//! All else of libgomp belongs to a team, a thread of control or a task, or lies in the program's data (named critical
//! sections, `omp_lock_t`), so ranks may share the library.

use super::library;
use core::sync::atomic::AtomicU32;
use weft_node::lock::{Lock, Waits};
use weft_node::state::{self, OpenMpLocks};

struct Library;

impl Waits for Library {
    fn wait(&self, word: &AtomicU32, value: u32) {
        (library().wait)(word, value);
    }

    fn wake(&self, word: &AtomicU32) {
        (library().wake)(word);
    }
}

/// The locks of threads that belong to no rank.
static NOBODYS: OpenMpLocks = OpenMpLocks { critical: Lock::new(), atomic: Lock::new() };

fn locks() -> &'static OpenMpLocks {
    state::current().map_or(&NOBODYS, |rank| &rank.openmp)
}

/// Begins an unnamed critical section of the rank.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_critical_start() {
    locks().critical.acquire(&Library);
}

/// Ends an unnamed critical section of the rank.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_critical_end() {
    locks().critical.release(&Library);
}

/// Begins an atomic operation of the rank.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_atomic_start() {
    locks().atomic.acquire(&Library);
}

/// Ends an atomic operation of the rank.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_atomic_end() {
    locks().atomic.release(&Library);
}
