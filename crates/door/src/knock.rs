//! Who comes from another host proves that it knows the port's secret before anything else is read.
//!
//! First comes the number of the port, then the handshake by its secret.

use crate::socket::{Socket, prepare};
use crate::token::{ID, Token};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};
use weft_handshake::{Acceptor, CHALLENGE, Connection, Dialler, Expected, HELLO, PROOF, Secret, draw};
use weft_machine::interfaces::Interfaces;
use weft_sys::local_socket::read_now;

/// How many callers that have proved nothing are kept.
pub(crate) const STRANGERS: usize = 64;
/// How long a caller may take to prove that it knows the secret.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a connection to one address may take to be made.
const CONNECT: Duration = Duration::from_secs(3);
/// At how many addresses a port can be reached at most: its name must not become too long.
const ADDRESSES: usize = 8;
/// The acceptor's last word.
const TAKEN: u8 = 1;

/// Who dials and who accepts.
const CONNECTION: Connection = Connection { from: 0, to: 1, lane: 0 };
/// Who is let in.
const EXPECTED: Expected = Expected { me: CONNECTION.to, processes: 2, lanes: 1 };

/// A caller that has proved nothing yet.
pub(crate) struct Knock {
    input: Vec<u8>,
    /// What comes after the hello: the port's number, its secret, and what is to be proved.
    expected: Option<(Token, Acceptor)>,
    /// Until when it may take.
    pub until: Instant,
}

/// How far a caller has got.
pub(crate) enum Step {
    /// There is more to come.
    Wait,
    /// It knows the secret of this port.
    Proved([u8; ID]),
    /// It does not, for this reason.
    Refused(String),
}

/// Listens on the interfaces that settings choose, each on a port that the kernel chooses; on none where that cannot be.
pub(crate) fn listen() -> Vec<(TcpListener, SocketAddr)> {
    let interfaces = Interfaces::from_settings().addresses().unwrap_or_default();
    let one = |address| {
        let listener = TcpListener::bind((address, 0)).ok()?;
        // Who goes away between the kernel's word and the look at it must not keep the thread.
        listener.set_nonblocking(true).ok()?;
        let at = listener.local_addr().ok()?;
        Some((listener, at))
    };
    interfaces.into_iter().filter_map(one).take(ADDRESSES).collect()
}

impl Knock {
    pub fn new() -> Self {
        Self { input: Vec::new(), expected: None, until: Instant::now() + PATIENCE }
    }

    /// Reads what is there, and answers. `find` knows the secrets of ports.
    pub fn hear(&mut self, socket: &Socket, find: impl FnOnce(&[u8; ID]) -> Option<Secret>) -> Step {
        use std::os::fd::AsFd;
        let needs = if self.expected.is_some() { PROOF } else { ID + HELLO };
        let mut space = [0; ID + HELLO];
        // No byte more than the proof is read before it is checked.
        match read_now(socket.as_fd(), &mut space[..needs - self.input.len()]) {
            Ok(0) => return Step::Refused("it has closed the connection before it was let in".into()),
            Ok(got) => self.input.extend_from_slice(&space[..got]),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(error) => return Step::Refused(error.to_string()),
        }
        if self.input.len() < needs {
            return Step::Wait;
        }
        let input = core::mem::take(&mut self.input);
        self.answer(socket, &input, find).unwrap_or_else(Step::Refused)
    }

    fn answer(
        &mut self,
        socket: &Socket,
        input: &[u8],
        find: impl FnOnce(&[u8; ID]) -> Option<Secret>,
    ) -> Result<Step, String> {
        let gone = |error: io::Error| error.to_string();
        if let Some((token, acceptor)) = &self.expected {
            let proof = input.try_into().expect("as long as needed");
            acceptor.check(&token.secret, proof).map_err(|why| why.to_string())?;
            socket.send(&[TAKEN]).map_err(gone)?;
            return Ok(Step::Proved(token.id));
        }
        let (&id, hello) = input.split_first_chunk().expect("as long as needed");
        let secret = find(&id).ok_or("it looks for a port that is not open")?;
        let hello = hello.try_into().expect("as long as needed");
        let own = draw().map_err(gone)?;
        let (acceptor, challenge) =
            Acceptor::new(&secret, EXPECTED, hello, own).map_err(|why| why.to_string())?;
        socket.send(&challenge).map_err(gone)?;
        self.expected = Some((Token { id, secret }, acceptor));
        Ok(Step::Wait)
    }
}

/// Connects to a port of another host.
pub(crate) fn dial(token: &Token, addresses: &[SocketAddr]) -> io::Result<Socket> {
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "it has no address on a network");
    for address in addresses {
        match TcpStream::connect_timeout(address, CONNECT) {
            Ok(socket) => match prove(&socket, token) {
                Ok(()) => return Ok(Socket::Net(socket)),
                Err(error) => failure = error,
            },
            Err(error) => failure = io::Error::new(error.kind(), format!("{address}: {error}")),
        }
    }
    Err(failure)
}

/// Proves to the other side that this process knows the secret, and has it prove the same.
fn prove(mut socket: &TcpStream, token: &Token) -> io::Result<()> {
    prepare(socket)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let (dialler, hello) = Dialler::new(CONNECTION, draw()?);
    socket.write_all(&[&token.id[..], &hello].concat())?;
    let mut challenge = [0; CHALLENGE];
    socket.read_exact(&mut challenge)?;
    let proof = dialler.prove(&token.secret, &challenge).map_err(|_| {
        io::Error::new(io::ErrorKind::PermissionDenied, "who listens there does not know the port's secret")
    })?;
    socket.write_all(&proof)?;
    let mut verdict = [0];
    socket.read_exact(&mut verdict)?;
    if verdict != [TAKEN] {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    socket.set_read_timeout(None)
}
