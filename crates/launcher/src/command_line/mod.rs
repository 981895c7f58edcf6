//! From the command line to what will be started.
//!
//! - `flags`: the table of options. `parse`: reads a command line, with `values` of options; `line`: what it says.
//! - `stop`: what ends the launcher before a job runs. `option_files`: parts of command lines in files. `settings`: the settings of a job.
//! - `resolve`: finds the program. `foreign`: programs that were built for another MPI. `limits`: refuses what no system can start. `plan`: what will be started.

pub mod flags;
pub mod foreign;
pub(crate) mod limits;
pub mod line;
pub mod option_files;
pub mod parse;
pub mod plan;
pub mod resolve;
pub mod settings;
pub mod stop;
mod values;
