//! Time in which this process itself did not run: a machine that was stopped as a whole, or had other things to do, for seconds.
//! Whoever was not heard of meanwhile may have been there.

use std::time::{Duration, Instant};

/// How late a process of a machine with too much to do may come; more is absence.
const LATE: Duration = Duration::from_secs(1);

/// Watches a loop that waits once in each turn.
pub struct Absence {
    last: Instant,
    asked: Duration,
}

impl Absence {
    /// Begins with the loop.
    pub fn new() -> Self {
        Self { last: Instant::now(), asked: Duration::ZERO }
    }

    /// Notes how long the loop is about to wait at most.
    pub fn expect(&mut self, asked: Duration) {
        self.asked = asked;
    }

    /// Returns, after the wait, how much longer this turn has taken than it should have; nothing if that is little.
    pub fn missed(&mut self) -> Duration {
        self.missed_at(Instant::now())
    }

    fn missed_at(&mut self, now: Instant) -> Duration {
        let took = now.saturating_duration_since(core::mem::replace(&mut self.last, now));
        let over = took.saturating_sub(core::mem::take(&mut self.asked));
        if over > LATE { over } else { Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_exceeds_the_wait_is_missed() {
        let mut absence = Absence::new();
        let mut now = absence.last;
        for (asked, took, missed) in
            [(0, 0, 0), (2000, 2100, 0), (2000, 100, 0), (100, 1000, 0), (100, 9100, 9000), (5, 5, 0)]
        {
            absence.expect(Duration::from_millis(asked));
            now += Duration::from_millis(took);
            assert_eq!(absence.missed_at(now), Duration::from_millis(missed), "{asked} asked, {took} taken");
        }
    }
}
