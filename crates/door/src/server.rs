//! The door of a process: its sockets and the thread that reads from them.

use crate::frames::{Frames, frame};
use crate::knock::{Knock, STRANGERS, Step, listen};
use crate::limit::{Limits, Waiting};
use crate::line::{Inbox, Line};
use crate::socket::Socket;
use crate::token::{ID, Token};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{SocketAddr as NetAddress, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use weft_base::say;
use weft_handshake::Secret;
use weft_sched::WaitSet;
use weft_sync::Lock;
use weft_sys::local_socket::{self, own_user, user_of, wait_readable};
use weft_sys::process::spawn_apart;

/// Kinds of wishes.
pub(crate) const PORT: u8 = b'p';
pub(crate) const TICKET: u8 = b't';

/// Who has connected to a port and not been received.
struct Queue {
    secret: Secret,
    lines: Lock<VecDeque<Line>>,
    is_closed: AtomicBool,
    waiting: WaitSet,
}

impl Waiting for Queue {
    fn set(&self) -> &WaitSet {
        &self.waiting
    }
}

/// Where ranks wait for others to connect. Its end refuses those who wait, and all who come.
pub struct Port {
    token: Token,
    queue: Arc<Queue>,
    addresses: Vec<NetAddress>,
    limits: Arc<Limits>,
}

/// A descriptor that is handed out to whoever shows the token; not any more once this is dropped.
pub struct Ticket {
    token: String,
}

/// Why a name cannot be published.
#[derive(Debug)]
pub enum NameRefused {
    /// Somebody has published it.
    Taken,
    /// A system call failed.
    System(io::Error),
}

#[derive(Default)]
struct State {
    ports: HashMap<[u8; ID], Arc<Queue>>,
    /// Where ports can be reached from other hosts, as long as there are any.
    nets: Vec<(Arc<TcpListener>, NetAddress)>,
    tickets: HashMap<String, Arc<OwnedFd>>,
    names: HashMap<String, (Arc<UnixListener>, String)>,
    /// Sockets to be read from that the thread does not know yet.
    fresh: Vec<Caller>,
}

/// The door of this process.
pub struct Door {
    name: String,
    listener: UnixListener,
    state: Lock<State>,
    /// Its bell makes the thread look at `state` again.
    limits: Arc<Limits>,
}

/// Somebody at the door.
struct Caller {
    socket: Socket,
    frames: Frames,
    /// It comes from another host and has proved nothing yet.
    knock: Option<Knock>,
    /// Where messages go, once it is known what is wanted.
    inbox: Option<Arc<Inbox>>,
    /// The name at whose socket it has come; the door's own if that is none.
    asks_for_name: bool,
}

fn token() -> io::Result<String> {
    Ok(local_socket::random()?.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Returns the address of the socket for a published name. A long one is cut; who asks says the whole name.
pub(crate) fn name_address(service: &str) -> io::Result<SocketAddr> {
    let mut name = format!("weft-name-{}-", own_user()).into_bytes();
    name.extend_from_slice(service.as_bytes());
    // A hash keeps apart what is equal up to the cut.
    if name.len() > 100 {
        let hash = service
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
        name.truncate(80);
        name.extend_from_slice(format!("{hash:016x}").as_bytes());
    }
    SocketAddr::from_abstract_name(name)
}

static DOOR: OnceLock<&'static Door> = OnceLock::new();
/// Held by who opens or closes a port: the system is asked which interfaces there are, and that not under the door's lock.
static OPENING: Mutex<()> = Mutex::new(());

/// Returns the door of this process; the first call opens it.
///
/// # Errors
/// What the kernel says.
pub fn door() -> io::Result<&'static Door> {
    let _alone = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(door) = DOOR.get() {
        return Ok(door);
    }
    let name = format!("weft-door-{}", token()?);
    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
    let door: &'static Door = Box::leak(Box::new(Door {
        name,
        listener,
        state: Lock::default(),
        limits: Arc::new(Limits::new()?),
    }));
    spawn_apart("weft-door", 256 << 10, || door.serve())?;
    Ok(DOOR.get_or_init(|| door))
}

impl Door {
    /// Returns the name under which other processes find it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes a port.
    ///
    /// # Errors
    /// What the kernel says. That there is no network to listen on is none.
    pub fn open_port(&'static self) -> io::Result<Port> {
        let token = Token::draw()?;
        let queue = Arc::new(Queue {
            secret: token.secret,
            lines: Lock::default(),
            is_closed: AtomicBool::new(false),
            waiting: WaitSet::new(),
        });
        let _alone = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = if self.state.lock().ports.is_empty() { Some(listen()) } else { None };
        let addresses = {
            let mut state = self.state.lock();
            if let Some(fresh) = fresh {
                state.nets = fresh.into_iter().map(|(listener, at)| (Arc::new(listener), at)).collect();
            }
            state.ports.insert(token.id, queue.clone());
            state.nets.iter().map(|(_, at)| *at).collect()
        };
        self.limits.ring();
        Ok(Port { token, queue, addresses, limits: self.limits.clone() })
    }

    /// Makes a ticket for a descriptor.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn offer(&'static self, descriptor: OwnedFd) -> io::Result<Ticket> {
        let token = token()?;
        self.state.lock().tickets.insert(token.clone(), Arc::new(descriptor));
        Ok(Ticket { token })
    }

    /// Publishes a name for a port.
    ///
    /// # Errors
    /// That the name is taken, or what the kernel says.
    pub fn publish(&self, service: &str, port: &str) -> Result<(), NameRefused> {
        let bound = name_address(service).and_then(|address| UnixListener::bind_addr(&address));
        let listener = bound.map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => NameRefused::Taken,
            _ => NameRefused::System(error),
        })?;
        self.state.lock().names.insert(service.into(), (Arc::new(listener), port.into()));
        self.limits.ring();
        Ok(())
    }

    /// Takes a name back. Returns whether this process had published it.
    pub fn unpublish(&self, service: &str) -> bool {
        let removed = self.state.lock().names.remove(service);
        self.limits.ring();
        // The thread may be looking at its socket, which is closed when it has looked: the name is free only then.
        let Some((listener, _)) = removed else { return false };
        while Arc::strong_count(&listener) > 1 {
            std::thread::yield_now();
        }
        true
    }

    /// Reads from a socket from now on.
    pub(crate) fn read_from(&self, socket: Socket, secret: Secret) -> io::Result<Line> {
        let inbox = Inbox::new();
        let reader = socket.try_clone()?;
        let caller = Caller {
            socket: reader,
            frames: Frames::default(),
            knock: None,
            inbox: Some(inbox.clone()),
            asks_for_name: false,
        };
        self.state.lock().fresh.push(caller);
        self.limits.ring();
        Ok(Line::new(socket, inbox, secret, self.limits.clone()))
    }

    fn serve(&self) {
        let mut callers: Vec<Caller> = Vec::new();
        let mut refused = Refused::default();
        loop {
            let now = Instant::now();
            let (over, next_limit) = self.limits.take_over(now);
            let (names, nets) = {
                let mut state = self.state.lock();
                callers.append(&mut state.fresh);
                let names: Vec<Arc<UnixListener>> =
                    state.names.values().map(|(listener, _)| listener.clone()).collect();
                let nets: Vec<Arc<TcpListener>> =
                    state.nets.iter().map(|(listener, _)| listener.clone()).collect();
                (names, nets)
            };
            over.iter().for_each(|limit| limit.pass());
            callers.retain(|caller| {
                let is_late = caller.knock.as_ref().is_some_and(|knock| knock.until <= now);
                if is_late {
                    refused.count("it does not answer");
                }
                !is_late
            });
            let deadlines = callers.iter().filter_map(|caller| caller.knock.as_ref()).map(|k| k.until);
            let deadline = deadlines.chain(next_limit).min();
            let fixed = [self.limits.bell(), self.listener.as_fd()];
            let sources: Vec<BorrowedFd<'_>> = fixed
                .into_iter()
                .chain(names.iter().map(|listener| listener.as_fd()))
                .chain(nets.iter().map(|listener| listener.as_fd()))
                .chain(callers.iter().map(|caller| caller.socket.as_fd()))
                .collect();
            let ready = wait_readable(&sources, deadline.map(|at| at.saturating_duration_since(now)));
            drop(sources);
            let (ready, of_callers) = ready.split_at(2 + names.len() + nets.len());
            let mut of_callers = of_callers.iter();
            callers.retain_mut(|caller| {
                !of_callers.next().is_some_and(|&ready| ready) || self.hear(caller, &mut refused)
            });
            if ready[0] {
                let _ = local_socket::read_now(self.limits.bell(), &mut [0; 256]);
            }
            let (of_local, of_nets) = ready[1..].split_at(1 + names.len());
            let listeners = [(&self.listener, false)].into_iter();
            let listeners = listeners.chain(names.iter().map(|listener| (&**listener, true)));
            for ((listener, asks_for_name), _) in listeners.zip(of_local).filter(|(_, ready)| **ready) {
                if let Ok((socket, _)) = listener.accept()
                    && user_of(socket.as_fd()).is_ok_and(|user| user == own_user())
                {
                    let (socket, frames) = (Socket::Local(socket), Frames::default());
                    callers.push(Caller { socket, frames, knock: None, inbox: None, asks_for_name });
                }
            }
            for (listener, _) in nets.iter().zip(of_nets).filter(|(_, ready)| **ready) {
                let Ok(socket) = Socket::accept(listener) else { continue };
                let is_stranger = |caller: &Caller| caller.knock.is_some();
                if callers.iter().filter(|caller| is_stranger(caller)).count() >= STRANGERS
                    && let Some(oldest) = callers.iter().position(is_stranger)
                {
                    callers.remove(oldest);
                    refused.count("too many connections that prove nothing");
                }
                let (knock, frames) = (Some(Knock::new()), Frames::default());
                callers.push(Caller { socket, frames, knock, inbox: None, asks_for_name: false });
            }
        }
    }

    /// Hears somebody who comes from another host and has proved nothing yet. Returns whether it may say more.
    fn hear_knock(&self, caller: &mut Caller, refused: &mut Refused) -> bool {
        let Some(knock) = &mut caller.knock else { return true };
        let find = |id: &[u8; ID]| self.state.lock().ports.get(id).map(|queue| queue.secret);
        match knock.hear(&caller.socket, find) {
            Step::Wait => true,
            Step::Proved(id) => {
                caller.knock = None;
                self.receive(caller, &id)
            }
            Step::Refused(why) => {
                refused.count(&why);
                false
            }
        }
    }

    /// Hands a caller to those who wait at a port. Returns whether there is such a port.
    fn receive(&self, caller: &mut Caller, port: &[u8; ID]) -> bool {
        let queue = self.state.lock().ports.get(port).cloned();
        let (Some(queue), Ok(socket)) = (queue, caller.socket.try_clone()) else { return false };
        let inbox = Inbox::new();
        caller.inbox = Some(inbox.clone());
        queue.lines.lock().push_back(Line::new(socket, inbox, queue.secret, self.limits.clone()));
        queue.waiting.wake_all();
        true
    }

    /// Reads what a caller says. Returns whether to read on.
    fn hear(&self, caller: &mut Caller, refused: &mut Refused) -> bool {
        if caller.knock.is_some() {
            return self.hear_knock(caller, refused);
        }
        let mut buffer = [0; 16384];
        let got = match local_socket::read_now(caller.socket.as_fd(), &mut buffer) {
            Ok(got) => got,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                return true;
            }
            Err(_) => 0,
        };
        caller.frames.push(&buffer[..got]);
        let stays = loop {
            match caller.frames.next() {
                Ok(Some(message)) if caller.inbox.is_some() => {
                    caller.inbox.iter().for_each(|inbox| inbox.put(message.clone()));
                }
                Ok(Some(wish)) => {
                    if !self.grant(caller, &wish) {
                        break false;
                    }
                }
                Ok(None) => break got > 0,
                Err(()) => break false,
            }
        };
        if !stays {
            caller.inbox.iter().for_each(|inbox| inbox.close());
        }
        stays
    }

    /// Does what a caller wants first. Returns whether it may say more.
    fn grant(&self, caller: &mut Caller, wish: &[u8]) -> bool {
        if caller.asks_for_name {
            let service = String::from_utf8_lossy(wish);
            let port = self.state.lock().names.get(&*service).map(|(_, port)| port.clone());
            if let Some(port) = port {
                let _ = caller.socket.send(&frame(port.as_bytes()));
            }
            return false;
        }
        let Some((&kind, token)) = wish.split_first() else { return false };
        let Ok(token) = std::str::from_utf8(token) else { return false };
        match kind {
            TICKET => {
                let descriptor = self.state.lock().tickets.get(token).cloned();
                if let Some(descriptor) = descriptor {
                    let _ = local_socket::send_descriptor(caller.socket.as_fd(), descriptor.as_fd());
                }
                false
            }
            PORT => match Token::read(token) {
                Some(token) => self.receive(caller, &token.id),
                None => false,
            },
            _ => false,
        }
    }
}

/// Counts those who were refused, and says so the first time, and when that has happened often.
#[derive(Default)]
struct Refused(u64);

impl Refused {
    fn count(&mut self, why: &str) {
        self.0 += 1;
        if self.0.is_power_of_two() && (self.0 == 1 || self.0 >= 1024) {
            say!("weft: a connection to a port was refused: {why} ({} so far)", self.0);
        }
    }
}

impl Port {
    /// Returns what others must show at the door.
    pub fn token(&self) -> String {
        self.token.text()
    }

    /// Returns where processes of other hosts find the door.
    pub fn addresses(&self) -> &[NetAddress] {
        &self.addresses
    }

    /// Waits for somebody to connect, perhaps only for so long; nobody will once the port is closed.
    ///
    /// # Errors
    /// `TimedOut` if nobody came in time, `NotConnected` if the port is closed.
    pub fn accept(&self, limit: Option<Duration>) -> io::Result<Line> {
        let until = limit.map(|limit| Instant::now() + limit);
        loop {
            let is_closed = || self.queue.is_closed.load(Ordering::Acquire);
            let has_some = || is_closed() || !self.queue.lines.lock().is_empty();
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let in_time = self.limits.wait_within(&self.queue, left, has_some);
            if is_closed() {
                return Err(io::ErrorKind::NotConnected.into());
            }
            // Another rank may have been faster.
            if let Some(line) = self.queue.lines.lock().pop_front() {
                return Ok(line);
            }
            if !in_time {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }

    /// Ends the waits at the port.
    pub fn close(&self) {
        self.queue.is_closed.store(true, Ordering::Release);
        self.queue.waiting.wake_all();
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        if let Some(door) = DOOR.get() {
            let _alone = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
            {
                let mut state = door.state.lock();
                state.ports.remove(&self.token.id);
                if state.ports.is_empty() {
                    state.nets.clear();
                }
            }
            door.limits.ring();
        }
        self.queue.lines.lock().clear();
    }
}

impl Ticket {
    /// Returns what others must show at the door.
    pub fn token(&self) -> &str {
        &self.token
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(door) = DOOR.get() {
            door.state.lock().tickets.remove(&self.token);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{connect, fetch, look_up};
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn who_connects_is_received_and_both_speak() {
        let door = door().unwrap();
        let port = door.open_port().unwrap();
        let caller = connect(door.name(), &port.token(), &[], b"hello").unwrap();
        let line = port.accept(None).unwrap();
        assert_eq!(line.receive().unwrap(), b"hello");
        line.send(&[7; 100_000]).unwrap();
        assert_eq!(caller.receive().unwrap(), [7; 100_000]);
        drop(line);
        assert!(caller.receive().is_err());
        // Who waits at a port that closes is refused, and so is who comes later; nobody is received any more.
        let waits = connect(door.name(), &port.token(), &[], b"").unwrap();
        std::thread::scope(|scope| {
            let received = scope.spawn(|| port.accept(None).and_then(|_| port.accept(None)).is_err());
            port.close();
            assert!(received.join().unwrap());
        });
        let token = port.token();
        drop(port);
        assert!(waits.receive().is_err());
        assert!(connect(door.name(), &token, &[], b"").and_then(|line| line.receive()).is_err());
        assert!(connect("weft-door-there-is-none", &token, &[], b"").is_err());
    }

    #[test]
    fn waits_end_in_time() {
        let door = door().unwrap();
        let port = door.open_port().unwrap();
        let soon = Some(Duration::from_millis(1));
        let kind = |result: io::Result<()>| result.err().map(|error| error.kind());
        assert_eq!(kind(port.accept(soon).map(drop)), Some(io::ErrorKind::TimedOut));
        let caller = connect(door.name(), &port.token(), &[], b"hello").unwrap();
        assert_eq!(kind(caller.receive_within(soon).map(drop)), Some(io::ErrorKind::TimedOut));
        // What comes later is received all the same, and nothing that is there counts as late.
        let line = port.accept(Some(Duration::from_secs(3600))).unwrap();
        line.send(b"late").unwrap();
        assert_eq!(caller.receive_within(Some(Duration::from_secs(3600))).unwrap(), b"late");
        assert_eq!(line.receive_within(None).unwrap(), b"hello");
        assert_eq!(door.limits.take_over(Instant::now()).1, None);
    }

    #[test]
    fn who_comes_over_the_network_must_know_the_secret() {
        let door = door().unwrap();
        let port = door.open_port().unwrap();
        let addresses = port.addresses().to_vec();
        assert!(!addresses.is_empty());
        let elsewhere = "weft-door-of-another-host";
        let caller = connect(elsewhere, &port.token(), &addresses, b"hello").unwrap();
        let line = port.accept(None).unwrap();
        assert_eq!(line.receive().unwrap(), b"hello");
        line.send(&[7; 300_000]).unwrap();
        assert_eq!(caller.receive().unwrap(), [7; 300_000]);
        assert_eq!(caller.secret(), line.secret());
        drop(caller);
        assert!(line.receive().is_err());

        let mut wrong = Token::read(&port.token()).unwrap();
        wrong.secret[31] ^= 1;
        let refused = connect(elsewhere, &wrong.text(), &addresses, b"").err().unwrap();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        wrong.id[0] ^= 1;
        assert!(connect(elsewhere, &wrong.text(), &addresses, b"").is_err());

        // Many who prove nothing keep nobody out, and nothing that they say is heard.
        let mut strangers = Vec::new();
        for number in 0..STRANGERS + 20 {
            let mut stranger = std::net::TcpStream::connect(addresses[0]).unwrap();
            if number % 2 == 0 {
                stranger.write_all(&[b'x'; 200]).unwrap();
            }
            strangers.push(stranger);
        }
        let caller = connect(elsewhere, &port.token(), &addresses, b"").unwrap();
        let line = port.accept(None).unwrap();
        assert_eq!(line.receive().unwrap(), b"");
        assert!(port.queue.lines.lock().is_empty());
        drop((caller, line, strangers));

        // A port that is closed is not to be found, and with the last one nobody listens any more.
        let token = port.token();
        let other = door.open_port().unwrap();
        drop(port);
        assert!(connect(elsewhere, &token, &addresses, b"").is_err());
        drop(other);
    }

    #[test]
    fn a_ticket_is_good_until_it_is_dropped() {
        let door = door().unwrap();
        let (near, far) = UnixStream::pair().unwrap();
        let ticket = door.offer(far.into()).unwrap();
        let got = UnixStream::from(fetch(door.name(), ticket.token()).unwrap());
        (&got).write_all(b"x").unwrap();
        assert!(wait_readable(&[near.as_fd()], None)[0]);
        let token = ticket.token().to_owned();
        drop(ticket);
        assert_eq!(fetch(door.name(), &token).err().map(|e| e.kind()), Some(io::ErrorKind::NotFound));
    }

    #[test]
    fn a_name_is_published_once_and_free_again_afterwards() {
        let door = door().unwrap();
        let long = "x".repeat(300);
        for service in ["weft test: a name", "", &long] {
            let service = format!("{service}{}", std::process::id());
            assert_eq!(look_up(&service).unwrap(), None);
            door.publish(&service, "there").unwrap();
            assert!(matches!(door.publish(&service, "here"), Err(NameRefused::Taken)));
            assert_eq!(look_up(&service).unwrap().as_deref(), Some("there"));
            assert!(door.unpublish(&service) && !door.unpublish(&service));
            assert_eq!(look_up(&service).unwrap(), None);
        }
    }
}
