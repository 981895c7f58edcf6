//! Finds the program's file and judges it.

use crate::flags::{RanksAs, Stop};
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use weft_loader::{ReasonKind, Verdict};

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

/// Returns why ranks of a program are to be processes, in lines; `None` if they can be threads as was asked for.
///
/// # Errors
/// Says why they can be neither, and the remedy.
pub fn judge(path: &Path, ranks_as: RanksAs) -> Result<Option<Vec<String>>, Stop> {
    let shown = path.display();
    let verdict = weft_loader::examine(path, OURS);
    let reasons = match &verdict {
        Verdict::NotLoadable(error) => return Err(Stop::new(CANNOT_EXECUTE, error)),
        _ if ranks_as == RanksAs::Processes => return Ok(Some(vec!["--ranks-as processes".into()])),
        Verdict::Threads { .. } => return Ok(None),
        Verdict::Processes { reasons, .. } => reasons,
    };
    let is_impossible = reasons.iter().any(|reason| reason.kind.is_impossible());
    if ranks_as == RanksAs::Threads && !is_impossible {
        return Ok(None);
    }
    let is_foreign = reasons.iter().any(|reason| reason.kind == ReasonKind::OtherLibrary);
    let lines = || reasons.iter().map(ToString::to_string);
    if ranks_as == RanksAs::Auto && !is_foreign {
        return Ok(Some(lines().collect()));
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
    text += if is_foreign {
        "\n  or run it all the same: --ranks-as processes"
    } else {
        "\n  or leave --ranks-as out: they can be processes"
    };
    Err(Stop::new(CANNOT_EXECUTE, text))
}
