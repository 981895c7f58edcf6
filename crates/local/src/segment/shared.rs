//! What is in the segment, as all processes see it. All zero is the state before anybody has attached; nothing in it is an
//! address that another process would follow.

use core::sync::atomic::{AtomicU32, AtomicU64};

use weft_sync::{Bell, CachePadded, Mailbox, Ring};

/// The first word of every segment.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"weft-seg");
/// Counts with every change of what is in the segment.
pub(crate) const VERSION: u32 = 7;
/// Messages in the ring of a pair.
pub(crate) const LINES: usize = 128;
/// Messages in a mailbox.
pub(crate) const MAILS: usize = 256;

/// The start of the segment. Written by its creator, but for what counts the dead.
#[repr(C)]
pub(crate) struct Header {
    pub magic: AtomicU64,
    pub version: AtomicU32,
    pub nodes: AtomicU32,
    pub size: AtomicU64,
    /// The number of the process from which all others descend.
    pub ancestor: AtomicU32,
    /// How many cores the creator may use.
    pub cores: AtomicU32,
    /// How many processes were found dead.
    pub deaths: CachePadded<AtomicU32>,
}

/// Where a process is in its life: the values of [`Area::state`].
pub(crate) mod state {
    /// It has not attached.
    pub const ABSENT: u32 = 0;
    /// It takes part.
    pub const PRESENT: u32 = 1;
    /// It has left: what it sent stays to be read.
    pub const GONE: u32 = 2;
    /// It was found dead while present.
    pub const DEAD: u32 = 3;
}

/// What belongs to one process: who it is, where it sleeps, and its mailbox.
#[repr(C)]
pub(crate) struct Area {
    /// See [`state`]. `ABSENT` → `PRESENT` → `GONE` by the process; `PRESENT` → `DEAD` by whoever finds it so.
    pub state: AtomicU32,
    /// Valid once present, as the next four.
    pub process: AtomicU32,
    pub started: AtomicU64,
    /// Where, in that process, the word is that others read to find out whether they can.
    pub probe: AtomicU64,
    /// What the word holds.
    pub probe_value: AtomicU64,
    /// 1 if the process cannot read others' memory.
    pub blind: AtomicU32,
    /// How many pairs to this process have been given away. May count past the number there are.
    pub pairs_taken: CachePadded<AtomicU32>,
    pub bell: Bell,
    pub mailbox: Mailbox<MAILS>,
}

/// The way from one process to another: a ring of lines for messages, and behind this the bytes of longer payloads.
#[repr(C)]
pub(crate) struct Pair {
    pub lines: Ring<LINES>,
    /// 1 if the sender waits for room; taken back by the receiver when it has made some.
    pub wanted: CachePadded<AtomicU32>,
    /// Up to where the receiver has let go of the bytes; positions count on for ever.
    pub freed: CachePadded<AtomicU64>,
}

/// The head of a block; header and payload follow.
#[repr(C, align(64))]
pub(crate) struct BlockHead {
    /// 1 from the moment the sender fills it until the receiver lets go of it.
    pub used: AtomicU32,
}
