//! Programs of the reductions.
//!
//! A partial result is a list of runs: ranges of consecutive members with what they contribute reduced in rank order.
//! Runs that meet are reduced to one. So rank order is kept along any tree and under any placement: where node processes
//! hold ranges of ranks there is one run all the way, and where ranks are dealt out more travel until their neighbors are
//! met. For commutative operations everything that is reduced on the way is one run. Which operands are reduced in which
//! order follows from the placement, never from who arrives when. Where blocking forms meet in the memory of a host, all forms
//! reduce in the order of that: `ordered`.

use super::planner::{Algorithm, Planner, key};
use super::program::{Action, Cell, Item, Piece};
use super::tree::segments;
use crate::operation::call::Call;
use crate::pattern::{self, doubling, ring};
use core::ops::Range;

/// A partial result: members, and the cell.
pub(super) type Runs = Vec<(Range<u32>, Cell)>;

/// In place of the members of a run, where their order does not matter.
const NO_RUN: Range<u32> = 0..0;

/// Adds the steps of a reduction.
pub(crate) fn plan(planner: &mut Planner<'_>) {
    let choice = planner.choice;
    let members = choice.members;
    let count = choice.bytes / choice.element.max(1);
    if count == 0 {
        return nothing(planner);
    }
    let sides = 0..1 + u32::from(members.are_two_groups());
    if choice.algorithm == Algorithm::Ordered {
        return planner.in_order(count);
    }
    match choice.call {
        Call::Reduce => {
            let (root, far) = (planner.root(), planner.far());
            planner.reduce(root, &far, count);
        }
        Call::Scan | Call::Exscan => planner.prefixes(count),
        Call::ReduceScatterBlock => sides.for_each(|side| planner.scattered(side, count)),
        _ if members.are_two_groups() => sides.for_each(|side| planner.across(side, count)),
        _ => planner.everywhere(count),
    }
}

/// There is no data; nobody waits.
fn nothing(planner: &mut Planner<'_>) {
    for member in planner.participants() {
        planner.give(member, Piece::Nothing, Vec::new());
    }
}

impl Planner<'_> {
    /// Returns the segments, in elements.
    pub(super) fn parts(&self, count: u64) -> Vec<Range<u64>> {
        segments(count, self.choice.segment / self.choice.element.max(1)).collect()
    }

    fn fold(&mut self, items: Vec<Item>, range: Range<u64>) -> Cell {
        if let [Item::Cell(cell)] = items[..] {
            return cell;
        }
        self.program.make(|output| Action::Fold { items, range, output })
    }

    /// Returns what members contribute as operands: copied aside if that is light, so that nobody waits.
    pub(super) fn operands(&mut self, members: &[u32], count: u64) -> Vec<Item> {
        let take = |it: &mut Self, member| it.take(member, Piece::Bytes(0..count * it.choice.element));
        let is_light = self.choice.is_light;
        members
            .iter()
            .map(|&member| if is_light { Item::Cell(take(self, member)) } else { Item::Member(member) })
            .collect()
    }

    /// Reduces the runs of the members here; `operands` are theirs.
    fn own_runs(&mut self, from: &Range<u32>, operands: &[Item], range: &Range<u64>) -> Runs {
        let here = self.here(from);
        if here.is_empty() {
            return Vec::new();
        }
        if self.choice.is_commutative {
            return vec![(NO_RUN, self.fold(operands.to_vec(), range.clone()))];
        }
        let runs = self.layout.runs(&[self.me], from);
        let mut rest = operands.iter().copied();
        let mut add = |it: &mut Self, run: Range<u32>| {
            let items = rest.by_ref().take(run.len()).collect();
            (run, it.fold(items, range.clone()))
        };
        runs.into_iter().map(|run| add(self, run)).collect()
    }

    /// Returns the runs of a partial result over some node processes.
    pub(super) fn runs_over(&self, nodes: &[u32], from: &Range<u32>) -> Vec<Range<u32>> {
        if nodes.iter().all(|&node| self.layout.on(node, from).is_empty()) {
            Vec::new()
        } else if self.choice.is_commutative {
            vec![NO_RUN]
        } else {
            self.layout.runs(nodes, from)
        }
    }

    /// Reduces two partial results to one.
    fn merge(&mut self, one: Runs, other: Runs, range: &Range<u64>) -> Runs {
        if self.choice.is_commutative {
            let items: Vec<Item> = one.iter().chain(&other).map(|&(_, cell)| Item::Cell(cell)).collect();
            return if items.is_empty() {
                Vec::new()
            } else {
                vec![(NO_RUN, self.fold(items, range.clone()))]
            };
        }
        let mut all: Runs = one.into_iter().chain(other).collect();
        all.sort_unstable_by_key(|(run, _)| run.start);
        let mut merged: Vec<(Range<u32>, Vec<Item>)> = Vec::new();
        for (run, cell) in all {
            match merged.last_mut() {
                Some((last, items)) if last.end == run.start => {
                    last.end = run.end;
                    items.push(Item::Cell(cell));
                }
                _ => merged.push((run, vec![Item::Cell(cell)])),
            }
        }
        merged.into_iter().map(|(run, items)| (run, self.fold(items, range.clone()))).collect()
    }

    /// Reduces what the members of a range contribute to node process `root`, up a tree; returns the result there.
    fn up(
        &mut self,
        from: &Range<u32>,
        nodes: &[u32],
        root: u32,
        phase: u32,
        count: u64,
    ) -> Option<Vec<Cell>> {
        let tree = self.tree(nodes, root);
        let here = self.here(from);
        let operands = self.operands(here, count);
        let children: Vec<_> = tree
            .children(self.me)
            .into_iter()
            .rev()
            .map(|child| (child, self.runs_over(&tree.subtree(child), from)))
            .collect();
        let parent = tree.parent(self.me);
        let mut results = Vec::new();
        for (index, range) in self.parts(count).into_iter().enumerate() {
            let mut runs = self.own_runs(from, &operands, &range);
            for (child, theirs) in &children {
                let cells = self.program.receive(*child, key(phase, index as u64), theirs.len());
                let theirs = theirs.iter().cloned().zip(cells).collect();
                runs = self.merge(runs, theirs, &range);
            }
            match parent {
                Some(parent) => {
                    let cells = runs.into_iter().map(|(_, cell)| cell).collect();
                    self.program.send(parent, key(phase, index as u64), cells);
                }
                None => results.push(runs[0].1),
            }
        }
        parent.is_none().then_some(results)
    }

    /// Returns the cells for which members' buffers are read.
    fn reads(&self) -> Vec<Cell> {
        let reads = self.program.steps().iter().filter(|step| !step.members().is_empty());
        reads.flat_map(|step| step.outputs().to_vec()).collect()
    }

    /// Hands results, with their elements, to members.
    pub(super) fn hand_out(&mut self, members: &[u32], results: &[(Range<u64>, Cell)]) {
        let element = self.choice.element;
        // In place, a part of the result replaces other parts of the contribution.
        let after = if self.choice.call == Call::ReduceScatter { self.reads() } else { Vec::new() };
        for (range, cell) in results {
            for &member in members {
                let (cells, after) = (vec![*cell], after.clone());
                let piece = match self.choice.call {
                    Call::ReduceScatter => Piece::Mine(range.start),
                    _ => Piece::Bytes(range.start * element..range.end * element),
                };
                self.program.add(Action::Give { member, piece, cells, after });
            }
        }
    }

    pub(super) fn with_parts(&self, cells: Vec<Cell>, count: u64) -> Vec<(Range<u64>, Cell)> {
        self.parts(count).into_iter().zip(cells).collect()
    }

    fn reduce(&mut self, root: u32, far: &Range<u32>, count: u64) {
        let home = self.layout.home(root);
        let nodes = self.layout.holding(far, Some(home));
        let is_divided = self.choice.algorithm == Algorithm::Rabenseifner && nodes.len() > 1;
        if is_divided && self.choice.is_commutative && !self.choice.members.are_two_groups() {
            if let Some(results) = self.reduced_blocks_at(home, far, &nodes, count) {
                self.hand_out(&[root], &results);
            }
            return;
        }
        if let Some(cells) = self.up(far, &nodes, home, 0, count) {
            let results = self.with_parts(cells, count);
            self.hand_out(&[root], &results);
        }
    }

    /// Reduces what one group contributes and hands it to the other.
    fn across(&mut self, side: u32, count: u64) {
        let members = self.choice.members;
        let (from, to) = (members.contributors(side), members.receivers(side));
        let sources = self.layout.holding(&from, None);
        let top = sources[0];
        let phase = 8 + 2 * side;
        let takes_part = sources.contains(&self.me);
        let cells = if takes_part { self.up(&from, &sources, top, phase, count) } else { None };
        let targets = self.layout.holding(&to, Some(top));
        if targets.contains(&self.me) {
            let parts = self.parts(count).len();
            let cells = self.hand_down(cells, parts, &targets, top, phase + 1);
            let results = self.with_parts(cells, count);
            self.hand_out(self.here(&to), &results);
        }
    }

    /// Reduces what all contribute and hands it to all.
    fn everywhere(&mut self, count: u64) {
        let all = self.all();
        let nodes: Vec<u32> = (0..self.layout.len()).collect();
        let keeps_order = self.choice.is_commutative || self.layout.is_contiguous(&all);
        let here = self.layout.all_on(self.me);
        let results = match self.choice.algorithm {
            Algorithm::Doubling if keeps_order => {
                let cells = self.doubling(&all, &nodes, count);
                self.with_parts(cells, count)
            }
            Algorithm::Pairwise => self.in_blocks(count),
            Algorithm::Ring | Algorithm::Rabenseifner if self.choice.is_commutative && nodes.len() > 1 => {
                self.reduced_blocks(&all, &nodes, count)
            }
            _ => {
                let cells = self.up(&all, &nodes, 0, 0, count);
                let parts = self.parts(count).len();
                let cells = self.hand_down(cells, parts, &nodes, 0, 1);
                self.with_parts(cells, count)
            }
        };
        self.hand_out(here, &results);
    }

    /// Reduces within each host to the node process that speaks for it, exchanges at doubling distances among those, and
    /// hands the result down within the host.
    fn doubling(&mut self, from: &Range<u32>, nodes: &[u32], count: u64) -> Vec<Cell> {
        let tree = self.tree(nodes, 0);
        let (parent, children) = (tree.parent_in_host(self.me), tree.children_in_host(self.me));
        let leaders = tree.leaders();
        let here = self.here(from);
        let operands = self.operands(here, count);
        let mut results = Vec::new();
        for (index, range) in self.parts(count).into_iter().enumerate() {
            let at = index as u64;
            // In the order of the node processes, which is that of the ranks where it matters.
            let mut items = vec![Item::Cell(self.fold(operands.clone(), range.clone()))];
            let mut come: Vec<(u32, Cell)> = Vec::new();
            for &child in &children {
                come.push((child, self.program.receive(child, key(0, at), 1)[0]));
            }
            come.sort_unstable();
            items.extend(come.iter().map(|&(_, cell)| Item::Cell(cell)));
            let own = self.fold(items, range.clone());
            let result = match parent {
                Some(parent) => {
                    self.program.send(parent, key(0, at), vec![own]);
                    self.program.receive(parent, key(1, at), 1)[0]
                }
                None => self.double(&leaders, own, at, &range),
            };
            for &child in &children {
                self.program.send(child, key(1, at), vec![result]);
            }
            results.push(result);
        }
        results
    }

    fn double(&mut self, nodes: &[u32], own: Cell, at: u64, range: &Range<u64>) -> Cell {
        let size = nodes.len() as u32;
        let rank = nodes.iter().position(|&node| node == self.me).expect("one of them") as u32;
        match doubling::role(rank, size) {
            doubling::Role::Extra { by } => {
                let by = nodes[by as usize];
                self.program.send(by, key(2, at), vec![own]);
                self.program.receive(by, key(3, at), 1)[0]
            }
            doubling::Role::Core { number, represents } => {
                let mut value = own;
                if let Some(below) = represents {
                    let theirs = self.program.receive(nodes[below as usize], key(2, at), 1)[0];
                    value = self.fold(vec![Item::Cell(theirs), Item::Cell(value)], range.clone());
                }
                for step in 0..doubling::core_size(size).trailing_zeros() {
                    let partner = doubling::partner(number, step);
                    let node = nodes[doubling::rank_of(partner, size) as usize];
                    self.program.send(node, key(4 + step, at), vec![value]);
                    let theirs = self.program.receive(node, key(4 + step, at), 1)[0];
                    let pair = if partner < number { [theirs, value] } else { [value, theirs] };
                    value = self.fold(pair.map(Item::Cell).to_vec(), range.clone());
                }
                if let Some(below) = represents {
                    self.program.send(nodes[below as usize], key(3, at), vec![value]);
                }
                value
            }
        }
    }

    /// Returns so many blocks of the elements.
    pub(super) fn blocks(&self, count: u64, blocks: u32) -> Vec<Range<u64>> {
        let each = count.div_ceil(u64::from(blocks));
        let first = |index: u32| (u64::from(index) * each).min(count);
        (0..blocks).map(|index| first(index)..first(index + 1)).collect()
    }

    /// Reduces a block at each node process and hands the blocks to all, around a ring or by halving and doubling; for
    /// commutative operations. Returns all blocks with their elements.
    fn reduced_blocks(&mut self, from: &Range<u32>, nodes: &[u32], count: u64) -> Vec<(Range<u64>, Cell)> {
        let operands = self.operands(self.here(from), count);
        if self.choice.algorithm == Algorithm::Rabenseifner {
            return self.halve_and_double(&operands, nodes, count);
        }
        let size = nodes.len() as u32;
        let blocks = self.blocks(count, size);
        let own: Vec<Cell> =
            blocks.iter().map(|block| self.fold_part(operands.clone(), block.clone())).collect();
        let mut done: Vec<Option<Cell>> = vec![None; size as usize];
        let mut carried = own[ring::reduce_scatter(self.me, size, 0).send as usize];
        for step in 0..size - 1 {
            let now = ring::reduce_scatter(self.me, size, step);
            self.program.send(now.to, key(2, u64::from(step)), vec![carried]);
            let theirs = self.program.receive(now.from, key(2, u64::from(step)), 1)[0];
            let pair = vec![Item::Cell(theirs), Item::Cell(own[now.receive as usize])];
            carried = self.fold(pair, blocks[now.receive as usize].clone());
        }
        done[self.me as usize] = Some(carried);
        for step in 0..size - 1 {
            let now = ring::allgather(self.me, size, step);
            let cell = done[now.send as usize].expect("received in the step before");
            self.program.send(now.to, key(3, u64::from(step)), vec![cell]);
            done[now.receive as usize] = Some(self.program.receive(now.from, key(3, u64::from(step)), 1)[0]);
        }
        let done = done.into_iter().map(|cell| cell.expect("all blocks are here"));
        blocks.into_iter().zip(done).collect()
    }

    /// Reduces by recursive halving among the core, to which the others gave theirs before. Returns the caller's number in
    /// the core, and its blocks, of which its own is reduced over all.
    fn halve(&mut self, operands: &[Item], nodes: &[u32], blocks: &[Range<u64>]) -> Option<(u32, Vec<Cell>)> {
        let (size, core) = (nodes.len() as u32, blocks.len() as u32);
        let rank = nodes.iter().position(|&node| node == self.me).expect("one of them") as u32;
        let own = blocks.iter().map(|block| self.fold_part(operands.to_vec(), block.clone()));
        let mut value: Vec<Cell> = own.collect();
        let (number, represents) = match doubling::role(rank, size) {
            doubling::Role::Extra { by } => {
                self.program.send(nodes[by as usize], key(4, 0), value);
                return None;
            }
            doubling::Role::Core { number, represents } => (number, represents),
        };
        if let Some(below) = represents {
            let come = self.program.receive(nodes[below as usize], key(4, 0), blocks.len());
            for ((mine, theirs), block) in value.iter_mut().zip(come).zip(blocks) {
                *mine = self.fold([theirs, *mine].map(Item::Cell).to_vec(), block.clone());
            }
        }
        for step in 0..core.trailing_zeros() {
            let now = doubling::halving(number, core, step);
            let partner = nodes[doubling::rank_of(now.partner, size) as usize];
            let send = now.send.map(|index| value[index as usize]).collect();
            self.program.send(partner, key(2, u64::from(step)), send);
            let come = self.program.receive(partner, key(2, u64::from(step)), now.keep.len());
            for (index, theirs) in now.keep.map(|index| index as usize).zip(come) {
                let mine = value[index];
                let pair = if now.partner < number { [theirs, mine] } else { [mine, theirs] };
                value[index] = self.fold(pair.map(Item::Cell).to_vec(), blocks[index].clone());
            }
        }
        Some((number, value))
    }

    /// Rabenseifner's allreduce: recursive halving, then an allgather by recursive doubling.
    fn halve_and_double(&mut self, operands: &[Item], nodes: &[u32], count: u64) -> Vec<(Range<u64>, Cell)> {
        let size = nodes.len() as u32;
        let core = doubling::core_size(size);
        let rank = nodes.iter().position(|&node| node == self.me).expect("one of them") as u32;
        let blocks = self.blocks(count, core);
        let done = match (self.halve(operands, nodes, &blocks), doubling::role(rank, size)) {
            (Some((number, mut value)), doubling::Role::Core { represents, .. }) => {
                for step in (0..core.trailing_zeros()).rev() {
                    let now = doubling::halving(number, core, step);
                    let partner = nodes[doubling::rank_of(now.partner, size) as usize];
                    let send = now.keep.map(|index| value[index as usize]).collect();
                    self.program.send(partner, key(3, u64::from(step)), send);
                    let come = self.program.receive(partner, key(3, u64::from(step)), now.send.len());
                    now.send.zip(come).for_each(|(index, cell)| value[index as usize] = cell);
                }
                if let Some(below) = represents {
                    self.program.send(nodes[below as usize], key(5, 0), value.clone());
                }
                value
            }
            (_, doubling::Role::Extra { by }) => {
                self.program.receive(nodes[by as usize], key(5, 0), blocks.len())
            }
            (None, _) => unreachable!("who is in the core has a number there"),
        };
        blocks.into_iter().zip(done).collect()
    }

    /// Rabenseifner's reduce: recursive halving, then a gather of the blocks along the same pairs. Returns all blocks
    /// with their elements at node process `root`.
    fn reduced_blocks_at(
        &mut self,
        root: u32,
        from: &Range<u32>,
        nodes: &[u32],
        count: u64,
    ) -> Option<Vec<(Range<u64>, Cell)>> {
        let operands = self.operands(self.here(from), count);
        let size = nodes.len() as u32;
        let core = doubling::core_size(size);
        // The last one is always in the core and represents nobody: so the root comes last.
        let mut nodes = nodes.to_vec();
        let last = nodes.iter().position(|&node| node == root).expect("the root takes part");
        nodes.rotate_left(last + 1);
        let blocks = self.blocks(count, core);
        let (number, mut value) = self.halve(&operands, &nodes, &blocks)?;
        for step in (0..core.trailing_zeros()).rev() {
            let now = doubling::halving(number, core, step);
            let partner = nodes[doubling::rank_of(now.partner, size) as usize];
            if now.partner > number {
                let send = now.keep.map(|index| value[index as usize]).collect();
                self.program.send(partner, key(3, u64::from(step)), send);
                return None;
            }
            let come = self.program.receive(partner, key(3, u64::from(step)), now.send.len());
            now.send.zip(come).for_each(|(index, cell)| value[index as usize] = cell);
        }
        Some(blocks.into_iter().zip(value).collect())
    }

    /// Reduces a range of whole contributions.
    pub(super) fn fold_part(&mut self, items: Vec<Item>, range: Range<u64>) -> Cell {
        self.program.make(|output| Action::Fold { items, range, output })
    }

    /// Reduces, for the members of each node process, the elements that they receive, there.
    fn scattered(&mut self, side: u32, count: u64) {
        let members = self.choice.members;
        let (from, to) = (members.contributors(side), members.receivers(side));
        let each = count / to.len() as u64;
        let phase = 8 + side;
        let here = self.here(&from);
        // By member, whatever travels: its own elements of a contribution.
        let range = |member: u32| {
            let first = u64::from(members.rank(member)) * each;
            first.min(count)..(first + each).min(count)
        };
        let operands = self.operands(here, count);
        let targets = self.layout.holding(&to, None);
        let mut own: Vec<(u32, Runs)> = Vec::new();
        let start = targets.partition_point(|&node| node <= self.me);
        let order: Vec<u32> = targets[start..].iter().chain(&targets[..start]).copied().collect();
        if !here.is_empty() {
            for node in order {
                let mut bundle = Vec::new();
                for &member in self.layout.on(node, &to) {
                    let runs = self.folded_runs(&from, &operands, &range(member));
                    bundle.extend(runs.iter().map(|&(_, cell)| cell));
                    if node == self.me {
                        own.push((member, runs));
                    }
                }
                if node != self.me {
                    self.program.send(node, key(phase, 0), bundle);
                }
            }
        }
        let wanted = self.here(&to);
        if wanted.is_empty() {
            return;
        }
        let sources = self.layout.holding(&from, None);
        let mut come: Vec<Vec<Runs>> = vec![Vec::new(); wanted.len()];
        for node in sources {
            if node == self.me {
                for (place, (_, runs)) in own.iter().enumerate() {
                    come[place].push(runs.clone());
                }
                continue;
            }
            let theirs = self.runs_over(&[node], &from);
            let mut rest = self.program.receive(node, key(phase, 0), theirs.len() * wanted.len()).into_iter();
            for runs in &mut come {
                runs.push(theirs.iter().cloned().zip(rest.by_ref()).collect());
            }
        }
        let after = self.reads();
        for (&member, runs) in wanted.iter().zip(come) {
            let range = range(member);
            let all = runs.into_iter().flatten().collect();
            let result = self.merge(all, Vec::new(), &range);
            let Some(&(_, cell)) = result.first() else { continue };
            let piece = Piece::Mine(range.start);
            self.program.add(Action::Give { member, piece, cells: vec![cell], after: after.clone() });
        }
    }

    /// As `own_runs`, of part of the elements.
    pub(super) fn folded_runs(&mut self, from: &Range<u32>, operands: &[Item], range: &Range<u64>) -> Runs {
        let runs = self.runs_over(&[self.me], from);
        let mut rest = operands.iter().copied();
        let all = operands.len();
        let is_commutative = self.choice.is_commutative;
        let mut add = |it: &mut Self, run: Range<u32>| {
            let length = if is_commutative { all } else { run.len() };
            let items: Vec<Item> = rest.by_ref().take(length).collect();
            (run, it.fold_part(items, range.clone()))
        };
        runs.into_iter().map(|run| add(self, run)).collect()
    }

    /// Forms prefixes in rank order. Where node processes hold ranges of ranks, what is below each of them comes by
    /// doubling distances; else all contributions go to all node processes, and each forms the prefixes it needs.
    fn prefixes(&mut self, count: u64) {
        let all = self.all();
        if self.layout.is_contiguous(&all) {
            self.prefixes_of_ranges(count)
        } else {
            self.prefixes_of_all(count)
        }
    }

    fn prefixes_of_ranges(&mut self, count: u64) {
        let here = self.layout.all_on(self.me);
        let size = self.layout.len();
        for (index, range) in self.parts(count).into_iter().enumerate() {
            let at = index as u64;
            let element = self.choice.element;
            let bytes = range.start * element..range.end * element;
            let operands = self.operands_of(here, &bytes);
            let total = self.fold_part(operands.clone(), range.clone());
            let mut below: Option<Cell> = None;
            let mut with = total;
            for step in 0..pattern::rounds(size, 2) {
                let distance = 1 << step;
                if self.me + distance < size {
                    self.program.send(self.me + distance, key(step, at), vec![with]);
                }
                if self.me >= distance {
                    let theirs = self.program.receive(self.me - distance, key(step, at), 1)[0];
                    let pair = |cell| vec![Item::Cell(theirs), Item::Cell(cell)];
                    with = self.fold(pair(with), range.clone());
                    below = Some(match below {
                        Some(below) => self.fold(pair(below), range.clone()),
                        None => theirs,
                    });
                }
            }
            self.hand_out_prefixes(here, &operands, below, &[total], &range);
        }
    }

    fn operands_of(&mut self, members: &[u32], bytes: &Range<u64>) -> Vec<Item> {
        if !self.choice.is_light {
            return members.iter().map(|&member| Item::Member(member)).collect();
        }
        members.iter().map(|&member| Item::Cell(self.take(member, Piece::Bytes(bytes.clone())))).collect()
    }

    /// Hands members their prefixes, one after the other; returns the last.
    pub(super) fn hand_out_prefixes(
        &mut self,
        here: &[u32],
        operands: &[Item],
        below: Option<Cell>,
        after: &[Cell],
        range: &Range<u64>,
    ) -> Option<Cell> {
        let element = self.choice.element;
        let bytes = range.start * element..range.end * element;
        let mut prefix = below;
        for (&member, &operand) in here.iter().zip(operands) {
            let items: Vec<Item> = prefix.map(Item::Cell).into_iter().chain([operand]).collect();
            let next = self.fold(items, range.clone());
            let result = if self.choice.call == Call::Scan { Some(next) } else { prefix };
            let after = after.iter().copied().chain([next]).collect();
            let (piece, cells) = match result {
                Some(cell) => (Piece::Bytes(bytes.clone()), vec![cell]),
                None => (Piece::Nothing, Vec::new()),
            };
            self.program.add(Action::Give { member, piece, cells, after });
            prefix = Some(next);
        }
        prefix
    }

    pub(super) fn prefixes_of_all(&mut self, count: u64) {
        let all = self.all();
        let here = self.layout.all_on(self.me);
        let size = self.layout.len();
        for (index, range) in self.parts(count).into_iter().enumerate() {
            let element = self.choice.element;
            let bytes = range.start * element..range.end * element;
            let own: Vec<Cell> =
                here.iter().map(|&member| self.take(member, Piece::Bytes(bytes.clone()))).collect();
            let mut cells: Vec<Option<Cell>> = vec![None; all.len()];
            here.iter().zip(&own).for_each(|(&member, &cell)| cells[member as usize] = Some(cell));
            for distance in 1..size {
                let (to, from) = ((self.me + distance) % size, (self.me + size - distance) % size);
                // Nobody waits for what is above all of its own.
                let wanted = |of: u32, at: u32| {
                    let last = self.layout.all_on(at).last().copied().unwrap_or(0);
                    self.layout.on(of, &(0..last))
                };
                let (give, come) = (wanted(self.me, to), wanted(from, self.me));
                if !give.is_empty() {
                    self.program.send(to, key(1, index as u64), own[..give.len()].to_vec());
                }
                if !come.is_empty() {
                    let theirs = self.program.receive(from, key(1, index as u64), come.len());
                    come.iter().zip(theirs).for_each(|(&member, cell)| cells[member as usize] = Some(cell));
                }
            }
            let mut prefix: Option<Cell> = None;
            let mut next = 0;
            for &member in here {
                // All members below, from the last prefix on.
                let others = cells[next..member as usize].iter().map(|cell| cell.expect("it has come"));
                let between: Vec<Cell> = prefix.into_iter().chain(others).collect();
                // One after the other, as in memory.
                let below = between
                    .into_iter()
                    .reduce(|below, next| self.fold([below, next].map(Item::Cell).to_vec(), range.clone()));
                let operand = Item::Cell(cells[member as usize].expect("it is here"));
                prefix = self.hand_out_prefixes(&[member], &[operand], below, &[], &range);
                next = member as usize + 1;
            }
        }
    }
}
