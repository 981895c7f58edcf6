//! Libraries that the host supplies in place of others with the same names, whatever a program says of where to look.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// Has every library of a folder taken for those with the same names, from now on, in this process. Says nothing where there
/// is no such folder.
pub fn supply(folder: &Path) {
    let _ = FOLDER.set(folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf()));
}

/// Finds the library that is supplied for a needed name.
pub fn find(name: &str) -> Option<PathBuf> {
    let file = name.rsplit('/').next().filter(|file| !file.is_empty())?;
    Some(FOLDER.get()?.join(file)).filter(|path| path.is_file())
}

/// Tells whether a file is one of those that are supplied.
pub fn is_supplied(path: &Path) -> bool {
    FOLDER.get().is_some_and(|folder| path.parent() == Some(folder.as_path()))
}
