//! A rank's process number: that of its own kernel thread, which no other process, thread or rank of the host has.
//!
//! The kernel takes a thread's number where it wants a process's (`kill`, `getpgid`, `/proc/NUMBER`), and gives it to
//! nobody else while the thread is there: as long as the rank.
#![allow(unsafe_code)] // Asks the C library for a number.

/// Returns the kernel's number of the thread that belongs to the calling thread of control. In a rank that workers run,
/// the kernel would name the worker.
pub fn own_number() -> Option<i32> {
    let mut clock = 0;
    // SAFETY: a place on this stack, and the calling thread itself.
    let error = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) };
    // The clock of a thread is its number, inverted, above three bits that say what is measured.
    (error == 0).then_some(!(clock >> 3)).filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_the_kernels() {
        let kernels = || i32::try_from(weft_sys::process::kernel_thread_id()).unwrap();
        assert_eq!(own_number(), Some(kernels()));
        assert!(std::thread::spawn(move || own_number() == Some(kernels())).join().unwrap());
    }
}
