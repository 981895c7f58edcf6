//! Watches a running job: passes signals on, shows reports, and settles the exit code.
//!
//! One loop over signals (read from a descriptor), the node processes of this host ([`Local`]), the agents of others
//! ([`Branch`]), standard input where rank 0 is elsewhere, and the clock. A node process says how its part of the job ended;
//! what it could not say (it was killed) its wait status does.
#![allow(unsafe_code)] // poll, and who owns the terminal.

use crate::agents::absence::Absence;
use crate::agents::branch::Branch;
use crate::agents::errand::{self, Errand, Kind};
use crate::agents::wire::{self, ALL, Frame, ITSELF};
use crate::command_line::flags::Stop;
use crate::command_line::plan::Plan;
use crate::reports::census::{Census, Member, Next, Rest};
use crate::reports::ranks::intervals;
use crate::reports::report::{Printer, signal_name};
use crate::running::held::Held;
use crate::running::local::{ENDING, Event, FORWARDED, Local, Signals};
use crate::running::names::Names;
use crate::running::offspring::{Answer, Offspring};
use crate::running::output::{Forwarder, Speaker};
use crate::running::spawn::{self, Streams};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};
use weft_base::constants::MPI_ERR_PROC_ABORTED;
use weft_base::job::{Job, RankState, Report, Request};
use weft_base::say;

/// How long node processes may take to go once the job has ended; then they are killed.
const GRACE: Duration = Duration::from_millis(700);
/// How long a program that handles SIGTERM or SIGINT itself may take.
const SIGNAL_GRACE: Duration = Duration::from_secs(3);
/// How long agents may take to end once the job is over.
const END_LIMIT: Duration = Duration::from_millis(1000);
/// Exit code after `--timeout`.
const TIMED_OUT: i32 = 124;
/// Exit code of a job that ended because no rank could go on.
const DEADLOCK: i32 = 125;
/// Exit code of a job that would have ended with 0, if `--check=error` found something.
const FINDINGS: i32 = 123;
/// How much standard input may be on its way to rank 0.
const INPUT_WINDOW: usize = 256 << 10;

/// A node process under watch.
struct Watched {
    number: u32,
    kind: Kind,
    /// The name of its host.
    host: String,
    /// It takes part in the job. Until then a program may be one that has nothing to do with MPI.
    is_attached: bool,
    /// It has said how its part of the job ended.
    has_reported: bool,
    is_alive: bool,
    /// How others can reach it, once it has said so.
    card: Option<String>,
}

/// Standard input on its way to a rank 0 on another host.
struct Input {
    is_open: bool,
    room: usize,
}

struct Supervisor<'a> {
    job: &'a Job,
    /// By number.
    nodes: Vec<Watched>,
    local: Local,
    branches: Vec<Branch>,
    absence: Absence,
    forwarder: Option<Forwarder>,
    input: Input,
    printer: Printer,
    /// The job's exit code, once it is known that the job ends.
    code: Option<i32>,
    /// The first code other than 0 with which ranks ended that had done with MPI.
    late_code: Option<i32>,
    /// The exit code of the first job that this one has started and that has failed.
    code_of_offspring: Option<i32>,
    /// Reports of ranks that gave up, which wait for their cause.
    held: Held,
    /// When to kill the node processes.
    kill_at: Option<Instant>,
    /// When to ask what the ranks are doing and give up.
    timeout_at: Option<Instant>,
    timeout: Option<Duration>,
    /// When to say to agents that all is well, and how often.
    beat_at: Option<Instant>,
    silence: Duration,
    /// How many node processes have yet to answer what their ranks are doing.
    asked: usize,
    /// What those ranks are doing whose node processes have answered.
    states: Vec<RankState>,
    /// Whether the ranks are in a deadlock: while they are asked what they are doing, and who decides.
    is_deadlock: bool,
    census: Census,
    killed: bool,
    signalled: Option<i32>,
    findings_fail: bool,
    offspring: Offspring,
    names: Names,
    /// If this job was spawned: those who wait for it.
    answer: Option<Answer>,
    /// Whether its processes have connected to others.
    has_met: bool,
    /// Whether ranks of one process speak for themselves.
    by_rank: bool,
    /// What was said about the process with which the job's end began.
    cause: Option<String>,
}

/// Starts a job and watches it until its processes are gone; returns the exit code.
///
/// # Errors
/// What could not be started, and system calls that failed.
pub fn run(plan: Plan, offspring: Offspring, mut answer: Option<Answer>) -> Result<i32, Stop> {
    let refuse = |answer: &mut Option<Answer>, stop: &Stop| {
        answer.iter_mut().for_each(|answer| answer.give(Err(stop.message.trim_end().to_owned())));
    };
    let signals = Signals::open()?;
    let own = crate::reports::report::host();
    let is_distant = |site: &errand::Site| Some(site.host) != plan.own_host;
    let mut errand = plan.errand;
    let (distant, here): (Vec<_>, Vec<_>) =
        std::mem::take(&mut errand.sites).into_iter().partition(is_distant);
    let mut watched = Vec::new();
    let mut speakers = Vec::new();
    for site in here.iter().chain(&distant) {
        let is_distant = is_distant(site);
        let host = if is_distant { site.name.clone() } else { own.clone() };
        for node in &site.nodes {
            let mut add = |number, label| {
                speakers.push(Speaker { number, label, host: host.clone(), is_distant });
            };
            match node.kind {
                Kind::Program { rank, .. } => add(node.number, Some(rank)),
                Kind::Threads if errand.by_rank => {
                    errand.job.ranks_of(node.number).into_iter().for_each(|rank| add(rank, Some(rank)));
                    add(ITSELF | node.number, None);
                }
                Kind::Threads => add(node.number, None),
            }
            watched.push(Watched {
                number: node.number,
                kind: node.kind,
                host: host.clone(),
                is_attached: node.kind == Kind::Threads,
                has_reported: false,
                is_alive: true,
                card: None,
            });
        }
    }
    watched.sort_by_key(|node| node.number);
    let first = |node: &Watched| if node.is_attached { Member::Busy } else { Member::Absent };
    let census = Census::new(watched.iter().map(first).collect());
    let input = Input {
        is_open: distant.iter().flat_map(|site| &site.nodes).any(|node| node.has_input),
        room: INPUT_WINDOW,
    };
    let mut branches = Vec::new();
    for sites in errand::divide(distant, errand.width) {
        let branch = Branch::start(&errand.part(sites));
        branches.push(branch.inspect_err(|stop| refuse(&mut answer, stop))?);
    }
    let mut own_part: Errand = errand.part(here);
    own_part.fit();
    let streams = Streams { output: plan.output.is_some(), input: false };
    let started = spawn::start(&own_part, &plan.installation, streams);
    let mut nodes = started.inspect_err(|stop| refuse(&mut answer, stop))?;
    let ranks = || errand.job.blocks.iter().map(|block| block.ranks).collect();
    answer.iter_mut().for_each(|answer| answer.give(Ok((ranks(), plan.own_ranks.clone()))));
    let forwarder = match &plan.output {
        None if branches.is_empty() => None,
        output => Some(Forwarder::start(&output.clone().unwrap_or_default(), &speakers, &mut nodes)?),
    };
    let mut supervisor = Supervisor {
        job: &errand.job,
        nodes: watched,
        local: Local::watch(nodes),
        beat_at: (!branches.is_empty()).then(Instant::now),
        absence: Absence::new(),
        branches,
        forwarder,
        input,
        printer: Printer::new(plan.sends_wait),
        code: None,
        late_code: None,
        code_of_offspring: None,
        held: Held::default(),
        kill_at: None,
        timeout_at: plan.timeout.map(|timeout| Instant::now() + timeout),
        timeout: plan.timeout,
        silence: errand.silence,
        asked: 0,
        states: Vec::new(),
        is_deadlock: false,
        census,
        killed: false,
        signalled: None,
        findings_fail: plan.findings_fail,
        offspring,
        names: Names::default(),
        answer,
        has_met: false,
        by_rank: errand.by_rank,
        cause: None,
    };
    let code = supervisor.run(&signals);
    let until = Instant::now() + END_LIMIT;
    supervisor.branches.iter_mut().for_each(|branch| branch.link.close());
    let is_complete = supervisor.forwarder.take().is_none_or(Forwarder::finish);
    supervisor.branches.iter_mut().for_each(|branch| branch.close(until));
    Ok(if code == 0 && !is_complete { 1 } else { code })
}

/// Tells whether standard input may be read: of a terminal only by who is in its foreground.
fn may_read_input() -> bool {
    // SAFETY: system calls.
    unsafe { libc::isatty(0) == 0 || libc::tcgetpgrp(0) == libc::getpgrp() }
}

impl Supervisor<'_> {
    fn run(&mut self, signals: &Signals) -> i32 {
        loop {
            self.wait(signals);
            for place in 0..self.local.sources().count() {
                let events = self.local.read(place);
                events.into_iter().for_each(|event| self.happened(event));
            }
            self.read_branches();
            self.forward_input();
            self.return_room();
            for (signal, code) in signals.take() {
                if FORWARDED.contains(&signal) {
                    self.signal(ALL, signal, true);
                    self.offspring.send(signal, false);
                } else if ENDING.contains(&signal) {
                    self.end_by(signal, code);
                }
            }
            let events = self.local.reap();
            events.into_iter().for_each(|event| self.happened(event));
            self.look_after_offspring();
            self.beat();
            let is_over = self.held.is_empty() && self.nodes.iter().all(|node| !node.is_alive);
            if is_over && self.branches.iter().all(Branch::is_over) && !self.offspring.are_alive() {
                return self.finish();
            }
            let now = Instant::now();
            let held = self.held.take(now, self.code.is_some());
            held.into_iter().for_each(|(node, report)| self.judge(node, report));
            if self.kill_at.is_some_and(|at| at <= now) {
                self.kill();
            }
            if self.timeout_at.is_some_and(|at| at <= now) {
                self.give_up();
            }
        }
    }

    /// Waits until there is something to do.
    fn wait(&mut self, signals: &Signals) {
        let source = |fd, events| libc::pollfd { fd, events, revents: 0 };
        let mut sources = vec![source(signals.fd(), libc::POLLIN)];
        sources.extend(self.local.sources().map(|fd| source(fd, libc::POLLIN)));
        for branch in &self.branches {
            sources.push(source(branch.link.source(), libc::POLLIN));
            sources.push(source(branch.link.target(), libc::POLLOUT));
        }
        sources.extend(self.offspring.sources().into_iter().map(|fd| source(fd, libc::POLLIN)));
        if let Some(forwarder) = &self.forwarder {
            sources.push(source(forwarder.progress().fd(), libc::POLLIN));
        }
        if self.input.is_open && self.input.room > 0 && may_read_input() {
            sources.push(source(0, libc::POLLIN));
        }
        let deadlines =
            [self.kill_at, self.timeout_at, self.beat_at, self.held.deadline()].into_iter().flatten();
        let deadline = deadlines.chain(self.branches.iter().filter_map(Branch::deadline)).min();
        // Rounded up, so that the loop does not spin in the last millisecond.
        let wait_ms = deadline.map_or(-1, |at| {
            at.saturating_duration_since(Instant::now()).as_millis().min(1_000_000) as i32 + 1
        });
        self.absence.expect(u64::try_from(wait_ms).map_or(Duration::MAX, Duration::from_millis));
        // SAFETY: an array that lives through the call.
        unsafe { libc::poll(sources.as_mut_ptr(), sources.len() as libc::nfds_t, wait_ms) };
        let missed = self.absence.missed();
        self.branches.iter_mut().for_each(|branch| branch.link.heard += missed);
    }

    /// Tells node processes what came of their wishes to start programs, and notes how the jobs that were started end.
    fn look_after_offspring(&mut self) {
        let (failed, answers) = self.offspring.look();
        answers.iter().for_each(|(node, answer)| self.request(*node, answer));
        for code in failed {
            self.held.hurry(Instant::now());
            self.late_code.get_or_insert(code);
            self.code_of_offspring.get_or_insert(code);
        }
    }

    fn node(&mut self, number: u32) -> Option<&mut Watched> {
        self.nodes.get_mut(number as usize)
    }

    /// Sends a signal to node processes, perhaps only to those of other hosts.
    fn signal(&mut self, number: u32, signal: i32, even_here: bool) {
        if even_here {
            self.local.signal(number, signal);
        }
        self.tell(number, &Frame::new(wire::Kind::Signal, number, signal, []));
    }

    fn request(&mut self, number: u32, request: &Request) {
        let Ok(mut line) = serde_json::to_vec(request) else { return };
        line.push(b'\n');
        self.local.request(number, &line);
        self.tell(number, &Frame::new(wire::Kind::Request, number, 0, line));
    }

    fn tell(&mut self, number: u32, frame: &Frame) {
        let concerned =
            self.branches.iter_mut().filter(|branch| !branch.is_over() && branch.has_node(number));
        concerned.for_each(|branch| branch.link.send(frame));
    }

    fn read_branches(&mut self) {
        for index in 0..self.branches.len() {
            let branch = &mut self.branches[index];
            branch.link.write();
            match branch.read() {
                Ok(frames) => frames.into_iter().for_each(|frame| self.heard(index, frame)),
                Err(why) => {
                    let open: Vec<_> =
                        branch.hosts.iter().filter(|host| !host.is_over).map(|host| host.host).collect();
                    branch.give_up();
                    open.into_iter().for_each(|host| self.lose(index, host, &why));
                }
            }
        }
    }

    /// Does what a frame of an agent says.
    fn heard(&mut self, branch: usize, frame: Frame) {
        match frame.kind {
            wire::Kind::Report => self.happened(Event::Report(frame.number, frame.payload)),
            wire::Kind::Ended => self.happened(Event::Ended(frame.number, ExitStatus::from_raw(frame.value))),
            wire::Kind::Output => {
                if let Some(forwarder) = &self.forwarder {
                    forwarder.pass(frame.number, frame.value == 1, frame.payload);
                }
            }
            wire::Kind::Taken => self.input.room += frame.value.max(0) as usize,
            wire::Kind::Failed => {
                if self.code.is_none() {
                    self.blame(frame.text());
                }
                self.gone(branch, frame.number);
                self.settle(frame.value, GRACE);
            }
            wire::Kind::Lost => self.lose(branch, frame.number, &frame.text()),
            // Each has been noticed by the branch; the rest is not for us.
            _ => {}
        }
    }

    /// The node processes of a host cannot be watched any more.
    fn gone(&mut self, branch: usize, host: u32) -> Vec<u32> {
        let reached = self.branches[branch].hosts.iter().find(|reached| reached.host == host);
        let numbers = reached.map(|reached| reached.nodes.clone()).unwrap_or_default();
        for &number in &numbers {
            if let Some(node) = self.node(number) {
                node.is_alive = false;
            }
        }
        numbers
    }

    /// A host is lost, and the job with it.
    fn lose(&mut self, branch: usize, host: u32, why: &str) {
        let nodes = self.gone(branch, host);
        let mut ranks: Vec<u32> = nodes.iter().flat_map(|&node| self.job.ranks_of(node)).collect();
        ranks.sort_unstable();
        let name = self.branches[branch]
            .hosts
            .iter()
            .find(|reached| reached.host == host)
            .map(|reached| reached.name.clone());
        if self.code.is_none() {
            let word = if ranks.len() == 1 { "rank" } else { "ranks" };
            self.blame(format!("host {} ({word} {}): {why}", name.unwrap_or_default(), intervals(&ranks)));
        }
        self.settle(1, GRACE);
    }

    /// Reads standard input for a rank 0 on another host.
    fn forward_input(&mut self) {
        if !self.input.is_open || self.input.room == 0 || !may_read_input() {
            return;
        }
        let mut source = libc::pollfd { fd: 0, events: libc::POLLIN, revents: 0 };
        let mut buffer = vec![0; self.input.room.min(1 << 16)];
        // SAFETY: one entry, and a buffer as long as it is said to be.
        let length = unsafe {
            if libc::poll(&mut source, 1, 0) <= 0 {
                return;
            }
            libc::read(0, buffer.as_mut_ptr().cast(), buffer.len())
        };
        buffer.truncate(length.max(0) as usize);
        self.input.is_open = length > 0;
        self.input.room -= buffer.len();
        let node = self.job.node_of.first().copied().unwrap_or(0);
        self.tell(node, &Frame::new(wire::Kind::Input, node, 0, buffer));
    }

    /// Says to agents how much of their output is written.
    fn return_room(&mut self) {
        let Some(forwarder) = &self.forwarder else { return };
        for (speaker, length) in forwarder.written() {
            let node = match speaker {
                ITSELF.. => speaker - ITSELF,
                rank if self.by_rank => self.job.node_of.get(rank as usize).copied().unwrap_or(0),
                node => node,
            };
            let host = self.job.host_of(node);
            self.tell(node, &Frame::new(wire::Kind::Written, host, length as i32, []));
        }
    }

    fn beat(&mut self) {
        let now = Instant::now();
        if self.beat_at.is_some_and(|at| at <= now) {
            self.tell(ALL, &Frame::new(wire::Kind::Beat, 0, 0, []));
            self.beat_at = Some(now + self.silence / 4);
        }
    }

    fn kill(&mut self) {
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
    fn give_up(&mut self) {
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

    /// Sends a request to all that take part; returns to how many.
    fn ask(&mut self, request: &Request) -> usize {
        let asked = self.nodes.iter().filter(|node| node.is_alive && node.is_attached);
        let asked: Vec<u32> = asked.map(|node| node.number).collect();
        asked.iter().for_each(|&node| self.request(node, request));
        asked.len()
    }

    /// Goes on with the census.
    fn count(&mut self, next: Next) {
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
    fn end_deadlock(&mut self) {
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

    /// Notes the job's exit code, if none is known yet, and gives the node processes time to go.
    fn settle(&mut self, code: i32, grace: Duration) {
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

    fn end_by(&mut self, signal: i32, code: i32) {
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

    fn happened(&mut self, event: Event) {
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

    fn report(&mut self, number: u32, report: Report) {
        if Held::concerns(&report, self.job.is_spread()) && self.code.is_none() {
            let Some(node) = self.node(number) else { return };
            node.has_reported = true;
            self.held.hold(number, report, Instant::now());
        } else {
            self.judge(number, report);
        }
    }

    /// Shows a report and does what follows from it.
    fn judge(&mut self, number: u32, report: Report) {
        let Some(node) = self.nodes.get_mut(number as usize) else { return };
        if self.code.is_none()
            || matches!(
                report,
                Report::Frame(_) | Report::CrashEnd | Report::Finding { .. } | Report::Sent { .. }
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
            Report::Frame(_) | Report::CrashEnd | Report::Finding { .. } | Report::Sent { .. } => {}
        }
    }

    /// A node process takes part in the job.
    fn attached(&mut self, number: u32) {
        let Some(node) = self.node(number) else { return };
        if !std::mem::replace(&mut node.is_attached, true) {
            let next = self.census.set(number as usize, Member::Busy);
            self.count(next);
        }
        self.notice_absent();
    }

    /// Tells all node processes where the others are, once that is known of all.
    fn introduce(&mut self) {
        let cards: Option<Vec<_>> = self.nodes.iter().map(|node| node.card.clone()).collect();
        if let Some(cards) = cards {
            self.request(ALL, &Request::Book { cards });
        }
    }

    /// A node process is gone that could not say why.
    fn unreported_end(&mut self, index: usize, status: ExitStatus) {
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
    fn end_after_report(&mut self, index: usize, status: ExitStatus) {
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
    fn blame(&mut self, text: String) {
        say!("mpirun: {text}");
        self.cause.get_or_insert(text);
    }

    /// Ends a job some of whose programs use MPI and wait for others that have ended without.
    fn notice_absent(&mut self) {
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
    fn finish(&mut self) -> i32 {
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
