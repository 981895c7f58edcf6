//! A short-section lock. Never hold one across anything that can switch ranks.

/// Guards `T` for short sections.
#[derive(Default, Debug)]
pub struct Lock<T>(std::sync::Mutex<T>);

/// Unlocks on drop.
pub type LockGuard<'a, T> = std::sync::MutexGuard<'a, T>;

impl<T> Lock<T> {
    /// Creates an unlocked lock.
    pub const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    /// Locks, waiting as long as it takes.
    #[inline]
    pub fn lock(&self) -> LockGuard<'_, T> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}
