//! What a process does at another one's door.

use crate::frames::{Frames, frame};
use crate::knock::dial;
use crate::line::Line;
use crate::server::{NameRefused, PORT, TICKET, door, name_address};
use crate::socket::Socket;
use crate::token::Token;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as LocalAddr, UnixStream};
use std::time::Duration;
use weft_base::job::{Name, Named};
use weft_sys::local_socket;

/// How long who has published a name may take to say what it stands for.
const ANSWER: Duration = Duration::from_secs(5);

/// Connects to a socket of the same user.
fn knock(address: &LocalAddr) -> io::Result<UnixStream> {
    let socket = UnixStream::connect_addr(address)?;
    if local_socket::user_of(socket.as_fd())? != local_socket::own_user() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user"));
    }
    Ok(socket)
}

/// Says what is wanted.
fn ask(name: &str, kind: u8, token: &str) -> io::Result<UnixStream> {
    let socket = knock(&LocalAddr::from_abstract_name(name)?)?;
    let wish = [&[kind], token.as_bytes()].concat();
    (&socket).write_all(&frame(&wish))?;
    Ok(socket)
}

/// Connects to a port behind the door of that name, on this host or at one of these addresses, with a first message. Whoever
/// waits there, now or later, gets it.
///
/// # Errors
/// What the kernel says: `ConnectionRefused` if there is no such door. If a port of this host is not open, the first
/// [`Line::receive`] fails.
pub fn connect(name: &str, port: &str, addresses: &[SocketAddr], first: &[u8]) -> io::Result<Line> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "this is no port's name");
    let token = Token::read(port).ok_or_else(wrong)?;
    let socket = match ask(name, PORT, port) {
        Ok(socket) => Socket::Local(socket),
        Err(_) if !addresses.is_empty() => dial(&token, addresses)?,
        Err(error) => return Err(error),
    };
    let line = door()?.read_from(socket, token.secret)?;
    line.send(first)?;
    Ok(line)
}

/// Fetches the descriptor for a ticket at the door of that name.
///
/// # Errors
/// What the kernel says; `NotFound` if the ticket is not valid.
pub fn fetch(name: &str, ticket: &str) -> io::Result<OwnedFd> {
    let socket = ask(name, TICKET, ticket)?;
    let invalid = || io::Error::new(io::ErrorKind::NotFound, "the ticket is not valid");
    local_socket::receive_descriptor(socket.as_fd())?.ok_or_else(invalid)
}

/// Does what is wanted of names: this process is who publishes.
pub fn see_to(name: &Name) -> Named {
    let failed = |error: io::Error| Named::Failed(error.to_string());
    match name {
        Name::Publish { service, port } => match door().map(|door| door.publish(service, port)) {
            Ok(Ok(())) => Named::Done(true),
            Ok(Err(NameRefused::Taken)) => Named::Done(false),
            Ok(Err(NameRefused::System(error))) | Err(error) => failed(error),
        },
        Name::Unpublish { service } => match door() {
            Ok(door) => Named::Done(door.unpublish(service)),
            Err(error) => failed(error),
        },
        Name::LookUp { service } => look_up(service).map_or_else(failed, Named::Found),
    }
}

/// Returns what is published under a name, if it is.
///
/// # Errors
/// What the kernel says.
pub fn look_up(service: &str) -> io::Result<Option<String>> {
    let mut socket = match knock(&name_address(service)?) {
        Ok(socket) => socket,
        // Whoever has taken the name may be another user: then nobody has published it.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::PermissionDenied) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    socket.write_all(&frame(service.as_bytes()))?;
    // Who has published the name may have been stopped.
    socket.set_read_timeout(Some(ANSWER))?;
    let mut frames = Frames::default();
    let mut buffer = [0; 4096];
    loop {
        let got = socket.read(&mut buffer)?;
        frames.push(&buffer[..got]);
        match frames.next() {
            Ok(Some(port)) => return Ok(String::from_utf8(port).ok()),
            Ok(None) if got > 0 => {}
            _ => return Ok(None),
        }
    }
}
