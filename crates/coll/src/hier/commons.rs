//! Memory in which the ranks of a communicator meet when they are on several node processes of one host.
//!
//! The rounds are those of ranks that are threads ([`counters`](crate::rounds::counters), [`lines`](crate::rounds::lines)): their words,
//! posts and slots lie in memory that the processes share, and hold no address that a peer would follow. So a blocking
//! operation of little data sends no message.
//!
//! # Who gives the memory
//! The process of the communicator's first member gives a part of its [commons](weft_transport::Commons) when its first rank
//! joins, and tells the others in a message where it is, or that none is left; then the communicator goes by messages. Where
//! little is left it is a part for little data. Whoever comes to a blocking operation before the message has come waits for it. A part is used again when all processes have let
//! go of it, which each of them notes there, the giver looks for when it gives.
//!
//! # Sleep
//! By an [`Alarm`]: a nudged process looks whether there is anything to wake its sleepers for when it polls
//! ([`Sleepers::hear`]); while there is it is not at rest and does not sleep ([`Sleepers::has_come`]).
//!
//! # Death
//! Whoever waits gives up when one of the processes is gone, and so do all who come later.
#![allow(unsafe_code)] // Makes references into memory that processes share.

use super::apart::{Apart, Head, Sleepers};
use super::layout::Layout;
use crate::rounds::counters::Words;
use crate::rounds::lines::{FEW, Line, Lines};
use crate::team::grouping::Groups;
use crate::team::posts::{LinePost, Post};
use crate::team::shared::{Common, Shared};
use crate::team::slots::Slots;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use weft_base::settings::HOST_COLLECTIVES;
use weft_sched::WaitSet;
use weft_sync::{CachePadded, Lock};
use weft_transport::{Node, Nodes, Tuning};

type Row = CachePadded<Line<LinePost>>;

/// How much room a communicator has: much while there is much, else enough for little data.
#[derive(Clone, Copy)]
enum Class {
    Large,
    Small,
}

/// Where things are in a part: the head, lines of few ranks, posts, slots.
struct Plan {
    size: usize,
    lines: usize,
    slot: usize,
}

/// What all parts begin at a multiple of.
const ALIGN: usize = 4096;
/// The most and the fewest bytes of a slot.
const LARGEST: usize = 256 << 10;
const SMALLEST: usize = 128;

impl Class {
    /// Writes where a part is as a token: 0 is none.
    fn token(self, at: usize) -> u64 {
        at as u64 | (self as u64 + 1)
    }

    /// Reads a token.
    fn of(token: u64) -> Option<(Self, usize)> {
        let class = match token % ALIGN as u64 {
            1 => Self::Large,
            2 => Self::Small,
            _ => return None,
        };
        Some((class, (token & !(ALIGN as u64 - 1)) as usize))
    }
}

impl Plan {
    /// Plans for `size` ranks on memory of `room` bytes.
    fn of(size: usize, room: usize, class: Class) -> Self {
        let slot = match class {
            Class::Large => ((room / 32).min(512 << 10) / size).clamp(SMALLEST, LARGEST) & !127,
            Class::Small => Slots::capacity_for(size),
        };
        let lines = if size as u32 <= FEW { Lines::<LinePost>::count(size as u32) } else { 0 };
        Self { size, lines, slot }
    }

    fn lines_at(&self) -> usize {
        size_of::<Head>()
    }

    fn posts_at(&self) -> usize {
        self.lines_at() + self.lines * size_of::<Row>()
    }

    fn slots_at(&self) -> usize {
        (self.posts_at() + self.size * size_of::<Post>()).next_multiple_of(ALIGN)
    }

    fn bytes(&self) -> usize {
        (self.slots_at() + Slots::bytes(self.size, self.slot)).next_multiple_of(ALIGN)
    }
}

/// What a process has given of its commons.
struct Given {
    at: usize,
    bytes: usize,
    processes: u32,
}

/// The commons as one process sees them: what it has given, and where its ranks sleep.
pub(crate) struct Commons {
    nodes: &'static Nodes,
    given: Lock<Vec<Given>>,
    pub sleepers: Sleepers,
}

impl Commons {
    pub fn new(nodes: &'static Nodes) -> Self {
        Self { nodes, given: Lock::default(), sleepers: Sleepers::default() }
    }
}

/// Returns what the part of `bytes` bytes that a process has given, at `at`, begins with, where this process sees it.
fn part(nodes: &Nodes, giver: Node, at: usize, bytes: usize) -> Option<NonNull<u8>> {
    let commons = nodes.device().commons(giver)?;
    let fits = at.is_multiple_of(ALIGN) && at.checked_add(bytes).is_some_and(|end| end <= commons.bytes);
    fits.then(|| NonNull::new(commons.address.wrapping_add(at))).flatten()
}

fn head(part: NonNull<u8>) -> &'static Head {
    // SAFETY: the start of a part, which is aligned, stays mapped for ever and is in nobody's hands but as such a head, made
    // of atomics, whatever they contain.
    unsafe { part.cast::<Head>().as_ref() }
}

/// Lets go of a part that this process has never used: the token of [`Kind::Common`](super::wire::Kind).
pub(crate) fn leave(nodes: &Nodes, giver: Node, token: u64) {
    let at = Class::of(token).and_then(|(_, at)| part(nodes, giver, at, size_of::<Head>()));
    if let Some(part) = at {
        head(part).left.fetch_add(1, Ordering::AcqRel);
    }
}

/// Where the ranks of a communicator meet, as one process knows it.
pub(crate) struct Ground {
    /// Who says where it is, if the processes share memory.
    giver: Option<Node>,
    /// Where it is, if there is any, once that is known.
    found: OnceLock<Option<Arc<Shared>>>,
    waiting: WaitSet,
    is_lost: AtomicBool,
}

impl Ground {
    /// Finds out whether the processes of a communicator share memory. All of them come to the same answer.
    pub fn of(nodes: &Nodes, layout: &Layout, me: u32) -> Self {
        let shares = |index: u32| {
            layout.host(index) == layout.host(me) && nodes.device().commons(layout.node(index)).is_some()
        };
        let wanted = HOST_COLLECTIVES.get() == 0 && weft_sched::has_source();
        let all = wanted && (0..layout.len()).all(shares);
        Self {
            giver: all.then(|| layout.node(0)),
            found: OnceLock::new(),
            waiting: WaitSet::new(),
            is_lost: AtomicBool::new(false),
        }
    }

    /// Returns who says where it is.
    pub fn giver(&self) -> Option<Node> {
        self.giver
    }

    /// Tells whether it is known where it is.
    pub fn is_known(&self) -> bool {
        self.found.get().is_some()
    }

    /// Gives the communicator a part of this process's commons. Returns the token that tells where.
    pub fn give(&self, commons: &Commons, layout: &Layout) -> u64 {
        let (nodes, node) = (commons.nodes, commons.nodes.node());
        let Some(room) = nodes.device().commons(node).map(|commons| commons.bytes) else {
            return 0;
        };
        let mut given = commons.given.lock();
        given.retain(|given| {
            part(nodes, node, given.at, given.bytes)
                .is_some_and(|part| head(part).left.load(Ordering::Acquire) != given.processes)
        });
        let find = |bytes: usize| {
            let ends = core::iter::once(0).chain(given.iter().map(|given| given.at + given.bytes));
            ends.enumerate().find(|(place, at)| at + bytes <= given.get(*place).map_or(room, |next| next.at))
        };
        let found = [Class::Large, Class::Small].into_iter().find_map(|class| {
            let plan = Plan::of(layout.members() as usize, room, class);
            find(plan.bytes()).map(|(place, at)| (class, plan, place, at))
        });
        let Some((class, plan, place, at)) = found else { return 0 };
        let Some(part) = part(nodes, node, at, plan.bytes()) else { return 0 };
        // SAFETY: the part is this process's own until it tells others of it: all who had it before have let go of it. It has
        // room for all of this, aligned.
        unsafe {
            core::ptr::write_bytes(part.as_ptr(), 0, plan.slots_at());
            (&raw mut (*part.cast::<Head>().as_ptr()).words).write(Words::new(plan.size as u32));
        }
        given.insert(place, Given { at, bytes: plan.bytes(), processes: layout.len() });
        class.token(at)
    }

    /// Notes where it is, and makes what ranks here need of it.
    pub fn set(&self, commons: &'static Commons, layout: &Layout, me: u32, token: u64) {
        let nodes = commons.nodes;
        let found = || {
            let (giver, (class, at)) = (self.giver?, Class::of(token)?);
            let room = nodes.device().commons(giver)?.bytes;
            let plan = Plan::of(layout.members() as usize, room, class);
            let part = part(nodes, giver, at, plan.bytes())?;
            let apart = Arc::new(Apart {
                head: head(part),
                seen: AtomicU32::new(0),
                others: (0..layout.len())
                    .filter(|&index| index != me)
                    .map(|index| layout.node(index))
                    .collect(),
                nodes,
                sleepers: &commons.sleepers,
                is_crowded: nodes.device().is_crowded(),
                operations: AtomicU32::new(0),
                waiting: WaitSet::new(),
                lost: OnceLock::new(),
            });
            let head = apart.head;
            // SAFETY: the places of the plan lie within the part, aligned; what was written there before the token was sent
            // is valid, and consists of atomics and of data that the rounds protect. The memory stays for ever.
            let common = unsafe {
                let lines =
                    core::slice::from_raw_parts(part.add(plan.lines_at()).cast::<Row>().as_ptr(), plan.lines);
                Common {
                    words: &head.words,
                    sleepers: &head.alarm.sleepers,
                    lines: (plan.lines > 0).then_some(lines),
                    published: &head.published,
                    posts: core::slice::from_raw_parts(
                        part.add(plan.posts_at()).cast::<Post>().as_ptr(),
                        plan.size,
                    ),
                    slots: Slots::at(part.add(plan.slots_at()), plan.size, plan.slot),
                }
            };
            let groups = Groups::new(plan.size as u32, |member| layout.home(member));
            Some(Arc::new(Shared::common(plan.size as u32, common, groups, apart)))
        };
        let _ = self.found.set(found());
        self.waiting.wake_all();
    }

    /// Returns what ranks here need to meet, if there is where to; waits until that is known.
    pub fn wait(&self) -> Option<Arc<Shared>> {
        self.giver?;
        if !self.is_known() {
            self.waiting.wait(|| self.is_known() || self.is_lost.load(Ordering::Acquire));
        }
        self.found.get()?.clone()
    }

    /// Notes that one of the processes is gone.
    pub fn lost(&self, peer: Node, reason: &str) {
        self.is_lost.store(true, Ordering::Release);
        self.waiting.wake_all();
        if let Some(Some(shared)) = self.found.get()
            && let Some(apart) = &shared.apart
        {
            let _ = apart.lost.set((peer, reason.into()));
            apart.waiting.wake_all();
        }
    }

    /// Lets go of it for this process. Returns who has still to say where it is.
    pub fn leave(&self) -> Option<Node> {
        match self.found.get() {
            None => self.giver,
            Some(found) => {
                if let Some(shared) = found
                    && let Some(apart) = &shared.apart
                {
                    apart.head.left.fetch_add(1, Ordering::AcqRel);
                }
                None
            }
        }
    }
}
