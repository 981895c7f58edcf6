//! Finds the program's file and judges it.

use crate::flags::{RanksAs, Stop};
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use weft_loader::Verdict;

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
            Stop::new(NOT_FOUND, format!("{shown}: no such program in PATH{remedy}"))
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

/// Checks that a program's ranks can run as was asked for.
///
/// # Errors
/// Says why not, and the remedy.
pub fn judge(path: &Path, ranks_as: RanksAs) -> Result<(), Stop> {
    let shown = path.display();
    if ranks_as == RanksAs::Processes {
        let remedy = "leave --ranks-as out, or give it threads";
        return Err(Stop::new(
            crate::USAGE,
            format!("--ranks-as processes: not possible in this version; {remedy}"),
        ));
    }
    match weft_loader::examine(path, OURS) {
        Verdict::Threads { .. } => Ok(()),
        Verdict::NotLoadable(error) => Err(Stop::new(CANNOT_EXECUTE, error)),
        verdict @ Verdict::Processes { .. } => {
            let Verdict::Processes { reasons, .. } = &verdict else { unreachable!("matched above") };
            if ranks_as == RanksAs::Threads && !reasons.iter().any(|reason| reason.kind.is_impossible()) {
                return Ok(());
            }
            let mut text =
                format!("{shown}: its ranks must be processes, which this version cannot start, because");
            for reason in reasons {
                text += &format!("\n  {reason}");
            }
            for remedy in verdict.remedies() {
                text += &format!("\n  remedy: {remedy}");
            }
            if !reasons.iter().any(|reason| reason.kind.is_impossible()) {
                text += "\n  or run them as threads all the same: --ranks-as threads";
            }
            Err(Stop::new(CANNOT_EXECUTE, text))
        }
    }
}
