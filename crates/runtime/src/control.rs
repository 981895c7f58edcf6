//! The socket to `mpirun`: reports go out, requests come in, and its end ends this process.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use weft_base::job::{Report, Request};

/// The socket. Reports may be sent by any thread.
#[derive(Debug)]
pub struct Control {
    socket: UnixStream,
}

impl Control {
    /// Takes the inherited socket.
    pub fn new(fd: OwnedFd) -> Self {
        Self { socket: UnixStream::from(fd) }
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

    /// Answers requests until `mpirun` is gone; then ends the process at once.
    pub fn serve(
        &'static self,
        mut answer: impl FnMut(Request) -> Report + Send + 'static,
    ) -> std::io::Result<()> {
        let socket = self.socket.try_clone()?;
        let serve = move || {
            for line in BufReader::new(socket).lines() {
                let Ok(line) = line else { break };
                if let Ok(request) = serde_json::from_str(&line) {
                    self.send(&answer(request));
                }
            }
            crate::node::leave_at_once(1)
        };
        std::thread::Builder::new().name("weft-control".into()).stack_size(128 * 1024).spawn(serve).map(drop)
    }
}
