//! What `LD_PRELOAD` names. A tool that stands between a program and MPI is loaded for each rank, as the program is: each
//! rank has the tool's variables to itself, and the tool stands between its own rank and MPI only. All else (an allocator, say)
//! stays the business of the process.

use crate::image::Image;
use crate::libraries::{Search, SearchPaths};
use crate::map::MappedFile;
use crate::parts::{self, Need};
use std::path::{Path, PathBuf};

/// The files that `LD_PRELOAD` names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Preload {
    /// Lists tools of MPI, in their order.
    pub tools: Vec<PathBuf>,
    /// Holds what is left for the process, as the variable has it.
    pub rest: String,
}

impl Preload {
    /// Sorts what the variable names; `ours` lists the names under which programs need our library, and `directory` is where
    /// the process runs.
    pub fn read(value: &str, directory: &Path, ours: &[&str], search: &dyn Search) -> Self {
        let mut preload = Self::default();
        let mut rest = Vec::new();
        for name in value.split([':', ' ']).filter(|name| !name.is_empty()) {
            let place = if name.contains('/') { directory.join(name) } else { PathBuf::from(name) };
            let found = search.find(&place.to_string_lossy(), directory, &SearchPaths::default());
            match found.filter(|path| is_tool(path, ours, search)) {
                Some(path) => preload.tools.push(path),
                None => rest.push(name),
            }
        }
        preload.rest = rest.join(":");
        preload
    }
}

/// Tells whether a library is about MPI: it or a library that it needs was linked with ours, or it names functions of MPI.
fn is_tool(path: &Path, ours: &[&str], search: &dyn Search) -> bool {
    let file_name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if ours.contains(&file_name.as_str()) {
        return false;
    }
    let is_linked = parts::collect(path, &[], ours, search)
        .is_ok_and(|parts| parts.iter().any(|part| part.needs.iter().any(|(_, need)| *need == Need::Ours)));
    is_linked || names_mpi(path)
}

fn names_mpi(path: &Path) -> bool {
    let prefixes = ["MPI_", "PMPI_", "mpi_", "pmpi_"];
    let Ok(file) = MappedFile::open(path) else { return false };
    let Ok(image) = Image::parse(file.bytes()) else { return false };
    image.symbols().any(|symbol| prefixes.iter().any(|prefix| symbol.name.starts_with(prefix)))
}
