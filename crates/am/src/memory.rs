//! The memory of long messages: where data is, and where it comes to.
#![allow(unsafe_code)] // Promises memory to the transfer service, on the word of who made the value.

use core::fmt;
use weft_post::{Data, Place, Room};

/// Called when data has left, or has come, or never will: then with what is known of the reason.
pub(crate) type Then = Box<dyn FnOnce(Result<(), String>) + Send>;

/// Data that is sent.
pub enum Source {
    /// The message's own.
    Own(Box<[u8]>),
    /// Somebody else's: see [`Source::lent`].
    Lent(Place, u64),
}

// SAFETY: what is lent may be read by any thread: see `Source::lent`.
unsafe impl Send for Source {}

impl Source {
    /// Describes data that somebody else keeps.
    ///
    /// # Safety
    /// So many bytes at the place are readable, by any thread, and do not change until the function is called that is given beside.
    pub unsafe fn lent(place: Place, bytes: u64) -> Self {
        Self::Lent(place, bytes)
    }
}

// SAFETY: what is its own lies on the heap; of what is lent that is said where it is made.
unsafe impl Data for Source {
    fn place(&self) -> Place {
        match self {
            Self::Own(bytes) => Place::Block(bytes.as_ptr().cast_mut()),
            Self::Lent(place, _) => *place,
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::Own(bytes) => bytes.len() as u64,
            Self::Lent(_, bytes) => *bytes,
        }
    }
}

/// Where the data of a long message goes.
pub struct Landing {
    pub(crate) place: Place,
    pub(crate) bytes: u64,
    pub(crate) then: Then,
}

// SAFETY: the memory may be written by any thread: see `Landing::new`.
unsafe impl Send for Landing {}

impl Landing {
    /// Describes memory, and what is to be done when the data is there, or will never be.
    ///
    /// # Safety
    /// So many bytes at the place are writable, by any thread, and nobody else uses them until `then` is called.
    pub unsafe fn new(
        place: Place,
        bytes: u64,
        then: impl FnOnce(Result<(), String>) + Send + 'static,
    ) -> Self {
        Self { place, bytes, then: Box::new(then) }
    }
}

// SAFETY: that is said where it is made.
unsafe impl Room for Landing {
    fn place(&mut self) -> Place {
        self.place
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl fmt::Debug for Landing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Landing").field("place", &self.place).field("bytes", &self.bytes).finish()
    }
}
