//! What node processes say of themselves and their ranks, and what follows from it.

use super::Supervisor;
use super::endings::{DEADLOCK, GRACE};
use crate::agents::errand::Kind;
use crate::agents::wire::ALL;
use crate::reports::census::{Member, Next, Rest};
use crate::running::held::Held;
use crate::running::local::Event;
use std::time::Instant;
use weft_base::job::{RankState, Report, Request};
use weft_base::say;

impl Supervisor<'_> {
    pub(super) fn happened(&mut self, event: Event) {
        match event {
            Event::Report(node, line) => match serde_json::from_slice(&line) {
                Ok(report) => self.report(node, report),
                Err(error) => say!("mpirun: a report that makes no sense ({error})"),
            },
            Event::Ended(number, status) => {
                self.names.forget(number);
                let Some(node) = self.node(number) else { return };
                node.is_alive = false;
                let (has_reported, is_program) =
                    (node.has_reported, matches!(node.kind, Kind::Program { .. }));
                if !has_reported && self.code.is_none() {
                    self.unreported_end(number as usize, status);
                } else if has_reported && is_program {
                    self.end_after_report(number as usize, status);
                }
                let next = self.census.set(number as usize, Member::Gone);
                self.count(next);
            }
        }
    }

    pub(super) fn report(&mut self, number: u32, report: Report) {
        if Held::concerns(&report, self.job.is_spread()) && self.code.is_none() {
            let Some(node) = self.node(number) else { return };
            node.has_reported = true;
            self.held.hold(number, report, Instant::now());
        } else {
            self.judge(number, report);
        }
    }

    /// Shows a report and does what follows from it.
    pub(super) fn judge(&mut self, number: u32, report: Report) {
        let Some(node) = self.nodes.get_mut(number as usize) else { return };
        if self.code.is_none()
            || matches!(
                report,
                Report::StackFrame(_) | Report::CrashEnd | Report::Finding { .. } | Report::Sent { .. }
            )
        {
            self.printer.print(&report, &node.host);
        }
        match report {
            Report::Crash { signal, .. } => {
                node.has_reported = true;
                self.settle(128 + signal, GRACE);
            }
            Report::Abort { code, .. } | Report::RankFailed { code, .. } => {
                node.has_reported = true;
                self.settle(code & 0xff, GRACE);
            }
            Report::Deadlock { .. } => self.settle(DEADLOCK, GRACE),
            Report::Failed { .. } => self.settle(1, GRACE),
            Report::Ended { code } => {
                node.has_reported = true;
                if code & 0xff != 0 {
                    self.late_code.get_or_insert(code & 0xff);
                }
                if self.nodes.len() == 1 {
                    self.settle(code & 0xff, GRACE);
                }
                let next = self.census.set(number as usize, Member::Gone);
                self.count(next);
            }
            Report::Ranks { ranks } => {
                self.states.extend(ranks);
                self.asked = self.asked.saturating_sub(1);
                match (self.asked, self.is_deadlock) {
                    (0, true) => self.end_deadlock(),
                    (0, false) => self.kill(),
                    _ => {}
                }
            }
            Report::Attached => self.attached(number),
            Report::Offers { card } => {
                node.card = Some(card);
                self.attached(number);
                self.introduce();
            }
            Report::Rests => {
                let next = self.census.set(number as usize, Member::Resting);
                self.count(next);
            }
            Report::Census { round, rest } => {
                let rest = rest.map(|(mark, sent, received)| Rest { mark, sent, received });
                let next = self.census.answer(number as usize, round, rest);
                self.count(next);
            }
            Report::Spawn { wish, spawn } => {
                if let Some(refusal) = self.offspring.begin(number, wish, spawn) {
                    self.request(number, &refusal);
                }
            }
            Report::Name { wish, name } => {
                let outcome = self.names.see_to(number, &name);
                self.request(number, &Request::Named { wish, outcome });
            }
            Report::Met { job, is_connected } => {
                self.has_met |= is_connected;
                self.offspring.note(job, is_connected);
            }
            Report::StackFrame(_) | Report::CrashEnd | Report::Finding { .. } | Report::Sent { .. } => {}
        }
    }

    /// A node process takes part in the job.
    pub(super) fn attached(&mut self, number: u32) {
        let Some(node) = self.node(number) else { return };
        if !std::mem::replace(&mut node.is_attached, true) {
            let next = self.census.set(number as usize, Member::Busy);
            self.count(next);
        }
        self.notice_absent();
    }

    /// Tells all node processes where the others are, once that is known of all.
    pub(super) fn introduce(&mut self) {
        let cards: Option<Vec<_>> = self.nodes.iter().map(|node| node.card.clone()).collect();
        if let Some(cards) = cards {
            self.request(ALL, &Request::Book { cards });
        }
    }

    /// Sends a request to all that take part; returns to how many.
    pub(super) fn ask(&mut self, request: &Request) -> usize {
        let asked = self.nodes.iter().filter(|node| node.is_alive && node.is_attached);
        let asked: Vec<u32> = asked.map(|node| node.number).collect();
        asked.iter().for_each(|&node| self.request(node, request));
        asked.len()
    }

    /// Goes on with the census.
    pub(super) fn count(&mut self, next: Next) {
        match next {
            // One node process that never met others sees its deadlocks itself; and the others may well rest when a rank has
            // given up.
            _ if self.code.is_some() || !self.held.is_empty() || self.nodes.len() == 1 && !self.has_met => {}
            Next::Wait => {}
            Next::Ask(round) => {
                self.ask(&Request::Census { round });
            }
            Next::Deadlock => {
                self.is_deadlock = true;
                self.code = Some(DEADLOCK);
                self.kill_at = Some(Instant::now() + GRACE);
                self.asked = self.ask(&Request::DescribeRanks { in_full: true });
            }
        }
    }

    /// All have said what their ranks are doing.
    pub(super) fn end_deadlock(&mut self) {
        let mut ranks = std::mem::take(&mut self.states);
        // Processes that have ended say nothing.
        let known: std::collections::HashSet<u32> = ranks.iter().map(|state| state.rank).collect();
        let silent = (0..self.job.ranks()).filter(|rank| !known.contains(rank));
        ranks.extend(silent.map(|rank| RankState::plain(rank, "has ended")));
        ranks.sort_by_key(|state| state.rank);
        self.printer.print(&Report::Deadlock { ranks, stuck: Vec::new() }, "");
        self.is_deadlock = false;
        self.kill_at = Some(Instant::now() + GRACE);
        self.ask(&Request::End { code: DEADLOCK });
    }
}
