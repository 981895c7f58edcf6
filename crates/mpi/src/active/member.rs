//! A rank of this process in a context: what it has to do, who does it, who waits for it, and what it waits for.
//!
//! Races closed:
//! - *Work comes while a thread falls asleep for lack of it*: who brings work counts it and then looks for those who wait; who waits
//!   counts itself and then looks for work.
//! - *Work comes while a thread that runs handlers ends*: it lets the turn go and then looks once more.
//! - *A thread that was woken for work has something else to do*: whoever stops waiting looks for work, and hands it on.
#![allow(unsafe_code)] // Calls the program's handlers, and counts in the program's memory.

use super::HANDLERS;
use super::way::{self, End};
use core::ffi::{c_int, c_void};
use core::ptr;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use weft_am::{Contents, Landing, Source, When};
use weft_base::constants::*;
use weft_base::{Error, Result};
use weft_post::Place;
use weft_sched::Thread;
use weft_sync::Lock;
use weft_transport::Node;

/// `Weft_am_completion_handler`
type CompletionHandler = unsafe extern "C" fn(c_int, *mut c_void);
/// `Weft_am_header_handler`
type HeaderHandler = unsafe extern "C" fn(
    c_int,
    c_int,
    *const c_void,
    usize,
    usize,
    *mut Option<CompletionHandler>,
    *mut *mut c_void,
) -> *mut c_void;

/// The data of a message.
pub(super) enum Data {
    /// Copied when it was sent.
    Own(Box<[u8]>),
    /// At its origin, a rank of this process: address and length, and the counter of that.
    Lent(usize, usize, Arc<Member>, usize),
    /// What came from another process.
    Far(Node, Contents),
}

/// Who is told that a message has come to its end.
pub(super) enum Origin {
    /// A rank of this process, and its counter.
    Here(Arc<Member>, usize),
    /// One of another process, and what it calls the message.
    There(Node, u64),
}

/// A message for a rank.
pub(super) struct Message {
    /// The rank that has sent it.
    pub from: u32,
    pub handler: u32,
    pub header: Box<[u8]>,
    /// How long the data is.
    pub bytes: usize,
    pub data: Data,
    pub target_counter: usize,
    pub origin: Origin,
}

/// What comes when a message's data is there.
pub(super) struct Completion {
    handler: Option<CompletionHandler>,
    argument: usize,
    origin: Origin,
}

/// What a rank has to do.
pub(super) enum Task {
    Message(Message),
    Completion(Completion),
    /// The data of a message will never come.
    Lost(Origin),
}

/// What a rank of this process waits to hear from another process.
pub(super) struct Awaited {
    pub node: Node,
    /// The rank there.
    pub target: u32,
    /// Counted when it is heard.
    pub counter: usize,
    /// Where data goes: address, length, and how much has come.
    pub room: (usize, usize, usize),
}

/// Where in a name the rank begins that has given it.
pub(super) const RANK_SHIFT: u32 = 40;

/// A rank in a context.
pub(super) struct Member {
    /// The context's number among all processes, and among the rank's own contexts.
    pub context: u32,
    pub handle: c_int,
    pub rank: u32,
    /// The thread that has made the context.
    pub thread: &'static Thread,
    pub handlers: Box<[AtomicUsize]>,
    tasks: Lock<VecDeque<Task>>,
    pending: AtomicU32,
    /// The thread that runs handlers now.
    runner: AtomicPtr<Thread>,
    /// The thread has been asked to run some.
    has_errand: AtomicBool,
    /// The thread that runs them in interrupt mode.
    pub servant: Lock<Option<&'static Thread>>,
    pub has_interrupts: AtomicBool,
    waits: AtomicU32,
    waiters: Lock<Vec<&'static Thread>>,
    /// How many messages and operations of the rank have not come to their end.
    pub outstanding: AtomicU64,
    pub awaited: Lock<HashMap<u64, Awaited>>,
    names: AtomicU64,
    has_failed: AtomicBool,
    failure: Lock<Option<Error>>,
    /// The rank has ended its context.
    pub is_gone: AtomicBool,
}

impl Member {
    pub fn new(context: u32, handle: c_int, rank: u32) -> Self {
        Self {
            context,
            handle,
            rank,
            thread: weft_sched::current(),
            handlers: (0..HANDLERS).map(|_| AtomicUsize::new(0)).collect(),
            tasks: Lock::default(),
            pending: AtomicU32::new(0),
            runner: AtomicPtr::new(ptr::null_mut()),
            has_errand: AtomicBool::new(false),
            servant: Lock::default(),
            has_interrupts: AtomicBool::new(false),
            waits: AtomicU32::new(0),
            waiters: Lock::default(),
            outstanding: AtomicU64::new(0),
            awaited: Lock::default(),
            names: AtomicU64::new(u64::from(rank) << RANK_SHIFT | 1),
            has_failed: AtomicBool::new(false),
            failure: Lock::default(),
            is_gone: AtomicBool::new(false),
        }
    }

    /// Gives the rank something to do.
    pub fn give(self: &Arc<Self>, task: Task) {
        self.tasks.lock().push_back(task);
        self.pending.fetch_add(1, Ordering::SeqCst);
        self.call();
    }

    /// Has somebody do what there is to do.
    pub fn call(self: &Arc<Self>) {
        if self.pending.load(Ordering::SeqCst) == 0 {
            return;
        }
        if self.waits.load(Ordering::SeqCst) > 0 {
            return self.wake();
        }
        if self.has_interrupts.load(Ordering::SeqCst) {
            let servant = *self.servant.lock();
            return servant.into_iter().for_each(Thread::unpark);
        }
        if !self.has_errand.swap(true, Ordering::SeqCst) {
            let member = self.clone();
            self.thread.give_errand(move || {
                member.has_errand.store(false, Ordering::SeqCst);
                member.run();
            });
        }
    }

    fn wake(&self) {
        let waiters = self.waiters.lock().clone();
        waiters.into_iter().for_each(Thread::unpark);
    }

    /// Wakes who waits for what has just been changed.
    pub fn notify(&self) {
        if self.waits.load(Ordering::SeqCst) > 0 {
            self.wake();
        }
    }

    /// Tells whether there is something to do and nobody does it.
    pub fn has_work(&self) -> bool {
        self.pending.load(Ordering::SeqCst) > 0 && self.runner.load(Ordering::SeqCst).is_null()
    }

    /// Tells whether the calling thread is in a handler of the rank.
    pub fn is_in_handler(&self) -> bool {
        ptr::eq(self.runner.load(Ordering::Relaxed), weft_sched::current())
    }

    /// Does what there is to do, unless another thread does. For a thread of the rank.
    pub fn run(self: &Arc<Self>) {
        let me = ptr::from_ref(weft_sched::current()).cast_mut();
        while self.pending.load(Ordering::SeqCst) > 0 {
            let nobody = ptr::null_mut();
            if self.runner.compare_exchange(nobody, me, Ordering::SeqCst, Ordering::SeqCst).is_err() {
                return;
            }
            let mut told = Vec::new();
            loop {
                let Some(task) = self.tasks.lock().pop_front() else { break };
                self.pending.fetch_sub(1, Ordering::SeqCst);
                self.carry_out(task, &mut told);
            }
            self.runner.store(nobody, Ordering::SeqCst);
            told.into_iter().for_each(way::push);
            // Another thread may wait for the turn.
            self.notify();
        }
    }

    fn carry_out(self: &Arc<Self>, task: Task, told: &mut Vec<Node>) {
        match task {
            Task::Message(message) => self.receive(message, told),
            Task::Completion(completion) => self.complete(completion, told),
            Task::Lost(origin) => self.end(origin, End::Done, told),
        }
    }

    /// Runs the header handler of a message, and puts the data where that says.
    fn receive(self: &Arc<Self>, message: Message, told: &mut Vec<Node>) {
        let Message { from, handler, header, bytes, data, target_counter, origin } = message;
        let function = self.handlers[handler as usize].load(Ordering::Acquire);
        if function == 0 {
            self.leave(data);
            return self.end(origin, End::NoHandler, told);
        }
        let head = match &data {
            Data::Far(_, Contents::Here(all, _)) => &all[..all.len() - bytes],
            Data::Far(_, Contents::Offered(head, _)) => head,
            _ => &header[..],
        };
        let (mut completion, mut argument) = (None, ptr::null_mut());
        // SAFETY: the program has registered the address as a function of this type; it gets what is valid during the call.
        let target = unsafe {
            let function = core::mem::transmute::<usize, HeaderHandler>(function);
            function(
                self.handle,
                from as c_int,
                head.as_ptr().cast(),
                head.len(),
                bytes,
                &mut completion,
                &mut argument,
            )
        };
        let target = target.cast::<u8>();
        let completion = Completion { handler: completion, argument: argument as usize, origin };
        if target.is_null() || bytes == 0 {
            self.leave(data);
        } else {
            match data {
                Data::Own(data) => put_at(target, &data),
                Data::Lent(address, length, sender, counter) => {
                    // SAFETY: the sender leaves its memory alone until its counter is counted; the handler has given memory for
                    // as many bytes.
                    unsafe { weft_sys::copy::bytes(address as *const u8, target, length) };
                    sender.count(counter);
                }
                Data::Far(node, Contents::Here(all, credit)) => {
                    put_at(target, &all[all.len() - bytes..]);
                    way::used(node, credit);
                }
                Data::Far(node, Contents::Offered(_, offer)) => {
                    let member = self.clone();
                    let then = move |result: core::result::Result<(), String>| {
                        member.give(match result {
                            Ok(()) => {
                                member.count(target_counter);
                                Task::Completion(completion)
                            }
                            Err(_) => Task::Lost(completion.origin),
                        });
                    };
                    // SAFETY: the handler has given memory for as many bytes, which is the message's until its completion handler.
                    let landing = unsafe { Landing::new(Place::Block(target), bytes as u64, then) };
                    return way::fetch(node, &offer, landing);
                }
            }
        }
        self.count(target_counter);
        self.complete(completion, told);
    }

    /// Lets go of data that nobody wants.
    fn leave(&self, data: Data) {
        match data {
            Data::Own(_) => {}
            Data::Lent(_, _, sender, counter) => sender.count(counter),
            Data::Far(node, Contents::Here(_, credit)) => way::used(node, credit),
            Data::Far(node, Contents::Offered(_, offer)) => way::decline(node, &offer),
        }
    }

    fn complete(self: &Arc<Self>, completion: Completion, told: &mut Vec<Node>) {
        let Completion { handler, argument, origin } = completion;
        if let Some(function) = handler {
            // SAFETY: the program's header handler has named the function, of this type, with its argument.
            unsafe { function(self.handle, argument as *mut c_void) };
        }
        self.end(origin, End::Done, told);
    }

    /// Tells a message's origin that the message has come to its end.
    fn end(&self, origin: Origin, end: End, told: &mut Vec<Node>) {
        match origin {
            Origin::Here(origin, counter) => origin.ended(counter, end, self.rank),
            Origin::There(node, name) => {
                way::answer(node, self.context, name, end, When::Later);
                if !told.contains(&node) {
                    told.push(node);
                }
            }
        }
    }

    /// Notes that one of the rank's messages or operations has come to its end.
    pub fn ended(&self, counter: usize, end: End, target: u32) {
        match end {
            End::Done => self.count_quietly(counter),
            End::NoHandler => self.fail(no_handler(target)),
            End::Gone => self.fail(gone(target)),
        }
        self.outstanding.fetch_sub(1, Ordering::SeqCst);
        self.notify();
    }

    /// Counts in a counter of the rank's, if there is one.
    pub fn count(&self, counter: usize) {
        if counter != 0 {
            self.count_quietly(counter);
            self.notify();
        }
    }

    fn count_quietly(&self, counter: usize) {
        if counter != 0 {
            counter_at(counter).fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Notes what has gone wrong, for the next call that waits.
    pub fn fail(&self, error: Error) {
        self.failure.lock().get_or_insert(error);
        self.has_failed.store(true, Ordering::SeqCst);
        self.notify();
    }

    /// Returns what has gone wrong, once.
    ///
    /// # Errors
    /// That.
    pub fn check(&self) -> Result {
        if !self.has_failed.load(Ordering::SeqCst) {
            return Ok(());
        }
        let mut failure = self.failure.lock();
        self.has_failed.store(false, Ordering::SeqCst);
        failure.take().map_or(Ok(()), Err)
    }

    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::SeqCst)
    }

    /// Waits until `done`, and runs the rank's handlers meanwhile. Whoever makes it true [notifies](Member::notify) the rank.
    pub fn wait(self: &Arc<Self>, done: impl Fn() -> bool) {
        self.run();
        if done() {
            return;
        }
        let me = weft_sched::current();
        self.waiters.lock().push(me);
        self.waits.fetch_add(1, Ordering::SeqCst);
        while !done() {
            weft_sched::wait_until(|| done() || self.has_work());
            self.run();
        }
        self.waits.fetch_sub(1, Ordering::SeqCst);
        let mut waiters = self.waiters.lock();
        if let Some(place) = waiters.iter().position(|waiter| ptr::eq(*waiter, me)) {
            waiters.swap_remove(place);
        }
        drop(waiters);
        self.call();
    }

    /// Waits until not too much of the rank has not come to its end, unless the thread is in a handler.
    pub fn await_room(self: &Arc<Self>) {
        let is_behind = || self.outstanding.load(Ordering::SeqCst) >= super::MOST_OUTSTANDING;
        if is_behind() && !self.is_in_handler() {
            self.wait(|| !is_behind() || self.has_failed());
        }
    }

    /// Gives a name to what another process is asked for.
    pub fn expect(&self, awaited: Awaited) -> u64 {
        let name = self.names.fetch_add(1, Ordering::Relaxed);
        self.outstanding.fetch_add(1, Ordering::SeqCst);
        self.awaited.lock().insert(name, awaited);
        name
    }

    /// Takes what has come to its end.
    pub fn take(&self, name: u64) -> Option<Awaited> {
        self.awaited.lock().remove(&name)
    }

    /// Ends what a lost process was asked for.
    pub fn lose(&self, node: Node, reason: &str) {
        let mut lost = 0;
        self.awaited.lock().retain(|_, awaited| {
            let stays = awaited.node != node;
            lost += u64::from(!stays);
            stays
        });
        if lost > 0 {
            self.fail(Error::new(MPI_ERR_PROC_ABORTED, format!("a target is lost: {reason}")));
            self.outstanding.fetch_sub(lost, Ordering::SeqCst);
            self.notify();
        }
    }
}

fn put_at(target: *mut u8, data: &[u8]) {
    // SAFETY: the handler has given memory for as many bytes.
    unsafe { weft_sys::copy::bytes(data.as_ptr(), target, data.len()) };
}

/// Returns a counter at an address of the program's.
pub(super) fn counter_at(address: usize) -> &'static AtomicI64 {
    // SAFETY: the program has said that a counter is there, and leaves it there; its address has been found to be aligned.
    unsafe { AtomicI64::from_ptr(address as *mut i64) }
}

/// Describes data of the program's that stays until it has left.
pub(super) fn lent(address: usize, bytes: usize) -> Source {
    // SAFETY: the program leaves its memory alone until its origin counter has been counted.
    unsafe { Source::lent(Place::Block(address as *mut u8), bytes as u64) }
}

#[cold]
pub(super) fn no_handler(target: u32) -> Error {
    let text = format!(
        "rank {target} has no handler of the number that a message named; register it before messages come"
    );
    Error::new(MPI_ERR_ARG, text)
}

#[cold]
pub(super) fn gone(target: u32) -> Error {
    Error::new(MPI_ERR_RANK, format!("rank {target} has ended its context; no message gets there any more"))
}
