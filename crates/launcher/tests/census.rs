//! The census of a job whose node processes send to each other over a simulated network: it finds every deadlock, and
//! never takes a job for one that can go on.
#![allow(unsafe_code)] // Promises memory to devices, as the layers above do.

use std::cell::RefCell;
use std::collections::VecDeque;
use weft_launcher::reports::census::{Census, Member, Next, Rest};
use weft_transport::simulator::{Conditions, Network, Random};
use weft_transport::{Arriving, Channel, Device, Handler, Node, Placement};

/// What a rank does next.
#[derive(Clone, Copy, Debug)]
enum Step {
    Send { to: Node, bytes: usize },
    Receive { from: Node },
}

/// What a node process has to tell `mpirun`.
#[derive(Clone, Copy, Debug)]
enum Note {
    Rests,
    Answer(u32, Option<Rest>),
    Ended,
}

/// Counts what has come from whom.
struct Inbox(RefCell<Vec<u32>>);

// SAFETY: all of this happens in one thread.
unsafe impl Sync for Inbox {}

impl Handler for Inbox {
    fn arrive(&self, message: Arriving<'_>) -> Placement {
        self.0.borrow_mut()[message.from as usize] += 1;
        Placement::Taken
    }

    fn placed(&self, _from: Node, _channel: Channel, _token: u64) {}

    fn sent(&self, _to: Node, _channel: Channel, _token: u64) {}

    fn lost(&self, peer: Node, _reason: &str) {
        panic!("{peer} is lost");
    }
}

/// A node process with one rank.
struct Process {
    device: Box<dyn Device>,
    inbox: Inbox,
    steps: VecDeque<Step>,
    /// Changes with everything that happens.
    mark: u64,
    told: Option<u64>,
    has_ended: bool,
    notes: VecDeque<Note>,
    asked: VecDeque<u32>,
}

static MEMORY: [u8; 20_000] = [0; 20_000];

impl Process {
    fn is_stuck(&self) -> bool {
        match self.steps.front() {
            Some(&Step::Receive { from }) => self.inbox.0.borrow()[from as usize] == 0,
            Some(Step::Send { .. }) => false,
            None => self.has_ended,
        }
    }

    fn rest(&self) -> Option<Rest> {
        let traffic = self.device.rest().filter(|_| self.is_stuck())?;
        Some(Rest { mark: self.mark, sent: traffic.sent, received: traffic.received })
    }

    /// Polls, as whoever has nothing else to do.
    fn poll(&mut self) {
        self.mark += u64::from(self.device.poll(&self.inbox));
    }

    /// Lets the rank do a step.
    fn go_on(&mut self) {
        let Some(&step) = self.steps.front() else {
            // Its end follows what it has sent out of its own memory.
            if !self.has_ended && self.device.rest().is_some() {
                self.device.leave();
                self.has_ended = true;
                self.notes.push_back(Note::Ended);
            }
            return;
        };
        let done = match step {
            Step::Receive { from } => {
                let count = &mut self.inbox.0.borrow_mut()[from as usize];
                let is_there = *count > 0;
                *count -= u32::from(is_there);
                is_there
            }
            Step::Send { to, bytes } => {
                let channel = Channel::ALL[bytes % Channel::FIRST];
                if bytes <= self.device.capabilities(to).eager {
                    self.device.send(to, channel, &[1], &MEMORY[..bytes]).is_ok()
                } else {
                    // SAFETY: the memory is static.
                    unsafe { self.device.start(to, channel, 0, &[1], MEMORY.as_ptr(), bytes as u64, 0) }
                        .is_ok()
                }
            }
        };
        if done {
            self.steps.pop_front();
            self.mark += 1;
        }
    }

    /// Looks whether it has come to rest, and says so once.
    fn look(&mut self) {
        if self.has_ended {
            return;
        }
        if let Some(rest) = self.rest()
            && self.told.replace(rest.mark) != Some(rest.mark)
        {
            self.notes.push_back(Note::Rests);
        }
    }

    fn answer(&mut self) {
        if let Some(round) = self.asked.pop_front().filter(|_| !self.has_ended) {
            let rest = self.rest();
            if rest.is_none() {
                self.told = None;
            }
            self.notes.push_back(Note::Answer(round, rest));
        }
    }
}

/// Makes up what ranks do; some of it cannot end.
fn steps(random: &mut Random, nodes: u32) -> Vec<VecDeque<Step>> {
    let mut all = vec![VecDeque::new(); nodes as usize];
    for _ in 0..random.below(30) {
        let from = random.below(u64::from(nodes)) as Node;
        let to = (from + 1 + random.below(u64::from(nodes) - 1) as Node) % nodes;
        let bytes = [0, 8, 900, 20_000][random.below(4) as usize];
        // Where both come in this order for all pairs, everything ends.
        all[from as usize].push_back(Step::Send { to, bytes });
        all[to as usize].push_back(Step::Receive { from });
    }
    for _ in 0..random.below(3) {
        let own = &mut all[random.below(u64::from(nodes)) as usize];
        if own.len() > 1 {
            own.swap(0, 1);
        }
        if random.below(3) == 0 {
            own.pop_back();
        }
    }
    all
}

/// Runs a job to its end; returns whether that was a deadlock.
fn run(seed: u64) -> bool {
    let mut random = Random::new(seed);
    let nodes = 2 + random.below(4) as u32;
    let network = Network::new(nodes, Conditions::random(seed, nodes));
    let mut steps = steps(&mut random, nodes).into_iter();
    let mut processes: Vec<_> = network
        .devices()
        .into_iter()
        .map(|device| Process {
            device,
            inbox: Inbox(RefCell::new(vec![0; nodes as usize])),
            steps: steps.next().expect("steps for all"),
            mark: 0,
            told: None,
            has_ended: false,
            notes: VecDeque::new(),
            asked: VecDeque::new(),
        })
        .collect();
    let mut census = Census::new(vec![Member::Busy; nodes as usize]);
    for _ in 0..200_000 {
        let node = random.below(u64::from(nodes)) as usize;
        let process = &mut processes[node];
        match random.below(8) {
            0..=2 => process.poll(),
            3 => process.go_on(),
            4 => process.look(),
            5 => process.answer(),
            _ => {
                let next = match process.notes.pop_front() {
                    None => Next::Wait,
                    Some(Note::Rests) => census.set(node, Member::Resting),
                    Some(Note::Answer(round, rest)) => census.answer(node, round, rest),
                    Some(Note::Ended) => census.set(node, Member::Gone),
                };
                match next {
                    Next::Wait => {}
                    Next::Ask(round) => processes.iter_mut().for_each(|one| one.asked.push_back(round)),
                    Next::Deadlock => {
                        assert!(network.is_quiet(), "seed {seed}: a message is on its way");
                        let all_stuck = processes.iter().all(Process::is_stuck);
                        assert!(all_stuck, "seed {seed}: a rank can go on");
                        return true;
                    }
                }
            }
        }
        if processes.iter().all(|process| process.has_ended) {
            return false;
        }
    }
    panic!(
        "seed {seed}: {:?} are left, and nobody says so",
        processes.iter().map(|p| &p.steps).collect::<Vec<_>>()
    );
}

#[test]
fn a_deadlock_is_found_and_nothing_else_is_taken_for_one() {
    let deadlocks = (1..2000).filter(|&seed| run(seed)).count();
    assert!(
        (100..1900).contains(&deadlocks),
        "{deadlocks} of 1999 jobs, so one of both kinds was hardly seen"
    );
}
