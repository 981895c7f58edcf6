//! What the kernel threads of this process sleep in, by `/proc/self/task`.
//!
//! A thread that sleeps at a futex without a limit in time, in memory that only this process has, is woken by another thread of
//! this process or by a signal, and by nothing else. Sleeps of all other kinds may end by themselves, or by others.
#![allow(unsafe_code)] // Asks the C library where a function of it is.

use std::fs;
use std::sync::OnceLock;

/// A sleep without a limit in time at a futex.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FutexSleep {
    /// Where the futex is.
    pub address: usize,
    /// What the thread saw there.
    pub expected: u32,
    /// Only threads of this process can wake the thread, wherever the futex is.
    is_private: bool,
    /// How often the thread has left its core; another number after it has been on one.
    pub switches: u64,
}

impl FutexSleep {
    /// Tells whether who sleeps has said that only threads of this process wake it.
    pub fn is_private(&self) -> bool {
        self.is_private
    }
}

/// What a kernel thread does, as far as it matters who could wake it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sleep {
    /// It has ended.
    Ended,
    /// It sleeps at a futex that it has not got to by the C library's `syscall`, as this library does.
    Futex(FutexSleep),
    /// It sleeps in something else; how often it has left its core.
    Else(u64),
    /// It runs, or cannot be looked at.
    Unknown,
}

/// Returns the numbers of all kernel threads of this process; none if they cannot be known.
pub fn ids() -> Vec<u32> {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return Vec::new() };
    tasks.flatten().filter_map(|task| task.file_name().to_str()?.parse().ok()).collect()
}

/// Returns the name of a kernel thread of this process; empty if it is gone.
pub fn name(id: u32) -> String {
    fs::read_to_string(format!("/proc/self/task/{id}/comm")).unwrap_or_default().trim_end().to_owned()
}

/// Returns what a kernel thread of this process does.
pub fn sleep(id: u32) -> Sleep {
    let read = |what| fs::read_to_string(format!("/proc/self/task/{id}/{what}"));
    let Ok(call) = read("syscall") else { return Sleep::Unknown };
    let Ok(status) = read("status") else { return Sleep::Unknown };
    let switches = switches(&status);
    let state = status.lines().find_map(|line| line.strip_prefix("State:")).unwrap_or_default().trim();
    match futex_wait(&call) {
        Some((address, expected, is_private, at)) if state.starts_with('S') && is_apart(at) => {
            Sleep::Futex(FutexSleep { address, expected, is_private, switches })
        }
        _ if state.starts_with('S') => Sleep::Else(switches),
        _ if state.starts_with(['Z', 'X']) => Sleep::Ended,
        _ => Sleep::Unknown,
    }
}

/// Tells whether an instruction is known not to be the C library's `syscall`.
fn is_apart(instruction: usize) -> bool {
    const LENGTH: usize = 128;
    static FUNCTION: OnceLock<usize> = OnceLock::new();
    let function = *FUNCTION.get_or_init(|| {
        // SAFETY: the C library is there already and stays; both names are C strings.
        unsafe {
            let library = libc::dlopen(c"libc.so.6".as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD);
            if library.is_null() { 0 } else { libc::dlsym(library, c"syscall".as_ptr()) as usize }
        }
    });
    function != 0 && !(function..function + LENGTH).contains(&instruction)
}

/// Tells whether only threads of this process can wake those who are in these sleeps.
pub fn are_private(sleeps: &[FutexSleep]) -> bool {
    let mut shared: Vec<usize> =
        sleeps.iter().filter(|sleep| !sleep.is_private).map(|sleep| sleep.address).collect();
    shared.sort_unstable();
    shared.dedup();
    shared.is_empty()
        || fs::read_to_string("/proc/self/maps").is_ok_and(|maps| {
            maps.lines()
                .filter_map(own_memory)
                .for_each(|(from, to)| shared.retain(|at| !(from..to).contains(at)));
            shared.is_empty()
        })
}

/// Tells whether the program has a handler for a signal that can come at any time, so that any sleep may end by one.
pub fn catches_signals() -> bool {
    fs::read_to_string("/proc/self/status")
        .map_or(true, |status| caught(&status).is_none_or(|caught| caught & !FAULTS != 0))
}

/// Signals that a thread gets because of what it does itself, and the two that the C library keeps for itself.
const FAULTS: u64 = {
    let signals = [
        libc::SIGSEGV,
        libc::SIGBUS,
        libc::SIGFPE,
        libc::SIGILL,
        libc::SIGABRT,
        libc::SIGTRAP,
        libc::SIGSYS,
        32,
        33,
    ];
    let (mut set, mut i) = (0, 0);
    while i < signals.len() {
        set |= 1 << (signals[i] - 1);
        i += 1;
    }
    set
};

fn caught(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

fn switches(status: &str) -> u64 {
    let counts = status.lines().filter(|line| line.contains("ctxt_switches:"));
    counts.filter_map(|line| line.rsplit_once(':')?.1.trim().parse::<u64>().ok()).sum()
}

/// Reads what the kernel tells of a thread's system call: the futex's address, the value that is expected there, whether
/// the futex is private, and where the thread goes on, if it waits at one without a limit in time.
fn futex_wait(call: &str) -> Option<(usize, u32, bool, usize)> {
    let mut words = call.split_ascii_whitespace();
    if words.next()?.parse::<i64>() != Ok(libc::SYS_futex) {
        return None;
    }
    let number = |word: &str| usize::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    let [address, operation, expected, limit] =
        [number(words.next()?)?, number(words.next()?)?, number(words.next()?)?, number(words.next()?)?];
    let operation = operation as i32;
    let waits = [libc::FUTEX_WAIT, libc::FUTEX_WAIT_BITSET]
        .contains(&(operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME)));
    let at = number(words.nth(3)?)?;
    (waits && limit == 0).then_some((address, expected as u32, operation & libc::FUTEX_PRIVATE_FLAG != 0, at))
}

/// Reads a line of `/proc/self/maps`: where the memory is, if only this process has it.
fn own_memory(line: &str) -> Option<(usize, usize)> {
    let mut words = line.split_ascii_whitespace();
    let (from, to) = words.next()?.split_once('-')?;
    let access = words.next()?;
    // A private page of a file that nobody has written to is still the file's.
    let is_own = access.starts_with("rw") && access.ends_with('p') && words.nth(2)? == "0";
    let number = |word| usize::from_str_radix(word, 16).ok();
    is_own.then_some((number(from)?, number(to)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::mpsc;
    use std::time::Duration;

    fn call(operation: i32, limit: usize) -> String {
        format!("{} 0x7f00 {operation:#x} 0x2a {limit:#x} 0x0 0xffffffff 0x7ffd 0x7faf", libc::SYS_futex)
    }

    #[test]
    fn only_sleeps_without_a_limit_count() {
        let private = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        assert_eq!(futex_wait(&call(private, 0)), Some((0x7f00, 0x2a, true, 0x7faf)));
        assert_eq!(
            futex_wait(&call(libc::FUTEX_WAIT_BITSET | libc::FUTEX_CLOCK_REALTIME, 0)),
            Some((0x7f00, 0x2a, false, 0x7faf))
        );
        assert_eq!(futex_wait(&call(private, 0x7ffd_0000)), None);
        assert_eq!(futex_wait(&call(libc::FUTEX_WAKE, 0)), None);
        for other in ["running\n", "-1 0x0 0x0\n", "0 0x3 0x7faf 0x20000 0x0 0x0 0x0 0x7ffc 0x7faf\n", ""] {
            assert_eq!(futex_wait(other), None, "{other:?}");
        }
    }

    #[test]
    fn memory_of_others_is_not_ones_own() {
        let own = "7f00-7f80 rw-p 00000000 00:00 0 ";
        assert_eq!(own_memory(own), Some((0x7f00, 0x7f80)));
        for other in [
            "7f00-7f80 rw-s 00000000 00:01 0 /dev/zero (deleted)",
            "7f00-7f80 rw-p 00000000 fe:01 1234 /usr/lib/libc.so.6",
            "7f00-7f80 r--p 00000000 00:00 0",
        ] {
            assert_eq!(own_memory(other), None, "{other}");
        }
    }

    #[test]
    fn handlers_of_faults_are_no_handlers_of_signals() {
        assert_eq!(caught("Name:\tx\nSigCgt:\t00000000000004f8\n"), Some(0x4f8));
        assert_eq!(0x0000_0000_8000_0440_u64 & !FAULTS, 0x8000_0000 & !FAULTS);
        assert_ne!((1 << (libc::SIGTERM - 1)) & !FAULTS, 0);
        assert_eq!((1 << (libc::SIGSEGV - 1)) & !FAULTS, 0);
        assert_eq!(switches("voluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t5\n"), 155);
    }

    #[test]
    fn a_thread_that_waits_for_another_is_seen_asleep() {
        extern "C" fn begin(pipe: *mut libc::c_void) -> *mut libc::c_void {
            let (id, mut byte) = (crate::process::kernel_thread_id(), 0u8);
            NUMBER.store(id, Ordering::SeqCst);
            // SAFETY: reads one byte.
            unsafe { libc::read(pipe as libc::c_int, (&raw mut byte).cast(), 1) };
            core::ptr::null_mut()
        }
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let (reader, mut writer) = std::io::pipe().unwrap();
        let (sender, numbers) = mpsc::channel();
        let joining = std::thread::spawn(move || {
            sender.send(crate::process::kernel_thread_id()).unwrap();
            // SAFETY: the thread ends before its arguments do.
            unsafe {
                let mut thread = core::mem::zeroed();
                let fd = reader.as_raw_fd() as *mut libc::c_void;
                assert_eq!(libc::pthread_create(&mut thread, core::ptr::null(), begin, fd), 0);
                libc::pthread_join(thread, core::ptr::null_mut());
            }
        });
        let id = numbers.recv().unwrap();
        let asleep = (0..5000).find_map(|_| {
            std::thread::sleep(Duration::from_millis(1));
            match sleep(id) {
                Sleep::Futex(seen) => Some(seen),
                _ => None,
            }
        });
        if let Some(seen) = asleep {
            assert_eq!(sleep(id), Sleep::Futex(seen));
            assert!(are_private(&[seen]));
            // Who joins may sleep before the other one has begun to run.
            while NUMBER.load(Ordering::SeqCst) == 0 {
                std::thread::yield_now();
            }
            assert_eq!(seen.expected, NUMBER.load(Ordering::SeqCst), "the thread that is joined");
            assert!(ids().contains(&id));
        } else {
            println!("skipped: what threads sleep in is not to be seen here");
        }
        assert_eq!(sleep(crate::process::kernel_thread_id()), Sleep::Unknown);
        writer.write_all(b"x").unwrap();
        joining.join().unwrap();
    }
}
