//! A program that the launcher of another MPI or a batch system started: it is a node process with one rank, and learns by
//! PMI what our `mpirun` would have handed over.
//!
//! What ranks must know of each other goes through the launcher ([`meeting`]). There is nobody who would gather reports, so
//! they go to standard error.

mod meeting;

use crate::leaving::leave_at_once;
use crate::starter::Starter;
use meeting::Met;
use std::io::Write;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use weft_base::constants::MPI_ERR_PROC_ABORTED;
use weft_base::job::{Block, Job, Report};
use weft_base::say;
use weft_base::settings;
use weft_diagnose::Form;
use weft_mpi::process::host::{Alone, Host};
use weft_pmi::{Client, Facts, Limits};
use weft_sys::process::unread;

/// Exit code of a rank that cannot take part in its job.
const UNABLE: i32 = 70;
/// How long the launcher may take to read what a rank has printed, before it is asked to end the job.
const READING: Duration = Duration::from_secs(1);
/// How long the launcher may take for an answer that needs no other rank.
const ANSWER: Duration = Duration::from_secs(60);

/// The launcher, as the starter of this process.
pub struct Launcher {
    client: Client,
    /// The rank has done with MPI.
    has_finished: AtomicBool,
}

/// Takes part in the job.
///
/// # Errors
/// Says what the launcher or another rank did not do.
pub fn join(facts: &Facts) -> Result<(Job, &'static Launcher), String> {
    let refused = settings::gather_alone();
    if facts.rank.unwrap_or(0) == 0 {
        refused.iter().for_each(|refused| say!("weft: {}", refused.message));
    }
    let limit = Duration::from_secs(settings::START_TIMEOUT.get());
    let client = Client::connect(facts, Limits { answer: ANSWER.min(limit), others: limit })?;
    let met = if client.size() > 1 { meeting::connect(&client, limit) } else { Ok(Met::alone()) };
    let met = met.unwrap_or_else(|message| {
        // The others may wait for this rank, and not every launcher ends them with it.
        say(&format!("rank {} of {} cannot take part in the job: {message}", client.rank(), client.size()));
        wait_until_read();
        client.abort(UNABLE, "a rank cannot take part in the job");
        leave_at_once(UNABLE)
    });
    let job = Job { id: met.job, host_of: met.hosts, secret: met.secret, ..describe(&client) };
    Ok((job, Box::leak(Box::new(Launcher { client, has_finished: AtomicBool::new(false) }))))
}

/// Describes the job as far as a rank knows it.
fn describe(client: &Client) -> Job {
    let ranks = client.size();
    let program = Block {
        ranks,
        program: std::env::current_exe().unwrap_or_default(),
        arguments: std::env::args_os().collect(),
        environment: Vec::new(),
        abi: None,
        info: Vec::new(),
    };
    Job {
        version: env!("CARGO_PKG_VERSION").into(),
        blocks: vec![program],
        settings: Vec::new(),
        bind: false,
        node_of: (0..ranks).collect(),
        host_of: Vec::new(),
        hosts: Vec::new(),
        secret: None,
        verbose: false,
        has_names_afar: false,
        id: 0,
        parent: None,
        universe: None,
        outputs: Vec::new(),
    }
}

/// Prints a report with one write, so that what other ranks print is not in the middle of it.
fn say(text: &str) {
    let _ = std::io::stderr().write_all(format!("weft: {text}\n").as_bytes());
}

/// Waits a while for the launcher to read what was written: one that is asked to end the job, as Hydra is, drops the rest.
fn wait_until_read() {
    let until = Instant::now() + READING;
    let is_read = || unread(std::io::stdout().as_fd()) == 0 && unread(std::io::stderr().as_fd()) == 0;
    while !is_read() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
}

impl Launcher {
    /// Returns the number of the program on the command line.
    pub fn application_number(&self) -> i32 {
        self.client.application_number().map_or(0, |number| number as i32)
    }

    /// Returns how many ranks there may be in all, if the launcher knows.
    pub fn universe_size(&self) -> Option<u32> {
        self.client.universe_size()
    }

    /// Returns the rank.
    pub fn rank(&self) -> u32 {
        self.client.rank()
    }
}

/// How long a process that has lost another waits before it ends the job itself.
const CAUSE: std::time::Duration = std::time::Duration::from_secs(1);

impl Starter for Launcher {
    fn watch(&'static self, _describe: fn(bool) -> Report) -> std::io::Result<()> {
        let socket = self.client.watch()?;
        let watch = move || {
            socket.wait();
            // Once the rank has finished, the launcher may close.
            if !self.has_finished.load(Ordering::Acquire) {
                leave_at_once(1);
            }
        };
        std::thread::Builder::new().name("weft-control".into()).stack_size(128 * 1024).spawn(watch).map(drop)
    }

    fn report(&self, report: &Report) {
        let host = Alone.name();
        match report {
            Report::Abort { rank, code, message, stack } => {
                let who = rank
                    .map_or_else(|| "a thread that belongs to no rank".into(), |rank| format!("rank {rank}"));
                say(&format!("{who} on {host} aborted the job with code {code}: {message}"));
                for (number, frame) in stack.iter().enumerate() {
                    say(&format!("  #{number} {} {:#x}", frame.file, frame.offset));
                }
                if !stack.is_empty() {
                    say("  (addr2line -Cfie FILE ADDRESS tells function and line)");
                }
            }
            Report::RankFailed { rank, code, message } => {
                say(&format!("rank {rank} on {host} {message}; the job ends with exit code {}", code & 0xff));
            }
            Report::Failed { message } => say(message),
            _ => {}
        }
    }

    fn end_job(&self, code: i32) {
        if !self.has_finished.load(Ordering::Acquire) {
            if code == MPI_ERR_PROC_ABORTED {
                // The launcher ends this process, too, once it has heard of the cause; its code is the job's.
                std::thread::sleep(CAUSE);
            }
            wait_until_read();
            self.client.abort(code, "see the report on standard error");
        }
    }

    fn finished(&self) {
        if !self.has_finished.swap(true, Ordering::AcqRel)
            && let Err(message) = self.client.finish()
        {
            say(&message);
        }
    }

    fn crashes(&self) -> (i32, Form) {
        (libc::STDERR_FILENO, Form::Text)
    }
}
