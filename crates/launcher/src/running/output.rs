//! Passes on the output of ranks that is told apart, or of other hosts, line by line: with the rank or the time before each
//! line, or into a file for each rank.
//!
//! One thread reads the pipes of this host and takes what other hosts send, so that a terminal that is held up does not keep
//! `mpirun` from watching the job. A line is written in one piece, so lines of different ranks never mix. What another
//! host has sent is reported once it is written: only so much may be on its way.
#![allow(unsafe_code)] // poll.

use crate::command_line::{line::Output, stop::Stop};
use crate::running::bell::Bell;
use crate::running::inlets::Outlet;
use crate::running::spawn::Node;
use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use weft_base::say;

/// How long to wait for the rest of the output once all ranks have ended: something they have started may hold their pipes.
const REST: Duration = Duration::from_millis(500);
/// A line longer than this is passed on in parts.
const LONGEST_LINE: usize = 1 << 20;
/// How long the begin of a line of another host waits for the rest, where nothing stands before lines.
const PATIENCE_MS: i32 = 100;

/// Where the output of one rank goes.
enum Target {
    Terminal,
    File(File, String),
}

/// One of the two streams of a node process, or of a rank.
struct Stream {
    source: Option<File>,
    speaker: u32,
    label: Option<u32>,
    is_error: bool,
    is_distant: bool,
    /// The begin of a line.
    pending: Vec<u8>,
    target: Target,
}

/// Whose output is passed on.
#[derive(Debug, Clone)]
pub struct Speaker {
    /// The node process, or what else tells speakers apart: see [`Kind::Output`](crate::agents::wire::Kind::Output).
    pub number: u32,
    /// What stands before its lines, and in the names of its files: the rank. None has neither.
    pub label: Option<u32>,
    /// The name of its host.
    pub host: String,
    /// Whether it is on another host.
    pub is_distant: bool,
}

/// What other hosts have sent, on its way to the thread, and what has become of it.
struct Mail {
    has_come: Bell,
    pieces: Mutex<(Vec<Piece>, bool)>,
    written: Mutex<Vec<(u32, usize)>>,
    has_written: Bell,
    /// How many pieces have not been written.
    left: AtomicUsize,
}

struct Piece {
    speaker: u32,
    is_error: bool,
    bytes: Vec<u8>,
}

/// The thread that passes on the output.
pub struct Forwarder {
    thread: JoinHandle<bool>,
    done: Receiver<()>,
    mail: Arc<Mail>,
}

/// Returns the name of a rank's file.
fn name(pattern: &str, rank: u32, host: &str) -> String {
    let has_rank = pattern.contains("%r");
    let name = pattern.replace("%r", &rank.to_string()).replace("%h", host);
    if has_rank { name } else { format!("{name}.{rank}") }
}

fn create(name: String) -> Result<Target, Stop> {
    match File::create(&name) {
        Ok(file) => Ok(Target::File(file, name)),
        Err(error) => Err(Stop::new(1, format!("{name}: cannot be created: {error}"))),
    }
}

impl Forwarder {
    /// Takes the pipes of this host's node processes and begins.
    ///
    /// # Errors
    /// Names a file that cannot be created.
    pub fn start(output: &Output, speakers: &[Speaker], nodes: &mut [Node]) -> Result<Self, Stop> {
        let mut streams = Vec::new();
        let outlets = nodes.iter_mut().flat_map(|node| node.outputs.drain(..));
        let mut outlets: HashMap<u32, Outlet> = outlets.map(|outlet| (outlet.speaker, outlet)).collect();
        for speaker in speakers {
            let pipes = outlets.remove(&speaker.number);
            if pipes.is_none() && !speaker.is_distant {
                continue;
            }
            let file = |pattern: &Option<String>| match (pattern, speaker.label) {
                (Some(pattern), Some(label)) => create(name(pattern, label, &speaker.host)),
                _ => Ok(Target::Terminal),
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
            let (out, error) = pipes
                .map_or((None, None), |pipes| (Some(File::from(pipes.out)), Some(File::from(pipes.error))));
            for (source, is_error, target) in [(out, false, out_target), (error, true, error_target)] {
                let Speaker { number, label, is_distant, .. } = *speaker;
                streams.push(Stream {
                    source,
                    speaker: number,
                    label,
                    is_error,
                    is_distant,
                    pending: Vec::new(),
                    target,
                });
            }
        }
        let (tag, timestamp) = (output.tag, output.timestamp);
        let (done, is_done) = channel();
        let failed = |error: std::io::Error| Stop::new(1, format!("cannot pass on output: {error}"));
        let (has_come, has_written) = (Bell::new().map_err(failed)?, Bell::new().map_err(failed)?);
        let mail = Mail {
            has_come,
            pieces: Mutex::default(),
            written: Mutex::default(),
            has_written,
            left: AtomicUsize::new(0),
        };
        let mail = Arc::new(mail);
        let theirs = Arc::clone(&mail);
        let run = move || {
            let is_complete = run(streams, &theirs, &|label| {
                label.map_or_else(String::new, |label| prefix(tag, timestamp, label))
            });
            let _ = done.send(());
            is_complete
        };
        let thread = std::thread::Builder::new().name("output".into()).spawn(run);
        let thread = thread.map_err(|error| Stop::new(1, format!("cannot start a thread: {error}")))?;
        Ok(Self { thread, done: is_done, mail })
    }

    /// Passes on what a node process of another host, or a rank in it, has written.
    pub fn pass(&self, speaker: u32, is_error: bool, bytes: Vec<u8>) {
        self.mail.left.fetch_add(1, Ordering::Relaxed);
        lock(&self.mail.pieces).0.push(Piece { speaker, is_error, bytes });
        self.mail.has_come.ring();
    }

    /// Returns what rings when something was written.
    pub fn progress(&self) -> &Bell {
        &self.mail.has_written
    }

    /// Returns how much was written since the last call, of whom on other hosts.
    pub fn written(&self) -> Vec<(u32, usize)> {
        self.mail.has_written.clear();
        std::mem::take(&mut lock(&self.mail.written))
    }

    /// Waits for the rest of the output. Returns whether all of it got where it should.
    pub fn finish(self) -> bool {
        lock(&self.mail.pieces).1 = true;
        self.mail.has_come.ring();
        loop {
            match self.done.recv_timeout(REST) {
                Ok(()) => return self.thread.join().unwrap_or(false),
                // A terminal may be slow.
                Err(_) if self.mail.left.load(Ordering::Relaxed) > 0 => {}
                // Whoever still holds the pipes is no rank.
                Err(_) => return true,
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns what stands before a line.
fn prefix(tag: bool, timestamp: bool, rank: u32) -> String {
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

/// Passes on what comes until there is no more; returns whether all of it could be written where it should be.
fn run(mut streams: Vec<Stream>, mail: &Mail, prefix: &dyn Fn(Option<u32>) -> String) -> bool {
    let key = |(place, stream): (usize, &Stream)| ((stream.speaker, stream.is_error), place);
    let places: HashMap<(u32, bool), usize> = streams.iter().enumerate().map(key).collect();
    let (mut is_complete, mut is_closed) = (true, false);
    let is_plain = prefix(Some(0)).is_empty();
    while !is_closed || streams.iter().any(|stream| stream.source.is_some()) {
        let source = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let fd = |stream: &Stream| stream.source.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        let mut sources: Vec<_> = streams.iter().map(|stream| source(fd(stream))).collect();
        sources.push(source(mail.has_come.fd()));
        let has_begun = |stream: &Stream| is_plain && stream.is_distant && !stream.pending.is_empty();
        let wait_ms = if streams.iter().any(has_begun) { PATIENCE_MS } else { -1 };
        // SAFETY: an array that lives through the call.
        let ready = unsafe { libc::poll(sources.as_mut_ptr(), sources.len() as libc::nfds_t, wait_ms) };
        if ready == 0 {
            streams
                .iter_mut()
                .filter(|stream| has_begun(stream))
                .for_each(|stream| is_complete &= stream.flush(prefix));
        }
        for (stream, source) in streams.iter_mut().zip(&sources) {
            if source.revents != 0 {
                is_complete &= stream.read(prefix);
            }
        }
        mail.has_come.clear();
        let pieces = {
            let mut pieces = lock(&mail.pieces);
            is_closed = pieces.1;
            std::mem::take(&mut pieces.0)
        };
        for piece in pieces {
            if let Some(&place) = places.get(&(piece.speaker, piece.is_error)) {
                is_complete &= streams[place].pass_on(&piece.bytes, prefix);
            }
            lock(&mail.written).push((piece.speaker, piece.bytes.len()));
            mail.left.fetch_sub(1, Ordering::Relaxed);
            mail.has_written.ring();
        }
    }
    streams
        .iter_mut()
        .filter(|stream| stream.is_distant)
        .fold(is_complete, |all, stream| stream.flush(prefix) && all)
}

impl Stream {
    /// Reads once, and writes the lines that are complete.
    fn read(&mut self, prefix: &dyn Fn(Option<u32>) -> String) -> bool {
        let mut buffer = [0; 65536];
        let length = match self.source.as_mut().map(|source| source.read(&mut buffer)) {
            Some(Ok(length)) => length,
            Some(Err(error)) if error.kind() == std::io::ErrorKind::Interrupted => return true,
            _ => 0,
        };
        if length == 0 {
            self.source = None;
            return self.flush(prefix);
        }
        self.pass_on(&buffer[..length], prefix)
    }

    /// Writes the lines that are complete with these bytes.
    fn pass_on(&mut self, bytes: &[u8], prefix: &dyn Fn(Option<u32>) -> String) -> bool {
        self.pending.extend_from_slice(bytes);
        match self.pending.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => self.write_until(end + 1, prefix),
            None if self.pending.len() > LONGEST_LINE => self.write_until(self.pending.len(), prefix),
            None => true,
        }
    }

    /// Writes what there is of a line that will not be complete, or not soon.
    fn flush(&mut self, prefix: &dyn Fn(Option<u32>) -> String) -> bool {
        // The next line, of whomever, begins on a line of its own.
        if !self.pending.is_empty() && !prefix(self.label).is_empty() {
            self.pending.push(b'\n');
        }
        self.write_until(self.pending.len(), prefix)
    }

    fn write_until(&mut self, end: usize, prefix: &dyn Fn(Option<u32>) -> String) -> bool {
        let mut text = Vec::with_capacity(end + 64);
        for line in self.pending[..end].split_inclusive(|byte| *byte == b'\n') {
            text.extend_from_slice(prefix(self.label).as_bytes());
            text.extend_from_slice(line);
        }
        self.pending.drain(..end);
        self.write(&text)
    }

    fn write(&mut self, text: &[u8]) -> bool {
        if let Target::File(file, name) = &mut self.target {
            let Err(error) = file.write_all(text) else { return true };
            say!(
                "mpirun: {name}: cannot be written ({error}); the rest of the output of rank {} comes here",
                self.label.unwrap_or_default()
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
        assert_eq!(name("out", 3, "a"), "out.3");
        assert_eq!(name("out-%r.txt", 3, "a"), "out-3.txt");
        assert_eq!(name("%h", 3, "a"), "a.3");
    }

    #[test]
    fn lines_carry_what_was_asked_for() {
        assert_eq!(prefix(false, false, 7), "");
        assert_eq!(prefix(true, false, 7), "[7] ");
        let both = prefix(true, true, 7);
        assert!(both.ends_with(" [7] ") && both.len() == "12:34:56.123456 [7] ".len(), "{both}");
    }
}
