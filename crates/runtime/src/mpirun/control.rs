//! The socket to `mpirun`: reports go out, requests come in, and its end ends this process.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use weft_base::job::{Report, Request};

use crate::leaving::leave_at_once;

/// Where to say that the process rests.
static TOLD: OnceLock<&'static Control> = OnceLock::new();

/// The socket. Reports may be sent by any thread.
#[derive(Debug)]
pub struct Control {
    socket: UnixStream,
    /// What has come and was not looked at yet.
    incoming: Mutex<BufReader<UnixStream>>,
}

/// Requests that come.
pub struct Requests<'a>(MutexGuard<'a, BufReader<UnixStream>>);

impl Iterator for Requests<'_> {
    type Item = serde_json::Result<Request>;

    /// Waits for the next request; there is none any more when `mpirun` is gone.
    fn next(&mut self) -> Option<Self::Item> {
        let mut line = String::new();
        match self.0.read_line(&mut line) {
            Ok(length) if length > 0 => Some(serde_json::from_str(&line)),
            _ => None,
        }
    }
}

impl Control {
    /// Takes the inherited socket.
    ///
    /// # Errors
    /// There is no descriptor for a second name of the socket.
    pub fn new(fd: OwnedFd) -> std::io::Result<Self> {
        let socket = UnixStream::from(fd);
        let incoming = Mutex::new(BufReader::new(socket.try_clone()?));
        Ok(Self { socket, incoming })
    }

    /// Returns the descriptor, for the handler of crashes.
    pub fn fd(&self) -> i32 {
        self.socket.as_raw_fd()
    }

    /// Sends a report. If `mpirun` is gone, so will this process be in a moment.
    pub fn send(&self, report: &Report) {
        if let Ok(mut line) = serde_json::to_vec(report) {
            line.push(b'\n');
            let _ = (&self.socket).write_all(&line);
        }
    }

    /// Says when the process rests.
    pub fn tell_of_rest(&'static self) {
        if TOLD.set(self).is_ok() {
            weft_sched::on_rest(|_| {
                if let Some(control) = TOLD.get() {
                    control.send(&Report::Rests);
                }
            });
        }
    }

    /// Waits until `mpirun` says how all node processes can be reached: the text of their cards, by their numbers. Ends the process if `mpirun` is gone.
    pub fn book(&self) -> Vec<String> {
        for request in self.requests() {
            // What else is asked for can wait: nobody has called MPI yet.
            if let Ok(Request::Book { cards }) = request {
                return cards;
            }
        }
        leave_at_once(1)
    }

    /// Returns the requests, for the one who reads them.
    pub fn requests(&self) -> Requests<'_> {
        Requests(self.incoming.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
