//! What a program asks for and learns beside its messages (chapters 9 to 12).
//!
//! - `initialize`, `sessions`: the library's begin and end, and process sets. `inquiries`: the library, the machine, timers.
//! - `info`: info objects. `memory`, `memory_kinds`: memory for programs. `resources`: the hardware resources of ranks.

pub mod info;
pub mod initialize;
pub mod inquiries;
pub mod memory;
pub mod memory_kinds;
pub mod resources;
pub mod sessions;
