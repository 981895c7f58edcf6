//! What runs on another host on behalf of `mpirun`: `mpirun --agent`, started by ssh or the like.
//!
//! It gets its errand on standard input, starts the node processes of its host, asks further hosts, and passes everything on in
//! both directions. It ends with its input, when nothing has come for too long, or when it is killed, and its node processes
//! end with it. A second process, the guard, kills it if it stops without ending.
#![allow(unsafe_code)] // fork, poll and signals.

use crate::agents::absence::Absence;
use crate::agents::branch::Branch;
use crate::agents::errand::{self, Errand};
use crate::agents::link::Link;
use crate::agents::wire::{Frame, Frames, Kind, PREAMBLE};
use crate::command_line::stop::Stop;
use crate::running::local::{ENDING, Event, Local, Signals};
use crate::running::spawn::{self, Streams};
use crate::tools::install::Installation;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

/// How much output may be on its way to whoever writes it.
pub const WINDOW: usize = 1 << 20;
/// How much may wait for room before reports are left where they are.
const MOST_WAITING: usize = 8 << 20;
/// How long an agent waits for its errand.
const ERRAND_LIMIT: Duration = Duration::from_secs(60);
/// How long to wait for the rest of the output once all ranks have ended: something they started may hold their pipes.
const REST: Duration = Duration::from_millis(500);
/// How long those it has asked may take to end.
const END_LIMIT: Duration = Duration::from_millis(300);

/// A stream of a node process, or of a rank in it.
struct Output {
    /// Whose it is; see [`Kind::Output`].
    speaker: u32,
    is_error: bool,
    source: Option<File>,
}

struct Agent {
    up: Link,
    host: u32,
    local: Local,
    branches: Vec<Branch>,
    absence: Absence,
    outputs: Vec<Output>,
    /// Bytes of output that may still be sent.
    room: usize,
    input: Option<File>,
    /// Input that has come and was not taken yet, and whether that is all.
    waiting_input: VecDeque<u8>,
    input_ends: bool,
    silence: Duration,
    next_beat: Instant,
    /// Tells the guard that all is well.
    guard: File,
    has_started: bool,
    /// When all node processes had ended.
    ended_at: Option<Instant>,
    is_done: bool,
}

/// Is the agent of a host until the job has ended; returns the exit code.
pub fn main() -> i32 {
    match guarded() {
        Ok(guard) => match Agent::begin(guard).and_then(|mut agent| agent.run()) {
            Ok(()) => 0,
            Err(stop) => stop.print(),
        },
        Err(code) => code,
    }
}

/// Divides this process in two. The one that goes on gets the pipe on which it has to tell the other, the guard, that all is
/// well; in the guard this returns the exit code, when the first has ended.
fn guarded() -> Result<File, i32> {
    let mut ends = [0; 2];
    // SAFETY: this process has one thread; the descriptors are new and ours.
    let (beats, mut pulse) = unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) < 0 {
            return Err(1);
        }
        (OwnedFd::from_raw_fd(ends[0]), File::from_raw_fd(ends[1]))
    };
    let parent = std::process::id();
    // SAFETY: this process has one thread.
    let worker = unsafe { libc::fork() };
    match worker {
        ..0 => Err(1),
        0 => {
            drop(beats);
            spawn::end_with(parent);
            let _ = pulse.write_all(&(ERRAND_LIMIT.as_millis() as u32).to_le_bytes());
            Ok(pulse)
        }
        worker => {
            drop(pulse);
            // SAFETY: the guard has no use for them, and who reads or writes there waits for their end.
            unsafe {
                libc::close(0);
                libc::close(1);
            }
            Err(watch(worker, File::from(beats)))
        }
    }
}

/// Waits until a process ends, and kills it when nothing has come from it for as long as it has said itself.
fn watch(worker: i32, mut beats: File) -> i32 {
    let mut limit_ms = ERRAND_LIMIT.as_millis() as i32;
    let mut beat = [0; 4];
    let mut absence = Absence::new();
    loop {
        let mut source = libc::pollfd { fd: beats.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        absence.expect(Duration::from_millis(limit_ms as u64));
        // SAFETY: one entry that lives through the call.
        let ready = unsafe { libc::poll(&mut source, 1, limit_ms) };
        let missed = absence.missed();
        if ready == 0 && !missed.is_zero() {
            continue;
        }
        if ready == 0 {
            // SAFETY: the child has not been waited for.
            unsafe { libc::kill(worker, libc::SIGKILL) };
            break;
        }
        match beats.read_exact(&mut beat) {
            Ok(()) => limit_ms = i32::from_le_bytes(beat).max(1),
            Err(_) => break,
        }
    }
    let mut status = 0;
    // SAFETY: the child has not been waited for.
    unsafe { libc::waitpid(worker, &mut status, 0) };
    std::process::ExitStatus::from_raw(status).code().unwrap_or(1)
}

impl Agent {
    /// Greets, and waits for the errand.
    fn begin(guard: File) -> Result<Self, Stop> {
        let copy = |fd: std::os::fd::BorrowedFd<'_>| {
            fd.try_clone_to_owned().map_err(|error| Stop::new(1, format!("agent: {error}")))
        };
        let (source, target) = (copy(std::io::stdin().as_fd())?, copy(std::io::stdout().as_fd())?);
        let mut up = Link::new(source, target, Frames::of_starter());
        up.send_bytes(PREAMBLE);
        up.send(&Frame::new(Kind::Hello, 0, 0, env!("CARGO_PKG_VERSION")));
        Ok(Self {
            up,
            host: 0,
            local: Local::default(),
            branches: Vec::new(),
            absence: Absence::new(),
            outputs: Vec::new(),
            room: WINDOW,
            input: None,
            waiting_input: VecDeque::new(),
            input_ends: false,
            silence: ERRAND_LIMIT,
            next_beat: Instant::now(),
            guard,
            has_started: false,
            ended_at: None,
            is_done: false,
        })
    }

    fn run(&mut self) -> Result<(), Stop> {
        let signals = Signals::open()?;
        while self.up.is_open() {
            self.wait(&signals);
            let frames = self.up.read();
            match frames {
                // What has come while it started processes counts, and so does that nothing could be heard then.
                Ok(frames) if frames.is_empty() && self.up.heard.elapsed() > self.silence => break,
                Ok(frames) => frames.into_iter().for_each(|frame| self.obey(frame)),
                Err(why) => {
                    self.fail(&format!("what comes from mpirun makes no sense: {why}"));
                    break;
                }
            }
            self.read_local();
            self.read_branches();
            self.pass_on_output();
            self.feed();
            let signals = signals.take();
            if signals.iter().any(|(signal, _)| ENDING.contains(signal)) {
                break;
            }
            for event in self.local.reap() {
                self.tell(event);
            }
            self.notice_end();
            self.up.write();
            self.branches.iter_mut().for_each(|branch| branch.link.write());
            self.beat();
        }
        self.local.kill();
        let until = Instant::now() + END_LIMIT;
        self.branches.iter_mut().for_each(|branch| branch.link.close());
        self.branches.iter_mut().for_each(|branch| branch.close(until));
        // A guard that was stopped would stay.
        // SAFETY: the parent is the guard, which is there until this process has ended.
        unsafe { libc::kill(libc::getppid(), libc::SIGCONT) };
        Ok(())
    }

    /// Waits until there is something to do.
    fn wait(&mut self, signals: &Signals) {
        let source = |fd, events| libc::pollfd { fd, events, revents: 0 };
        let mut sources = vec![
            source(signals.fd(), libc::POLLIN),
            source(self.up.source(), libc::POLLIN),
            source(self.up.target(), libc::POLLOUT),
        ];
        if self.up.waiting() < MOST_WAITING {
            sources.extend(self.local.sources().map(|fd| source(fd, libc::POLLIN)));
        }
        if self.room > 0 {
            let fds = self.outputs.iter().filter_map(|output| output.source.as_ref());
            sources.extend(fds.map(|file| source(file.as_raw_fd(), libc::POLLIN)));
        }
        if let (Some(input), false) = (&self.input, self.waiting_input.is_empty()) {
            sources.push(source(input.as_raw_fd(), libc::POLLOUT));
        }
        for branch in &self.branches {
            sources.push(source(branch.link.source(), libc::POLLIN));
            sources.push(source(branch.link.target(), libc::POLLOUT));
        }
        let mut deadline = self.next_beat.min(self.up.heard + self.silence);
        deadline = self.branches.iter().filter_map(Branch::deadline).fold(deadline, Instant::min);
        if let (Some(at), false) = (self.ended_at, self.is_done) {
            deadline = deadline.min(at + REST);
        }
        let wait_ms = deadline.saturating_duration_since(Instant::now()).as_millis().min(60_000) as i32 + 1;
        self.absence.expect(Duration::from_millis(wait_ms as u64));
        // SAFETY: an array that lives through the call.
        unsafe { libc::poll(sources.as_mut_ptr(), sources.len() as libc::nfds_t, wait_ms) };
        let missed = self.absence.missed();
        self.up.heard += missed;
        self.branches.iter_mut().for_each(|branch| branch.link.heard += missed);
    }

    fn fail(&mut self, why: &str) {
        self.up.send(&Frame::new(Kind::Failed, self.host, 1, why));
        self.is_done = true;
    }

    /// Does what a frame says, and passes it on to whom it concerns.
    fn obey(&mut self, frame: Frame) {
        let behind = |branch: &&mut Branch| match frame.kind {
            Kind::Signal | Kind::Request => branch.has_node(frame.number),
            Kind::Written => branch.has_host(frame.number),
            Kind::Kill => true,
            _ => false,
        };
        self.branches.iter_mut().filter(behind).for_each(|branch| branch.link.send(&frame));
        match frame.kind {
            Kind::Order => self.start(&frame.payload),
            Kind::Input if frame.payload.is_empty() => self.input_ends = true,
            Kind::Input => self.waiting_input.extend(frame.payload),
            Kind::Signal => self.local.signal(frame.number, frame.value),
            Kind::Request => self.local.request(frame.number, &frame.payload),
            Kind::Kill => self.local.kill(),
            Kind::Written if frame.number == self.host => self.room += frame.value.max(0) as usize,
            // What agents say is not said to them.
            _ => {}
        }
    }

    /// Starts what the errand says.
    fn start(&mut self, order: &[u8]) {
        let errand: Errand = match serde_json::from_slice(order) {
            Ok(errand) if !self.has_started => errand,
            Ok(_) => return self.fail("it has an errand already"),
            Err(error) => return self.fail(&format!("the job description makes no sense: {error}")),
        };
        self.has_started = true;
        self.silence = errand.silence;
        self.next_beat = Instant::now();
        if let Err((host, stop)) = self.start_all(errand) {
            let why = stop.message.trim_end().trim_start_matches("mpirun: ").to_owned();
            self.up.send(&Frame::new(Kind::Failed, host, stop.code, why));
            self.is_done |= host == self.host;
        }
    }

    fn start_all(&mut self, mut errand: Errand) -> Result<(), (u32, Stop)> {
        let Some(site) = errand.sites.first() else { return Ok(()) };
        let host = site.host;
        self.host = host;
        let others = errand.sites.split_off(1);
        for sites in errand::divide(others, errand.width) {
            let first = sites[0].host;
            self.branches.push(Branch::start(&errand.part(sites)).map_err(|stop| (first, stop))?);
        }
        let nodes = errand.check().and_then(|()| {
            errand.fit();
            let installation = Installation::find().map_err(|error| Stop::new(1, error))?;
            spawn::start(&errand, &installation, Streams { output: true, input: true })
        });
        let mut nodes = nodes.map_err(|stop| (host, stop))?;
        for node in &mut nodes {
            for outlet in node.outputs.drain(..) {
                for (source, is_error) in [(outlet.out, false), (outlet.error, true)] {
                    let source = Some(unblocked(source));
                    self.outputs.push(Output { speaker: outlet.speaker, is_error, source });
                }
            }
            if let Some(input) = node.input.take() {
                self.input = Some(unblocked(OwnedFd::from(input)));
            }
        }
        self.local = Local::watch(nodes);
        Ok(())
    }

    fn tell(&mut self, event: Event) {
        let frame = match event {
            Event::Report(node, line) => Frame::new(Kind::Report, node, 0, line),
            Event::Ended(node, status) => Frame::new(Kind::Ended, node, status.into_raw(), []),
        };
        self.up.send(&frame);
    }

    fn read_local(&mut self) {
        if self.up.waiting() >= MOST_WAITING {
            return;
        }
        for place in 0..self.local.sources().count() {
            for event in self.local.read(place) {
                self.tell(event);
            }
        }
    }

    fn read_branches(&mut self) {
        for branch in &mut self.branches {
            match branch.read() {
                Ok(frames) => frames.iter().for_each(|frame| self.up.send(frame)),
                Err(why) => {
                    let lost = branch.hosts.iter().filter(|host| !host.is_over);
                    lost.for_each(|host| self.up.send(&Frame::new(Kind::Lost, host.host, 0, &*why)));
                    branch.give_up();
                }
            }
        }
    }

    fn pass_on_output(&mut self) {
        let mut buffer = vec![0; 1 << 16];
        for output in &mut self.outputs {
            while let (Some(source), true) = (&mut output.source, self.room > 0) {
                let most = buffer.len().min(self.room);
                match source.read(&mut buffer[..most]) {
                    Ok(0) => output.source = None,
                    Ok(length) => {
                        self.room -= length;
                        let kind = i32::from(output.is_error);
                        self.up.send(&Frame::new(Kind::Output, output.speaker, kind, &buffer[..length]));
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(_) => output.source = None,
                }
            }
        }
    }

    /// Writes standard input of rank 0.
    fn feed(&mut self) {
        let mut taken = 0;
        while let (Some(input), false) = (&mut self.input, self.waiting_input.is_empty()) {
            match input.write(self.waiting_input.as_slices().0) {
                Ok(length) => {
                    self.waiting_input.drain(..length);
                    taken += length;
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => self.input = None,
            }
        }
        if self.input.is_none() {
            // Nobody reads it any more.
            taken += self.waiting_input.len();
            self.waiting_input.clear();
        }
        if taken > 0 {
            self.up.send(&Frame::new(Kind::Taken, 0, taken as i32, []));
        }
        if self.input_ends && self.waiting_input.is_empty() {
            self.input = None;
        }
    }

    /// Says so when all node processes are gone and everything they wrote is sent.
    fn notice_end(&mut self) {
        if !self.has_started || self.is_done || self.local.any_alive() {
            return;
        }
        let ended = *self.ended_at.get_or_insert_with(Instant::now);
        let is_empty = self.outputs.iter().all(|output| output.source.is_none());
        if is_empty || self.room > 0 && ended.elapsed() >= REST {
            self.is_done = true;
            self.outputs.clear();
            self.up.send(&Frame::new(Kind::Done, self.host, 0, []));
        }
    }

    fn beat(&mut self) {
        let now = Instant::now();
        if now < self.next_beat {
            return;
        }
        self.next_beat = now + self.silence / 4;
        let _ = self.guard.write_all(&(self.silence.as_millis() as u32).to_le_bytes());
        if self.has_started {
            self.up.send(&Frame::new(Kind::Beat, 0, 0, []));
        }
        let branches = self.branches.iter_mut().filter(|branch| !branch.is_over());
        branches.for_each(|branch| branch.link.send(&Frame::new(Kind::Beat, 0, 0, [])));
    }
}

fn unblocked(fd: OwnedFd) -> File {
    // SAFETY: system calls on a descriptor of ours.
    unsafe {
        let flags = libc::fcntl(fd.as_raw_fd(), libc::F_GETFL);
        libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK);
    }
    File::from(fd)
}
