//! Memory maps.
#![allow(unsafe_code)] // The kernel's memory interface is addresses.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::ptr::NonNull;

/// Returns the size of a page.
pub fn page_size() -> usize {
    // SAFETY: no preconditions.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// Asks the kernel for guard markers (Linux 6.13).
const MADV_GUARD_INSTALL: libc::c_int = 102;

/// Tells whether [`Region::guard`] splits a mapping into several.
pub fn guards_split() -> bool {
    static SPLIT: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *SPLIT.get_or_init(|| {
        let Ok(region) = Region::reserve(page_size()) else { return true };
        // SAFETY: a mapping of our own that nobody uses.
        unsafe { libc::madvise(region.address.as_ptr().cast(), region.size, MADV_GUARD_INSTALL) != 0 }
    })
}

/// A private anonymous region, unmapped on drop.
pub struct Region {
    address: NonNull<u8>,
    size: usize,
}

// SAFETY: the region is plain memory that nobody else knows.
unsafe impl Send for Region {}
// SAFETY: shared use hands out an address only.
unsafe impl Sync for Region {}

impl Region {
    /// Maps `size` bytes, zero, without reserving memory for them, in small pages.
    ///
    /// # Errors
    /// What the kernel says (usually ENOMEM).
    pub fn reserve(size: usize) -> io::Result<Self> {
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
        let address = unsafe {
            libc::mmap(
                core::ptr::null_mut(),
                size,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK,
                -1,
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: advice on our own new mapping. Huge pages would make a page touched cost two megabytes.
        unsafe { libc::madvise(address, size, libc::MADV_NOHUGEPAGE) };
        Ok(Self { address: NonNull::new(address.cast()).expect("mmap never returns null"), size })
    }

    /// Lets code run from all of it. To be called before parts are made to fault.
    ///
    /// # Errors
    /// What the kernel says (EACCES where a policy forbids memory that is writable and executable).
    pub fn allow_execution(&self) -> io::Result<()> {
        let access = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        // SAFETY: our own mapping; no access that was allowed is taken away.
        match unsafe { libc::mprotect(self.address.as_ptr().cast(), self.size, access) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Returns the address of the first byte.
    pub fn address(&self) -> usize {
        self.address.as_ptr() as usize
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Makes `size` bytes at `offset` fault on access. Uses guard markers, which do not split the mapping
    /// (Linux 6.13), or else protection, which does and so counts against `vm.max_map_count`.
    ///
    /// # Errors
    /// What the kernel says.
    ///
    /// # Panics
    /// If the range is not inside the region.
    pub fn guard(&self, offset: usize, size: usize) -> io::Result<()> {
        assert!(offset.checked_add(size).is_some_and(|end| end <= self.size));
        let address = (self.address() + offset) as *mut libc::c_void;
        // SAFETY: the range is inside our own mapping; whoever uses the region knows where its guards are.
        unsafe {
            if libc::madvise(address, size, MADV_GUARD_INSTALL) == 0
                || libc::mprotect(address, size, libc::PROT_NONE) == 0
            {
                return Ok(());
            }
        }
        Err(io::Error::last_os_error())
    }

    /// Gives the pages of a range back to the kernel; they read as zero afterwards.
    ///
    /// # Safety
    /// Nothing in the range is in use.
    pub unsafe fn discard(&self, offset: usize, size: usize) {
        assert!(offset.checked_add(size).is_some_and(|end| end <= self.size));
        // SAFETY: the caller says that the contents are no longer needed.
        unsafe { libc::madvise((self.address() + offset) as *mut _, size, libc::MADV_DONTNEED) };
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours; the owner drops it when nothing points into it.
        unsafe { libc::munmap(self.address.as_ptr().cast(), self.size) };
    }
}

/// Creates an anonymous file that lives in memory and is closed on exec.
///
/// # Errors
/// What the kernel says.
pub fn anonymous_file(name: &std::ffi::CStr) -> io::Result<OwnedFd> {
    // SAFETY: the name is a C string.
    let fd = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
