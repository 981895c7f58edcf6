//! The performance variables there are: the registry of counters, and what can be asked of the rank's queues and of the
//! process's way to other hosts.

use crate::jobs::nodes;
use crate::process::Process;
use core::ffi::c_int;
use weft_base::constants::*;
use weft_base::tools::counters::{Bound, Class, Counter};
use weft_base::tools::{Category, ranks};

/// A performance variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Variable {
    /// Something that is counted while sessions exist.
    Counted(Counter),
    /// Counted by the process, whether anybody looks or not.
    Outbound(Outbound),
    /// Asked of the rank's queues.
    Queue(Queue),
    /// How long the queue of unexpected messages was at most.
    UnexpectedMark,
}

/// What the process has sent to other hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outbound {
    Messages,
    Bytes,
    Resent,
}

/// What the rank's queues hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Queue {
    Unexpected,
    UnexpectedBytes,
    Posted,
}

const OTHERS: &[Variable] = &[
    Variable::Outbound(Outbound::Messages),
    Variable::Outbound(Outbound::Bytes),
    Variable::Outbound(Outbound::Resent),
    Variable::Queue(Queue::Unexpected),
    Variable::UnexpectedMark,
    Variable::Queue(Queue::UnexpectedBytes),
    Variable::Queue(Queue::Posted),
];

/// Returns how many there are.
pub(super) fn count() -> usize {
    Counter::ALL.len() + OTHERS.len()
}

/// Returns all of them, in the order of their numbers.
pub(super) fn all() -> impl Iterator<Item = Variable> {
    Counter::ALL.iter().map(|&counter| Variable::Counted(counter)).chain(OTHERS.iter().copied())
}

impl Variable {
    pub fn name(self) -> &'static str {
        match self {
            Self::Counted(counter) => counter.name(),
            Self::Outbound(Outbound::Messages) => "host_messages",
            Self::Outbound(Outbound::Bytes) => "host_bytes",
            Self::Outbound(Outbound::Resent) => "host_retransmissions",
            Self::Queue(Queue::Unexpected) | Self::UnexpectedMark => "unexpected_queue_length",
            Self::Queue(Queue::UnexpectedBytes) => "unexpected_queue_bytes",
            Self::Queue(Queue::Posted) => "posted_queue_length",
        }
    }

    pub fn help(self) -> &'static str {
        match self {
            Self::Counted(counter) => counter.help(),
            Self::Outbound(Outbound::Messages) => {
                "Messages of all kinds that the rank's process has sent to other hosts; ranks that are threads have one process"
            }
            Self::Outbound(Outbound::Bytes) => {
                "Bytes that the rank's process has sent to other hosts in messages"
            }
            Self::Outbound(Outbound::Resent) => {
                "Segments that the kernel has sent again on the process's connections to other hosts"
            }
            Self::Queue(Queue::Unexpected) => "Messages for the rank that wait for a receive",
            Self::UnexpectedMark => "The most messages for the rank that waited for a receive",
            Self::Queue(Queue::UnexpectedBytes) => {
                "Bytes of the library's memory in messages of the same process that wait for a receive"
            }
            Self::Queue(Queue::Posted) => "Receives of the rank that wait for a message",
        }
    }

    pub fn category(self) -> Category {
        match self {
            Self::Counted(counter) => counter.category(),
            Self::Outbound(_) => Category::Network,
            Self::Queue(_) | Self::UnexpectedMark => Category::Messages,
        }
    }

    /// Returns the standard's constant of the class.
    pub fn class(self) -> c_int {
        match self {
            Self::Counted(counter) => match counter.class() {
                Class::Counter => MPI_T_PVAR_CLASS_COUNTER,
                Class::Aggregate => MPI_T_PVAR_CLASS_AGGREGATE,
                Class::Timer => MPI_T_PVAR_CLASS_TIMER,
            },
            Self::Outbound(Outbound::Bytes) => MPI_T_PVAR_CLASS_AGGREGATE,
            Self::Outbound(_) => MPI_T_PVAR_CLASS_COUNTER,
            Self::Queue(_) => MPI_T_PVAR_CLASS_LEVEL,
            Self::UnexpectedMark => MPI_T_PVAR_CLASS_HIGHWATERMARK,
        }
    }

    /// Returns what kind of object a handle must be bound to.
    pub fn bound(self) -> Bound {
        match self {
            Self::Counted(counter) => counter.bound(),
            _ => Bound::Rank,
        }
    }

    /// Tells whether the tool starts and stops it, and may reset it; else it is always what it is now.
    pub fn is_controlled(self) -> bool {
        !matches!(self, Self::Queue(_))
    }

    pub fn verbosity(self) -> c_int {
        match self {
            Self::Counted(counter) => match counter.category() {
                Category::Collectives | Category::OneSided | Category::Files => MPI_T_VERBOSITY_USER_BASIC,
                Category::Messages if counter.bound() == Bound::Communicator => MPI_T_VERBOSITY_USER_BASIC,
                Category::Messages => MPI_T_VERBOSITY_TUNER_BASIC,
                _ => MPI_T_VERBOSITY_TUNER_DETAIL,
            },
            Self::Outbound(_) => MPI_T_VERBOSITY_TUNER_DETAIL,
            Self::Queue(_) | Self::UnexpectedMark => MPI_T_VERBOSITY_USER_DETAIL,
        }
    }

    /// Returns what it is now, for an object; of what is counted, since the beginning.
    pub fn now(self, process: &Process, object: u64) -> u64 {
        let queues = || process.messages.get().map_or((0, 0, 0), |messages| messages.endpoint.queues());
        match self {
            Self::Counted(counter) => {
                let cells = &ranks::of(process.world_rank).cells;
                match counter.bound() {
                    Bound::Rank => cells.get(counter),
                    _ => cells.get_of(counter, object),
                }
            }
            Self::Outbound(what) => nodes::outbound().map_or(0, |outbound| match what {
                Outbound::Messages => outbound.messages.values().sum(),
                Outbound::Bytes => outbound.bytes,
                Outbound::Resent => outbound.resent,
            }),
            Self::Queue(Queue::Unexpected) | Self::UnexpectedMark => queues().1 as u64,
            Self::Queue(Queue::UnexpectedBytes) => queues().2,
            Self::Queue(Queue::Posted) => queues().0 as u64,
        }
    }
}
