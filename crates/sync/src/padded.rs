//! A value alone on its cache lines.

/// Aligns `T` to 128 bytes: two lines, since x86-64 prefetches lines in pairs.
#[repr(C, align(128))]
#[derive(Default, Debug)]
pub struct CachePadded<T>(pub T);

impl<T> core::ops::Deref for CachePadded<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}
impl<T> core::ops::DerefMut for CachePadded<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
