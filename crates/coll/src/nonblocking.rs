//! Starting operations that outlive the call, and the blocking forms by way of [`Operation`].

use crate::call::{Call, Description};
use crate::meeting::{Meeting, Pending};
use crate::operation::{Contribution, Operation, Root};
use crate::plan::{Choice, Members};
use crate::reduction::span;
use crate::selection;
use crate::shared::Shared;
use crate::team::Team;
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use weft_base::Result;

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
        self.meet((self.number, start))
    }

    /// Meets the other members under a key.
    fn meet(&self, key: (u64, u64)) -> Pending {
        let create = || Arc::new(Meeting::new(self.members, self.shared.clone()));
        let meeting = match &self.shared {
            None => create(),
            Some(shared) => {
                let found = shared.board.lock().find(key);
                // The memory for many members is not to be allocated under the lock.
                found.unwrap_or_else(|| {
                    let meeting = create();
                    shared.board.lock().find_or_add(key, meeting)
                })
            }
        };
        let choose = || {
            let choice = self.choice.expect("members that take part choose");
            let schedule = match &self.shared {
                None => crate::plan::schedule(&choice),
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
        Pending::new(meeting, self.member, &arrival)
    }
}

impl Team {
    /// Starts an operation. Ranks' calls of this and of [`Team::prepare`] match in their order.
    pub fn start(&self, operation: &Operation<'_>) -> Pending {
        let prepared = self.prepare(operation, &[]);
        prepared.meet((prepared.number, 0))
    }

    /// Prepares an operation that can be started again and again. Waits for nobody. Of ranks with different `hints` the
    /// first to start decides for all.
    pub fn prepare(&self, operation: &Operation<'_>, hints: &[(String, String)]) -> Prepared {
        let (members, member) = (self.members(), self.rank());
        let root = match operation.root {
            Root::None | Root::Elsewhere => None,
            Root::Rank(rank) => Some(members.peers(member).start + rank),
            Root::Here => Some(member),
        };
        // The first piece says it all in a reduction, for which alone this matters.
        let one = [&operation.send, &operation.receive].into_iter().find_map(|buffers| buffers.whole());
        let in_place = operation.send.is_none()
            && matches!(operation.call, Call::Alltoall | Call::Alltoallv | Call::Alltoallw);
        let bytes = match operation.operator {
            Some(_) => one.map_or(0, |data| data.bytes()),
            None => u64::from(in_place),
        };
        let description = Description::new(operation.call, root, bytes);
        let selection = if hints.is_empty() { self.selection() } else { self.selection_with(hints) };
        let step = selection.step(operation.call, one.map_or(0, |data| data.bytes()));
        let is_root = root == Some(member);
        let choice = Choice {
            call: operation.call,
            members,
            // All are one group, so the root does not matter.
            near_root: if members.are_two_groups() { root.unwrap_or(member) } else { 0 },
            in_place,
            is_small: selection::is_small(step, members.size, one.and_then(|data| span(&data))),
            segment: step.segment,
            block: step.block,
        };
        Prepared {
            shared: self.shared_by_all().cloned(),
            members,
            member,
            number: self.next_call(),
            starts: AtomicU64::new(0),
            contribution: Arc::new(Contribution::new(operation, description, is_root)),
            choice: (operation.root != Root::Elsewhere).then_some(choice),
        }
    }

    /// Does an operation and returns when the rank's part is over.
    ///
    /// # Errors
    /// `MPI_ERR_TRUNCATE` if the rank receives more than fits; `MPI_ERR_OTHER` if the ranks are in different calls.
    pub fn run(&self, operation: &Operation<'_>) -> Result {
        let Operation { call, send, receive, .. } = operation;
        if self.members().are_two_groups() && *call != Call::Barrier || operation.neighbors.is_some() {
            return self.start(operation).wait();
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
            Call::Barrier => self.barrier(),
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
