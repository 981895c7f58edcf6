//! Active messages between node processes: a message names a service of the peer, which is called with it in whichever thread
//! polls there, whatever the peer's ranks do. Built on the transfer service ([`weft_post`]), on a channel of its own, which is served
//! from when a job first needs it.
//!
//! # Kinds of messages
//! - *Told* ([`Active::tell`]): the service has done with the message when it returns, so a message costs no credit. What may wait
//!   until its sender [says](Active::push) that it should go travels together with what else goes to the peer. Told messages to a
//!   peer are heard in the order in which they were told.
//! - *Sent* ([`Active::send`]): the service keeps the message. Short ones cost credit, which is given back when the service has
//!   [used](Active::used) them. Of long ones the data stays with its sender, until the service says where it goes
//!   ([`Active::fetch`]).
//!
//! # Who may wait
//! Services neither wait nor poll. They tell and send, however much waits for room already; whoever is not called by a poll waits
//! while a peer is [behind](Active::is_behind), so that what waits has a bound.
//!
//! # Loss
//! When a peer is lost each service hears of it, and whatever was sent or fetched comes to its end in vain.

mod active;
mod batch;
mod memory;

pub use active::{Active, Arrival, Contents, LONGEST_HEAD, Service, When};
pub use batch::Message;
pub use memory::{Landing, Source};
pub use weft_post::Nonsense;
