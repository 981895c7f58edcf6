//! Reductions between processes of one host, in the order in which the memory that these share combines: so that blocking,
//! nonblocking and persistent forms give the same bits.
//!
//! What the ranks of a process contribute is reduced first, and then that of all processes, each time from the last to the first:
//! `p0 op (p1 op (… op pn))`, whatever the root. Prefixes are formed from the first on, rank by rank. Operations that do not
//! commute take runs of consecutive ranks of a process in place of all its ranks. See `Groups` for the same in memory.
//!
//! Such an order leaves no tree of partial results. So the parts of all processes go to one place and are reduced there in one
//! pass: little data to the other process or to one who hands it on, much data in blocks of which each has another place, or
//! along a chain. On two cores, 2 to 8 processes, each takes as long as the tree or ring it stands for: where processes share
//! cores the number of messages counts, which is no higher.

use super::planner::{Planner, key};
use super::program::{Cell, Item};
use super::reductions::Runs;
use crate::operation::call::Call;
use crate::team::slots::WHOLE;
use core::ops::Range;

/// Up to how many processes everybody sends to everybody what prefixes are formed of.
const FEW: u32 = 3;
/// From how many bytes on an allreduce goes in blocks.
const BLOCKS: u64 = 32 << 10;
/// From how many bytes on a reduction to one goes along a chain.
const CHAIN: u64 = 512 << 10;

/// Tells whether a reduction of so many bytes must be in order: its blocking form may go through memory.
pub(super) fn is_wanted(call: Call, bytes: u64) -> bool {
    match call {
        Call::Reduce | Call::Allreduce => true,
        Call::Scan | Call::Exscan | Call::ReduceScatter => bytes <= WHOLE,
        // In order anyway.
        _ => false,
    }
}

impl Planner<'_> {
    /// Adds the steps of a reduction.
    pub(super) fn in_order(&mut self, count: u64) {
        let (size, here) = (self.layout.len(), self.layout.all_on(self.me));
        match self.choice.call {
            Call::Reduce => {
                let root = self.root();
                let home = self.layout.home(root);
                let is_long = size > 2 && self.choice.bytes >= CHAIN && self.is_one_run();
                let results =
                    if is_long { self.along_chain(home, count) } else { self.gathered(home, count) };
                if home == self.me {
                    self.hand_out(&[root], &results);
                }
            }
            Call::Scan | Call::Exscan if size > FEW && self.layout.is_contiguous(&self.all()) => {
                self.prefixes_along_chain(count);
            }
            Call::Scan | Call::Exscan => self.prefixes_of_all(count),
            _ => {
                let results = if self.choice.bytes >= BLOCKS {
                    self.in_blocks(count)
                } else if size == 2 {
                    self.everywhere_at_once(count)
                } else {
                    let results = self.gathered(0, count);
                    self.spread_out(results, count)
                };
                self.hand_out(here, &results);
            }
        }
    }

    /// Tells whether what a process contributes is one partial result.
    fn is_one_run(&self) -> bool {
        self.choice.is_commutative || self.layout.is_contiguous(&self.all())
    }

    fn others(&self) -> impl Iterator<Item = u32> + use<> {
        let (me, size) = (self.me, self.layout.len());
        (1..size).map(move |distance| (me + distance) % size)
    }

    /// Returns what the members here contribute to a range, as partial results that others can be sent.
    fn shares(&mut self, operands: &[Item], range: &Range<u64>) -> Runs {
        let all = self.all();
        let is_whole = range.end - range.start == self.choice.bytes / self.choice.element;
        match operands {
            [Item::Cell(copied)] if is_whole => {
                self.runs_over(&[self.me], &all).into_iter().map(|run| (run, *copied)).collect()
            }
            _ => self.folded_runs(&all, operands, range),
        }
    }

    /// The same for this process itself, which reads a member's only contribution where it is.
    fn own_shares(&mut self, operands: &[Item], range: &Range<u64>) -> Vec<(Range<u32>, Item)> {
        let all = self.all();
        match operands {
            [only] => self.runs_over(&[self.me], &all).into_iter().map(|run| (run, *only)).collect(),
            _ => {
                self.shares(operands, range).into_iter().map(|(run, cell)| (run, Item::Cell(cell))).collect()
            }
        }
    }

    /// Sends partial results.
    fn send_runs(&mut self, to: u32, key: u64, runs: &Runs) {
        self.program.send(to, key, runs.iter().map(|(_, cell)| *cell).collect());
    }

    /// Receives the partial results of all others with a key, and reduces them with those that are here.
    fn receive_all(&mut self, operands: &[Item], key: u64, range: &Range<u64>) -> Cell {
        let all = self.all();
        let mut runs: Vec<(Range<u32>, Item)> = Vec::new();
        for node in 0..self.layout.len() {
            if node == self.me {
                runs.extend(self.own_shares(operands, range));
                continue;
            }
            let theirs = self.runs_over(&[node], &all);
            let cells = self.program.receive(node, key, theirs.len());
            runs.extend(theirs.into_iter().zip(cells.into_iter().map(Item::Cell)));
        }
        // Where order does not matter all runs begin alike, and stay in the order of processes.
        runs.sort_by_key(|(run, _)| run.start);
        self.fold_part(runs.into_iter().map(|(_, item)| item).collect(), range.clone())
    }

    /// Reduces everything at one process. Returns the results there, and nothing elsewhere.
    fn gathered(&mut self, home: u32, count: u64) -> Vec<(Range<u64>, Cell)> {
        let operands = self.operands(self.layout.all_on(self.me), count);
        let mut results = Vec::new();
        for (index, range) in self.parts(count).into_iter().enumerate() {
            if self.me == home {
                let cell = self.receive_all(&operands, key(0, index as u64), &range);
                results.push((range, cell));
            } else {
                let share = self.shares(&operands, &range);
                self.send_runs(home, key(0, index as u64), &share);
            }
        }
        results
    }

    /// Hands what the first process has to all others.
    fn spread_out(&mut self, results: Vec<(Range<u64>, Cell)>, count: u64) -> Vec<(Range<u64>, Cell)> {
        if self.me == 0 {
            for (index, (_, cell)) in results.iter().enumerate() {
                self.others().for_each(|to| self.program.send(to, key(1, index as u64), vec![*cell]));
            }
            return results;
        }
        let parts = self.parts(count).into_iter().enumerate();
        parts.map(|(index, range)| (range, self.program.receive(0, key(1, index as u64), 1)[0])).collect()
    }

    /// Everybody sends everything to everybody.
    fn everywhere_at_once(&mut self, count: u64) -> Vec<(Range<u64>, Cell)> {
        let operands = self.operands(self.layout.all_on(self.me), count);
        let mut results = Vec::new();
        for (index, range) in self.parts(count).into_iter().enumerate() {
            let share = self.shares(&operands, &range);
            self.others().for_each(|to| self.send_runs(to, key(0, index as u64), &share));
            let cell = self.receive_all(&operands, key(0, index as u64), &range);
            results.push((range, cell));
        }
        results
    }

    /// Each process reduces a block and hands it to all others, in segments.
    pub(super) fn in_blocks(&mut self, count: u64) -> Vec<(Range<u64>, Cell)> {
        let operands = self.operands(self.layout.all_on(self.me), count);
        let cut = |block: Range<u64>| {
            let parts = self.parts(block.end - block.start).into_iter();
            parts.map(|part| block.start + part.start..block.start + part.end).collect()
        };
        let blocks: Vec<Vec<Range<u64>>> =
            self.blocks(count, self.layout.len()).into_iter().map(cut).collect();
        // The first segments of all blocks first, so that everybody has something to reduce soon.
        for (at, _) in (0..).zip(&blocks[0]) {
            for to in self.others() {
                if let Some(range) = blocks[to as usize].get(at as usize) {
                    let part = self.shares(&operands, range);
                    self.send_runs(to, key(0, at), &part);
                }
            }
        }
        let mut results = Vec::new();
        for (at, range) in (0..).zip(blocks[self.me as usize].clone()) {
            let cell = self.receive_all(&operands, key(0, at), &range);
            self.others().for_each(|to| self.program.send(to, key(1, at), vec![cell]));
            results.push((range, cell));
        }
        for from in self.others() {
            for (at, range) in (0..).zip(blocks[from as usize].clone()) {
                results.push((range, self.program.receive(from, key(1, at), 1)[0]));
            }
        }
        results
    }

    /// The partial result goes from the last process to the first, segment by segment, and from there to `home`.
    fn along_chain(&mut self, home: u32, count: u64) -> Vec<(Range<u64>, Cell)> {
        let operands = self.operands(self.layout.all_on(self.me), count);
        let mut results = Vec::new();
        for (index, range) in self.parts(count).into_iter().enumerate() {
            let at = index as u64;
            let own = match operands[..] {
                [only] => only,
                _ => Item::Cell(self.shares(&operands, &range)[0].1),
            };
            let mut items = vec![own];
            if self.me + 1 < self.layout.len() {
                items.push(Item::Cell(self.program.receive(self.me + 1, key(0, at), 1)[0]));
            }
            let value = self.fold_part(items, range.clone());
            match self.me {
                0 if home == 0 => results.push((range, value)),
                0 => self.program.send(home, key(1, at), vec![value]),
                me => self.program.send(me - 1, key(0, at), vec![value]),
            }
            if self.me == home && home != 0 {
                let cell = self.program.receive(0, key(1, at), 1)[0];
                results.push((self.parts(count)[index].clone(), cell));
            }
        }
        results
    }

    /// Each process takes what is below it from the one before, and hands on what is below the next.
    fn prefixes_along_chain(&mut self, count: u64) {
        let here = self.layout.all_on(self.me);
        for (index, range) in self.parts(count).into_iter().enumerate() {
            let at = index as u64;
            let operands = self.operands(here, count);
            let below = (self.me > 0).then(|| self.program.receive(self.me - 1, key(0, at), 1)[0]);
            let last = self.hand_out_prefixes(here, &operands, below, &[], &range);
            if let Some(last) = last.filter(|_| self.me + 1 < self.layout.len()) {
                self.program.send(self.me + 1, key(0, at), vec![last]);
            }
        }
    }
}
