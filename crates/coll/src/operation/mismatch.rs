//! The error of ranks in different calls.

use crate::operation::Contribution;
use crate::operation::call::Description;
use core::fmt::{self, Display};
use weft_base::Error;
use weft_base::constants::MPI_ERR_OTHER;

/// Returns the error of collective calls of which `who` says who has called what.
#[cold]
pub(crate) fn mismatch(who: impl Display) -> Error {
    of_calls("", &who)
}

/// Returns the error of two ranks in different calls, which may be nonblocking or persistent.
#[cold]
pub(crate) fn mismatch_of_started(one: (u32, Description), other: (u32, Description)) -> Error {
    of_calls("nonblocking or persistent ", &Both(one, other))
}

fn of_calls(kind: &str, who: &dyn Display) -> Error {
    let remedy = "all its ranks must make the same collective calls in the same order";
    Error::new(
        MPI_ERR_OTHER,
        format!("{kind}collective calls on one communicator do not match: {who}; {remedy}"),
    )
}

/// Two ranks and what they have called.
pub(crate) struct Both(pub (u32, Description), pub (u32, Description));

impl Display for Both {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self((one, call), (other, other_call)) = self;
        write!(f, "rank {one} called {call} while rank {other} called {other_call}")
    }
}

impl Contribution {
    /// Tells whether the calls of two ranks match. Of one that takes no part only the operation is known.
    pub(crate) fn agrees_with(&self, other: &Self) -> bool {
        if self.is_spectator || other.is_spectator {
            self.description.same_operation(other.description)
        } else {
            self.description == other.description
        }
    }
}
