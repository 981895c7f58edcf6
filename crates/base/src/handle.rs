//! What the value of a handle says: whose it is, what it is for, and why it is refused.
//!
//! The program sees a handle as an opaque word. Those of the objects it creates are made of
//!
//! ```text
//! bits 48..64   generation   how often the slot was used before
//! bits 32..48   rank         whose table it is, by the lowest 16 bits of the rank
//! bits 28..32   kind         see `Kind`
//! bits  0..28   index + 4096
//! ```
//!
//! so a handle that was freed, copied from another rank, or is of another kind of object never finds an object, and the
//! error can say which of these it was. Predefined handles are below 4096 and have no kind bits. Requests divide the
//! upper half differently, see `weft_p2p::requests`.

use crate::Error;
use crate::predefined_handles::PREDEFINED_HANDLES;

pub use crate::kind::Kind;

/// All kinds.
const KINDS: [Kind; 11] = [
    Kind::Comm,
    Kind::Datatype,
    Kind::Op,
    Kind::Group,
    Kind::Errhandler,
    Kind::Info,
    Kind::Message,
    Kind::Request,
    Kind::Session,
    Kind::Win,
    Kind::File,
];

/// The first index of a table, in a handle: what is below is predefined.
const FIRST: usize = 4096;
const KIND_SHIFT: u32 = 28;

impl Kind {
    /// Returns the lower half of the handle with index 0.
    pub const fn first(self) -> usize {
        (self as usize) << KIND_SHIFT | FIRST
    }

    /// Returns the kind of a handle that looks like one of a user's object. Addresses of memory do not: seen as a
    /// handle, they have high ranks or large indices.
    fn of(handle: usize) -> Option<Self> {
        let bits = handle >> KIND_SHIFT & 0xf;
        let low = handle & ((1 << KIND_SHIFT) - 1);
        let plausible = (FIRST..1 << 24).contains(&low) && (handle >> 32 & 0xffff) < 1 << 14;
        KINDS.into_iter().find(|&kind| kind as usize == bits && plausible)
    }

    /// Returns the error of freeing a predefined handle.
    #[cold]
    pub fn predefined(self, handle: usize) -> Error {
        let name = name(handle).map_or_else(|| format!("{handle:#x}"), |(name, _)| name.into());
        Error::handle(self, handle, format!("is {name}, which is predefined; it cannot be freed"))
    }

    /// Returns the error about a handle that is not, or is no longer, one of this kind and rank.
    ///
    /// `known` tells whether the table has, or had, an object with that index.
    #[cold]
    pub fn refuse(self, handle: usize, rank: u32, known: bool) -> Error {
        let noun = self.noun();
        let text = match handle {
            0 => format!("is zero; is the variable initialised? Pass {noun}"),
            h if h < FIRST => match name(h) {
                Some((name, kind)) if kind == self && name.ends_with("_NULL") => {
                    format!("is {name}; pass {noun}")
                }
                Some((name, kind)) if kind == self => format!("is {name}, which cannot be used here"),
                Some((name, kind)) => format!("is {name}, {}; pass {noun}", kind.noun()),
                None => format!("is {h:#x}, which is not the handle of {noun}"),
            },
            h => match Self::of(h) {
                Some(kind) if kind != self => {
                    format!("is {h:#x}, the handle of {}; pass {noun}", kind.noun())
                }
                Some(_) if self != Self::Request && (h >> 32 & 0xffff) as u32 != rank & 0xffff => {
                    let other = h >> 32 & 0xffff;
                    format!(
                        "is {h:#x}, {noun} of rank {other}; handles are valid only in the rank that got them"
                    )
                }
                Some(_) if known => format!("is {h:#x}, {noun} that was freed already"),
                _ => format!("is {h:#x}, which is not the handle of {noun}"),
            },
        };
        Error::handle(self, handle, text)
    }
}

/// Returns the name and kind of a predefined handle.
pub fn name(handle: usize) -> Option<(&'static str, Kind)> {
    PREDEFINED_HANDLES.iter().find(|(value, ..)| *value == handle).map(|&(_, name, kind)| (name, kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constants::*;

    #[test]
    fn a_refusal_says_what_the_handle_is() {
        let text = |kind: Kind, handle, known| kind.refuse(handle, 3, known).message.to_string();
        assert!(text(Kind::Comm, 0, false).starts_with("comm is zero"));
        assert!(
            text(Kind::Comm, MPI_COMM_NULL.0, false).contains("comm is MPI_COMM_NULL; pass a communicator")
        );
        assert!(text(Kind::Comm, MPI_INT.0, false).contains("comm is MPI_INT, a datatype"));
        let mine = Kind::Datatype.first() | 3 << 32;
        assert!(text(Kind::Comm, mine, false).contains("the handle of a datatype; pass a communicator"));
        assert!(text(Kind::Datatype, mine, true).contains("freed already"));
        assert!(text(Kind::Datatype, mine, false).contains("is not the handle of a datatype"));
        assert!(
            text(Kind::Datatype, Kind::Datatype.first() | 5 << 32, true).contains("a datatype of rank 5")
        );
        assert!(text(Kind::Info, 0x7fff_1234_5678, false).contains("not the handle of an info object"));
    }

    #[test]
    fn every_predefined_handle_has_a_name_of_its_kind() {
        assert_eq!(name(MPI_COMM_WORLD.0), Some(("MPI_COMM_WORLD", Kind::Comm)));
        assert_eq!(name(MPI_SUM.0), Some(("MPI_SUM", Kind::Op)));
        assert_eq!(name(MPI_MESSAGE_NULL.0), Some(("MPI_MESSAGE_NULL", Kind::Message)));
        assert!(PREDEFINED_HANDLES.len() > 90);
    }
}
