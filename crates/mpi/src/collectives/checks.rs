//! Checking mode, collective operations: before each, a rank compares call, root, operation and datatypes with those of
//! the ranks that have come to it already.
//!
//! The functions have the arguments of the blocking procedures, and stand before the nonblocking and persistent ones, too.
//! What is shown is said by the description of the call ([`Arguments`]). Ranks of several processes are compared by that of the
//! communicator's first rank (`weft_coll::Shown`), and what they show is written for it (`collective_shown`).
//! What they cannot make sense of they leave to the procedure's own checks.

use crate::collectives::arguments::{Argument, Arguments, Elements};
use crate::collectives::forms::{with_collectives, with_neighborhoods};
use crate::collectives::movement::*;
use crate::collectives::neighborhoods::Neighborhood;
use crate::collectives::reductions::{Amount, Reduction};
pub(crate) use crate::collectives::shown::{Place, Shown, Side};
use crate::communicators::communicator::Communicator;
use crate::process::Process;
use core::ffi::{c_int, c_void};
use std::any::Any;
use std::sync::Arc;
use weft_base::abi::{self, Aint, Count};
use weft_base::constants::*;
use weft_base::finding::{self, Finding};
use weft_base::{Counts, In};
use weft_coll::Call;
use weft_datatype::{Difference, Signature};

/// The rank and communicator of a call.
pub(crate) struct Caller<'a> {
    pub process: &'static Process,
    pub communicator: &'a Communicator,
    pub rank: u32,
}

impl Caller<'_> {
    /// Returns the number of ranks on the caller's side.
    pub fn size(&self) -> u32 {
        self.communicator.values.size()
    }

    /// Returns the number of ranks that the caller exchanges data with.
    fn peers(&self) -> u32 {
        self.communicator.values.peers().size()
    }

    pub fn signature(&self, count: Count, datatype: abi::Datatype) -> Option<Signature> {
        Some(Signature::new(&*self.process.datatype(datatype).ok()?, u64::try_from(count).ok()?))
    }

    pub fn everybody(&self, count: Count, datatype: abi::Datatype) -> Side {
        self.signature(count, datatype).map_or(Side::Nobody, Side::Everybody)
    }

    /// Tells whether a root argument means the caller.
    pub fn is(&self, root: c_int) -> bool {
        match self.communicator.values.is_inter() {
            true => root == MPI_ROOT,
            false => i64::from(self.rank) == i64::from(root),
        }
    }

    /// Tells whether a root argument means that the caller takes no part: it stands beside a root of its own side.
    pub fn stands_by(&self, root: Option<c_int>) -> bool {
        self.communicator.values.is_inter() && root == Some(MPI_PROC_NULL)
    }

    /// Says what an argument's piece for a peer is.
    fn piece(&self, argument: &Argument, peer: usize) -> Option<Signature> {
        let at = |counts: Counts| if counts.is_null() { -1 } else { counts.get(peer) };
        match argument.elements {
            Elements::Block(count, datatype) => self.signature(count, datatype),
            Elements::Pieces(counts, _, datatype) => self.signature(at(counts), datatype),
            Elements::Typed(_, _, types) if types.is_null() => None,
            Elements::Typed(counts, _, types) => self.signature(at(counts), types.get(peer)),
        }
    }

    /// Says what an argument is for each rank.
    pub fn all(&self, argument: &Argument) -> Side {
        match argument.elements {
            Elements::Block(count, datatype) => self.everybody(count, datatype),
            _ => Side::Each((0..self.peers() as usize).map(|peer| self.piece(argument, peer)).collect()),
        }
    }

    /// Says what an argument is for each neighbor: they are given in the order of its pieces, with the numbers of their
    /// edges.
    pub fn edges(&self, argument: &Argument, neighbors: impl Iterator<Item = (u32, usize)>) -> Side {
        let pieces = neighbors.enumerate();
        let known = |(place, edge)| self.piece(argument, place).map(|signature| (edge, signature));
        Side::Edges(pieces.filter_map(known).collect())
    }

    pub fn to(&self, root: c_int, count: Count, datatype: abi::Datatype) -> Side {
        match (u32::try_from(root), self.signature(count, datatype)) {
            (Ok(root), Some(signature)) => Side::One(root, signature),
            _ => Side::Nobody,
        }
    }
}

/// Compares a call with those of the other ranks of its communicator that have come to it.
fn compare(call: &'static str, arguments: &impl Arguments) {
    let Ok(process) = Process::current() else { return };
    let Ok(communicator) = process.communicator(arguments.comm()) else { return };
    let communicator: &Communicator = &communicator;
    let values = &communicator.values;
    let caller = Caller { process, communicator, rank: values.rank };
    let place = Place { is_left: values.is_left, rank: values.rank };
    let name = finding::communicator(process.world_rank, values.context);
    let mut mine = Shown::new(call, process.world_rank, place, name, values.is_inter());
    arguments.show(&caller, &mut mine);
    mine.root = mine.root.filter(|&value| root(communicator, value).is_ok());
    communicator.team.show(Arc::new(mine));
}

impl weft_coll::Shown for Shown {
    fn look_at(&self, earlier: &[Arc<dyn weft_coll::Shown>]) {
        // What must be the same at all ranks is compared with the first that came; between two groups, where ranks may say
        // nothing of it, with all until a difference is found.
        let mut looks = true;
        for other in earlier {
            let Some(other) = (&**other as &dyn Any).downcast_ref::<Self>() else { continue };
            let report = |message: String, roles: [&str; 2]| {
                Finding::new(self.world_rank, message)
                    .on(&self.communicator)
                    .call(format!("rank {} {}", other.world_rank, roles[0]), other.site)
                    .call(format!("rank {} {}", self.world_rank, roles[1]), self.site)
                    .report();
            };
            if looks {
                looks = !same(other, self, report) && self.is_inter;
            }
            self.look_at_data(other, report);
        }
    }

    fn write(&self) -> Vec<u8> {
        self.written()
    }
}

/// Reads what a rank of another process shows.
pub(crate) fn read(bytes: &[u8]) -> Option<Arc<dyn weft_coll::Shown>> {
    Some(Arc::new(Shown::read(bytes)?))
}

impl Shown {
    /// Compares what the rank and another one in the same call send to each other.
    fn look_at_data(&self, other: &Self, report: impl Fn(String, [&str; 2])) {
        let (me, there) = (self.place, other.place);
        if other.call != self.call || (self.is_inter && me.is_left == there.is_left) {
            return;
        }
        let ways = [
            (&other.sends, me.rank, &self.receives, there.rank, ["sends", "receives"]),
            (&self.sends, there.rank, &other.receives, me.rank, ["receives", "sends"]),
        ];
        for (sends, target, receives, source, roles) in ways {
            for edge in sends.edges() {
                if let (Some(sent), Some(expected)) = (sends.of(target, edge), receives.of(source, edge))
                    && let Some(difference) = sent.differs(expected)
                {
                    let message = format!(
                        "count or datatype of {} differ between sender and receiver: {}",
                        self.call,
                        describe_difference(&difference, "sent", "received")
                    );
                    report(message, roles);
                }
            }
        }
    }
}

/// Tells whether two ranks mean the same root.
///
/// Between two groups the ranks beside the root name nobody, and those of the other group name the root by its number.
fn agree(one: (c_int, Place), other: (c_int, Place)) -> bool {
    let ((first, here), (second, there)) = (one, other);
    let is = |root: c_int, place: Place| i64::from(root) == i64::from(place.rank);
    match here.is_left == there.is_left {
        true => first == second && first != MPI_ROOT || (first < 0 && second < 0 && first != second),
        false if first < 0 => second >= 0 && (first == MPI_ROOT) == is(second, here),
        false => second < 0 && (second == MPI_ROOT) == is(first, there),
    }
}

/// Reports a difference in what must be the same; tells whether there is one.
fn same(other: &Shown, mine: &Shown, report: impl Fn(String, [&str; 2])) -> bool {
    let (there, here) = (other.place, mine.place);
    if other.call != mine.call {
        report("ranks of one communicator are in different collective calls".into(), ["is", "is"]);
    } else if let (Some(theirs), Some(ours)) = (other.root, mine.root)
        && !agree((theirs, there), (ours, here))
    {
        let name = |root| match root {
            MPI_ROOT => "MPI_ROOT".into(),
            MPI_PROC_NULL => "MPI_PROC_NULL".into(),
            rank => rank.to_string(),
        };
        let message = format!("ranks give different roots to {}", mine.call);
        report(message, [&format!("says {}", name(theirs)), &format!("says {}", name(ours))]);
    } else if let (Some(theirs), Some(ours)) = (other.operation, mine.operation)
        && theirs != ours
    {
        report(format!("ranks give different operations to {}", mine.call), ["calls it", "calls it"]);
    } else if let (Some(theirs), Some(ours)) = (&other.common, &mine.common)
        && let Some(difference) = theirs.differs(ours)
    {
        let difference = describe_difference(&difference, "at one", "at another");
        report(
            format!("count or datatype of {} differ between ranks: {difference}", mine.call),
            ["calls it", "calls it"],
        );
    } else {
        return false;
    }
    true
}

fn describe_difference(difference: &Difference, first: &str, second: &str) -> String {
    let place =
        difference.describe(|one, other| format!("is {one} where {first} and {other} where {second}"));
    place.replace("where at", "at")
}

macro_rules! checks {
    ($($name:ident $text:literal, $_n:ident $_nt:literal, $_p:ident $_pt:literal ($($argument:ident: $kind:ty),*) = $describe:expr;)*) => {$(
        #[doc = concat!("Stands before `", $text, "`.")]
        #[allow(clippy::too_many_arguments)]
        pub fn $name(call: &'static str, $($argument: $kind),*) {
            compare(call, &$describe)
        }
    )*};
}
with_collectives!(checks);
with_neighborhoods!(checks);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_two_groups_agree_on_a_root_in_their_own_words() {
        let left = |rank| Place { is_left: true, rank };
        let right = |rank| Place { is_left: false, rank };
        // Rank 1 of the left group is the root.
        let right_words = [(MPI_PROC_NULL, left(0)), (MPI_ROOT, left(1)), (1, right(0)), (1, right(1))];
        for one in right_words {
            for other in right_words.iter().filter(|other| other.0 >= 0 || other.0 != one.0) {
                assert!(agree(one, *other) && agree(*other, one), "{} {}", one.0, other.0);
            }
        }
        let wrong = [
            ((MPI_ROOT, left(0)), (MPI_ROOT, left(1))),
            ((MPI_ROOT, left(0)), (1, right(0))),
            ((MPI_PROC_NULL, left(1)), (1, right(0))),
            ((1, right(0)), (0, right(1))),
            ((1, left(0)), (1, right(0))),
            ((MPI_ROOT, left(0)), (MPI_PROC_NULL, right(0))),
            ((MPI_PROC_NULL, left(0)), (0, left(1))),
        ];
        for (one, other) in wrong {
            assert!(!agree(one, other) && !agree(other, one), "{} {}", one.0, other.0);
        }
        assert!(agree((MPI_PROC_NULL, left(0)), (MPI_PROC_NULL, left(2))));
        assert!(agree((3, left(0)), (3, left(1))) && !agree((3, left(0)), (2, left(1))));
    }
}
