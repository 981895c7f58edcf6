//! Growing pauses for a retry loop.

/// Pauses longer at each try, then gives the core away.
#[derive(Default, Debug)]
pub struct Backoff(u32);

impl Backoff {
    /// Starts with the shortest pause.
    pub const fn new() -> Self {
        Self(0)
    }

    /// Pauses. After some rounds it yields the core to other kernel threads instead.
    pub fn wait(&mut self) {
        if cfg!(loom) || self.0 < 7 {
            // A model's threads make progress at the first.
            let pauses = if cfg!(loom) { 1 } else { 1u32 << self.0 };
            for _ in 0..pauses {
                crate::facade::pause();
            }
            self.0 += 1;
        } else {
            weft_sys::cpu::yield_core();
        }
    }

    /// Starts again.
    pub fn reset(&mut self) {
        self.0 = 0;
    }
}
