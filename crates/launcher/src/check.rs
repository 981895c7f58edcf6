//! `weft check`: whether a program's ranks can be threads, why not, and what to do.

use crate::resolve::OURS;
use std::path::Path;
use weft_loader::Verdict;

/// Ranks can be threads.
pub const THREADS: i32 = 0;
/// Ranks must be processes.
pub const PROCESSES: i32 = 1;
/// The file cannot be run at all.
pub const NOT_LOADABLE: i32 = 3;

/// Prints the verdict on a program; returns the exit code.
pub fn check(program: &Path) -> i32 {
    let shown = program.display();
    let verdict = weft_loader::examine(program, OURS);
    match &verdict {
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
