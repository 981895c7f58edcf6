//! What sockets can be told that the standard library has no word for.
#![allow(unsafe_code)] // setsockopt and getsockopt read and write through pointers.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Says from how many bytes on a socket counts as readable for those who sleep until it is. What is read is not affected, and
/// neither are the end of the stream and errors.
///
/// # Errors
/// What the kernel says.
pub fn set_receive_low_water(socket: impl AsFd, bytes: u32) -> io::Result<()> {
    let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    let size = size_of::<libc::c_int>() as libc::socklen_t;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the option's value is a `c_int`, which is there during the call.
    let result =
        unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_RCVLOWAT, (&raw const bytes).cast(), size) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// How many words of what the kernel says of a TCP connection come before the number of segments sent again, and that.
const TCP_WORDS: usize = 26;

/// Returns how many segments of a TCP connection the kernel has sent again, if the kernel says so.
pub fn tcp_resent(socket: impl AsFd) -> Option<u32> {
    // The layout is the kernel's interface: 8 bytes, then words, of which the 24th is `tcpi_total_retrans`.
    let mut words = [0u32; TCP_WORDS];
    let mut size = size_of_val(&words) as libc::socklen_t;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most `size` bytes into the array, which is there during the call.
    let result = unsafe {
        libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, words.as_mut_ptr().cast(), &raw mut size)
    };
    (result == 0 && size as usize == size_of_val(&words)).then(|| words[TCP_WORDS - 1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream, UdpSocket};

    #[test]
    fn a_connection_that_lost_nothing_has_sent_nothing_again() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert_eq!(tcp_resent(&stream), Some(0));
        assert_eq!(tcp_resent(UdpSocket::bind("127.0.0.1:0").unwrap()), None);
    }
}
