//! Programs that ranks want to be started: the wish goes to `mpirun`, and the rank parks until the answer is there.

use crate::control::Control;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use weft_base::constants::MPI_ERR_SPAWN;
use weft_base::job::{Report, Request, Spawn};
use weft_base::{Error, Result};
use weft_sched::WaitSet;
use weft_sync::Lock;

type Outcome = std::result::Result<Vec<u32>, String>;

struct Wish {
    outcome: Lock<Option<Outcome>>,
    waiting: WaitSet,
}

static OPEN: Lock<Option<HashMap<u64, Arc<Wish>>>> = Lock::new(None);
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Asks for programs and waits for the answer: how many processes run each.
///
/// # Errors
/// `MPI_ERR_SPAWN` with the reason why nothing runs.
pub fn make(control: &Control, spawn: Spawn) -> Result<Vec<u32>> {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let wish = Arc::new(Wish { outcome: Lock::new(None), waiting: WaitSet::new() });
    OPEN.lock().get_or_insert_default().insert(number, wish.clone());
    control.send(&Report::Spawn { wish: number, spawn });
    // The answer comes from outside: waiting for it is no deadlock.
    weft_sched::expect_events(true);
    wish.waiting.wait(|| wish.outcome.lock().is_some());
    weft_sched::expect_events(false);
    let outcome = wish.outcome.lock().take();
    outcome.unwrap_or(Ok(Vec::new())).map_err(|reason| Error::new(MPI_ERR_SPAWN, reason))
}

/// Takes an answer to a wish; gives back what is none.
pub fn answered(request: Request) -> Option<Request> {
    let Request::Spawned { wish, outcome, .. } = request else { return Some(request) };
    let found = OPEN.lock().as_mut().and_then(|open| open.remove(&wish));
    if let Some(wish) = found {
        *wish.outcome.lock() = Some(outcome);
        wish.waiting.wake_all();
    }
    None
}
