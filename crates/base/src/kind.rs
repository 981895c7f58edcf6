//! Kinds of handles.

use crate::constants::*;

/// What a handle is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// `MPI_Comm`
    Comm = 1,
    /// `MPI_Datatype`
    Datatype,
    /// `MPI_Op`
    Op,
    /// `MPI_Group`
    Group,
    /// `MPI_Errhandler`
    Errhandler,
    /// `MPI_Info`
    Info,
    /// `MPI_Message`
    Message,
    /// `MPI_Request`
    Request,
    /// `MPI_Session`
    Session,
    /// `MPI_Win`
    Win,
    /// `MPI_File`
    File,
}

impl Kind {
    /// Returns the error class of a bad handle.
    pub const fn class(self) -> i32 {
        match self {
            Self::Comm => MPI_ERR_COMM,
            Self::Datatype => MPI_ERR_TYPE,
            Self::Op => MPI_ERR_OP,
            Self::Group => MPI_ERR_GROUP,
            Self::Errhandler => MPI_ERR_ERRHANDLER,
            Self::Info => MPI_ERR_INFO,
            Self::Message | Self::Request => MPI_ERR_REQUEST,
            Self::Session => MPI_ERR_SESSION,
            Self::Win => MPI_ERR_WIN,
            Self::File => MPI_ERR_FILE,
        }
    }

    /// Returns what people call the object, with its article.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Comm => "a communicator",
            Self::Datatype => "a datatype",
            Self::Op => "an operation",
            Self::Group => "a group",
            Self::Errhandler => "an error handler",
            Self::Info => "an info object",
            Self::Message => "a message",
            Self::Request => "a request",
            Self::Session => "a session",
            Self::Win => "a window",
            Self::File => "a file",
        }
    }

    /// Returns the name most procedures give to their argument of this kind.
    pub const fn argument(self) -> &'static str {
        match self {
            Self::Comm => "comm",
            Self::Datatype => "datatype",
            Self::Op => "op",
            Self::Group => "group",
            Self::Errhandler => "errhandler",
            Self::Info => "info",
            Self::Message => "message",
            Self::Request => "request",
            Self::Session => "session",
            Self::Win => "win",
            Self::File => "fh",
        }
    }
}
