//! What takes a descriptor: 0, 1 and 2 are the rank's own.
//!
//! These functions stand in the copies' tables instead of libc's (`redirects.list`). Each calls the function of libc's
//! name, which may be one that weft-node exports.
#![allow(clashing_extern_declarations)] // One function, declared with the types that matter where it is called.

use core::ffi::{c_char, c_int, c_long, c_short, c_uint, c_void};
use weft_node::descriptors::COUNT;
use weft_node::state;

/// Returns the descriptor that a number of the calling rank stands for.
#[inline]
pub fn real(number: c_int) -> c_int {
    if number as c_uint >= COUNT as c_uint {
        return number;
    }
    state::current().map_or(number, |rank| rank.streams.descriptors.real(number))
}

/// Defines functions whose first argument is a descriptor: each passes everything on, with the rank's own one.
macro_rules! by_descriptor {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        mod original {
            use super::*;
            unsafe extern "C" { $(pub fn $name(fd: c_int, $($argument: $type),*) -> $result;)* }
        }
        $(
            #[unsafe(export_name = concat!("rank_", stringify!($name)))]
            unsafe extern "C" fn $name(fd: c_int, $($argument: $type),*) -> $result {
                // SAFETY: the caller's own arguments, and what its descriptor stands for.
                unsafe { original::$name(real(fd), $($argument),*) }
            }
        )*
    };
}

type Bytes = *mut c_void;
type Parts = *const libc::iovec;

by_descriptor! {
    read(buffer: Bytes, size: usize) -> isize;
    write(buffer: Bytes, size: usize) -> isize;
    readv(parts: Parts, count: c_int) -> isize;
    writev(parts: Parts, count: c_int) -> isize;
    pread(buffer: Bytes, size: usize, at: i64) -> isize;
    pread64(buffer: Bytes, size: usize, at: i64) -> isize;
    pwrite(buffer: Bytes, size: usize, at: i64) -> isize;
    pwrite64(buffer: Bytes, size: usize, at: i64) -> isize;
    preadv(parts: Parts, count: c_int, at: i64) -> isize;
    preadv64(parts: Parts, count: c_int, at: i64) -> isize;
    pwritev(parts: Parts, count: c_int, at: i64) -> isize;
    pwritev64(parts: Parts, count: c_int, at: i64) -> isize;
    preadv2(parts: Parts, count: c_int, at: i64, flags: c_int) -> isize;
    preadv64v2(parts: Parts, count: c_int, at: i64, flags: c_int) -> isize;
    pwritev2(parts: Parts, count: c_int, at: i64, flags: c_int) -> isize;
    pwritev64v2(parts: Parts, count: c_int, at: i64, flags: c_int) -> isize;
    __read_chk(buffer: Bytes, size: usize, room: usize) -> isize;
    __pread_chk(buffer: Bytes, size: usize, at: i64, room: usize) -> isize;
    __pread64_chk(buffer: Bytes, size: usize, at: i64, room: usize) -> isize;
    recv(buffer: Bytes, size: usize, flags: c_int) -> isize;
    __recv_chk(buffer: Bytes, size: usize, room: usize, flags: c_int) -> isize;
    send(buffer: Bytes, size: usize, flags: c_int) -> isize;
    shutdown(how: c_int) -> c_int;
    getsockname(address: Bytes, length: Bytes) -> c_int;
    getpeername(address: Bytes, length: Bytes) -> c_int;
    getsockopt(level: c_int, option: c_int, value: Bytes, length: Bytes) -> c_int;
    setsockopt(level: c_int, option: c_int, value: Bytes, length: c_uint) -> c_int;
    fsync() -> c_int;
    fdatasync() -> c_int;
    syncfs() -> c_int;
    fstat(status: Bytes) -> c_int;
    fstat64(status: Bytes) -> c_int;
    fstatfs(status: Bytes) -> c_int;
    fstatfs64(status: Bytes) -> c_int;
    fstatvfs(status: Bytes) -> c_int;
    fstatvfs64(status: Bytes) -> c_int;
    fchmod(mode: c_uint) -> c_int;
    fchown(user: c_uint, group: c_uint) -> c_int;
    futimens(times: Bytes) -> c_int;
    futimes(times: Bytes) -> c_int;
    fpathconf(name: c_int) -> c_long;
    isatty() -> c_int;
    ttyname() -> *mut c_char;
    ttyname_r(buffer: *mut c_char, size: usize) -> c_int;
    tcgetattr(settings: Bytes) -> c_int;
    tcsetattr(when: c_int, settings: Bytes) -> c_int;
    tcgetpgrp() -> c_int;
    tcsetpgrp(group: c_int) -> c_int;
    tcgetsid() -> c_int;
    tcdrain() -> c_int;
    tcflush(queue: c_int) -> c_int;
    tcflow(action: c_int) -> c_int;
    tcsendbreak(duration: c_int) -> c_int;
    ioctl(request: usize, argument: usize) -> c_int;
    lseek(at: i64, from: c_int) -> i64;
    lseek64(at: i64, from: c_int) -> i64;
    ftruncate(length: i64) -> c_int;
    ftruncate64(length: i64) -> c_int;
    fallocate(mode: c_int, at: i64, length: i64) -> c_int;
    fallocate64(mode: c_int, at: i64, length: i64) -> c_int;
    posix_fallocate(at: i64, length: i64) -> c_int;
    posix_fallocate64(at: i64, length: i64) -> c_int;
    posix_fadvise(at: i64, length: i64, advice: c_int) -> c_int;
    posix_fadvise64(at: i64, length: i64, advice: c_int) -> c_int;
    flock(operation: c_int) -> c_int;
    lockf(command: c_int, length: i64) -> c_int;
    lockf64(command: c_int, length: i64) -> c_int;
    fgetxattr(name: *const c_char, value: Bytes, size: usize) -> isize;
    fsetxattr(name: *const c_char, value: Bytes, size: usize, flags: c_int) -> c_int;
    vmsplice(parts: Parts, count: usize, flags: c_uint) -> isize;
    recvfrom(buffer: Bytes, size: usize, flags: c_int, address: Bytes, length: Bytes) -> isize;
    sendto(buffer: Bytes, size: usize, flags: c_int, address: Bytes, length: c_uint) -> isize;
    recvmsg(message: Bytes, flags: c_int) -> isize;
    sendmsg(message: Bytes, flags: c_int) -> isize;
    readahead(at: i64, count: usize) -> isize;
}

/// Functions with the descriptor elsewhere, or with two.
mod others {
    use super::*;

    mod original {
        use super::*;
        unsafe extern "C" {
            pub fn sendfile(to: c_int, from: c_int, at: *mut i64, count: usize) -> isize;
            pub fn splice(
                from: c_int,
                at: *mut i64,
                to: c_int,
                to_at: *mut i64,
                length: usize,
                flags: c_uint,
            ) -> isize;
            pub fn tee(from: c_int, to: c_int, length: usize, flags: c_uint) -> isize;
            pub fn copy_file_range(
                from: c_int,
                at: *mut i64,
                to: c_int,
                to_at: *mut i64,
                length: usize,
                flags: c_uint,
            ) -> isize;
            pub fn __fxstat(version: c_int, fd: c_int, status: Bytes) -> c_int;
            pub fn epoll_ctl(epoll: c_int, operation: c_int, fd: c_int, event: Bytes) -> c_int;
            pub fn backtrace_symbols_fd(addresses: Bytes, count: c_int, fd: c_int);
        }
    }

    /// Copies between files.
    #[unsafe(export_name = "rank_sendfile")]
    unsafe extern "C" fn sendfile(to: c_int, from: c_int, at: *mut i64, count: usize) -> isize {
        // SAFETY: the caller's own arguments, with the rank's descriptors.
        unsafe { original::sendfile(real(to), real(from), at, count) }
    }

    /// Copies between files.
    #[unsafe(export_name = "rank_sendfile64")]
    unsafe extern "C" fn sendfile64(to: c_int, from: c_int, at: *mut i64, count: usize) -> isize {
        // SAFETY: `sendfile64` has the arguments of `sendfile` where files are large.
        unsafe { original::sendfile(real(to), real(from), at, count) }
    }

    /// Moves data to or from a pipe.
    #[unsafe(export_name = "rank_splice")]
    unsafe extern "C" fn splice(
        from: c_int,
        at: *mut i64,
        to: c_int,
        to_at: *mut i64,
        length: usize,
        flags: c_uint,
    ) -> isize {
        // SAFETY: the caller's own pipe and places, with the rank's descriptors.
        unsafe { original::splice(real(from), at, real(to), to_at, length, flags) }
    }

    /// Copies between pipes.
    #[unsafe(export_name = "rank_tee")]
    unsafe extern "C" fn tee(from: c_int, to: c_int, length: usize, flags: c_uint) -> isize {
        // SAFETY: no pointer is passed.
        unsafe { original::tee(real(from), real(to), length, flags) }
    }

    /// Copies between files.
    #[unsafe(export_name = "rank_copy_file_range")]
    unsafe extern "C" fn copy_file_range(
        from: c_int,
        at: *mut i64,
        to: c_int,
        to_at: *mut i64,
        length: usize,
        flags: c_uint,
    ) -> isize {
        // SAFETY: the caller's own places, with the rank's descriptors.
        unsafe { original::copy_file_range(real(from), at, real(to), to_at, length, flags) }
    }

    /// Tells what a file is, in programs built with an older libc.
    #[unsafe(export_name = "rank___fxstat")]
    unsafe extern "C" fn fxstat(version: c_int, fd: c_int, status: Bytes) -> c_int {
        // SAFETY: the caller's own memory for the status, of the version it names.
        unsafe { original::__fxstat(version, real(fd), status) }
    }

    /// Tells what a file is, in programs built with an older libc.
    #[unsafe(export_name = "rank___fxstat64")]
    unsafe extern "C" fn fxstat64(version: c_int, fd: c_int, status: Bytes) -> c_int {
        // SAFETY: a status of this version has one layout where files are large.
        unsafe { original::__fxstat(version, real(fd), status) }
    }

    /// Watches a descriptor.
    #[unsafe(export_name = "rank_epoll_ctl")]
    unsafe extern "C" fn epoll_ctl(epoll: c_int, operation: c_int, fd: c_int, event: Bytes) -> c_int {
        // SAFETY: the caller's own event; the number of the instance is the process's.
        unsafe { original::epoll_ctl(epoll, operation, real(fd), event) }
    }

    /// Prints a stack.
    #[unsafe(export_name = "rank_backtrace_symbols_fd")]
    unsafe extern "C" fn backtrace_symbols_fd(addresses: Bytes, count: c_int, fd: c_int) {
        // SAFETY: the caller's own list of addresses, which is as long as it says.
        unsafe { original::backtrace_symbols_fd(addresses, count, real(fd)) }
    }
}

/// Waiting for several descriptors.
mod several {
    use super::*;
    use libc::{pollfd, sigset_t, timespec, timeval};

    mod original {
        use super::*;
        unsafe extern "C" {
            pub fn poll(sources: *mut pollfd, count: usize, timeout: c_int) -> c_int;
            pub fn ppoll(
                sources: *mut pollfd,
                count: usize,
                timeout: *const timespec,
                mask: *const sigset_t,
            ) -> c_int;
            pub fn select(
                count: c_int,
                read: *mut u64,
                write: *mut u64,
                special: *mut u64,
                timeout: *mut timeval,
            ) -> c_int;
            pub fn pselect(
                count: c_int,
                read: *mut u64,
                write: *mut u64,
                special: *mut u64,
                timeout: *const timespec,
                mask: *const sigset_t,
            ) -> c_int;
        }
    }

    /// Polls what the caller's descriptors stand for.
    ///
    /// # Safety
    /// `sources` are `count` entries.
    unsafe fn with_real(
        sources: *mut pollfd,
        count: usize,
        poll: impl FnOnce(*mut pollfd) -> c_int,
    ) -> c_int {
        if sources.is_null() || count == 0 {
            return poll(sources);
        }
        // SAFETY: the caller's promise.
        let given = unsafe { core::slice::from_raw_parts_mut(sources, count) };
        let changes =
            |source: &pollfd| (0..COUNT as c_int).contains(&source.fd) && real(source.fd) != source.fd;
        if !given.iter().any(changes) {
            return poll(sources);
        }
        // A closed number is one that no process has.
        let open = |fd| if fd >= 0 && real(fd) < 0 { c_int::MAX } else { real(fd) };
        let mut own: Vec<pollfd> =
            given.iter().map(|source| pollfd { fd: open(source.fd), ..*source }).collect();
        let result = poll(own.as_mut_ptr());
        for (given, own) in given.iter_mut().zip(own) {
            given.revents = own.revents as c_short;
        }
        result
    }

    /// Waits for descriptors.
    #[unsafe(export_name = "rank_poll")]
    unsafe extern "C" fn poll(sources: *mut pollfd, count: usize, timeout: c_int) -> c_int {
        // SAFETY: the caller's own arguments; the list is as long as `count` says.
        unsafe { with_real(sources, count, |sources| original::poll(sources, count, timeout)) }
    }

    /// Waits for descriptors.
    #[unsafe(export_name = "rank___poll_chk")]
    unsafe extern "C" fn poll_checked(
        sources: *mut pollfd,
        count: usize,
        timeout: c_int,
        _room: usize,
    ) -> c_int {
        // SAFETY: the caller's own list; libc's check of its room was the program's compiler's.
        unsafe { with_real(sources, count, |sources| original::poll(sources, count, timeout)) }
    }

    /// Waits for descriptors.
    #[unsafe(export_name = "rank_ppoll")]
    unsafe extern "C" fn ppoll(
        sources: *mut pollfd,
        count: usize,
        timeout: *const timespec,
        mask: *const sigset_t,
    ) -> c_int {
        // SAFETY: the caller's own list, time and set of signals.
        unsafe { with_real(sources, count, |sources| original::ppoll(sources, count, timeout, mask)) }
    }

    /// A set of descriptors, as long as it must be.
    type Set = Vec<u64>;

    /// Calls `select` with sets of what the caller's descriptors stand for.
    ///
    /// # Safety
    /// The sets are null or hold `count` bits.
    unsafe fn with_real_sets(
        count: c_int,
        sets: [*mut u64; 3],
        select: impl FnOnce(c_int, [*mut u64; 3]) -> c_int,
    ) -> c_int {
        let own = (0..count.min(COUNT as c_int)).filter(|&fd| real(fd) != fd);
        let holds = |set: *mut u64, fd: c_int| {
            // SAFETY: the caller's promise.
            !set.is_null() && unsafe { *set } & (1 << fd) != 0
        };
        let moved: Vec<(c_int, c_int)> =
            own.filter(|&fd| sets.iter().any(|&set| holds(set, fd))).map(|fd| (fd, real(fd))).collect();
        if moved.is_empty() {
            return select(count, sets);
        }
        if moved.iter().any(|(_, real)| *real < 0) {
            // SAFETY: the calling thread's own `errno`.
            unsafe { *libc::__errno_location() = libc::EBADF };
            return -1;
        }
        let highest = moved.iter().fold(count, |highest, (_, real)| highest.max(real + 1));
        // The kernel reads whole words of 64 bits, the caller's sets have at least as many.
        let words = |bits: c_int| bits as usize / 64 + usize::from(bits % 64 != 0);
        let mut copies: [Set; 3] = sets.map(|set| {
            let mut copy = vec![0; words(highest)];
            if !set.is_null() {
                // SAFETY: the caller's promise.
                copy[..words(count)]
                    .copy_from_slice(unsafe { core::slice::from_raw_parts(set, words(count)) });
            }
            copy
        });
        let place = |fd: c_int| (fd as usize / 64, 1_u64 << (fd % 64));
        for (copy, set) in copies.iter_mut().zip(sets) {
            for &(fd, real) in &moved {
                copy[0] &= !(1 << fd);
                if holds(set, fd) {
                    copy[place(real).0] |= place(real).1;
                }
            }
        }
        let mut pointers = [core::ptr::null_mut(); 3];
        for ((pointer, copy), set) in pointers.iter_mut().zip(&mut copies).zip(sets) {
            *pointer = if set.is_null() { core::ptr::null_mut() } else { copy.as_mut_ptr() };
        }
        let result = select(highest, pointers);
        if result >= 0 {
            for (copy, set) in copies.iter().zip(sets).filter(|(_, set)| !set.is_null()) {
                let mut first = copy[0];
                for &(fd, real) in &moved {
                    let is_ready = copy[place(real).0] & place(real).1 != 0;
                    first = first & !(1 << fd) | u64::from(is_ready) << fd;
                }
                // SAFETY: the caller's promise.
                unsafe {
                    let set = core::slice::from_raw_parts_mut(set, words(count));
                    set.copy_from_slice(&copy[..words(count)]);
                    set[0] = first;
                }
            }
        }
        result
    }

    /// Waits for descriptors.
    #[unsafe(export_name = "rank_select")]
    unsafe extern "C" fn select(
        count: c_int,
        read: *mut u64,
        write: *mut u64,
        special: *mut u64,
        timeout: *mut timeval,
    ) -> c_int {
        // SAFETY: the caller's own sets and time; the sets have room for `count` descriptors, as `select` wants.
        unsafe {
            with_real_sets(count, [read, write, special], |count, [read, write, special]| {
                original::select(count, read, write, special, timeout)
            })
        }
    }

    /// Waits for descriptors.
    #[unsafe(export_name = "rank_pselect")]
    unsafe extern "C" fn pselect(
        count: c_int,
        read: *mut u64,
        write: *mut u64,
        special: *mut u64,
        timeout: *const timespec,
        mask: *const sigset_t,
    ) -> c_int {
        // SAFETY: the caller's own sets and time; the sets have room for `count` descriptors.
        unsafe {
            with_real_sets(count, [read, write, special], |count, [read, write, special]| {
                original::pselect(count, read, write, special, timeout, mask)
            })
        }
    }
}
