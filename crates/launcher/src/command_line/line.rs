//! What a command line says.

use crate::hosts::placement::Policy;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// One program of the command line.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// `-n`
    pub ranks: Option<u32>,
    /// `-x` and `-env`; a variable without value is passed on.
    pub environment: Vec<(OsString, Option<OsString>)>,
    /// The program as given.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// `-path`
    pub search: Option<OsString>,
    /// `-wdir`
    pub directory: Option<PathBuf>,
    /// `-hosts` and `-hostfile`; what an earlier program has if this one has none.
    pub hosts: Option<HostsFrom>,
    /// `-initial-errhandler` and `-memory-alloc-kinds`, by their info keys.
    pub info: Vec<(String, String)>,
}

/// Where the names of hosts are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostsFrom {
    /// On the command line.
    List(String),
    /// In a file.
    File(PathBuf),
}

/// How ranks are placed on hosts, and how those are reached.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Placing {
    /// `-ppn`, `--map-by`, `-rr`, `--nooversubscribe`
    pub policy: Policy,
    /// `-rankfile`
    pub rank_file: Option<PathBuf>,
    /// `--launcher`
    pub launcher: Option<OsString>,
    /// `--launcher-exec`
    pub launcher_exec: Option<OsString>,
}

/// Which variables of `mpirun`'s environment the ranks get.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Inherit {
    /// All.
    #[default]
    All,
    /// These, and what no program can do without.
    Only(Vec<OsString>),
}

/// `--ranks-as`
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum RanksAs {
    /// As the program permits.
    #[default]
    Auto,
    /// Threads, whatever the loader advises against.
    Threads,
    /// Processes.
    Processes,
}

/// `--abi`
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum ForeignAbi {
    /// As the program's file says.
    #[default]
    Auto,
    /// No library of ours in place of another MPI's.
    None,
    /// This library of ours, whether or not the file says so.
    Library(&'static str),
}

/// What becomes of the output of ranks that are processes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Output {
    /// `--tag-output`
    pub tag: bool,
    /// `--timestamp-output`
    pub timestamp: bool,
    /// `--output-filename` or `--outfile-pattern`
    pub out_file: Option<String>,
    /// `--output-filename` or `--errfile-pattern`
    pub error_file: Option<String>,
}

/// The command line.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CommandLine {
    /// The programs.
    pub blocks: Vec<Block>,
    /// `-genv`
    pub environment: Vec<(OsString, OsString)>,
    /// `-genvall`, `-genvnone`, `-genvlist`
    pub inherit: Inherit,
    /// Changed settings: name, value, and the option that changes it.
    pub settings: Vec<(String, String, String)>,
    /// `--ranks-as`
    pub ranks_as: RanksAs,
    /// `--abi`
    pub abi: ForeignAbi,
    /// `--ranks-per-process`
    pub ranks_per_process: Option<u32>,
    /// Where ranks run.
    pub placing: Placing,
    /// `--tag-output` and what else concerns the ranks' output.
    pub output: Output,
    /// `--timeout`
    pub timeout: Option<Duration>,
    /// `-v`
    pub verbose: bool,
}

impl CommandLine {
    pub(super) fn change(&mut self, name: &str, value: String, option: &str) {
        self.settings.push((name.into(), value, option.into()));
    }
}
