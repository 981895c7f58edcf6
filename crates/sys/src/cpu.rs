//! Affinity and processor capabilities.
#![allow(unsafe_code)] // The affinity calls take a pointer to a bit set of ours.

use std::io;

/// Returns the numbers of the processors the calling kernel thread may use.
///
/// # Errors
/// What the kernel says.
pub fn affinity() -> io::Result<Vec<usize>> {
    let mut set = [0u64; 1024 / 8];
    // SAFETY: the kernel writes at most the size given into `set`. Pid 0 is the calling thread.
    let bytes = unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, size_of_val(&set), set.as_mut_ptr()) };
    if bytes < 0 {
        return Err(io::Error::last_os_error());
    }
    let bits = bytes as usize * 8;
    Ok((0..bits).filter(|&i| set[i / 64] >> (i % 64) & 1 == 1).collect())
}

/// Binds the calling kernel thread to the given processors.
///
/// # Errors
/// What the kernel says: for instance no processor of the list is allowed.
pub fn bind(processors: &[usize]) -> io::Result<()> {
    let mut set = [0u64; 1024 / 8];
    for &p in processors {
        if let Some(word) = set.get_mut(p / 64) {
            *word |= 1 << (p % 64);
        }
    }
    // SAFETY: the kernel reads the size given from `set`. Pid 0 is the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, size_of_val(&set), set.as_ptr()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Tells whether user code may change the thread pointer by an instruction: `wrfsbase` on x86-64, where the kernel
/// says so in bit 1 of AT_HWCAP2 (Linux 5.9); always on aarch64.
pub fn can_switch_thread_pointer() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        const FSGSBASE: libc::c_ulong = 2;
        // SAFETY: getauxval has no preconditions.
        unsafe { libc::getauxval(libc::AT_HWCAP2) & FSGSBASE != 0 }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        cfg!(target_arch = "aarch64")
    }
}

/// Gives the processor to another kernel thread that is ready.
#[inline]
pub fn yield_core() {
    // Not by the C library's function: after a turn of another process each page takes up to 150 ns to reach, and that
    // lies in one more, as does its address.
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the call has no arguments; the kernel keeps all registers but these.
    unsafe {
        core::arch::asm!(
            "syscall",
            inout("rax") libc::SYS_sched_yield => _,
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: no preconditions.
    unsafe {
        libc::sched_yield()
    };
}

/// Asks the kernel for [`global_barrier`]. Returns false where it is missing (before Linux 4.14, some sandboxes).
pub fn register_global_barrier() -> bool {
    // SAFETY: no pointers are passed.
    unsafe { libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 }
}

/// Makes every running thread of the process pass a full memory barrier. A few microseconds.
pub fn global_barrier() {
    // SAFETY: no pointers are passed.
    unsafe { libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) };
}
