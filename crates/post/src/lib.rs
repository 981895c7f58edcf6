//! A service for messages between node processes, above the devices and below what the messages are about: each client has its own
//! on a channel of its own. A client gives headers and data; the service knows what a peer can take, which data waits for it, and
//! what of both is over when the peer is. Its clients are the messages of ranks (`p2p::remote`) and collectives (`coll::hier`).
//!
//! # Ways of a message
//! - *Short*: header and data at once, while the sender has [credit] with the receiver, for data that the device takes so
//!   ([`Post::permit`], or [`Post::send`], which offers what is not short).
//!   The receiver keeps it for as long as it wants, and then says that it is used ([`Post::used`]).
//! - *Free*: short and without credit ([`Post::tell`]): for headers alone, and what the client bounds by itself.
//! - *Answer*: as short, but longer, if the device takes it because the peer has just sent something as long ([`Post::answer`]).
//! - *Offered*: only the header travels ([`Post::offer`]), perhaps with a note. The data stays as it is at its sender, *lent* under a name; the
//!   receiver reads it from there where the device can ([`Post::read`]), or names *room* for it and asks ([`Post::ask`]): then the sender
//!   streams it there, in a part for each way that the device has. Or it declines ([`Post::decline`]). The sender may ask for the offer
//!   back ([`Post::withdraw`]).
//!
//! So a process holds a bounded number of bytes for what its clients do not want yet, nothing is copied but by devices, and
//! whatever waits for credit keeps nothing else from going on. Where the peer can read by itself and has not borrowed much, who has
//! lent may go on at once, else when the peer is done: an offer says so, because then nobody may leave before that is said.
//!
//! # Pieces
//! Data, and room for it, may have gaps ([`Place`]). Then the data travels in pieces that are copied one by one, so no packed copy of long
//! data exists anywhere.
//!
//! A short message may arrive before all of it is there, where the channel [comes in parts](weft_transport::Channel::comes_in_parts). If
//! memory waits for it ([`Client::room_for`]) the rest goes there, else *aside* ([`Aside`]), from where the message arrives when it is
//! whole.
//!
//! # Order
//! Short messages and offers to a peer arrive in the order in which they were sent. What a device has no room for goes to the
//! peer's *backlog*, and as long as there is one everything to that peer goes behind it. Short messages leave a backlog several at a time,
//! by one call of the device.
//!
//! # Who works
//! Any thread sends by itself. What arrives is handed to the client in whichever thread polls. What was asked for, what is
//! [read later](Post::read_later), and backlogs, go on after the poll ([`Post::advance`]).
//!
//! # Loss
//! When a device reports a peer as lost, or the peer sends what none of ours sends, the client hears of the loss, and whatever is under way
//! with the peer is over: the client gets back what it gave, once ([`Client::unsent`], [`Client::unfilled`]). Memory that is in a
//! device's hands is given back only when the device has let go of it.
//!
//! # What a client chooses
//! What one client needs costs the other nothing: kinds of memory, [sections](Sections) without atomic operations and whether messages without
//! data cost credit are types and constants of the [client](Client), and limits are each peer's.

mod arriving;
mod backlog;
mod client;
mod credit;
mod fetching;
pub mod header;
mod loss;
mod names;
mod sending;
mod service;

pub use client::{Aside, Client, Costs, Data, Gaps, Limits, Never, Nonsense, Place, Reception, Room};
pub use credit::{Credit, Sections};
pub use header::{Header, MOST_WORDS, Offer, Words};
pub use sending::{Permit, Towards};
pub use service::Post;
