//! Wakes a thread that polls descriptors.
#![allow(unsafe_code)] // eventfd.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// A descriptor that is readable once it was rung.
#[derive(Debug)]
pub struct Bell(OwnedFd);

impl Bell {
    /// Makes one.
    ///
    /// # Errors
    /// The system call's.
    pub fn new() -> std::io::Result<Self> {
        // SAFETY: a new descriptor of ours.
        unsafe {
            match libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) {
                ..0 => Err(std::io::Error::last_os_error()),
                fd => Ok(Self(OwnedFd::from_raw_fd(fd))),
            }
        }
    }

    /// Returns what to poll.
    pub fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Rings.
    pub fn ring(&self) {
        // SAFETY: eight bytes that live through the call.
        unsafe { libc::write(self.fd(), (&raw const ONE).cast(), 8) };
    }

    /// Forgets that it was rung.
    pub fn clear(&self) {
        let mut count = 0u64;
        // SAFETY: eight bytes that live through the call.
        unsafe { libc::read(self.fd(), (&raw mut count).cast(), 8) };
    }
}

static ONE: u64 = 1;
