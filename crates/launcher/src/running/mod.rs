//! A job while it runs.
//!
//! - `supervise`: the loop that watches all of it. `spawn`, `local`: the node processes of this host.
//! - `output`, `inlets`: the output of ranks. `held`: reports that wait for what explains them. `bell`: wakes a thread that polls.
//! - `offspring`: jobs that the job starts. `names`: its published names.

pub mod bell;
pub mod held;
pub mod inlets;
pub mod local;
pub mod names;
pub mod offspring;
pub mod output;
pub mod spawn;
pub mod supervise;
