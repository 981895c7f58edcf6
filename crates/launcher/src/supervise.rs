//! Watches a running job: passes signals on, shows reports, and settles the exit code.
//!
//! One loop over three sources: signals (read from a descriptor), reports from the node process, and the clock. The
//! node process says how the job ended; what it could not say (it was killed) its wait status does.
#![allow(unsafe_code)] // signalfd, poll, kill and waitpid.

use crate::flags::Stop;
use crate::plan::Plan;
use crate::report::Printer;
use crate::spawn::Node;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};
use weft_base::job::{Report, Request};

/// How long the node process may take to go once the job has ended; then it is killed.
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

struct Supervisor {
    node: Node,
    printer: Printer,
    pending: Vec<u8>,
    /// The job's exit code, once known.
    code: Option<i32>,
    /// When to kill the node process.
    kill_at: Option<Instant>,
    /// When to ask what the ranks are doing and give up.
    timeout_at: Option<Instant>,
    timeout: Option<Duration>,
    control_open: bool,
    killed: bool,
    signalled: Option<i32>,
    findings_fail: bool,
}

/// Watches a job until its process is gone; returns the exit code.
///
/// # Errors
/// System calls that failed.
pub fn supervise(node: Node, plan: &Plan) -> Result<i32, Stop> {
    let set = signal_set();
    // SAFETY: a signal set; the result is a new descriptor of ours.
    let signals = unsafe {
        let fd = libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if fd < 0 {
            return Err(Stop::new(1, format!("signalfd: {}", std::io::Error::last_os_error())));
        }
        OwnedFd::from_raw_fd(fd)
    };
    let _ = node.control.set_nonblocking(true);
    let mut supervisor = Supervisor {
        node,
        printer: Printer::default(),
        pending: Vec::new(),
        code: None,
        kill_at: None,
        timeout_at: plan.timeout.map(|timeout| Instant::now() + timeout),
        timeout: plan.timeout,
        control_open: true,
        killed: false,
        signalled: None,
        findings_fail: plan.findings_fail,
    };
    supervisor.run(&signals)
}

impl Supervisor {
    fn run(&mut self, signals: &OwnedFd) -> Result<i32, Stop> {
        loop {
            let mut sources =
                [(signals.as_raw_fd(), true), (self.node.control.as_raw_fd(), self.control_open)].map(
                    |(fd, open)| libc::pollfd {
                        fd: if open { fd } else { -1 },
                        events: libc::POLLIN,
                        revents: 0,
                    },
                );
            let deadline = [self.kill_at, self.timeout_at].into_iter().flatten().min();
            // Rounded up, so that the loop does not spin in the last millisecond.
            let wait_ms = deadline.map_or(-1, |at| {
                at.saturating_duration_since(Instant::now()).as_millis().min(1_000_000) as i32 + 1
            });
            // SAFETY: an array of two on the stack.
            unsafe { libc::poll(sources.as_mut_ptr(), 2, wait_ms) };
            if sources[1].revents != 0 {
                self.read_reports();
            }
            if sources[0].revents != 0 {
                self.read_signals(signals);
                if let Ok(Some(status)) = self.node.child.try_wait() {
                    self.read_reports();
                    return Ok(self.finish(status));
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

    fn kill(&mut self) {
        self.killed = true;
        self.kill_at = None;
        let _ = self.node.child.kill();
    }

    /// The time is over: the ranks' states are printed when they arrive, then the job is killed.
    fn give_up(&mut self) {
        self.timeout_at = None;
        let seconds = self.timeout.unwrap_or_default().as_secs_f64();
        eprintln!("mpirun: the job did not end within {seconds} s (--timeout)");
        self.settle(TIMED_OUT, GRACE);
        if let Ok(mut request) = serde_json::to_vec(&Request::DescribeRanks) {
            request.push(b'\n');
            let _ = self.node.control.write_all(&request);
        }
    }

    /// Notes the job's exit code, if none is known yet, and gives the node process time to go.
    fn settle(&mut self, code: i32, grace: Duration) {
        self.code.get_or_insert(code);
        self.kill_at.get_or_insert(Instant::now() + grace);
    }

    fn send(&self, signal: i32) {
        // SAFETY: the child has not been waited for, so the number is still its own.
        unsafe { libc::kill(self.node.child.id() as i32, signal) };
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
                self.send(signal);
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
        eprintln!("mpirun: got {}; ending the job", crate::report::signal_name(signal));
        // A terminal sends its signals to the whole process group: the ranks have it already.
        if code <= 0 {
            self.send(signal);
        }
        self.settle(128 + signal, SIGNAL_GRACE);
    }

    fn read_reports(&mut self) {
        let mut buffer = [0; 16384];
        loop {
            match self.node.control.read(&mut buffer) {
                Ok(0) => {
                    self.control_open = false;
                    return;
                }
                Ok(length) => self.pending.extend_from_slice(&buffer[..length]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            }
            while let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.pending.drain(..=end).collect();
                match serde_json::from_slice(&line) {
                    Ok(report) => self.report(report),
                    Err(error) => eprintln!("mpirun: a report that makes no sense ({error})"),
                }
            }
        }
    }

    fn report(&mut self, report: Report) {
        if self.code.is_none()
            || matches!(
                report,
                Report::Frame { .. } | Report::CrashEnd | Report::Ranks { .. } | Report::Finding { .. }
            )
        {
            self.printer.print(&report);
        }
        match report {
            Report::Crash { signal, .. } => self.settle(128 + signal, GRACE),
            Report::Abort { code, .. } | Report::RankFailed { code, .. } => self.settle(code & 0xff, GRACE),
            Report::Deadlock { .. } => self.settle(DEADLOCK, GRACE),
            Report::Failed { .. } => self.settle(1, GRACE),
            Report::Ended { code } => self.settle(code & 0xff, GRACE),
            Report::Ranks { .. } => self.kill(),
            Report::Frame { .. } | Report::CrashEnd | Report::Finding { .. } => {}
        }
    }

    /// The node process is gone: says what it could not say itself.
    fn finish(&mut self, status: std::process::ExitStatus) -> i32 {
        use std::os::unix::process::ExitStatusExt;
        self.printer.finish();
        self.printer.sum_up();
        if let Some(code) = self.code {
            let fails = code == 0 && self.findings_fail && self.printer.findings() > 0;
            return if fails { FINDINGS } else { code };
        }
        match (status.signal(), status.code()) {
            (Some(signal), _) => {
                let name = crate::report::signal_name(signal);
                let remedy = if signal == libc::SIGKILL && !self.killed {
                    "; somebody killed it, or the system ran out of memory"
                } else {
                    ""
                };
                eprintln!("mpirun: the process of the ranks ended by {name}{remedy}");
                128 + signal
            }
            (None, code) => {
                let code = code.unwrap_or(1);
                eprintln!("mpirun: the process of the ranks ended with exit code {code} and no report");
                if code == 0 { 1 } else { code }
            }
        }
    }
}
