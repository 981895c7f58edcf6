//! What the rest asks of the kernel: futexes, memory maps, affinity, clocks, sockets, processor capabilities; and copies of bytes.
//!
//! The only crate with raw system calls, but for the last one of a node process, which is in `runtime`. Everything here is
//! Linux; a function says what it needs beyond 5.4.

pub mod caller;
pub mod clock;
pub mod copy;
pub mod cpu;
pub mod errno;
pub mod file;
pub mod futex;
pub mod local_socket;
pub mod memory;
pub mod object;
pub mod process;
pub mod shared;
pub mod socket;
pub mod tasks;
