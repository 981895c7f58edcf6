//! Rounds as the operations use them.
//!
//! `shared` is what the ranks of a communicator share, and the registry where they find it: `posts` that they look at, `slots` for
//! small data, their `grouping`. `selection` says which algorithm runs; `checking` shows ranks each other's arguments.
#![allow(unsafe_code)] // Reads loans that peers have posted; each access names the rule that keeps them alive.

pub(crate) mod checking;
pub(crate) mod grouping;
pub(crate) mod posts;
pub(crate) mod selection;
pub(crate) mod shared;
pub(crate) mod slots;

use crate::hier::{self, Spread};
use crate::operation::call::{Call, Description};
use crate::operation::mismatch::{Both, mismatch};
use crate::rounds::counters::{Combine, DEPTH, Nothing, ring};
use crate::started::plan::Members;
use crate::team::checking::Counter;
use crate::team::posts::{LINE_DATA, Lent};
use crate::team::selection::{Chosen, Selection};
use crate::team::shared::Shared;
use crate::team::slots::Slots;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use weft_base::stuck::Wait;
use weft_base::{Error, Result};
use weft_sched::Said;

/// Where the ranks of a communicator are, and so how they meet.
enum Ranks {
    /// There is one, which meets nobody.
    Alone,
    /// All are on this node process: they meet in its memory.
    Here(Arc<Shared>),
    /// They are on several node processes that share memory, in which they meet: the [`Across::common`] of another team.
    Apart(Arc<Shared>),
    /// They are on several node processes.
    Across(Across),
}

/// What a rank has of a communicator of several node processes.
struct Across {
    /// What its ranks here share.
    spread: Arc<Spread>,
    /// The rank among the same ranks as they meet in memory that their processes share, if they do.
    common: OnceLock<Option<Box<Team>>>,
}

/// One rank's part in the collective operations of one communicator.
///
/// At most one thread of the rank may be in a collective operation of a communicator at a time (MPI 5.0, section
/// 11.6.2); different communicators are independent.
pub struct Team {
    ranks: Ranks,
    /// The communicator's number.
    context: u32,
    size: u32,
    rank: u32,
    shard: usize,
    /// The first rank of the second group, on an intercommunicator; else 0.
    split: u32,
    /// The last round entered. Only the rank's own threads use it, one at a time.
    round: AtomicU64,
    /// Among few: the last round that all are known to have said.
    known: AtomicU64,
    /// What the rank has said in all rounds, in one word: ranks that differ in a round for which nobody waits differ in all
    /// that follow, so that the next for which somebody waits tells. Likewise.
    said: AtomicU64,
    /// The number of calls that start or prepare an operation, likewise.
    calls: AtomicU64,
    /// Which algorithms operations take.
    pub(crate) chosen: Chosen,
    /// Calls shown in checking mode.
    pub(crate) shown: Counter,
}

impl Team {
    /// Joins the ranks of a communicator: `context` is its number, unique among the live ones of this process;
    /// `world_rank` translates its ranks. Waits for nobody.
    pub fn join(context: u32, size: u32, rank: u32, world_rank: impl Fn(u32) -> u32) -> Self {
        Self::join_at(context, size, rank, |r| weft_sched::home_worker(world_rank(r)))
    }

    /// Joins as [`Team::join`] does, with ranks on given workers.
    pub fn join_at(context: u32, size: u32, rank: u32, home: impl Fn(u32) -> usize) -> Self {
        assert!(rank < size);
        let mut team = if size == 1 {
            Self::with(Ranks::Alone, Selection::of(1), 0, size, rank)
        } else {
            let shared = shared::join(context, size, rank, home);
            let (shard, selection) = (shared.shards.of[rank as usize] as usize, shared.selection);
            Self::with(Ranks::Here(shared), selection, shard, size, rank)
        };
        team.context = context;
        team
    }

    /// Joins a communicator of several node processes.
    pub(crate) fn over(spread: Arc<Spread>, size: u32, rank: u32) -> Self {
        let across = Across { spread, common: OnceLock::new() };
        Self::with(Ranks::Across(across), Selection::of(1), 0, size, rank)
    }

    /// Joins ranks of several processes in the memory that these share.
    fn over_common(shared: Arc<Shared>, size: u32, rank: u32) -> Self {
        let selection = shared.selection;
        Self::with(Ranks::Apart(shared), selection, 0, size, rank)
    }

    fn with(ranks: Ranks, selection: &'static Selection, shard: usize, size: u32, rank: u32) -> Self {
        Self {
            ranks,
            context: 0,
            size,
            rank,
            shard,
            split: 0,
            round: AtomicU64::new(0),
            known: AtomicU64::new(0),
            said: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            chosen: Chosen::new(selection),
            shown: Counter::default(),
        }
    }

    /// Returns the members of operations.
    pub(crate) fn members(&self) -> Members {
        Members { size: self.size, split: self.split }
    }

    /// Counts a call that starts or prepares an operation; returns its number.
    pub(crate) fn next_call(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns what the ranks here share, on a communicator of several node processes.
    #[inline]
    pub(crate) fn spread(&self) -> Option<&Arc<Spread>> {
        match &self.ranks {
            Ranks::Across(across) => Some(&across.spread),
            _ => None,
        }
    }

    /// Returns the rank among the same ranks as they meet in memory that their processes share. At the first time this may
    /// wait for the process that gives the memory.
    pub(crate) fn common(&self) -> Option<&Team> {
        let Ranks::Across(Across { spread, common }) = &self.ranks else { return None };
        if self.split != 0 {
            return None;
        }
        let find = || {
            let shared = spread.await_common()?;
            Some(Box::new(Self::over_common(shared, self.size, self.rank)))
        };
        common.get_or_init(find).as_deref()
    }

    /// Returns the state that all ranks share, where they do.
    pub(crate) fn shared_by_all(&self) -> Option<&Arc<Shared>> {
        match &self.ranks {
            Ranks::Here(shared) | Ranks::Apart(shared) => Some(shared),
            Ranks::Alone | Ranks::Across(_) => None,
        }
    }

    /// Divides the ranks into two groups that exchange data with each other: the first `left` ranks, and the others.
    pub fn divided(mut self, left: u32) -> Self {
        assert!(left > 0 && left < self.size);
        self.split = left;
        self
    }

    /// Returns the number of ranks, of both groups if there are two.
    #[inline]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Returns the calling rank among all.
    #[inline]
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Returns the state that all ranks share.
    ///
    /// # Panics
    /// If there is one rank, or they are on several node processes: their operations never come here.
    #[inline]
    pub(crate) fn shared(&self) -> &Shared {
        self.shared_by_all().expect("ranks that meet in memory")
    }

    #[inline]
    pub(crate) fn slots(&self) -> &Slots {
        self.shared().slots()
    }

    /// Enters the next round with a call; `loan` is what peers may look at, or null.
    #[inline]
    pub(crate) fn enter(&self, call: Description, loan: *mut ()) -> Round<'_> {
        let shared = self.shared();
        let number = self.round.load(Ordering::Relaxed) + 1;
        self.round.store(number, Ordering::Relaxed);
        if !self.may_enter(number) {
            self.wait_for(Wait::Entry(self.context), || self.may_enter(number));
        }
        let round = Round { team: self, shared, number, call };
        let (my_call, my_loan) = round.words(self.rank);
        my_call.store(call.0, Ordering::Relaxed);
        my_loan.store(loan, Ordering::Relaxed);
        round
    }

    /// Tells whether the rank may use the ring index of a round.
    #[inline(always)]
    fn may_enter(&self, number: u64) -> bool {
        let shared = self.shared();
        match &shared.lines {
            None => shared.counters.may_enter(number),
            Some(_) if self.known.load(Ordering::Relaxed) + DEPTH as u64 > number => true,
            Some(lines) => {
                lines.may_enter(self.rank, number).inspect(|&known| self.note_known(known)).is_some()
            }
        }
    }

    #[inline]
    fn note_known(&self, number: u64) {
        self.known.store(number, Ordering::Relaxed);
    }

    /// Returns once `done` does, which somebody makes true who arrives, publishes or wakes all.
    #[inline]
    pub(crate) fn wait(&self, done: impl FnMut() -> bool) {
        let shared = self.shared();
        if let Some(apart) = &shared.apart {
            return apart.wait(done);
        }
        match &shared.lines {
            None => shared.waiting.wait(done),
            Some(lines) => shared.waiting.wait_counted(&lines.sleepers, done),
        }
    }

    /// Returns the last round that the rank has entered.
    pub fn entered(&self) -> u64 {
        self.round.load(Ordering::Relaxed)
    }

    /// As [`Team::wait`], and says what for, where all ranks are in this process.
    #[inline]
    fn wait_for(&self, what: Wait, done: impl FnMut() -> bool) {
        let _said = self.say(what);
        self.wait(done);
    }

    #[inline]
    fn say(&self, what: Wait) -> Option<Said> {
        (!self.are_apart()).then(|| Said::new(what.word()))
    }

    /// Takes what has come for the ranks of this process, after an operation of ranks that are on several.
    #[inline]
    pub(crate) fn take_what_has_come(&self) {
        if let Some(apart) = &self.shared().apart {
            apart.take_what_has_come();
        }
    }

    /// Tells whether the ranks are on several processes that share memory, so that no address means anything to a peer.
    #[inline]
    pub(crate) fn are_apart(&self) -> bool {
        matches!(self.ranks, Ranks::Apart(_))
    }

    /// Tells whether the ranks are few enough to look at each other's lines.
    #[inline]
    pub(crate) fn are_few(&self) -> bool {
        self.shared().lines.is_some()
    }

    /// Enters a round, arrives and waits for all.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` if the ranks are in different calls.
    #[inline]
    pub(crate) fn synchronise(&self, call: Description) -> Result {
        let round = self.enter(call, null_mut());
        round.arrive(call.signature(), &Nothing);
        round.wait_complete()
    }

    /// Shows `mine` to all ranks and runs `work` with everybody's loans at hand; returns when all ranks have finished
    /// theirs, so that nobody looks at `mine` any more.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` if the ranks are in different calls, and what `work` returns.
    pub(crate) fn exchange<F: Sync, T>(
        &self,
        call: Description,
        mine: &F,
        work: impl FnOnce(&Peers<'_, F>) -> Result<T>,
    ) -> Result<T> {
        debug_assert!(!self.are_apart(), "addresses for ranks of other processes");
        let call = call.exchanging();
        let round = self.enter(call, core::ptr::from_ref(mine).cast_mut().cast());
        round.arrive(call.signature(), &Nothing);
        round.wait_complete()?;
        let result = work(&Peers { round: &round, loan: core::marker::PhantomData });
        self.close(true)?;
        result
    }

    /// Enters a round that follows one in which ranks have read a peer's memory, and arrives: the rank has finished. The
    /// memory's owner waits for all.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` if the ranks are in different calls.
    pub(crate) fn close(&self, wait: bool) -> Result {
        let call = Description::new(Call::Nothing, None, 0);
        let round = self.enter(call, null_mut());
        round.arrive(call.signature(), &Nothing);
        if wait { round.wait_complete() } else { Ok(()) }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        match &self.ranks {
            Ranks::Alone | Ranks::Apart(_) => {}
            Ranks::Here(shared) => shared::leave(shared),
            Ranks::Across(across) => hier::leave(&across.spread),
        }
    }
}

/// The loans of all ranks during an exchange.
pub(crate) struct Peers<'a, F> {
    round: &'a Round<'a>,
    loan: core::marker::PhantomData<&'a F>,
}

impl<F: Sync> Peers<'_, F> {
    /// Returns a rank's loan.
    #[inline]
    pub fn get(&self, rank: u32) -> &F {
        let loan = self.round.loan(rank).cast::<F>();
        // SAFETY: the round is complete and its signatures agree, so every rank has posted a loan of this call's type;
        // it stays borrowed by its owner's `exchange` until all ranks have arrived in the closing round, which this
        // rank enters only after the borrow of `self` has ended.
        unsafe { &*loan }
    }
}

/// The bits of a signature.
const SIGNATURE: u64 = (1 << 40) - 1;

/// A round that the rank has entered.
pub(crate) struct Round<'a> {
    team: &'a Team,
    shared: &'a Shared,
    number: u64,
    call: Description,
}

impl Round<'_> {
    /// Returns the ring index.
    #[inline]
    pub fn ring(&self) -> usize {
        ring(self.number)
    }

    /// Returns the number.
    #[inline]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns what the root of a large broadcast lends in this round.
    #[inline]
    pub fn lent(&self) -> &Lent {
        &self.shared.lent[self.ring()]
    }

    /// Tells whether all ranks have arrived.
    #[inline]
    fn is_complete(&self) -> bool {
        match &self.shared.lines {
            None => self.shared.counters.is_complete(self.number),
            Some(lines) => lines.others_have_said(self.team.rank, self.number),
        }
    }

    /// Tells whether the calls of a complete round differ.
    #[inline]
    fn is_mismatched(&self) -> bool {
        match &self.shared.lines {
            None => self.shared.counters.is_mismatched(self.number),
            Some(lines) => {
                let of = |rank| lines.post(rank, self.number).signature.load(Ordering::Relaxed);
                (1..self.team.size).any(|rank| of(rank) != of(0))
            }
        }
    }

    /// Tells whether all ranks have arrived and are in different calls.
    pub fn is_known_mismatched(&self) -> bool {
        self.is_complete() && self.is_mismatched()
    }

    /// Arrives, with a signature that all ranks' calls have in common. The last to arrive combines, unless the ranks are
    /// few: then each who needs the result does.
    #[inline]
    pub fn arrive(&self, signature: u64, combine: &impl Combine) {
        let before = self.team.said.load(Ordering::Relaxed);
        let signature = before.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(signature) & SIGNATURE;
        self.team.said.store(signature, Ordering::Relaxed);
        let wake = match &self.shared.lines {
            None => self.shared.counters.arrive(self.number, self.team.shard, signature, combine),
            Some(lines) => {
                lines.post(self.team.rank, self.number).signature.store(signature, Ordering::Relaxed);
                lines.say(self.team.rank, self.number)
            }
        };
        if wake {
            self.shared.wake_all();
            if self.has_readers() && self.is_mismatched() {
                self.shared.readers.wake_all();
            }
        }
    }

    /// Tells whether those who wait for the root's data wait apart from the others.
    #[inline]
    fn has_readers(&self) -> bool {
        self.shared.lines.is_none() && self.shared.apart.is_none()
    }

    /// Waits until all ranks have arrived.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` if their calls differ.
    #[inline]
    pub fn wait_complete(&self) -> Result {
        if !self.is_complete() {
            self.team.wait_for(Wait::All(self.team.context), || self.is_complete());
            self.check_whole(|| self.is_complete())?;
        }
        self.team.note_known(self.number);
        if self.is_mismatched() { Err(self.whole_mismatch()) } else { Ok(()) }
    }

    /// Arrives as the root whose data is in place: nobody need wait for more.
    #[inline]
    pub fn arrive_with_data(&self, signature: u64) {
        if !self.team.are_few() {
            self.publish();
        }
        self.arrive(signature, &Nothing);
    }

    /// Waits until the root has arrived with its data; returns its description. The rank has arrived, so that ranks in
    /// different calls are noticed.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` if the ranks are in different calls.
    #[inline]
    pub fn wait_for_data(&self, root: u32) -> Result<Description> {
        let Some(lines) = &self.shared.lines else { return self.wait_published(root) };
        let has_said = || lines.has_said(root, self.number);
        if !has_said() {
            self.team.wait_for(Wait::Root(self.team.context, root), has_said);
            self.check_whole(has_said)?;
        }
        if self.team.size == 2 {
            self.team.note_known(self.number);
        }
        let posted = self.call(root);
        if posted.same_call(self.call) { Ok(posted) } else { Err(self.mismatch()) }
    }

    /// Tells everybody that the root's data is in place (or has been read).
    pub fn publish(&self) {
        self.shared.published[self.ring()].store(self.number, Ordering::Release);
        if self.has_readers() {
            self.shared.readers.wake_all();
        } else {
            self.shared.wake_all();
        }
    }

    /// Waits until the root has published; returns its description. The rank has arrived, so that ranks in different calls
    /// are noticed.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` if the ranks are in different calls.
    pub fn wait_published(&self, root: u32) -> Result<Description> {
        let published = || self.shared.published[self.ring()].load(Ordering::Acquire) == self.number;
        if !published() {
            let is_known = || published() || self.is_known_mismatched();
            if self.has_readers() {
                let _said = self.team.say(Wait::Root(self.team.context, root));
                self.shared.readers.wait(is_known);
            } else {
                self.team.wait(is_known);
                self.check_whole(is_known)?;
            }
        }
        // The root may have published in another call, whose data and loan mean something else.
        let posted = self.call(root);
        if published() && posted.same_call(self.call) { Ok(posted) } else { Err(self.mismatch()) }
    }

    /// Ends a wait that may have ended because a process is gone.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` if it has, and what was waited for is not there.
    fn check_whole(&self, done: impl Fn() -> bool) -> Result {
        match &self.shared.apart {
            Some(apart) if !done() => Err(apart.loss()),
            _ => Ok(()),
        }
    }

    #[inline]
    fn words(&self, rank: u32) -> (&AtomicU64, &AtomicPtr<()>) {
        match &self.shared.lines {
            None => {
                let post = self.shared.post(rank);
                (&post.call[self.ring()], &post.loan[self.ring()])
            }
            Some(lines) => {
                let post = lines.post(rank, self.number);
                (&post.call, &post.loan)
            }
        }
    }

    /// Returns a rank's place in its line, if `bytes` bytes fit there and the ranks are few. It is the rank's own until it
    /// arrives.
    #[inline]
    pub fn in_line(&self, rank: u32, bytes: u64) -> Option<*mut u8> {
        let lines = self.shared.lines.as_ref().filter(|_| bytes <= LINE_DATA as u64)?;
        Some(lines.post(rank, self.number).data())
    }

    /// Returns the address of a rank's loan, null if its data is in its slot. Valid once the rank's arrival or
    /// publication has been seen.
    #[inline]
    pub fn loan(&self, rank: u32) -> *mut () {
        self.words(rank).1.load(Ordering::Relaxed)
    }

    /// Returns a rank's call. Valid as for [`Round::loan`].
    #[inline]
    pub fn call(&self, rank: u32) -> Description {
        Description(self.words(rank).0.load(Ordering::Relaxed))
    }

    /// Says how ranks differ that have all arrived: here, or in a round before for which nobody has waited. The posts of the
    /// rounds before are there as long as no rank is far ahead.
    #[cold]
    fn whole_mismatch(&self) -> Error {
        self.begin_anew();
        let earlier =
            (0..DEPTH as u64).filter_map(|back| self.number.checked_sub(back)).filter(|&number| number > 0);
        for number in earlier {
            let round = Round { team: self.team, shared: self.shared, number, call: self.call };
            let first = round.call(0);
            let differs = |&rank: &u32| !round.call(rank).same_call(first);
            if let Some(other) = (1..self.team.size).find(differs) {
                return mismatch(Both((0, first), (other, round.call(other))));
            }
        }
        self.mismatch()
    }

    /// Forgets what the rank has said before: all who see that ranks differ in a round do that, and agree again.
    fn begin_anew(&self) {
        self.team.said.store(self.number, Ordering::Relaxed);
    }

    /// Says how a rank differs from the calling one.
    #[cold]
    pub fn mismatch(&self) -> Error {
        self.begin_anew();
        let differs = |r: &u32| !self.call(*r).same_call(self.call);
        let other = (0..self.team.size).find(differs);
        let other = other.or_else(|| (0..self.team.size).find(|&r| self.call(r) != self.call));
        let other = other.map(|rank| (rank, self.call(rank)));
        let mine = (self.team.rank, self.call);
        match other {
            Some(other) if other.0 < mine.0 => mismatch(Both(other, mine)),
            Some(other) => mismatch(Both(mine, other)),
            None => mismatch(Both(mine, mine)),
        }
    }
}
