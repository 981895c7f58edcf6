//! Pipes for the output of ranks that are threads: one for standard output and one for standard error of each, where output is
//! told apart.
#![allow(unsafe_code)] // Asks for and sets a limit of the system.

use crate::agents::errand::{Errand, Kind};
use crate::command_line::stop::Stop;
use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, OwnedFd};
use weft_base::job::RankOutput;

/// Where the output of a node process, or of a rank in it, comes out.
#[derive(Debug)]
pub struct Outlet {
    /// Whose it is; see [`wire::Kind::Output`](crate::agents::wire::Kind::Output).
    pub speaker: u32,
    /// Standard output.
    pub out: OwnedFd,
    /// Standard error.
    pub error: OwnedFd,
}

/// How many descriptors are needed for anything else.
const OTHERS: u64 = 256;

/// The ends of a rank's pipes.
#[derive(Debug)]
pub struct Inlet {
    /// Where its standard output goes in.
    pub out: OwnedFd,
    /// Where its standard error goes in.
    pub error: OwnedFd,
    /// The other ends.
    pub outlet: Outlet,
}

/// The pipes of all ranks of a host.
#[derive(Debug, Default)]
pub struct Inlets {
    /// Those of the ranks of each node process.
    pub of: BTreeMap<u32, Vec<Inlet>>,
}

impl Inlets {
    /// Makes pipes for the ranks of the errand's first host, if they are threads whose output is told apart.
    ///
    /// # Errors
    /// Says which limit of the system is too low, and what to do.
    pub fn make(errand: &Errand) -> Result<Self, Stop> {
        let mut inlets = Self::default();
        let nodes = errand.sites.first().map_or(&[][..], |site| &site.nodes);
        let nodes = nodes.iter().filter(|node| errand.by_rank && node.kind == Kind::Threads);
        let ranks: Vec<(u32, Vec<u32>)> =
            nodes.map(|node| (node.number, errand.job.ranks_of(node.number))).collect();
        let count = ranks.iter().map(|(_, ranks)| ranks.len() as u64).sum::<u64>();
        if count == 0 {
            return Ok(inlets);
        }
        let needed = 4 * count + OTHERS;
        allow_open_files(needed).map_err(|limit| {
            let remedy = "raise it (ulimit -Hn), or leave the output of the ranks together";
            let message = format!(
                "to tell the output of {count} ranks apart takes {needed} open files, and the limit is {limit}; {remedy}"
            );
            Stop::new(1, message)
        })?;
        let failed = |error| Stop::new(1, format!("a pipe for the output of a rank: {error}"));
        for (node, ranks) in ranks {
            let own = inlets.of.entry(node).or_default();
            for rank in ranks {
                let (out, to_out) = std::io::pipe().map_err(failed)?;
                let (error, to_error) = std::io::pipe().map_err(failed)?;
                let outlet = Outlet { speaker: rank, out: out.into(), error: error.into() };
                own.push(Inlet { out: to_out.into(), error: to_error.into(), outlet });
            }
        }
        Ok(inlets)
    }

    /// Returns the descriptors as the ranks' processes inherit them.
    pub fn descriptors(&self) -> Vec<RankOutput> {
        let descriptor = |inlet: &Inlet| RankOutput {
            rank: inlet.outlet.speaker,
            out_fd: inlet.out.as_raw_fd(),
            error_fd: inlet.error.as_raw_fd(),
        };
        let mut all: Vec<RankOutput> = self.of.values().flatten().map(descriptor).collect();
        all.sort_by_key(|output| output.rank);
        all
    }
}

/// Lets this process, and those it starts, have so many open files.
///
/// # Errors
/// The limit that may not be exceeded.
fn allow_open_files(needed: u64) -> Result<(), u64> {
    // SAFETY: a place on this stack.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        if limit.rlim_cur >= needed {
            return Ok(());
        }
        let raised = libc::rlimit { rlim_cur: needed, ..limit };
        if limit.rlim_max < needed || libc::setrlimit(libc::RLIMIT_NOFILE, &raised) < 0 {
            return Err(limit.rlim_max);
        }
        Ok(())
    }
}
