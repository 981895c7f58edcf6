//! What ranks want of `mpirun`, programs to be started and names for ports: the wish goes there, and the rank parks until the
//! answer is there.

use crate::mpirun::control::Control;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use weft_base::constants::MPI_ERR_SPAWN;
use weft_base::job::{Name, Named, Report, Request, Spawn};
use weft_base::{Error, Result};
use weft_sched::WaitSet;
use weft_sync::Lock;

/// An answer.
enum Outcome {
    Spawned(std::result::Result<Vec<u32>, String>),
    Named(Named),
}

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
pub fn spawn(control: &Control, spawn: Spawn) -> Result<Vec<u32>> {
    match make(control, |wish| Report::Spawn { wish, spawn }) {
        Some(Outcome::Spawned(outcome)) => outcome.map_err(|reason| Error::new(MPI_ERR_SPAWN, reason)),
        _ => Ok(Vec::new()),
    }
}

/// Asks for what is wanted of names and waits for the answer.
pub fn name(control: &Control, name: Name) -> Named {
    match make(control, |wish| Report::Name { wish, name }) {
        Some(Outcome::Named(named)) => named,
        _ => Named::Failed("mpirun gives no answer".into()),
    }
}

fn make(control: &Control, report: impl FnOnce(u64) -> Report) -> Option<Outcome> {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let wish = Arc::new(Wish { outcome: Lock::new(None), waiting: WaitSet::new() });
    OPEN.lock().get_or_insert_default().insert(number, wish.clone());
    control.send(&report(number));
    // The answer comes from outside: waiting for it is no deadlock.
    weft_sched::expect_events(true);
    wish.waiting.wait(|| wish.outcome.lock().is_some());
    weft_sched::expect_events(false);
    wish.outcome.lock().take()
}

/// Takes an answer to a wish; gives back what is none.
pub fn answered(request: Request) -> Option<Request> {
    let (wish, outcome) = match request {
        Request::Spawned { wish, outcome, .. } => (wish, Outcome::Spawned(outcome)),
        Request::Named { wish, outcome } => (wish, Outcome::Named(outcome)),
        other => return Some(other),
    };
    let found = OPEN.lock().as_mut().and_then(|open| open.remove(&wish));
    if let Some(wish) = found {
        *wish.outcome.lock() = Some(outcome);
        wish.waiting.wake_all();
    }
    None
}
