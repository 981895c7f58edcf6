//! The door of a process: its sockets and the thread that reads from them.

use crate::frames::{Frames, frame};
use crate::line::{Inbox, Line, awaiting};
use std::collections::{HashMap, VecDeque};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use weft_sched::WaitSet;
use weft_sync::Lock;
use weft_sys::local_socket::{self, own_user, user_of, wait_readable};
use weft_sys::process::spawn_apart;

/// Kinds of wishes.
pub(crate) const PORT: u8 = b'p';
pub(crate) const TICKET: u8 = b't';

/// Who has connected to a port and not been received.
struct Queue {
    lines: Lock<VecDeque<Line>>,
    is_closed: AtomicBool,
    waiting: WaitSet,
}

/// Where ranks wait for others to connect. Its end refuses those who wait, and all who come.
pub struct Port {
    token: String,
    queue: Arc<Queue>,
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
    ports: HashMap<String, Arc<Queue>>,
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
    /// Makes the thread look at `state` again.
    bell: (UnixStream, UnixStream),
}

/// Somebody at the door.
struct Caller {
    socket: UnixStream,
    frames: Frames,
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

/// Returns the door of this process; the first call opens it.
///
/// # Errors
/// What the kernel says.
pub fn door() -> io::Result<&'static Door> {
    static OPENING: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _alone = OPENING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(door) = DOOR.get() {
        return Ok(door);
    }
    let name = format!("weft-door-{}", token()?);
    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
    let door: &'static Door =
        Box::leak(Box::new(Door { name, listener, state: Lock::default(), bell: UnixStream::pair()? }));
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
    /// What the kernel says.
    pub fn open_port(&'static self) -> io::Result<Port> {
        let token = token()?;
        let queue = Arc::new(Queue {
            lines: Lock::default(),
            is_closed: AtomicBool::new(false),
            waiting: WaitSet::new(),
        });
        self.state.lock().ports.insert(token.clone(), queue.clone());
        Ok(Port { token, queue })
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
        self.ring();
        Ok(())
    }

    /// Takes a name back. Returns whether this process had published it.
    pub fn unpublish(&self, service: &str) -> bool {
        let removed = self.state.lock().names.remove(service);
        self.ring();
        // The thread may be looking at its socket, which is closed when it has looked: the name is free only then.
        let Some((listener, _)) = removed else { return false };
        while Arc::strong_count(&listener) > 1 {
            std::thread::yield_now();
        }
        true
    }

    /// Reads from a socket from now on.
    pub(crate) fn read_from(&self, socket: UnixStream) -> io::Result<Line> {
        let inbox = Inbox::new();
        let reader = socket.try_clone()?;
        let caller = Caller {
            socket: reader,
            frames: Frames::default(),
            inbox: Some(inbox.clone()),
            asks_for_name: false,
        };
        self.state.lock().fresh.push(caller);
        self.ring();
        Ok(Line::new(socket, inbox))
    }

    fn ring(&self) {
        let _ = (&self.bell.0).write_all(&[1]);
    }

    fn serve(&self) {
        let mut callers: Vec<Caller> = Vec::new();
        loop {
            let names: Vec<(Arc<UnixListener>, String)> = {
                let mut state = self.state.lock();
                callers.append(&mut state.fresh);
                state.names.values().cloned().collect()
            };
            let fixed = [self.bell.1.as_fd(), self.listener.as_fd()];
            let sources: Vec<BorrowedFd<'_>> = fixed
                .into_iter()
                .chain(names.iter().map(|(listener, _)| listener.as_fd()))
                .chain(callers.iter().map(|caller| caller.socket.as_fd()))
                .collect();
            let ready = wait_readable(&sources);
            drop(sources);
            let (ready, of_callers) = ready.split_at(2 + names.len());
            let mut of_callers = of_callers.iter();
            callers.retain_mut(|caller| !of_callers.next().is_some_and(|&ready| ready) || self.hear(caller));
            if ready[0] {
                let _ = local_socket::read_now(self.bell.1.as_fd(), &mut [0; 256]);
            }
            let listeners = [(&self.listener, false)].into_iter();
            let listeners = listeners.chain(names.iter().map(|(listener, _)| (&**listener, true)));
            for ((listener, asks_for_name), _) in listeners.zip(&ready[1..]).filter(|(_, ready)| **ready) {
                if let Ok((socket, _)) = listener.accept()
                    && user_of(socket.as_fd()).is_ok_and(|user| user == own_user())
                {
                    callers.push(Caller { socket, frames: Frames::default(), inbox: None, asks_for_name });
                }
            }
        }
    }

    /// Reads what a caller says. Returns whether to read on.
    fn hear(&self, caller: &mut Caller) -> bool {
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
                let _ = caller.socket.write_all(&frame(port.as_bytes()));
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
            PORT => {
                let queue = self.state.lock().ports.get(token).cloned();
                let (Some(queue), Ok(socket)) = (queue, caller.socket.try_clone()) else { return false };
                let inbox = Inbox::new();
                caller.inbox = Some(inbox.clone());
                queue.lines.lock().push_back(Line::new(socket, inbox));
                queue.waiting.wake_all();
                true
            }
            _ => false,
        }
    }
}

impl Port {
    /// Returns what others must show at the door.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Waits for somebody to connect; nobody will once the port is closed.
    pub fn accept(&self) -> Option<Line> {
        loop {
            let is_closed = || self.queue.is_closed.load(Ordering::Acquire);
            let has_some = || is_closed() || !self.queue.lines.lock().is_empty();
            awaiting(|| self.queue.waiting.wait(has_some));
            if is_closed() {
                return None;
            }
            // Another rank may have been faster.
            if let Some(line) = self.queue.lines.lock().pop_front() {
                return Some(line);
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
            door.state.lock().ports.remove(&self.token);
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

    #[test]
    fn who_connects_is_received_and_both_speak() {
        let door = door().unwrap();
        let port = door.open_port().unwrap();
        let caller = connect(door.name(), port.token(), b"hello").unwrap();
        let line = port.accept().unwrap();
        assert_eq!(line.receive().unwrap(), b"hello");
        line.send(&[7; 100_000]).unwrap();
        assert_eq!(caller.receive().unwrap(), [7; 100_000]);
        drop(line);
        assert!(caller.receive().is_err());
        // Who waits at a port that closes is refused, and so is who comes later; nobody is received any more.
        let waits = connect(door.name(), port.token(), b"").unwrap();
        std::thread::scope(|scope| {
            let received = scope.spawn(|| port.accept().and_then(|_| port.accept()).is_none());
            port.close();
            assert!(received.join().unwrap());
        });
        let token = port.token().to_owned();
        drop(port);
        assert!(waits.receive().is_err());
        assert!(connect(door.name(), &token, b"").and_then(|line| line.receive()).is_err());
        assert!(connect("weft-door-there-is-none", &token, b"").is_err());
    }

    #[test]
    fn a_ticket_is_good_until_it_is_dropped() {
        let door = door().unwrap();
        let (near, far) = UnixStream::pair().unwrap();
        let ticket = door.offer(far.into()).unwrap();
        let got = UnixStream::from(fetch(door.name(), ticket.token()).unwrap());
        (&got).write_all(b"x").unwrap();
        assert!(wait_readable(&[near.as_fd()])[0]);
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
