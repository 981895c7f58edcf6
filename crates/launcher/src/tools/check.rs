//! `weft check`: whether a program's ranks can be threads, why not, and what to do; and which of its calls are not done.

use crate::command_line::foreign;
use crate::command_line::resolve::{self, OURS};
use crate::tools::install::Installation;
use crate::tools::undone::UNDONE;
use std::path::{Path, PathBuf};
use weft_base::say;
use weft_loader::Verdict;
use weft_loader::libraries::System;

/// Ranks can be threads.
pub const THREADS: i32 = 0;
/// Ranks must be processes.
pub const PROCESSES: i32 = 1;
/// The file cannot be run at all.
pub const NOT_LOADABLE: i32 = 3;

/// Prints the verdict on a program; returns the exit code.
pub fn check(program: &Path) -> i32 {
    if let Ok(installation) = Installation::find() {
        foreign::supply(&installation);
    }
    let preload = std::env::var_os("LD_PRELOAD").unwrap_or_default();
    let tools = resolve::preload(&preload, None).tools;
    let verdict = weft_loader::examine_with(program, &tools, OURS, &System::new());
    let code = print(program, &verdict);
    for library in weft_loader::supplied(program, OURS) {
        println!("  runs with {} in place of another MPI's", library.display());
    }
    for (object, calls) in not_done(program) {
        println!("  not done: {}: calls {}", object.display(), calls.join(", "));
    }
    code
}

/// Our library of Fortran's names, which calls whatever a Fortran program might.
const FORTRAN: &str = "libmpifort_abi.so.1";

/// Lists the procedures that are not done and that a program and its own libraries call, by file.
fn not_done(program: &Path) -> Vec<(PathBuf, Vec<String>)> {
    let mut found = weft_loader::imports(program, OURS, &is_undone);
    found.retain(|(object, _)| object.file_name().is_none_or(|name| name != FORTRAN));
    found
}

/// Tells whether a symbol is a procedure that is not done, under one of its names in C or Fortran.
fn is_undone(symbol: &str) -> bool {
    let name = symbol.strip_prefix('P').filter(|name| name.starts_with("MPI_")).unwrap_or(symbol);
    if UNDONE.binary_search(&name).is_ok() {
        return true;
    }
    let name = ["weft_", "p"].iter().find_map(|start| symbol.strip_prefix(start)).unwrap_or(symbol);
    let name = ["_f08ts_", "_f08ts", "_f08_", "_"].iter().find_map(|end| name.strip_suffix(end));
    name.is_some_and(|name| UNDONE.iter().any(|undone| undone.to_ascii_lowercase() == name))
}

/// Says how many procedures that are not done a program calls, if it does.
pub fn say_what_is_not_done(program: &Path) {
    let count: usize = not_done(program).iter().map(|(_, calls)| calls.len()).sum();
    if count > 0 {
        let program = program.display();
        say!(
            "mpirun: {program}: calls {count} procedures that are not done; weft check {program} lists them"
        );
    }
}

fn print(program: &Path, verdict: &Verdict) -> i32 {
    let shown = program.display();
    match verdict {
        Verdict::Threads { notes } => {
            println!("{shown}: its ranks can be threads");
            for note in notes {
                println!("  note: {note}");
            }
            THREADS
        }
        Verdict::Processes { reasons, notes } => {
            println!("{shown}: its ranks must be processes");
            for reason in reasons {
                println!("  because {reason}");
            }
            for remedy in verdict.remedies() {
                println!("  remedy: {remedy}");
            }
            for note in notes {
                println!("  note: {note}");
            }
            PROCESSES
        }
        Verdict::NotLoadable(error) => {
            println!("{error}");
            NOT_LOADABLE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_procedure_that_is_not_done_is_known_by_all_its_names() {
        let Some(undone) = UNDONE.first() else { return };
        let lower = undone.to_ascii_lowercase();
        let fortran =
            ["", "p"].map(|first| ["_", "_f08_", "_f08ts_"].map(|last| format!("{first}{lower}{last}")));
        let names = [undone.to_string(), format!("P{undone}"), format!("weft_{lower}_f08ts")]
            .into_iter()
            .chain(fortran.into_iter().flatten());
        for name in names {
            assert!(is_undone(&name), "{name}");
        }
        for name in ["MPI_Send", "PMPI_Send", "mpi_send_", "pmpi_send_", "mpi_send_f08ts_", &lower, "mpi_"] {
            assert!(!is_undone(name), "{name}");
        }
    }
}
