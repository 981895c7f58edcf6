//! Elements for which the processor has atomic instructions: 1, 2, 4 and 8 bytes at addresses that are multiples of them.
#![allow(unsafe_code)] // The addresses are those of windows, for which callers vouch.

use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};
use weft_op::Element;

/// A word of a window.
///
/// # Safety
/// Of all functions: the address is a multiple of the word's size, and valid for reads and writes as long as the call lasts.
/// Others may change it at the same time by these functions only, for what comes out to mean anything.
trait Word: Copy + PartialEq {
    unsafe fn load(at: *mut Self) -> Self;
    unsafe fn store(at: *mut Self, value: Self);
    unsafe fn swap(at: *mut Self, value: Self) -> Self;
    unsafe fn add(at: *mut Self, value: Self) -> Self;
    unsafe fn and(at: *mut Self, value: Self) -> Self;
    unsafe fn or(at: *mut Self, value: Self) -> Self;
    unsafe fn xor(at: *mut Self, value: Self) -> Self;
    unsafe fn exchange(at: *mut Self, expected: Self, value: Self) -> Result<Self, Self>;
}

macro_rules! word {
    ($word:ty, $atomic:ty, $($function:ident is $method:ident),*) => {
        impl Word for $word {
            #[inline(always)]
            unsafe fn load(at: *mut Self) -> Self {
                // SAFETY: the trait's contract is that of `from_ptr`.
                unsafe { <$atomic>::from_ptr(at) }.load(Ordering::Acquire)
            }
            #[inline(always)]
            unsafe fn store(at: *mut Self, value: Self) {
                // SAFETY: the trait's contract is that of `from_ptr`.
                unsafe { <$atomic>::from_ptr(at) }.store(value, Ordering::Release);
            }
            $(#[inline(always)]
            unsafe fn $function(at: *mut Self, value: Self) -> Self {
                // SAFETY: the trait's contract is that of `from_ptr`.
                unsafe { <$atomic>::from_ptr(at) }.$method(value, Ordering::AcqRel)
            })*
            #[inline(always)]
            unsafe fn exchange(at: *mut Self, expected: Self, value: Self) -> Result<Self, Self> {
                // SAFETY: the trait's contract is that of `from_ptr`.
                unsafe { <$atomic>::from_ptr(at) }.compare_exchange(
                    expected,
                    value,
                    Ordering::AcqRel,
                    Ordering::Acquire,
                )
            }
        }
    };
}

macro_rules! words {
    ($($word:ty, $atomic:ty;)*) => {
        $(word! {
            $word, $atomic, swap is swap, add is fetch_add, and is fetch_and, or is fetch_or, xor is fetch_xor
        })*
    };
}

words! {
    u8, AtomicU8;
    u16, AtomicU16;
    u32, AtomicU32;
    u64, AtomicU64;
}

/// Tells whether elements of a size at an address are words.
#[inline(always)]
pub(super) fn are_words(at: *const u8, size: u64) -> bool {
    matches!(size, 1 | 2 | 4 | 8) && (at as u64).is_multiple_of(size)
}

/// Does something with `count` elements of `size` bytes at `at`. Where the elements that are combined with them lie says `input`,
/// and where the former ones go says `result`, unless it is null. Both may lie anywhere.
///
/// # Safety
/// [`are_words`] holds. The elements of the window are valid as [`Word`] says; `input` is valid for reads unless the operation is
/// [`Element::Nothing`], `result` is null or valid for writes.
#[inline]
pub(super) unsafe fn combine(
    element: Element,
    size: u64,
    at: *mut u8,
    input: *const u8,
    result: *mut u8,
    count: u64,
) {
    // SAFETY: this function's own contract, for the type of that size.
    unsafe {
        match size {
            8 => each::<u64>(element, at, input, result, count),
            4 => each::<u32>(element, at, input, result, count),
            2 => each::<u16>(element, at, input, result, count),
            _ => each::<u8>(element, at, input, result, count),
        }
    }
}

/// # Safety
/// As [`combine`], of words of type `W`.
#[inline(always)]
unsafe fn each<W: Word>(element: Element, at: *mut u8, input: *const u8, result: *mut u8, count: u64) {
    let (at, input, result) = (at.cast::<W>(), input.cast::<W>(), result.cast::<W>());
    let wanted = !result.is_null();
    for i in 0..count as usize {
        let at = at.wrapping_add(i);
        // SAFETY: `i` is below `count`, for which the caller vouches; no input is read where the operation has none.
        let former = unsafe {
            let value = || input.add(i).read_unaligned();
            match element {
                Element::Add => W::add(at, value()),
                Element::And => W::and(at, value()),
                Element::Or => W::or(at, value()),
                Element::Xor => W::xor(at, value()),
                Element::Replace if wanted => W::swap(at, value()),
                Element::Replace => {
                    W::store(at, value());
                    continue;
                }
                Element::Nothing => W::load(at),
                Element::Other(kernel) => compute(kernel, at, value()),
            }
        };
        if wanted {
            // SAFETY: the caller vouches for `count` elements of the result.
            unsafe { result.add(i).write_unaligned(former) };
        }
    }
}

/// Combines one element by an operation's function; returns the former value.
///
/// # Safety
/// `at` is valid as [`Word`] says, and the function is for elements of the size of `W`.
#[inline(always)]
unsafe fn compute<W: Word>(function: unsafe fn(*const u8, *mut u8, usize), at: *mut W, value: W) -> W {
    // SAFETY: the caller vouches for `at`; the function gets one element of either on this stack.
    unsafe {
        let mut former = W::load(at);
        loop {
            let mut next = former;
            function((&raw const value).cast(), (&raw mut next).cast(), 1);
            match W::exchange(at, former, next) {
                Ok(_) => return former,
                Err(other) => former = other,
            }
        }
    }
}

/// Replaces the element at `at` by that at `input` if it equals the one at `expected`; stores the former one at `result`.
///
/// # Safety
/// As [`combine`], of one element; `expected` is valid for reads.
#[inline]
pub(super) unsafe fn compare_and_swap(
    size: u64,
    at: *mut u8,
    input: *const u8,
    expected: *const u8,
    result: *mut u8,
) {
    /// # Safety
    /// As the function around it, of a word of type `W`.
    #[inline(always)]
    unsafe fn one<W: Word>(at: *mut u8, input: *const u8, expected: *const u8, result: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe {
            let (expected, value) =
                (expected.cast::<W>().read_unaligned(), input.cast::<W>().read_unaligned());
            let former = match W::exchange(at.cast(), expected, value) {
                Ok(former) | Err(former) => former,
            };
            result.cast::<W>().write_unaligned(former);
        }
    }
    // SAFETY: the caller's promise, for the type of that size.
    unsafe {
        match size {
            8 => one::<u64>(at, input, expected, result),
            4 => one::<u32>(at, input, expected, result),
            2 => one::<u16>(at, input, expected, result),
            _ => one::<u8>(at, input, expected, result),
        }
    }
}
