//! Passes on the output of ranks that are processes, line by line: with the rank or the time before each line, or into a
//! file for each rank.
//!
//! One thread reads all pipes, so that a terminal that is held up does not keep `mpirun` from watching the job. A line is
//! written in one piece, so lines of different ranks never mix.
#![allow(unsafe_code)] // poll.

use crate::flags::{Output, Stop};
use crate::spawn::Node;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long to wait for the rest of the output once all ranks have ended: something they have started may hold their pipes.
const REST: Duration = Duration::from_millis(500);
/// A line longer than this is passed on in parts.
const LONGEST_LINE: usize = 1 << 20;

/// Where the output of one rank goes.
enum Target {
    Terminal,
    File(File, String),
}

/// One of the two streams of a rank.
struct Stream {
    source: Option<File>,
    rank: usize,
    is_error: bool,
    /// The begin of a line.
    pending: Vec<u8>,
    target: Target,
}

/// The thread that passes on the output.
pub struct Forwarder {
    thread: JoinHandle<bool>,
    done: Receiver<()>,
}

/// Returns the name of a rank's file.
fn name(pattern: &str, rank: usize) -> String {
    let named = pattern.contains("%r") || pattern.contains("%h");
    let name = pattern.replace("%r", &rank.to_string()).replace("%h", &crate::report::host());
    if named && pattern.contains("%r") { name } else { format!("{name}.{rank}") }
}

fn create(name: String) -> Result<Target, Stop> {
    match File::create(&name) {
        Ok(file) => Ok(Target::File(file, name)),
        Err(error) => Err(Stop::new(1, format!("{name}: cannot be created: {error}"))),
    }
}

impl Forwarder {
    /// Takes the pipes of the ranks' processes and begins.
    ///
    /// # Errors
    /// Names a file that cannot be created.
    pub fn start(output: &Output, nodes: &mut [Node]) -> Result<Self, Stop> {
        let mut streams = Vec::new();
        for (rank, node) in nodes.iter_mut().enumerate() {
            let Some((out, error)) = node.output.take() else { continue };
            let file = |pattern: &Option<String>| match pattern {
                Some(pattern) => create(name(pattern, rank)),
                None => Ok(Target::Terminal),
            };
            let out_target = file(&output.out_file)?;
            let error_target = match (&out_target, &output.error_file) {
                // One file for both, with one place in it.
                (Target::File(file, name), pattern) if *pattern == output.out_file => {
                    match file.try_clone() {
                        Ok(file) => Target::File(file, name.clone()),
                        Err(error) => return Err(Stop::new(1, format!("{name}: {error}"))),
                    }
                }
                (_, pattern) => file(pattern)?,
            };
            let sources =
                [(OwnedFd::from(out), false, out_target), (OwnedFd::from(error), true, error_target)];
            for (source, is_error, target) in sources {
                let source = Some(File::from(source));
                streams.push(Stream { source, rank, is_error, pending: Vec::new(), target });
            }
        }
        let (tag, timestamp) = (output.tag, output.timestamp);
        let (done, is_done) = channel();
        let run = move || {
            let is_complete = run(streams, &|rank| prefix(tag, timestamp, rank));
            let _ = done.send(());
            is_complete
        };
        let thread = std::thread::Builder::new().name("output".into()).spawn(run);
        let thread = thread.map_err(|error| Stop::new(1, format!("cannot start a thread: {error}")))?;
        Ok(Self { thread, done: is_done })
    }

    /// Waits for the rest of the output. Returns whether all of it got where it should.
    pub fn finish(self) -> bool {
        match self.done.recv_timeout(REST) {
            Ok(()) => self.thread.join().unwrap_or(false),
            // Whoever still holds the pipes is no rank.
            Err(_) => true,
        }
    }
}

/// Returns what stands before a line.
fn prefix(tag: bool, timestamp: bool, rank: usize) -> String {
    let mut text = String::new();
    if timestamp {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let seconds = now.as_secs() % 86_400;
        let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        text += &format!("{hours:02}:{minutes:02}:{rest:02}.{:06} ", now.subsec_micros());
    }
    if tag {
        text += &format!("[{rank}] ");
    }
    text
}

/// Passes on what comes until all pipes are closed; returns whether all of it could be written where it should be.
fn run(mut streams: Vec<Stream>, prefix: &dyn Fn(usize) -> String) -> bool {
    let mut is_complete = true;
    while streams.iter().any(|stream| stream.source.is_some()) {
        let fd = |stream: &Stream| stream.source.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        let mut sources: Vec<_> = streams
            .iter()
            .map(|stream| libc::pollfd { fd: fd(stream), events: libc::POLLIN, revents: 0 })
            .collect();
        // SAFETY: an array that lives through the call.
        unsafe { libc::poll(sources.as_mut_ptr(), sources.len() as libc::nfds_t, -1) };
        for (stream, source) in streams.iter_mut().zip(sources) {
            if source.revents != 0 {
                is_complete &= stream.pass_on(prefix);
            }
        }
    }
    is_complete
}

impl Stream {
    /// Reads once, and writes the lines that are complete.
    fn pass_on(&mut self, prefix: &dyn Fn(usize) -> String) -> bool {
        let mut buffer = [0; 65536];
        let length = match self.source.as_mut().map(|source| source.read(&mut buffer)) {
            Some(Ok(length)) => length,
            Some(Err(error)) if error.kind() == std::io::ErrorKind::Interrupted => return true,
            _ => 0,
        };
        self.pending.extend_from_slice(&buffer[..length]);
        if length == 0 {
            self.source = None;
            // The next line, of whomever, begins on a line of its own.
            if self.pending.last().is_some_and(|last| *last != b'\n') && !prefix(self.rank).is_empty() {
                self.pending.push(b'\n');
            }
        }
        let end = match self.pending.iter().rposition(|byte| *byte == b'\n') {
            _ if length == 0 => self.pending.len(),
            Some(end) => end + 1,
            None if self.pending.len() > LONGEST_LINE => self.pending.len(),
            None => return true,
        };
        let mut text = Vec::with_capacity(end + 64);
        for line in self.pending[..end].split_inclusive(|byte| *byte == b'\n') {
            text.extend_from_slice(prefix(self.rank).as_bytes());
            text.extend_from_slice(line);
        }
        self.pending.drain(..end);
        self.write(&text)
    }

    fn write(&mut self, text: &[u8]) -> bool {
        if let Target::File(file, name) = &mut self.target {
            let Err(error) = file.write_all(text) else { return true };
            eprintln!(
                "mpirun: {name}: cannot be written ({error}); the rest of the output of rank {} comes here",
                self.rank
            );
            self.target = Target::Terminal;
            self.to_terminal(text);
            return false;
        }
        self.to_terminal(text);
        true
    }

    fn to_terminal(&self, text: &[u8]) {
        // Nobody reads any more if this fails: the ranks go on as they would with a closed pipe of their own.
        let _ = if self.is_error {
            std::io::stderr().lock().write_all(text)
        } else {
            let mut out = std::io::stdout().lock();
            out.write_all(text).and_then(|()| out.flush())
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_has_a_file_of_its_own() {
        assert_eq!(name("out", 3), "out.3");
        assert_eq!(name("out-%r.txt", 3), "out-3.txt");
        assert_eq!(name("%h", 3), format!("{}.3", crate::report::host()));
    }

    #[test]
    fn lines_carry_what_was_asked_for() {
        assert_eq!(prefix(false, false, 7), "");
        assert_eq!(prefix(true, false, 7), "[7] ");
        let both = prefix(true, true, 7);
        assert!(both.ends_with(" [7] ") && both.len() == "12:34:56.123456 [7] ".len(), "{both}");
    }
}
