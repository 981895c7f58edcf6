//! What a judgement of a program comes to: how its ranks can run, and why.

use crate::error::Error;
use std::fmt;
use std::path::PathBuf;

/// How the ranks of a program can run.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// Ranks can be copies in one process.
    Threads {
        /// Tells what is different there, for the curious.
        notes: Vec<Note>,
    },
    /// Each rank must be a process of its own.
    Processes {
        /// Says why, each with what would help.
        reasons: Vec<Reason>,
        /// Tells what else was noticed.
        notes: Vec<Note>,
    },
    /// The file cannot be run at all.
    NotLoadable(Error),
}

impl Verdict {
    /// Lists what to do so that ranks can be copies, each remedy once.
    pub fn remedies(&self) -> Vec<&str> {
        let mut all: Vec<&str> = Vec::new();
        if let Verdict::Processes { reasons, .. } = self {
            for reason in reasons {
                if !all.contains(&reason.remedy.as_str()) {
                    all.push(&reason.remedy);
                }
            }
        }
        all
    }
}

/// Why ranks must be processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// Classifies the reason.
    pub kind: ReasonKind,
    /// Names the program or the library that is the cause.
    pub object: PathBuf,
    /// Says what was found there.
    pub what: String,
    /// Lists the symbols it is about, if it is about symbols.
    pub names: Vec<String>,
    /// Says what to do about it.
    pub remedy: String,
}

/// Classifies a [`Reason`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReasonKind {
    /// Neither the program nor its libraries need our library.
    NotOurProgram,
    /// The file is a script: what it starts is not known.
    Script,
    /// The program needs the library of another implementation.
    OtherLibrary,
    /// The program and its libraries need libraries of two MPIs.
    Mixture,
    /// The program is linked statically.
    Static,
    /// The program has fixed addresses.
    FixedAddress,
    /// The program has thread-local data at places fixed when the process starts.
    StaticThreadLocal,
    /// Data of a library was moved into the program.
    CopyRelocation,
    /// Read-only memory would have to be changed for each copy.
    TextRelocation,
    /// The program calls what concerns the whole process.
    ProcessCall,
    /// The program or a library brings its own heap.
    OwnAllocator,
}

impl ReasonKind {
    /// Tells whether loading copies is impossible; otherwise it works but may not do what the program expects.
    pub fn is_impossible(self) -> bool {
        !matches!(
            self,
            ReasonKind::NotOurProgram
                | ReasonKind::ProcessCall
                | ReasonKind::OwnAllocator
                | ReasonKind::OtherLibrary
        )
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.object.display(), self.what)
    }
}

/// Something that is no obstacle but good to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Names the program or library it is about.
    pub object: PathBuf,
    /// Says it.
    pub what: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.object.display(), self.what)
    }
}
