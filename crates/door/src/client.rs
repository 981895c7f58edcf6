//! What a process does at another one's door.

use crate::frames::{Frames, frame};
use crate::line::Line;
use crate::server::{PORT, TICKET, door, name_address};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use weft_sys::local_socket;

/// Connects to a socket of the same user.
fn knock(address: &SocketAddr) -> io::Result<UnixStream> {
    let socket = UnixStream::connect_addr(address)?;
    if local_socket::user_of(socket.as_fd())? != local_socket::own_user() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user"));
    }
    Ok(socket)
}

/// Says what is wanted.
fn ask(name: &str, kind: u8, token: &str) -> io::Result<UnixStream> {
    let socket = knock(&SocketAddr::from_abstract_name(name)?)?;
    let wish = [&[kind], token.as_bytes()].concat();
    (&socket).write_all(&frame(&wish))?;
    Ok(socket)
}

/// Connects to a port behind the door of that name, with a first message. Whoever waits there, now or later, gets it.
///
/// # Errors
/// What the kernel says: `ConnectionRefused` if there is no such door. If there is no such port, the first
/// [`Line::receive`] fails.
pub fn connect(name: &str, port: &str, first: &[u8]) -> io::Result<Line> {
    let socket = ask(name, PORT, port)?;
    let line = door()?.read_from(socket)?;
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
