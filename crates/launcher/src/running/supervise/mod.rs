//! Watches a running job: passes signals on, shows reports, and settles the exit code.
//!
//! One loop over signals (read from a descriptor), the node processes of this host ([`Local`]), the agents of others
//! ([`Branch`]), standard input where rank 0 is elsewhere, and the clock. A node process says how its part of the job ended;
//! what it could not say (it was killed) its wait status does.
//!
//! - `reports`: what node processes say, and what follows from it. `endings`: how the job ends, and with which code.
//! - `others`: what passes between this host and the agents of others.
#![allow(unsafe_code)] // poll.

mod endings;
mod others;
mod reports;

use crate::agents::absence::Absence;
use crate::agents::branch::Branch;
use crate::agents::errand::{self, Errand, Kind};
use crate::agents::wire::{self, ALL, Frame, ITSELF};
use crate::command_line::plan::Plan;
use crate::command_line::stop::Stop;
use crate::reports::census::{Census, Member};
use crate::reports::report::Printer;
use crate::running::held::Held;
use crate::running::local::{ENDING, FORWARDED, Local, Signals};
use crate::running::names::Names;
use crate::running::offspring::{Answer, Offspring};
use crate::running::output::{Forwarder, Speaker};
use crate::running::spawn::{self, Streams};
use others::{INPUT_WINDOW, Input, may_read_input};
use std::time::{Duration, Instant};
use weft_base::job::{Job, RankState, Request};

/// How long agents may take to end once the job is over.
const END_LIMIT: Duration = Duration::from_millis(1000);

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
}
