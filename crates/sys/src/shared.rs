//! What processes of one host share: sealed memory without a name, words to wait on, each other's memory.
#![allow(unsafe_code)] // Maps memory, and reads another process's by address.

use core::sync::atomic::AtomicU32;
use core::time::Duration;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use crate::{futex, memory};

const SEALS: libc::c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;

/// Creates anonymous memory of a fixed size that processes which inherit the descriptor can map. Close-on-exec; all
/// zero; nothing is allocated before it is touched; gone with the last process that has it.
///
/// # Errors
/// What the kernel says.
pub fn create(name: &CStr, size: u64) -> io::Result<OwnedFd> {
    use std::os::fd::FromRawFd;
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the name is a C string.
    let fd = unsafe { libc::memfd_create(name.as_ptr(), flags) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a new descriptor that nobody else owns.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: no pointers are passed.
    let done = unsafe {
        libc::ftruncate(fd.as_raw_fd(), size as libc::off_t) == 0
            && libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, SEALS | libc::F_SEAL_SEAL) == 0
    };
    if done { Ok(fd) } else { Err(io::Error::last_os_error()) }
}

const ACCESS: libc::c_int = libc::PROT_READ | libc::PROT_WRITE;
const ANYWHERE: libc::c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;

/// Maps memory.
///
/// # Safety
/// With `MAP_FIXED`, what is at the place belongs to the caller, who does not use it any more.
unsafe fn map(
    place: *mut u8,
    size: usize,
    access: libc::c_int,
    flags: libc::c_int,
    fd: libc::c_int,
) -> io::Result<NonNull<u8>> {
    // SAFETY: the caller's promise; elsewhere a new mapping touches nothing that exists.
    let address = unsafe { libc::mmap(place.cast(), size, access, flags, fd, 0) };
    if address == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(NonNull::new(address.cast()).expect("mmap never returns null"))
}

/// Tells whether the kernel would give a process so much memory of its own. Of memory that processes share it gives any
/// amount, and ends who touches what is not there.
pub fn is_affordable(size: usize) -> bool {
    // SAFETY: a new mapping at an address of the kernel's choice, which nobody touches before it goes.
    unsafe {
        match map(core::ptr::null_mut(), size.max(1), ACCESS, ANYWHERE, -1) {
            Ok(address) => libc::munmap(address.as_ptr().cast(), size.max(1)) == 0,
            Err(_) => false,
        }
    }
}

/// Memory shared with other processes, unmapped on drop.
pub struct Mapping {
    address: NonNull<u8>,
    size: usize,
}

// SAFETY: the mapping is memory that others use, too; who touches it obeys a protocol, whatever thread it is on.
unsafe impl Send for Mapping {}
// SAFETY: shared use hands out an address only.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps all of what [`create`] made.
    ///
    /// # Errors
    /// What the kernel says; `InvalidInput` if the descriptor is not that of sealed memory: its size could change, and
    /// an access behind its end would kill the process.
    pub fn of(fd: BorrowedFd<'_>) -> io::Result<Self> {
        Self::aligned(fd, 1)
    }

    /// As [`Mapping::of`], at a multiple of `alignment`, a power of two.
    ///
    /// # Errors
    /// As there.
    pub fn aligned(fd: BorrowedFd<'_>, alignment: usize) -> io::Result<Self> {
        let refused = |why| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        // SAFETY: no pointers are passed.
        let seals = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GET_SEALS) };
        if seals < 0 || seals & SEALS != SEALS {
            return refused("the descriptor is not that of memory of fixed size");
        }
        // SAFETY: all zero is a valid `stat`, and `fstat` writes to it.
        let mut stat = unsafe { core::mem::zeroed::<libc::stat>() };
        // SAFETY: `stat` has room for what the kernel writes.
        if unsafe { libc::fstat(fd.as_raw_fd(), &mut stat) } != 0 {
            return Err(io::Error::last_os_error());
        }
        if stat.st_size <= 0 {
            return refused("the memory is empty");
        }
        let size = stat.st_size as usize;
        if alignment <= memory::page_size() {
            // SAFETY: a place of the kernel's choice touches nothing that exists.
            return unsafe { Self::at(core::ptr::null_mut(), size, fd) };
        }
        let wrong = || io::Error::from(io::ErrorKind::OutOfMemory);
        let reserved = size.checked_add(alignment).ok_or_else(wrong)?;
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
        let room = unsafe { map(core::ptr::null_mut(), reserved, libc::PROT_NONE, ANYWHERE, -1)? };
        let before = room.as_ptr().align_offset(alignment);
        let end = (before + size).next_multiple_of(memory::page_size()).min(reserved);
        let start = room.as_ptr().wrapping_add(before);
        // SAFETY: the room is this function's own, and as large as what goes there; nothing of its rest is used.
        unsafe {
            let mapping = Self::at(start, size, fd);
            if mapping.is_err() {
                libc::munmap(room.as_ptr().cast(), reserved);
                return mapping;
            }
            libc::munmap(room.as_ptr().cast(), before);
            libc::munmap(room.as_ptr().wrapping_add(end).cast(), reserved - end);
            mapping
        }
    }

    /// Maps memory at a place, or where the kernel likes.
    ///
    /// # Safety
    /// The place is null, or there is room for so many bytes that is the caller's.
    unsafe fn at(place: *mut u8, size: usize, fd: BorrowedFd<'_>) -> io::Result<Self> {
        let flags = libc::MAP_SHARED | if place.is_null() { 0 } else { libc::MAP_FIXED };
        // SAFETY: the caller's promise.
        let address = unsafe { map(place, size, ACCESS, flags, fd.as_raw_fd())? };
        Ok(Self { address, size })
    }

    /// Asks for huge pages; where they are not allowed nothing changes.
    pub fn prefer_huge_pages(&self) {
        // SAFETY: advice on our own mapping.
        unsafe { libc::madvise(self.address.as_ptr().cast(), self.size, libc::MADV_HUGEPAGE) };
    }

    /// Returns the address of the first byte, which is at the start of a page.
    pub fn address(&self) -> *mut u8 {
        self.address.as_ptr()
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> usize {
        self.size
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours; the owner drops it when nothing points into it.
        unsafe { libc::munmap(self.address.as_ptr().cast(), self.size) };
    }
}

/// Sleeps while a word that processes share holds `expected`; else as [`futex::wait_for`].
pub fn wait_for(word: &AtomicU32, expected: u32, timeout: Option<Duration>) -> bool {
    futex::wait_on(word, expected, timeout, 0)
}

/// Wakes up to `count` sleepers, of whatever process, of a word that processes share.
pub fn wake(word: &AtomicU32, count: u32) {
    futex::wake_on(word, count, 0);
}

/// Asks the kernel for [`barrier_of_all`], and to be part of that of others. Returns false where it is missing (before
/// Linux 4.16, some sandboxes).
pub fn register_barrier_of_all() -> bool {
    // SAFETY: no pointers are passed.
    unsafe { libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0 }
}

/// Makes every running thread of every process that has registered pass a full memory barrier.
pub fn barrier_of_all() {
    // SAFETY: no pointers are passed.
    unsafe { libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) };
}

/// Lets `process` and its descendants read the memory of this process, where the Yama module would let only ancestors do
/// that (`kernel.yama.ptrace_scope` is 1). Does nothing elsewhere.
pub fn permit_descendants_of(process: u32) {
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope");
    if scope.is_ok_and(|scope| scope.trim() == "1") {
        // SAFETY: no pointers are passed.
        unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::c_ulong::from(process), 0, 0, 0) };
    }
}

/// Copies memory of another process.
///
/// # Errors
/// What the kernel says: EPERM or ENOSYS where it is forbidden, ESRCH if the process is gone, EFAULT if its memory is not
/// there (`UnexpectedEof` if only part of it is).
///
/// # Safety
/// `target` is writable for `bytes` bytes.
pub unsafe fn read_process(process: u32, address: u64, target: *mut u8, bytes: usize) -> io::Result<()> {
    let mut done = 0;
    while done < bytes {
        let local = libc::iovec {
            // SAFETY: `done` is less than `bytes`.
            iov_base: unsafe { target.add(done) }.cast(),
            iov_len: bytes - done,
        };
        let remote = libc::iovec { iov_base: (address as usize + done) as *mut _, iov_len: bytes - done };
        // SAFETY: the local part is writable; the kernel checks the other.
        let result = unsafe { libc::process_vm_readv(process as libc::pid_t, &local, 1, &remote, 1, 0) };
        match result {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n if n > 0 => done += n as usize,
            _ => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
    Ok(())
}

/// Which process a number means: numbers are used again, start times are not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identity {
    /// The process's number.
    pub process: u32,
    /// When it started, in ticks since the system did; 0 if that is not to be seen.
    pub started: u64,
}

impl Identity {
    /// Returns that of this process.
    pub fn own() -> Self {
        let process = std::process::id();
        Self { process, started: started(process).unwrap_or(0) }
    }

    /// Tells whether the process lives. One whose remains wait to be collected does not.
    pub fn lives(&self) -> bool {
        match started(self.process) {
            Some(started) => self.started == 0 || self.started == started,
            // SAFETY: signal 0 sends none.
            None if self.started == 0 => unsafe {
                libc::kill(self.process as libc::pid_t, 0) == 0
                    || io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
            },
            None => false,
        }
    }
}

/// Returns when a process started, if it is there and not dead.
fn started(process: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The command in parentheses may hold anything, so look after the last one.
    let mut fields = text.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    if matches!(state, "Z" | "X" | "x") { None } else { fields.nth(18)?.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn memory_is_shared_between_mappings() {
        let fd = create(c"test", 8192).unwrap();
        let (one, other) = (Mapping::of(fd.as_fd()).unwrap(), Mapping::of(fd.as_fd()).unwrap());
        assert_eq!((one.size(), other.size()), (8192, 8192));
        // SAFETY: both are mappings of that size.
        unsafe {
            one.address().add(5000).write_volatile(7);
            assert_eq!(other.address().add(5000).read_volatile(), 7);
        }
    }

    #[test]
    fn memory_lies_where_it_is_wanted() {
        let fd = create(c"test", 12288).unwrap();
        for alignment in [1, 64, 4096, 1 << 16, 1 << 21] {
            let memory = Mapping::aligned(fd.as_fd(), alignment).unwrap();
            assert!((memory.address() as usize).is_multiple_of(alignment));
            // SAFETY: the last byte of the mapping.
            unsafe { memory.address().add(12287).write_volatile(1) };
        }
        assert!(is_affordable(4096) && !is_affordable(1 << 62));
    }

    #[test]
    fn memory_whose_size_may_change_is_refused() {
        let fd = crate::memory::anonymous_file(c"test").unwrap();
        assert_eq!(Mapping::of(fd.as_fd()).err().map(|e| e.kind()), Some(io::ErrorKind::InvalidInput));
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        assert_eq!(Mapping::of(file.as_fd()).err().map(|e| e.kind()), Some(io::ErrorKind::InvalidInput));
    }

    #[test]
    fn this_process_lives_and_another_start_time_does_not() {
        let own = Identity::own();
        assert!(own.lives());
        assert!(!Identity { started: own.started + 1, ..own }.lives());
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let id = Identity { process: child.id(), started: started(child.id()).unwrap_or(1) };
        child.wait().unwrap();
        assert!(!id.lives());
    }
}
