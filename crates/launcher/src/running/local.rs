//! The node processes of this host: what they report, and how they end.
#![allow(unsafe_code)] // signalfd and kill.

use crate::agents::wire::ALL;
use crate::command_line::stop::Stop;
use crate::running::spawn::Node;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::process::ExitStatus;

/// Signals that end a job.
pub const ENDING: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];
/// Signals that are passed on to all ranks.
pub const FORWARDED: [i32; 3] = [libc::SIGUSR1, libc::SIGUSR2, libc::SIGCONT];

/// Returns the signals that are read from a descriptor.
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

/// The signals of this process, read from a descriptor.
#[derive(Debug)]
pub struct Signals(OwnedFd);

impl Signals {
    /// Makes the descriptor. The signals must be blocked before the first child is started, so that its end cannot be
    /// missed.
    ///
    /// # Errors
    /// The system call that failed.
    pub fn open() -> Result<Self, Stop> {
        let set = signal_set();
        // SAFETY: a signal set; the result is a new descriptor of ours. The calling thread's mask changes.
        unsafe {
            libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
            let fd = libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if fd < 0 {
                return Err(Stop::new(1, format!("signalfd: {}", std::io::Error::last_os_error())));
            }
            Ok(Self(OwnedFd::from_raw_fd(fd)))
        }
    }

    /// Returns what to poll.
    pub fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Returns the signals that have come, each with its code.
    pub fn take(&self) -> Vec<(i32, i32)> {
        let mut found = Vec::new();
        loop {
            // SAFETY: plain data, for which zeros are valid; the descriptor is ours and does not block.
            let (length, information) = unsafe {
                let mut information: libc::signalfd_siginfo = std::mem::zeroed();
                let size = size_of_val(&information);
                (libc::read(self.fd(), (&raw mut information).cast(), size), information)
            };
            if length <= 0 {
                return found;
            }
            found.push((information.ssi_signo as i32, information.ssi_code));
        }
    }
}

/// A node process under watch.
#[derive(Debug)]
struct Watched {
    node: Node,
    /// The begin of a report.
    pending: Vec<u8>,
    is_open: bool,
    is_alive: bool,
}

/// What a node process did.
#[derive(Debug)]
pub enum Event {
    /// It reports: a line.
    Report(u32, Vec<u8>),
    /// It is gone.
    Ended(u32, ExitStatus),
}

/// The node processes of this host.
#[derive(Debug, Default)]
pub struct Local {
    nodes: Vec<Watched>,
}

impl Local {
    /// Watches node processes.
    pub fn watch(nodes: Vec<Node>) -> Self {
        let watch = |node: Node| {
            let _ = node.control.set_nonblocking(true);
            Watched { node, pending: Vec::new(), is_open: true, is_alive: true }
        };
        Self { nodes: nodes.into_iter().map(watch).collect() }
    }

    /// Returns what to poll for reports, one for each node process.
    pub fn sources(&self) -> impl Iterator<Item = RawFd> {
        self.nodes.iter().map(|node| if node.is_open { node.node.control.as_raw_fd() } else { -1 })
    }

    /// Tells whether some are still there.
    pub fn any_alive(&self) -> bool {
        self.nodes.iter().any(|node| node.is_alive)
    }

    /// Reads what the node process at this place has reported.
    pub fn read(&mut self, place: usize) -> Vec<Event> {
        self.nodes[place].read()
    }

    /// Finds out which node processes are gone; their last reports come before.
    pub fn reap(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        for node in self.nodes.iter_mut().filter(|node| node.is_alive) {
            if let Ok(Some(status)) = node.node.child.try_wait() {
                events.extend(node.read());
                node.is_alive = false;
                events.push(Event::Ended(node.node.number, status));
            }
        }
        events
    }

    fn those(&self, number: u32) -> impl Iterator<Item = &Watched> {
        self.nodes.iter().filter(move |node| node.is_alive && (number == ALL || node.node.number == number))
    }

    /// Sends a signal to a node process, or to [`ALL`].
    pub fn signal(&self, number: u32, signal: i32) {
        for node in self.those(number) {
            // SAFETY: the child has not been waited for, so the number is still its own.
            unsafe { libc::kill(node.node.child.id() as i32, signal) };
        }
    }

    /// Sends a request, as a line, to a node process or to [`ALL`].
    pub fn request(&self, number: u32, line: &[u8]) {
        for node in self.those(number) {
            let mut rest = line;
            while !rest.is_empty() {
                match (&node.node.control).write(rest) {
                    Ok(length) => rest = &rest[length..],
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                        wait_for_room(&node.node.control)
                    }
                    // It is about to be reaped.
                    Err(_) => break,
                }
            }
        }
    }

    /// Kills all.
    pub fn kill(&self) {
        self.signal(ALL, libc::SIGKILL);
    }
}

/// Waits a moment until a socket takes more.
fn wait_for_room(socket: &impl AsRawFd) {
    let mut source = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
    // SAFETY: one entry that lives through the call.
    unsafe { libc::poll(&mut source, 1, 100) };
}

impl Watched {
    /// Reads what has come; returns the reports.
    fn read(&mut self) -> Vec<Event> {
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
        let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| Event::Report(self.node.number, line.to_vec())).collect()
    }
}
