//! How the job ends, whatever ends it, and with which code.

use super::{Supervisor, Watched};
use crate::agents::errand::Kind;
use crate::agents::wire::{self, ALL, Frame};
use crate::reports::ranks::intervals;
use crate::reports::report::signal_name;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};
use weft_base::constants::MPI_ERR_PROC_ABORTED;
use weft_base::job::{Report, Request};
use weft_base::say;

/// How long node processes may take to go once the job has ended; then they are killed.
pub(super) const GRACE: Duration = Duration::from_millis(700);

/// How long a program that handles SIGTERM or SIGINT itself may take.
pub(super) const SIGNAL_GRACE: Duration = Duration::from_secs(3);

/// Exit code after `--timeout`.
pub(super) const TIMED_OUT: i32 = 124;

/// Exit code of a job that ended because no rank could go on.
pub(super) const DEADLOCK: i32 = 125;

/// Exit code of a job that would have ended with 0, if `--check=error` found something.
pub(super) const FINDINGS: i32 = 123;

impl Supervisor<'_> {
    pub(super) fn kill(&mut self) {
        let mut ranks = std::mem::take(&mut self.states);
        if !ranks.is_empty() {
            ranks.sort_by_key(|state| state.rank);
            self.printer.print(&Report::Ranks { ranks }, "");
        }
        self.killed = true;
        self.kill_at = None;
        self.local.kill();
        self.tell(ALL, &Frame::new(wire::Kind::Kill, ALL, 0, []));
        if self.code.is_some_and(|code| code != 0) {
            self.offspring.send(libc::SIGKILL, true);
        }
    }

    /// The time is over: the ranks' states are printed when they arrive, then the job is killed.
    pub(super) fn give_up(&mut self) {
        self.timeout_at = None;
        let seconds = self.timeout.unwrap_or_default().as_secs_f64();
        say!("mpirun: the job did not end within {seconds} s (--timeout)");
        self.code.get_or_insert(TIMED_OUT);
        self.kill_at.get_or_insert(Instant::now() + GRACE);
        self.asked = self.ask(&Request::DescribeRanks { in_full: false });
        if self.asked == 0 {
            self.kill();
        }
    }

    /// Notes the job's exit code, if none is known yet, and gives the node processes time to go.
    pub(super) fn settle(&mut self, code: i32, grace: Duration) {
        if self.code.is_none() && self.nodes.len() > 1 {
            // They do not know of each other's end.
            let others = self.nodes.iter().filter(|node| node.is_alive && !node.has_reported);
            let others: Vec<u32> = others.map(|node| node.number).collect();
            others.into_iter().for_each(|node| self.signal(node, libc::SIGTERM, true));
        }
        if self.code.is_none() && code != 0 {
            self.offspring.send(libc::SIGTERM, true);
        }
        self.code.get_or_insert(code);
        self.kill_at.get_or_insert(Instant::now() + grace);
    }

    pub(super) fn end_by(&mut self, signal: i32, code: i32) {
        if self.signalled.replace(signal).is_some() {
            self.kill();
            return;
        }
        say!("mpirun: got {}; ending the job", signal_name(signal));
        // A terminal sends its signals to the whole process group: the ranks of this host have it already.
        self.signal(ALL, signal, code <= 0);
        if code <= 0 {
            self.offspring.send(signal, false);
        }
        self.code.get_or_insert(128 + signal);
        self.kill_at.get_or_insert(Instant::now() + SIGNAL_GRACE);
    }

    /// A node process is gone that could not say why.
    pub(super) fn unreported_end(&mut self, index: usize, status: ExitStatus) {
        let node = &self.nodes[index];
        let ranks = self.job.ranks_of(node.number);
        let who = match node.kind {
            Kind::Threads if self.nodes.len() == 1 => "the process of the ranks".to_owned(),
            Kind::Threads => format!("the process of ranks {} on {}", intervals(&ranks), node.host),
            Kind::Program { rank, .. } => format!("rank {rank} on {}", node.host),
        };
        match (status.signal(), status.code().unwrap_or(1)) {
            (Some(signal), _) => {
                let name = signal_name(signal);
                let remedy = if signal == libc::SIGKILL && !self.killed {
                    "; somebody killed it, or the system ran out of memory"
                } else {
                    ""
                };
                self.blame(format!("{who} ended by {name}{remedy}"));
                self.settle(128 + signal, GRACE);
            }
            (None, code) if node.kind == Kind::Threads => {
                self.blame(format!("{who} ended with exit code {code} and no report"));
                self.settle(if code == 0 { 1 } else { code }, GRACE);
            }
            (None, 0) if !node.is_attached => self.notice_absent(),
            (None, 0) => {
                self.blame(format!(
                    "{who} ended by _exit(0) without MPI_Finalize; the job ends with exit code 1"
                ));
                self.settle(1, GRACE);
            }
            (None, code) => {
                self.blame(format!("{who} ended with exit code {code}; the job ends with it"));
                self.settle(code, GRACE);
            }
        }
    }

    /// A rank has come to its end well, and then something else ended its process: a tool that watches it has findings, say.
    pub(super) fn end_after_report(&mut self, index: usize, status: ExitStatus) {
        let is_well = self.code.is_none_or(|code| code == 0) && self.late_code.is_none();
        let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
        if !is_well || code == 0 || self.killed || !self.held.is_empty() {
            return;
        }
        let node = &self.nodes[index];
        let Kind::Program { rank, .. } = node.kind else { return };
        let how = match status.signal() {
            Some(signal) => format!("by {}", signal_name(signal)),
            None => format!("with exit code {code}"),
        };
        say!(
            "mpirun: rank {rank} on {} had finished, and then ended {how}; the job ends with exit code {code}",
            node.host
        );
        self.late_code = Some(code);
    }

    /// Says which process ends the job, and how.
    pub(super) fn blame(&mut self, text: String) {
        say!("mpirun: {text}");
        self.cause.get_or_insert(text);
    }

    /// Ends a job some of whose programs use MPI and wait for others that have ended without.
    pub(super) fn notice_absent(&mut self) {
        let is_absent = |node: &&Watched| !node.is_attached && !node.is_alive;
        let absent = self.nodes.iter().find(is_absent).map(|node| (node.kind, node.host.clone()));
        let waits = self.nodes.iter().any(|node| node.is_attached);
        if let (Some((Kind::Program { rank, .. }, host)), true, None) = (absent, waits, self.code) {
            self.blame(format!(
                "rank {rank} on {host} ended without calling MPI_Init, and others have called it; start only programs \
                 that use MPI, or none"
            ));
            self.settle(1, GRACE);
        }
    }

    /// All node processes are gone: returns the job's exit code.
    pub(super) fn finish(&mut self) -> i32 {
        self.printer.finish();
        self.printer.sum_up();
        // Of ranks that gave up because processes of another job were gone, that job's code says why.
        let lost_others = self.code == Some(MPI_ERR_PROC_ABORTED);
        let cause = self.code_of_offspring.filter(|_| lost_others);
        let code = cause.or(self.code).filter(|code| *code != 0).or(self.late_code).unwrap_or(0);
        if let Some(answer) = self.answer.as_mut().filter(|_| !self.has_met) {
            let cause = self.cause.as_deref().unwrap_or("no process has called MPI_Init");
            answer.take_back(format!(
                "the new job has ended with exit code {code} before it was connected: {cause}"
            ));
        }
        let fails = code == 0 && self.findings_fail && self.printer.findings() > 0;
        if fails { FINDINGS } else { code }
    }
}
