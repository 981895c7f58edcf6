//! Whether anybody looks: one word of the process, which is read wherever something could be counted or told, and written
//! when a tool begins or ends to look.

use crate::tools::events::Event;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// The word, alone in its cache lines: all read it, and hardly anybody writes it.
#[repr(align(128))]
struct Word(AtomicU32);

static WORD: Word = Word(AtomicU32::new(0));

/// Programs are checked.
const CHECKING: u32 = 1;
/// Counters count.
const COUNTING: u32 = 2;
/// The first event's bit.
const EVENTS: u32 = 4;

/// What a tool looks at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sight {
    /// All counters.
    Counters,
    /// Events of a type.
    Events(Event),
}

impl Sight {
    const fn bit(self) -> u32 {
        match self {
            Self::Counters => COUNTING,
            Self::Events(event) => EVENTS << event as u32,
        }
    }
}

/// How often somebody has begun to look at events while nobody did.
static BEGINNINGS: AtomicU32 = AtomicU32::new(0);

/// How many look at what each bit stands for.
static LOOKERS: Mutex<[u32; 32]> = Mutex::new([0; 32]);

/// Begins to look.
pub fn begin(sight: Sight) {
    let bit = sight.bit();
    let mut lookers = LOOKERS.lock().unwrap_or_else(|e| e.into_inner());
    let at_events = &lookers[EVENTS.trailing_zeros() as usize..];
    if bit >= EVENTS && at_events.iter().all(|&count| count == 0) {
        BEGINNINGS.fetch_add(1, Ordering::Relaxed);
    }
    lookers[bit.trailing_zeros() as usize] += 1;
    WORD.0.fetch_or(bit, Ordering::Relaxed);
}

/// Ends what [`begin`] began.
pub fn end(sight: Sight) {
    let bit = sight.bit();
    let mut lookers = LOOKERS.lock().unwrap_or_else(|e| e.into_inner());
    let count = &mut lookers[bit.trailing_zeros() as usize];
    *count -= 1;
    if *count == 0 {
        WORD.0.fetch_and(!bit, Ordering::Relaxed);
    }
}

/// Says whether programs are checked; the settings do.
pub(crate) fn set_checking(is_checking: bool) {
    if is_checking {
        WORD.0.fetch_or(CHECKING, Ordering::Relaxed);
    } else {
        WORD.0.fetch_and(!CHECKING, Ordering::Relaxed);
    }
}

/// Tells whether a call has more to do at its beginning and end than its work: programs are checked, or somebody looks.
#[inline(always)]
pub fn is_attended() -> bool {
    WORD.0.load(Ordering::Relaxed) != 0
}

/// Tells whether somebody looks at counters or events.
#[inline(always)]
pub fn is_watched() -> bool {
    WORD.0.load(Ordering::Relaxed) & !CHECKING != 0
}

/// Counts how often somebody has begun to look at events while nobody did.
pub fn beginnings() -> u32 {
    BEGINNINGS.load(Ordering::Relaxed)
}

/// Tells whether counters count.
#[inline(always)]
pub fn is_counting() -> bool {
    WORD.0.load(Ordering::Relaxed) & COUNTING != 0
}

/// Tells whether somebody looks at events of any type.
#[inline(always)]
pub fn has_listeners() -> bool {
    WORD.0.load(Ordering::Relaxed) >= EVENTS
}

/// Tells whether somebody looks at events of a type.
#[inline(always)]
pub fn has_listeners_of(event: Event) -> bool {
    WORD.0.load(Ordering::Relaxed) & Sight::Events(event).bit() != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_look_at_is_watched_until_both_have_ended() {
        let sight = Sight::Events(Event::RankParked);
        begin(sight);
        begin(sight);
        end(sight);
        assert!(has_listeners_of(Event::RankParked) && is_watched());
        end(sight);
        assert!(!has_listeners_of(Event::RankParked));
    }
}
