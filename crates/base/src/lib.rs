//! What every layer shares: the ABI's handle types and constants, errors, and access to a caller's arguments.

pub mod abi;
pub mod arguments;
pub mod collectives;
pub mod constants;
pub mod error;
pub mod finding;
pub mod handle;
pub mod host;
pub mod job;
pub mod noted;
pub mod say;
pub mod settings;
pub mod site;
pub mod stuck;
pub mod table;
pub mod waiting;

pub use arguments::{Counts, In, Out};
pub use error::{Error, Named, Result, Subject};
