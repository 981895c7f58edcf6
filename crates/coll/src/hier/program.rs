//! Programs: what one node process does in an operation, as a value.
//!
//! A program is a graph of steps that make and use *cells*. A cell holds packed data, is made by one step and never
//! changes. A step can be done when the members whose buffers it touches have arrived and the cells it uses are there.
//! [`Run`] is one execution: it hears of arrivals, messages and finished steps and says which steps can be done now. It
//! knows nothing of memory, messages and threads.

use super::wire::EVERYBODY;
use core::ops::Range;
use std::collections::VecDeque;

/// The number of a cell.
pub(crate) type Cell = u32;

/// An operand of a reduction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Item {
    /// What a member contributes.
    Member(u32),
    /// A partial result.
    Cell(Cell),
}

/// Which data of a member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Piece {
    /// A range of the bytes of its only buffer.
    Bytes(Range<u64>),
    /// The piece for, or from, a peer by its place among the buffer's pieces; and where it is if it is in place.
    Peer { place: u32, in_place: u32 },
    /// The pieces for all peers on a node process, one after the other.
    ForNode(u32),
    /// The pieces from all peers on a node process, a cell each.
    FromNode(u32),
    /// The pieces from all peers on a node process, each the one with this number among several in a cell.
    FromNodeAt(u32, u32),
    /// The member's part of the result of a reduce-scatter, from a cell that begins with this element.
    Mine(u64),
    /// No data; the member waits.
    Nothing,
}

/// What a step does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    /// Waits for cells and members.
    Join { members: Vec<u32>, cells: Vec<Cell>, output: Cell },
    /// Sends cells to another node process as one message, for an operation of all or the `part` of one member.
    Send { to: u32, part: u32, key: u64, cells: Vec<Cell> },
    /// Receives cells.
    Receive { from: u32, key: u64, cells: Vec<Cell> },
    /// Packs data of a member.
    Take { member: u32, piece: Piece, output: Cell },
    /// Unpacks cells into a member's buffer, when those of `after` are there, too.
    Give { member: u32, piece: Piece, cells: Vec<Cell>, after: Vec<Cell> },
    /// Copies to a member what others of the node process have for it.
    Collect { member: u32, sources: Vec<u32> },
    /// Reduces a range of elements of some operands, in their order.
    Fold { items: Vec<Item>, range: Range<u64>, output: Cell },
}

impl Action {
    /// Returns the cells it uses.
    fn inputs(&self) -> Vec<Cell> {
        let mut inputs = match self {
            Self::Join { cells, .. } | Self::Send { cells, .. } => cells.clone(),
            Self::Give { cells, after, .. } => cells.iter().chain(after).copied().collect(),
            Self::Fold { items, .. } => items
                .iter()
                .filter_map(|i| if let Item::Cell(cell) = i { Some(*cell) } else { None })
                .collect(),
            Self::Receive { .. } | Self::Take { .. } | Self::Collect { .. } => Vec::new(),
        };
        inputs.sort_unstable();
        inputs.dedup();
        inputs
    }

    /// Returns the cells it makes.
    pub fn outputs(&self) -> &[Cell] {
        match self {
            Self::Join { output, .. } | Self::Take { output, .. } | Self::Fold { output, .. } => {
                core::slice::from_ref(output)
            }
            Self::Receive { cells, .. } => cells,
            Self::Send { .. } | Self::Give { .. } | Self::Collect { .. } => &[],
        }
    }

    /// Returns the members whose buffers it touches, or who wait for it, each once.
    pub fn members(&self) -> Vec<u32> {
        match self {
            Self::Join { members, .. } => members.clone(),
            Self::Take { member, .. } | Self::Give { member, .. } => vec![*member],
            Self::Collect { member, sources } => {
                let others = sources.iter().filter(|source| *source != member);
                others.chain([member]).copied().collect()
            }
            Self::Fold { items, .. } => {
                items.iter().filter_map(|i| if let Item::Member(m) = i { Some(*m) } else { None }).collect()
            }
            Self::Send { .. } | Self::Receive { .. } => Vec::new(),
        }
    }

    /// Returns the member that should rather do it itself, because nobody else needs it.
    pub fn owner(&self) -> Option<u32> {
        match self {
            Self::Give { member, .. } | Self::Collect { member, .. } => Some(*member),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    Arrival(u32),
    Cell(Cell),
}

/// The steps of a node process in an operation.
#[derive(Debug, Default)]
pub(crate) struct Program {
    steps: Vec<Action>,
    /// By step: for how many events it waits.
    waits: Vec<u32>,
    cells: u32,
    /// What waits for what, sorted.
    edges: Vec<(Event, u32)>,
    /// Who sends what, and the step that receives it; sorted.
    receives: Vec<((u32, u64), u32)>,
    sends: u32,
    /// Whether the member that comes first stays until everything is sent; else the one that comes last.
    pub first_leads: bool,
    /// A number that differs where node processes would not understand each other's messages.
    pub shape: u32,
}

impl Program {
    /// Adds a cell.
    pub fn cell(&mut self) -> Cell {
        self.cells += 1;
        self.cells - 1
    }

    /// Adds consecutive cells.
    pub fn cells(&mut self, count: usize) -> Vec<Cell> {
        (0..count).map(|_| self.cell()).collect()
    }

    /// Returns the number of cells.
    pub fn cell_count(&self) -> usize {
        self.cells as usize
    }

    /// Adds a step.
    pub fn add(&mut self, action: Action) {
        let step = self.steps.len() as u32;
        let mut events: Vec<Event> = action.inputs().into_iter().map(Event::Cell).collect();
        if !matches!(action, Action::Receive { .. }) {
            events.extend(action.members().into_iter().map(Event::Arrival));
        }
        let mut waits = events.len() as u32;
        match &action {
            Action::Receive { from, key, .. } => {
                self.receives.push(((*from, *key), step));
                waits += 1;
            }
            Action::Send { .. } => self.sends += 1,
            _ => {}
        }
        self.edges.extend(events.into_iter().map(|event| (event, step)));
        self.waits.push(waits);
        self.steps.push(action);
    }

    /// Adds a step that makes one cell.
    pub fn make(&mut self, action: impl FnOnce(Cell) -> Action) -> Cell {
        let cell = self.cell();
        self.add(action(cell));
        cell
    }

    /// Adds the receipt of a message.
    pub fn receive(&mut self, from: u32, key: u64, count: usize) -> Vec<Cell> {
        let cells = self.cells(count);
        self.add(Action::Receive { from, key, cells: cells.clone() });
        cells
    }

    /// Adds the sending of a message.
    pub fn send(&mut self, to: u32, key: u64, cells: Vec<Cell>) {
        self.add(Action::Send { to, part: EVERYBODY, key, cells });
    }

    /// Ends the construction.
    pub fn finish(mut self) -> Self {
        self.edges.sort_unstable();
        self.receives.sort_unstable();
        self
    }

    /// Returns what a step does.
    pub fn action(&self, step: u32) -> &Action {
        &self.steps[step as usize]
    }

    /// Returns the steps.
    pub fn steps(&self) -> &[Action] {
        &self.steps
    }

    /// Returns the step that receives a message.
    pub fn receiver(&self, from: u32, key: u64) -> Option<u32> {
        let place = self.receives.binary_search_by_key(&(from, key), |(message, _)| *message).ok()?;
        Some(self.receives[place].1)
    }

    fn waiting_for(&self, event: Event) -> &[(Event, u32)] {
        let first = self.edges.partition_point(|(e, _)| *e < event);
        let length = self.edges[first..].partition_point(|(e, _)| *e == event);
        &self.edges[first..first + length]
    }
}

/// One execution of a program.
#[derive(Debug)]
pub(crate) struct Run {
    waits: Vec<u32>,
    finished: Vec<bool>,
    /// Steps that others may wait for.
    urgent: VecDeque<u32>,
    /// Steps whose owner may do them.
    gives: Vec<u32>,
    /// The members of the node process, ascending.
    members: Vec<u32>,
    arrived: Vec<bool>,
    /// By member: how many steps touch its buffers.
    holding: Vec<u32>,
    pub missing: u32,
    left: u32,
    sends: u32,
    keeper: Option<u32>,
}

impl Run {
    /// Begins, with the members of the node process that take part.
    pub fn new(program: &Program, members: Vec<u32>) -> Self {
        let mut it = Self {
            waits: program.waits.clone(),
            finished: vec![false; program.steps.len()],
            urgent: VecDeque::new(),
            gives: Vec::new(),
            arrived: vec![false; members.len()],
            holding: vec![0; members.len()],
            missing: members.len() as u32,
            members,
            left: program.steps.len() as u32,
            sends: program.sends,
            keeper: None,
        };
        for action in &program.steps {
            for member in action.members() {
                let place = it.place(member);
                it.holding[place] += 1;
            }
        }
        for (step, &waits) in program.waits.iter().enumerate() {
            if waits == 0 {
                it.ready(program, step as u32);
            }
        }
        it
    }

    fn place(&self, member: u32) -> usize {
        self.members.binary_search(&member).expect("a member of this node process")
    }

    fn ready(&mut self, program: &Program, step: u32) {
        let is_send = |&step: &u32| matches!(program.action(step), Action::Send { .. });
        if program.action(step).owner().is_some() {
            self.gives.push(step)
        } else if is_send(&step) {
            // Others wait for it, and it takes the processor for a moment only.
            let place = self.urgent.iter().take_while(|step| is_send(step)).count();
            self.urgent.insert(place, step)
        } else {
            self.urgent.push_back(step)
        }
    }

    fn event(&mut self, program: &Program, event: Event) {
        for &(_, step) in program.waiting_for(event) {
            self.count_down(program, step);
        }
    }

    fn count_down(&mut self, program: &Program, step: u32) {
        self.waits[step as usize] -= 1;
        if self.waits[step as usize] == 0 {
            self.ready(program, step);
        }
    }

    /// Notes that a member has arrived.
    pub fn arrive(&mut self, program: &Program, member: u32) {
        let place = self.place(member);
        debug_assert!(!self.arrived[place]);
        self.arrived[place] = true;
        self.missing -= 1;
        if program.first_leads {
            self.keeper.get_or_insert(member);
        } else if self.missing == 0 {
            self.keeper = Some(member);
        }
        self.event(program, Event::Arrival(member));
    }

    /// Tells whether a member takes part and has arrived.
    pub fn has_arrived(&self, member: u32) -> bool {
        self.members.binary_search(&member).is_ok_and(|place| self.arrived[place])
    }

    /// Notes that a message is there, or that it can be fetched.
    pub fn message(&mut self, program: &Program, step: u32) {
        self.count_down(program, step);
    }

    /// Gives out a step that can be done now: one that others wait for, or one of `member`'s own, or with `all` any; one that
    /// applies the operator only with `folds`.
    pub fn take(&mut self, program: &Program, member: u32, all: bool, folds: bool) -> Option<u32> {
        let may_do = |&step: &u32| folds || !matches!(program.action(step), Action::Fold { .. });
        if let Some(place) = self.urgent.iter().position(may_do) {
            return self.urgent.remove(place);
        }
        let own = self.gives.iter().position(|&step| program.action(step).owner() == Some(member));
        let place = own.or_else(|| if all { self.gives.len().checked_sub(1) } else { None })?;
        Some(self.gives.remove(place))
    }

    /// Tells whether there is a step that can be done now.
    pub fn has_ready(&self) -> bool {
        !self.urgent.is_empty() || !self.gives.is_empty()
    }

    /// Notes that a step is finished; returns the members whose part may be over by that.
    pub fn finish(&mut self, program: &Program, step: u32) -> Vec<u32> {
        debug_assert!(!self.finished[step as usize]);
        self.finished[step as usize] = true;
        self.left -= 1;
        let action = program.action(step);
        let mut freed = action.members();
        for &member in &freed {
            let place = self.place(member);
            self.holding[place] -= 1;
        }
        if matches!(action, Action::Send { .. }) {
            self.sends -= 1;
            if self.sends == 0 {
                freed.extend(self.keeper);
            }
        }
        for &cell in action.outputs() {
            self.event(program, Event::Cell(cell));
        }
        freed
    }

    /// Tells whether a member's part is over: it has arrived, no step touches its buffers any more, and it is not the one
    /// that stays until everything is sent.
    pub fn is_over(&self, member: u32) -> bool {
        let place = self.place(member);
        self.arrived[place] && self.holding[place] == 0 && (self.sends == 0 || self.keeper != Some(member))
    }

    /// Tells whether nothing is left to do on this node process.
    pub fn is_finished(&self) -> bool {
        self.left == 0 && self.missing == 0
    }
}
