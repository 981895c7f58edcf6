//! Finds the program's file and judges it.

use crate::command_line::line::RanksAs;
use crate::command_line::stop::Stop;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use weft_loader::libraries::System;
use weft_loader::{Preload, Reason, ReasonKind, Verdict};

/// The names under which programs need the library.
pub const OURS: &[&str] = &["libmpi_abi.so.1", "libmpi_abi.so", "libmpi_abi.so.0"];

/// Exit codes of the shell for programs that cannot be run.
const CANNOT_EXECUTE: i32 = 126;
const NOT_FOUND: i32 = 127;

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// Returns the file of a program: as named if the name has a slash, else from `PATH`.
///
/// # Errors
/// Says where was looked and what to do.
pub fn find(program: &OsStr, directory: Option<&Path>, search: &OsStr) -> Result<PathBuf, Stop> {
    let name = Path::new(program);
    let shown = name.display();
    if program.is_empty() {
        return Err(Stop::new(NOT_FOUND, "the program's name is empty"));
    }
    if !name.to_string_lossy().contains('/') {
        let found =
            std::env::split_paths(search).map(|place| place.join(name)).find(|path| is_executable(path));
        return found.map(|path| absolute(&path)).ok_or_else(|| {
            let remedy =
                if name.exists() { format!("; there is ./{shown} here, name it so") } else { String::new() };
            Stop::new(NOT_FOUND, format!("{shown}: no such program in PATH (or -path){remedy}"))
        });
    }
    // Relative names are looked up where the ranks will run, as peers do, then where mpirun was called.
    let places = [directory.map(|directory| directory.join(name)), Some(name.to_path_buf())];
    let Some(path) = places.into_iter().flatten().find(|path| path.exists()) else {
        return Err(Stop::new(NOT_FOUND, format!("{shown}: no such file; check the path")));
    };
    if path.is_dir() {
        return Err(Stop::new(CANNOT_EXECUTE, format!("{shown}: is a directory, not a program")));
    }
    if !is_executable(&path) {
        return Err(Stop::new(
            CANNOT_EXECUTE,
            format!("{shown}: not executable; if it is a program: chmod +x '{shown}'"),
        ));
    }
    Ok(absolute(&path))
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

/// Sorts what `LD_PRELOAD` names for a process that runs in a directory.
pub fn preload(value: &OsStr, directory: Option<&Path>) -> Preload {
    let here = || std::env::current_dir().unwrap_or_default();
    let directory = directory.map_or_else(here, Path::to_path_buf);
    Preload::read(&value.to_string_lossy(), &directory, OURS, &System::new())
}

/// How the ranks of a program run, and what is to be said about it.
#[derive(Debug)]
pub enum Ranks {
    /// They are threads of one process, which was asked for although they share what these lines say.
    Threads(Vec<String>),
    /// They are processes.
    Processes {
        /// Says why, in lines.
        why: Vec<String>,
        /// Whether they could be threads all the same, if that is asked for.
        could_be_threads: bool,
    },
}

/// Decides how the ranks of a program run; `tools` come between it and MPI.
///
/// # Errors
/// Says why they can run neither way, or not as was asked for, and the remedy.
pub fn judge(path: &Path, tools: &[PathBuf], ranks_as: RanksAs) -> Result<Ranks, Stop> {
    let shown = path.display();
    let verdict = weft_loader::examine_with(path, tools, OURS, &System::new());
    let is_mixed = |reasons: &[Reason]| reasons.iter().any(|reason| reason.kind == ReasonKind::Mixture);
    let reasons = match &verdict {
        // In no process has a function two meanings.
        Verdict::Processes { reasons, .. } if is_mixed(reasons) => reasons,
        Verdict::NotLoadable(error) => return Err(Stop::new(CANNOT_EXECUTE, error)),
        _ if ranks_as == RanksAs::Processes => {
            let why = vec!["--ranks-as processes".into()];
            return Ok(Ranks::Processes { why, could_be_threads: true });
        }
        Verdict::Threads { .. } => return Ok(Ranks::Threads(Vec::new())),
        Verdict::Processes { reasons, .. } => reasons,
    };
    let is_impossible = reasons.iter().any(|reason| reason.kind.is_impossible());
    if ranks_as == RanksAs::Threads && !is_impossible {
        return Ok(Ranks::Threads(shared(reasons)));
    }
    let is_mixed = is_mixed(reasons);
    let is_foreign = is_mixed || reasons.iter().any(|reason| reason.kind == ReasonKind::OtherLibrary);
    let lines = || reasons.iter().map(ToString::to_string);
    if ranks_as == RanksAs::Auto && !is_foreign {
        return Ok(Ranks::Processes { why: lines().collect(), could_be_threads: !is_impossible });
    }
    let mut text = if is_foreign {
        format!("{shown}: it cannot take part in a job of this library, because")
    } else {
        format!("{shown}: its ranks cannot be threads, because")
    };
    for reason in lines() {
        text += &format!("\n  {reason}");
    }
    for remedy in verdict.remedies() {
        text += &format!("\n  remedy: {remedy}");
    }
    text += if is_mixed {
        ""
    } else if is_foreign {
        "\n  or run it all the same: --ranks-as processes"
    } else {
        "\n  or leave --ranks-as out: they can be processes"
    };
    Err(Stop::new(CANNOT_EXECUTE, text))
}

/// Says what ranks share that are threads all the same: a line for each object.
fn shared(reasons: &[Reason]) -> Vec<String> {
    let mut objects: Vec<(&Path, Vec<&str>)> = Vec::new();
    let mut others = Vec::new();
    for reason in reasons {
        match reason.kind {
            ReasonKind::ProcessCall => {
                let names = reason.names.iter().map(String::as_str);
                match objects.iter_mut().find(|(object, _)| *object == reason.object) {
                    Some((_, all)) => all.extend(names),
                    None => objects.push((&reason.object, names.collect())),
                }
            }
            ReasonKind::OwnAllocator => others.push(reason.to_string()),
            _ => {}
        }
    }
    let lines = objects.iter().map(|(object, names)| {
        let mut text = names.iter().take(12).copied().collect::<Vec<_>>().join(", ");
        if names.len() > 12 {
            text += &format!(" and {} more", names.len() - 12);
        }
        format!("{}: {text}", object.display())
    });
    lines.chain(others).collect()
}
