//! Waiting for a word of the executable's to change: what it has instead of locks of the system's.

use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::OnceLock;
use weft_sched::WaitSet;

/// How many sets of waiting threads there are. Words that share one wake each other's threads, which look and wait again.
const SETS: usize = 64;

fn set_of(word: &AtomicU32) -> &'static WaitSet {
    static ALL: OnceLock<Box<[OnceLock<WaitSet>]>> = OnceLock::new();
    let all = ALL.get_or_init(|| (0..SETS).map(|_| OnceLock::new()).collect());
    // Words of ranks lie a rank's state apart; a multiplication mixes that into the upper bits.
    let mixed = (core::ptr::from_ref(word) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    all[(mixed >> 58) as usize].get_or_init(WaitSet::new)
}

/// Waits until a word has another value than `value`.
pub extern "C" fn wait(word: &AtomicU32, value: u32) {
    set_of(word).wait(|| word.load(Ordering::SeqCst) != value);
}

/// Wakes who waits for a word, which has been changed.
pub extern "C" fn wake(word: &AtomicU32) {
    core::sync::atomic::fence(Ordering::SeqCst);
    set_of(word).wake_all();
}
