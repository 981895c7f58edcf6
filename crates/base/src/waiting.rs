//! What a rank waits for, as its process knows it, for reports on jobs that cannot go on: each process says this of its
//! ranks, and `mpirun`, which hears all, makes the text.

use crate::site::Place;
use serde::{Deserialize, Serialize};

/// The most requests, messages and receives that a process says of a rank; more are counted.
pub const MOST: usize = 16;

/// A communicator, by its number and the first of its ranks in the job: several may have one number, but no rank is in two of
/// those.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The context number.
    pub context: u32,
    /// The first rank, in the job; the smaller of the two sides' ones.
    pub first: u32,
}

/// Ranks in arithmetic progression: the first, the distance, how many.
pub type Run = (u32, i64, u32);

/// The most runs that are said of a communicator.
pub const MOST_RUNS: usize = 64;

/// A communicator that somebody waits on.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Communicator {
    /// Which one.
    pub key: Key,
    /// Its name; may be empty.
    pub name: String,
    /// How many ranks it has, on both sides if there are two.
    pub size: u32,
    /// How many are on the other side of an intercommunicator, as its teller sees it.
    pub remote: Option<u32>,
    /// Its ranks in the job, in its order, the other side's behind; nothing if they are too irregular to be said briefly.
    pub members: Option<Vec<Run>>,
}

/// The other side of a message.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Peer {
    /// `MPI_ANY_SOURCE`
    Anybody,
    /// `MPI_PROC_NULL`
    Nobody,
    /// A rank.
    Rank {
        /// In the communicator.
        local: u32,
        /// In the job.
        world: u32,
    },
}

/// What a message is, or a receive is for.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    /// The communicator.
    pub comm: Key,
    /// The sender for what receives, the receiver for what sends.
    pub peer: Peer,
    /// The tag; `None` is any.
    pub tag: Option<i32>,
    /// How much of which datatype, or bytes.
    pub data: Option<(u64, String)>,
}

/// What one call, or one of its requests, waits for.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Want {
    /// A message to receive or to see.
    Receive(Message),
    /// That a message is received.
    Send(Message),
    /// That others make a collective call.
    Collective {
        /// The communicator.
        comm: Key,
        /// The call, as all make it: `MPI_Barrier`.
        call: String,
        /// The root, in the communicator.
        root: Option<i32>,
        /// How much of which datatype.
        data: Option<(u64, String)>,
    },
    /// Something else, in words: `a generalized request`.
    Other(String),
}

/// A request that a call waits for.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// Which call made it: `MPI_Irecv`.
    pub made_by: String,
    /// What it is for.
    pub want: Want,
    /// What else there is to say; may be empty.
    pub note: String,
}

/// A call in which a thread of a rank waits.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct Waiting {
    /// The call.
    pub call: String,
    /// Where it is in the program, if that is known.
    pub place: Option<Place>,
    /// What it waits for itself.
    pub wants: Vec<Want>,
    /// The requests that are not complete.
    pub requests: Vec<Request>,
    /// How many more there are.
    pub more_requests: u32,
    /// Whether one of them is enough.
    pub any_request: bool,
}

/// What lies unmatched at a rank: messages that nobody has received, and receives that nothing has matched.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct Unmatched {
    /// Messages that have come, in order; `peer` is the sender.
    pub messages: Vec<Message>,
    /// How many more there are.
    pub more_messages: u64,
    /// Posted receives, in order.
    pub receives: Vec<Message>,
    /// How many more there are.
    pub more_receives: u64,
}

/// What is known of a rank that waits.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct Knowledge {
    /// The calls that its threads are in; its own first.
    pub calls: Vec<Waiting>,
    /// What lies unmatched.
    pub unmatched: Unmatched,
    /// The communicators that are mentioned.
    pub communicators: Vec<Communicator>,
}
