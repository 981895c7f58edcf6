//! Where processes outnumber the cores, the thread that looks while all compute stays away from those who wait and look by
//! themselves. One process, one source, so one test.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use weft_sched::Source;

/// Says that somebody has polled whenever it is asked, which only the thread that looks while all compute does.
struct Busy {
    asked: AtomicU32,
}

static BUSY: Busy = Busy { asked: AtomicU32::new(0) };

impl Source for Busy {
    fn poll(&self) -> bool {
        panic!("others do");
    }

    fn sleep(&self, _limit: Duration, _is_idle: &dyn Fn() -> bool) {
        panic!("nobody waits");
    }

    fn wake(&self) {}

    fn polls(&self) -> Option<u32> {
        Some(self.asked.fetch_add(1, Ordering::Relaxed))
    }
}

#[test]
fn while_others_poll_a_crowded_process_looks_seldom() {
    let begin = Instant::now();
    weft_sched::set_source(&BUSY, true, false);
    while BUSY.asked.load(Ordering::Relaxed) < 12 {
        std::thread::sleep(Duration::from_millis(1));
    }
    // The first is when it begins, the second may come a millisecond later.
    let most = begin.elapsed().as_millis() / 16 + 2;
    assert!(12 <= most, "asked 12 times in {:?}", begin.elapsed());
}
