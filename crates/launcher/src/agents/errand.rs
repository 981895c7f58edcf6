//! What a host, and those behind it, have to do for a job; and how a host fits its part to its own processors.

use crate::agents::rsh::Launcher;
use crate::command_line::stop::Stop;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use weft_base::job::Job;
use weft_base::settings::WORKERS;

/// What a node process holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Threads in a process of ours: all ranks, or some.
    Threads,
    /// One rank, which runs the program of this block of the job in a process of its own.
    Program {
        /// The rank.
        rank: u32,
        /// The number of the block.
        block: usize,
    },
}

/// A node process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NodeProcess {
    /// Its number in the job.
    pub number: u32,
    /// What it holds.
    pub kind: Kind,
    /// Its environment: a place in [`Errand::environments`].
    pub environment: usize,
    /// Where it runs.
    pub directory: Option<PathBuf>,
    /// The processors it may run on; empty for all, or until the host has dealt its own.
    pub processors: Vec<usize>,
    /// Whether standard input is its.
    pub has_input: bool,
}

/// A host and its node processes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Site {
    /// The host's number in the job.
    pub host: u32,
    /// The name under which it is reached.
    pub name: String,
    /// Its node processes.
    pub nodes: Vec<NodeProcess>,
}

/// How ranks are bound to processors, as far as it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// The setting `bind-to`: 0 for automatic, 1 for cores, 2 for none.
    pub choice: u64,
    /// The setting `workers`, or 0.
    pub workers: u64,
}

/// A part of a job: what the host of the first site has to start, and whom it has to ask for the others.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Errand {
    /// The job.
    pub job: Job,
    /// Environments of node processes.
    pub environments: Vec<Vec<(OsString, OsString)>>,
    /// The hosts; the first one is who reads this.
    pub sites: Vec<Site>,
    /// How ranks are bound.
    pub binding: Binding,
    /// How other hosts are reached.
    pub launcher: Launcher,
    /// After how long without a sign of life a host is lost.
    pub silence: Duration,
    /// How many hosts one host asks.
    pub width: usize,
    /// Whether the output of ranks that are threads is told apart.
    pub by_rank: bool,
}

/// Divides hosts among those that are asked directly: neighbours, as even as possible. The first of each part passes on the
/// rest, so the depth grows with the logarithm of the number of hosts.
pub fn divide<T>(mut sites: Vec<T>, width: usize) -> Vec<Vec<T>> {
    let parts = sites.len().min(width.max(1));
    let mut divided: Vec<Vec<T>> = Vec::with_capacity(parts);
    for part in (1..=parts).rev() {
        divided.push(sites.split_off(sites.len() - sites.len() / part));
    }
    divided.reverse();
    divided
}

impl Errand {
    /// Returns the errand of some of the hosts.
    pub fn part(&self, sites: Vec<Site>) -> Self {
        Self {
            sites,
            environments: self.environments.clone(),
            job: self.job.clone(),
            launcher: self.launcher.clone(),
            ..*self
        }
    }

    /// Fits the first host's part to this machine: deals its processors to the node processes.
    pub fn fit(&mut self) {
        let processors = processors();
        let count = processors.len() as u64;
        let Some(site) = self.sites.first_mut() else { return };
        let are_threads = site.nodes.iter().any(|node| node.kind == Kind::Threads);
        let ranks: u64 = site.nodes.iter().map(|node| self.job.ranks_of(node.number).len() as u64).sum();
        let workers = self.binding.workers;
        // Two small jobs bound by default would share the first processors and leave the others idle.
        let fills_machine = match are_threads {
            true => ranks >= count && (workers == 0 || workers >= count),
            false => ranks == count,
        };
        self.job.bind = match self.binding.choice {
            0 => fills_machine,
            choice => choice == 1,
        };
        let nodes = site.nodes.len();
        // Several processes share the processors.
        if workers == 0 && nodes > 1 {
            let each = (count / nodes as u64).max(1);
            self.job.settings.push((WORKERS.name.into(), each.to_string()));
        }
        if !self.job.bind {
            return;
        }
        for (index, node) in site.nodes.iter_mut().enumerate().filter(|(_, node)| node.processors.is_empty())
        {
            node.processors = match (node.kind, nodes) {
                (Kind::Program { .. }, _) => vec![processors[index % processors.len()]],
                (Kind::Threads, 1) => Vec::new(),
                // Where there are more processes than processors, they take turns.
                (Kind::Threads, nodes) if nodes > processors.len() => {
                    vec![processors[index % processors.len()]]
                }
                (Kind::Threads, nodes) => {
                    let edge = |part: usize| part * processors.len() / nodes;
                    processors[edge(index)..edge(index + 1)].to_vec()
                }
            };
        }
    }

    /// Checks that everything the first host has to start is here.
    ///
    /// # Errors
    /// Says what is missing on which host, and what to do.
    pub fn check(&self) -> Result<(), Stop> {
        let Some(site) = self.sites.first() else { return Ok(()) };
        let here = crate::reports::report::host();
        for node in &site.nodes {
            if let Kind::Program { block, .. } = node.kind
                && let Err(error) = self.job.blocks[block].program.metadata()
            {
                return Err(missing(&here, &self.job.blocks[block].program, &error));
            }
            if let Some(directory) = node.directory.as_ref().filter(|directory| !directory.is_dir()) {
                let remedy = "make it there, or name one that exists on all hosts: -wdir DIRECTORY";
                return Err(Stop::new(
                    1,
                    format!("host {here}: {}: no such directory; {remedy}", directory.display()),
                ));
            }
        }
        if site.nodes.iter().any(|node| node.kind == Kind::Threads) {
            for block in &self.job.blocks {
                if let Err(error) = block.program.metadata() {
                    return Err(missing(&here, &block.program, &error));
                }
            }
        }
        Ok(())
    }
}

fn missing(host: &str, program: &std::path::Path, error: &std::io::Error) -> Stop {
    let remedy = "the program must be at the same place on all hosts: copy it, or start it from a folder that all share";
    Stop::new(127, format!("host {host}: {}: {error}; {remedy}", program.display()))
}

/// Returns the processors that a job may use on this host.
pub fn processors() -> Vec<usize> {
    let mut all = weft_machine::allowed_cores();
    all.truncate(weft_machine::usable_cores().max(1));
    if all.is_empty() { vec![0] } else { all }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_divided_evenly_and_in_order() {
        for (count, width) in [(0, 3), (1, 3), (3, 3), (10, 3), (1000, 32), (5, 0)] {
            let parts = divide((0..count).collect(), width);
            assert_eq!(parts.concat(), (0..count).collect::<Vec<_>>());
            assert_eq!(parts.len(), count.min(width.max(1)));
            let sizes: Vec<_> = parts.iter().map(Vec::len).collect();
            assert!(sizes.iter().max().unwrap_or(&0) - sizes.iter().min().unwrap_or(&0) <= 1, "{sizes:?}");
        }
    }

    #[test]
    fn the_depth_grows_with_the_logarithm() {
        fn depth(sites: usize, width: usize) -> usize {
            divide((0..sites).collect::<Vec<_>>(), width)
                .iter()
                .map(|part| 1 + depth(part.len() - 1, width))
                .max()
                .unwrap_or(0)
        }
        assert_eq!([depth(32, 32), depth(33, 32), depth(1056, 32), depth(1057, 32)], [1, 2, 2, 3]);
    }
}
