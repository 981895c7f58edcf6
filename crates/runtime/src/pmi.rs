//! A program that the launcher of another MPI or a batch system started: it is a node process with one rank, and learns by
//! PMI what our `mpirun` would have handed over.
//!
//! The lowest rank of a host makes the memory that the ranks of the host share, and hands it to the others
//! ([`crate::handing`]); the ticket goes through the launcher. There is nobody who would gather reports, so they go to
//! standard error.

use crate::handing::{self, Giver};
use crate::node::leave_at_once;
use crate::starter::Starter;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use weft_base::job::{Block, Job, Report};
use weft_base::settings;
use weft_diagnose::Form;
use weft_local::{Segment, SegmentDevice};
use weft_mpi::host::{Alone, Host};
use weft_pmi::{Client, Facts, Limits};
use weft_transport::{Device, Nodes, Places};

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
        refused.iter().for_each(|refused| eprintln!("weft: {}", refused.message));
    }
    let limit = Duration::from_secs(settings::START_TIMEOUT.get());
    let client = Client::connect(facts, Limits { answer: ANSWER.min(limit), others: limit })?;
    let id = if client.size() > 1 { connect(&client, limit)? } else { weft_mpi::host::number_of_job() };
    let job = Job { id, ..describe(&client) };
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
        id: 0,
        parent: None,
    }
}

/// Connects to the other ranks. Returns a number that no other job has.
fn connect(client: &Client, limit: Duration) -> Result<u64, String> {
    let together = |error| {
        format!(
            "{error}; all {} ranks must call MPI_Init within {} s (WEFT_START_TIMEOUT)",
            client.size(),
            limit.as_secs()
        )
    };
    let hosts = match client.hosts()? {
        Some(hosts) => hosts,
        None => hosts_by_name(client, &together)?,
    };
    let own = hosts[client.rank() as usize];
    let neighbors: Vec<u32> = (0..client.size()).filter(|&rank| hosts[rank as usize] == own).collect();
    let key = |host: u32| format!("weft-host-{host}");
    let giver = if client.rank() == neighbors[0] {
        let giver = Giver::listen()
            .map_err(|error| format!("cannot listen for the other ranks of this host: {error}"))?;
        client.put(&key(own), &format!("{},{}", giver.ticket(), plain(&Alone.name())))?;
        Some(giver)
    } else {
        None
    };
    client.fence().map_err(together)?;
    let fact = |host| -> Result<(String, String), String> {
        let text = client.get(&key(host))?.unwrap_or_default();
        let parts = text
            .split_once(',')
            .ok_or_else(|| format!("the launcher does not know what host {host} has told it"))?;
        Ok((parts.0.into(), parts.1.into()))
    };
    let last = hosts.iter().max().copied().unwrap_or(0);
    if last > 0 {
        let names = (0..=last).map(|host| fact(host).map(|(_, name)| name)).collect::<Result<Vec<_>, _>>()?;
        return Err(format!(
            "the launcher has placed the ranks on several hosts ({}), which is not possible yet",
            names.join(", ")
        ));
    }
    let segment = match giver {
        Some(giver) => share(giver, neighbors.len() as u32, limit)?,
        None => handing::fetch(&fact(own)?.0, limit)
            .map_err(|error| format!("the memory shared with rank {}: {error}", neighbors[0]))?,
    };
    let index = neighbors.partition_point(|&rank| rank < client.rank()) as u32;
    let device = SegmentDevice::attach(segment, index)
        .map_err(|error| format!("the memory shared with the other processes: {error}"))?;
    let nodes = Nodes::new(Box::new(device) as Box<dyn Device>, Places::new(&neighbors));
    weft_mpi::nodes::install(Box::leak(Box::new(nodes)), |_| own);
    // Nobody may leave before all have come.
    client.fence().map_err(together)?;
    // What the first host's memory is fetched with is drawn at random, and known to all.
    let mix = |sum: u64, byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    Ok(fact(0)?.0.bytes().fold(0xcbf2_9ce4_8422_2325, mix))
}

/// Makes the memory of this host's ranks and hands it to them.
fn share(giver: Giver, ranks: u32, limit: Duration) -> Result<OwnedFd, String> {
    let shared = |error: &dyn std::fmt::Display| {
        format!("the memory shared with the other ranks of this host: {error}")
    };
    // All ranks of a host mostly have the launcher's agent as their parent, and so may read each other's memory.
    let ancestor = std::os::unix::process::parent_id();
    let (segment, _) = Segment::create_under(ranks, ancestor).map_err(|error| shared(&error))?;
    giver.give(segment.as_fd(), ranks as usize - 1, limit).map_err(|error| shared(&error))?;
    Ok(segment)
}

/// Finds out which ranks share a host where the launcher does not say.
fn hosts_by_name(client: &Client, together: &dyn Fn(String) -> String) -> Result<Vec<u32>, String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let key = |rank: u32| format!("weft-rank-{rank}");
    client.put(&key(client.rank()), &plain(&format!("{}-{}", Alone.name(), boot.trim())))?;
    client.fence().map_err(together)?;
    let mut known: Vec<String> = Vec::new();
    let mut host_of = |rank| {
        let name = client
            .get(&key(rank))?
            .ok_or_else(|| format!("the launcher does not know what rank {rank} has told it"))?;
        let found = known.iter().position(|host| *host == name);
        Ok(found.unwrap_or_else(|| {
            known.push(name);
            known.len() - 1
        }) as u32)
    };
    (0..client.size()).map(&mut host_of).collect()
}

/// Returns a name with nothing in it that PMI has no place for.
fn plain(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '_' })
        .take(200)
        .collect()
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

impl Starter for Launcher {
    fn watch(&'static self, _describe: fn() -> Report) -> std::io::Result<()> {
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
            Report::Abort { rank, code, message } => {
                let who = rank
                    .map_or_else(|| "a thread that belongs to no rank".into(), |rank| format!("rank {rank}"));
                eprintln!("weft: {who} on {host} aborted the job with code {code}: {message}");
            }
            Report::RankFailed { rank, code, message } => {
                eprintln!(
                    "weft: rank {rank} on {host} {message}; the job ends with exit code {}",
                    code & 0xff
                );
            }
            Report::Failed { message } => eprintln!("weft: {message}"),
            _ => {}
        }
    }

    fn end_job(&self, code: i32) {
        if !self.has_finished.load(Ordering::Acquire) {
            self.client.abort(code, "see the report on standard error");
        }
    }

    fn finished(&self) {
        if !self.has_finished.swap(true, Ordering::AcqRel)
            && let Err(message) = self.client.finish()
        {
            eprintln!("weft: {message}");
        }
    }

    fn crashes(&self) -> (i32, Form) {
        (libc::STDERR_FILENO, Form::Text)
    }
}
