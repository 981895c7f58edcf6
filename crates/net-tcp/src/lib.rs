//! The device between hosts: messages over TCP.
//!
//! Every node process listens ([`Listener::bind`]) on the interfaces that settings choose. When each knows the addresses of
//! all, and a secret that only the job's processes know, the listener becomes the device ([`Listener::join`]).
//!
//! # Connections
//! A pair of node processes has a connection for the messages of ranks, one for collectives, one for all other
//! [channels](weft_transport::Channel), and further ones for parts of long messages where several interfaces lead to the peer, or `net-stripes` says so: each is a [`Lane`], which goes through another
//! interface than the one before. Each is made when there is something to send on it first, with a handshake of its own:
//!
//! | stage | is | ends with |
//! | --- | --- | --- |
//! | `Absent` | nothing | the first message: *dialling*; a peer's proof: *settled* |
//! | `Dialling` | attempts at the peer's addresses, nearest network first; messages wait | the peer's verdict, or its own proof |
//! | `Settled` | agreed upon, being set up | *open* |
//! | `Open` | carrying messages | an end in order: *ended*; an error while sending: *broken* |
//! | `Broken` | what has arrived is still delivered | the last of it: *ended* if the peer had said so, else a loss |
//! | `Ended` | nothing any more | |
//!
//! `congestion` says how connections avoid congestion; `link` who may touch what of a connection; `device::door` how two that dial at once agree; `weft_handshake` how they prove to
//! each other that they belong to the job, before anything else is read; `frame` how messages look on the wire.
//!
//! # Ways of a message
//! A sender that finds the connection open and free makes the system call itself, on its own thread, from its own memory.
//! Others meanwhile leave copies, or the addresses of long messages, for it to send; of a message of some kilobytes the device
//! says [`Full`](weft_transport::Refusal::Full), and whoever has several then hands them over together, for one system call. What
//! the socket does not take waits in a bounded queue for a poll; beyond that the device says `Full`, too.
//!
//! Who polls receives into memory of its own and delivers from there; the rest of a long message is received straight into
//! where the handler wants it. The connection that has had something last is tried first, so that a ping-pong costs one
//! system call per message on either side; then the one before, and the kernel is asked about all (epoll), which is also where
//! sleepers sleep. When some messages in a row have come on one connection, the others are asked after every 2 us only, and the
//! longer the row the less often, down to every 10 us: of the calls in vain per message of a ping-pong four in ten went away
//! with the 2 us, and 8 bytes between two hosts take 1 to 5 in a hundred less time with the 10.
//! After a longer row the kernel no longer tells of that connection at all (`device::watching`), because that costs whoever sends on
//! it: 8 bytes between two hosts took 6.04 us and take 5.82, raw sockets 5.30.
//!
//! How who polls looks hardly matters. Raw sockets on two cores: 8 bytes take as long within 5 in a hundred with `recv` or `poll`
//! without end, or with up to 1 us between two `recv`; with `epoll_wait` without end 5 in a hundred longer, through io_uring 8 to
//! 19, however the task work is run, and six times as long for who sleeps in `recv`.
//! Several threads may poll: each connection is one thread's at a time.
//!
//! Long messages of ranks may come in parts over several connections, which nothing keeps in order. Where two interfaces carry 1
//! Gbit/s each, 4 MiB take 17.8 ms over both and 35.3 over one. Over one interface that is not the bottleneck more connections
//! cost more than they bring: 1 MiB takes 310 us over one and 510 over two or four, 4 MiB 850 us, 1180 and 1410. So there is one
//! per interface unless `net-stripes` says otherwise.
//!
//! What is sent is copied by the kernel. With `MSG_ZEROCOPY` raw sockets take 1.7 to 6 times as long for 64 KiB to 8 MiB between two
//! hosts of one machine, and 2 to 13 times over loopback, because the kernel copies all the same where sender and receiver are
//! on it, and the memory comes back late.
//!
//! While a long message is on its way, in either direction, looking again and again is worse than sleeping: the device says so
//! ([`Tuning::is_streaming`](weft_transport::Tuning::is_streaming)), and has the kernel wake a sleeper only when enough is
//! there (`link`). Node processes of several hosts may be on one machine, as containers are; they recognise each other by
//! their [`Card`]s, and do not spin where they outnumber the cores.
//!
//! There are no threads here: polling is the business of the scheduler and of the keepers of
//! [`Routes`](weft_transport::Routes), of which there are as many as `net-threads` says.
//!
//! # Loss
//! The kernel asks a silent peer for a sign of life and gives up after the time that is set (`net-timeout`), as it does when
//! what was sent is not acknowledged; a process that dies closes its connections. Either is reported once, with the peer's
//! number and address. A process that ends in order says so on each connection, sends nothing afterwards, and stays, for as long
//! as `net-timeout` if need be, until what it has sent is acknowledged. Copies that others still have for it are dropped then;
//! a message that its sender waits for is a loss.

mod card;
mod config;
mod congestion;
mod device;
pub mod frame;
mod lane;
mod link;
mod opening;

#[cfg(test)]
mod tests;

pub use card::{Card, Machine};
pub use config::NetConfig;
pub use device::{Listener, TcpDevice};
pub use lane::{Connection, Lane};
pub use opening::TcpOpener;
