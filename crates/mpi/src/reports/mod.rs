//! What is said of a rank: whether it waits for ever, and what it leaves behind.
//!
//! - `waiting`: what a rank waits for, and what lies unmatched at it. `stuck`: which ranks can never go on.
//! - `checking`: checking mode, at the end of a rank.

pub mod checking;
pub mod stuck;
pub mod waiting;
