//! Plans: the program of each node process for an operation. Here: barrier, broadcast, and operations that move data
//! without reducing it; `reductions` has the others.
//!
//! What goes between node processes is bundled: one message carries what all members of a node process have for all of
//! another.

use super::layout::Layout;
use super::planner::{Algorithm, Choice, Planner, key};
use super::program::{Action, Cell, Piece, Program};
use super::reductions;
use super::tree::segments;
use crate::operation::call::Call;
use crate::pattern::{self, dissemination, ring, tree};
use core::ops::Range;

/// Returns the program of the node process with index `me`.
pub(crate) fn program(layout: &Layout, me: u32, choice: &Choice) -> Program {
    let mut planner = Planner { layout, me, choice, program: Program::default() };
    let segments = segments(choice.bytes, choice.segment).count() as u32;
    planner.program.shape = planner.shape_of_length() << 19 | segments << 8 | planner.shape_of_algorithm();
    match choice.call {
        Call::Nothing | Call::Internal | Call::Barrier | Call::Finalize | Call::Disconnect => {
            planner.barrier()
        }
        Call::Broadcast => planner.broadcast(),
        Call::Gather | Call::Gatherv => planner.gather(),
        Call::Scatter | Call::Scatterv => planner.scatter(),
        Call::Allgather | Call::Allgatherv => planner.allgather(),
        Call::Alltoall | Call::Alltoallv | Call::Alltoallw => planner.alltoall(),
        Call::Reduce
        | Call::Allreduce
        | Call::ReduceScatter
        | Call::ReduceScatterBlock
        | Call::Scan
        | Call::Exscan => reductions::plan(&mut planner),
        Call::NeighborAllgather
        | Call::NeighborAllgatherv
        | Call::NeighborAlltoall
        | Call::NeighborAlltoallv
        | Call::NeighborAlltoallw => unreachable!("neighbors have programs of their own"),
    }
    planner.program.finish()
}

impl<'a> Planner<'a> {
    /// Returns once all node processes' members have arrived: a tree within each host, dissemination among hosts.
    fn barrier(&mut self) {
        let members = self.layout.all_on(self.me).to_vec();
        let own = self.program.make(|output| Action::Join { members, cells: Vec::new(), output });
        let nodes: Vec<u32> = (0..self.layout.len()).collect();
        let done = if let Algorithm::Tree(_) = self.choice.algorithm {
            let tree = self.tree(&nodes, 0);
            let (parent, children) = (tree.parent(self.me), tree.children(self.me));
            self.up_and_down(own, parent, &children, |_, token| token)
        } else {
            let tree = self.tree(&nodes, 0);
            let leaders = tree.leaders();
            let (parent, children) = (tree.parent_in_host(self.me), tree.children_in_host(self.me));
            self.up_and_down(own, parent, &children, |planner, token| planner.disseminate(&leaders, token))
        };
        for &member in self.layout.all_on(self.me) {
            self.give(member, Piece::Nothing, vec![done]);
        }
    }

    /// Joins tokens of children, passes the result to the parent or `top`, and what comes back to the children.
    fn up_and_down(
        &mut self,
        own: Cell,
        parent: Option<u32>,
        children: &[u32],
        top: impl FnOnce(&mut Self, Cell) -> Cell,
    ) -> Cell {
        let mut cells = vec![own];
        for &child in children {
            cells.extend(self.program.receive(child, key(0, 0), 1));
        }
        let joined = self.program.make(|output| Action::Join { members: Vec::new(), cells, output });
        let done = match parent {
            Some(parent) => {
                self.program.send(parent, key(0, 0), vec![joined]);
                self.program.receive(parent, key(1, 0), 1)[0]
            }
            None => top(self, joined),
        };
        for &child in children {
            self.program.send(child, key(1, 0), vec![done]);
        }
        done
    }

    fn disseminate(&mut self, nodes: &[u32], token: Cell) -> Cell {
        let size = nodes.len() as u32;
        let rank = nodes.iter().position(|&node| node == self.me).expect("one of them") as u32;
        (0..pattern::rounds(size, 2)).fold(token, |token, step| {
            let (to, from) = dissemination::barrier(rank, size, step);
            self.program.send(nodes[to as usize], key(2, u64::from(step)), vec![token]);
            let heard = self.program.receive(nodes[from as usize], key(2, u64::from(step)), 1)[0];
            self.program.make(|output| Action::Join {
                members: Vec::new(),
                cells: vec![token, heard],
                output,
            })
        })
    }

    /// The root's data goes down a tree, segment by segment; whoever comes first at a node process receives and passes on.
    fn broadcast(&mut self) {
        self.program.first_leads = true;
        let (root, far) = (self.root(), self.far());
        let home = self.layout.home(root);
        let nodes = self.layout.holding(&far, Some(home));
        let pieces: Vec<_> = segments(self.choice.bytes, self.choice.segment).collect();
        if self.choice.algorithm == Algorithm::ScatterAllgather && nodes.len() > 2 {
            return self.broadcast_in_parts(&nodes);
        }
        let mine = (home == self.me)
            .then(|| pieces.iter().map(|range| self.take(root, Piece::Bytes(range.clone()))).collect());
        let cells = self.hand_down(mine, pieces.len(), &nodes, home, 1);
        for (range, cell) in pieces.into_iter().zip(cells) {
            for &member in self.here(&far).iter().filter(|&&member| member != root) {
                self.give(member, Piece::Bytes(range.clone()), vec![cell]);
            }
        }
    }

    /// The root's data is scattered along a binomial tree, and the parts go around a ring.
    fn broadcast_in_parts(&mut self, nodes: &[u32]) {
        let (root, far) = (self.root(), self.far());
        let home = nodes.iter().position(|&n| n == self.layout.home(root)).expect("it takes part") as u32;
        let size = nodes.len() as u32;
        let rank = nodes.iter().position(|&node| node == self.me).expect("it takes part") as u32;
        let part = self.choice.bytes.div_ceil(u64::from(size)).next_multiple_of(64);
        let range = |place: u32| {
            let first = (u64::from(place) * part).min(self.choice.bytes);
            first..(first + part).min(self.choice.bytes)
        };
        let shape = tree::BINOMIAL;
        let below = |rank: u32| shape.places_below(rank, home, size).expect("binomial");
        let mut parts: Vec<Option<Cell>> = vec![None; size as usize];
        if rank == home {
            for place in 0..size {
                parts[place as usize] = Some(self.take(root, Piece::Bytes(range(place))));
            }
        } else {
            let parent = shape.parent(rank, home, size).expect("not the root");
            let places = below(rank);
            let cells = self.program.receive(nodes[parent as usize], key(2, 0), places.len());
            places.zip(cells).for_each(|(place, cell)| parts[place as usize] = Some(cell));
        }
        for child in shape.children(rank, home, size) {
            let cells = below(child).map(|place| parts[place as usize].expect("it is below")).collect();
            self.program.send(nodes[child as usize], key(2, 0), cells);
        }
        // By place: block `p` begins at place `p`. Who has a part from the scatter is not sent it again.
        let place = tree::place(rank, home, size);
        let node_at = |place: u32| nodes[tree::rank_at(place % size, home, size) as usize];
        let has = |place: u32, part: u32| below(tree::rank_at(place, home, size)).contains(&part);
        for step in 0..size - 1 {
            let now = ring::allgather(place, size, step);
            if !has(now.to, now.send) {
                let cell = parts[now.send as usize].expect("received in the step before");
                self.program.send(node_at(now.to), key(3, u64::from(now.send)), vec![cell]);
            }
            if !has(place, now.receive) {
                let cell = self.program.receive(node_at(now.from), key(3, u64::from(now.receive)), 1)[0];
                parts[now.receive as usize] = Some(cell);
            }
        }
        for &member in self.here(&far).iter().filter(|&&member| member != root) {
            for place in 0..size {
                let cell = parts[place as usize].expect("all parts are here");
                self.give(member, Piece::Bytes(range(place)), vec![cell]);
            }
        }
    }

    /// What the members of each node process have goes up a tree in one message.
    fn gather(&mut self) {
        let (root, far) = (self.root(), self.far());
        let home = self.layout.home(root);
        let nodes = self.layout.holding(&far, Some(home));
        let tree = self.tree(&nodes, home);
        let here = self.here(&far);
        let is_home = home == self.me;
        let mut own: Vec<(u32, Cell)> = Vec::new();
        if !is_home || self.choice.is_light {
            let others = here.iter().filter(|&&member| member != root);
            own.extend(others.map(|&member| (member, self.take(member, self.piece_between(member, root)))));
        }
        let mut cells = vec![(self.me, own.iter().map(|&(_, cell)| cell).collect::<Vec<_>>())];
        for child in tree.children(self.me).into_iter().rev() {
            cells.extend(self.receive_bundle(child, &tree.subtree(child), &far));
        }
        cells.sort_unstable();
        if let Some(parent) = tree.parent(self.me) {
            self.program.send(parent, key(0, 0), cells.into_iter().flat_map(|(_, cells)| cells).collect());
            return;
        }
        let me = self.me;
        for (node, cells) in cells.into_iter().filter(|(node, _)| *node != me) {
            self.give(root, Piece::FromNode(node), cells);
        }
        for &member in here {
            match own.iter().find(|(owner, _)| *owner == member) {
                Some(&(_, cell)) => {
                    let piece = Piece::Peer { place: self.choice.members.rank(member), in_place: 0 };
                    self.give(root, piece, vec![cell]);
                }
                None => self.program.add(Action::Collect { member: root, sources: vec![member] }),
            }
        }
    }

    /// Receives a message with a cell for each member of a range on some node processes; returns them by node process.
    fn receive_bundle(&mut self, from: u32, nodes: &[u32], range: &Range<u32>) -> Vec<(u32, Vec<Cell>)> {
        let count = |&node: &u32| self.layout.on(node, range).len();
        let counts: Vec<usize> = nodes.iter().map(count).collect();
        let mut rest = self.program.receive(from, key(0, 0), counts.iter().sum()).into_iter();
        nodes.iter().zip(counts).map(|(&node, count)| (node, rest.by_ref().take(count).collect())).collect()
    }

    /// The root's pieces for the members of each node process go down a tree in one message.
    fn scatter(&mut self) {
        self.program.first_leads = true;
        let (root, far) = (self.root(), self.far());
        let home = self.layout.home(root);
        let nodes = self.layout.holding(&far, Some(home));
        let tree = self.tree(&nodes, home);
        let mut cells: Vec<(u32, Vec<Cell>)> = Vec::new();
        match tree.parent(self.me) {
            None => {
                let me = self.me;
                for &node in nodes.iter().filter(|&&node| node != me) {
                    let to = self.layout.on(node, &far);
                    let own =
                        to.iter().map(|&member| self.take(root, self.piece_between(root, member))).collect();
                    cells.push((node, own));
                }
                for &member in self.here(&far) {
                    if self.choice.is_light && member != root {
                        let cell = self.take(root, self.piece_between(root, member));
                        let piece = Piece::Peer { place: self.choice.members.rank(root), in_place: 0 };
                        self.give(member, piece, vec![cell]);
                    } else {
                        self.program.add(Action::Collect { member, sources: vec![root] });
                    }
                }
            }
            Some(parent) => {
                cells = self.receive_bundle(parent, &tree.subtree(self.me), &far);
                let own = cells.iter().find(|(node, _)| *node == self.me).map(|(_, own)| own.clone());
                for (&member, cell) in self.here(&far).iter().zip(own.into_iter().flatten()) {
                    let piece = Piece::Peer { place: self.choice.members.rank(root), in_place: 0 };
                    self.give(member, piece, vec![cell]);
                }
            }
        }
        for child in tree.children(self.me) {
            let below = tree.subtree(child);
            let inside = cells.iter().filter(|(node, _)| below.contains(node));
            let bundle = inside.flat_map(|(_, cells)| cells).copied().collect();
            self.program.send(child, key(0, 0), bundle);
        }
    }

    /// What the members of a node process have goes around a ring in one message; between two groups, to each node
    /// process of the other.
    fn allgather(&mut self) {
        let members = self.choice.members;
        if members.are_two_groups() {
            return self.allgather_across();
        }
        let all = self.all();
        let size = self.layout.len();
        let mut blocks: Vec<Vec<Cell>> = vec![Vec::new(); size as usize];
        let here = self.here(&all);
        blocks[self.me as usize] =
            here.iter().map(|&member| self.take(member, self.piece_between(member, member))).collect();
        let count = |node: u32| self.layout.on(node, &all).len();
        if self.choice.algorithm == Algorithm::Bruck {
            for step in 0..pattern::rounds(size, 2) {
                let now = dissemination::allgather(self.me, size, step);
                let send = (0..now.blocks).map(|i| (self.me + i) % size);
                let bundle = send.flat_map(|node| blocks[node as usize].clone()).collect();
                self.program.send(now.to, key(0, u64::from(step)), bundle);
                let come: Vec<u32> = (0..now.blocks).map(|i| (now.from + i) % size).collect();
                let total = come.iter().map(|&node| count(node)).sum();
                let mut rest = self.program.receive(now.from, key(0, u64::from(step)), total).into_iter();
                for node in come {
                    blocks[node as usize] = rest.by_ref().take(count(node)).collect();
                }
            }
        } else {
            for step in 0..size - 1 {
                let now = ring::allgather(self.me, size, step);
                self.program.send(now.to, key(0, u64::from(step)), blocks[now.send as usize].clone());
                blocks[now.receive as usize] =
                    self.program.receive(now.from, key(0, u64::from(step)), count(now.receive));
            }
        }
        for &member in here {
            for (node, cells) in blocks.iter().enumerate() {
                self.give(member, Piece::FromNode(node as u32), cells.clone());
            }
        }
    }

    fn allgather_across(&mut self) {
        let members = self.choice.members;
        for side in 0..2 {
            let (from, to) = (members.contributors(side), members.receivers(side));
            let own: Vec<Cell> = self
                .here(&from)
                .iter()
                .map(|&member| self.take(member, self.piece_between(member, to.start)))
                .collect();
            self.exchange_bundles(&from, &to, key(side, 0), |_, _| own.clone());
            for node in self.layout.holding(&from, None) {
                if self.here(&to).is_empty() {
                    break;
                }
                let cells = if node == self.me {
                    own.clone()
                } else {
                    self.program.receive(node, key(side, 0), self.layout.on(node, &from).len())
                };
                for &member in self.here(&to) {
                    self.give(member, Piece::FromNode(node), cells.clone());
                }
            }
        }
    }

    /// Sends a bundle to each other node process that holds members of `to`, if this one holds some of `from`.
    fn exchange_bundles(
        &mut self,
        from: &Range<u32>,
        to: &Range<u32>,
        key: u64,
        mut bundle: impl FnMut(&mut Self, u32) -> Vec<Cell>,
    ) {
        if self.here(from).is_empty() {
            return;
        }
        let mut nodes = self.layout.holding(to, None);
        // Not all at once to the same one.
        let start = nodes.partition_point(|&node| node <= self.me);
        nodes.rotate_left(start);
        let me = self.me;
        for node in nodes.into_iter().filter(|&node| node != me) {
            let cells = bundle(self, node);
            self.program.send(node, key, cells);
        }
    }

    /// Returns, by node process, the cells that its members have for those here: log n messages, each with the blocks
    /// of many node processes for many. Notes in `taken` what was taken from whom.
    fn alltoall_by_rotation(&mut self, taken: &mut Vec<(u32, Cell)>) -> Vec<Vec<Cell>> {
        let size = self.layout.len();
        let (me, layout) = (self.me, self.layout);
        let above = |by: u32| (me + by) % size;
        let below = |by: u32| (me + size - by) % size;
        let here = layout.all_on(me);
        let mut blocks: Vec<Vec<Cell>> = vec![Vec::new(); size as usize];
        for place in 1..size {
            let piece = Piece::ForNode(above(place));
            let cells: Vec<Cell> = here.iter().map(|&member| self.take(member, piece.clone())).collect();
            taken.extend(here.iter().copied().zip(cells.iter().copied()));
            blocks[place as usize] = cells;
        }
        for step in 0..pattern::rounds(size, 2) {
            let (to, from) = dissemination::barrier(me, size, step);
            let places: Vec<u32> = dissemination::alltoall(size, step).collect();
            let bundle = places.iter().flat_map(|&place| blocks[place as usize].clone()).collect();
            self.program.send(to, key(0, u64::from(step)), bundle);
            // So far a block has gone as many places as its number says up to this step.
            let count = |place: u32| layout.all_on(below(place % (2 << step))).len();
            let total = places.iter().map(|&place| count(place)).sum();
            let mut rest = self.program.receive(from, key(0, u64::from(step)), total).into_iter();
            for place in places {
                blocks[place as usize] = rest.by_ref().take(count(place)).collect();
            }
        }
        (0..size).map(|node| core::mem::take(&mut blocks[below(node) as usize])).collect()
    }

    /// Every node process sends every other one message with all pieces between their members, or passes on what others
    /// have for others.
    fn alltoall(&mut self) {
        let members = self.choice.members;
        let sides = 0..1 + u32::from(members.are_two_groups());
        let mut taken: Vec<(u32, Cell)> = Vec::new();
        let mut gives: Vec<(u32, Piece, Vec<Cell>)> = Vec::new();
        let rotates = self.choice.algorithm == Algorithm::Bruck && !members.are_two_groups();
        let mut come = rotates.then(|| self.alltoall_by_rotation(&mut taken));
        for side in sides {
            let (from, to) = (members.contributors(side), members.receivers(side));
            let here = self.here(&from);
            if !rotates {
                self.exchange_bundles(&from, &to, key(side, 0), |planner, node| {
                    let take = |&member: &u32| (member, planner.take(member, Piece::ForNode(node)));
                    let cells: Vec<(u32, Cell)> = here.iter().map(take).collect();
                    taken.extend(&cells);
                    cells.into_iter().map(|(_, cell)| cell).collect()
                });
            }
            if self.here(&to).is_empty() {
                continue;
            }
            for node in self.layout.holding(&from, None) {
                let cells = if node != self.me {
                    match &mut come {
                        Some(come) => core::mem::take(&mut come[node as usize]),
                        None => self.program.receive(node, key(side, 0), self.layout.on(node, &from).len()),
                    }
                } else if self.choice.in_place || self.choice.is_light {
                    let take = |&member: &u32| (member, self.take(member, Piece::ForNode(node)));
                    let cells: Vec<(u32, Cell)> = here.iter().map(take).collect();
                    taken.extend(&cells);
                    cells.into_iter().map(|(_, cell)| cell).collect()
                } else {
                    for &member in self.here(&to) {
                        self.program.add(Action::Collect { member, sources: here.to_vec() });
                    }
                    continue;
                };
                for (index, &member) in self.here(&to).iter().enumerate() {
                    gives.push((member, Piece::FromNodeAt(node, index as u32), cells.clone()));
                }
            }
        }
        for (member, piece, cells) in gives {
            let own = |&&(owner, _): &&(u32, Cell)| self.choice.in_place && owner == member;
            let after = taken.iter().filter(own).map(|&(_, cell)| cell).collect();
            self.program.add(Action::Give { member, piece, cells, after });
        }
    }
}
