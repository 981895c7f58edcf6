//! From the command line to what will be started: programs found and judged, environments settled.

use crate::flags::{Block, CommandLine, Inherit, Stop};
use crate::install::Installation;
use crate::{resolve, settings};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use weft_base::job;
use weft_base::settings::{BIND, CHECK, TIMEOUT, WORKERS};

/// A job ready to be started.
#[derive(Debug)]
pub struct Plan {
    /// The job, but for the control socket.
    pub job: job::Job,
    /// The environment of the node process.
    pub environment: BTreeMap<OsString, OsString>,
    /// Where it runs.
    pub directory: Option<PathBuf>,
    /// When to give up.
    pub timeout: Option<Duration>,
    /// Whether findings of checking mode fail the job.
    pub findings_fail: bool,
    /// The parts of the installation.
    pub installation: Installation,
}

/// Makes the environment all ranks have in common.
fn common_environment(line: &CommandLine) -> BTreeMap<OsString, OsString> {
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

/// Settles everything that needs no process yet.
///
/// # Errors
/// Says what stands in the way, and the remedy.
pub fn plan(line: CommandLine) -> Result<Plan, Stop> {
    let installation = Installation::find().map_err(|error| Stop::new(1, error))?;
    let settings = settings::settle(&installation, line.settings.clone())?;
    let mut environment = common_environment(&line);
    let directory = line.blocks.iter().find_map(|block| block.directory.clone());
    if let Some(directory) = &directory {
        if line.blocks.iter().any(|block| block.directory.as_ref() != Some(directory)) {
            let why = "all ranks are threads of one process and share its directory";
            let remedy = "give every program the same -wdir";
            return Err(Stop::new(crate::USAGE, format!("-wdir {}: {why}; {remedy}", directory.display())));
        }
        if !directory.is_dir() {
            return Err(Stop::new(crate::USAGE, format!("-wdir {}: no such directory", directory.display())));
        }
    }
    let search = environment.get(&OsString::from("PATH")).cloned().unwrap_or_default();
    let mut blocks = Vec::new();
    for block in &line.blocks {
        let program = resolve::find(&block.program, directory.as_deref(), &search)?;
        resolve::judge(&program, line.ranks_as)?;
        let arguments = [block.program.clone()].into_iter().chain(block.arguments.iter().cloned()).collect();
        let ranks =
            block.ranks.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get() as u32));
        let (environment, info) = (block_environment(block)?, block.info.clone());
        blocks.push(job::Block { ranks, program, arguments, environment, info });
    }
    // What all blocks agree on is the process's environment; what they differ in is each rank's.
    if blocks.iter().all(|block| block.environment == blocks[0].environment) {
        for block in &mut blocks {
            environment.extend(std::mem::take(&mut block.environment));
        }
    }
    let total: u64 = blocks.iter().map(|block| u64::from(block.ranks)).sum();
    if total > i32::MAX as u64 {
        return Err(Stop::new(
            crate::USAGE,
            format!("{total} ranks: more than MPI can number ({})", i32::MAX),
        ));
    }
    // Two small jobs bound by default would share the first processors and leave the others idle.
    let processors = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let workers = settings.number(&WORKERS);
    let fills_machine = total >= processors && (workers == 0 || workers >= processors);
    let job = job::Job {
        version: env!("CARGO_PKG_VERSION").into(),
        blocks,
        bind: match settings.number(&BIND) {
            0 => fills_machine,
            choice => choice == 1,
        },
        settings: settings.changed(),
        control_fd: -1,
        verbose: line.verbose,
    };
    let seconds = settings.number(&TIMEOUT);
    let timeout = line.timeout.or((seconds > 0).then(|| Duration::from_secs(seconds)));
    let findings_fail = settings.number(&CHECK) == 2;
    if line.verbose {
        settings.show_changed();
    }
    Ok(Plan { job, environment, directory, timeout, installation, findings_fail })
}
