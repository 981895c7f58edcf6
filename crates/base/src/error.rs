//! Errors: an MPI error class and a message that says what, which value, and what to do.

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
    /// What went wrong, with the value that was wrong and what to do about it.
    pub message: Cow<'static, str>,
    /// The communicator whose error handler decides, where the call itself names none (a request's).
    pub comm: Option<crate::abi::Comm>,
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
        Self(Box::new(Details { class, message: message.into(), comm: None }))
    }

    /// Says which communicator's error handler decides.
    #[cold]
    pub fn on(mut self, comm: crate::abi::Comm) -> Self {
        self.0.comm = Some(comm);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
