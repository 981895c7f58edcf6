//! Sockets between the processes of a host: names without a file, who is at the other end, descriptors on their way.
#![allow(unsafe_code)] // System calls on descriptors.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// Returns bytes nobody can guess.
///
/// # Errors
/// What the kernel says.
pub fn random() -> io::Result<[u8; 16]> {
    let mut bytes = [0u8; 16];
    // SAFETY: the buffer has that many bytes. So few are never cut short.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if got == bytes.len() as isize { Ok(bytes) } else { Err(io::Error::last_os_error()) }
}

/// Returns the user this process acts for.
pub fn own_user() -> u32 {
    // SAFETY: no arguments; cannot fail.
    unsafe { libc::geteuid() }
}

/// Returns the user at the other end of a connected socket.
///
/// # Errors
/// What the kernel says.
pub fn user_of(socket: BorrowedFd<'_>) -> io::Result<u32> {
    // SAFETY: plain data, for which zeros are valid.
    let mut who: libc::ucred = unsafe { core::mem::zeroed() };
    let mut size = size_of_val(&who) as libc::socklen_t;
    // SAFETY: the kernel writes at most `size` bytes to `who`.
    let done = unsafe {
        let target = (&raw mut who).cast();
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, target, &mut size)
    };
    if done == 0 { Ok(who.uid) } else { Err(io::Error::last_os_error()) }
}

/// Room for the control message of one descriptor.
const SPACE: usize = 64;

/// Runs `call` on a message of one byte with room for a descriptor.
fn with_message<T>(byte: &mut u8, call: impl FnOnce(&mut libc::msghdr) -> T) -> T {
    let mut control = [0u64; SPACE / 8];
    let mut part = libc::iovec { iov_base: core::ptr::from_mut(byte).cast(), iov_len: 1 };
    // SAFETY: plain data, for which zeros are valid.
    let mut message: libc::msghdr = unsafe { core::mem::zeroed() };
    message.msg_iov = &mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = SPACE as _;
    call(&mut message)
}

/// Sends a descriptor, with one byte.
///
/// # Errors
/// What the kernel says.
pub fn send_descriptor(socket: BorrowedFd<'_>, descriptor: BorrowedFd<'_>) -> io::Result<()> {
    let mut byte = 1;
    with_message(&mut byte, |message| {
        // SAFETY: the control message and the number in it fit into the room there is; the call only reads.
        let sent = unsafe {
            let length = size_of::<libc::c_int>() as u32;
            message.msg_controllen = libc::CMSG_SPACE(length) as _;
            let head = libc::CMSG_FIRSTHDR(message);
            (*head).cmsg_level = libc::SOL_SOCKET;
            (*head).cmsg_type = libc::SCM_RIGHTS;
            (*head).cmsg_len = libc::CMSG_LEN(length) as _;
            libc::CMSG_DATA(head).cast::<libc::c_int>().write_unaligned(descriptor.as_raw_fd());
            libc::sendmsg(socket.as_raw_fd(), message, libc::MSG_NOSIGNAL)
        };
        if sent == 1 { Ok(()) } else { Err(io::Error::last_os_error()) }
    })
}

/// Receives what [`send_descriptor`] sends; it is close-on-exec. `None` if the other end has closed.
///
/// # Errors
/// What the kernel says; `InvalidData` if no descriptor came with the byte.
pub fn receive_descriptor(socket: BorrowedFd<'_>) -> io::Result<Option<OwnedFd>> {
    let mut byte = 0;
    with_message(&mut byte, |message| {
        // SAFETY: the kernel writes a byte and at most the room there is for control messages.
        let got = unsafe { libc::recvmsg(socket.as_raw_fd(), message, libc::MSG_CMSG_CLOEXEC) };
        match got {
            0 => return Ok(None),
            1 => {}
            _ => return Err(io::Error::last_os_error()),
        }
        // SAFETY: the kernel has filled the message in; the first control message, if any, is whole, and a descriptor in
        // it is new and nobody else's.
        unsafe {
            let head = libc::CMSG_FIRSTHDR(message);
            let is_one = !head.is_null()
                && (*head).cmsg_level == libc::SOL_SOCKET
                && (*head).cmsg_type == libc::SCM_RIGHTS
                && (*head).cmsg_len as usize >= libc::CMSG_LEN(size_of::<libc::c_int>() as u32) as usize;
            if !is_one {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a message without a descriptor"));
            }
            let number = libc::CMSG_DATA(head).cast::<libc::c_int>().read_unaligned();
            Ok(Some(OwnedFd::from_raw_fd(number)))
        }
    })
}

/// Waits until something can be read from at least one of the sockets, or their other ends have closed, or the time is over;
/// returns which.
pub fn wait_readable(sockets: &[BorrowedFd<'_>], limit: Option<Duration>) -> Vec<bool> {
    let limit_ms = limit.map_or(-1, |limit| limit.as_millis().min(1_000_000) as libc::c_int + 1);
    let source =
        |socket: &BorrowedFd<'_>| libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut sources: Vec<_> = sockets.iter().map(source).collect();
    // SAFETY: an array that lives through the call. A failure leaves no events.
    unsafe { libc::poll(sources.as_mut_ptr(), sources.len() as libc::nfds_t, limit_ms) };
    sources.iter().map(|source| source.revents != 0).collect()
}

/// Reads what is there without waiting.
///
/// # Errors
/// `WouldBlock` if there is nothing.
pub fn read_now(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the buffer has that many bytes.
    let got = unsafe {
        libc::recv(socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), libc::MSG_DONTWAIT)
    };
    if got >= 0 { Ok(got as usize) } else { Err(io::Error::last_os_error()) }
}

/// Sends bytes through somebody else's socket and receives as many; leaves the socket as it was. Works for sockets that do
/// not block, too.
///
/// # Errors
/// What the kernel says; `UnexpectedEof` if the other end has closed.
pub fn swap(socket: i32, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let (mut kind, mut size): (libc::c_int, _) = (0, size_of::<libc::c_int>() as libc::socklen_t);
    // SAFETY: the kernel writes at most `size` bytes to `kind`.
    let is_socket = unsafe {
        let target = (&raw mut kind).cast();
        libc::getsockopt(socket, libc::SOL_SOCKET, libc::SO_TYPE, target, &mut size)
    };
    if is_socket < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut received = vec![0; bytes.len()];
    let (mut sent, mut got) = (0, 0);
    while sent < bytes.len() || got < received.len() {
        let reading = if got < received.len() { libc::POLLIN } else { 0 };
        let writing = if sent < bytes.len() { libc::POLLOUT } else { 0 };
        let mut source = libc::pollfd { fd: socket, events: reading | writing, revents: 0 };
        // SAFETY: one entry, which lives through the call.
        if unsafe { libc::poll(&mut source, 1, -1) } < 0 {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::Interrupted {
                continue;
            }
            return Err(error);
        }
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        let (out, room) = (&bytes[sent..], &mut received[got..]);
        if !out.is_empty() {
            // SAFETY: reads within the buffer.
            let done = unsafe { libc::send(socket, out.as_ptr().cast(), out.len(), flags) };
            sent += progress(done)?;
        }
        if !room.is_empty() {
            // SAFETY: writes within the buffer.
            let done = unsafe { libc::recv(socket, room.as_mut_ptr().cast(), room.len(), flags) };
            if done == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            got += progress(done)?;
        }
    }
    Ok(received)
}

/// Returns how far a call got that may have had to wait.
fn progress(done: isize) -> io::Result<usize> {
    if done >= 0 {
        return Ok(done as usize);
    }
    let error = io::Error::last_os_error();
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(0),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_descriptor_arrives_and_works() {
        let (near, far) = UnixStream::pair().unwrap();
        let (mut kept, sent) = UnixStream::pair().unwrap();
        send_descriptor(near.as_fd(), sent.as_fd()).unwrap();
        drop(sent);
        let mut got = UnixStream::from(receive_descriptor(far.as_fd()).unwrap().unwrap());
        got.write_all(b"x").unwrap();
        let mut byte = [0];
        kept.read_exact(&mut byte).unwrap();
        assert_eq!(byte, *b"x");
        (&near).write_all(b"y").unwrap();
        let refused = receive_descriptor(far.as_fd()).err().map(|e| e.kind());
        assert_eq!(refused, Some(io::ErrorKind::InvalidData));
        drop(near);
        assert!(receive_descriptor(far.as_fd()).unwrap().is_none());
    }

    #[test]
    fn both_ends_swap_and_leave_what_follows() {
        let (near, far) = UnixStream::pair().unwrap();
        far.set_nonblocking(true).unwrap();
        let there = std::thread::spawn(move || {
            let got = swap(far.as_raw_fd(), &[2; 300_000]).unwrap();
            (&far).write_all(b"z").unwrap();
            (got, far)
        });
        assert_eq!(swap(near.as_raw_fd(), &[1; 300_000]).unwrap(), [2; 300_000]);
        let (got, _far) = there.join().unwrap();
        assert_eq!(got, [1; 300_000]);
        let mut byte = [0];
        (&near).read_exact(&mut byte).unwrap();
        assert_eq!(byte, *b"z");
        assert!(swap(-1, b"x").is_err());
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        assert!(swap(file.as_raw_fd(), b"x").is_err());
    }

    #[test]
    fn the_other_end_is_known_and_no_two_numbers_are_equal() {
        let (near, far) = UnixStream::pair().unwrap();
        assert_eq!(user_of(near.as_fd()).unwrap(), own_user());
        assert_ne!(random().unwrap(), random().unwrap());
        assert_eq!(
            read_now(near.as_fd(), &mut [0; 4]).err().map(|e| e.kind()),
            Some(io::ErrorKind::WouldBlock)
        );
        drop(far);
        assert_eq!(wait_readable(&[near.as_fd()], None), [true]);
    }
}
