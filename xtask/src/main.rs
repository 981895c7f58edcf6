//! Developer tasks: generate what is derived from `api/`, check the house rules, run everything CI runs.

mod api;
mod check;
mod codegen;
mod coverage;
mod tidy;

use clap::{Parser, Subcommand};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Reports what went wrong in words for the developer.
type Result<T = ()> = std::result::Result<T, String>;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Developer tasks of Weft")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Write the header, the exported functions, the constants and the status page from `api/`
    Codegen {
        /// Change nothing; fail when a file is stale
        #[arg(long)]
        check: bool,
    },
    /// Check the house rules: layers, file length, unsafe code, unfinished work, untested procedures
    Tidy,
    /// List the procedures of the standard with the conformance programs that call them
    Coverage {
        /// Only this chapter
        chapter: Option<u32>,
    },
    /// Check everything that needs no built library: codegen, tidy, format, lints, dependencies
    Check {
        /// Leave out the lints, which `tests/rust` finds while it builds
        #[arg(long)]
        no_lints: bool,
    },
    /// Run everything that continuous integration runs
    Ci,
}

/// Returns the repository's root directory.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a directory of the repository").into()
}

fn tidy(root: &Path) -> Result {
    let findings: Vec<_> = tidy::run(root)?.into_iter().flat_map(|(_, findings)| findings).collect();
    check::summary(&findings)
}

fn ci(root: &Path) -> Result {
    let status = Command::new(root.join(".ci/run")).current_dir(root).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err("tests failed".into()),
        Err(error) => Err(format!(".ci/run: {error}")),
    }
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().task {
        Task::Codegen { check } => codegen::run(&root(), check),
        Task::Tidy => tidy(&root()),
        Task::Coverage { chapter } => coverage::print(&root(), chapter),
        Task::Check { no_lints } => check::run(&root(), !no_lints),
        Task::Ci => ci(&root()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
