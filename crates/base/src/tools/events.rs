//! The events that tools may ask for, and what happened to a rank and was not told yet.

use crate::tools::Category;
use std::collections::VecDeque;
use std::sync::Mutex;

/// How many words describe an event at most.
pub const WORDS: usize = 3;

/// How many events of a rank are kept until they are told.
pub const ROOM: usize = 1024;

/// Where events come from. What one source tells is in the order of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The matching of messages.
    Matching,
    /// Collective operations.
    Collectives,
    /// The scheduler of ranks.
    Scheduler,
}

impl Source {
    /// All of them, in the order of their numbers.
    pub const ALL: &'static [Self] = &[Self::Matching, Self::Collectives, Self::Scheduler];

    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Matching => "matching",
            Self::Collectives => "collectives",
            Self::Scheduler => "scheduler",
        }
    }

    /// Says what it is, in a line.
    pub const fn help(self) -> &'static str {
        match self {
            Self::Matching => "What becomes of messages for the rank",
            Self::Collectives => "Collective operations that the rank calls",
            Self::Scheduler => "Who switches between ranks",
        }
    }
}

/// A kind of what happens to a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Event {
    /// A message for the rank met a posted receive, or a receive a message that was there.
    MessageMatched,
    /// A message for the rank came before a receive for it.
    MessageUnexpected,
    /// The rank began a collective operation.
    CollectiveBegun,
    /// A collective operation of the rank ended.
    CollectiveEnded,
    /// A thread of the rank parked.
    RankParked,
}

/// The type of a word of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// `MPI_INT`
    Int,
    /// `MPI_COUNT`
    Count,
}

/// A word of an event: its name, its meaning and its type.
pub type Element = (&'static str, &'static str, Form);

const MESSAGE: &[Element] = &[
    ("source", "the sender's rank in the communicator", Form::Int),
    ("tag", "the tag", Form::Int),
    ("bytes", "the length of the message", Form::Count),
];
const COLLECTIVE: &[Element] = &[("operation", "which one", Form::Int)];

impl Event {
    /// All of them, in the order of their numbers.
    pub const ALL: &'static [Self] = &[
        Self::MessageMatched,
        Self::MessageUnexpected,
        Self::CollectiveBegun,
        Self::CollectiveEnded,
        Self::RankParked,
    ];

    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MessageMatched => "message_matched",
            Self::MessageUnexpected => "message_unexpected",
            Self::CollectiveBegun => "collective_begun",
            Self::CollectiveEnded => "collective_ended",
            Self::RankParked => "rank_parked",
        }
    }

    /// Says what happens, in a line.
    pub const fn help(self) -> &'static str {
        match self {
            Self::MessageMatched => "A message for the rank on the communicator has met its receive",
            Self::MessageUnexpected => {
                "A message for the rank on the communicator came before its receive was posted"
            }
            Self::CollectiveBegun => "The rank has begun a collective operation on the communicator",
            Self::CollectiveEnded => "A collective operation of the rank on the communicator has ended",
            Self::RankParked => "A thread of the rank was parked, and runs again",
        }
    }

    /// Returns its words.
    pub const fn elements(self) -> &'static [Element] {
        match self {
            Self::MessageMatched | Self::MessageUnexpected => MESSAGE,
            Self::CollectiveBegun | Self::CollectiveEnded => COLLECTIVE,
            Self::RankParked => &[("time", "nanoseconds it was parked", Form::Count)],
        }
    }

    /// Returns its subject.
    pub const fn category(self) -> Category {
        match self {
            Self::MessageMatched | Self::MessageUnexpected => Category::Messages,
            Self::CollectiveBegun | Self::CollectiveEnded => Category::Collectives,
            Self::RankParked => Category::Ranks,
        }
    }

    /// Returns where it comes from.
    pub const fn source(self) -> Source {
        match self {
            Self::MessageMatched | Self::MessageUnexpected => Source::Matching,
            Self::CollectiveBegun | Self::CollectiveEnded => Source::Collectives,
            Self::RankParked => Source::Scheduler,
        }
    }

    /// Tells whether it concerns a communicator, whose context is the object then.
    pub const fn is_of_communicator(self) -> bool {
        !matches!(self, Self::RankParked)
    }
}

/// What happened.
#[derive(Clone, Copy, Debug)]
pub struct Instance {
    /// What kind it is of.
    pub event: Event,
    /// When, in nanoseconds of the monotonic clock.
    pub time: u64,
    /// What more there is to say.
    pub words: [i64; WORDS],
}

/// What a listener is told.
#[derive(Clone, Copy, Debug)]
pub enum News {
    /// Something happened.
    Happened(Instance),
    /// So many things of a source happened, and there was no room to keep them.
    Dropped(Source, u64),
}

/// Who wants to be told.
#[derive(Debug)]
struct Listener {
    number: u64,
    event: Event,
    /// The object, if only what concerns one is wanted.
    object: Option<u64>,
    dropped: u64,
}

#[derive(Default, Debug)]
struct Queue {
    listeners: Vec<Listener>,
    waiting: VecDeque<(u64, News)>,
}

/// What happened to a rank and its listeners were not told yet.
#[derive(Default, Debug)]
pub struct Told(Mutex<Queue>);

impl Told {
    fn lock(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Adds a listener; nobody else has its number.
    pub fn listen(&self, number: u64, event: Event, object: Option<u64>) {
        self.lock().listeners.push(Listener { number, event, object, dropped: 0 });
    }

    /// Removes a listener, and what it was not told yet.
    pub fn leave(&self, number: u64) {
        let mut queue = self.lock();
        queue.listeners.retain(|listener| listener.number != number);
        queue.waiting.retain(|(listener, _)| *listener != number);
    }

    /// Forgets what was dropped and a listener was not told yet.
    pub fn forget_dropped(&self, number: u64) {
        let mut queue = self.lock();
        queue.listeners.iter_mut().filter(|listener| listener.number == number).for_each(|l| l.dropped = 0);
        queue.waiting.retain(|(listener, news)| *listener != number || matches!(news, News::Happened(_)));
    }

    /// Returns how much there is to be told now.
    pub fn len(&self) -> usize {
        let queue = self.lock();
        queue.waiting.len() + queue.listeners.iter().filter(|listener| listener.dropped > 0).count()
    }

    /// Tells whether there is nothing to be told now.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keeps what happened for each listener that wants to know.
    pub(super) fn push(&self, event: Event, object: u64, words: &[i64]) {
        let mut queue = self.lock();
        let Queue { listeners, waiting } = &mut *queue;
        // Under the lock: times are in the order in which listeners are told.
        let time = weft_sys::clock::now_ns();
        let words = core::array::from_fn(|place| words.get(place).copied().unwrap_or(0));
        let is_wanted = |listener: &Listener| {
            listener.event == event && listener.object.is_none_or(|wanted| wanted == object)
        };
        // What was dropped takes no room: there is less of that than listeners.
        let mut room = ROOM.saturating_sub(waiting.len());
        if room > 0 && listeners.iter().any(is_wanted) {
            // What a source dropped is told before what the source has to tell then.
            let same = |listener: &&mut Listener| listener.event.source() == event.source();
            for listener in listeners.iter_mut().filter(same).filter(|listener| listener.dropped > 0) {
                let dropped = core::mem::take(&mut listener.dropped);
                waiting.push_back((listener.number, News::Dropped(event.source(), dropped)));
            }
        }
        for listener in listeners.iter_mut().filter(|listener| is_wanted(listener)) {
            if room == 0 {
                listener.dropped += 1;
                continue;
            }
            room -= 1;
            waiting.push_back((listener.number, News::Happened(Instance { event, time, words })));
        }
    }

    /// Takes what is to be told next, and to whom. What was dropped is told once the rest has been.
    pub fn pop(&self) -> Option<(u64, News)> {
        let mut queue = self.lock();
        if let Some(news) = queue.waiting.pop_front() {
            return Some(news);
        }
        let listener = queue.listeners.iter_mut().find(|listener| listener.dropped > 0)?;
        let dropped = core::mem::take(&mut listener.dropped);
        Some((listener.number, News::Dropped(listener.event.source(), dropped)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(told: &Told) -> Vec<(u64, Option<i64>, u64)> {
        let news = std::iter::from_fn(|| told.pop());
        news.map(|(number, news)| match news {
            News::Happened(instance) => (number, Some(instance.words[0]), 0),
            News::Dropped(_, count) => (number, None, count),
        })
        .collect()
    }

    #[test]
    fn listeners_are_told_what_they_want_in_order() {
        let told = Told::default();
        told.push(Event::RankParked, 0, &[1]);
        told.listen(7, Event::RankParked, None);
        told.listen(8, Event::CollectiveBegun, Some(3));
        told.push(Event::RankParked, 0, &[2]);
        told.push(Event::CollectiveBegun, 4, &[6]);
        told.push(Event::CollectiveBegun, 3, &[5]);
        assert_eq!(all(&told), [(7, Some(2), 0), (8, Some(5), 0)]);
        told.push(Event::RankParked, 0, &[5]);
        told.leave(7);
        assert_eq!(all(&told), []);
    }

    #[test]
    fn what_does_not_fit_is_counted_and_told_before_what_comes_later() {
        let told = Told::default();
        told.listen(1, Event::RankParked, None);
        for number in 0..ROOM as i64 + 3 {
            told.push(Event::RankParked, 0, &[number]);
        }
        told.pop();
        told.push(Event::RankParked, 0, &[-1]);
        let rest = all(&told);
        assert_eq!(rest[ROOM - 2..], [(1, Some(ROOM as i64 - 1), 0), (1, None, 3), (1, Some(-1), 0)]);
    }

    #[test]
    fn what_was_dropped_is_told_before_another_listener_hears_of_the_source() {
        let told = Told::default();
        told.listen(1, Event::MessageMatched, None);
        told.listen(2, Event::MessageUnexpected, None);
        told.listen(3, Event::RankParked, None);
        for number in 0..ROOM as i64 + 2 {
            told.push(Event::MessageMatched, 0, &[number]);
        }
        told.pop();
        told.pop();
        told.push(Event::RankParked, 0, &[7]);
        told.push(Event::MessageUnexpected, 0, &[8]);
        let rest = all(&told);
        assert_eq!(rest[ROOM - 2..], [(3, Some(7), 0), (1, None, 2), (2, Some(8), 0)]);
    }

    #[test]
    fn what_was_dropped_can_be_forgotten() {
        let told = Told::default();
        told.listen(1, Event::RankParked, None);
        for number in 0..ROOM as i64 + 2 {
            told.push(Event::RankParked, 0, &[number]);
        }
        assert_eq!(told.len(), ROOM + 1);
        told.forget_dropped(1);
        assert_eq!(all(&told).len(), ROOM);
        assert!(told.is_empty());
    }

    #[test]
    fn what_was_dropped_last_is_told_even_if_nothing_comes_after() {
        let told = Told::default();
        told.listen(1, Event::RankParked, None);
        for number in 0..ROOM as i64 + 2 {
            told.push(Event::RankParked, 0, &[number]);
        }
        assert_eq!(all(&told).last(), Some(&(1, None, 2)));
    }
}
