//! What every layer shares: the ABI's handle types and constants, errors, and access to a caller's arguments.
//!
//! - `abi`, `constants`: the types and constants of the standard ABI; the constants are generated from `api/`.
//! - `arguments`: C arguments, wrapped once (`In`, `Out`, `Counts`). `error`: `Error` and `Result`.
//! - `handle`, `table`: what is in a handle's bits, and the tables of the objects behind handles.
//! - `settings`: the table of settings. `collectives`: the table of the collectives' algorithms.
//! - `tools`: what tools may see: subjects, counters, events.
//! - `job`: what `mpirun` hands over to a node process, and what a node process reports. `say`: messages to the user.
//! - `stuck`, `waiting`, `site`, `noted`, `finding`: what reports on ranks that wait, and checking mode, are made of.

pub mod abi;
pub mod arguments;
pub mod collectives;
pub mod constants;
pub mod error;
pub mod finding;
pub mod handle;
pub mod host;
pub mod job;
mod kind;
pub mod noted;
pub mod predefined_handles;
pub mod say;
pub mod settings;
pub mod site;
pub mod stuck;
pub mod table;
pub mod tools;
pub mod waiting;

pub use arguments::{Counts, In, Out};
pub use error::{Error, Named, Result, Subject};
