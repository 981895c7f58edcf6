//! Watches a running job: passes signals on, shows reports, and settles the exit code.
//!
//! One loop over three sources: signals (read from a descriptor), reports from the node processes, and the clock. A node
//! process says how its part of the job ended; what it could not say (it was killed) its wait status does.
#![allow(unsafe_code)] // signalfd, poll and kill.

use crate::census::{Census, Member, Next, Rest};
use crate::flags::Stop;
use crate::output::Forwarder;
use crate::plan::{Kind, Plan};
use crate::report::{Printer, signal_name};
use crate::spawn::Node;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};
use weft_base::job::{RankState, Report, Request};

/// How long node processes may take to go once the job has ended; then they are killed.
const GRACE: Duration = Duration::from_millis(700);
/// How long a program that handles SIGTERM or SIGINT itself may take.
const SIGNAL_GRACE: Duration = Duration::from_secs(3);
/// Exit code after `--timeout`.
const TIMED_OUT: i32 = 124;
/// Exit code of a job that ended because no rank could go on.
const DEADLOCK: i32 = 125;
/// Exit code of a job that would have ended with 0, if `--check=error` found something.
const FINDINGS: i32 = 123;

const ENDING: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];
const FORWARDED: [i32; 3] = [libc::SIGUSR1, libc::SIGUSR2, libc::SIGCONT];

/// Returns the signals the loop reads from its descriptor.
pub fn signal_set() -> libc::sigset_t {
    // SAFETY: a signal set on the stack.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in ENDING.into_iter().chain(FORWARDED).chain([libc::SIGCHLD]) {
            libc::sigaddset(&mut set, signal);
        }
        set
    }
}

/// A node process under watch.
struct Watched {
    node: Node,
    kind: Kind,
    /// The begin of a report.
    pending: Vec<u8>,
    is_open: bool,
    /// It takes part in the job. Until then a program may be one that has nothing to do with MPI.
    is_attached: bool,
    /// It has said how its part of the job ended.
    has_reported: bool,
    /// It has ended.
    status: Option<ExitStatus>,
}

struct Supervisor {
    nodes: Vec<Watched>,
    printer: Printer,
    /// The job's exit code, once it is known that the job ends.
    code: Option<i32>,
    /// The first code other than 0 with which ranks ended that had done with MPI.
    late_code: Option<i32>,
    /// When to kill the node processes.
    kill_at: Option<Instant>,
    /// When to ask what the ranks are doing and give up.
    timeout_at: Option<Instant>,
    timeout: Option<Duration>,
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
}

/// Watches a job until its processes are gone; returns the exit code.
///
/// # Errors
/// System calls that failed.
pub fn supervise(nodes: Vec<Node>, plan: &Plan) -> Result<i32, Stop> {
    let set = signal_set();
    // SAFETY: a signal set; the result is a new descriptor of ours.
    let signals = unsafe {
        let fd = libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if fd < 0 {
            return Err(Stop::new(1, format!("signalfd: {}", std::io::Error::last_os_error())));
        }
        OwnedFd::from_raw_fd(fd)
    };
    let mut nodes = nodes;
    let forwarder = match &plan.output {
        Some(output) => Some(Forwarder::start(output, &mut nodes)?),
        None => None,
    };
    let watch = |(node, planned): (Node, &crate::plan::NodeProcess)| {
        let _ = node.control.set_nonblocking(true);
        Watched {
            node,
            kind: planned.kind,
            pending: Vec::new(),
            is_open: true,
            is_attached: planned.kind == Kind::Threads,
            has_reported: false,
            status: None,
        }
    };
    let first = |kind| if kind == Kind::Threads { Member::Busy } else { Member::Absent };
    let mut supervisor = Supervisor {
        nodes: nodes.into_iter().zip(&plan.nodes).map(watch).collect(),
        printer: Printer::default(),
        code: None,
        late_code: None,
        kill_at: None,
        timeout_at: plan.timeout.map(|timeout| Instant::now() + timeout),
        timeout: plan.timeout,
        asked: 0,
        states: Vec::new(),
        is_deadlock: false,
        census: Census::new(plan.nodes.iter().map(|node| first(node.kind)).collect()),
        killed: false,
        signalled: None,
        findings_fail: plan.findings_fail,
    };
    let code = supervisor.run(&signals);
    let is_complete = forwarder.is_none_or(Forwarder::finish);
    Ok(if code == 0 && !is_complete { 1 } else { code })
}

impl Watched {
    fn is_alive(&self) -> bool {
        self.status.is_none()
    }

    fn send(&self, signal: i32) {
        if self.is_alive() {
            // SAFETY: the child has not been waited for, so the number is still its own.
            unsafe { libc::kill(self.node.child.id() as i32, signal) };
        }
    }

    /// Reads what has come; returns the reports.
    fn read(&mut self) -> Vec<Report> {
        let mut buffer = [0; 16384];
        while self.is_open {
            match self.node.control.read(&mut buffer) {
                Ok(0) => self.is_open = false,
                Ok(length) => self.pending.extend_from_slice(&buffer[..length]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        let Some(end) = self.pending.iter().rposition(|byte| *byte == b'\n') else { return Vec::new() };
        let lines: Vec<u8> = self.pending.drain(..=end).collect();
        let mut reports = Vec::new();
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match serde_json::from_slice(line) {
                Ok(report) => reports.push(report),
                Err(error) => eprintln!("mpirun: a report that makes no sense ({error})"),
            }
        }
        reports
    }
}

impl Supervisor {
    fn run(&mut self, signals: &OwnedFd) -> i32 {
        loop {
            let source = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
            let mut sources = vec![source(signals.as_raw_fd())];
            let fd = |node: &Watched| if node.is_open { node.node.control.as_raw_fd() } else { -1 };
            sources.extend(self.nodes.iter().map(|node| source(fd(node))));
            let deadline = [self.kill_at, self.timeout_at].into_iter().flatten().min();
            // Rounded up, so that the loop does not spin in the last millisecond.
            let wait_ms = deadline.map_or(-1, |at| {
                at.saturating_duration_since(Instant::now()).as_millis().min(1_000_000) as i32 + 1
            });
            // SAFETY: an array that lives through the call.
            unsafe { libc::poll(sources.as_mut_ptr(), sources.len() as libc::nfds_t, wait_ms) };
            for (index, source) in sources[1..].iter().enumerate() {
                if source.revents != 0 {
                    self.read_reports(index);
                }
            }
            if sources[0].revents != 0 {
                self.read_signals(signals);
                self.reap();
                if self.nodes.iter().all(|node| !node.is_alive()) {
                    return self.finish();
                }
            }
            let now = Instant::now();
            if self.kill_at.is_some_and(|at| at <= now) {
                self.kill();
            }
            if self.timeout_at.is_some_and(|at| at <= now) {
                self.give_up();
            }
        }
    }

    fn alive(&mut self) -> impl Iterator<Item = &mut Watched> {
        self.nodes.iter_mut().filter(|node| node.is_alive())
    }

    fn kill(&mut self) {
        let mut ranks = std::mem::take(&mut self.states);
        if !ranks.is_empty() {
            ranks.sort_by_key(|state| state.rank);
            self.printer.print(&Report::Ranks { ranks });
        }
        self.killed = true;
        self.kill_at = None;
        for node in self.alive() {
            let _ = node.node.child.kill();
        }
    }

    /// The time is over: the ranks' states are printed when they arrive, then the job is killed.
    fn give_up(&mut self) {
        self.timeout_at = None;
        let seconds = self.timeout.unwrap_or_default().as_secs_f64();
        eprintln!("mpirun: the job did not end within {seconds} s (--timeout)");
        self.code.get_or_insert(TIMED_OUT);
        self.kill_at.get_or_insert(Instant::now() + GRACE);
        self.asked = self.ask(&Request::DescribeRanks);
        if self.asked == 0 {
            self.kill();
        }
    }

    /// Sends a request to all that take part; returns to how many.
    fn ask(&mut self, request: &Request) -> usize {
        let Ok(mut line) = serde_json::to_vec(request) else { return 0 };
        line.push(b'\n');
        let ask = |node: &mut Watched| node.is_attached && node.node.control.write_all(&line).is_ok();
        self.alive().map(ask).filter(|asked| *asked).count()
    }

    /// Goes on with the census.
    fn count(&mut self, next: Next) {
        match next {
            // One node process sees its deadlocks itself.
            _ if self.code.is_some() || self.nodes.len() == 1 => {}
            Next::Wait => {}
            Next::Ask(round) => {
                self.ask(&Request::Census { round });
            }
            Next::Deadlock => {
                self.is_deadlock = true;
                self.code = Some(DEADLOCK);
                self.kill_at = Some(Instant::now() + GRACE);
                self.asked = self.ask(&Request::DescribeRanks);
            }
        }
    }

    /// All have said what their ranks are doing.
    fn end_deadlock(&mut self) {
        let mut ranks = std::mem::take(&mut self.states);
        ranks.sort_by_key(|state| state.rank);
        self.printer.print(&Report::Deadlock { ranks });
        self.is_deadlock = false;
        self.kill_at = Some(Instant::now() + GRACE);
        self.ask(&Request::End { code: DEADLOCK });
    }

    /// Notes the job's exit code, if none is known yet, and gives the node processes time to go.
    fn settle(&mut self, code: i32, grace: Duration) {
        if self.code.is_none() && self.nodes.len() > 1 {
            // They do not know of each other's end.
            self.alive().filter(|node| !node.has_reported).for_each(|node| node.send(libc::SIGTERM));
        }
        self.code.get_or_insert(code);
        self.kill_at.get_or_insert(Instant::now() + grace);
    }

    fn read_signals(&mut self, signals: &OwnedFd) {
        loop {
            // SAFETY: plain data, for which zeros are valid; the descriptor is ours and does not block.
            let (length, information) = unsafe {
                let mut information: libc::signalfd_siginfo = std::mem::zeroed();
                let size = size_of_val(&information);
                (libc::read(signals.as_raw_fd(), (&raw mut information).cast(), size), information)
            };
            if length <= 0 {
                return;
            }
            let signal = information.ssi_signo as i32;
            if FORWARDED.contains(&signal) {
                self.nodes.iter().for_each(|node| node.send(signal));
            } else if ENDING.contains(&signal) {
                self.end_by(signal, information.ssi_code);
            }
        }
    }

    fn end_by(&mut self, signal: i32, code: i32) {
        if self.signalled.replace(signal).is_some() {
            self.kill();
            return;
        }
        eprintln!("mpirun: got {}; ending the job", signal_name(signal));
        // A terminal sends its signals to the whole process group: the ranks have it already.
        if code <= 0 {
            self.nodes.iter().for_each(|node| node.send(signal));
        }
        self.code.get_or_insert(128 + signal);
        self.kill_at.get_or_insert(Instant::now() + SIGNAL_GRACE);
    }

    fn read_reports(&mut self, index: usize) {
        for report in self.nodes[index].read() {
            self.report(index, report);
        }
    }

    fn report(&mut self, index: usize, report: Report) {
        if self.code.is_none()
            || matches!(report, Report::Frame { .. } | Report::CrashEnd | Report::Finding { .. })
        {
            self.printer.print(&report);
        }
        let node = &mut self.nodes[index];
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
                let next = self.census.set(index, Member::Gone);
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
            Report::Attached => {
                node.is_attached = true;
                let next = self.census.set(index, Member::Busy);
                self.count(next);
                self.notice_absent();
            }
            Report::Rests => {
                let next = self.census.set(index, Member::Resting);
                self.count(next);
            }
            Report::Census { round, rest } => {
                let rest = rest.map(|(mark, sent, received)| Rest { mark, sent, received });
                let next = self.census.answer(index, round, rest);
                self.count(next);
            }
            Report::Frame { .. } | Report::CrashEnd | Report::Finding { .. } => {}
        }
    }

    /// Notes which node processes are gone, and what that means for the job.
    fn reap(&mut self) {
        for index in 0..self.nodes.len() {
            if !self.nodes[index].is_alive() {
                continue;
            }
            if let Ok(Some(status)) = self.nodes[index].node.child.try_wait() {
                self.read_reports(index);
                self.nodes[index].status = Some(status);
                if self.code.is_none() && !self.nodes[index].has_reported {
                    self.unreported_end(index, status);
                }
                let next = self.census.set(index, Member::Gone);
                self.count(next);
            }
        }
    }

    /// A node process is gone that could not say why.
    fn unreported_end(&mut self, index: usize, status: ExitStatus) {
        let node = &self.nodes[index];
        let who = match node.kind {
            Kind::Threads => "the process of the ranks".to_owned(),
            Kind::Program { rank, .. } => format!("rank {rank} on {}", crate::report::host()),
        };
        match (status.signal(), status.code().unwrap_or(1)) {
            (Some(signal), _) => {
                let name = signal_name(signal);
                let remedy = if signal == libc::SIGKILL && !self.killed {
                    "; somebody killed it, or the system ran out of memory"
                } else {
                    ""
                };
                eprintln!("mpirun: {who} ended by {name}{remedy}");
                self.settle(128 + signal, GRACE);
            }
            (None, code) if node.kind == Kind::Threads => {
                eprintln!("mpirun: {who} ended with exit code {code} and no report");
                self.settle(if code == 0 { 1 } else { code }, GRACE);
            }
            (None, 0) if !node.is_attached => self.notice_absent(),
            (None, 0) => {
                eprintln!(
                    "mpirun: {who} ended by _exit(0) without MPI_Finalize; the job ends with exit code 1"
                );
                self.settle(1, GRACE);
            }
            (None, code) => {
                eprintln!("mpirun: {who} ended with exit code {code}; the job ends with it");
                self.settle(code, GRACE);
            }
        }
    }

    /// Ends a job some of whose programs use MPI and wait for others that have ended without.
    fn notice_absent(&mut self) {
        let is_absent = |node: &&Watched| !node.is_attached && !node.is_alive();
        let absent = self.nodes.iter().find(is_absent).map(|node| node.kind);
        let waits = self.nodes.iter().any(|node| node.is_attached);
        if let (Some(Kind::Program { rank, .. }), true, None) = (absent, waits, self.code) {
            let host = crate::report::host();
            eprintln!(
                "mpirun: rank {rank} on {host} ended without calling MPI_Init, and others have called it; start only programs \
                 that use MPI, or none"
            );
            self.settle(1, GRACE);
        }
    }

    /// All node processes are gone: returns the job's exit code.
    fn finish(&mut self) -> i32 {
        self.printer.finish();
        self.printer.sum_up();
        let code = self.code.or(self.late_code).unwrap_or(0);
        let fails = code == 0 && self.findings_fail && self.printer.findings() > 0;
        if fails { FINDINGS } else { code }
    }
}
