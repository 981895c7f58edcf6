//! How processes of different jobs find each other: a socket without a file at each process that wants to be found, and, as
//! long as it has a port, one on each network that settings choose.
//!
//! A process has one [`Door`]. Behind it are *ports*, at which ranks wait for others to connect; *tickets*, for which the
//! door hands out a descriptor (that of memory to be shared); and *names* that the process has published. Who has
//! connected to a port has a [`Line`]: whole messages in both directions.
//!
//! # Who gets in
//! The socket is in the abstract name space, so it is gone with the process, whatever ends that. Both ends make sure that
//! the other belongs to the same user; ports and tickets are numbers of 128 bits that nobody can guess. Whoever says
//! anything else is shown out.
//!
//! # Names
//! A published name is a socket of its own, named after user and service: the kernel lets it be bound once, so nobody can
//! publish a name twice, and there is no server of names to be started, to be found or to be left behind. It is known
//! where the process's network name space is, which is mostly: on this host. For jobs that have processes on other hosts,
//! their `mpirun` publishes and looks up.
//!
//! # Threads
//! One thread per process with a door reads from all its sockets. Ranks write by themselves, and park while they wait.

mod client;
mod frames;
mod knock;
mod limit;
mod line;
mod server;
mod socket;
mod token;

pub use client::{connect, fetch, look_up, see_to};
pub use line::Line;
pub use server::{Door, NameRefused, Port, Ticket, door};
