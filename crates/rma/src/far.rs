//! What a rank of this process has under way at ranks of other processes.
//!
//! Everything that is told to a process is carried out there in order, so the answer to a flush says that all before it is done, and
//! comes after what that has returned.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU32, Ordering};
use weft_base::constants::MPI_ERR_PROC_ABORTED;
use weft_base::{Error, Result};
use weft_datatype::Datatype;
use weft_sched::Thread;
use weft_sync::Lock;
use weft_transport::Node;

/// A buffer of the origin that results come to.
#[derive(Clone)]
pub struct Buffer {
    pub address: usize,
    pub count: u64,
    pub datatype: Datatype,
}

/// What is awaited of another process.
struct Awaited {
    node: Node,
    /// Where data goes, and how much is missing.
    buffer: Option<(Buffer, u64)>,
}

#[derive(Default)]
struct State {
    awaited: HashMap<u64, Awaited>,
    names: u64,
    /// Processes that something was told.
    touched: BTreeMap<Node, Touched>,
    failure: Option<Error>,
    waiting: Vec<&'static Thread>,
    lost: HashMap<Node, String>,
}

/// What goes on with a process.
#[derive(Clone, Copy, Default)]
struct Touched {
    /// How many operations it was told of, and how many of these are known to be complete, with all before them. Several threads
    /// tell and flush at a time: each counts what it has told, and looks whether that is complete, not whether somebody flushes.
    told: u64,
    complete: u64,
    /// The name of the request for the gate to everything there, for a lock on all; 0 without one.
    everything: u64,
}

impl State {
    fn expect(&mut self, node: Node, buffer: Option<Buffer>) -> u64 {
        self.names += 1;
        let buffer = buffer.map(|buffer| {
            let bytes = buffer.count * buffer.datatype.size();
            (buffer, bytes)
        });
        self.awaited.insert(self.names, Awaited { node, buffer });
        self.names
    }
}

/// See above.
#[derive(Default)]
pub struct Far {
    state: Lock<State>,
    /// Counts what was heard.
    news: AtomicU32,
}

impl Far {
    fn tell<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock();
        let result = change(&mut state);
        self.news.fetch_add(1, Ordering::Release);
        let waiting = core::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Thread::unpark);
        result
    }

    /// Notes that a process was told of an operation, all of it.
    pub fn touch(&self, node: Node) {
        self.state.lock().touched.entry(node).or_default().told += 1;
    }

    /// Returns the processes with operations that may not be complete, or the one of them that is given, and how many operations
    /// each was told of.
    pub fn touched(&self, only: Option<Node>) -> Vec<(Node, u64)> {
        let state = self.state.lock();
        let is_it = |node: Node| only.is_none_or(|only| only == node);
        let all =
            state.touched.iter().filter(|(node, touched)| touched.told > touched.complete && is_it(**node));
        all.map(|(&node, touched)| (node, touched.told)).collect()
    }

    /// Notes that so many operations at a process are complete.
    pub fn complete(&self, node: Node, told: u64) {
        let mut state = self.state.lock();
        let touched = state.touched.entry(node).or_default();
        touched.complete = touched.complete.max(told);
    }

    /// Returns the name of the request for the gate to everything at a process, and whether the caller is to make that request.
    pub fn take_everything(&self, node: Node) -> (u64, bool) {
        let mut state = self.state.lock();
        let held = state.touched.entry(node).or_default().everything;
        if held != 0 {
            return (held, false);
        }
        let name = state.expect(node, None);
        state.touched.entry(node).or_default().everything = name;
        (name, true)
    }

    /// Returns the processes where the gate to everything is held, which it is no more.
    pub fn leave_everything(&self) -> Vec<Node> {
        let mut state = self.state.lock();
        let held = state.touched.iter_mut().filter(|(_, touched)| touched.everything != 0);
        held.map(|(&node, touched)| {
            touched.everything = 0;
            node
        })
        .collect()
    }

    /// Gives a name to what a process is asked for.
    pub fn expect(&self, node: Node, buffer: Option<Buffer>) -> u64 {
        self.state.lock().expect(node, buffer)
    }

    /// Returns the buffer that data of a name goes to.
    pub fn buffer(&self, name: u64) -> Option<Buffer> {
        let state = self.state.lock();
        state.awaited.get(&name)?.buffer.as_ref().map(|(buffer, _)| buffer.clone())
    }

    /// Notes that so much data is in the buffer.
    pub fn filled(&self, name: u64, bytes: u64) {
        self.tell(|state| {
            let Some(Awaited { buffer: Some((_, left)), .. }) = state.awaited.get_mut(&name) else { return };
            *left = left.saturating_sub(bytes);
            if *left == 0 {
                state.awaited.remove(&name);
            }
        });
    }

    /// Notes that what was asked for is done.
    pub fn done(&self, name: u64) {
        self.tell(|state| _ = state.awaited.remove(&name));
    }

    /// Notes what went wrong, for the call that completes it.
    pub fn fail(&self, error: Error) {
        self.tell(|state| _ = state.failure.get_or_insert(error));
    }

    /// Notes that a process is lost.
    pub fn lose(&self, node: Node, reason: &str) {
        self.tell(|state| {
            state.awaited.retain(|_, awaited| awaited.node != node);
            state.lost.insert(node, reason.to_owned());
        });
    }

    /// Returns what went wrong, once; with a lost process, each time.
    ///
    /// # Errors
    /// That.
    pub fn check(&self) -> Result {
        let mut state = self.state.lock();
        if let Some(error) = state.failure.take() {
            return Err(error);
        }
        match state.lost.iter().next() {
            None => Ok(()),
            Some((node, reason)) => {
                let text = format!("win has ranks of node process {node}, which is lost: {reason}");
                Err(Error::new(MPI_ERR_PROC_ABORTED, text))
            }
        }
    }

    /// Returns the processes that are lost.
    pub fn lost(&self) -> Vec<Node> {
        self.state.lock().lost.keys().copied().collect()
    }

    /// Waits until what has a name is done.
    pub fn wait(&self, name: u64) {
        self.wait_or(name, |_| false);
    }

    /// Waits until what has a name is done, or any process is lost: it may be one that keeps others waiting. [`Far::check`] tells.
    pub fn wait_unless_lost(&self, name: u64) {
        self.wait_or(name, |state| !state.lost.is_empty());
    }

    fn wait_or(&self, name: u64, ends: impl Fn(&State) -> bool) {
        let mut seen = None;
        weft_sched::wait_until(|| {
            let news = self.news.load(Ordering::Acquire);
            if seen == Some(news) {
                return false;
            }
            let mut state = self.state.lock();
            // Under the lock nothing new comes.
            seen = Some(self.news.load(Ordering::Acquire));
            let is_done = !state.awaited.contains_key(&name) || ends(&state);
            if !is_done {
                state.waiting.push(weft_sched::current());
            }
            is_done
        });
    }
}
