//! What the steps of a schedule do with the members' buffers.
//!
//! Reductions combine in the order of the blocking forms, so that all forms of an operation give the same result.
#![allow(unsafe_code)] // Reads and writes packed results.

use crate::blocking::reduction::{block, blocks, granule};
use crate::operation::NOBODY;
use crate::operation::buffer::{Data, Operator, Scratch};
use crate::operation::call::Call;
use crate::pattern;
use crate::started::meeting::Meeting;
use crate::started::plan::Choice;
use crate::started::schedule::{Action, Who};
use core::ops::Range;
use weft_base::{Error, Result};

/// What went wrong for whom.
type Failures = Vec<(u32, Error)>;

fn note(failures: &mut Failures, member: u32, result: Result) {
    if let Err(error) = result {
        failures.push((member, error));
    }
}

impl Meeting {
    /// Does a step; `member` is the one whose thread does it.
    pub(crate) fn perform(&self, action: Action, choice: &Choice, member: u32) -> Failures {
        let mut failures = Vec::new();
        match action {
            Action::Join => {}
            Action::Copy { from, to } => self.copy(self.number(from), self.number(to), &mut failures),
            Action::Collect { to } => {
                let peers = self.members.peers(to);
                for rank in pattern::rotation(self.members.rank(to) % peers.len() as u32, peers.len() as u32)
                {
                    self.copy(peers.start + rank, to, &mut failures);
                }
            }
            Action::Swap { member } => self.swap(member, &mut failures),
            Action::Combine { side } => self.combine(choice, side, self.operator(member), &mut failures),
            Action::Segment { side, index, of } => {
                self.segment(choice, side, index, of, self.operator(member), &mut failures);
            }
            Action::Reduce { to } => self.reduce_part(choice, to, self.operator(member), &mut failures),
            Action::Settle { to } => self.settle(to),
            Action::Prefixes { index, of } => {
                self.prefixes(choice, index, of, self.operator(member), &mut failures);
            }
            Action::Neighbors { to } => self.collect_from_neighbors(to, &mut failures),
        }
        failures
    }

    fn number(&self, who: Who) -> u32 {
        match who {
            Who::Member(member) => member,
            Who::Root => (0..self.members.size)
                .find(|&m| self.published(m).is_some_and(|c| c.is_root))
                .expect("steps that concern the root wait for it"),
        }
    }

    /// Returns the operator as the member that does the step knows it: a user's function is its own program's.
    fn operator(&self, member: u32) -> Operator<'_> {
        self.contribution(member).operator.as_ref().expect("reductions have an operator").operator()
    }

    /// Copies what one member has for another.
    fn copy(&self, from: u32, to: u32, failures: &mut Failures) {
        let (source, target) = (self.contribution(from), self.contribution(to));
        let in_place = || source.receive.piece(self.members.rank(from));
        let send = source.send.piece(self.members.rank(to)).or_else(in_place);
        let receive = target.receive.piece(self.members.rank(from));
        if let (Some(send), Some(receive)) = (send, receive) {
            note(failures, to, send.copy_to(&receive));
        }
    }

    fn swap(&self, member: u32, failures: &mut Failures) {
        let mut scratch = Vec::new();
        for peer in pattern::partners(member, self.members.size) {
            let mine = self.contribution(member).receive.piece(peer);
            let theirs = self.contribution(peer).receive.piece(member);
            if let (Some(mine), Some(theirs)) = (mine, theirs) {
                let result = mine.swap_with(&theirs, &mut scratch);
                if let Err(error) = result {
                    failures.push((member, error.clone()));
                    failures.push((peer, error));
                }
            }
        }
    }

    /// Returns what a member contributes to a reduction.
    fn value(&self, member: u32) -> Data<'_> {
        let contribution = self.contribution(member);
        let send = contribution.send.piece(0).or_else(|| contribution.receive.piece(0));
        send.expect("every member contributes to a reduction")
    }

    /// Reduces a range of what some members contribute into `result`, in rank order.
    fn fold(
        &self,
        members: impl DoubleEndedIterator<Item = u32>,
        range: &Range<u64>,
        operator: Operator<'_>,
        result: &Data<'_>,
    ) {
        let part = |member| self.value(member).part(range.start, range.end - range.start);
        let mut members = members.rev();
        let Some(last) = members.next() else { return };
        // The same count and datatype on both sides: this cannot be cut off.
        let _ = part(last).copy_to(result);
        members.for_each(|member| operator.apply(&part(member), result));
    }

    /// Hands a range of a reduction's result to those who receive it.
    fn hand_out(
        &self,
        call: Call,
        side: u32,
        range: &Range<u64>,
        result: &Data<'_>,
        failures: &mut Failures,
    ) {
        let length = range.end - range.start;
        for member in self.members.receivers(side) {
            // A spectator may not have arrived.
            let Some(target) = self.published(member) else { continue };
            let Some(receive) = target.receive.piece(0).filter(|_| call != Call::Reduce || target.is_root)
            else {
                continue;
            };
            let copied = match call {
                Call::ReduceScatter | Call::ReduceScatterBlock => {
                    let mine = &target.mine;
                    result.part(mine.start, mine.end - mine.start).copy_to(&receive)
                }
                _ => result.copy_to(&receive.part(range.start, length)),
            };
            note(failures, member, copied);
        }
    }

    /// Reduces everything at once: ranks of one worker first where the blocking form does.
    fn combine(&self, choice: &Choice, side: u32, operator: Operator<'_>, failures: &mut Failures) {
        let contributors = self.members.contributors(side);
        let like = self.value(contributors.start);
        let range = 0..like.count();
        if range.is_empty() {
            return;
        }
        let scratch = Scratch::new(range.end, like.datatype());
        let result = scratch.data(range.end);
        let shards = self.shards.as_ref().filter(|_| !self.members.are_two_groups());
        match shards.filter(|shards| shards.combine(operator.op.is_commutative())) {
            None => self.fold(contributors, &range, operator, &result),
            Some(shared) => {
                let between = Scratch::new(range.end, like.datatype());
                let mut shards = shared.members.iter().rev();
                let last = shards.next().expect("several shards");
                self.fold(last.iter().copied(), &range, operator, &result);
                for shard in shards {
                    let part = between.data(range.end);
                    self.fold(shard.iter().copied(), &range, operator, &part);
                    operator.apply(&part, &result);
                }
            }
        }
        self.hand_out(choice.call, side, &range, &result, failures);
    }

    fn segment(
        &self,
        choice: &Choice,
        side: u32,
        index: u32,
        of: u32,
        operator: Operator<'_>,
        failures: &mut Failures,
    ) {
        let contributors = self.members.contributors(side);
        let like = self.value(contributors.start);
        let range = pattern::segment(like.count(), granule(choice.segment, like.datatype()), index, of);
        let scratch =
            Scratch::new(block(choice.block, like.datatype()).min(range.end - range.start), like.datatype());
        for part in blocks(range, choice.block, like.datatype()) {
            let result = scratch.data(part.end - part.start);
            self.fold(contributors.clone(), &part, operator, &result);
            self.hand_out(choice.call, side, &part, &result, failures);
        }
    }

    /// Reduces the part of the result that a member receives.
    fn reduce_part(&self, choice: &Choice, to: u32, operator: Operator<'_>, failures: &mut Failures) {
        let contributors = self.members.peers(to);
        let target = self.contribution(to);
        let Some(receive) = target.receive.piece(0) else { return };
        let mine = target.mine.clone();
        let datatype = self.value(contributors.start).datatype();
        let is_aside = contributors.contains(&to) && self.value(to).is_at(&receive);
        let mut aside = vec![0; if is_aside { receive.bytes() as usize } else { 0 }];
        let scratch = Scratch::new(block(choice.block, datatype).min(mine.end - mine.start), datatype);
        for part in blocks(mine.clone(), choice.block, datatype) {
            let length = part.end - part.start;
            let result = scratch.data(length);
            self.fold(contributors.clone(), &part, operator, &result);
            if is_aside {
                let bytes = (part.start - mine.start) * datatype.size();
                let place = &mut aside[bytes as usize..][..result.bytes() as usize];
                // SAFETY: the place has as many bytes as the result.
                unsafe { result.pack(place.as_mut_ptr()) };
            } else {
                note(failures, to, result.copy_to(&receive.part(part.start - mine.start, length)));
            }
        }
        if is_aside {
            self.aside.lock().push((to, aside));
        }
    }

    fn settle(&self, to: u32) {
        let aside = {
            let mut all = self.aside.lock();
            all.iter().position(|&(member, _)| member == to).map(|place| all.swap_remove(place).1)
        };
        if let (Some(aside), Some(receive)) = (aside, self.contribution(to).receive.piece(0)) {
            // SAFETY: it has that many bytes, which are as many as the buffer holds.
            let _ = unsafe { receive.unpack(aside.as_ptr(), aside.len() as u64) };
        }
    }

    /// Forms all members' prefixes of a segment, going from member to member. What a member contributes, perhaps where
    /// it receives, is taken first.
    fn prefixes(
        &self,
        choice: &Choice,
        index: u32,
        of: u32,
        operator: Operator<'_>,
        failures: &mut Failures,
    ) {
        let like = self.value(0);
        let range = pattern::segment(like.count(), granule(choice.segment, like.datatype()), index, of);
        let length = block(choice.block, like.datatype()).min(range.end - range.start);
        let mut below = Scratch::new(length, like.datatype());
        let mut with = Scratch::new(length, like.datatype());
        for part in blocks(range, choice.block, like.datatype()) {
            let count = part.end - part.start;
            for member in 0..self.members.size {
                let receive = self.contribution(member).receive.piece(0).map(|r| r.part(part.start, count));
                let next = with.data(count);
                // The same count and datatype on both sides: this cannot be cut off.
                let _ = self.value(member).part(part.start, count).copy_to(&next);
                if member > 0 {
                    operator.apply(&below.data(count), &next);
                }
                let result = if choice.call == Call::Scan {
                    Some(next)
                } else {
                    (member > 0).then(|| below.data(count))
                };
                if let (Some(result), Some(receive)) = (result, receive) {
                    note(failures, member, result.copy_to(&receive));
                }
                core::mem::swap(&mut below, &mut with);
            }
        }
    }

    fn collect_from_neighbors(&self, to: u32, failures: &mut Failures) {
        let target = self.contribution(to);
        let neighbors = target.neighbors.as_ref().expect("a neighborhood operation");
        for (index, &from) in neighbors.sources.iter().enumerate() {
            if from == NOBODY {
                continue;
            }
            let source = self.contribution(from);
            let edge = neighbors.edge_from(index);
            let piece = source.neighbors.as_ref().and_then(|theirs| {
                let mut edges = theirs.destinations.iter().enumerate();
                edges.find(|&(place, &d)| d == to && theirs.edge_to(place) == edge).map(|(place, _)| place)
            });
            let send = piece.and_then(|piece| source.send.piece(piece as u32));
            if let (Some(send), Some(receive)) = (send, target.receive.piece(index as u32)) {
                note(failures, to, send.copy_to(&receive));
            }
        }
    }
}
