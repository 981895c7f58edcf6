//! What can go wrong with a program's file, told so that its owner can act on it.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why a file cannot be loaded or run at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// Names the file the problem was found in.
    pub path: PathBuf,
    /// Classifies the problem.
    pub kind: ErrorKind,
    /// Says what is wrong, with the offending value, and what to do about it.
    pub message: String,
}

/// Classifies an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file is missing or cannot be read.
    Unreadable,
    /// The file lacks the permission to be executed.
    NotExecutable,
    /// The file starts with `#!`.
    Script,
    /// The file is not in ELF format.
    NotElf,
    /// The file is a 32-bit program.
    Not64Bit,
    /// The file was built for another kind of machine.
    OtherMachine,
    /// The file is an object file, a core dump or a library, not a program.
    NotAProgram,
    /// The file ends before something its headers announce.
    Truncated,
    /// The file's tables contradict each other.
    Malformed,
    /// The program interpreter (the dynamic linker) named in the file does not exist.
    NoInterpreter,
    /// A shared library the program needs was not found.
    MissingLibrary,
    /// A shared library is older than the one that the program was linked with.
    MissingVersion,
    /// The system refused something while a copy was loaded.
    System,
    /// The dynamic linker refused a copy.
    Refused,
    /// The program can run, but not as copies in one process.
    NeedsProcesses,
}

impl Error {
    pub(crate) fn new(path: &Path, kind: ErrorKind, message: impl Into<String>) -> Self {
        Error { path: path.to_path_buf(), kind, message: message.into() }
    }

    /// Describes a failed system call by what was attempted and the system's own words.
    pub(crate) fn system(path: &Path, attempt: &str, error: &std::io::Error) -> Self {
        Error::new(path, ErrorKind::System, format!("{attempt}: {error}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.message)
    }
}

impl std::error::Error for Error {}

/// Abbreviates results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
