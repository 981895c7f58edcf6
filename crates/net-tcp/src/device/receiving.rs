//! Receiving from a peer, and delivering what has arrived.
#![allow(unsafe_code)] // Receives into memory that handlers give by address.

use super::{SCRATCH, TcpDevice};
use crate::frame::{Frame, Kind, take};
use crate::lane::Lane;
use crate::link::{Incoming, Link, Placing, STREAM, Stage, Then};
use core::sync::atomic::Ordering;
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::time::Timespec;
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use weft_transport::{Arriving, Handler, Node, Placement};

/// How many times a poll receives from one connection.
const ROUNDS: usize = 16;
/// How far past the next header who has received a long payload receives at most.
const AHEAD: usize = 8 << 10;
/// A short message of a rank is gathered below this length, and goes to its place in parts from there on.
const WHOLE: u64 = 4 << 10;

/// Why nothing is received.
enum Stop {
    /// There is nothing now.
    Empty,
    /// There will be nothing any more.
    Closed(String),
    /// What there was is none of the protocol.
    Fault(String),
}

impl TcpDevice {
    /// Receives from a peer as much as there is, up to a bound. Returns whether there was anything.
    pub(super) fn receive(&self, node: Node, lane: Lane, handler: &dyn Handler) -> bool {
        let link = self.link(node, lane);
        let (Some(socket), Some(mut incoming)) = (link.socket.get(), link.incoming.try_lock()) else {
            return false;
        };
        if incoming.closed || link.is_quiet() {
            return false;
        }
        let mut scratch = self.scratches.lock().pop().unwrap_or_else(|| vec![0; SCRATCH].into_boxed_slice());
        let mut moved = false;
        for _ in 0..ROUNDS {
            match self.receive_once(node, socket, &mut incoming, &mut scratch, handler) {
                Ok(more) => {
                    moved = true;
                    if !more {
                        break;
                    }
                }
                Err(Stop::Empty) => break,
                Err(Stop::Closed(why)) => {
                    moved = true;
                    self.hang_up(node, lane, link, &mut incoming, why);
                    break;
                }
                Err(Stop::Fault(why)) => {
                    moved = true;
                    self.hang_up(node, lane, link, &mut incoming, why.clone());
                    self.lose(node, why);
                    break;
                }
            }
        }
        self.scratches.lock().push(scratch);
        let left = incoming.placing.as_ref().map_or(0, |placing| placing.left);
        if left > 0 {
            // Who asks for the rest again and again keeps the socket from taking it: 256 KiB took a third longer.
            self.streak.store(0, Ordering::Relaxed);
        }
        link.expect(socket.as_fd(), &mut incoming, left);
        self.note_stream(&link.is_streaming, left >= STREAM);
        moved
    }

    /// Receives once. Returns whether there may be more.
    fn receive_once(
        &self,
        node: Node,
        socket: &OwnedFd,
        incoming: &mut Incoming,
        scratch: &mut [u8],
        handler: &dyn Handler,
    ) -> Result<bool, Stop> {
        let (direct, kept) = match &incoming.placing {
            // Bytes that there is no room for come into the scratch, and are dropped.
            Some(placing) => (placing.room.min(1 << 30) as usize, 0),
            None => (0, incoming.kept.len()),
        };
        scratch[..kept].copy_from_slice(&incoming.kept);
        // What comes after a long message is long, mostly: its header is to come, and not all its data.
        let end = if incoming.is_long { kept + AHEAD } else { scratch.len() };
        let more = &mut scratch[kept..end];
        let asked = direct + more.len();
        let received = if direct > 0 {
            let address = incoming.placing.as_ref().map_or(core::ptr::null_mut(), |placing| placing.address);
            // SAFETY: there is room for as much, and the memory is the device's until it tells the handler.
            let target = unsafe { core::slice::from_raw_parts_mut(address, direct) };
            rustix::io::readv(socket, &mut [IoSliceMut::new(target), IoSliceMut::new(more)])
        } else {
            // Shorter in the kernel than a read.
            rustix::net::recv(socket, more, RecvFlags::DONTWAIT).map(|(received, _)| received)
        };
        let received = match received {
            Ok(0) => return Err(Stop::Closed("it has closed the connection: its process has ended".into())),
            Ok(received) => received,
            Err(Errno::AGAIN | Errno::INTR) => return Err(Stop::Empty),
            Err(error) => return Err(Stop::Closed(error.to_string())),
        };
        incoming.kept.clear();
        let placed = received.min(direct);
        if let Some(placing) = &mut incoming.placing {
            placing.note(placed as u64);
        }
        let input = &scratch[..kept + received - placed];
        self.deliver(node, incoming, input, handler).map_err(Stop::Fault)?;
        Ok(received == asked)
    }

    /// Delivers what has arrived.
    fn deliver(
        &self,
        from: Node,
        incoming: &mut Incoming,
        mut input: &[u8],
        handler: &dyn Handler,
    ) -> Result<(), String> {
        loop {
            while let Some(placing) = &mut incoming.placing {
                input = placing.take(input);
                if placing.left > 0 {
                    return Ok(());
                }
                let (then, channel) = (placing.then, placing.channel);
                incoming.placing = None;
                incoming.end();
                match then {
                    Then::Forget => incoming.messages += 1,
                    Then::Tell(token) => {
                        incoming.messages += 1;
                        handler.placed(from, channel, token);
                    }
                    Then::Deliver => {
                        let (header, present) = incoming.gathered.message();
                        let bytes = present.len() as u64;
                        let message = Arriving { from, channel, header, bytes, present };
                        let mut placing = place(handler, message);
                        placing.take(present);
                        incoming.placing = Some(placing);
                    }
                }
            }
            let eager = self.config.eager as u64;
            let frame = take(&mut input, eager)
                .map_err(|what| format!("it has sent a malformed frame ({what:?})"))?;
            let Some(Frame { kind, channel, header, bytes, present }) = frame else {
                incoming.kept.extend_from_slice(input);
                return Ok(());
            };
            if incoming.ended {
                return Err("it has sent something after its end".into());
            }
            if kind == Kind::End {
                incoming.ended = true;
                self.peers[from as usize].ended.store(true, Ordering::Release);
                continue;
            }
            incoming.begin(bytes);
            let is_part = (present.len() as u64) < bytes;
            let wants_all = !channel.comes_in_parts() || bytes < WHOLE;
            let mut placing = if is_part && kind == Kind::Short && wants_all {
                incoming.gathered.begin(channel, header, bytes)
            } else {
                place(handler, Arriving { from, channel, header, bytes, present })
            };
            placing.take(present);
            incoming.placing = Some(placing);
        }
    }

    /// Ends the use of a connection that brings nothing any more.
    fn hang_up(&self, node: Node, lane: Lane, link: &Link, incoming: &mut Incoming, why: String) {
        incoming.closed = true;
        self.note_stream(&link.is_streaming, false);
        self.note_stream(&link.is_blocked, false);
        self.watch_no_more(node, lane, link);
        let ended = incoming.ended || self.peers[node as usize].ended.load(Ordering::Acquire);
        let (broken, waits) = {
            let mut out = link.out.lock();
            let left = out.stage == Stage::Ended;
            out.stage = Stage::Ended;
            // Copies that are still here are for nobody: who has ended in order has received all that it waited for.
            (out.broken, !left && out.has_started())
        };
        if !ended || incoming.placing.is_some() || waits {
            self.lose(node, broken.map_or(why, |error| error.to_string()));
        }
    }

    /// Tells whether the kernel has something that nobody has looked at.
    pub(super) fn is_ready(&self) -> bool {
        self.watch_all();
        let mut space = [MaybeUninit::<epoll::Event>::uninit(); 1];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        epoll::wait(&self.epoll, &mut space[..], Some(&now)).is_ok_and(|(events, _)| !events.is_empty())
    }
}

/// Asks the handler where a message goes.
fn place(handler: &dyn Handler, message: Arriving<'_>) -> Placing {
    let (left, channel) = (message.bytes, message.channel);
    match handler.arrive(message) {
        Placement::Taken | Placement::Served => {
            Placing { channel, address: core::ptr::null_mut(), room: 0, left, then: Then::Forget }
        }
        Placement::Memory { address, capacity, token } => {
            Placing { channel, address, room: capacity, left, then: Then::Tell(token) }
        }
    }
}
