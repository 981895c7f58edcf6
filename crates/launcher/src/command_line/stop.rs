//! What ends the launcher before a job runs.

use std::fmt::Display;
use weft_base::say;

/// Ends the launcher before a job runs: a message and the exit code.
#[derive(Debug)]
pub struct Stop {
    /// What to print; to standard output if the code is 0.
    pub message: String,
    /// The exit code.
    pub code: i32,
}

impl Stop {
    /// Makes a failure out of a message that names the value and the remedy.
    pub fn new(code: i32, message: impl Display) -> Self {
        Self { message: format!("mpirun: {message}\n"), code }
    }

    /// Makes a failure of the way in which a command was called.
    pub fn usage(message: impl Display) -> Self {
        Self::new(crate::USAGE, message)
    }

    /// Prints the message and returns the exit code.
    pub fn print(self) -> i32 {
        if self.code == 0 {
            print!("{}", self.message)
        } else {
            say::write(format_args!("{}", self.message));
        }
        self.code
    }
}
