//! How the device between hosts is opened: each process listens, and says where.

use crate::card::{Card, Machine};
use crate::config::NetConfig;
use crate::device::Listener;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use weft_base::constants::MPI_ERR_INTERN;
use weft_base::{Error, Result};
use weft_transport::{Device, Member, Node, Offer, Opener, Party};

/// Opens devices over TCP.
pub struct TcpOpener;

/// A process that listens until it knows its peers.
struct Listening {
    listener: Option<Listener>,
    card: Card,
    partners: Vec<Node>,
}

fn failed(error: &dyn std::fmt::Display) -> Error {
    Error::new(MPI_ERR_INTERN, format!("the network to other hosts: {error}"))
}

/// Returns how many threads of a process look for messages.
fn workers(member: &Member) -> u32 {
    member.ranks.min(weft_machine::usable_cores() as u32)
}

impl Opener for TcpOpener {
    fn name(&self) -> &'static str {
        "tcp"
    }

    fn purpose(&self) -> &'static str {
        "node processes of different hosts, through TCP connections"
    }

    fn joins(&self, one: &Member, other: &Member) -> bool {
        one.host != other.host
    }

    fn needs_secret(&self) -> bool {
        true
    }

    fn connects_late(&self) -> bool {
        true
    }

    fn offer(&self, party: &Party<'_>, _inherited: &mut Option<OwnedFd>) -> Result<Option<Box<dyn Offer>>> {
        let workers = workers(&party.members[party.own as usize]);
        let listener = Listener::bind(&NetConfig { workers, ..NetConfig::from_settings() });
        let listener = listener.map_err(|error| failed(&error))?;
        let card = listener.card();
        Ok(Some(Box::new(Listening { listener: Some(listener), card, partners: party.partners.to_vec() })))
    }
}

impl Offer for Listening {
    fn words(&self) -> Vec<String> {
        self.card.words()
    }

    fn asks(&self) -> Vec<Node> {
        self.partners.clone()
    }

    fn open(
        &mut self,
        party: &Party<'_>,
        words: &[(Node, Vec<String>)],
        secret: Option<&[u8; 32]>,
    ) -> Result<(Box<dyn Device>, Vec<Node>)> {
        let listener = self.listener.take().ok_or_else(|| failed(&"its device is open already"))?;
        let secret = secret.ok_or_else(|| failed(&"there is no secret to prove; install weft again"))?;
        // Who is reached another way takes no part; but in a job's first meeting those of this host run on its cores.
        let own = &party.members[party.own as usize];
        let here = Machine::here(0);
        let silent = |member: &Member| {
            let machine = match member.host == own.host && !party.is_further {
                true => Machine { workers: workers(member), ..here },
                false => Machine { id: !here.id, workers: 0 },
            };
            Card { addresses: Vec::<SocketAddr>::new(), machine: Some(machine) }
        };
        let mut book: Vec<Card> = party.members.iter().map(silent).collect();
        for (node, words) in words {
            let card = Card::read(words.iter().map(String::as_str));
            book[*node as usize] =
                card.map_err(|what| failed(&format_args!("node process {node}: {what}")))?;
        }
        book[party.own as usize] = self.card.clone();
        let device = listener.join(party.own, book, *secret).map_err(|error| failed(&error))?;
        Ok((Box::new(device), (0..party.members.len() as Node).collect()))
    }
}
