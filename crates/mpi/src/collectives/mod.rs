//! Collective operations (chapters 6 and 8), as calls with arguments; `weft_coll` carries them out.
//!
//! - `blocking`, `nonblocking`, `persistent`: the procedures. All three are made from one table in `forms`.
//! - `arguments`: arguments as values. `movement`, `reductions`, `neighborhoods`: each call's arguments, checked once for all its
//!   forms.
//! - `operations`: what reductions compute (section 7.9).
//! - `checks`, `shown`: checking mode.

pub(crate) mod arguments;
pub mod blocking;
pub mod checks;
pub(crate) mod forms;
pub(crate) mod movement;
pub(crate) mod neighborhoods;
pub mod nonblocking;
pub mod operations;
pub mod persistent;
pub(crate) mod reductions;
pub(crate) mod shown;
