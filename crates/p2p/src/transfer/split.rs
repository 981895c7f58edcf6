//! How an offered message is split between its two sides, learnt from message to message.
//!
//! The receiver copies the front and asks the sender, who waits anyway, to copy the tail. The best tail is the one that
//! is finished when the front is. That depends on how far apart the two cores are and in whose cache the buffers lie,
//! so it is not computed but found: a tail that was finished in time grows, fast until the first one is late, and one
//! that was waited for shrinks. If even a short one is late, asking costs more than it saves (far cores, buffers that lie
//! in the receiver's cache already), and the next messages go without, twice as many each time.

use weft_sync::invitation::End;

/// The unit of a split: this part of a message.
pub(crate) const PARTS: u32 = 64;
/// Bounds of what the sender is asked for, and what is tried first for each class of lengths, in parts.
const LEAST: u32 = 8;
const MOST: u32 = 32;
const FIRST: [u32; 4] = [16, 24, 28, 28];
/// How many messages go without a sender's help after it came too late, the first and the last time.
const REST: u32 = 8;
const DOUBTS: u32 = 4;

/// How much longer each tail is than the one before until one is late.
const STEP: u32 = 2;
/// How many tails in a row must be in time before the next one is longer, later on.
const ENOUGH: u32 = 6;

/// What a receiver knows about one sender's offers of about one length. Fits a word, whose value 0 is the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Split {
    /// What to ask for, in parts.
    part: u32,
    /// How many tails in a row were in time since the last change.
    good: u32,
    /// How many tails in a row were late.
    late: u32,
    /// How many messages go without help before the next try.
    rest: u32,
    /// How often in a row help did not pay.
    doubts: u32,
    /// 1 once a tail was late: from then on changes are few.
    settled: u32,
}

impl Split {
    /// Reads what [`Split::word`] wrote for offers of this class of lengths.
    #[inline]
    pub(crate) fn from_word(word: u32, class: usize) -> Self {
        let field = |shift: u32, bits: u32| word >> shift & ((1 << bits) - 1);
        Self {
            part: field(0, 6) ^ FIRST[class],
            good: field(6, 5),
            late: field(11, 2),
            rest: field(13, 11),
            doubts: field(24, 3),
            settled: field(27, 1),
        }
    }

    /// Writes all of it into a word.
    #[inline]
    pub(crate) fn word(self, class: usize) -> u32 {
        let Self { part, good, late, rest, doubts, settled } = self;
        part ^ FIRST[class] | good << 6 | late << 11 | rest << 13 | doubts << 24 | settled << 27
    }

    /// Returns how many parts of the next message to ask the sender for; 0 for not asking.
    #[inline]
    pub(crate) fn ask(&mut self) -> u32 {
        if self.rest > 0 {
            self.rest -= 1;
            return 0;
        }
        self.part
    }

    /// Learns from a message of which a tail was asked for. Changes are few and small, because lines that come to the
    /// other side must change caches.
    #[inline]
    pub(crate) fn learn(&mut self, tail: End) {
        let less = match tail {
            End::InTime => {
                self.late = 0;
                self.good += 1;
                if self.settled == 0 {
                    self.good = 0;
                    self.part = (self.part + STEP).min(MOST);
                } else if self.good == ENOUGH {
                    self.good = 0;
                    self.part = (self.part + 1).min(MOST);
                    self.doubts = self.doubts.saturating_sub(1);
                }
                return;
            }
            // One alone may be chance.
            End::Late(_) if self.late == 0 => 1,
            End::Late(looks) => looks.clamp(1, 4) << self.late,
            End::Alone => MOST,
        };
        self.good = 0;
        self.settled = 1;
        self.late = (self.late + 1).min(3);
        if self.part >= LEAST + less {
            self.part -= less;
        } else {
            self.part = LEAST;
            self.rest = REST << self.doubts;
            self.doubts = (self.doubts + 1).min(DOUBTS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets messages go through a pair whose tails are late from `enough` parts on. Returns what was asked for.
    fn run(split: &mut Split, enough: u32, messages: u32) -> Vec<u32> {
        let one = |_| {
            *split = Split::from_word(split.word(1), 1);
            let asked = split.ask();
            if asked > 0 {
                split.learn(if asked < enough { End::InTime } else { End::Late(asked - enough + 1) });
            }
            asked
        };
        (0..messages).map(one).collect()
    }

    #[test]
    fn a_split_stays_near_the_best_one() {
        for best in LEAST + 3..MOST {
            let mut split = Split::from_word(0, 1);
            run(&mut split, best, 500);
            let asked = run(&mut split, best, 200);
            assert!(asked.iter().all(|asked| asked.abs_diff(best) <= 1), "best {best}: {asked:?}");
        }
    }

    #[test]
    fn a_split_is_found_within_a_few_messages() {
        let mut split = Split::from_word(0, 0);
        for _ in 0..(MOST - FIRST[0]).div_ceil(STEP) {
            split = Split::from_word(split.word(0), 0);
            split.learn(End::InTime);
        }
        assert_eq!(split.ask(), MOST);
    }

    #[test]
    fn a_sender_that_never_helps_in_time_is_asked_less_and_less() {
        let mut split = Split::from_word(0, 1);
        run(&mut split, 0, 1000);
        let asked = run(&mut split, 0, 10_000).into_iter().filter(|asked| *asked > 0).count();
        assert!((70..=100).contains(&asked), "asked {asked} times");
        // Once it helps in time again, it is asked always.
        run(&mut split, MOST, 3000);
        assert!(run(&mut split, MOST, 100).iter().all(|asked| *asked > LEAST));
    }

    #[test]
    fn one_absence_costs_few_messages() {
        let mut split = Split::from_word(0, 1);
        run(&mut split, 20, 100);
        split.learn(End::Alone);
        let asked = run(&mut split, 20, 40);
        assert_eq!(asked.iter().filter(|asked| **asked == 0).count() as u32, REST);
    }

    #[test]
    fn every_state_fits_a_word() {
        let mut split = Split::from_word(0, 1);
        assert_eq!(split, Split { part: FIRST[1], good: 0, late: 0, rest: 0, doubts: 0, settled: 0 });
        for i in 0..200 {
            split.learn(if i % 20 < 17 { End::InTime } else { End::Alone });
            assert_eq!(Split::from_word(split.word(1), 1), split);
        }
        (0..20).for_each(|_| split.learn(End::Alone));
        assert_eq!(Split::from_word(split.word(1), 1), split);
        assert_eq!(split.rest, REST << DOUBTS);
    }
}
