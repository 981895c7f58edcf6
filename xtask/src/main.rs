//! Developer tasks: generate what is derived from `api/`, check the house rules, run everything CI runs.

mod api;
mod codegen;

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

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
}

/// Returns the repository's root directory.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a directory of the repository").into()
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().task {
        Task::Codegen { check } => codegen::run(&root(), check),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
