//! From the command line to what will be started.
//!
//! - `flags`: the table of options. `option_files`: parts of command lines in files. `settings`: the settings of a job.
//! - `resolve`: finds the program. `limits`: refuses what no system can start. `plan`: what will be started.

pub mod flags;
pub(crate) mod limits;
pub mod option_files;
pub mod plan;
pub mod resolve;
pub mod settings;
