//! What waits and is woken: a rank's own thread, or a foreign thread of a rank.
#![allow(unsafe_code)] // The current-thread word holds a pointer to a `Thread` that lives for ever.

use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::ops::Range;
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use weft_base::settings::SPIN_US;
use weft_base::tools::watch;
use weft_sync::prefetch;
use weft_sync::queue::{Chain, Linked, Links};
use weft_sys::{errno, futex};

use crate::context::{self, Context};
use crate::errand::Errands;
use crate::foreign::is_crowded;
use crate::idle;
use crate::state::{PARKED, ParkState};
use crate::told;
use crate::worker::Worker;

/// The rank number of a thread that belongs to no rank.
pub const NO_RANK: u32 = u32::MAX;

/// How many words of a call's arguments a thread notes.
pub const ARGUMENTS: usize = 7;

/// One thread of control that calls the library: a rank's own thread, or a foreign thread of a rank.
///
/// Lives for ever (`&'static`), so that waking one is always sound. The first cache line pair is what a switch and a
/// wake-up touch.
#[repr(C, align(128))]
pub struct Thread {
    pub(crate) context: Context,
    pub(crate) state: ParkState,
    /// Runs on workers (and has a saved context while it waits); else it has a kernel thread to itself.
    pub(crate) on_workers: bool,
    /// The shard of wait sets this thread waits in, and its home worker's number.
    pub(crate) home: u32,
    pub(crate) links: Links<Thread>,
    /// The worker that runs the thread, or ran it last. Written by that worker only, before it resumes the thread.
    worker: AtomicPtr<Worker>,
    pub(crate) home_worker: Option<&'static Worker>,
    rank: AtomicU32,
    /// 1 while a thread without worker is in a wait set's list.
    pub(crate) listed: AtomicU32,
    /// How often in a row the thread has polled in vain, up to a limit. Only the thread itself uses it.
    polls: AtomicU32,
    process: AtomicPtr<()>,
    call: AtomicPtr<&'static str>,
    /// Where the `errno` of the thread is that has this record.
    errno: AtomicPtr<c_int>,
    arguments: [AtomicU64; ARGUMENTS],
    life: AtomicU8,
    /// The kernel's number of the thread that has this record; of a rank on workers, of the one that was made for it.
    kernel_thread: AtomicU32,
    /// What the thread has said of its wait, and how often it has said something.
    wait: AtomicU64,
    waits: AtomicU32,
    /// Odd while a thread without worker sleeps in the kernel; counts on at each change.
    sleeps: AtomicU32,
    stack: [AtomicUsize; 2],
    pub(crate) errands: Errands,
    /// What a new rank runs; taken by its own thread.
    pub(crate) entry: UnsafeCell<Option<Box<dyn FnOnce() + Send>>>,
}

// SAFETY: everything is atomic but `entry`, which is written before the rank's kernel thread is created and read by
// that thread only, and `context`, which explains itself.
unsafe impl Sync for Thread {}
// SAFETY: records live for ever, and none of the fields belongs to the thread that made them.
unsafe impl Send for Thread {}

impl Linked for Thread {
    fn links(&self) -> &Links<Self> {
        &self.links
    }
}

/// Where a thread is in its life. A foreign thread is `Alive` while it belongs to a rank by [`inherit`](crate::inherit).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Life {
    /// Not yet created.
    New,
    /// Created and not ended.
    Alive,
    /// Ended.
    Ended,
}

static NO_CALL: &str = "";

impl Thread {
    pub(crate) fn new(rank: u32, home: u32, home_worker: Option<&'static Worker>) -> Self {
        Self {
            context: Context::running(),
            state: ParkState::new(),
            on_workers: home_worker.is_some(),
            home,
            links: Links::new(),
            worker: AtomicPtr::new(pointer(home_worker)),
            home_worker,
            rank: AtomicU32::new(rank),
            listed: AtomicU32::new(0),
            polls: AtomicU32::new(0),
            process: AtomicPtr::default(),
            call: AtomicPtr::new((&raw const NO_CALL).cast_mut()),
            errno: AtomicPtr::default(),
            arguments: [const { AtomicU64::new(0) }; ARGUMENTS],
            life: AtomicU8::new(Life::New as u8),
            kernel_thread: AtomicU32::new(0),
            wait: AtomicU64::new(0),
            waits: AtomicU32::new(0),
            sleeps: AtomicU32::new(0),
            stack: [AtomicUsize::new(0), AtomicUsize::new(0)],
            errands: Errands::default(),
            entry: UnsafeCell::new(None),
        }
    }

    /// Fetches what a switch to this thread will touch, and the record of the one behind it.
    #[inline]
    pub(crate) fn prefetch(&self) {
        self.context.prefetch();
        prefetch::address(self.process() as usize);
        if let Some(next) = self.links.following() {
            prefetch::for_writing(next);
        }
    }

    /// Makes this the record of the calling thread.
    pub(crate) fn bind(&self) {
        self.errno.store(errno::address(), Ordering::Relaxed);
        self.kernel_thread.store(weft_sys::process::kernel_thread_id(), Ordering::Relaxed);
        context::set_current(core::ptr::from_ref(self).cast());
    }

    /// Returns the world rank this thread belongs to, or [`NO_RANK`].
    #[inline]
    pub fn rank(&self) -> u32 {
        self.rank.load(Ordering::Relaxed)
    }

    /// Returns the rank, if there is one.
    pub(crate) fn known_rank(&self) -> Option<u32> {
        Some(self.rank()).filter(|&rank| rank != NO_RANK)
    }

    /// Returns what [`Thread::set_process`] stored: the `mpi` layer's state of the rank, or null.
    #[inline]
    pub fn process(&self) -> *mut () {
        self.process.load(Ordering::Relaxed)
    }

    /// Attaches the thread to a rank and to the `mpi` layer's state of that rank.
    pub fn set_process(&self, rank: u32, process: *mut ()) {
        self.rank.store(rank, Ordering::Relaxed);
        self.process.store(process, Ordering::Relaxed);
    }

    /// Notes the name of the library function the thread is in, for reports: `set_call(&"MPI_Send")`. One store.
    #[inline]
    pub fn set_call(&self, name: &'static &'static str) {
        self.call.store(core::ptr::from_ref(name).cast_mut(), Ordering::Relaxed);
    }

    /// Returns what [`Thread::set_call`] noted, at first the empty name.
    pub fn call(&self) -> &'static str {
        // SAFETY: only `&'static &'static str` are stored.
        unsafe { *self.call.load(Ordering::Relaxed) }
    }

    /// Returns the words that [`begin_call_with`] noted last; they belong to the present call only if that notes any.
    pub fn arguments(&self) -> [u64; ARGUMENTS] {
        core::array::from_fn(|i| self.arguments[i].load(Ordering::Relaxed))
    }

    /// Returns the address of what [`Thread::set_call`] noted.
    pub fn call_address(&self) -> usize {
        self.call.load(Ordering::Relaxed) as usize
    }

    /// Shows the addresses to which the calls on the stack of a waiting thread return, innermost first, until `show` returns
    /// false; some of the library's own come before. Shows nothing of a thread that runs.
    ///
    /// # Safety
    /// If the thread waits, nothing wakes it before this returns.
    pub unsafe fn walk(&self, show: &mut dyn FnMut(usize) -> bool) {
        if !self.on_workers || !self.context.on_core() {
            // SAFETY: the context is off its core, or rests if its stack pointer is noted, and stays so, says the caller.
            unsafe { self.context.walk(show) }
        }
    }

    /// Returns what the thread has said of its wait, 0 if nothing, and how often it has said something.
    pub fn said_wait(&self) -> (u64, u32) {
        let said = self.wait.load(Ordering::SeqCst);
        (said, self.waits.load(Ordering::SeqCst))
    }

    /// Returns the kernel's number of the thread that bound itself to this record last.
    pub(crate) fn kernel_thread(&self) -> u32 {
        self.kernel_thread.load(Ordering::Relaxed)
    }

    /// Returns the addresses of the thread's stack, the guard below it included. Empty if unknown.
    pub fn stack(&self) -> Range<usize> {
        self.stack[0].load(Ordering::Relaxed)..self.stack[1].load(Ordering::Relaxed)
    }

    pub(crate) fn set_stack(&self, stack: Range<usize>) {
        self.stack[0].store(stack.start, Ordering::Relaxed);
        self.stack[1].store(stack.end, Ordering::Relaxed);
    }

    /// Tells whether the thread has been created and has ended.
    pub fn life(&self) -> Life {
        match self.life.load(Ordering::Acquire) {
            0 => Life::New,
            1 => Life::Alive,
            _ => Life::Ended,
        }
    }

    pub(crate) fn set_life(&self, life: Life) {
        self.life.store(life as u8, Ordering::Release);
    }

    /// Tells whether the thread is parked (a hint; may be stale). Waiting in a [`WaitSet`](crate::WaitSet) does not
    /// count.
    pub fn is_parked(&self) -> bool {
        self.state.is_parked()
    }

    /// Tells whether the thread is on a core now, as far as the caller can see (a hint; may be stale).
    #[inline]
    pub fn is_running(&self) -> bool {
        if self.on_workers { self.context.on_core() } else { !self.state.is_parked() }
    }

    /// Tells whether the thread's worker is the caller's (a hint): what it does next, it does after the caller
    /// parks, so spinning for it is pointless. Always false under the kernel scheduler.
    #[inline]
    pub fn shares_worker(&self) -> bool {
        let mine = current();
        mine.on_workers && self.on_workers && core::ptr::eq(self.worker_pointer(), mine.worker_pointer())
    }

    /// Wakes the thread: its current or next [`park`] returns. May be called by any thread, any number of times;
    /// wake-ups that find a token already set are merged.
    #[inline]
    pub fn unpark(&'static self) {
        if self.state.unpark() {
            match self.home_worker {
                Some(home) => home.destination().enqueue(Chain::one(self)),
                None => self.wake_kernel_thread(),
            }
        }
    }

    #[cold]
    fn wake_kernel_thread(&self) {
        if known().is_some_and(|me| core::ptr::eq(me, self)) {
            return; // It found its own wake-up while it polled.
        }
        if !idle::wake_guest(self) {
            futex::wake(&self.state.0, 1);
        }
    }

    /// Tells whether the thread, which is the calling one, may [`suspend`]: whether workers run it, and nobody may want to
    /// interrupt it.
    #[inline]
    pub fn can_suspend(&self) -> bool {
        self.on_workers && !self.errands.may_come()
    }

    /// Ends the thread's present or coming [`suspend`]. The caller is the one party that owes it this call.
    #[inline]
    pub fn resume(&'static self) {
        if let Some(home) = self.home_worker {
            home.destination().enqueue(Chain::one(self));
        }
    }

    #[inline]
    pub(crate) fn worker_pointer(&self) -> *const Worker {
        self.worker.load(Ordering::Relaxed)
    }

    /// Returns the worker that runs the calling rank. It may be another one after each switch.
    #[inline]
    pub(crate) fn worker(&self) -> Option<&'static Worker> {
        // SAFETY: only `&'static Worker` are stored.
        unsafe { self.worker_pointer().as_ref() }
    }

    /// Notes the worker that is about to run the thread.
    #[inline]
    pub(crate) fn set_worker(&self, worker: &'static Worker) {
        self.worker.store(pointer(Some(worker)), Ordering::Relaxed);
    }

    /// Waits in the kernel until the state is no longer `PARKED`; for threads without a worker.
    pub(crate) fn sleep_while_parked(&'static self) {
        // Only this thread writes the word.
        let sleeps = self.sleeps.load(Ordering::Relaxed);
        self.sleeps.store(sleeps.wrapping_add(1), Ordering::SeqCst);
        self.context.rest(&mut || match idle::source() {
            Some(source) => {
                let is_idle = || self.state.0.load(Ordering::SeqCst) == PARKED;
                idle::visit(source, self, &is_idle, &|limit| {
                    futex::wait_for(&self.state.0, PARKED, Some(limit))
                });
            }
            None => {
                while self.state.0.load(Ordering::Acquire) == PARKED {
                    futex::wait(&self.state.0, PARKED);
                }
            }
        });
        self.sleeps.store(sleeps.wrapping_add(2), Ordering::SeqCst);
    }

    /// Returns which sleep in the kernel a thread without worker is in, if it is in one that nobody has ended yet.
    pub(crate) fn sleep(&self) -> Option<u32> {
        let sleep = self.sleeps.load(Ordering::SeqCst);
        (!sleep.is_multiple_of(2) && self.state.0.load(Ordering::SeqCst) == PARKED).then_some(sleep)
    }
}

fn pointer(worker: Option<&'static Worker>) -> *mut Worker {
    worker.map_or(core::ptr::null_mut(), |w| core::ptr::from_ref(w).cast_mut())
}

/// Returns the calling thread of control. A kernel thread that was never seen before is adopted as a foreign
/// thread that belongs to no rank.
#[inline(always)]
pub fn current() -> &'static Thread {
    let pointer = context::current().cast::<Thread>();
    // SAFETY: the word is null or holds a `&'static Thread`.
    match unsafe { pointer.as_ref() } {
        Some(thread) => thread,
        None => crate::foreign::adopt(),
    }
}

/// Notes that the calling thread is in a library function, as [`Thread::set_call`]. Returns what leaves its `errno` as it was:
/// what waits inside, or asks the system, changes it, and programs do not expect that.
#[inline(always)]
pub fn begin_call(name: &'static &'static str) -> errno::Kept {
    let me = current();
    me.set_call(name);
    // SAFETY: the calling thread has bound itself to the record that `current` returns.
    unsafe { errno::keep_at(me.errno.load(Ordering::Relaxed)) }
}

/// As [`begin_call`], and notes words of the call's arguments, for reports: some plain stores. The first word is in the cache
/// line of what every call writes, the others are in the next one.
#[inline(always)]
pub fn begin_call_with<const N: usize>(name: &'static &'static str, words: [u64; N]) -> errno::Kept {
    const { assert!(N <= ARGUMENTS) };
    let me = current();
    me.set_call(name);
    for (place, word) in me.arguments.iter().zip(words) {
        place.store(word, Ordering::Relaxed);
    }
    // SAFETY: the calling thread has bound itself to the record that `current` returns.
    unsafe { errno::keep_at(me.errno.load(Ordering::Relaxed)) }
}

/// What the calling thread has said of its wait, as long as this lives.
pub struct Said(&'static Thread);

impl Said {
    /// Says what the calling thread waits for, in a word that only who reads it understands.
    #[inline]
    pub fn new(word: u64) -> Self {
        let said = Self(current());
        said.change(word);
        said
    }

    /// Says something else.
    #[inline]
    pub fn change(&self, word: u64) {
        // Only this thread writes them.
        self.0.waits.store(self.0.waits.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        self.0.wait.store(word, Ordering::Release);
    }
}

impl Drop for Said {
    #[inline]
    fn drop(&mut self) {
        self.0.wait.store(0, Ordering::Release);
    }
}

/// Returns the calling thread of control if it has been seen before.
#[inline]
pub fn known() -> Option<&'static Thread> {
    // SAFETY: the word is null or holds a `&'static Thread`.
    unsafe { context::current().cast::<Thread>().as_ref() }
}

/// Waits until the calling thread's token is set, and takes it. May return early; callers loop over a condition. Does the
/// thread's errands.
///
/// Never call it with a lock of the library held.
#[inline]
pub fn park() {
    let me = current();
    if me.state.park() {
        match me.worker() {
            Some(worker) => worker.leave(me),
            None if watch::is_watched() => told::rest(me.known_rank(), &|| me.sleep_while_parked()),
            None => me.sleep_while_parked(),
        }
    }
    me.errands.run();
}

/// Waits until [`Thread::resume`] is called on the calling thread, which may have happened already.
///
/// For a wait that exactly one other party ends, exactly once, however the two race: then no parking state is needed,
/// which saves both sides their atomic operation on it. Until the call comes the thread is in no queue; after it, it
/// is in one, and no second call comes, so it is never in two. A rank that is resumed while it still leaves its core
/// is the business of `on_core`, as for [`WaitSet`](crate::WaitSet). [`Thread::unpark`] leaves only a token.
///
/// Only for threads that [`Thread::can_suspend`]; never with a lock of the library held.
#[inline]
pub fn suspend() {
    let me = current();
    if let Some(worker) = me.worker() {
        worker.leave(me);
    }
}

/// Lets other runnable ranks of the worker run first. Returns whether there was one.
pub fn yield_now() -> bool {
    let me = current();
    match me.worker() {
        Some(worker) => worker.yield_now(me),
        None => {
            weft_sys::cpu::yield_core();
            false
        }
    }
}

/// How often in a row a thread may poll in vain before it lets others run.
const IMPATIENCE: u32 = 4;

/// Notes that the calling thread polled in vain. After some of that in a row others run first: other runnable ranks of
/// the worker; and, when the worker's ranks have done nothing else for a while, other kernel threads. One of those may be
/// the worker that has to go on first: where cores are few, a worker that polls would keep it waiting for the whole of
/// its time slice.
#[inline]
pub fn poll_failed() {
    let me = current();
    let polls = me.polls.load(Ordering::Relaxed) + 1;
    if polls < IMPATIENCE {
        me.polls.store(polls, Ordering::Relaxed);
    } else {
        // One that polls on while others have something to do gives way after every look.
        let gave_way = give_way_in_poll(me);
        me.polls.store(if gave_way { IMPATIENCE } else { 0 }, Ordering::Relaxed);
    }
}

fn give_way_in_poll(me: &'static Thread) -> bool {
    match me.worker() {
        Some(worker) => {
            worker.note_poll();
            worker.yield_now(me)
        }
        None => {
            weft_sys::cpu::yield_core();
            false
        }
    }
}

/// Notes that the calling thread found what it polled for.
#[inline]
pub fn poll_succeeded() {
    let me = current();
    if me.polls.load(Ordering::Relaxed) != 0 {
        me.polls.store(0, Ordering::Relaxed);
        if let Some(worker) = me.worker() {
            worker.note_find();
        }
    }
}

/// Tells whether spinning is sensible: the worker has nothing else to run, and there is another core on which
/// somebody could change what the caller waits for.
#[inline]
pub fn may_spin() -> bool {
    match current().worker() {
        Some(worker) => worker.may_spin(),
        None => true,
    }
}

/// How many looks in vain a thread makes between two that ask whether to sleep at once.
const STRIDE: u32 = 8;
/// How many looks in vain a thread makes between two that ask whether others want its core.
const LOOKS: u32 = 64;
/// After how many it gives way to them, and after how many it parks, where threads outnumber cores. Within the first a
/// partner on the other core ends a burst of messages. With four threads a rank, windows of 64 messages and two cores 8
/// bytes take 107 to 120 ns, 110 to 150 when it gives way after 256 or 512 looks, and 200 to 225 after 64: then each core
/// goes round its threads without end. One thread a rank takes 91 to 107.
const TURN: u32 = 128;
const TURNS_OVER: u32 = 1024;

/// Tells a thread that waits, and has looked `looks` times in vain, whether to look again or to park. `most` is the
/// number of looks that are sensible where nobody else wants the core.
#[inline]
pub fn look_again(looks: u32, most: u32) -> bool {
    if looks.is_multiple_of(STRIDE) && looks > 0 && idle::is_streaming() {
        return false;
    }
    if idle::is_crowded() {
        return looks < most && may_spin() && take_turns(looks);
    }
    looks < most && (!looks.is_multiple_of(LOOKS) || (may_spin() && (!is_crowded() || give_way(looks))))
}

/// Lets another process run, for a thread that waits where other processes need the cores, unless other ranks of this one wait
/// for the core. Returns whether it did.
#[inline(always)]
pub fn take_turn() -> bool {
    let may_spin = may_spin();
    if may_spin {
        weft_sys::cpu::yield_core();
    }
    may_spin
}

/// How often a thread gives its core away between looks before it parks, where other processes need the cores.
const TURNS: u32 = 16;

/// Lets another process run before the next look.
///
/// Measured with a barrier of 32 processes on two cores (five messages each): 310 µs with 50 looks before the sleep, 350
/// without any, 83 to 92 with 2 to 32 turns, 1450 with 1000 looks.
#[cold]
fn take_turns(looks: u32) -> bool {
    if looks > 0 {
        weft_sys::cpu::yield_core();
    }
    looks < TURNS
}

/// Lets the kernel run others, among which may be the one that is waited for.
#[cold]
fn give_way(looks: u32) -> bool {
    if looks > 0 && looks.is_multiple_of(TURN) {
        weft_sys::cpu::yield_core();
    }
    looks < TURNS_OVER
}

/// Spins until `done`, at most for some tens of microseconds, and only while that is sensible. Returns whether it is
/// done.
#[inline]
pub(crate) fn spin_until(done: &mut impl FnMut() -> bool) -> bool {
    if done() {
        return true;
    }
    if !may_spin() {
        return false;
    }
    if idle::is_dear() {
        return spin_in_turns(done);
    }
    // A handoff between cores takes tens of nanoseconds: at first look again at once.
    for _ in 0..64 {
        if done() {
            return true;
        }
    }
    spin_long(done)
}

/// Looks a few times where each look takes much time from other processes, one of which is waited for.
///
/// Measured with four hosts of 8 ranks on two cores, looks of a microsecond that gave nothing away for some tens of
/// microseconds, and these: barrier 687 and 186 us, an allreduce of 8 bytes 1210 and 488, of 1 MiB 9500 and 6400.
#[inline(never)]
fn spin_in_turns(done: &mut impl FnMut() -> bool) -> bool {
    for looks in 1.. {
        if !may_spin() || !take_turns(looks) {
            break;
        }
        if done() {
            return true;
        }
    }
    false
}

#[inline(never)]
fn spin_long(done: &mut impl FnMut() -> bool) -> bool {
    let end = weft_sys::clock::ticks() + SPIN_US.get() * weft_sys::clock::ticks_per_us();
    loop {
        for _ in 0..16 {
            if done() {
                return true;
            }
            core::hint::spin_loop();
        }
        if !may_spin() || weft_sys::clock::ticks() > end {
            return false;
        }
        if let Some(source) = idle::source() {
            source.poll();
        }
        if is_crowded() {
            weft_sys::cpu::yield_core();
        }
    }
}

/// Returns once `done` does: spins for a bounded time where that is sensible, then parks between tries. Whoever makes
/// `done` true must `unpark` this thread afterwards.
#[inline]
pub fn wait_until(mut done: impl FnMut() -> bool) {
    while !spin_until(&mut done) {
        park();
    }
}
