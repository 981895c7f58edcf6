//! A socket to another process, on this host or on another one.

use rustix::net::sockopt;
use std::io::{self, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;
use weft_base::settings::NET_TIMEOUT;

/// A socket to another process.
pub(crate) enum Socket {
    /// On this host.
    Local(UnixStream),
    /// Over the network.
    Net(TcpStream),
}

impl Socket {
    /// Lets somebody in who knocks from another host.
    pub fn accept(listener: &TcpListener) -> io::Result<Self> {
        let (socket, _) = listener.accept()?;
        prepare(&socket)?;
        Ok(Self::Net(socket))
    }

    /// Makes another descriptor of it.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Local(socket) => Self::Local(socket.try_clone()?),
            Self::Net(socket) => Self::Net(socket.try_clone()?),
        })
    }

    /// Sends all of it.
    pub fn send(&self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Local(socket) => (&*socket).write_all(bytes),
            Self::Net(socket) => (&*socket).write_all(bytes),
        }
    }

    /// Ends it for all descriptors.
    pub fn shut(&self) {
        let _ = match self {
            Self::Local(socket) => socket.shutdown(Shutdown::Both),
            Self::Net(socket) => socket.shutdown(Shutdown::Both),
        };
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Local(socket) => socket.as_fd(),
            Self::Net(socket) => socket.as_fd(),
        }
    }
}

/// Sees to it that the end of the other host is noticed.
pub(crate) fn prepare(socket: &TcpStream) -> io::Result<()> {
    let patience = Duration::from_secs(NET_TIMEOUT.get().max(1));
    let least = Duration::from_secs(1);
    sockopt::set_tcp_nodelay(socket, true)?;
    sockopt::set_socket_keepalive(socket, true)?;
    sockopt::set_tcp_keepidle(socket, (patience / 2).max(least))?;
    sockopt::set_tcp_keepintvl(socket, (patience / 6).max(least))?;
    sockopt::set_tcp_keepcnt(socket, 3)?;
    Ok(sockopt::set_tcp_user_timeout(socket, patience.as_millis() as u32)?)
}
