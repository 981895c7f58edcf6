//! The registry of counters: names and meanings, and the cells of a rank.

use crate::tools::Category;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// What a counter's value is, as the standard's classes of performance variables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// A number of occurrences.
    Counter,
    /// A sum.
    Aggregate,
    /// Nanoseconds.
    Timer,
}

/// What a counter counts for each of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// The whole rank.
    Rank,
    /// A communicator of the rank, by its context.
    Communicator,
    /// A window of the rank, by its handle.
    Window,
    /// A file of the rank, by its handle.
    File,
}

macro_rules! counters {
    ($($name:ident $text:literal $category:ident $class:ident $bound:ident $help:literal;)*) => {
        /// Something that is counted for each rank.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u32)]
        pub enum Counter {
            $(#[doc = $help] $name,)*
        }

        impl Counter {
            /// All of them, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Returns its name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// Says what it counts, in a line.
            pub const fn help(self) -> &'static str {
                match self { $(Self::$name => $help,)* }
            }

            /// Returns its subject.
            pub const fn category(self) -> Category {
                match self { $(Self::$name => Category::$category,)* }
            }

            /// Returns what it counts for each of.
            pub const fn bound(self) -> Bound {
                match self { $(Self::$name => Bound::$bound,)* }
            }

            /// Returns what its value is.
            pub const fn class(self) -> Class {
                match self { $(Self::$name => Class::$class,)* }
            }
        }
    };
}

counters! {
    RingMessages "ring_messages" Messages Counter Rank "Messages sent through a private ring";
    OfferMessages "offer_messages" Messages Counter Rank "Messages offered through a private ring, and copied by the receiver";
    DirectMessages "direct_messages" Messages Counter Rank "Messages copied by the sender into the buffer of a posted receive";
    CopyMessages "copy_messages" Messages Counter Rank "Messages copied into memory of the library until a receive asks for them";
    ReferenceMessages "reference_messages" Messages Counter Rank "Messages left in the sender's buffer until a receive asks for them";
    EagerMessages "eager_messages" Messages Counter Rank "Messages sent at once to another process, header and data";
    AnswerMessages "answer_messages" Messages Counter Rank "Messages to another process in the memory that brought what they answer";
    RequestMessages "request_messages" Messages Counter Rank "Messages to another process whose data was asked for first";
    RingBytes "ring_bytes" Messages Aggregate Rank "Bytes of messages sent through a private ring";
    OfferBytes "offer_bytes" Messages Aggregate Rank "Bytes of messages offered through a private ring";
    DirectBytes "direct_bytes" Messages Aggregate Rank "Bytes of messages copied by the sender into the buffer of a posted receive";
    CopyBytes "copy_bytes" Messages Aggregate Rank "Bytes of messages copied into memory of the library";
    ReferenceBytes "reference_bytes" Messages Aggregate Rank "Bytes of messages left in the sender's buffer until a receive asks for them";
    EagerBytes "eager_bytes" Messages Aggregate Rank "Bytes of messages sent at once to another process";
    AnswerBytes "answer_bytes" Messages Aggregate Rank "Bytes of messages to another process in the memory that brought what they answer";
    RequestBytes "request_bytes" Messages Aggregate Rank "Bytes of messages to another process whose data was asked for first";
    SentMessages "sent_messages" Messages Counter Communicator "Messages that the rank sent on a communicator";
    SentBytes "sent_bytes" Messages Aggregate Communicator "Bytes of messages that the rank sent on a communicator";
    MatchedMessages "matched_messages" Messages Counter Communicator "Messages for the rank on a communicator that met their receive";
    MatchedBytes "matched_bytes" Messages Aggregate Communicator "Bytes of messages for the rank on a communicator that met their receive";
    Partitions "partitions" Messages Counter Communicator "Partitions that the rank has made ready to be sent on a communicator";
    PartitionBytes "partition_bytes" Messages Aggregate Communicator "Bytes of partitions that the rank has made ready to be sent on a communicator";
    UnexpectedMessages "unexpected_messages" Messages Counter Rank "Messages that came before a receive for them was posted, and were queued";
    CreditWaits "credit_waits" Messages Counter Rank "Short messages to another process that had to ask first, for lack of credit";
    Parks "parks" Ranks Counter Rank "How often threads of the rank gave their core away to wait";
    ParkedTime "parked_time" Ranks Timer Rank "For how long threads of the rank were parked, in nanoseconds";
    WaitingTime "waiting_time" Messages Timer Rank "For how long calls looked or were parked for messages and requests, in nanoseconds";
    Switches "switches" Ranks Counter Rank "How often a worker began to run the rank";
    Moves "moves" Ranks Counter Rank "How often another worker began to run the rank than the one that ran it before: steals, and help for workers that are stuck";
    Collectives "collectives" Collectives Counter Communicator "Collective operations begun on a communicator";
    CollectiveTime "collective_time" Collectives Timer Communicator "For how long the rank was in blocking collective operations on a communicator, in nanoseconds";
    Accesses "accesses" OneSided Counter Window "One-sided operations on a window";
    AccessBytes "access_bytes" OneSided Aggregate Window "Bytes of the rank's own buffers that go to a window or come from it in one-sided operations";
    FileReads "file_reads" Files Counter File "Operations that read from a file";
    FileReadBytes "file_read_bytes" Files Aggregate File "Bytes that operations asked for from a file";
    FileWrites "file_writes" Files Counter File "Operations that write to a file";
    FileWriteBytes "file_written_bytes" Files Aggregate File "Bytes that operations gave to a file";
}

/// How many counters there are.
pub const COUNT: usize = Counter::ALL.len();

/// The highest value since it was set, of something that is followed.
#[derive(Default, Debug)]
pub struct Mark(AtomicU64);

impl Mark {
    /// Starts at a value.
    pub fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }

    /// Returns the highest value.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Becomes a value that is higher.
    pub fn raise(&self, value: u64) {
        self.0.fetch_max(value, Ordering::Relaxed);
    }

    /// Starts anew, and returns the highest value until then.
    pub fn swap(&self, value: u64) -> u64 {
        self.0.swap(value, Ordering::Relaxed)
    }

    /// Starts anew.
    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }
}

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(|e| e.into_inner())
}

/// The counters of a rank.
#[derive(Debug)]
pub struct Cells {
    values: [AtomicU64; COUNT],
    /// Those of objects, by counter and object.
    of_objects: Mutex<BTreeMap<(u32, u64), u64>>,
    /// Who follows how many unexpected messages are queued.
    marks: Mutex<Vec<Arc<Mark>>>,
}

impl Default for Cells {
    fn default() -> Self {
        Self {
            values: [const { AtomicU64::new(0) }; COUNT],
            of_objects: Mutex::default(),
            marks: Mutex::default(),
        }
    }
}

impl Cells {
    /// Adds to a counter.
    pub fn add(&self, counter: Counter, amount: u64) {
        self.values[counter as usize].fetch_add(amount, Ordering::Relaxed);
    }

    /// Returns a counter's value; it wraps around.
    pub fn get(&self, counter: Counter) -> u64 {
        self.values[counter as usize].load(Ordering::Relaxed)
    }

    /// Adds to a counter of an object.
    pub fn add_of(&self, counter: Counter, object: u64, amount: u64) {
        let mut all = held(&self.of_objects);
        let value = all.entry((counter as u32, object)).or_default();
        *value = value.wrapping_add(amount);
    }

    /// Returns the value of a counter of an object; it wraps around. An object that has the number of an earlier one goes on
    /// from its value.
    pub fn get_of(&self, counter: Counter, object: u64) -> u64 {
        held(&self.of_objects).get(&(counter as u32, object)).copied().unwrap_or(0)
    }

    /// Begins to follow how many unexpected messages are queued.
    pub fn follow(&self, mark: Arc<Mark>) {
        held(&self.marks).push(mark);
    }

    /// Ends that.
    pub fn forget(&self, mark: &Arc<Mark>) {
        held(&self.marks).retain(|other| !Arc::ptr_eq(other, mark));
    }

    /// Says that so many unexpected messages are queued.
    pub fn note_unexpected(&self, length: u64) {
        for mark in &*held(&self.marks) {
            mark.raise(length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_and_each_counter_has_a_cell_of_its_own() {
        let cells = Cells::default();
        for (number, &counter) in Counter::ALL.iter().enumerate() {
            assert_eq!(counter as usize, number);
            assert!(Counter::ALL[..number].iter().all(|other| other.name() != counter.name()));
            cells.add(counter, number as u64 + 1);
        }
        assert!(Counter::ALL.iter().all(|&counter| cells.get(counter) == counter as u64 + 1));
    }

    #[test]
    fn each_object_has_a_counter_of_its_own() {
        let cells = Cells::default();
        cells.add_of(Counter::Collectives, 3, 2);
        cells.add_of(Counter::Collectives, 3, 5);
        cells.add_of(Counter::CollectiveTime, 3, 1);
        cells.add_of(Counter::Collectives, 4, 9);
        assert_eq!([3, 4, 5].map(|object| cells.get_of(Counter::Collectives, object)), [7, 9, 0]);
    }

    #[test]
    fn a_mark_keeps_the_highest_length_while_it_is_followed() {
        let (cells, mark) = (Cells::default(), Arc::new(Mark::new(2)));
        cells.note_unexpected(9);
        cells.follow(mark.clone());
        for length in [1, 5, 3] {
            cells.note_unexpected(length);
        }
        assert_eq!(mark.get(), 5);
        cells.forget(&mark);
        cells.note_unexpected(7);
        assert_eq!(mark.get(), 5);
    }
}
