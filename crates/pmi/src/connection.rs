//! The socket to the launcher: bytes out, lines and messages in, each with an end to the waiting.
#![allow(unsafe_code)] // Takes an inherited descriptor.

use crate::text::{LENGTH_BYTES, LONGEST, Reply, Request, message_length};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// How long a client waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For the launcher to answer.
    pub answer: Duration,
    /// For the other ranks, where all must come.
    pub others: Duration,
}

enum Socket {
    /// Any inherited socket: only what all sockets can do is done with it.
    Inherited(UnixStream),
    Connected(TcpStream),
}

/// Shows when the launcher is gone.
#[derive(Debug)]
pub struct Watch(OwnedFd);

impl Watch {
    /// Waits until the launcher has closed the connection. Reads nothing.
    pub fn wait(&self) {
        let mut source = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLRDHUP, revents: 0 };
        // SAFETY: one structure, which lives through the call. Signals interrupt it.
        while unsafe { libc::poll(&mut source, 1, -1) } < 0 {}
    }
}

/// The connection.
pub(crate) struct Connection {
    socket: Socket,
    /// What has come and was not asked for yet.
    pending: Vec<u8>,
}

impl Connection {
    /// Takes the descriptor that the launcher passed, and keeps it from the programs that this one starts.
    pub fn inherited(fd: i32) -> Result<Self, String> {
        // SAFETY: system calls on a number; they fail if it is no descriptor, or none of a socket.
        let is_socket = unsafe {
            let mut kind: libc::c_int = 0;
            let mut size = size_of_val(&kind) as libc::socklen_t;
            libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) == 0
                && libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_TYPE, (&raw mut kind).cast(), &mut size)
                    == 0
        };
        if !is_socket {
            return Err(format!(
                "PMI_FD={fd} is no open socket: what stands between the launcher and this program must leave descriptors open \
                 (Python's subprocess does with close_fds=False); unset PMI_FD to run the program alone"
            ));
        }
        // SAFETY: the launcher passed the socket to this process for this purpose; nobody else uses it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { socket: Socket::Inherited(UnixStream::from(fd)), pending: Vec::new() })
    }

    /// Connects to the place that the launcher has named.
    pub fn to(place: &str, limit: Duration) -> Result<Self, String> {
        let wrong = |error: &dyn std::fmt::Display| {
            format!("cannot connect to the launcher at PMI_PORT={place}: {error}")
        };
        let mut last = None;
        for address in place.to_socket_addrs().map_err(|error| wrong(&error))? {
            match TcpStream::connect_timeout(&address, limit) {
                Ok(socket) => return Ok(Self { socket: Socket::Connected(socket), pending: Vec::new() }),
                Err(error) => last = Some(error),
            }
        }
        Err(last.map_or_else(|| wrong(&"the name has no address"), |error| wrong(&error)))
    }

    /// Returns what shows when the launcher is gone.
    pub fn watch(&self) -> std::io::Result<Watch> {
        let socket = match &self.socket {
            Socket::Inherited(socket) => socket.as_fd(),
            Socket::Connected(socket) => socket.as_fd(),
        };
        socket.try_clone_to_owned().map(Watch)
    }

    /// Writes all of a request.
    pub fn send(&mut self, bytes: &[u8], limit: Duration) -> Result<(), String> {
        let sent = match &mut self.socket {
            Socket::Inherited(socket) => {
                socket.set_write_timeout(Some(limit)).and_then(|()| socket.write_all(bytes))
            }
            Socket::Connected(socket) => {
                socket.set_write_timeout(Some(limit)).and_then(|()| socket.write_all(bytes))
            }
        };
        sent.map_err(|error| format!("cannot write to the launcher: {error}"))
    }

    /// Waits for a line of PMI-1, the answer to `request`.
    pub fn line(&mut self, request: &str, limit: Duration) -> Result<Reply, String> {
        let until = Instant::now() + limit;
        let mut seen = 0;
        loop {
            if let Some(end) = self.pending[seen..].iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.pending.drain(..=seen + end).collect();
                return Reply::from_line(&line);
            }
            seen = self.pending.len();
            if seen > LONGEST {
                return Err(format!("the launcher's answer to {request} is longer than {LONGEST} bytes"));
            }
            self.receive(request, limit, until)?;
        }
    }

    /// Waits for a message of PMI-2, the answer to `request`.
    pub fn message(&mut self, request: &str, limit: Duration) -> Result<Reply, String> {
        let until = Instant::now() + limit;
        loop {
            if let Some((head, body)) = self.pending.split_first_chunk::<LENGTH_BYTES>() {
                let length = message_length(head)?;
                if body.len() >= length {
                    let reply = Reply::from_message(&body[..length]);
                    self.pending.drain(..LENGTH_BYTES + length);
                    return reply;
                }
            }
            self.receive(request, limit, until)?;
        }
    }

    /// Sends a request and waits for the answer: a line.
    pub fn ask_line(&mut self, request: &Request, limit: Duration) -> Result<Reply, String> {
        self.send(&request.line()?, limit)?;
        self.line(request.command(), limit)
    }

    fn receive(&mut self, request: &str, limit: Duration, until: Instant) -> Result<(), String> {
        let late = || format!("the launcher has not answered {request} within {} s", limit.as_secs_f64());
        let mut buffer = [0; 4096];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(late());
            }
            let read = match &mut self.socket {
                Socket::Inherited(socket) => {
                    socket.set_read_timeout(Some(left)).and_then(|()| socket.read(&mut buffer))
                }
                Socket::Connected(socket) => {
                    socket.set_read_timeout(Some(left)).and_then(|()| socket.read(&mut buffer))
                }
            };
            match read {
                Ok(0) => {
                    return Err(format!("the launcher closed the connection instead of answering {request}"));
                }
                Ok(length) => {
                    self.pending.extend_from_slice(&buffer[..length]);
                    return Ok(());
                }
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut
                    ) => {}
                Err(error) => return Err(format!("cannot read the launcher's answer to {request}: {error}")),
            }
        }
    }
}
