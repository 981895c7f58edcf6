//! Starting operations that outlive the call, and the blocking forms by way of [`Operation`].

use crate::operation::call::{Call, Description};
use crate::operation::{Contribution, Operation, Root};
use crate::started::light::{Light, Stay, is_light};
use crate::started::meeting::{Joined, Meeting};
use crate::started::pending::Pending;
use crate::started::plan::{Choice, Members};
use crate::team::Team;
use crate::team::selection;
use crate::team::shared::{Shared, Started};
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use weft_base::Result;
use weft_base::collectives::Algorithm;

/// A rank's part in an operation that can be started again and again (a persistent one).
pub struct Prepared {
    shared: Option<Arc<Shared>>,
    members: Members,
    member: u32,
    /// The number of the call that prepared it, the same on all ranks.
    number: u64,
    starts: AtomicU64,
    contribution: Arc<Contribution>,
    choice: Option<Choice>,
}

impl Prepared {
    /// Starts the operation: the rank's buffers are in use until its part is over.
    pub fn start(&self) -> Pending {
        // The first start has number 1: 0 is for operations that are not persistent.
        let start = self.starts.fetch_add(1, Ordering::Relaxed) + 1;
        let met = self.meet((self.number, start));
        met.unwrap_or_else(|_| unreachable!("what can be started again is not done with little data's means"))
    }

    /// Meets the other members under a key, unless one of them has just begun the operation as one with little data.
    fn meet(&self, key: (u64, u64)) -> core::result::Result<Pending, Arc<Light>> {
        let create =
            || Arc::new(Meeting::new(self.members, self.shared.as_ref().map(|shared| shared.shards.clone())));
        let meeting = match &self.shared {
            None => create(),
            Some(shared) => {
                let found = shared.board.lock().find(key);
                // The memory for many members is not to be allocated under the lock.
                let found = found.unwrap_or_else(|| {
                    let meeting = Started::Meeting(create());
                    shared.board.lock().find_or_add(key, meeting)
                });
                match found {
                    Started::Meeting(meeting) => meeting,
                    Started::Light(light) => return Err(light),
                }
            }
        };
        let choose = || {
            let choice = self.choice.expect("members that take part choose");
            let schedule = match &self.shared {
                None => crate::started::plan::schedule(&choice),
                Some(shared) => shared.schedule(&choice),
            };
            (choice, schedule)
        };
        let arrival = meeting.arrive(self.member, &self.contribution, choose);
        if arrival.is_last
            && let Some(shared) = &self.shared
        {
            shared.board.lock().remove(key);
        }
        Ok(Joined::new(meeting, self.member, &arrival).into())
    }
}

/// How many operations may be under way before a rank that need not wait lets others of its worker go on: they would find
/// more and more data of long ago, and none of it in a cache.
const AHEAD: usize = 16;

impl Team {
    /// Starts an operation; see [`Team::start`].
    pub(crate) fn start_here(&self, operation: &Operation<'_>) -> Pending {
        let number = self.next_call();
        if let Some(stay) = self.start_light(operation, (number, 0)) {
            return stay.into();
        }
        // Between a look at the board and the other somebody may have begun with the operation, who has less data.
        let met = self.prepare_as(operation, &[], number).meet((number, 0));
        met.unwrap_or_else(|light| self.join_light(&light, operation, (number, 0)).into())
    }

    /// Starts an operation with little data, if it is one: the first to start decides for all.
    fn start_light(&self, operation: &Operation<'_>, key: (u64, u64)) -> Option<Stay> {
        let shared = self.shared_by_all().filter(|_| !self.members().are_two_groups())?;
        let (found, under_way) = {
            let board = shared.board.lock();
            (board.find(key), board.len())
        };
        let found = match found {
            Some(found) => found,
            None => {
                if !is_light(operation) || !self.is_for_slots(operation) {
                    return None;
                }
                let made = shared.lights.take(self.size());
                let found = shared.board.lock().find_or_add(key, Started::Light(made.clone()));
                if !matches!(&found, Started::Light(light) if Arc::ptr_eq(light, &made)) {
                    shared.lights.put(made);
                }
                found
            }
        };
        let Started::Light(light) = found else { return None };
        let stay = self.join_light(&light, operation, key);
        if under_way >= AHEAD && stay.advance(None) {
            weft_sched::yield_now();
        }
        Some(stay)
    }

    /// Takes part in an operation with little data that is on the board.
    fn join_light(&self, light: &Arc<Light>, operation: &Operation<'_>, key: (u64, u64)) -> Stay {
        let shared = self.shared();
        let (description, is_root) = self.describe(operation);
        let (stay, is_last) = light.arrive(&shared.shards, self.rank(), operation, description, is_root);
        if is_last {
            shared.board.lock().remove(key);
        }
        stay
    }

    /// Tells whether the table sends the operation through slots where it has slots; reductions must then combine as the
    /// blocking form does.
    fn is_for_slots(&self, operation: &Operation<'_>) -> bool {
        let step = self.step(operation.call, self.bytes(operation));
        !matches!(step.algorithm, Algorithm::InPlace | Algorithm::Schedule)
            && (operation.operator.is_none()
                || selection::is_small(step, self.size(), operation.one().and_then(|data| data.span())))
    }

    /// Returns the bytes by which an operation's algorithm is chosen.
    fn bytes(&self, operation: &Operation<'_>) -> u64 {
        operation.one().map_or(0, |data| data.bytes())
    }

    /// Describes an operation to the other ranks, and tells whether the caller is its root.
    fn describe(&self, operation: &Operation<'_>) -> (Description, bool) {
        let root = self.members().root(self.rank(), operation.root);
        (operation.describe(root), root == Some(self.rank()))
    }

    /// Prepares an operation; see [`Team::prepare`]. Of ranks with different `hints` the
    /// first to start decides for all.
    pub(crate) fn prepare_here(&self, operation: &Operation<'_>, hints: &[(String, String)]) -> Prepared {
        self.prepare_as(operation, hints, self.next_call())
    }

    fn prepare_as(&self, operation: &Operation<'_>, hints: &[(String, String)], number: u64) -> Prepared {
        let (members, member) = (self.members(), self.rank());
        let root = members.root(member, operation.root);
        let one = operation.one();
        let (description, is_root) = self.describe(operation);
        let selection = if hints.is_empty() { self.selection() } else { self.selection_with(hints) };
        let step = selection.step(operation.call, one.map_or(0, |data| data.bytes()));
        let choice = Choice {
            call: operation.call,
            members,
            // All are one group, so the root does not matter.
            near_root: if members.are_two_groups() { root.unwrap_or(member) } else { 0 },
            in_place: operation.is_swap(),
            is_small: selection::is_small(step, members.size, one.and_then(|data| data.span())),
            segment: step.segment,
            block: step.block,
        };
        Prepared {
            shared: self.shared_by_all().cloned(),
            members,
            member,
            number,
            starts: AtomicU64::new(0),
            contribution: Arc::new(Contribution::new(operation, description, is_root)),
            choice: (operation.root != Root::Elsewhere).then_some(choice),
        }
    }

    /// Does an operation and returns when the rank's part is over.
    ///
    /// # Errors
    /// `MPI_ERR_TRUNCATE` if the rank receives more than fits; `MPI_ERR_OTHER` if the ranks are in different calls.
    #[inline(always)]
    pub fn run(&self, operation: &Operation<'_>) -> Result {
        if operation.call.is_barrier() && !self.members().are_two_groups() && self.spread().is_some() {
            return self.barrier_of(operation.call);
        }
        self.run_any(operation)
    }

    fn run_any(&self, operation: &Operation<'_>) -> Result {
        let Operation { call, send, receive, .. } = operation;
        let are_two_groups = self.members().are_two_groups();
        let plain = !are_two_groups || call.is_barrier();
        if !plain || operation.neighbors.is_some() {
            return self.start(operation).wait();
        }
        if self.spread().is_some() {
            return self.in_common(operation).unwrap_or_else(|| self.start(operation).wait());
        }
        if self.goes_by_schedule(operation) {
            return self.start(operation).wait();
        }
        let own = self.rank();
        let root = match operation.root {
            Root::Rank(root) => root,
            Root::None | Root::Here | Root::Elsewhere => own,
        };
        let operator = || operation.operator.expect("reductions have an operator");
        match call {
            Call::Barrier | Call::Finalize | Call::Disconnect => self.barrier_of(*call),
            Call::Broadcast if own == root => self.broadcast(root, send.piece(0)),
            Call::Broadcast => self.broadcast(root, receive.piece(0)),
            Call::Gather | Call::Gatherv => {
                self.gather(*call, root, send.whole(), |rank| receive.piece(rank))
            }
            Call::Scatter | Call::Scatterv => {
                self.scatter(*call, root, &|rank| send.piece(rank), receive.whole())
            }
            Call::Allgather => self.allgather(send.whole(), receive.piece_of_all()),
            Call::Allgatherv => self.allgatherv(send.whole(), |rank| receive.piece(rank)),
            Call::Alltoall | Call::Alltoallv | Call::Alltoallw if send.is_none() => {
                self.alltoall_in_place(*call, &|rank| receive.piece(rank))
            }
            Call::Alltoall => self.alltoall(send.piece_of_all(), receive.piece_of_all()),
            Call::Alltoallv | Call::Alltoallw => {
                self.alltoallw(*call, &|rank| send.piece(rank), &|rank| receive.piece(rank))
            }
            Call::Reduce => self.reduce(root, send.piece(0), receive.whole(), operator()),
            Call::Allreduce => self.allreduce(send.piece(0), receive.piece(0), operator()),
            Call::ReduceScatter | Call::ReduceScatterBlock => {
                let mine = operation.mine.clone();
                self.reduce_scatter(*call, send.piece(0), mine, receive.piece(0), operator())
            }
            Call::Scan => self.scan(send.piece(0), receive.piece(0), operator()),
            Call::Exscan => {
                // Rank 0 receives nothing.
                let send = send.piece(0);
                self.exscan(send, receive.whole().unwrap_or(send), operator())
            }
            _ => self.start(operation).wait(),
        }
    }
}
