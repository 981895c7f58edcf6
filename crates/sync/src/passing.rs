//! Memory by which one core passes data to another, again and again: written into the caches, or past them.
//!
//! Where the cores share a cache, what the one writes the other finds there. Where
//! they do not, a store to a line that the receiver has read takes it away from the receiver's cache first, over what links
//! the caches: on an AMD EPYC (Zen 3) a line then takes 13 ns, where it takes 3 among cores that share the last cache. Past the
//! caches it takes 6 in both cases; what is written so is read from memory, which is slower than from a shared cache. Two threads that
//! copied messages to and fro through 2 MiB in parts of up to 16 KiB, in us a message, into the caches and past them:
//!
//! |         | near       | far          |
//! |---------|------------|--------------|
//! | 64 KiB  | 2.8, 6.5   | 14, 5.7      |
//! | 256 KiB | 12, 24     | 55, 25       |
//!
//! Where two processes run, nobody says for long: the kernel moves them, and a hypervisor moves the cores of a virtual machine,
//! which all seem to share a cache. So the time that copies take decides, and what was decided is tried again now and then.
#![allow(unsafe_code)] // Copies by address.

use crate::stream;
use weft_sys::clock;

/// Over how many lines the time of copies is judged: a store may still be on its way when the next part begins.
const WINDOW: u64 = 1024;
/// From how many nanoseconds a line on stores into the caches are dear. What is in no cache of the sender's costs up to 5
/// to be read.
const DEAR: u64 = 8;
/// How many dear windows in a row are no accident: a sender may lose its core for a moment.
const SURE: u32 = 2;
/// How many lines go past the caches before the other way is tried again. A trial takes a window, and so 3 % of their time; memory
/// that is touched for the first time is dear, too, and must not decide for long.
const STRETCH: u64 = 256 << 10;
/// One of how many parts is timed while nothing is dear: a look at the clock costs as much as half a kilobyte.
const SELDOM: u32 = 7;

/// Copies data to where another core reads it, in the way that has turned out cheaper.
#[derive(Default, Debug)]
pub struct Passing {
    /// How many lines still go past the caches.
    past: u64,
    /// Windows in a row that were dear.
    dear: u32,
    /// Parts so far that went into the caches.
    count: u32,
    /// Of the window: its lines, and the ticks that they took.
    lines: u64,
    ticks: u64,
}

impl Passing {
    /// The shortest part for which it matters.
    pub const LEAST: u64 = 4 << 10;

    /// Copies a part of a message.
    ///
    /// # Safety
    /// Both sides are valid for so many bytes and do not overlap.
    #[inline]
    pub unsafe fn copy(&mut self, from: *const u8, to: *mut u8, bytes: u64) {
        // SAFETY: the caller's promise.
        unsafe {
            if bytes < Self::LEAST {
                weft_sys::copy::bytes(from, to, bytes as usize);
            } else if self.goes_past(bytes / 64) {
                stream::copy(from, to, bytes as usize);
            } else if self.is_timed() {
                let begin = clock::ticks();
                weft_sys::copy::bytes(from, to, bytes as usize);
                self.note(bytes / 64, clock::ticks().wrapping_sub(begin), clock::ticks_per_us());
            } else {
                weft_sys::copy::bytes(from, to, bytes as usize);
            }
        }
    }

    /// Tells whether the next part, of so many lines, goes past the caches.
    fn goes_past(&mut self, lines: u64) -> bool {
        let goes = self.past > 0;
        self.past = self.past.saturating_sub(lines);
        goes
    }

    /// Tells whether the next part that does not is timed.
    fn is_timed(&mut self) -> bool {
        self.count = self.count.wrapping_add(1);
        self.dear > 0 || self.count.is_multiple_of(SELDOM)
    }

    /// Notes that so many lines took so many ticks, of which `rate` make a microsecond.
    fn note(&mut self, lines: u64, ticks: u64, rate: u64) {
        (self.lines, self.ticks) = (self.lines + lines, self.ticks.saturating_add(ticks));
        if self.lines < WINDOW {
            return;
        }
        let is_dear = self.ticks.saturating_mul(1000) > self.lines * DEAR * rate;
        (self.lines, self.ticks) = (0, 0);
        self.dear = if is_dear { self.dear + 1 } else { 0 };
        if self.dear >= SURE {
            // One dear window more is enough to go on.
            (self.past, self.dear) = (STRETCH, SURE - 1);
        }
    }

    /// Lets all parts go past the caches from now on, for tests.
    pub fn go_past(&mut self) {
        self.past = u64::MAX;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: u64 = 3000;

    /// Lets parts of 16 KiB go, each of whose lines takes so many nanoseconds, and tells which go past the caches.
    fn parts(passing: &mut Passing, count: usize, nanoseconds: u64) -> Vec<bool> {
        let part = |_| {
            let past = passing.goes_past(256);
            if !past && passing.is_timed() {
                passing.note(256, 256 * nanoseconds * RATE / 1000, RATE);
            }
            past
        };
        (0..count).map(part).collect()
    }

    #[test]
    fn while_stores_are_cheap_they_go_into_the_caches() {
        assert!(!parts(&mut Passing::default(), 10_000, 5).contains(&true));
    }

    #[test]
    fn dear_stores_go_past_the_caches_until_they_are_cheap_again() {
        let mut passing = Passing::default();
        let found = parts(&mut passing, 40, 20);
        // Four timed parts are a window, at first one of seven is timed.
        let first = found.iter().position(|&past| past).expect("they are dear");
        assert_eq!(first, 4 * 7 + 4);
        let past = parts(&mut passing, 10_000, 20).iter().filter(|&&past| past).count();
        assert!((9900..10_000).contains(&past), "{past} of 10,000, with a trial now and then");
        let after = parts(&mut passing, 10_000, 3);
        let last = after.iter().rposition(|&past| past).expect("the stretch goes on");
        assert!(last < 1024, "cheap stores were found after {last} parts");
    }

    #[test]
    fn a_moment_without_the_core_changes_nothing() {
        let mut passing = Passing::default();
        for _ in 0..100 {
            assert!(!parts(&mut passing, 1, 100_000).contains(&true));
            assert!(!parts(&mut passing, 100, 3).contains(&true));
        }
    }
}
