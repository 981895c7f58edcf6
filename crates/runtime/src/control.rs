//! The socket to `mpirun`: reports go out, requests come in, and its end ends this process.

use crate::wishes;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, OnceLock, PoisonError};
use weft_base::finding;
use weft_base::job::{Report, Request};

use crate::node::{flush, leave_at_once};

/// Where to say that the process rests.
static TOLD: OnceLock<&'static Control> = OnceLock::new();

/// The socket. Reports may be sent by any thread.
#[derive(Debug)]
pub struct Control {
    socket: UnixStream,
    /// What has come and was not looked at yet.
    incoming: Mutex<BufReader<UnixStream>>,
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
        let mut incoming = self.incoming.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match next(&mut incoming) {
                Some(Ok(Request::Book { cards })) => return cards,
                // What else is asked for can wait: nobody has called MPI yet.
                Some(_) => {}
                None => leave_at_once(1),
            }
        }
    }

    /// Answers requests until `mpirun` is gone; then ends the process at once.
    pub fn serve(
        &'static self,
        mut describe: impl FnMut(bool) -> Report + Send + 'static,
    ) -> std::io::Result<()> {
        let serve = move || {
            let mut incoming = self.incoming.lock().unwrap_or_else(PoisonError::into_inner);
            while let Some(request) = next(&mut incoming) {
                match request.map(wishes::answered) {
                    Ok(Some(Request::DescribeRanks { in_full })) => self.send(&describe(in_full)),
                    Ok(Some(Request::Census { round })) => {
                        let rest = weft_sched::rest_or_tell();
                        let rest = rest.map(|rest| (rest.mark, rest.traffic.sent, rest.traffic.received));
                        self.send(&Report::Census { round, rest });
                    }
                    Ok(Some(Request::End { code })) => {
                        flush();
                        finding::tell_rest();
                        leave_at_once(code)
                    }
                    Ok(Some(Request::NotMet { port, reason })) => {
                        weft_mpi::jobs::ports::refuse(&port, reason)
                    }
                    // The book is asked for before anybody serves.
                    Ok(
                        Some(Request::Book { .. } | Request::Spawned { .. } | Request::Named { .. }) | None,
                    )
                    | Err(_) => {}
                }
            }
            leave_at_once(1)
        };
        std::thread::Builder::new().name("weft-control".into()).stack_size(128 * 1024).spawn(serve).map(drop)
    }
}

/// Reads a request; `None` if `mpirun` is gone.
fn next(incoming: &mut BufReader<UnixStream>) -> Option<serde_json::Result<Request>> {
    let mut line = String::new();
    match incoming.read_line(&mut line) {
        Ok(length) if length > 0 => Some(serde_json::from_str(&line)),
        _ => None,
    }
}
