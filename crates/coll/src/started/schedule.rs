//! Schedules: the steps of a collective operation and what each of them waits for, as a value.
//!
//! A [`Schedule`] says nothing about addresses and threads. [`Progress`] is one execution of it, driven by two kinds of
//! events: a member *arrives* (its buffers may be used from now on), and a step is *finished*. It answers two questions:
//! which step can be done now, and whose part of the operation is over. Any member may do any step, because all share
//! one address space; so a member that computes elsewhere delays nobody once it has arrived.
//!
//! A *member* is a rank of an intracommunicator, or a rank of either group of an intercommunicator (the first group's
//! come first). A *spectator* is a member that has no part in the data (`MPI_PROC_NULL` as root); it does not arrive.

use std::collections::VecDeque;
use std::sync::Arc;

/// A member, by number or by role: on an intercommunicator not all members know who the root is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Who {
    Member(u32),
    Root,
}

/// What a step does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    /// Moves no data.
    Join,
    /// Copies the piece that one member has for another.
    Copy { from: Who, to: Who },
    /// Copies to a member what each of its sources has for it.
    Collect { to: u32 },
    /// Exchanges a member's pieces with those of the peers for which it is the one to act.
    Swap { member: u32 },
    /// Reduces everything the members of a side contribute, and hands out the result.
    Combine { side: u32 },
    /// Reduces a segment of what the members of a side contribute, and hands it out.
    Segment { side: u32, index: u32, of: u32 },
    /// Reduces a member's part of the result; the result stays aside if it would replace contributions.
    Reduce { to: u32 },
    /// Moves a result from aside to its place.
    Settle { to: u32 },
    /// Forms all members' prefixes of a segment.
    Prefixes { index: u32, of: u32 },
    /// Copies to a member what its neighbors have for it.
    Neighbors { to: u32 },
}

/// Whose part of the operation goes on until a step is finished.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Holds {
    All,
    Two(Who, Who),
    /// One member and its neighbors, as they say on arrival.
    Neighbors(u32),
}

/// What a step may wait for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Event {
    Arrival(u32),
    /// The root has arrived.
    Root,
    /// All members but spectators have arrived.
    All,
    Finished(u32),
}

impl From<Who> for Event {
    fn from(who: Who) -> Self {
        match who {
            Who::Member(member) => Self::Arrival(member),
            Who::Root => Self::Root,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Step {
    action: Action,
    holds: Holds,
    /// The number of events it waits for.
    waits: u32,
}

/// The steps of an operation.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// The number of members.
    pub size: u32,
    /// The number of members that arrive: all but spectators.
    pub population: u32,
    steps: Vec<Step>,
    /// What waits for what, sorted by event.
    edges: Vec<(Event, u32)>,
    /// Which steps a member should rather do itself, sorted by member.
    own: Vec<(u32, u32)>,
}

impl Schedule {
    /// Returns an empty schedule.
    pub fn new(size: u32, population: u32) -> Self {
        Self { size, population, steps: Vec::new(), edges: Vec::new(), own: Vec::new() }
    }

    /// Adds a step, preferably to be done by `own`; returns its number. The events it waits for differ.
    pub fn add(&mut self, action: Action, holds: Holds, own: Option<u32>, after: &[Event]) -> u32 {
        let number = self.steps.len() as u32;
        self.steps.push(Step { action, holds, waits: after.len() as u32 });
        self.edges.extend(after.iter().map(|&event| (event, number)));
        self.own.extend(own.map(|member| (member, number)));
        number
    }

    /// Ends the construction.
    pub fn finish(mut self) -> Arc<Self> {
        self.edges.sort_unstable();
        self.own.sort_unstable();
        Arc::new(self)
    }

    /// Returns what a step does.
    pub fn action(&self, step: u32) -> Action {
        self.steps[step as usize].action
    }

    fn waiting_for(&self, event: Event) -> &[(Event, u32)] {
        run(&self.edges, event)
    }
}

/// Returns the run of entries with a key in a sorted list.
fn run<K: Ord + Copy>(list: &[(K, u32)], key: K) -> &[(K, u32)] {
    let first = list.partition_point(|&(k, _)| k < key);
    let length = list[first..].partition_point(|&(k, _)| k == key);
    &list[first..first + length]
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Waiting,
    Ready,
    Taken,
    Finished,
}

/// One execution of a schedule.
#[derive(Debug)]
pub(crate) struct Progress {
    schedule: Arc<Schedule>,
    phases: Vec<Phase>,
    waits: Vec<u32>,
    ready: VecDeque<u32>,
    arrived: Vec<bool>,
    missing: u32,
    /// Steps that are not finished.
    left: usize,
    root: Option<u32>,
    /// Steps that hold everybody.
    holding_all: u32,
    /// Steps that hold a member; the last element is for the root in that role.
    holding: Vec<u32>,
    /// By member: from whom it receives in a neighborhood operation, each once.
    sources: Vec<Vec<u32>>,
}

impl Progress {
    /// Begins.
    pub fn new(schedule: Arc<Schedule>) -> Self {
        let size = schedule.size as usize;
        let mut it = Self {
            phases: vec![Phase::Waiting; schedule.steps.len()],
            waits: schedule.steps.iter().map(|s| s.waits).collect(),
            ready: VecDeque::new(),
            arrived: vec![false; size],
            missing: schedule.population,
            left: schedule.steps.len(),
            root: None,
            holding_all: 0,
            holding: vec![0; size + 1],
            sources: Vec::new(),
            schedule,
        };
        for number in 0..it.schedule.steps.len() {
            it.hold(number as u32, 1);
        }
        it
    }

    /// Counts a step among those that hold members; returns the members of whom it was the last that held them.
    fn hold(&mut self, step: u32, change: i32) -> Freed {
        let holds = self.schedule.steps[step as usize].holds;
        if holds == Holds::All {
            self.holding_all = self.holding_all.wrapping_add_signed(change);
            return if self.holding_all == 0 { Freed::All } else { Freed::These(Vec::new()) };
        }
        let mut freed = Vec::new();
        let mut count = |it: &mut Self, index: u32| {
            let holding = &mut it.holding[index as usize];
            *holding = holding.wrapping_add_signed(change);
            let member = if index == it.schedule.size { it.root } else { Some(index) };
            freed.extend(member.filter(|&member| it.is_over(member)));
        };
        match holds {
            Holds::All => {}
            Holds::Two(first, second) => {
                for (i, who) in [first, second].into_iter().enumerate() {
                    if i == 0 || first != second {
                        count(self, if let Who::Member(member) = who { member } else { self.schedule.size });
                    }
                }
            }
            Holds::Neighbors(member) => {
                count(self, member);
                if change < 0 {
                    // Sources count what they hold when they arrive.
                    for source in std::mem::take(&mut self.sources[member as usize]) {
                        if source != member {
                            count(self, source);
                        }
                    }
                }
            }
        }
        Freed::These(freed)
    }

    /// Notes that a member has arrived.
    pub fn arrive(&mut self, member: u32, is_root: bool) {
        debug_assert!(!self.arrived[member as usize]);
        self.arrived[member as usize] = true;
        self.missing -= 1;
        self.event(Event::Arrival(member));
        if is_root {
            self.root = Some(member);
            self.event(Event::Root);
        }
        if self.missing == 0 {
            self.event(Event::All);
        }
    }

    /// Notes that a member has arrived and who its neighbors are; for schedules of [`Action::Neighbors`], whose step
    /// `m` is the one of member `m` and waits for its arrival.
    pub fn arrive_among(&mut self, member: u32, mut sources: Vec<u32>, mut destinations: Vec<u32>) {
        for list in [&mut sources, &mut destinations] {
            list.sort_unstable();
            list.dedup();
        }
        self.sources.resize_with(self.schedule.size as usize, Vec::new);
        let others = destinations.iter().filter(|&&to| to != member).count();
        self.holding[member as usize] += others as u32;
        let absent = |&&from: &&u32| from != member && !self.arrived[from as usize];
        self.waits[member as usize] += sources.iter().filter(absent).count() as u32;
        for &to in &destinations {
            if to != member && self.arrived[to as usize] {
                self.count_down(to);
            }
        }
        self.sources[member as usize] = sources;
        self.arrive(member, false);
    }

    fn event(&mut self, event: Event) {
        let schedule = self.schedule.clone();
        for &(_, step) in schedule.waiting_for(event) {
            self.count_down(step);
        }
    }

    fn count_down(&mut self, step: u32) {
        let waits = &mut self.waits[step as usize];
        *waits -= 1;
        if *waits == 0 {
            self.phases[step as usize] = Phase::Ready;
            self.ready.push_back(step);
        }
    }

    /// Gives out a step that can be done now, `member`'s own first; only those with `own_only`.
    pub fn take(&mut self, member: u32, own_only: bool) -> Option<u32> {
        let own = run(&self.schedule.own, member).iter().map(|&(_, step)| step);
        let mut own = own.filter(|&step| self.phases[step as usize] == Phase::Ready);
        let step = match own.next() {
            Some(step) => step,
            None if own_only => return None,
            None => loop {
                let step = self.ready.pop_front()?;
                if self.phases[step as usize] == Phase::Ready {
                    break step;
                }
            },
        };
        self.phases[step as usize] = Phase::Taken;
        Some(step)
    }

    /// Tells whether a step can be done now.
    pub fn has_ready(&mut self) -> bool {
        while let Some(&step) = self.ready.front() {
            if self.phases[step as usize] == Phase::Ready {
                return true;
            }
            self.ready.pop_front();
        }
        false
    }

    /// Notes that a step is finished; returns the members whose part is over by that.
    pub fn finish(&mut self, step: u32) -> Freed {
        debug_assert_eq!(self.phases[step as usize], Phase::Taken);
        self.phases[step as usize] = Phase::Finished;
        self.left -= 1;
        let freed = self.hold(step, -1);
        self.event(Event::Finished(step));
        freed
    }

    /// Tells whether a member's part is over: it has arrived, and no step holds it any more.
    pub fn is_over(&self, member: u32) -> bool {
        self.arrived[member as usize]
            && self.holding_all == 0
            && self.holding[member as usize] == 0
            && (self.root != Some(member) || self.holding[self.schedule.size as usize] == 0)
    }

    /// Tells whether everybody's part is over.
    pub fn is_finished(&self) -> bool {
        self.left == 0 && self.missing == 0
    }

    /// Gives up every step that has not begun.
    pub fn abandon(&mut self) {
        self.ready.clear();
        self.phases.fill(Phase::Finished);
        self.waits.fill(u32::MAX);
    }
}

/// Whose part is over since a step is finished.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Freed {
    /// Perhaps everybody's.
    All,
    These(Vec<u32>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::call::Call;
    use crate::started::plan::{Choice, Members, schedule};

    const CALLS: [Call; 17] = [
        Call::Barrier,
        Call::Broadcast,
        Call::Gather,
        Call::Gatherv,
        Call::Scatter,
        Call::Scatterv,
        Call::Allgather,
        Call::Allgatherv,
        Call::Alltoall,
        Call::Alltoallv,
        Call::Alltoallw,
        Call::Reduce,
        Call::Allreduce,
        Call::ReduceScatter,
        Call::ReduceScatterBlock,
        Call::Scan,
        Call::Exscan,
    ];

    /// A small generator, so that a seed repeats a run.
    struct Random(u64);

    impl Random {
        fn below(&mut self, n: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % n
        }

        fn shuffled(&mut self, n: u32) -> Vec<u32> {
            let mut order: Vec<u32> = (0..n).collect();
            (1..order.len()).rev().for_each(|i| order.swap(i, self.below(i + 1)));
            order
        }
    }

    /// Members whose buffers an action touches.
    fn touches(action: Action, members: &Members, root: u32) -> Vec<u32> {
        let number = |who| if let Who::Member(m) = who { m } else { root };
        match action {
            Action::Join => Vec::new(),
            Action::Copy { from, to } => vec![number(from), number(to)],
            Action::Settle { to } => vec![to],
            Action::Collect { to } | Action::Reduce { to } => members.peers(to).chain([to]).collect(),
            Action::Combine { side } | Action::Segment { side, .. } => {
                members.contributors(side).chain(members.receivers(side)).collect()
            }
            Action::Swap { .. } | Action::Prefixes { .. } | Action::Neighbors { .. } => {
                (0..members.size).collect()
            }
        }
    }

    /// Runs a schedule with members arriving and steps being done in random order; checks that a step is done only when
    /// those it touches have arrived and are not over, and that in the end everybody is.
    fn execute(choice: &Choice, root: u32, random: &mut Random) {
        let members = choice.members;
        let rooted = members.size != schedule(choice).population;
        let spectator = |m: u32| rooted && m != root && members.group(root).contains(&m);
        let mut order: Vec<u32> = random.shuffled(members.size);
        order.retain(|&m| !spectator(m));
        let mut progress = Progress::new(schedule(choice));
        let (mut taken, mut done) = (Vec::new(), 0);
        let mut arrived = vec![false; members.size as usize];
        let total = progress.schedule.steps.len();
        while done < total || !order.is_empty() {
            match random.below(3) {
                0 => {
                    if let Some(member) = order.pop() {
                        arrived[member as usize] = true;
                        progress.arrive(member, member == root);
                    }
                }
                1 => taken
                    .extend(progress.take(random.below(members.size as usize) as u32, random.below(2) == 0)),
                _ if taken.is_empty() => {
                    assert!(!order.is_empty() || progress.has_ready(), "{choice:?}: stuck")
                }
                _ => {
                    let step = taken.swap_remove(random.below(taken.len()));
                    let action = progress.schedule.action(step);
                    for member in touches(action, &members, root).into_iter().filter(|&m| !spectator(m)) {
                        assert!(
                            arrived[member as usize],
                            "{choice:?}: {action:?} before {member} has arrived"
                        );
                        assert!(!progress.is_over(member), "{choice:?}: {action:?} after {member} is over");
                    }
                    let before: Vec<bool> = (0..members.size).map(|m| progress.is_over(m)).collect();
                    assert!(!progress.is_finished());
                    let freed = progress.finish(step);
                    for member in 0..members.size {
                        if progress.is_over(member) && !before[member as usize] {
                            let told = match &freed {
                                Freed::All => true,
                                Freed::These(these) => these.contains(&member),
                            };
                            assert!(told, "{choice:?}: nobody wakes {member} after {action:?}");
                        }
                    }
                    done += 1;
                }
            }
        }
        assert!((0..members.size).filter(|&m| !spectator(m)).all(|m| progress.is_over(m)), "{choice:?}");
        assert!(progress.is_finished() && !progress.has_ready() && progress.take(0, false).is_none());
    }

    #[test]
    fn every_schedule_ends_in_whatever_order_members_arrive() {
        let mut random = Random(7);
        for size in (1..20).chain([33, 64, 129]) {
            for call in CALLS {
                for split in [0, 1, size / 3, size - 1] {
                    let inter = split > 0 && split < size;
                    if (split > 0 && !inter) || (inter && matches!(call, Call::Scan | Call::Exscan)) {
                        continue;
                    }
                    let members = Members { size, split };
                    for is_small in [false, true] {
                        let root = random.below(size as usize) as u32;
                        let choice = Choice {
                            call,
                            members,
                            near_root: root,
                            in_place: !inter && is_small,
                            is_small,
                            segment: 2048,
                            block: 16384,
                        };
                        execute(&choice, root, &mut random);
                    }
                }
            }
        }
    }

    #[test]
    fn a_receiver_of_a_broadcast_is_over_without_the_others() {
        let members = Members { size: 4, split: 0 };
        let choice = Choice {
            call: Call::Broadcast,
            members,
            near_root: 2,
            in_place: false,
            is_small: true,
            segment: 0,
            block: 0,
        };
        let mut progress = Progress::new(schedule(&choice));
        progress.arrive(1, false);
        assert_eq!(progress.take(1, false), None);
        progress.arrive(2, true);
        let step = progress.take(1, true).expect("the root is there");
        assert_eq!(progress.finish(step), Freed::These(vec![1]));
        assert!(progress.is_over(1) && !progress.is_over(2));
    }

    #[test]
    fn neighbors_wait_for_their_sources_only() {
        let mut random = Random(11);
        let size = 12;
        let members = Members { size, split: 0 };
        let choice = Choice {
            call: Call::NeighborAllgather,
            members,
            near_root: 0,
            in_place: false,
            is_small: false,
            segment: 0,
            block: 0,
        };
        for _ in 0..200 {
            let edges: Vec<(u32, u32)> = (0..random.below(40))
                .map(|_| (random.below(size as usize) as u32, random.below(size as usize) as u32))
                .collect();
            let sources = |m: u32| edges.iter().filter(move |e| e.1 == m).map(|e| e.0);
            let destinations = |m: u32| edges.iter().filter(move |e| e.0 == m).map(|e| e.1);
            let mut progress = Progress::new(schedule(&choice));
            let mut arrived = Vec::new();
            let mut done = Vec::new();
            for member in random.shuffled(size) {
                progress.arrive_among(member, sources(member).collect(), destinations(member).collect());
                arrived.push(member);
                while let Some(step) = progress.take(member, false) {
                    assert!(arrived.contains(&step) && sources(step).all(|s| arrived.contains(&s)));
                    let before: Vec<bool> = (0..size).map(|m| progress.is_over(m)).collect();
                    let freed = progress.finish(step);
                    done.push(step);
                    for m in (0..size).filter(|&m| progress.is_over(m) && !before[m as usize]) {
                        assert!(matches!(&freed, Freed::These(these) if these.contains(&m)));
                    }
                }
                for m in 0..size {
                    let ready = |m: &u32| arrived.contains(m) && sources(*m).all(|s| arrived.contains(&s));
                    assert_eq!(done.contains(&m), ready(&m), "step {m} of {edges:?} after {arrived:?}");
                    let over = done.contains(&m) && destinations(m).all(|d| done.contains(&d));
                    assert_eq!(progress.is_over(m), over, "member {m} of {edges:?} after {arrived:?}");
                }
            }
            assert!((0..size).all(|m| progress.is_over(m)));
        }
    }
}
