//! What sockets can be told that the standard library has no word for.
#![allow(unsafe_code)] // setsockopt reads through a pointer.

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
