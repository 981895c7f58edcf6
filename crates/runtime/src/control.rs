//! The socket to `mpirun`: reports go out, requests come in, and its end ends this process.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;
use weft_base::job::{Report, Request};

use crate::node::{flush, leave_at_once};

/// Where to say that the process rests.
static TOLD: OnceLock<&'static Control> = OnceLock::new();

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

    /// Answers requests until `mpirun` is gone; then ends the process at once.
    pub fn serve(
        &'static self,
        mut describe: impl FnMut() -> Report + Send + 'static,
    ) -> std::io::Result<()> {
        let socket = self.socket.try_clone()?;
        let serve = move || {
            for line in BufReader::new(socket).lines() {
                let Ok(line) = line else { break };
                match serde_json::from_str(&line) {
                    Ok(Request::DescribeRanks) => self.send(&describe()),
                    Ok(Request::Census { round }) => {
                        let rest = weft_sched::rest_or_tell();
                        let rest = rest.map(|rest| (rest.mark, rest.traffic.sent, rest.traffic.received));
                        self.send(&Report::Census { round, rest });
                    }
                    Ok(Request::End { code }) => {
                        flush();
                        leave_at_once(code)
                    }
                    Err(_) => {}
                }
            }
            leave_at_once(1)
        };
        std::thread::Builder::new().name("weft-control".into()).stack_size(128 * 1024).spawn(serve).map(drop)
    }
}
