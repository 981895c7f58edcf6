//! From the command line to what will be started: programs found and judged, environments settled.

use crate::flags::{Block, CommandLine, Inherit, Output, RanksAs, Stop};
use crate::install::Installation;
use crate::{resolve, settings};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;
use weft_base::job;
use weft_base::settings::{BIND, CHECK, TIMEOUT, WORKERS};

/// A job ready to be started.
#[derive(Debug)]
pub struct Plan {
    /// The job.
    pub job: job::Job,
    /// Its node processes.
    pub nodes: Vec<NodeProcess>,
    /// What becomes of their output, if they are programs and it is not just passed on.
    pub output: Option<Output>,
    /// When to give up.
    pub timeout: Option<Duration>,
    /// Whether findings of checking mode fail the job.
    pub findings_fail: bool,
    /// The parts of the installation.
    pub installation: Installation,
}

/// A node process.
#[derive(Debug, Clone)]
pub struct NodeProcess {
    /// What it holds.
    pub kind: Kind,
    /// Its environment.
    pub environment: Environment,
    /// Where it runs.
    pub directory: Option<PathBuf>,
    /// The processors it may run on; empty for all.
    pub processors: Vec<usize>,
}

/// What a node process holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

type Environment = BTreeMap<OsString, OsString>;

/// Makes the environment all ranks have in common.
fn common_environment(line: &CommandLine) -> Environment {
    let passes = |name: &OsString| match &line.inherit {
        Inherit::All => true,
        Inherit::Only(names) => {
            let text = name.to_string_lossy();
            names.contains(name)
                || text.starts_with("WEFT_")
                || ["PATH", "HOME", "LD_LIBRARY_PATH"].contains(&&*text)
        }
    };
    let inherited = std::env::vars_os().filter(|(name, _)| passes(name));
    inherited.chain(line.environment.iter().cloned()).collect()
}

/// Returns what a block's variables are, leaving out what `mpirun` itself does not have.
fn block_environment(block: &Block) -> Result<Vec<(OsString, OsString)>, Stop> {
    let mut result = Vec::new();
    for (name, value) in &block.environment {
        match value.clone().or_else(|| std::env::var_os(name)) {
            Some(value) => result.push((name.clone(), value)),
            None => {
                let name = name.to_string_lossy();
                eprintln!(
                    "mpirun: -x {name}: not set here, so ranks do not get it; write -x {name}=VALUE to set it"
                );
            }
        }
    }
    Ok(result)
}

/// Finds the programs and judges them; returns the blocks, and why ranks are to be processes if they are.
fn find_programs(
    line: &CommandLine,
    ranks_as: RanksAs,
    environment: &Environment,
) -> Result<(Vec<job::Block>, Vec<String>), Stop> {
    let search = environment.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    let (mut blocks, mut reasons) = (Vec::new(), Vec::new());
    for block in &line.blocks {
        let directory = block.directory.as_deref();
        if let Some(directory) = directory.filter(|directory| !directory.is_dir()) {
            return Err(Stop::new(crate::USAGE, format!("-wdir {}: no such directory", directory.display())));
        }
        let search = match &block.search {
            Some(first) => [first.as_os_str(), &search].join(OsStr::new(":")),
            None => search.clone(),
        };
        let program = resolve::find(&block.program, directory, &search)?;
        reasons.extend(resolve::judge(&program, ranks_as)?.into_iter().flatten());
        let arguments = [block.program.clone()].into_iter().chain(block.arguments.iter().cloned()).collect();
        let ranks = block.ranks.unwrap_or_else(|| processors().len() as u32);
        let (environment, info) = (block_environment(block)?, block.info.clone());
        blocks.push(job::Block { ranks, program, arguments, environment, info });
    }
    let total: u64 = blocks.iter().map(|block| u64::from(block.ranks)).sum();
    if total > i32::MAX as u64 {
        return Err(Stop::new(
            crate::USAGE,
            format!("{total} ranks: more than MPI can number ({})", i32::MAX),
        ));
    }
    Ok((blocks, reasons))
}

/// Returns the processors that the job may use.
fn processors() -> Vec<usize> {
    let mut all = weft_machine::allowed_cores();
    all.truncate(weft_machine::usable_cores().max(1));
    if all.is_empty() { vec![0] } else { all }
}

/// Plans a process for each rank.
fn programs(line: &CommandLine, job: &mut job::Job, environment: &Environment) -> Vec<NodeProcess> {
    let processors = processors();
    let mut nodes = Vec::new();
    for (block, (held, given)) in job.blocks.iter_mut().zip(&line.blocks).enumerate() {
        let mut environment = environment.clone();
        environment.extend(std::mem::take(&mut held.environment));
        for _ in 0..held.ranks {
            let rank = nodes.len() as u32;
            nodes.push(NodeProcess {
                kind: Kind::Program { rank, block },
                environment: environment.clone(),
                directory: given.directory.clone(),
                processors: if job.bind {
                    vec![processors[rank as usize % processors.len()]]
                } else {
                    Vec::new()
                },
            });
        }
    }
    job.node_of = (0..nodes.len() as u32).collect();
    nodes
}

/// Plans processes that hold `per_process` ranks each as threads; `None` for one that holds them all.
///
/// # Errors
/// Says what the ranks of one process cannot have of their own.
fn holders(
    line: &CommandLine,
    job: &mut job::Job,
    environment: &Environment,
    per_process: Option<u32>,
) -> Result<Vec<NodeProcess>, Stop> {
    let directory = line.blocks.iter().find_map(|block| block.directory.clone());
    if let Some(directory) = &directory
        && line.blocks.iter().any(|block| block.directory.as_ref() != Some(directory))
    {
        let why = "ranks that are threads of one process share its directory";
        let remedy = "give every program the same -wdir, or run them with --ranks-as processes";
        return Err(Stop::new(crate::USAGE, format!("-wdir {}: {why}; {remedy}", directory.display())));
    }
    let mut environment = environment.clone();
    // What all blocks agree on is the process's environment; what they differ in is each rank's.
    if job.blocks.iter().all(|block| block.environment == job.blocks[0].environment) {
        for block in &mut job.blocks {
            environment.extend(std::mem::take(&mut block.environment));
        }
    }
    let per_process = per_process.unwrap_or(u32::MAX);
    let count = job.ranks().div_ceil(per_process);
    if count > 1 {
        job.node_of = (0..job.ranks()).map(|rank| rank / per_process).collect();
    }
    // Each gets its share of the processors; where there are more processes than processors, they take turns.
    let all = processors();
    let share = |node: usize| match count as usize {
        1 => Vec::new(),
        count if count > all.len() => vec![all[node % all.len()]],
        count => all[node * all.len() / count..(node + 1) * all.len() / count].to_vec(),
    };
    let node = |node: u32| NodeProcess {
        kind: Kind::Threads,
        environment: environment.clone(),
        directory: directory.clone(),
        processors: if job.bind { share(node as usize) } else { Vec::new() },
    };
    Ok((0..count).map(node).collect())
}

/// Settles everything that needs no process yet.
///
/// # Errors
/// Says what stands in the way, and the remedy.
pub fn plan(line: CommandLine) -> Result<Plan, Stop> {
    let installation = Installation::find().map_err(|error| Stop::new(1, error))?;
    let settings = settings::settle(&installation, line.settings.clone())?;
    let environment = common_environment(&line);
    // Several ranks in a process are threads, whatever else is said.
    let ranks_as = match line.ranks_per_process {
        Some(2..) if line.ranks_as != RanksAs::Auto => RanksAs::Threads,
        _ => line.ranks_as,
    };
    let (blocks, reasons) = find_programs(&line, ranks_as, &environment)?;
    if let (Some(per_process @ 2..), false) = (line.ranks_per_process, reasons.is_empty()) {
        let text = format!("--ranks-per-process {per_process}: ranks cannot be threads, because");
        return Err(Stop::new(
            crate::USAGE,
            [text].into_iter().chain(reasons).collect::<Vec<_>>().join("\n  "),
        ));
    }
    let ranks: u64 = blocks.iter().map(|block| u64::from(block.ranks)).sum();
    // Two small jobs bound by default would share the first processors and leave the others idle.
    let processors = processors().len() as u64;
    let workers = settings.number(&WORKERS);
    let fills_machine = match reasons.is_empty() {
        true => ranks >= processors && (workers == 0 || workers >= processors),
        false => ranks == processors,
    };
    let mut job = job::Job {
        version: env!("CARGO_PKG_VERSION").into(),
        blocks,
        bind: match settings.number(&BIND) {
            0 => fills_machine,
            choice => choice == 1,
        },
        settings: settings.changed()?,
        node_of: Vec::new(),
        verbose: line.verbose,
    };
    let nodes = if reasons.is_empty() {
        holders(&line, &mut job, &environment, line.ranks_per_process)?
    } else {
        programs(&line, &mut job, &environment)
    };
    // Several processes share the processors.
    if workers == 0 && nodes.len() > 1 {
        let each = (processors / nodes.len() as u64).max(1);
        job.settings.push((WORKERS.name.into(), each.to_string()));
    }
    let seconds = settings.number(&TIMEOUT);
    let timeout = line.timeout.or((seconds > 0).then(|| Duration::from_secs(seconds)));
    let findings_fail = settings.number(&CHECK) == 2;
    if line.verbose {
        settings.show_changed();
        if !reasons.is_empty() {
            eprintln!("mpirun: ranks are processes, because\n  {}", reasons.join("\n  "));
        }
    }
    let mut output = Some(line.output).filter(|output| *output != Output::default());
    if output.is_some() && reasons.is_empty() {
        eprintln!(
            "mpirun: the output of ranks that are threads of one process cannot be told apart; to tag it or to write it to \
             files, add --ranks-as processes"
        );
        output = None;
    }
    Ok(Plan { job, nodes, output, timeout, installation, findings_fail })
}
