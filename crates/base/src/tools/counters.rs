//! The registry of counters: names and meanings, and the cells of a rank.

use crate::tools::Category;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

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

macro_rules! counters {
    ($($name:ident $text:literal $category:ident $class:ident $help:literal;)*) => {
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

            /// Returns what its value is.
            pub const fn class(self) -> Class {
                match self { $(Self::$name => Class::$class,)* }
            }
        }
    };
}

counters! {
    RingMessages "ring_messages" Messages Counter "Messages sent through a private ring";
    OfferMessages "offer_messages" Messages Counter "Messages offered through a private ring, and copied by the receiver";
    DirectMessages "direct_messages" Messages Counter "Messages copied by the sender into the buffer of a posted receive";
    CopyMessages "copy_messages" Messages Counter "Messages copied into memory of the library until a receive asks for them";
    ReferenceMessages "reference_messages" Messages Counter "Messages left in the sender's buffer until a receive asks for them";
    EagerMessages "eager_messages" Messages Counter "Messages sent at once to another process, header and data";
    AnswerMessages "answer_messages" Messages Counter "Messages to another process in the memory that brought what they answer";
    RequestMessages "request_messages" Messages Counter "Messages to another process whose data was asked for first";
    RingBytes "ring_bytes" Messages Aggregate "Bytes of messages sent through a private ring";
    OfferBytes "offer_bytes" Messages Aggregate "Bytes of messages offered through a private ring";
    DirectBytes "direct_bytes" Messages Aggregate "Bytes of messages copied by the sender into the buffer of a posted receive";
    CopyBytes "copy_bytes" Messages Aggregate "Bytes of messages copied into memory of the library";
    ReferenceBytes "reference_bytes" Messages Aggregate "Bytes of messages left in the sender's buffer until a receive asks for them";
    EagerBytes "eager_bytes" Messages Aggregate "Bytes of messages sent at once to another process";
    AnswerBytes "answer_bytes" Messages Aggregate "Bytes of messages to another process in the memory that brought what they answer";
    RequestBytes "request_bytes" Messages Aggregate "Bytes of messages to another process whose data was asked for first";
    UnexpectedMessages "unexpected_messages" Messages Counter "Messages that came before a receive for them was posted, and were queued";
    CreditWaits "credit_waits" Messages Counter "Short messages to another process that had to ask first, for lack of credit";
    Parks "parks" Ranks Counter "How often threads of the rank gave their core away to wait";
    ParkedTime "parked_time" Ranks Timer "For how long threads of the rank were parked, in nanoseconds";
    WaitingTime "waiting_time" Messages Timer "For how long calls waited for messages, looking or parked, in nanoseconds";
    Switches "switches" Ranks Counter "How often a worker began to run the rank";
    Moves "moves" Ranks Counter "How often another worker began to run the rank than the one that ran it before: steals, and help for workers that are stuck";
    Collectives "collectives" Collectives Counter "Collective operations begun";
    CollectiveTime "collective_time" Collectives Timer "For how long the rank was in blocking collective operations, in nanoseconds";
    Accesses "accesses" OneSided Counter "One-sided operations on windows";
    AccessBytes "access_bytes" OneSided Aggregate "Bytes of the rank's own buffers in one-sided operations";
    FileReads "file_reads" Files Counter "Operations that read from files";
    FileWrites "file_writes" Files Counter "Operations that write to files";
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

    /// Starts anew.
    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// The counters of a rank.
#[derive(Debug)]
pub struct Cells {
    values: [AtomicU64; COUNT],
    /// Who follows how many unexpected messages are queued.
    marks: Mutex<Vec<Arc<Mark>>>,
}

impl Default for Cells {
    fn default() -> Self {
        Self { values: [const { AtomicU64::new(0) }; COUNT], marks: Mutex::default() }
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

    /// Begins to follow how many unexpected messages are queued.
    pub fn follow(&self, mark: Arc<Mark>) {
        self.marks.lock().unwrap_or_else(|e| e.into_inner()).push(mark);
    }

    /// Ends that.
    pub fn forget(&self, mark: &Arc<Mark>) {
        self.marks.lock().unwrap_or_else(|e| e.into_inner()).retain(|other| !Arc::ptr_eq(other, mark));
    }

    /// Says that so many unexpected messages are queued.
    pub fn note_unexpected(&self, length: u64) {
        for mark in &*self.marks.lock().unwrap_or_else(|e| e.into_inner()) {
            mark.0.fetch_max(length, Ordering::Relaxed);
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
