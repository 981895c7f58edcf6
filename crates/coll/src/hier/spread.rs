//! What the members of a communicator share on one node process when it has members on others, too.

use super::commons::Ground;
use super::crossing::{Crossing, Part};
use super::exchange::{Exchange, Message, Parcel, TeamKey, plain};
use super::layout::Layout;
use super::ordered;
use super::plan;
use super::planner::{Algorithm, Choice};
use super::program::Program;
use super::select;
use super::wire::{EVERYBODY, Header, Kind, OperationKey};
use crate::operation::call::Call;
use crate::operation::{Contribution, Operation};
use crate::started::plan::Members;
use crate::team::selection::Selection;
use crate::team::shared::Shared;
use core::sync::atomic::{AtomicU32, Ordering};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use weft_sync::Lock;
use weft_transport::Node;

/// How many programs a communicator remembers.
const PROGRAMS: usize = 16;

/// How many operations that failed a communicator remembers, and how many communicators are remembered that were left.
/// Messages for them may come later, but not much later.
const REMEMBERED: usize = 64;

/// Remembers one more.
fn remember<T>(list: &mut VecDeque<T>, one: T) {
    if list.len() == REMEMBERED {
        list.pop_front();
    }
    list.push_back(one);
}

/// The state of a communicator on this node process.
pub(crate) struct Spread {
    pub exchange: &'static Exchange,
    pub layout: Layout,
    /// The index of this node process.
    pub me: u32,
    pub key: TeamKey,
    /// By member here: how many operations it has waited for since it last met all others here.
    pub ahead: Box<[AtomicU32]>,
    board: Lock<Board>,
    programs: Lock<Vec<(Arc<Choice>, Arc<Program>)>>,
    /// Where the ranks meet, once it is known.
    common: Ground,
}

#[derive(Default)]
struct Board {
    under_way: HashMap<OperationKey, Arc<Crossing>>,
    /// Messages for operations that nobody here has begun.
    early: HashMap<OperationKey, Vec<Message>>,
    /// Operations that failed, and are over here.
    failed: VecDeque<OperationKey>,
    /// The number of the next operation of all members that is not persistent.
    next: u64,
}

/// A communicator as the exchange knows it. It stays until all its members here have joined and left.
pub(crate) struct Entry {
    pub spread: Arc<Spread>,
    joined: Vec<bool>,
    left: u32,
}

/// Joins as member `rank`. As in shared memory, an entry that cannot be this communicator's is replaced.
pub(crate) fn join(
    exchange: &'static Exchange,
    context: u32,
    rank: u32,
    layout: impl FnOnce() -> Layout,
    signature: u32,
) -> Arc<Spread> {
    let key = (context, signature);
    let mut teams = exchange.teams.lock();
    teams.left.retain(|left| *left != key);
    let known = teams.known.get(&key).filter(|entry| {
        let here = entry.spread.layout.all_on(entry.spread.me);
        here.binary_search(&rank).is_ok_and(|place| !entry.joined[place])
    });
    let spread = match known {
        Some(entry) => entry.spread.clone(),
        None => {
            let layout = layout();
            let me = layout.index(exchange.nodes().node()).expect("the caller is a member here");
            let mut board = Board::default();
            let common = Ground::of(exchange.nodes(), &layout, me);
            let mut early = teams.early.remove(&key).unwrap_or_default();
            let mut announced = None;
            early.retain(|message| {
                let Parcel::Common(token) = message.parcel else { return true };
                let is_mine = announced.is_none() && common.giver() == Some(message.from);
                if is_mine {
                    announced = Some(token);
                }
                !is_mine
            });
            let (later, early): (Vec<_>, Vec<_>) =
                early.into_iter().partition(|message| matches!(message.parcel, Parcel::Common(_)));
            if !later.is_empty() {
                teams.early.insert(key, later);
            }
            for message in early {
                board.early.entry(message.header.operation).or_default().push(message);
            }
            let joined = vec![false; layout.all_on(me).len()];
            let ahead = joined.iter().map(|_| AtomicU32::new(0)).collect();
            let spread = Arc::new(Spread {
                exchange,
                layout,
                me,
                key,
                ahead,
                board: Lock::new(board),
                programs: Lock::default(),
                common,
            });
            spread.begin_common(announced);
            teams.known.insert(key, Entry { spread: spread.clone(), joined, left: 0 });
            spread
        }
    };
    let entry = teams.known.get_mut(&key).expect("it is there");
    let here = spread.layout.all_on(spread.me);
    entry.joined[here.binary_search(&rank).expect("the caller is a member here")] = true;
    spread
}

/// Leaves.
pub(crate) fn leave(spread: &Arc<Spread>) {
    let mut teams = spread.exchange.teams.lock();
    if let Some(entry) = teams.known.get_mut(&spread.key)
        && Arc::ptr_eq(&entry.spread, spread)
    {
        entry.left += 1;
        if entry.left as usize == entry.joined.len() {
            let entry = teams.known.remove(&spread.key);
            remember(&mut teams.left, spread.key);
            teams.unheard.extend(spread.leave_common().map(|giver| (spread.key, giver)));
            drop(teams);
            drop(entry);
            let early = core::mem::take(&mut spread.board.lock().early);
            early.into_values().flatten().for_each(|message| spread.exchange.discard(message));
        }
    }
}

impl Spread {
    /// Returns the operation with a key, and begins it if nobody has.
    pub fn meet(self: &Arc<Self>, key: OperationKey) -> Arc<Crossing> {
        if let Some(crossing) = self.board.lock().under_way.get(&key) {
            return crossing.clone();
        }
        let crossing = Arc::new(Crossing::new(self.clone(), key));
        let mut board = self.board.lock();
        if key.member == EVERYBODY && key.start == 0 {
            board.next = board.next.max(key.number + 1);
        }
        let early = board.early.remove(&key).unwrap_or_default();
        let crossing = board.under_way.entry(key).or_insert(crossing).clone();
        // Under the lock of the board, so that nothing that comes later goes before.
        early.into_iter().for_each(|message| crossing.keep(message));
        crossing
    }

    /// Takes a message.
    pub fn deliver(&self, message: Message) {
        let mut board = self.board.lock();
        let key = message.header.operation;
        match board.under_way.get(&key).cloned() {
            Some(crossing) => {
                drop(board);
                crossing.deliver(message);
            }
            None => {
                // What went wrong elsewhere is nothing to an operation that is over here.
                let is_one_of_all = key.member == EVERYBODY && key.start == 0;
                let is_past =
                    is_one_of_all && key.number < board.next && matches!(message.parcel, Parcel::Abort);
                if !is_past && !board.failed.contains(&key) {
                    return board.early.entry(key).or_default().push(message);
                }
                drop(board);
                self.exchange.discard(message);
            }
        }
    }

    /// Returns where the ranks meet, if they share memory. Waits until this is known.
    pub fn await_common(&self) -> Option<Arc<Shared>> {
        self.common.wait()
    }

    /// Tells whether it is that node process from which it is still to be heard where the ranks meet.
    pub fn awaits_common_of(&self, node: Node) -> bool {
        self.common.giver() == Some(node) && !self.common.is_known()
    }

    /// Notes where the ranks meet: [`Kind::Common`](super::wire::Kind).
    pub fn set_common(&self, token: u64) {
        self.common.set(&self.exchange.commons, &self.layout, self.me, token);
    }

    /// Says where the ranks meet, if it is this process that does; else takes what has been `announced`.
    fn begin_common(&self, announced: Option<u64>) {
        if let Some(token) = announced {
            self.set_common(token);
        } else if self.common.giver() == Some(self.layout.node(self.me)) {
            let token = self.common.give(&self.exchange.commons, &self.layout);
            self.set_common(token);
            for index in (0..self.layout.len()).filter(|&index| index != self.me) {
                let header = Header { team: self.key, key: token, ..plain(Kind::Common) };
                self.exchange.tell(self.layout.node(index), header);
            }
        }
    }

    /// Lets go of where the ranks meet. Returns from whom it has not been heard yet, if that is so.
    fn leave_common(&self) -> Option<Node> {
        self.common.leave()
    }

    /// Forgets an operation that is over here.
    pub fn close(&self, key: OperationKey, has_failed: bool) {
        let mut board = self.board.lock();
        let closed = board.under_way.remove(&key);
        if has_failed {
            remember(&mut board.failed, key);
        }
        drop(board);
        drop(closed);
    }

    /// Notes that a peer is gone.
    pub fn lost(&self, peer: Node, reason: &str) {
        if self.layout.index(peer).is_none() {
            return;
        }
        self.common.lost(peer, reason);
        let under_way: Vec<_> = self.board.lock().under_way.values().cloned().collect();
        under_way.iter().for_each(|crossing| crossing.lost(peer, reason));
    }

    /// Returns the program of a choice.
    pub fn program(&self, choice: &Arc<Choice>) -> Arc<Program> {
        if let Some((_, program)) = self.programs.lock().iter().find(|(known, _)| **known == **choice) {
            return program.clone();
        }
        let program = Arc::new(plan::program(&self.layout, self.me, choice));
        let mut known = self.programs.lock();
        if known.len() == PROGRAMS {
            known.remove(0);
        }
        known.push((choice.clone(), program.clone()));
        program
    }

    /// Describes a member's part in an operation, which takes what `selection` says.
    pub fn part(
        &self,
        member: u32,
        selection: &Selection,
        members: Members,
        operation: &Operation<'_>,
    ) -> Part {
        let root = members.root(member, operation.root);
        let one = operation.one();
        let whole = one.map_or(0, |data| data.bytes());
        let contribution = Contribution::new(operation, operation.describe(root), root == Some(member));
        let held = contribution.send.bytes().max(contribution.receive.bytes());
        let common = operation.operator.is_some() || operation.call == Call::Broadcast;
        let (mut algorithm, segment) = select::choose(selection, members, self.layout.len(), operation);
        let in_memory = self.common.giver().is_some() && !members.are_two_groups();
        if in_memory && operation.operator.is_some() && ordered::is_wanted(operation.call, whole) {
            algorithm = Algorithm::Ordered;
        }
        let choice = Choice {
            call: operation.call,
            members,
            root,
            bytes: if common { whole } else { 0 },
            element: one.map_or(1, |data| data.datatype().size()).max(1),
            is_commutative: operation.operator.is_none_or(|operator| operator.op.is_commutative()),
            in_place: operation.is_swap(),
            is_light: held <= select::LIGHT_BYTES.min(segment),
            algorithm,
            segment,
        };
        Part { contribution: Arc::new(contribution), choice: Arc::new(choice) }
    }
}

/// A member's part in an operation that can be started again and again.
pub(crate) struct Prepared {
    spread: Arc<Spread>,
    member: u32,
    number: u64,
    starts: AtomicU32,
    part: Part,
}

impl Prepared {
    pub fn new(spread: Arc<Spread>, member: u32, number: u64, part: Part) -> Self {
        Self { spread, member, number, starts: AtomicU32::new(0), part }
    }

    /// Starts the operation once more.
    pub fn start(&self) -> super::Pending {
        // 0 is for operations that are not persistent.
        let start = self.starts.fetch_add(1, Ordering::Relaxed) + 1;
        self.meet(start)
    }

    /// Starts an operation that is not persistent.
    pub fn start_once(&self) -> super::Pending {
        self.meet(0)
    }

    fn meet(&self, start: u32) -> super::Pending {
        let member = if self.part.contribution.neighbors.is_some() { self.member } else { EVERYBODY };
        let key = OperationKey { number: self.number, start, member };
        super::Pending::start(self.spread.meet(key), self.member, &self.part)
    }
}
