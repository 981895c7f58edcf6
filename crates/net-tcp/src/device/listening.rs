//! Before there is a device: where a node process listens, until it knows its peers.

use super::watching::NONE;
use super::{BELL, LISTENER, Peer, TcpDevice};
use crate::card::{self, Card, Machine};
use crate::config::{NetConfig, roads};
use crate::congestion;
use crate::lane::FURTHER;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use rustix::event::{EventfdFlags, epoll, eventfd};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::OnceLock;
use weft_handshake::Secret;
use weft_machine::interfaces::{common_prefix, networks};
use weft_sync::{CachePadded, Lock};
use weft_transport::Node;

/// Waits for peers, before it is known who they are.
pub struct Listener {
    listeners: Vec<TcpListener>,
    addresses: Vec<SocketAddr>,
    config: NetConfig,
}

/// Listens at an address, on a port that the kernel chooses. Returns, too, how connections are to avoid congestion.
fn listen(address: IpAddr, config: &NetConfig) -> io::Result<(TcpListener, Option<String>)> {
    let listener = TcpListener::bind((address, 0))?;
    listener.set_nonblocking(true)?;
    let congestion = congestion::choose(&listener, config.congestion.as_deref())?;
    Ok((listener, congestion))
}

impl Listener {
    /// Listens on the chosen interfaces.
    ///
    /// # Errors
    /// Says which interfaces there are if none is chosen, or what the kernel says.
    pub fn bind(config: &NetConfig) -> io::Result<Self> {
        let chosen = config.interfaces.addresses()?;
        let (mut listeners, mut config) = (Vec::new(), config.clone());
        let mut failure = None;
        for address in chosen {
            match listen(address, &config) {
                Ok((listener, congestion)) => {
                    listeners.push(listener);
                    config.congestion = congestion;
                }
                Err(error) => failure = Some(io::Error::new(error.kind(), format!("{address}: {error}"))),
            }
        }
        if let (true, Some(error)) = (listeners.is_empty(), failure) {
            return Err(error);
        }
        let addresses = listeners.iter().map(TcpListener::local_addr).collect::<io::Result<_>>()?;
        Ok(Self { listeners, addresses, config })
    }

    /// Returns what peers must know.
    pub fn card(&self) -> Card {
        Card { addresses: self.addresses.clone(), machine: Some(Machine::here(self.config.workers)) }
    }

    /// Becomes the device of process `node`, given the cards of all by number, and what all of them know. The own card, and
    /// those of processes that are reached another way, may be empty.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn join(self, node: Node, book: Vec<Card>, secret: Secret) -> io::Result<TcpDevice> {
        let stripes = self.config.stripes;
        let is_crowded = card::is_crowded(self.config.workers, &book);
        let own: Vec<IpAddr> = self.addresses.iter().map(SocketAddr::ip).collect();
        let distance = |address: &SocketAddr| {
            let common = |&own: &IpAddr| common_prefix(own, address.ip()).unwrap_or(0);
            u32::MAX - own.iter().map(common).max().unwrap_or(0)
        };
        let networks = networks(&own)?;
        let peer = |mut addresses: Vec<SocketAddr>| {
            // Those of a network that both are in first.
            addresses.sort_by_key(distance);
            let places: Vec<IpAddr> = addresses.iter().map(SocketAddr::ip).collect();
            let roads: Box<[usize]> = roads(&networks, &places).into();
            let stripes = match stripes {
                0 => roads.len() as u32,
                set => set,
            };
            CachePadded(Peer {
                addresses,
                roads,
                stripes: stripes.min(FURTHER as u32 + 1),
                links: Default::default(),
                further: OnceLock::new(),
                lost: OnceLock::new(),
                ended: AtomicBool::new(false),
            })
        };
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &bell, epoll::EventData::new_u64(BELL), epoll::EventFlags::IN)?;
        for (index, listener) in self.listeners.iter().enumerate() {
            let data = epoll::EventData::new_u64(LISTENER | index as u64);
            epoll::add(&epoll, listener, data, epoll::EventFlags::IN)?;
        }
        Ok(TcpDevice {
            node,
            config: self.config,
            secret,
            peers: book.into_iter().map(|card| peer(card.addresses)).collect(),
            listeners: self.listeners,
            epoll,
            bell,
            door: Lock::default(),
            wanted: Lock::default(),
            done: Lock::default(),
            losses: Lock::default(),
            reports: Lock::default(),
            pending: AtomicU32::new(0),
            door_busy: AtomicBool::new(false),
            recent: core::array::from_fn(|_| AtomicU32::new(u32::MAX)),
            streak: AtomicU32::new(0),
            looked: AtomicU64::new(0),
            ticks: AtomicU32::new(0),
            apart: AtomicU32::new(NONE),
            turn: Lock::default(),
            streams: AtomicU32::new(0),
            is_crowded,
            scratches: Lock::default(),
            sleepers: Lock::new(0),
            is_leaving: AtomicBool::new(false),
            has_rung: AtomicBool::new(false),
            has_unread: AtomicBool::new(false),
            sleeping: AtomicU32::new(0),
        })
    }
}
