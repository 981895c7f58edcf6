//! An agent on another host, and those behind it, as the host that has asked for them sees them.

use crate::agents::errand::Errand;
use crate::agents::link::Link;
use crate::agents::rsh;
use crate::agents::wire::{ALL, Frame, Frames, Kind};
use crate::command_line::stop::Stop;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// How long a host may take until its agent answers: names are looked up, keys asked for.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How long the command may take to end once it has closed its output, or its input is closed.
const END_LIMIT: Duration = Duration::from_millis(500);

/// A host behind a branch.
#[derive(Debug)]
pub struct Reached {
    /// Its number.
    pub host: u32,
    /// Its name.
    pub name: String,
    /// Its node processes.
    pub nodes: Vec<u32>,
    /// It has done its part, or is lost.
    pub is_over: bool,
}

/// The connection to an agent.
#[derive(Debug)]
pub struct Branch {
    child: Child,
    /// The frames to and from it.
    pub link: Link,
    /// The hosts; the agent runs on the first one.
    pub hosts: Vec<Reached>,
    command: String,
    program: String,
    silence: Duration,
    has_answered: bool,
    /// It has started what it was to start, and says so again and again since.
    has_started: bool,
    is_given_up: bool,
}

impl Branch {
    /// Starts an agent on the first host of an errand.
    ///
    /// # Errors
    /// Says which command cannot be started.
    pub fn start(errand: &Errand) -> Result<Self, Stop> {
        let program =
            std::env::current_exe().map_err(|error| Stop::new(1, format!("/proc/self/exe: {error}")))?;
        let name = &errand.sites[0].name;
        let mut command = errand.launcher.command(name, &program, rsh::OPTION);
        let shown = rsh::show(&command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        crate::running::spawn::tie(&mut command);
        let mut child = command.spawn().map_err(|error| {
            let remedy = "install it, or name another command: --launcher-exec COMMAND";
            Stop::new(1, format!("host {name}: {shown}: {error}; {remedy}"))
        })?;
        let (source, target) = child.stdout.take().zip(child.stdin.take()).expect("both are piped");
        let mut link = Link::new(OwnedFd::from(source), OwnedFd::from(target), Frames::of_agent());
        let order =
            serde_json::to_vec(errand).map_err(|error| Stop::new(1, format!("job description: {error}")))?;
        link.send(&Frame::new(Kind::Order, 0, 0, order));
        let reached = |site: &crate::agents::errand::Site| Reached {
            host: site.host,
            name: site.name.clone(),
            nodes: site.nodes.iter().map(|node| node.number).collect(),
            is_over: false,
        };
        let hosts = errand.sites.iter().map(reached).collect();
        let (silence, program) = (errand.silence, program.display().to_string());
        Ok(Self {
            child,
            link,
            hosts,
            command: shown,
            program,
            silence,
            has_answered: false,
            has_started: false,
            is_given_up: false,
        })
    }

    /// Tells whether a node process, or some of [`ALL`], is behind this branch.
    pub fn has_node(&self, node: u32) -> bool {
        node == ALL || self.hosts.iter().any(|host| host.nodes.contains(&node))
    }

    /// Tells whether a host is behind this branch.
    pub fn has_host(&self, number: u32) -> bool {
        self.hosts.iter().any(|host| host.host == number)
    }

    /// Tells whether nothing more is to come from it.
    pub fn is_over(&self) -> bool {
        self.is_given_up || self.hosts.iter().all(|host| host.is_over)
    }

    /// Reads what has come. The agent's greeting stays here.
    ///
    /// # Errors
    /// Says why nothing more can come, or that nothing has come for too long.
    pub fn read(&mut self) -> Result<Vec<Frame>, String> {
        if self.is_given_up {
            return Ok(Vec::new());
        }
        let frames = self.read_frames()?;
        // Only now: what has come while nobody looked counts.
        match self.deadline() {
            Some(at) if frames.is_empty() && at <= Instant::now() => Err(self.explain_silence()),
            _ => Ok(frames),
        }
    }

    fn read_frames(&mut self) -> Result<Vec<Frame>, String> {
        let mut frames = self.link.read()?;
        for frame in &frames {
            match frame.kind {
                Kind::Hello if frame.text() != env!("CARGO_PKG_VERSION") => {
                    return Err(format!(
                        "{} there is version {}, here {}; install the same version on all hosts",
                        self.program,
                        frame.text(),
                        env!("CARGO_PKG_VERSION")
                    ));
                }
                Kind::Hello => self.has_answered = true,
                Kind::Beat => self.has_started = true,
                Kind::Done | Kind::Failed | Kind::Lost => {
                    let of = |host: &&mut Reached| host.host == frame.number;
                    self.hosts.iter_mut().filter(of).for_each(|host| host.is_over = true);
                }
                _ => {}
            }
        }
        frames.retain(|frame| !matches!(frame.kind, Kind::Hello | Kind::Beat));
        if frames.is_empty() && !self.link.is_open() && !self.is_over() {
            return Err(self.explain_end());
        }
        Ok(frames)
    }

    /// Returns when it is to be given up if nothing comes.
    pub fn deadline(&self) -> Option<Instant> {
        // While it starts processes it is silent, and their files may come from a slow disk.
        let limit = if self.has_started { self.silence } else { START_LIMIT.max(self.silence) };
        (!self.is_over()).then(|| self.link.heard + limit)
    }

    /// Says why it is given up at its deadline.
    fn explain_silence(&self) -> String {
        if self.has_started {
            let seconds = self.silence.as_secs_f64();
            format!(
                "no sign of life for {seconds} s (setting heartbeat): the host, its network or the agent there has stopped"
            )
        } else if self.has_answered {
            let seconds = START_LIMIT.max(self.silence).as_secs();
            format!(
                "nothing has been started there within {seconds} s: the host, its network or the agent there has stopped"
            )
        } else {
            format!("no answer within {} s to: {}", START_LIMIT.as_secs(), self.command)
        }
    }

    /// Says why the command ended.
    fn explain_end(&mut self) -> String {
        let end = Instant::now() + END_LIMIT;
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break Some(status),
                Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(5)),
                _ => break None,
            }
        };
        let how = match status.map(|status| (status.code(), status.signal())) {
            Some((_, Some(signal))) => format!("ended by {}", crate::reports::report::signal_name(signal)),
            Some((Some(code), _)) => format!("ended with exit code {code}"),
            _ => "closed its output".into(),
        };
        if self.has_answered {
            return format!("the connection is lost: the command {} {how}", self.command);
        }
        let noise = self.link.noise();
        let said = if noise.is_empty() { String::new() } else { format!(", saying {noise:?}") };
        let remedy = match status.and_then(|status| status.code()) {
            Some(126 | 127) => {
                format!("{} must be there: install Weft at the same place on all hosts", self.program)
            }
            _ => "try the command by hand; it must work without a password".into(),
        };
        format!("nothing was started there: {} {how}{said}; {remedy}", self.command)
    }

    /// Expects nothing more from it.
    pub fn give_up(&mut self) {
        self.is_given_up = true;
        self.hosts.iter_mut().for_each(|host| host.is_over = true);
        let _ = self.child.kill();
    }

    /// Lets the agent end, and waits a moment for that.
    pub fn close(&mut self, until: Instant) {
        self.link.close();
        while !matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
            if Instant::now() >= until {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}
