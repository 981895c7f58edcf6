//! The contexts of a rank: their beginning and end, handlers, modes, inquiries.
#![allow(unsafe_code)] // Gets handlers as addresses of functions.

use super::member::{self, Member};
use super::team::Team;
use super::{HANDLERS, LONGEST_HEADER, SHORT};
use crate::arguments::check;
use crate::communicators::communicator::{agree_on_context, intra};
use crate::communicators::contexts::Held;
use crate::jobs::nodes;
use crate::process::Process;
use core::ffi::{c_int, c_void};
use core::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use weft_base::constants::*;
use weft_base::{Error, Out, Result, abi};
use weft_sync::Lock;

/// How many contexts a rank may have at once.
const MOST: usize = 1 << 8;
/// The stack of a thread that runs handlers.
const STACK: usize = 1 << 20;

/// The contexts of a rank, by number.
#[derive(Default)]
struct Contexts {
    slots: Lock<Vec<Slot>>,
}

#[derive(Default)]
struct Slot {
    uses: usize,
    context: Option<Arc<Context>>,
}

/// A rank's part in a context.
pub(super) struct Context {
    pub team: Arc<Team>,
    pub member: Arc<Member>,
    /// For what all ranks do together.
    pub ranks: weft_coll::Team,
    /// Whose error handler hears of errors.
    comm: abi::Comm,
    /// The thread of interrupt mode is there.
    has_servant: AtomicBool,
    _held: Held,
}

/// What a rank may ask about a context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum Query {
    /// The rank.
    Rank = 1,
    /// How many ranks there are.
    Size = 2,
    /// The longest header.
    MostHeader = 3,
    /// How many handlers there may be.
    MostHandlers = 4,
    /// Whether handlers run on a thread of the library's.
    Interrupts = 5,
    /// The longest data that is copied when it is sent to a rank of the same process.
    Short = 6,
}

const QUERIES: [Query; 6] =
    [Query::Rank, Query::Size, Query::MostHeader, Query::MostHandlers, Query::Interrupts, Query::Short];

/// Returns the address of a counter or word, which may be none.
///
/// # Errors
/// `MPI_ERR_ARG`
pub(super) fn counter(address: usize, name: &str) -> Result<usize> {
    if !address.is_multiple_of(size_of::<i64>()) {
        return Err(Error::new(MPI_ERR_ARG, format!("{name} is {address:#x}; it must be a multiple of 8")));
    }
    Ok(address)
}

/// Returns the number of a handler.
///
/// # Errors
/// `MPI_ERR_ARG`
pub(super) fn handler_number(handler: c_int) -> Result<u32> {
    let number = u32::try_from(handler).ok().filter(|&number| (number as usize) < HANDLERS);
    number.ok_or_else(|| {
        let text = format!("handler is {handler}; handlers have numbers from 0 to {}", HANDLERS - 1);
        Error::new(MPI_ERR_ARG, text)
    })
}

impl Contexts {
    fn take(&self, make: impl FnOnce(c_int) -> Result<Arc<Context>>) -> Result<Arc<Context>> {
        let (place, number) = {
            let mut slots = self.slots.lock();
            let free = slots.iter().position(|slot| slot.context.is_none() && slot.uses.is_multiple_of(2));
            let place = free.unwrap_or(slots.len());
            if place == MOST {
                let text = format!("there are {MOST} contexts already; end one with Weft_am_term");
                return Err(Error::new(MPI_ERR_OTHER, text));
            }
            if free.is_none() {
                slots.push(Slot::default());
            }
            // Odd while somebody makes it.
            slots[place].uses += 1;
            (place, (slots[place].uses.div_ceil(2) * MOST + place) as c_int)
        };
        let made = make(number);
        let mut slots = self.slots.lock();
        slots[place].uses += 1;
        slots[place].context = made.as_ref().ok().cloned();
        made
    }

    fn find(&self, number: c_int) -> Option<Arc<Context>> {
        let place = usize::try_from(number).ok()? % MOST;
        let slots = self.slots.lock();
        slots.get(place)?.context.as_ref().filter(|context| context.member.handle == number).cloned()
    }

    fn remove(&self, number: c_int) {
        let mut slots = self.slots.lock();
        let removed = slots.get_mut(number as usize % MOST).and_then(|slot| slot.context.take());
        drop(slots);
        drop(removed);
    }
}

fn contexts(process: &Process) -> &Contexts {
    let all = process.active.get_or_init(|| Box::new(Contexts::default()));
    all.downcast_ref().expect("nobody else keeps anything there")
}

/// Ends what is left of a rank's contexts when the rank ends.
pub(crate) fn end(process: &Process) {
    let left: Vec<_> =
        contexts(process).slots.lock().iter_mut().filter_map(|slot| slot.context.take()).collect();
    left.iter().for_each(|context| context.leave());
}

impl Context {
    /// Finds one of the calling thread's rank.
    ///
    /// # Errors
    /// `MPI_ERR_ARG`, `MPI_ERR_OTHER`
    pub fn find(number: c_int) -> Result<Arc<Self>> {
        let process = Process::current()?;
        contexts(process).find(number).ok_or_else(|| {
            let text = format!(
                "context is {number}, which is none that Weft_am_init has made and Weft_am_term not ended"
            );
            Error::new(MPI_ERR_ARG, text)
        })
    }

    /// Checks the rank of a target.
    ///
    /// # Errors
    /// `MPI_ERR_RANK`
    pub fn target(&self, rank: c_int) -> Result<u32> {
        let size = self.team.size();
        u32::try_from(rank).ok().filter(|&rank| rank < size).ok_or_else(|| {
            Error::new(MPI_ERR_RANK, format!("target is {rank}; the ranks are 0 to {}", size - 1))
        })
    }

    /// Checks that a rank of this process has not ended the context.
    ///
    /// # Errors
    /// `MPI_ERR_RANK`
    pub fn check_presence(&self, other: &Member) -> Result {
        if other.is_gone.load(Ordering::Acquire) { Err(member::gone(other.rank)) } else { Ok(()) }
    }

    /// Checks that the calling thread may wait.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER`
    pub fn may_wait(&self) -> Result {
        if self.member.is_in_handler() {
            return Err(Error::new(MPI_ERR_OTHER, "called in a handler, where nothing may be waited for"));
        }
        Ok(())
    }

    /// Runs the handlers of what has come, unless the thread is in one.
    pub fn progress(&self) {
        if !self.member.is_in_handler() {
            nodes::nodes().into_iter().for_each(|nodes| _ = nodes.poll());
            self.member.run();
        }
    }

    /// Waits until all that the rank has begun has come to its end.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER`; that of what has not.
    pub fn fence(&self) -> Result {
        self.may_wait()?;
        let member = &self.member;
        member.wait(|| member.outstanding.load(Ordering::SeqCst) == 0);
        member.check()
    }

    /// Begins or ends interrupt mode.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` if there is no thread.
    fn set_interrupts(self: &Arc<Self>, on: bool) -> Result {
        if on && !self.has_servant.swap(true, Ordering::SeqCst) {
            let (member, (sender, receiver)) = (self.member.clone(), std::sync::mpsc::channel());
            // By the C library's function as programs see it, so that the thread is the rank's.
            let made =
                std::thread::Builder::new().name("weft-handlers".into()).stack_size(STACK).spawn(move || {
                    *member.servant.lock() = Some(weft_sched::current());
                    member.has_interrupts.store(true, Ordering::SeqCst);
                    let _ = sender.send(());
                    serve(&member);
                });
            if let Err(error) = made {
                self.has_servant.store(false, Ordering::SeqCst);
                let text =
                    format!("interrupts cannot be switched on, because no thread can be made: {error}");
                return Err(Error::new(MPI_ERR_OTHER, text));
            }
            let _ = receiver.recv();
        } else if !on {
            self.dismiss();
        }
        self.member.call();
        Ok(())
    }

    /// Ends the thread of interrupt mode.
    fn dismiss(&self) {
        let member = &self.member;
        if self.has_servant.load(Ordering::SeqCst) {
            member.has_interrupts.store(false, Ordering::SeqCst);
            let servant = *member.servant.lock();
            servant.into_iter().for_each(weft_sched::Thread::unpark);
            let is_dismissed = || member.servant.lock().is_none();
            while !is_dismissed() {
                std::thread::yield_now();
            }
            self.has_servant.store(false, Ordering::SeqCst);
        }
    }

    /// Ends the rank's part.
    fn leave(&self) {
        self.member.is_gone.store(true, Ordering::SeqCst);
        self.dismiss();
        if ptr::eq(self.member.thread, weft_sched::current()) {
            self.member.thread.release();
        }
    }
}

/// Runs a rank's handlers in interrupt mode.
fn serve(member: &Arc<Member>) {
    let goes_on = || member.has_interrupts.load(Ordering::SeqCst);
    while goes_on() {
        while goes_on() && !member.has_work() {
            weft_sched::park();
        }
        member.run();
    }
    *member.servant.lock() = None;
}

/// `Weft_am_init`: all ranks of the communicator together.
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_ARG`, `MPI_ERR_OTHER`
pub fn init(comm: abi::Comm, context: Out<c_int>) -> Result {
    check::output(context, "context")?;
    let process = Process::current()?;
    let parent = process.communicator(comm)?;
    intra(&parent, "comm")?;
    // Peers may send as soon as all have agreed.
    nodes::serve_active(super::SERVICES);
    let number = agree_on_context(&parent)?;
    let values = &parent.values;
    let made = contexts(process).take(|handle| {
        let team = Team::join(number, &values.group);
        let ranks = nodes::join(number, values.size(), values.rank, |rank| values.group.world_rank(rank));
        let member = Arc::new(Member::new(number, handle, values.rank));
        team.add(member.clone());
        member.thread.engage();
        let held = Held::new(number, process.world_rank);
        let has_servant = AtomicBool::new(false);
        Ok(Arc::new(Context { team, member, ranks, comm, has_servant, _held: held }))
    })?;
    made.ranks.barrier()?;
    context.set(made.member.handle);
    Ok(())
}

/// `Weft_am_term`: all ranks together.
///
/// # Errors
/// `MPI_ERR_ARG`, `MPI_ERR_OTHER`; that of a message which has not come to its end.
pub fn term(context: Out<c_int>) -> Result {
    check::output(context, "context")?;
    let number = context.get_at(0);
    let found = Context::find(number)?;
    if !ptr::eq(found.member.thread, weft_sched::current()) {
        return Err(Error::new(MPI_ERR_OTHER, "called by another thread than Weft_am_init"));
    }
    let mine = found.fence();
    found.may_wait()?;
    let all = found.ranks.barrier();
    found.leave();
    contexts(Process::current()?).remove(number);
    context.set(0);
    mine.and(all)
}

/// Returns the communicator whose error handler hears of errors with a context.
pub fn communicator(context: c_int) -> Option<abi::Comm> {
    Context::find(context).ok().map(|context| context.comm)
}

/// `Weft_am_register_handler`
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn register_handler(context: c_int, handler: c_int, function: *const c_void) -> Result {
    let context = Context::find(context)?;
    let number = handler_number(handler)?;
    if function.is_null() {
        return Err(Error::new(MPI_ERR_ARG, "function is a null pointer"));
    }
    context.member.handlers[number as usize].store(function as usize, Ordering::Release);
    Ok(())
}

/// `Weft_am_probe`: runs the handlers of what has come.
///
/// # Errors
/// `MPI_ERR_ARG`, `MPI_ERR_OTHER`
pub fn probe(context: c_int) -> Result {
    let context = Context::find(context)?;
    context.may_wait()?;
    context.progress();
    if !context.member.has_work() {
        weft_sched::poll_failed();
    }
    Ok(())
}

/// `Weft_am_senv`: switches interrupt mode on or off.
///
/// # Errors
/// `MPI_ERR_ARG`, `MPI_ERR_OTHER`
pub fn senv(context: c_int, query: c_int, value: c_int) -> Result {
    let context = Context::find(context)?;
    if query != Query::Interrupts as c_int {
        let text = format!("query is {query}; only WEFT_AM_INTERRUPTS can be set");
        return Err(Error::new(MPI_ERR_ARG, text));
    }
    context.may_wait()?;
    context.set_interrupts(value != 0)
}

/// `Weft_am_qenv`
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn qenv(context: c_int, query: c_int, value: Out<c_int>) -> Result {
    let context = Context::find(context)?;
    check::output(value, "value")?;
    let Some(query) = QUERIES.into_iter().find(|known| *known as c_int == query) else {
        return Err(Error::new(MPI_ERR_ARG, format!("query is {query}, which stands for nothing")));
    };
    value.set(match query {
        Query::Rank => context.member.rank as c_int,
        Query::Size => context.team.size() as c_int,
        Query::MostHeader => LONGEST_HEADER as c_int,
        Query::MostHandlers => HANDLERS as c_int,
        Query::Interrupts => c_int::from(context.member.has_interrupts.load(Ordering::SeqCst)),
        Query::Short => SHORT as c_int,
    });
    Ok(())
}

/// `Weft_am_address`: returns what other ranks call memory of this one.
pub fn address(memory: *const c_void) -> u64 {
    memory.expose_provenance() as u64
}

/// `Weft_am_address_init`: all ranks together; each gives an address, and gets those of all.
///
/// # Errors
/// `MPI_ERR_ARG`, `MPI_ERR_OTHER`
pub fn address_init(context: c_int, mine: *const c_void, all: Out<u64>) -> Result {
    let context = Context::find(context)?;
    check::output(all, "all")?;
    context.may_wait()?;
    let mut found = vec![0; size_of::<u64>() * context.team.size() as usize];
    context.ranks.allgather_bytes(&address(mine).to_ne_bytes(), &mut found)?;
    for (rank, bytes) in found.chunks_exact(size_of::<u64>()).enumerate() {
        all.set_at(rank, u64::from_ne_bytes(bytes.try_into().expect("eight bytes")));
    }
    Ok(())
}
