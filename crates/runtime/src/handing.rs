//! A descriptor on its way to the other processes of a host.
//!
//! Whoever has it listens at a socket in the abstract name space, so no file is left behind; the others show the token of a
//! ticket that they got through the launcher. Both make sure that the other end belongs to the same user.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::{Duration, Instant};
use weft_sys::local_socket::{own_user, random, receive_descriptor, send_descriptor, user_of};

/// How long one caller may take to show its token.
const PATIENCE: Duration = Duration::from_secs(5);

/// The side that has the descriptor.
pub struct Giver {
    listener: UnixListener,
    name: String,
    token: String,
}

fn hexadecimal() -> io::Result<String> {
    Ok(random()?.iter().map(|byte| format!("{byte:02x}")).collect())
}

impl Giver {
    /// Begins to listen.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn listen() -> io::Result<Self> {
        let (name, token) = (hexadecimal()?, hexadecimal()?);
        let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(format!("weft-{name}"))?)?;
        Ok(Self { listener, name, token })
    }

    /// Returns what the others need to fetch the descriptor: letters and digits, which nobody can guess.
    pub fn ticket(&self) -> String {
        format!("{}{}", self.name, self.token)
    }

    /// Gives the descriptor to `count` others, and listens no more.
    ///
    /// # Errors
    /// Says how many did not come within `limit`.
    pub fn give(self, descriptor: BorrowedFd<'_>, count: usize, limit: Duration) -> Result<(), String> {
        let until = Instant::now() + limit;
        // What the kernel knows as the time limit of reads holds for `accept`, too.
        let clock =
            UnixStream::from(OwnedFd::from(self.listener.try_clone().map_err(|error| error.to_string())?));
        let mut given = 0;
        while given < count {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(format!(
                    "{} of {count} processes did not fetch it within {} s",
                    count - given,
                    limit.as_secs()
                ));
            }
            let accepted = clock.set_read_timeout(Some(left)).and_then(|()| self.listener.accept());
            if let Ok((caller, _)) = accepted {
                given += usize::from(self.serve(&caller, descriptor).is_ok_and(|served| served));
            }
        }
        Ok(())
    }

    /// Serves one caller; returns whether it was one of us.
    fn serve(&self, mut caller: &UnixStream, descriptor: BorrowedFd<'_>) -> io::Result<bool> {
        if user_of(caller.as_fd())? != own_user() {
            return Ok(false);
        }
        caller.set_read_timeout(Some(PATIENCE))?;
        let mut shown = vec![0; self.token.len()];
        caller.read_exact(&mut shown)?;
        // Looks at all bytes, so that the time it takes says nothing.
        if shown.iter().zip(self.token.bytes()).fold(0, |all, (one, other)| all | (one ^ other)) != 0 {
            return Ok(false);
        }
        send_descriptor(caller.as_fd(), descriptor).map(|()| true)
    }
}

/// Fetches the descriptor for a ticket.
///
/// # Errors
/// Says who is not there, or did not answer within `limit`.
pub fn fetch(ticket: &str, limit: Duration) -> Result<OwnedFd, String> {
    let (name, token) =
        ticket.split_at_checked(ticket.len() / 2).ok_or_else(|| format!("{ticket:?} is no ticket"))?;
    let fetch = || {
        let mut socket = UnixStream::connect_addr(&SocketAddr::from_abstract_name(format!("weft-{name}"))?)?;
        if user_of(socket.as_fd())? != own_user() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user"));
        }
        socket.set_read_timeout(Some(limit))?;
        socket.write_all(token.as_bytes())?;
        receive_descriptor(socket.as_fd())
    };
    match fetch() {
        Ok(Some(descriptor)) => Ok(descriptor),
        Ok(None) => Err("it was refused".into()),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            Err(format!("it was not handed over within {} s", limit.as_secs()))
        }
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            Err("nobody listens there: do the processes share a network name space?".into())
        }
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    #[test]
    fn those_with_the_ticket_get_the_descriptor_and_nobody_else() {
        let (mut kept, given) = UnixStream::pair().unwrap();
        let giver = Giver::listen().unwrap();
        let ticket = giver.ticket();
        let mut forged = ticket.clone().into_bytes();
        let last = forged.len() - 1;
        forged[last] ^= 1;
        let forged = String::from_utf8(forged).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || giver.give(given.as_fd(), 2, LIMIT).unwrap());
            assert_eq!(fetch(&forged, LIMIT).err().as_deref(), Some("it was refused"));
            for byte in [7, 8] {
                UnixStream::from(fetch(&ticket, LIMIT).unwrap()).write_all(&[byte]).unwrap();
            }
        });
        let mut bytes = Vec::new();
        kept.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, [7, 8]);
        assert!(fetch(&ticket, LIMIT).err().unwrap().contains("nobody listens"));
    }

    #[test]
    fn those_who_do_not_come_are_counted() {
        let (_kept, given) = UnixStream::pair().unwrap();
        let giver = Giver::listen().unwrap();
        let refused = giver.give(given.as_fd(), 3, Duration::from_millis(20));
        assert!(refused.unwrap_err().contains("3 of 3 processes"));
    }
}
