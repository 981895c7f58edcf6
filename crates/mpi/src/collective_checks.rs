//! Checking mode, collective operations: before each, a rank compares call, root, operation and datatypes with those of
//! the ranks that have come to it already.
//!
//! The functions have the arguments of the blocking procedures, and stand before the nonblocking and persistent ones, too.
//! What is shown is said by the description of the call ([`Arguments`]).
//! What they cannot make sense of they leave to the procedure's own checks.

use crate::collective_arguments::{Argument, Arguments, Elements};
use crate::collective_forms::with_collectives;
use crate::collectives::*;
use crate::communicators::Communicator;
use crate::process::Process;
use crate::reductions::{Amount, Reduction};
use core::ffi::{c_int, c_void};
use std::sync::Arc;
use weft_base::abi::{self, Count};
use weft_base::finding::Finding;
use weft_base::site::{self, Site};
use weft_base::{Counts, In};
use weft_coll::Call;
use weft_datatype::{Basic, Difference, Signature};

/// What one side of an operation is, for each rank.
pub(crate) enum Side {
    Nobody,
    /// The same for every rank.
    Everybody(Signature),
    /// For one rank only.
    One(u32, Signature),
    /// For each rank its own; none where an argument makes no sense.
    Each(Vec<Option<Signature>>),
}

impl Side {
    pub fn of(&self, rank: u32) -> Option<&Signature> {
        match self {
            Self::Nobody => None,
            Self::Everybody(signature) => Some(signature),
            Self::One(only, signature) => (*only == rank).then_some(signature),
            Self::Each(all) => all.get(rank as usize)?.as_ref(),
        }
    }
}

/// What a rank shows to the others.
pub(crate) struct Shown {
    call: &'static str,
    site: Option<&'static Site>,
    pub root: Option<c_int>,
    /// The operation of a reduction: its handle if it is predefined; whether it commutes.
    pub operation: Option<(usize, bool)>,
    /// What must be the same at all ranks.
    pub common: Option<Signature>,
    pub sends: Side,
    pub receives: Side,
}

impl Shown {
    fn new(call: &'static str) -> Self {
        let call = call.strip_suffix("_c").unwrap_or(call);
        let (sends, receives) = (Side::Nobody, Side::Nobody);
        Self { call, site: site::current(), root: None, operation: None, common: None, sends, receives }
    }
}

/// The rank and communicator of a call.
pub(crate) struct Caller {
    pub process: &'static Process,
    pub rank: u32,
    pub size: u32,
}

impl Caller {
    pub fn signature(&self, count: Count, datatype: abi::Datatype) -> Option<Signature> {
        Some(Signature::new(&*self.process.datatype(datatype).ok()?, u64::try_from(count).ok()?))
    }

    pub fn everybody(&self, count: Count, datatype: abi::Datatype) -> Side {
        self.signature(count, datatype).map_or(Side::Nobody, Side::Everybody)
    }

    fn each(&self, counts: Counts, datatype: impl Fn(usize) -> abi::Datatype) -> Side {
        if counts.is_null() {
            return Side::Nobody;
        }
        Side::Each((0..self.size as usize).map(|i| self.signature(counts.get(i), datatype(i))).collect())
    }

    /// Tells whether a root argument means the caller.
    pub fn is(&self, root: c_int) -> bool {
        i64::from(self.rank) == i64::from(root)
    }

    /// Says what an argument is for each rank.
    pub fn all(&self, argument: &Argument) -> Side {
        match argument.elements {
            Elements::Block(count, datatype) => self.everybody(count, datatype),
            Elements::Pieces(counts, _, datatype) => self.each(counts, |_| datatype),
            Elements::Typed(_, _, types) if types.is_null() => Side::Nobody,
            Elements::Typed(counts, _, types) => self.each(counts, |rank| types.get(rank)),
        }
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
    if communicator.values.remote.is_some() {
        return;
    }
    let caller = Caller { process, rank: communicator.values.rank, size: communicator.values.size() };
    let mut mine = Shown::new(call);
    arguments.show(&caller, &mut mine);
    let mine = Arc::new(mine);
    let world_rank = |rank| communicator.values.group.world_rank(rank);
    let mut is_first = true;
    communicator.team.show(&mine, |rank, other: &Shown| {
        let report = |message: String, roles: [&str; 2]| {
            Finding::new(process.world_rank, message)
                .call(format!("rank {} {}", world_rank(rank), roles[0]), other.site)
                .call(format!("rank {} {}", process.world_rank, roles[1]), mine.site)
                .report();
        };
        // What must be the same at all ranks is compared with the first that came.
        if core::mem::take(&mut is_first) {
            same(other, &mine, report);
        }
        if other.call != mine.call {
            return;
        }
        let ways = [
            (other.sends.of(caller.rank), mine.receives.of(rank), ["sends", "receives"]),
            (mine.sends.of(rank), other.receives.of(caller.rank), ["receives", "sends"]),
        ];
        for (sent, expected, roles) in ways {
            if let (Some(sent), Some(expected)) = (sent, expected)
                && let Some(difference) = sent.differs(expected)
            {
                let message = format!(
                    "count or datatype of {} differ between sender and receiver: {}",
                    mine.call,
                    describe_difference(&difference, "sent", "received")
                );
                report(message, roles);
            }
        }
    });
}

/// Reports a difference in what must be the same.
fn same(other: &Shown, mine: &Shown, report: impl Fn(String, [&str; 2])) {
    if other.call != mine.call {
        report("ranks of one communicator are in different collective calls".into(), ["is", "is"]);
    } else if let (Some(theirs), Some(ours)) = (other.root, mine.root)
        && theirs != ours
    {
        let message = format!("ranks give different roots to {}", mine.call);
        report(message, [&format!("says {theirs}"), &format!("says {ours}")]);
    } else if other.operation != mine.operation {
        report(format!("ranks give different operations to {}", mine.call), ["calls it", "calls it"]);
    } else if let (Some(theirs), Some(ours)) = (&other.common, &mine.common)
        && let Some(difference) = theirs.differs(ours)
    {
        let difference = describe_difference(&difference, "at one", "at another");
        report(
            format!("count or datatype of {} differ between ranks: {difference}", mine.call),
            ["calls it", "calls it"],
        );
    }
}

fn describe_difference(difference: &Difference, first: &str, second: &str) -> String {
    let name = |basic: Option<Basic>| basic.map_or("nothing", Basic::name);
    let (one, other) = (name(difference.first), name(difference.second));
    format!("element {} is {one} where {first} and {other} where {second}", difference.at)
        .replace("where at", "at")
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
