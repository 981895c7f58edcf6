//! What libc keeps once per process and a rank must have of its own.
//!
//! The state ([`RankState`]) and the functions over it live here, where they are tested; the executable's `main.rs`
//! exports them under libc's names. A thread finds its rank's state in [`state::current`].

pub mod children;
pub mod descriptors;
pub mod environment;
pub mod exit;
pub mod identity;
pub mod keys;
pub mod lock;
pub mod mappings;
pub mod options;
pub mod proc_files;
pub mod random;
pub mod shared;
pub mod state;
pub mod streams;

pub use state::RankState;
