//! A value that is owned, or that lies elsewhere in memory that lives for ever, for instance in memory that processes share.
#![allow(unsafe_code)] // Follows a pointer that came from a box or a reference.

use core::fmt;
use core::ptr::NonNull;

/// A `T`, either owned as by a box or elsewhere. Reading it costs the same.
pub struct Place<T: ?Sized> {
    at: NonNull<T>,
    is_own: bool,
}

// SAFETY: a place gives out shared references and drops what it owns, as a box does.
unsafe impl<T: ?Sized + Send + Sync> Send for Place<T> {}
// SAFETY: a shared place gives out shared references only.
unsafe impl<T: ?Sized + Sync> Sync for Place<T> {}

impl<T: ?Sized> From<&'static T> for Place<T> {
    fn from(elsewhere: &'static T) -> Self {
        Self { at: elsewhere.into(), is_own: false }
    }
}

impl<T: ?Sized> From<Box<T>> for Place<T> {
    fn from(own: Box<T>) -> Self {
        // SAFETY: the pointer of a box is not null.
        Self { at: unsafe { NonNull::new_unchecked(Box::into_raw(own)) }, is_own: true }
    }
}

impl<T: ?Sized> core::ops::Deref for Place<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: it came from a box that this owns, or from a reference that holds for ever.
        unsafe { self.at.as_ref() }
    }
}

impl<T: ?Sized> Drop for Place<T> {
    fn drop(&mut self) {
        if self.is_own {
            // SAFETY: it came from a box, and is dropped once.
            drop(unsafe { Box::from_raw(self.at.as_ptr()) });
        }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Place<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn drops_what_it_owns_and_nothing_else() {
        let value = Arc::new(7);
        let own: Place<[Arc<i32>]> = Place::from(vec![value.clone(); 3].into_boxed_slice());
        let leaked: &'static Arc<i32> = Box::leak(Box::new(value.clone()));
        let elsewhere = Place::from(leaked);
        assert_eq!((own.len(), **elsewhere), (3, 7));
        drop((own, elsewhere));
        assert_eq!(Arc::strong_count(&value), 2);
    }
}
