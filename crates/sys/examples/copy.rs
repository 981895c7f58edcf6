//! Measures copies within a core's caches, by `memcpy` and as [`weft_sys::copy`] does them, by where the target lies.
//!
//! `cargo run --release -p weft-sys --example copy`
#![allow(unsafe_code)] // Copies by address.

use std::hint::black_box;
use std::time::Instant;

const MOST: usize = 256 << 10;
const PAGE: usize = 4096;

/// Returns the shortest of some copies of `length` bytes, in us.
fn shortest(length: usize, copy: impl Fn()) -> f64 {
    let repeat = (64 << 10) / length + 1;
    let time = |_| {
        let begin = Instant::now();
        (0..repeat).for_each(|_| copy());
        begin.elapsed().as_secs_f64() * 1e6 / repeat as f64
    };
    (0..100).map(time).fold(f64::INFINITY, f64::min)
}

/// Returns a place on a page's begin.
fn page(block: &mut [u8]) -> *mut u8 {
    let skip = block.as_ptr().addr().next_multiple_of(PAGE) - block.as_ptr().addr();
    block[skip..].as_mut_ptr()
}

fn main() {
    let (mut from, mut to) = (vec![1u8; MOST + 2 * PAGE], vec![2u8; MOST + 2 * PAGE]);
    let (from, to) = (page(&mut from), page(&mut to));
    println!("{:>8} {:>7} {:>9} {:>9}", "bytes", "behind", "memcpy", "here");
    for length in [1024, 2048, 4096, 16 << 10, 64 << 10, MOST] {
        for behind in [0, 1, 8, 16, 31, 32, 64, 2048] {
            // SAFETY: both blocks have room for the longest copy two pages behind their begin, and one is left for `behind`.
            let to = unsafe { to.add(behind) };
            let plain = shortest(length, || {
                // SAFETY: both blocks hold `length` bytes there, and are not one.
                unsafe { core::ptr::copy_nonoverlapping(black_box(from), black_box(to), length) }
            });
            let here = shortest(length, || {
                // SAFETY: `length` is at most the longest copy, for which both have room.
                unsafe { weft_sys::copy::bytes(black_box(from), black_box(to), length) }
            });
            println!("{length:>8} {behind:>7} {plain:>9.3} {here:>9.3}");
        }
    }
}
