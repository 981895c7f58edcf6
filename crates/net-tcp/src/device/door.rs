//! Connections before they carry messages: dialling, accepting, and the handshake on both sides.
//!
//! Whoever has something to send first dials. When both sides dial at once, the connection that the process with the lower
//! number has dialled stays: that one refuses the other's as *crossed*, and who is refused so waits for it. All others are
//! taken, and after its proof a process knows which connection it is.
//!
//! Strangers may connect as often as they like: so many unproven connections are kept at most, the oldest goes first, each
//! for a few seconds, and a poll accepts but a few.

use crate::device::TcpDevice;
use crate::lane::{Connection, Lane};
use crate::link::Stage;
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};
use weft_base::say;
use weft_handshake::{Acceptor, CHALLENGE, Dialler, HELLO, PROOF, Refused};
use weft_transport::Node;

/// How many connections that have proved nothing are kept.
const STRANGERS: usize = 64;
/// How many are accepted at once.
const BURST: usize = 16;
/// How long a handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(4);
/// How long is dialled in all, before a peer is lost.
const DIALLING: Duration = Duration::from_secs(20);
/// How many times all of a peer's addresses may refuse.
const REFUSALS: u32 = 6;

/// The acceptor's last word.
const TAKEN: u8 = 1;
const CROSSED: u8 = 2;
const GONE: u8 = 3;
const ENDED: u8 = 4;

/// What is known of an attempt to reach a peer.
#[derive(Clone, Copy)]
struct Dial {
    connection: Connection,
    attempt: u32,
    until: Instant,
}

enum Role {
    Connecting(Dial),
    Dialled(Dial, Dialler),
    Awaiting(Dial),
    Accepted,
    Challenged(Acceptor),
}

impl Role {
    fn needs(&self) -> usize {
        match self {
            Self::Connecting(_) => 0,
            Self::Dialled(..) => CHALLENGE,
            Self::Awaiting(_) => 1,
            Self::Accepted => HELLO,
            Self::Challenged(_) => PROOF,
        }
    }

    fn dial(&self) -> Option<Dial> {
        match self {
            Self::Connecting(dial) | Self::Dialled(dial, _) | Self::Awaiting(dial) => Some(*dial),
            _ => None,
        }
    }
}

/// A connection whose handshake is not over.
struct Half {
    socket: OwnedFd,
    address: Option<SocketAddr>,
    role: Role,
    input: Vec<u8>,
    until: Instant,
}

/// All that happens before connections carry messages.
#[derive(Default)]
pub struct Door {
    halves: BTreeMap<u32, Half>,
    next: u32,
    again: Vec<(Instant, Dial)>,
    refused: u64,
    /// Nobody is let in any more.
    is_closed: bool,
}

/// What a step of a handshake has come to.
enum Step {
    /// There is more to come.
    Wait,
    /// The connection is over.
    Close(String),
    /// It is settled.
    Over,
}

impl Door {
    /// Tells whether something goes on that has a time limit.
    pub fn is_busy(&self) -> bool {
        !self.halves.is_empty() || !self.again.is_empty()
    }

    /// Lets nobody in any more, because this process ends. Returns whether it was so before. As the door is held while somebody
    /// is let in, a connection that is settled is open by now.
    pub fn close(&mut self) -> bool {
        core::mem::replace(&mut self.is_closed, true)
    }

    /// Begins to dial.
    pub fn dial(&mut self, device: &TcpDevice, to: Node, lane: Lane) {
        let connection = Connection { from: device.number(), to, lane };
        self.attempt(device, Dial { connection, attempt: 0, until: Instant::now() + DIALLING });
    }

    fn attempt(&mut self, device: &TcpDevice, dial: Dial) {
        if device.link(dial.connection.to, dial.connection.lane).out.lock().stage != Stage::Dialling {
            // The peer was faster, or is lost.
            return;
        }
        let Some(address) = device.address_of(dial.connection.to, dial.connection.lane, dial.attempt) else {
            return device.lose(dial.connection.to, "it has no address".into());
        };
        match connect(address, device.congestion()) {
            Ok(socket) => {
                let until = Instant::now() + CONNECT;
                self.add(
                    device,
                    Half {
                        socket,
                        address: Some(address),
                        role: Role::Connecting(dial),
                        input: Vec::new(),
                        until,
                    },
                    epoll::EventFlags::OUT,
                );
            }
            Err(error) => self.fail(device, dial, &error.to_string(), error == Errno::CONNREFUSED),
        }
    }

    /// Tries again later, or gives up.
    fn fail(&mut self, device: &TcpDevice, dial: Dial, why: &str, refused: bool) {
        let count = device.addresses_of(dial.connection.to).len().max(1) as u32;
        let (now, attempt) = (Instant::now(), dial.attempt + 1);
        if now >= dial.until || (refused && attempt >= count * REFUSALS) {
            let address = device.address_of(dial.connection.to, dial.connection.lane, dial.attempt);
            let address = address.map_or_else(String::new, |address| format!(" at {address}"));
            return device.lose(dial.connection.to, format!("cannot be reached{address}: {why}"));
        }
        // All addresses one after the other, then a pause.
        let pause = if attempt % count == 0 { 20 * u64::from((attempt / count).min(25)) } else { 0 };
        self.again.push((now + Duration::from_millis(pause), Dial { attempt, ..dial }));
    }

    fn add(&mut self, device: &TcpDevice, half: Half, flags: epoll::EventFlags) {
        let number = self.next;
        self.next = self.next.wrapping_add(1) % (1 << 30);
        if epoll::add(device.epoll(), &half.socket, device.half_data(number), flags).is_ok() {
            self.halves.insert(number, half);
        }
    }

    /// Lets those in who knock.
    pub fn accept(&mut self, device: &TcpDevice, listener: &TcpListener) -> bool {
        let mut moved = false;
        for _ in 0..BURST {
            // Not through libc, which would change the `errno` of the rank that polls.
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let Ok((socket, address)) = rustix::net::acceptfrom_with(listener, flags) else { break };
            let address = address.and_then(|address| SocketAddr::try_from(address).ok());
            moved = true;
            let strangers = |(_, half): &(&u32, &Half)| half.role.dial().is_none();
            if self.halves.iter().filter(strangers).count() >= STRANGERS {
                let oldest = self.halves.iter().find(strangers).map(|(&number, _)| number);
                oldest.map(|number| self.halves.remove(&number));
                self.report(device, None, "too many connections that prove nothing");
            }
            let until = Instant::now() + HANDSHAKE;
            let half = Half { socket, address, role: Role::Accepted, input: Vec::new(), until };
            self.add(device, half, epoll::EventFlags::IN);
        }
        moved
    }

    /// Says that somebody was refused: the first time, and when that has happened often.
    fn report(&mut self, device: &TcpDevice, address: Option<SocketAddr>, why: &str) {
        self.refused += 1;
        if self.refused.is_power_of_two() && (self.refused == 1 || self.refused >= 1024) {
            let who = address.map_or_else(|| "somebody".into(), |address| address.to_string());
            say!(
                "weft: node process {} has refused a connection of {who}: {why} ({} so far)",
                device.number(),
                self.refused
            );
        }
    }

    /// Returns how many connections were refused.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Ends what takes too long, and dials again what is due.
    pub fn tend(&mut self, device: &TcpDevice) -> bool {
        let now = Instant::now();
        let late: Vec<u32> =
            self.halves.iter().filter(|(_, half)| half.until <= now).map(|(&number, _)| number).collect();
        let mut moved = !late.is_empty();
        for number in late {
            let half = self.halves.remove(&number).expect("found above");
            self.turn_away(device, half, "it does not answer");
        }
        for (when, dial) in core::mem::take(&mut self.again) {
            if when <= now {
                moved = true;
                self.attempt(device, dial);
            } else {
                self.again.push((when, dial));
            }
        }
        moved
    }

    fn turn_away(&mut self, device: &TcpDevice, half: Half, why: &str) {
        match half.role.dial() {
            Some(dial) => self.fail(device, dial, why, false),
            None => self.report(device, half.address, why),
        }
    }

    /// Goes on with a handshake.
    pub fn go_on(&mut self, device: &TcpDevice, number: u32) -> bool {
        let Some(mut half) = self.halves.remove(&number) else { return false };
        loop {
            if let Role::Connecting(dial) = half.role {
                let error = match sockopt::socket_error(&half.socket) {
                    Ok(Ok(())) => None,
                    Ok(Err(error)) | Err(error) => Some(error),
                };
                if let Some(error) = error {
                    self.fail(device, dial, &error.to_string(), error == Errno::CONNREFUSED);
                    return true;
                }
                let (dialler, hello) = Dialler::new(dial.connection.claim(), device.nonce());
                half.role = Role::Dialled(dial, dialler);
                half.until = Instant::now() + HANDSHAKE;
                let data = device.half_data(number);
                let watched = epoll::modify(device.epoll(), &half.socket, data, epoll::EventFlags::IN);
                if watched.is_err() || !say(&half.socket, &hello) {
                    self.turn_away(device, half, "it has closed the connection");
                    return true;
                }
            }
            let needs = half.role.needs();
            let mut space = [0; CHALLENGE];
            let wanted = &mut space[..needs - half.input.len()];
            match rustix::net::recv(&half.socket, wanted, RecvFlags::DONTWAIT) {
                Ok((0, _)) => {
                    self.turn_away(device, half, "it has closed the connection before it was let in");
                    return true;
                }
                Ok((count, _)) => half.input.extend_from_slice(&space[..count]),
                Err(Errno::AGAIN | Errno::INTR) => {
                    self.halves.insert(number, half);
                    return true;
                }
                Err(error) => {
                    self.turn_away(device, half, &error.to_string());
                    return true;
                }
            }
            if half.input.len() < needs {
                continue;
            }
            let input = core::mem::take(&mut half.input);
            match self.step(device, &mut half, &input) {
                Step::Wait => {}
                Step::Close(why) => {
                    self.turn_away(device, half, &why);
                    return true;
                }
                Step::Over => {
                    if let Some(connection) = self.settled(device, &half, &input) {
                        device.open(connection, half.socket);
                    }
                    return true;
                }
            }
        }
    }

    /// Answers a message of a handshake.
    fn step(&mut self, device: &TcpDevice, half: &mut Half, input: &[u8]) -> Step {
        let refused = |refused: Refused| Step::Close(refused.to_string());
        let gone = || Step::Close("it has closed the connection".into());
        match &half.role {
            Role::Connecting(_) => Step::Wait,
            Role::Accepted => {
                let hello = input.try_into().expect("as long as needed");
                let expected = Connection::expected(device.number(), device.count());
                match Acceptor::new(device.secret(), expected, hello, device.nonce()) {
                    Err(why) => refused(why),
                    Ok((acceptor, challenge)) => {
                        half.role = Role::Challenged(acceptor);
                        if say(&half.socket, &challenge) { Step::Wait } else { gone() }
                    }
                }
            }
            Role::Dialled(dial, dialler) => {
                match dialler.prove(device.secret(), input.try_into().expect("as long as needed")) {
                    Err(why) => refused(why),
                    Ok(proof) => {
                        half.role = Role::Awaiting(*dial);
                        if say(&half.socket, &proof) { Step::Wait } else { gone() }
                    }
                }
            }
            Role::Awaiting(_) => Step::Over,
            Role::Challenged(acceptor) => {
                match acceptor.check(device.secret(), input.try_into().expect("as long as needed")) {
                    Err(why) => refused(why),
                    Ok(_) => Step::Over,
                }
            }
        }
    }

    /// Says, or hears, what becomes of a connection whose sides trust each other. Returns whose it is if it stays.
    fn settled(&mut self, device: &TcpDevice, half: &Half, input: &[u8]) -> Option<Connection> {
        match &half.role {
            Role::Awaiting(dial) => match input[0] {
                TAKEN => return Some(dial.connection),
                CROSSED => {
                    // The other one comes; should it not, this one is tried again.
                    let again = Dial { until: Instant::now() + DIALLING, ..*dial };
                    self.again.push((Instant::now() + Duration::from_millis(200), again));
                }
                verdict => device.end_of(dial.connection, verdict == ENDED),
            },
            Role::Challenged(acceptor) => {
                let connection = Connection::of(acceptor.connection())?;
                let verdict = {
                    let mut out = device.link(connection.from, connection.lane).out.lock();
                    match out.stage {
                        _ if device.is_lost(connection.from) => GONE,
                        _ if self.is_closed => ENDED,
                        Stage::Dialling if device.number() < connection.from => CROSSED,
                        Stage::Absent | Stage::Dialling => {
                            // Nobody dials any more.
                            out.stage = Stage::Settled;
                            TAKEN
                        }
                        _ => GONE,
                    }
                };
                if verdict == TAKEN {
                    if say(&half.socket, &[TAKEN]) {
                        return Some(connection);
                    }
                    device.link(connection.from, connection.lane).out.lock().stage = Stage::Dialling;
                    self.dial(device, connection.from, connection.lane);
                } else {
                    say(&half.socket, &[verdict]);
                }
            }
            _ => {}
        }
        None
    }
}

/// Sends a few bytes on a connection that has room for them.
fn say(socket: &OwnedFd, bytes: &[u8]) -> bool {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    rustix::net::send(socket, bytes, flags) == Ok(bytes.len())
}

/// Begins to connect.
fn connect(address: SocketAddr, congestion: Option<&str>) -> Result<OwnedFd, Errno> {
    let family = match address {
        SocketAddr::V4(_) => rustix::net::AddressFamily::INET,
        SocketAddr::V6(_) => rustix::net::AddressFamily::INET6,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    if let Some(congestion) = congestion {
        // The listeners have it.
        sockopt::set_tcp_congestion(&socket, congestion)?;
    }
    match rustix::net::connect(socket.as_fd(), &address) {
        Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => Ok(socket),
        Err(error) => Err(error),
    }
}
