//! Plans: which schedule an operation gets.

use crate::operation::Root;
use crate::operation::call::Call;
use crate::started::schedule::{Action, Event, Holds, Schedule, Who};
use core::ops::Range;
use std::sync::Arc;

/// The members of an operation: the ranks of an intracommunicator, or those of an intercommunicator's groups one after
/// the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Members {
    /// How many there are.
    pub size: u32,
    /// The first member of an intercommunicator's second group; 0 on an intracommunicator.
    pub split: u32,
}

impl Members {
    /// Tells whether there are two groups.
    pub fn are_two_groups(&self) -> bool {
        self.split != 0
    }

    fn side_of(&self, member: u32) -> u32 {
        u32::from(member >= self.split && self.are_two_groups())
    }

    /// Returns the members of a side.
    fn side(&self, side: u32) -> Range<u32> {
        match (self.are_two_groups(), side) {
            (false, _) => 0..self.size,
            (true, 0) => 0..self.split,
            (true, _) => self.split..self.size,
        }
    }

    /// Returns the member's group.
    pub fn group(&self, member: u32) -> Range<u32> {
        self.side(self.side_of(member))
    }

    /// Returns the members that a member exchanges data with.
    pub fn peers(&self, member: u32) -> Range<u32> {
        self.side(1 - self.side_of(member))
    }

    /// Returns the root as the members count, from how one of them names it; nothing if it knows of none.
    pub fn root(&self, member: u32, root: Root) -> Option<u32> {
        match root {
            Root::None | Root::Elsewhere => None,
            Root::Rank(rank) => Some(self.peers(member).start + rank),
            Root::Here => Some(member),
        }
    }

    /// Returns a member's rank in its group.
    pub fn rank(&self, member: u32) -> u32 {
        member - self.group(member).start
    }

    /// Returns the members whose contributions are reduced by a step for a side.
    pub fn contributors(&self, side: u32) -> Range<u32> {
        self.side(side)
    }

    /// Returns the members that receive what a side contributes.
    pub fn receivers(&self, side: u32) -> Range<u32> {
        self.side(1 - side)
    }

    fn sides(&self) -> Range<u32> {
        0..1 + u32::from(self.are_two_groups())
    }
}

/// What a plan depends on. All members come to the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Choice {
    pub call: Call,
    pub members: Members,
    /// A member of the root's group, for operations with a root.
    pub near_root: u32,
    /// Whether an all-to-all exchanges pieces in place.
    pub in_place: bool,
    /// Whether a reduction is done in one step, in the order of the ranks' workers.
    pub is_small: bool,
    /// The smallest part of a large reduction that is a step, in bytes.
    pub segment: u32,
    /// How much of it is reduced over all members at a time, in bytes.
    pub block: u32,
}

/// Returns the schedule of an operation.
pub(crate) fn schedule(choice: &Choice) -> Arc<Schedule> {
    let members = &choice.members;
    let far = members.peers(choice.near_root);
    let rooted = matches!(
        choice.call,
        Call::Broadcast | Call::Scatter | Call::Scatterv | Call::Gather | Call::Gatherv | Call::Reduce
    );
    let spectators =
        if rooted && members.are_two_groups() { members.group(choice.near_root).len() as u32 - 1 } else { 0 };
    let mut plan = Schedule::new(members.size, members.size - spectators);
    match choice.call {
        Call::Nothing | Call::Internal | Call::Barrier | Call::Finalize | Call::Disconnect => {
            plan.add(Action::Join, Holds::All, None, &[Event::All]);
        }
        Call::Broadcast | Call::Scatter | Call::Scatterv => {
            for member in far {
                copy(&mut plan, Who::Root, Who::Member(member), member);
            }
        }
        Call::Gather | Call::Gatherv => {
            for member in far {
                copy(&mut plan, Who::Member(member), Who::Root, member);
            }
        }
        Call::Allgather | Call::Allgatherv | Call::Alltoall | Call::Alltoallv | Call::Alltoallw => {
            for member in 0..members.size {
                let action =
                    if choice.in_place { Action::Swap { member } } else { Action::Collect { to: member } };
                plan.add(action, Holds::All, Some(member), &[Event::All]);
            }
        }
        Call::Reduce => reduce(&mut plan, choice, members.side_of(far.start)),
        Call::Allreduce => members.sides().for_each(|side| reduce(&mut plan, choice, side)),
        Call::ReduceScatter | Call::ReduceScatterBlock if choice.is_small => {
            members.sides().for_each(|side| reduce(&mut plan, choice, side));
        }
        Call::ReduceScatter | Call::ReduceScatterBlock => {
            let add = |to| plan.add(Action::Reduce { to }, Holds::All, Some(to), &[Event::All]);
            let reduced: Vec<Event> = (0..members.size).map(add).map(Event::Finished).collect();
            let join = plan.add(Action::Join, Holds::All, None, &reduced);
            for to in 0..members.size {
                let member = Who::Member(to);
                let holds = Holds::Two(member, member);
                plan.add(Action::Settle { to }, holds, Some(to), &[Event::Finished(join)]);
            }
        }
        Call::Scan | Call::Exscan => {
            let of = if choice.is_small { 1 } else { members.size };
            for index in 0..of {
                plan.add(Action::Prefixes { index, of }, Holds::All, Some(index), &[Event::All]);
            }
        }
        Call::NeighborAllgather
        | Call::NeighborAllgatherv
        | Call::NeighborAlltoall
        | Call::NeighborAlltoallv
        | Call::NeighborAlltoallw => {
            for to in 0..members.size {
                let action = Action::Neighbors { to };
                plan.add(action, Holds::Neighbors(to), Some(to), &[Event::Arrival(to)]);
            }
        }
    }
    plan.finish()
}

/// Adds a copy between the root and another member.
fn copy(plan: &mut Schedule, from: Who, to: Who, member: u32) {
    let after = [Event::Root, Event::Arrival(member)];
    plan.add(Action::Copy { from, to }, Holds::Two(from, to), Some(member), &after);
}

/// Adds the reduction of what a side contributes.
fn reduce(plan: &mut Schedule, choice: &Choice, side: u32) {
    if choice.is_small {
        plan.add(Action::Combine { side }, Holds::All, None, &[Event::All]);
        return;
    }
    let contributors = choice.members.contributors(side);
    let of = contributors.len() as u32;
    for index in 0..of {
        let own = contributors.start + index;
        plan.add(Action::Segment { side, index, of }, Holds::All, Some(own), &[Event::All]);
    }
}
