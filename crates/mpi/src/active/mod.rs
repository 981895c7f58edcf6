//! Active messages for programs, as `include/weft_am.h` has them: a message makes a function run at its target, which says where the
//! message's data goes, and then another one. Beside them memory is written, read and changed there by its address, and counters tell
//! of all.
//!
//! - `contexts`: beginning and end, handlers, modes, inquiries. A rank's *context* is what the program has a number of.
//! - `team`: which ranks belong together, and those of this process. `member`: what such a rank has to do, and who waits for it.
//! - `messages`: messages that make handlers run. `memory`: put, get, read-modify-write. `counters`: what is waited for.
//! - `remote`: the same with ranks of other processes, a service of [`weft_am`]. `way`: what is said to those. `words`: what happens to
//!   a word.
//!
//! # Who does what
//! A rank's handlers run one after the other on a thread of the rank, because the program's variables are the rank's: in polling mode
//! on the rank's own one, while that waits in the library or is in one of these functions; in interrupt mode on one that the library
//! makes. Where the target's memory is this process's, the origin's thread writes, reads and changes it, and the target takes no part;
//! else whoever polls in the target's process does so.
//!
//! A message's data is copied once between ranks of a process, from the origin's memory to where the handler says; but short data is
//! copied when it is sent, so that its sender may go on.
//!
//! # Bounds
//! A rank that has sent [`MOST_OUTSTANDING`] messages which have not come to their end waits for that, unless it is in a handler.

mod contexts;
mod counters;
mod member;
mod memory;
mod messages;
mod remote;
mod team;
mod way;
mod words;

pub(crate) use contexts::end;
pub use contexts::{
    Query, address, address_init, communicator, init, probe, qenv, register_handler, senv, term,
};
pub use counters::{fence, getcntr, gfence, setcntr, waitcntr};
pub use memory::{get, put, rmw};
pub use messages::send;

/// Who is called with active messages, by number.
pub(crate) const SERVICES: &[&dyn weft_am::Service] =
    &[&remote::Remote, &weft_rma::OneSided, &weft_io::SharedPointers];
/// How many handlers a context may have.
const HANDLERS: usize = 256;
/// The longest header of a message.
const LONGEST_HEADER: usize = weft_am::LONGEST_HEAD;
/// The longest data that is copied when it is sent between ranks of a process.
const SHORT: usize = 1 << 10;
/// How many messages of a rank may not have come to their end.
const MOST_OUTSTANDING: u64 = 1 << 10;
