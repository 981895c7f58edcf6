//! Messages between node processes: what a [`Device`] does for the layers above, and what they do for it ([`Handler`]);
//! what only some devices do ([`Tuning`]).
//!
//! A job's node processes are numbered; a node process holds one rank or many ([`Places`] says which). The interface is
//! one of *active messages*: a sender gives a header and a payload; at the target the header handler says where the
//! payload goes, and a completion handler runs when it is there. Nothing here knows ranks' queues, communicators or
//! collectives: `p2p` and `coll` bring their own headers, each on its own [`Channel`].
//!
//! `routes` makes one device of several. `simulator` is a network with a seed, `conformance` what every device must pass.
//!
//! # Order and reliability
//! Messages on one channel from one node process to another arrive once, whole, and in the order in which they were sent,
//! or the connection is lost and said to be. Nothing is promised between channels or between senders, nor of the order of what is
//! started as a part ([`Device::start`]).
//!
//! # Several devices
//! A process may reach some others through one device and some through another ([`Routes`]). Node processes, with their
//! ranks and devices, may join while the job runs ([`Nodes::add`], [`Places::add`]); numbers that a process gives to those
//! of another job are its own, so they never travel in messages.
//!
//! # Devices to come
//! - *UCX*: `send` and `start` are `ucp_am_send_nbx` with header and payload; its receive handler gives the header first and
//!   lets `ucp_am_recv_data_nbx` place the data, which is [`Placement::Memory`]; `read` is `ucp_get_nbx` once addresses
//!   travel with keys.
//! - *libfabric*: messages of `fi_inject` or `fi_sendmsg` into posted buffers; long ones by a header that is followed by
//!   tagged data for [`Placement::Memory`]; `read` is `fi_read`.
//! - *Multicast*: a device of the collective channel only; its receivers ask for what they miss, so order and reliability
//!   hold as for the others.
//! - *Another MPI* of the host: `MPI_Isend` of header and payload in one message, `MPI_Improbe` in [`Device::poll`].
//!
//! # Memory
//! A device holds a bounded number of bytes per peer. When that is used up [`Device::send`] says [`Refusal::Full`], and
//! the sender keeps what it has; no device queues without bound.

pub mod conformance;
mod device;
mod message;
mod nodes;
mod opening;
mod places;
mod routes;
pub mod simulator;
mod tuning;

pub use device::{Arriving, Capabilities, Device, Handler, Placement};
pub use message::{Channel, MAX_HEADER, Node, Refusal};
pub use nodes::{Nobody, Nodes, Watch};
pub use opening::{Member, Offer, Opener, Party};
pub use places::{Place, Places};
pub use routes::{NOBODY, Routes};
pub use tuning::{Commons, Leaving, MOST_ANSWER, Outbound, Traffic, Tuning};
