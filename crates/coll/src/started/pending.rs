//! One rank's part in an operation that it has started.

use crate::hier;
use crate::started::light::Stay;
use crate::started::meeting::Joined;
use weft_base::Result;
use weft_sched::Thread;

/// One rank's part in an operation that it has started.
pub struct Pending(Kind);

enum Kind {
    Joined(Joined),
    Stay(Stay),
    Spread(hier::Pending),
}

impl From<Joined> for Pending {
    fn from(joined: Joined) -> Self {
        Self(Kind::Joined(joined))
    }
}

impl From<Stay> for Pending {
    fn from(stay: Stay) -> Self {
        Self(Kind::Stay(stay))
    }
}

impl From<hier::Pending> for Pending {
    fn from(pending: hier::Pending) -> Self {
        Self(Kind::Spread(pending))
    }
}

impl Pending {
    /// Does what can be done. Returns whether the rank's part is over: its buffers are its own again.
    ///
    /// If not, `waiter` is unparked as soon as another call could get further; it stays registered until
    /// [`Pending::leave`].
    pub fn advance(&self, waiter: Option<&'static Thread>) -> bool {
        match &self.0 {
            Kind::Joined(joined) => joined.advance(waiter),
            Kind::Stay(stay) => stay.advance(waiter),
            Kind::Spread(pending) => pending.advance(waiter),
        }
    }

    /// Tells whether the rank's part was over, without an error, as soon as it had begun: an operation with little data for
    /// which the rank waits for nobody. Takes what it receives.
    pub fn is_over_at_once(&self) -> bool {
        matches!(&self.0, Kind::Stay(stay) if stay.advance(None) && stay.result().is_ok())
    }

    /// Tells whether the rank's part is over, as far as one can see without doing anything for it.
    pub fn is_over(&self) -> bool {
        match &self.0 {
            Kind::Joined(joined) => joined.is_over(),
            Kind::Stay(stay) => stay.is_over(),
            Kind::Spread(pending) => pending.is_over(),
        }
    }

    /// Forgets the waiter.
    pub fn leave(&self) {
        match &self.0 {
            Kind::Joined(joined) => joined.leave(),
            Kind::Stay(stay) => stay.leave(),
            Kind::Spread(pending) => pending.leave(),
        }
    }

    /// Tells whether the others get on although the rank only waits for this.
    pub fn is_independent(&self) -> bool {
        matches!(self.0, Kind::Stay(_))
    }

    /// Waits until the rank's part is over.
    ///
    /// # Errors
    /// As [`Pending::result`].
    pub fn wait(&self) -> Result {
        match &self.0 {
            Kind::Joined(joined) => joined.wait(),
            Kind::Stay(stay) => {
                stay.wait();
                stay.result()
            }
            Kind::Spread(pending) => pending.wait(),
        }
    }

    /// Returns how the rank's part ended.
    ///
    /// # Errors
    /// `MPI_ERR_TRUNCATE` if it received more than fits; `MPI_ERR_OTHER` if the ranks made different calls.
    pub fn result(&self) -> Result {
        match &self.0 {
            Kind::Joined(joined) => joined.result(),
            Kind::Stay(stay) => stay.result(),
            Kind::Spread(pending) => pending.result(),
        }
    }
}
