//! Errors: an MPI error class and a message that says what, which value, and what to do.

use crate::constants::{MPI_ERR_COUNT, MPI_ERR_KEYVAL, MPI_ERR_TAG};
use crate::kind::Kind;
use std::borrow::Cow;
use std::fmt;

/// The result of everything that can fail.
pub type Result<T = ()> = std::result::Result<T, Error>;

/// An error on its way to the error handler of the object it concerns. One pointer, so that a [`Result`] without a value
/// travels in a register on the short-message path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<Details>);

/// What an [`Error`] says; its fields are reached through the error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Details {
    /// One of the `MPI_ERR_…` classes (or a user's code returned by a callback).
    pub class: i32,
    /// What went wrong, with the value that was wrong and what to do about it. Begins with the argument's name.
    pub message: Cow<'static, str>,
    /// The communicator whose error handler decides, where the call itself names none (a request's).
    pub comm: Option<crate::abi::Comm>,
    /// The file whose error handler decides, where the call itself names none (a request's).
    pub file: Option<crate::abi::File>,
    /// What the argument was and its value, while the message still begins with [`Subject::argument`] and not with the
    /// name the called procedure gives its argument.
    pub unnamed: Option<(Subject, i64)>,
    /// The code that a user's error handler gets to see, where the call returns `MPI_ERR_IN_STATUS`.
    pub code_in_status: Option<i32>,
}

/// What an error is about, where that tells which argument it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A handle.
    Handle(Kind),
    /// An attribute key.
    Keyval,
    /// A tag.
    Tag,
    /// A number of elements.
    Count,
}

impl Subject {
    /// Returns the name most procedures give to their argument.
    pub const fn argument(self) -> &'static str {
        match self {
            Self::Handle(kind) => kind.argument(),
            Self::Keyval => "keyval",
            Self::Tag => "tag",
            Self::Count => "count",
        }
    }

    const fn class(self) -> i32 {
        match self {
            Self::Handle(kind) => kind.class(),
            Self::Keyval => MPI_ERR_KEYVAL,
            Self::Tag => MPI_ERR_TAG,
            Self::Count => MPI_ERR_COUNT,
        }
    }
}

impl std::ops::Deref for Error {
    type Target = Details;
    fn deref(&self) -> &Details {
        &self.0
    }
}

impl Error {
    /// Creates an error of class `class`.
    #[cold]
    pub fn new(class: i32, message: impl Into<Cow<'static, str>>) -> Self {
        let message = message.into();
        Self(Box::new(Details {
            class,
            message,
            comm: None,
            file: None,
            unnamed: None,
            code_in_status: None,
        }))
    }

    /// Creates the error of a bad handle; `text` goes on after the argument's name: `is …`.
    #[cold]
    pub fn handle(kind: Kind, handle: usize, text: impl fmt::Display) -> Self {
        Self::about(Subject::Handle(kind), handle as i64, text)
    }

    /// Creates the error of an argument whose value is wrong; `text` goes on after the argument's name: `is …`.
    #[cold]
    pub fn about(subject: Subject, value: i64, text: impl fmt::Display) -> Self {
        let message = Cow::Owned(format!("{} {text}", subject.argument()));
        let unnamed = Some((subject, value));
        Self(Box::new(Details {
            class: subject.class(),
            message,
            comm: None,
            file: None,
            unnamed,
            code_in_status: None,
        }))
    }

    /// Says which code is in the status of the operation that failed first.
    #[cold]
    pub fn in_status(mut self, code: i32) -> Self {
        self.0.code_in_status = Some(code);
        self
    }

    /// Says which communicator's error handler decides.
    #[cold]
    pub fn on(mut self, comm: crate::abi::Comm) -> Self {
        self.0.comm = Some(comm);
        self
    }

    /// Says which file's error handler decides.
    #[cold]
    pub fn of_file(mut self, file: crate::abi::File) -> Self {
        self.0.file = Some(file);
        self
    }

    /// Names the argument of an error made by [`Error::about`]; does nothing for one that is named already.
    #[cold]
    pub fn named(mut self, argument: &str) -> Self {
        if let Some((subject, _)) = self.0.unnamed.take() {
            let rest = &self.0.message[subject.argument().len()..];
            self.0.message = Cow::Owned(format!("{argument}{rest}"));
        }
        self
    }
}

/// Naming arguments on the way out: `process.datatype(sendtype).named("sendtype")?`.
pub trait Named {
    /// Does what [`Error::named`] does.
    fn named(self, argument: &str) -> Self;
    /// Names element `index` of an array.
    fn named_at(self, array: &str, index: usize) -> Self;
}

impl<T> Named for Result<T> {
    #[inline]
    fn named(self, argument: &str) -> Self {
        self.map_err(|error| error.named(argument))
    }

    #[inline]
    fn named_at(self, array: &str, index: usize) -> Self {
        self.map_err(|error| error.named(&format!("{array}[{index}]")))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_unnamed_argument_of_a_bad_handle_is_named() {
        let bad = Error::handle(Kind::Datatype, 0x200, "is MPI_DATATYPE_NULL; pass a datatype");
        assert_eq!(bad.message, "datatype is MPI_DATATYPE_NULL; pass a datatype");
        let named = bad.named("sendtype");
        assert_eq!(named.message, "sendtype is MPI_DATATYPE_NULL; pass a datatype");
        assert_eq!(named.named("recvtype").message, "sendtype is MPI_DATATYPE_NULL; pass a datatype");
        let other: Result = Err(Error::new(2, "count is -1"));
        assert_eq!(other.named_at("array_of_types", 3).unwrap_err().message, "count is -1");
    }
}
