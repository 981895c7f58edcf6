//! Loads one private copy of a program, and of the libraries it brings, for each rank of a process.
//!
//! [`examine`] judges a program's file, [`Program::prepare`] reads and edits it once, [`Program::load_copy`] makes
//! a copy, and [`Copy`] runs it. `linker` is what is asked of the dynamic linker. The crate knows nothing of what ranks do.
//!
//! `preload`: the tools that come between a program and MPI. What a rank opens while it runs is loaded by [`plugins`]. The files of the folder `symbols` beside `src` judge every
//! symbol of the libraries that all ranks share; `uses` finds which of these a program uses.

mod copy;
mod edit;
mod enter;
mod error;
mod examine;
pub mod image;
pub mod libraries;
pub mod link;
mod linker;
mod map;
mod parts;
pub mod plugins;
mod preload;
mod program;
mod relocation;
mod uses;
mod variables;
mod verdict;
mod versions;

pub use copy::Copy;
pub use error::{Error, ErrorKind, Result};
pub use examine::{examine, examine_with};
pub use libraries::supplied::supply;
pub use libraries::symbols;
pub use preload::Preload;
pub use program::{Program, check_bytes};
pub use uses::imports;
pub use verdict::{Note, Reason, ReasonKind, Verdict};

use std::path::{Path, PathBuf};

/// Lists the supplied libraries that a program or its own libraries need, each once; none where it cannot be told.
pub fn supplied(program: &Path, ours: &[&str]) -> Vec<PathBuf> {
    let Ok(parts) = parts::collect(program, &[], ours, &libraries::System::new()) else { return Vec::new() };
    let mut found: Vec<PathBuf> = parts.into_iter().map(|part| part.path).collect();
    found.retain(|path| libraries::supplied::is_supplied(path));
    found
}
