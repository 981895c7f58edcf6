//! Which stores a copy uses: those that leave the data in the caches, or those that go past them.
//!
//! What an operation writes in all ranks' buffers stays in the last cache as long as it fits there, and is read or written
//! there next time. Where it does not fit, a store first reads the line from memory, and writes back another one. Allgather,
//! alltoall, broadcast and allreduce among 8 and 32 ranks on two cores that share 32 MiB, all together writing
//!
//! - up to 8 MiB: past the caches 0.6 to 1.0 times as fast;
//! - 16 MiB: 1 to 2.4 times as fast, 0.6 to 1.6 if every rank reads its result at once;
//! - 32 MiB and more: 1.6 to 3 times as fast, 1.1 to 2.1 with reading; but 0.6 for a broadcast of 4 MiB among 8 that is read
//!   at once.
//!
//! Pieces of 4 KiB and less are not worth it: their first and last lines are written in parts.

use std::sync::LazyLock;

/// How a copy writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stores {
    /// Into the caches.
    Cached,
    /// Past them: faster if the data would not stay there.
    Streaming,
}

/// The size of the last cache where the system does not tell.
const CACHE: usize = 32 << 20;

/// The shortest pieces that are written past the caches.
const PIECE: u64 = 8 << 10;

/// From how many bytes on data does not stay in the caches: three quarters of the last one, which is seldom ours alone.
static MOST: LazyLock<u64> = LazyLock::new(|| {
    let core = weft_machine::allowed_cores().first().copied().unwrap_or(0);
    let last = weft_machine::caches(core).last().map_or(CACHE, |cache| cache.size);
    last as u64 / 4 * 3
});

impl Stores {
    /// Returns the stores for an operation in which all ranks together write `total` bytes, in pieces of `piece` bytes.
    pub fn of(total: u64, piece: u64) -> Self {
        if piece >= PIECE && total >= *MOST { Self::Streaming } else { Self::Cached }
    }
}
