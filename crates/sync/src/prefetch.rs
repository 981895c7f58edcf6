//! Hints to fetch a cache line early. They change nothing but time, and any address may be given.
#![allow(unsafe_code)] // Instructions without an intrinsic for every processor.

/// Fetches the line at the beginning of `place`, to be read soon.
#[inline(always)]
pub fn for_reading<T>(place: &T) {
    // SAFETY: a hint; it accesses no memory as far as the program can tell.
    #[cfg(all(target_arch = "x86_64", not(miri), not(loom)))]
    unsafe {
        core::arch::asm!("prefetcht0 [{}]", in(reg) place, options(nostack, preserves_flags, readonly));
    }
    // SAFETY: `prfm` is a hint, too.
    #[cfg(all(target_arch = "aarch64", not(miri), not(loom)))]
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{}]", in(reg) place, options(nostack, preserves_flags, readonly));
    }
    let _ = place;
}

/// Fetches the line at an address, if there is memory, to be read or written soon.
#[inline(always)]
pub fn address(address: usize) {
    // SAFETY: a hint; it accesses no memory as far as the program can tell.
    #[cfg(all(target_arch = "x86_64", not(miri), not(loom)))]
    unsafe {
        core::arch::asm!("prefetcht0 [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    // SAFETY: `prfm` faults at no address.
    #[cfg(all(target_arch = "aarch64", not(miri), not(loom)))]
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    let _ = address;
}

/// Fetches the line at the beginning of `place` and takes it away from other cores, to be written soon.
#[inline(always)]
pub fn for_writing<T>(place: &T) {
    // SAFETY: a hint; it accesses no memory as far as the program can tell.
    #[cfg(all(target_arch = "x86_64", not(miri), not(loom)))]
    unsafe {
        core::arch::asm!("prefetchw [{}]", in(reg) place, options(nostack, preserves_flags, readonly));
    }
    // SAFETY: `prfm` for writing changes no memory.
    #[cfg(all(target_arch = "aarch64", not(miri), not(loom)))]
    unsafe {
        core::arch::asm!("prfm pstl1keep, [{}]", in(reg) place, options(nostack, preserves_flags, readonly));
    }
    let _ = place;
}
