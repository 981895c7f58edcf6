//! Files: pieces of memory at an offset, locks of ranges, room on the device.
#![allow(unsafe_code)] // Passes addresses and descriptors to the kernel.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// A piece of memory, as the kernel takes them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Where it begins.
    pub address: *mut u8,
    /// How long it is.
    pub length: usize,
}

/// The most pieces that one call takes.
pub const MOST_PIECES: usize = 1024;

fn again(mut call: impl FnMut() -> isize) -> io::Result<usize> {
    loop {
        if let Ok(bytes) = usize::try_from(call()) {
            return Ok(bytes);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn count(pieces: &[Piece]) -> libc::c_int {
    pieces.len().min(MOST_PIECES) as libc::c_int
}

/// Reads what lies from an offset on into pieces of memory, of which at most [`MOST_PIECES`] are filled. Returns how many bytes
/// came, which may be less than there are.
///
/// # Errors
/// What the kernel says.
///
/// # Safety
/// The pieces are valid for writes.
pub unsafe fn read_at(fd: BorrowedFd<'_>, pieces: &[Piece], offset: u64) -> io::Result<usize> {
    let vector = pieces.as_ptr().cast::<libc::iovec>();
    // SAFETY: a `Piece` has the form of an `iovec`, and the caller vouches for the memory.
    again(|| unsafe { libc::preadv(fd.as_raw_fd(), vector, count(pieces), offset as libc::off_t) })
}

/// Writes pieces of memory, at most [`MOST_PIECES`] of them, from an offset on. Returns how many bytes went, which may be less than
/// there are.
///
/// # Errors
/// What the kernel says.
///
/// # Safety
/// The pieces are valid for reads.
pub unsafe fn write_at(fd: BorrowedFd<'_>, pieces: &[Piece], offset: u64) -> io::Result<usize> {
    let vector = pieces.as_ptr().cast::<libc::iovec>();
    // SAFETY: the kernel only reads the vector, whose elements have the form of an `iovec`, and what they name.
    again(|| unsafe { libc::pwritev(fd.as_raw_fd(), vector, count(pieces), offset as libc::off_t) })
}

fn lock(fd: BorrowedFd<'_>, kind: libc::c_int, start: u64, length: u64) -> io::Result<()> {
    let lock = libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: start as libc::off_t,
        l_len: length as libc::off_t,
        l_pid: 0,
    };
    // SAFETY: the kernel reads the lock, which lives during the call.
    again(|| unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_OFD_SETLKW, &raw const lock) } as isize).map(drop)
}

/// Waits until no other open file has a lock on a range, and locks it for this one, to read (`shared`) or to write.
///
/// # Errors
/// What the kernel says, such as that the file system has no locks.
pub fn lock_range(fd: BorrowedFd<'_>, start: u64, length: u64, shared: bool) -> io::Result<()> {
    lock(fd, if shared { libc::F_RDLCK } else { libc::F_WRLCK }, start, length)
}

/// Unlocks a range.
///
/// # Errors
/// What the kernel says.
pub fn unlock_range(fd: BorrowedFd<'_>, start: u64, length: u64) -> io::Result<()> {
    lock(fd, libc::F_UNLCK, start, length)
}

/// Makes sure that there is room on the device for the first `length` bytes of a file, which becomes that long if it is shorter.
///
/// # Errors
/// What the kernel says.
pub fn allocate(fd: BorrowedFd<'_>, length: u64) -> io::Result<()> {
    // SAFETY: no pointers are passed.
    match unsafe { libc::posix_fallocate(fd.as_raw_fd(), 0, length as libc::off_t) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn pieces_are_written_and_read_where_they_belong() {
        let file = std::fs::File::from(crate::shared::create(c"test", 64).unwrap());
        let (mut one, mut two) = (*b"abc", *b"defgh");
        let pieces = [&mut one[..], &mut two[..]]
            .map(|slice| Piece { address: slice.as_mut_ptr(), length: slice.len() });
        // SAFETY: the pieces are of the arrays above.
        assert_eq!(unsafe { write_at(file.as_fd(), &pieces, 10) }.unwrap(), 8);
        let mut back = [0; 9];
        let piece = Piece { address: back.as_mut_ptr(), length: back.len() };
        // SAFETY: the piece is all of the array.
        assert_eq!(unsafe { read_at(file.as_fd(), &[piece], 9) }.unwrap(), 9);
        assert_eq!(&back, b"\0abcdefgh");
    }
}
