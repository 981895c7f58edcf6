//! Programs that were built for another MPI: our libraries of its names, in the installation's folder `lib/weft/abi`.

use crate::command_line::line::ForeignAbi;
use crate::command_line::resolve::OURS;
use crate::tools::install::Installation;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use weft_base::job::Abi;

/// Has every program that is judged from now on take our libraries for those of other MPIs.
pub fn supply(installation: &Installation) {
    weft_loader::supply(&installation.foreign);
}

/// Returns for which other MPI a program was built.
pub fn abi(program: &Path, abi: ForeignAbi) -> Option<Abi> {
    match abi {
        ForeignAbi::None => None,
        ForeignAbi::Library(name) => Abi::of_library(name),
        ForeignAbi::Auto => {
            let supplied = weft_loader::supplied(program, OURS);
            supplied.iter().find_map(|path| Abi::of_library(path.file_name()?.to_str()?))
        }
    }
}

/// Returns what the ranks of a program get in their environment when they are processes, so that the dynamic linker takes our
/// libraries; `known` tells the variables that they get already.
pub fn environment(
    program: &Path,
    abi: ForeignAbi,
    folder: &Path,
    known: impl Fn(&OsStr) -> Option<OsString>,
) -> Vec<(OsString, OsString)> {
    let preloaded: Vec<PathBuf> = match abi {
        ForeignAbi::None => return Vec::new(),
        ForeignAbi::Auto => weft_loader::supplied(program, OURS),
        ForeignAbi::Library(name) => vec![folder.join(name)],
    };
    if !folder.is_dir() || preloaded.is_empty() && needs_ours(program) {
        return Vec::new();
    }
    let in_front = |name: &str, added: Vec<OsString>| {
        let before = known(OsStr::new(name)).filter(|value| !value.is_empty());
        (OsString::from(name), added.into_iter().chain(before).collect::<Vec<_>>().join(OsStr::new(":")))
    };
    // What opens such a library later, like Python, finds ours by the folder; a path in a program's file would go before
    // that, but not before a library that is there already.
    let mut variables = vec![in_front("LD_LIBRARY_PATH", vec![folder.into()])];
    if !preloaded.is_empty() {
        variables.push(in_front("LD_PRELOAD", preloaded.into_iter().map(OsString::from).collect()));
    }
    variables
}

/// Tells whether a program needs the standard's library, and so no other.
fn needs_ours(program: &Path) -> bool {
    !weft_loader::imports(program, OURS, &|symbol| symbol.starts_with("MPI_")).is_empty()
}
