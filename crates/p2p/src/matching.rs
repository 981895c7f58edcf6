//! Who receives what: the queues of posted receives and of unexpected messages, as pure code over values.
//!
//! Both queues are the same structure seen from its two sides. A [`Queue`] keeps its entries in order of arrival.
//! An entry of the posted queue is a *pattern* (its source and tag may be wildcards) looked up with the concrete
//! envelope of a message; an entry of the unexpected queue is a concrete envelope looked up with a pattern. Either
//! lookup gives the oldest entry that matches, which is all the standard's order rule asks for.
//!
//! The oldest entries are scanned, and most lookups end there: a program whose messages come in the order of its receives
//! takes the first one every time. The first lookup that must go on behind [`SCAN_LIMIT`] entries builds an index, which is
//! kept until the queue is empty again:
//! a concrete envelope is covered by four patterns (source given or not, tag given or not), so a posted entry is
//! filed under its own pattern and looked for under the four that cover a message, and an unexpected entry is filed
//! under the four and looked for under one. Every operation then takes constant time, wildcards included.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use weft_base::constants::{MPI_ANY_SOURCE, MPI_ANY_TAG};

/// Says which messages belong together: the context of the communicator, the sender's rank in it, and the tag.
///
/// As a pattern, the source may be `MPI_ANY_SOURCE` and the tag may be `MPI_ANY_TAG`.
///
/// Two words, which travel in registers: of three, copies in memory would be read in wider pieces than they were written
/// in, and wait for that (10 of 140 ns of a message between two processes).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Envelope {
    /// The context number: a communicator has one for point-to-point and another one for collective messages.
    pub context: u32,
    /// The source below, the tag above.
    from: u64,
}

impl Envelope {
    /// Returns the envelope of messages from a rank of the communicator (of its remote group, for an intercommunicator), or the
    /// pattern of some.
    #[inline]
    pub const fn new(context: u32, source: i32, tag: i32) -> Self {
        Self { context, from: source as u32 as u64 | (tag as u32 as u64) << 32 }
    }

    /// Returns the rank of the sender.
    #[inline]
    pub const fn source(&self) -> i32 {
        self.from as u32 as i32
    }

    /// Returns the tag.
    #[inline]
    pub const fn tag(&self) -> i32 {
        (self.from >> 32) as u32 as i32
    }

    /// Tells whether a pattern covers the concrete envelope `message`.
    #[inline]
    pub fn covers(&self, message: &Self) -> bool {
        if self.context != message.context {
            return false;
        }
        self.from == message.from
            || (self.source() == message.source() || self.source() == MPI_ANY_SOURCE)
                && (self.tag() == message.tag() || self.tag() == MPI_ANY_TAG)
    }

    /// Returns the four patterns that cover a concrete envelope, itself first.
    fn covering(&self) -> [Self; 4] {
        let (context, source, tag) = (self.context, self.source(), self.tag());
        [
            *self,
            Self::new(context, MPI_ANY_SOURCE, tag),
            Self::new(context, source, MPI_ANY_TAG),
            Self::new(context, MPI_ANY_SOURCE, MPI_ANY_TAG),
        ]
    }
}

/// How many entries a lookup scans before it turns to the index.
const SCAN_LIMIT: usize = 12;

const NONE: u32 = u32::MAX;

/// Names an entry of a queue as long as it is there; never given out twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    index: u32,
    sequence: u64,
}

#[derive(Clone, Copy)]
struct Link {
    before: u32,
    after: u32,
}

const UNLINKED: Link = Link { before: NONE, after: NONE };

#[derive(Clone, Copy)]
struct Chain {
    first: u32,
    last: u32,
}

struct Node<T> {
    envelope: Envelope,
    /// Grows with every entry of the queue, so it orders entries and names them.
    sequence: u64,
    value: Option<T>,
    /// The chain of all entries; of free nodes, through `after`.
    order: Link,
    /// The chains of the index: one per pattern the entry is filed under.
    filed: [Link; 4],
}

/// Mixes the three words of an envelope; the keys come from the program itself, so no attack is to be feared that
/// the program could not do to itself more easily.
#[derive(Default)]
struct EnvelopeHasher(u64);

impl Hasher for EnvelopeHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u32(u32::from(byte));
        }
    }
    fn write_u32(&mut self, word: u32) {
        self.0 = (self.0.rotate_left(26) ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    fn write_u64(&mut self, word: u64) {
        self.write_u32(word as u32);
        self.write_u32((word >> 32) as u32);
    }
}

type Index = HashMap<Envelope, Chain, BuildHasherDefault<EnvelopeHasher>>;

/// Which side of matching a queue holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holds {
    /// Patterns: posted receives.
    Patterns,
    /// Concrete envelopes: unexpected messages.
    Messages,
}

impl Holds {
    /// Tells whether an entry is one that a lookup is for.
    #[inline]
    fn matches(self, entry: &Envelope, looked_for: &Envelope) -> bool {
        match self {
            Self::Patterns => entry.covers(looked_for),
            Self::Messages => looked_for.covers(entry),
        }
    }
}

/// Entries in order of arrival, found by envelope or pattern.
pub struct Queue<T> {
    holds: Holds,
    nodes: Vec<Node<T>>,
    free: u32,
    all: Chain,
    length: usize,
    sequence: u64,
    indexed: bool,
    index: Index,
}

impl<T> Queue<T> {
    /// Creates an empty queue; allocates nothing.
    pub fn new(holds: Holds) -> Self {
        Self {
            holds,
            nodes: Vec::new(),
            free: NONE,
            all: Chain { first: NONE, last: NONE },
            length: 0,
            sequence: 0,
            indexed: false,
            index: Index::default(),
        }
    }

    /// Returns how many entries there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Tells whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Appends an entry.
    pub fn push(&mut self, envelope: Envelope, value: T) -> Position {
        self.sequence += 1;
        let sequence = self.sequence;
        let last = self.all.last;
        let order = Link { before: last, after: NONE };
        let index = self.free;
        let index = if let Some(node) = self.nodes.get_mut(index as usize) {
            self.free = node.order.after;
            // What is filed is written when it is: an index is rarely there.
            (node.envelope, node.sequence, node.order) = (envelope, sequence, order);
            node.value = Some(value);
            index
        } else {
            let filed = [UNLINKED; 4];
            self.nodes.push(Node { envelope, sequence, value: Some(value), order, filed });
            (self.nodes.len() - 1) as u32
        };
        if last == NONE {
            self.all.first = index;
        } else {
            self.nodes[last as usize].order.after = index;
        }
        self.all.last = index;
        self.length += 1;
        if self.indexed {
            self.file(index);
        }
        Position { index, sequence }
    }

    /// Takes out the oldest entry that matches `envelope` (a message's, if the queue holds patterns; a pattern, if
    /// it holds messages).
    #[inline]
    pub fn take(&mut self, envelope: &Envelope) -> Option<(Envelope, T)> {
        let first = self.all.first;
        let node = self.nodes.get_mut(first as usize)?;
        if !self.holds.matches(&node.envelope, envelope) || self.indexed {
            return self.find(envelope).map(|index| self.unlink(index));
        }
        // As `unlink`, for what most lookups find.
        let value = node.value.take().expect("an entry in a chain has a value");
        let after = core::mem::replace(&mut node.order.after, self.free);
        let envelope = node.envelope;
        self.free = first;
        self.all.first = after;
        match self.nodes.get_mut(after as usize) {
            Some(next) => next.order.before = NONE,
            None => self.all.last = NONE,
        }
        self.length -= 1;
        Some((envelope, value))
    }

    /// Tells whether an entry matches.
    pub fn matches(&mut self, envelope: &Envelope) -> bool {
        self.find(envelope).is_some()
    }

    /// Returns the oldest entry that matches, and leaves it there.
    pub fn peek(&mut self, envelope: &Envelope) -> Option<(Envelope, &T)> {
        let index = self.find(envelope)?;
        let node = &self.nodes[index as usize];
        node.value.as_ref().map(|value| (node.envelope, value))
    }

    /// Takes out the entry at `position`, if it is still there.
    pub fn remove(&mut self, position: Position) -> Option<T> {
        let node = self.nodes.get(position.index as usize)?;
        if node.value.is_none() || node.sequence != position.sequence {
            return None;
        }
        Some(self.unlink(position.index).1)
    }

    /// Takes out the oldest entry of which `which` says so.
    pub fn take_where(&mut self, which: impl Fn(&Envelope, &T) -> bool) -> Option<(Envelope, T)> {
        let mut index = self.all.first;
        while index != NONE {
            let node = &self.nodes[index as usize];
            if node.value.as_ref().is_some_and(|value| which(&node.envelope, value)) {
                return Some(self.unlink(index));
            }
            index = node.order.after;
        }
        None
    }

    /// Calls `f` for every entry, oldest first, with the number that no other entry of the queue ever had or will have.
    pub fn for_each_numbered(&self, mut f: impl FnMut(&Envelope, &T, u64)) {
        let mut index = self.all.first;
        while index != NONE {
            let node = &self.nodes[index as usize];
            if let Some(value) = &node.value {
                f(&node.envelope, value, node.sequence);
            }
            index = node.order.after;
        }
    }

    /// Calls `f` for every entry, oldest first.
    pub fn for_each(&self, mut f: impl FnMut(&Envelope, &T)) {
        let mut index = self.all.first;
        while index != NONE {
            let node = &self.nodes[index as usize];
            if let Some(value) = &node.value {
                f(&node.envelope, value);
            }
            index = node.order.after;
        }
    }

    #[inline]
    fn find(&mut self, envelope: &Envelope) -> Option<u32> {
        // With an index, the first entry alone: it is the answer as long as what comes is in order.
        let looks = if self.indexed { 1 } else { SCAN_LIMIT };
        let mut index = self.all.first;
        for _ in 0..looks {
            if index == NONE {
                return None;
            }
            let node = &self.nodes[index as usize];
            if self.holds.matches(&node.envelope, envelope) {
                return Some(index);
            }
            index = node.order.after;
        }
        if index == NONE { None } else { self.find_behind(envelope) }
    }

    /// Looks for an entry that is not among the first.
    #[inline(never)]
    fn find_behind(&mut self, envelope: &Envelope) -> Option<u32> {
        if !self.indexed {
            self.build_index();
        }
        self.find_indexed(envelope)
    }

    fn find_indexed(&self, envelope: &Envelope) -> Option<u32> {
        let first = |pattern: &Envelope| self.index.get(pattern).map(|chain| chain.first);
        match self.holds {
            Holds::Messages => first(envelope),
            Holds::Patterns => {
                let found = envelope.covering();
                found.iter().filter_map(first).min_by_key(|&i| self.nodes[i as usize].sequence)
            }
        }
    }

    /// Files an entry that was just appended.
    fn file(&mut self, index: u32) {
        let envelope = self.nodes[index as usize].envelope;
        let patterns = envelope.covering();
        let patterns = if self.holds == Holds::Patterns { &patterns[..1] } else { &patterns[..] };
        for (way, pattern) in patterns.iter().enumerate() {
            let chain = self.index.entry(*pattern).or_insert(Chain { first: index, last: NONE });
            let last = chain.last;
            chain.last = index;
            self.nodes[index as usize].filed[way] = Link { before: last, after: NONE };
            if last != NONE {
                self.nodes[last as usize].filed[way].after = index;
            }
        }
    }

    #[cold]
    fn build_index(&mut self) {
        self.indexed = true;
        let mut index = self.all.first;
        while index != NONE {
            self.file(index);
            index = self.nodes[index as usize].order.after;
        }
    }

    fn unlink(&mut self, index: u32) -> (Envelope, T) {
        let node = &mut self.nodes[index as usize];
        let value = node.value.take().expect("an entry found in a chain has a value");
        let (envelope, order) = (node.envelope, node.order);
        node.order.after = self.free;
        self.free = index;
        if order.before == NONE {
            self.all.first = order.after;
        } else {
            self.nodes[order.before as usize].order.after = order.after;
        }
        if order.after == NONE {
            self.all.last = order.before;
        } else {
            self.nodes[order.after as usize].order.before = order.before;
        }
        self.length -= 1;
        if self.indexed {
            self.unfile(index, &envelope);
            // An empty queue starts over: a program whose queues are short again pays no hashing.
            if self.length == 0 {
                self.indexed = false;
                self.index.clear();
            }
        }
        (envelope, value)
    }

    fn unfile(&mut self, index: u32, envelope: &Envelope) {
        let patterns = envelope.covering();
        let patterns = if self.holds == Holds::Patterns { &patterns[..1] } else { &patterns[..] };
        for (way, pattern) in patterns.iter().enumerate() {
            let Link { before, after } = self.nodes[index as usize].filed[way];
            if before != NONE {
                self.nodes[before as usize].filed[way].after = after;
            }
            if after != NONE {
                self.nodes[after as usize].filed[way].before = before;
            }
            if before == NONE && after == NONE {
                self.index.remove(pattern);
            } else if let Some(chain) = self.index.get_mut(pattern) {
                if before == NONE {
                    chain.first = after;
                }
                if after == NONE {
                    chain.last = before;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The rule itself: a list, searched from the front.
    struct Naive {
        holds: Holds,
        entries: Vec<(Envelope, u32)>,
    }

    impl Naive {
        fn find(&self, envelope: &Envelope) -> Option<usize> {
            self.entries.iter().position(|(e, _)| match self.holds {
                Holds::Patterns => e.covers(envelope),
                Holds::Messages => envelope.covers(e),
            })
        }
    }

    #[derive(Debug, Clone)]
    enum Step {
        Push(Envelope),
        Take(Envelope),
        Peek(Envelope),
        Remove(usize),
    }

    fn envelopes(wild: bool) -> impl Strategy<Value = Envelope> {
        (0..2u32, 0..4i32, 0..4i32, 0..6u8).prop_map(move |(context, source, tag, pick)| {
            let source = if wild && pick % 3 == 0 { MPI_ANY_SOURCE } else { source };
            Envelope::new(context, source, if wild && pick < 2 { MPI_ANY_TAG } else { tag })
        })
    }

    fn steps(holds: Holds) -> impl Strategy<Value = Vec<Step>> {
        let patterns = holds == Holds::Patterns;
        proptest::collection::vec(
            prop_oneof![
                5 => envelopes(patterns).prop_map(Step::Push),
                3 => envelopes(!patterns).prop_map(Step::Take),
                1 => envelopes(!patterns).prop_map(Step::Peek),
                1 => any::<usize>().prop_map(Step::Remove),
            ],
            0..300,
        )
    }

    fn agree(holds: Holds, steps: Vec<Step>) {
        let mut queue = Queue::new(holds);
        let mut naive = Naive { holds, entries: Vec::new() };
        let mut positions = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Push(envelope) => {
                    positions.push((queue.push(envelope, number as u32), number as u32));
                    naive.entries.push((envelope, number as u32));
                }
                Step::Take(envelope) => {
                    let expected = naive.find(&envelope).map(|i| naive.entries.remove(i));
                    assert_eq!(queue.take(&envelope), expected);
                }
                Step::Peek(envelope) => {
                    let expected = naive.find(&envelope).map(|i| naive.entries[i]);
                    assert_eq!(queue.peek(&envelope).map(|(e, v)| (e, *v)), expected);
                }
                Step::Remove(_) if positions.is_empty() => {}
                Step::Remove(pick) => {
                    let (position, value) = positions[pick % positions.len()];
                    let expected = naive.entries.iter().position(|(_, v)| *v == value);
                    let expected = expected.map(|i| naive.entries.remove(i).1);
                    assert_eq!(queue.remove(position), expected);
                }
            }
            assert_eq!(queue.len(), naive.entries.len());
            let mut seen = Vec::new();
            queue.for_each(|e, v| seen.push((*e, *v)));
            assert_eq!(seen, naive.entries);
        }
    }

    proptest! {
        #[test]
        fn posted_receives_match_as_a_plain_list_does(steps in steps(Holds::Patterns)) {
            agree(Holds::Patterns, steps);
        }

        #[test]
        fn unexpected_messages_match_as_a_plain_list_does(steps in steps(Holds::Messages)) {
            agree(Holds::Messages, steps);
        }
    }

    #[test]
    fn an_index_forgets_keys_that_are_gone() {
        let mut queue = Queue::new(Holds::Messages);
        for tag in 0..1000 {
            queue.push(Envelope::new(0, 0, tag), tag);
        }
        for tag in (10..1000).rev() {
            assert!(queue.take(&Envelope::new(0, MPI_ANY_SOURCE, tag)).is_some());
        }
        assert!(!queue.index.is_empty());
        assert!(queue.index.len() <= 4 * 10, "{} keys for 10 messages", queue.index.len());
    }
    #[test]
    fn who_takes_the_oldest_pays_no_hashing() {
        for (holds, wild) in [(Holds::Patterns, false), (Holds::Messages, true)] {
            let mut queue = Queue::new(holds);
            let source = if wild { MPI_ANY_SOURCE } else { 0 };
            for round in 0..200 {
                queue.push(Envelope::new(0, 0, round), round);
                if round >= 100 {
                    let tag = round - 100;
                    assert_eq!(queue.take(&Envelope::new(0, source, tag)).map(|(_, v)| v), Some(tag));
                }
            }
            assert!(!queue.indexed);
            assert!(queue.take(&Envelope::new(0, source, 150)).is_some() && queue.indexed);
        }
    }
}
