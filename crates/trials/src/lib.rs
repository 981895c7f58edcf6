//! What tests with drawn data share: their seeds, and how many rounds there is time for.
//!
//! `WEFT_TEST_SEED` repeats a run. `make test` sets `TEST_PART`, as for the runners of all other suites: an eighth of the
//! rounds is run then. Only tests use this crate.

use std::time::{SystemTime, UNIX_EPOCH};

/// The variable that gives the seed.
pub const SEED: &str = "WEFT_TEST_SEED";

/// What the part runs of all rounds.
const PART: u32 = 8;

/// Tells whether only the part of the tests is wanted that `make test` has time for.
pub fn is_part() -> bool {
    std::env::var("TEST_PART").is_ok_and(|value| !matches!(value.as_str(), "" | "0"))
}

/// Returns how many rounds of `all` are wanted: all, or those of the part, at least one.
pub fn rounds(all: u32) -> u32 {
    if is_part() { all.div_ceil(PART) } else { all }
}

/// Returns the seed that was given, or else one from the clock, and prints it.
pub fn seed() -> u64 {
    let seed = given().unwrap_or_else(clock);
    println!("{SEED}={seed}");
    seed
}

/// Returns the seed that was given, or else those of a test: some that are always the same, and then some from the clock,
/// the first of which is printed. There are `all` of them, fewer in the part.
pub fn seeds(all: u32) -> impl Iterator<Item = u64> {
    if let Some(seed) = given() {
        return (seed..seed + 1).chain(0..0);
    }
    let (count, fresh) = (u64::from(rounds(all)), clock());
    let new = count.div_ceil(4);
    println!("fresh seeds from {fresh} ({SEED} repeats one)");
    (0..count - new).chain(fresh..fresh + new)
}

fn given() -> Option<u64> {
    std::env::var(SEED).ok().and_then(|seed| seed.parse().ok())
}

fn clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}
