//! Clocks.
#![allow(unsafe_code)] // clock_gettime writes through a pointer; the counter is read by an instruction.

use core::sync::atomic::{AtomicU64, Ordering};

/// Returns the monotonic clock in nanoseconds.
#[inline]
pub fn now_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Returns the processor time used by the calling kernel thread in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Reads the processor's time stamp counter: cheap, without a unit; see [`ticks_per_us`].
#[inline]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every x86-64 processor has the instruction.
        unsafe { core::arch::x86_64::_rdtsc() }
    }
    #[cfg(target_arch = "aarch64")]
    {
        let value: u64;
        // SAFETY: Linux lets user code read the virtual counter.
        unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) value, options(nomem, nostack)) };
        value
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        now_ns()
    }
}

/// Returns how many [`ticks`] make a microsecond. The first call measures it for about 200 µs.
pub fn ticks_per_us() -> u64 {
    static RATE: AtomicU64 = AtomicU64::new(0);
    let known = RATE.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    let (time, count) = (now_ns(), ticks());
    while now_ns() - time < 200_000 {
        core::hint::spin_loop();
    }
    let rate = ((ticks() - count) * 1000 / (now_ns() - time)).max(1);
    RATE.store(rate, Ordering::Relaxed);
    rate
}
