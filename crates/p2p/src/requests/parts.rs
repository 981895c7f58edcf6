//! The upper half of a request's handle: the slot's generation, and the rank.

use super::slot::{GENERATIONS, RANK_SHIFT};

/// Returns the generation and the rank in the upper half of a request's handle.
pub fn request_parts(upper: u32) -> (u32, u32) {
    (upper & ((1 << RANK_SHIFT) - 1), upper >> RANK_SHIFT)
}

/// Returns the upper half of the handle of a request so many generations before another one.
pub fn request_before(upper: u32, generations: u32) -> u32 {
    let (generation, rank) = request_parts(upper);
    let earlier = (generation + GENERATIONS as u32 - generations) % GENERATIONS as u32;
    rank << RANK_SHIFT | earlier
}
