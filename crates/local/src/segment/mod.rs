//! The device between the processes of one host: messages through memory they share.
//!
//! `mpirun` creates the memory ([`Segment::create`]) without a name, and every process inherits its descriptor (one that
//! another launcher started is sent it), maps it and closes it ([`SegmentDevice::attach`]). So nothing is left behind, whatever is killed, and the size of `/dev/shm` does
//! not matter. Pages are allocated when they are first touched.
//!
//! # Ways of a message
//! - Each process has a *mailbox* of 64-byte lines in which everybody may put messages.
//! - A process that talks to another gets a *pair*: a ring of lines with one producer and one consumer, and behind it a
//!   ring of bytes. A pool of pairs leads to each process: enough for all where processes are few, else for those that
//!   talk most and first. It is announced in the mailbox, which keeps the order, and never given back.
//! - A line carries header and payload if both fit into 56 bytes: one cache line moves per message. Somewhat longer ones take
//!   a few lines that follow each other. The bytes of longer
//!   messages lie in the pair, or, for those without one, in a *block* of the sender's; they are copied once on each side.
//! - A message that answers another goes in the [*shuttle*](shuttles) that has brought that, where processes are few and it is not long.
//! - [`Device::start`](weft_transport::Device::start) cuts messages into chunks, so the sender fills while the receiver
//!   drains; short messages of ranks travel in parts, too, from some length on ([`layout`]).
//! - Where the kernel permits it and it is cheaper, peers' memory is read directly. Whether it is cheaper is tried when
//!   attaching, whether it is permitted once per peer, with a word both know.
//!   Under the Yama module, which by default lets only ancestors read, each process permits the descendants of mpirun, or of who else started all.
//!
//! # Sleep
//! Each process has a bell ([`weft_sync::Bell`]). A sender looks at the receiver's after it has published, and makes a
//! system call only if somebody sleeps. The barrier between the two is the sleeper's business alone where the kernel has
//! one for all processors and there is a core for every process; else both sides pay for a fence.
//!
//! A sender for whom there is no room says so in the pair, and the receiver rings the sender's bell when it has made some.
//!
//! # Death
//! Each process looks every tenth of a second, when it polls in vain or sleeps, whether the next one lives, by number and
//! start time. Who finds it dead says so in the segment and rings all bells.

mod creation;
mod cross_memory;
mod device;
mod incoming;
mod layout;
mod map;
mod opening;
mod outgoing;
mod shared;
mod shuttles;
mod wire;

#[cfg(test)]
mod tests;

pub use creation::Segment;
pub use cross_memory::CrossMemory;
pub use device::{Options, SegmentDevice};
pub use layout::Sizes;
pub use opening::SegmentOpener;
