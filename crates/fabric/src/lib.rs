//! The devices: which there are, and which is the way from a node process to which other.
//!
//! A new device is a crate with an [`Opener`](weft_transport::Opener), and a line in [`DEVICES`]. Nobody else names a device.
//!
//! # How node processes meet
//! Those that need ways to each other meet: those of a job when they start ([`Meeting::of_job`]), those of two jobs when they
//! connect ([`Meeting::of_sides`]). Each makes an [`Offer`] ([`Meeting::offer`]), and gives what it returns as a [`Card`] to the
//! others, by whatever already joins them: `mpirun`'s sockets, another launcher's PMI, or messages. From their cards each
//! opens its devices ([`Offer::join`]), which become the job's [`Routes`](weft_transport::Routes) or are added to them.
//!
//! The way between two is the first device of the table that can join them and that both have offered. Both see the same
//! members and the same cards, so both choose the same device.
//!
//! A launcher may make beforehand what the node processes of a host then inherit ([`prepare`]). A node process without others
//! has a device, too, once it may meet some ([`alone`]).

mod card;
mod greeting;
mod meeting;
mod table;

pub use card::{Card, LONGEST, MOST_DEVICES, MOST_WORDS};
pub use meeting::{Joined, Meeting, Offer};
pub use table::{DEVICES, Sizes, alone, describe, prepare, sizes};
pub use weft_transport::Member;
