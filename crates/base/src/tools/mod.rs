//! What tools may see of the library: subjects, counters and events. Plain values: who counts is anybody above, who
//! shows them is the tool information interface (chapter 15).
//!
//! - `category`: the subjects, of settings, counters and events. `counters`: what is counted. `events`: what happens, and
//!   what a rank's tools have not been told yet. `ranks`: where both are, by rank.
//! - `watch`: the one word that says whether anybody looks. While nobody does, counting costs a load and a branch.

pub mod category;
pub mod counters;
pub mod events;
pub mod ranks;
pub mod watch;

pub use category::Category;
