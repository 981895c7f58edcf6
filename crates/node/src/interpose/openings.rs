//! What opens, closes and moves descriptors and streams: a rank's numbers 0, 1 and 2 behave as in a process of its own.
//!
//! As in `descriptors.rs`, these stand in the copies' tables; what a rank opens gets the lowest number that is free for it.
#![allow(clashing_extern_declarations)] // One function, declared with the types that matter where it is called.

use super::descriptors::real;
use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ffi::CString;
use weft_node::RankState;
use weft_node::descriptors::COUNT;
use weft_node::state;
use weft_node::streams::Stream;

type Address = *mut c_void;

mod original {
    use super::*;
    unsafe extern "C" {
        pub fn open(path: *const c_char, flags: c_int, ...) -> c_int;
        pub fn openat(folder: c_int, path: *const c_char, flags: c_int, ...) -> c_int;
        pub fn fcntl(fd: c_int, command: c_int, ...) -> c_int;
        pub fn close(fd: c_int) -> c_int;
        pub fn dup(fd: c_int) -> c_int;
        pub fn dup2(fd: c_int, to: c_int) -> c_int;
        pub fn dup3(fd: c_int, to: c_int, flags: c_int) -> c_int;
        pub fn pipe2(ends: *mut c_int, flags: c_int) -> c_int;
        pub fn socket(family: c_int, kind: c_int, protocol: c_int) -> c_int;
        pub fn socketpair(family: c_int, kind: c_int, protocol: c_int, ends: *mut c_int) -> c_int;
        pub fn accept(fd: c_int, address: Address, length: Address) -> c_int;
        pub fn accept4(fd: c_int, address: Address, length: Address, flags: c_int) -> c_int;
        pub fn mkstemp(template: *mut c_char) -> c_int;
        pub fn mkostemp(template: *mut c_char, flags: c_int) -> c_int;
        pub fn mkstemps(template: *mut c_char, suffix: c_int) -> c_int;
        pub fn fopen(path: *const c_char, mode: *const c_char) -> *mut Stream;
        pub fn freopen(path: *const c_char, mode: *const c_char, stream: *mut Stream) -> *mut Stream;
        pub fn fdopen(fd: c_int, mode: *const c_char) -> *mut Stream;
        pub fn tmpfile() -> *mut Stream;
        pub fn popen(command: *const c_char, mode: *const c_char) -> *mut Stream;
        pub fn pclose(stream: *mut Stream) -> c_int;
        pub fn open_memstream(text: *mut *mut c_char, size: *mut usize) -> *mut Stream;
        pub fn fclose(stream: *mut Stream) -> c_int;
        pub fn fileno(stream: *mut Stream) -> c_int;
        pub fn fflush(stream: *mut Stream) -> c_int;
    }
}

fn fail(error: c_int) -> c_int {
    // SAFETY: the calling thread's own `errno`.
    unsafe { *libc::__errno_location() = error };
    -1
}

/// Returns which of the rank's own numbers this is.
fn own(number: c_int) -> Option<usize> {
    usize::try_from(number).ok().filter(|number| *number < COUNT)
}

/// Gives what the calling rank has just opened its number.
fn number_for(fd: c_int) -> c_int {
    match state::current() {
        Some(rank) if fd >= 0 && rank.streams.descriptors.has_closed() => {
            rank.streams.change(|descriptors, _| descriptors.adopt(fd))
        }
        _ => fd,
    }
}

/// Passes a path on; where it names a number of the rank's own, what that stands for.
fn with_path<R>(path: *const c_char, call: impl FnOnce(*const c_char) -> R) -> R {
    // SAFETY: null or the caller's C string.
    let name = if path.is_null() { &[] } else { unsafe { CStr::from_ptr(path) }.to_bytes() };
    let number = match name {
        b"/dev/stdin" => Some(0),
        b"/dev/stdout" => Some(1),
        b"/dev/stderr" => Some(2),
        [b'/', b'd' | b'p', ..] => {
            let number = name.strip_prefix(b"/dev/fd/").or_else(|| name.strip_prefix(b"/proc/self/fd/"));
            match number {
                Some([digit @ b'0'..=b'2']) => Some(c_int::from(digit - b'0')),
                _ => None,
            }
        }
        _ => None,
    };
    match number.map(|number| (number, real(number))) {
        Some((number, fd)) if number != fd => {
            let path = CString::new(format!("/proc/self/fd/{fd}")).unwrap_or_default();
            call(path.as_ptr())
        }
        _ => match super::proc_files::shown(path) {
            Some(shown) => call(shown.path.as_ptr()),
            None => call(path),
        },
    }
}

/// Defines functions that open something with the caller's arguments.
macro_rules! opening {
    ($($name:literal: fn $rust:ident($($argument:ident: $type:ty),*) -> $result:ty $body:block)*) => {$(
        #[unsafe(export_name = concat!("rank_", $name))]
        unsafe extern "C" fn $rust($($argument: $type),*) -> $result {
            // SAFETY: libc's function of this name or kind, with the caller's own arguments.
            unsafe { $body }
        }
    )*};
}

// Integers that follow `...` travel as others do, on all machines we know.
opening! {
    "open": fn open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
        number_for(with_path(path, |path| original::open(path, flags, mode)))
    }
    "open64": fn open64(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
        number_for(with_path(path, |path| original::open(path, flags, mode)))
    }
    "__open_2": fn open_2(path: *const c_char, flags: c_int) -> c_int {
        number_for(with_path(path, |path| original::open(path, flags)))
    }
    "__open64_2": fn open64_2(path: *const c_char, flags: c_int) -> c_int {
        number_for(with_path(path, |path| original::open(path, flags)))
    }
    "creat": fn creat(path: *const c_char, mode: c_uint) -> c_int {
        open(path, libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC, mode)
    }
    "creat64": fn creat64(path: *const c_char, mode: c_uint) -> c_int {
        open(path, libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC, mode)
    }
    "openat": fn openat(folder: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
        number_for(with_path(path, |path| original::openat(folder, path, flags, mode)))
    }
    "openat64": fn openat64(folder: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
        number_for(with_path(path, |path| original::openat(folder, path, flags, mode)))
    }
    "__openat_2": fn openat_2(folder: c_int, path: *const c_char, flags: c_int) -> c_int {
        openat(folder, path, flags, 0)
    }
    "__openat64_2": fn openat64_2(folder: c_int, path: *const c_char, flags: c_int) -> c_int {
        openat(folder, path, flags, 0)
    }
    "socket": fn socket(family: c_int, kind: c_int, protocol: c_int) -> c_int {
        number_for(original::socket(family, kind, protocol))
    }
    "accept": fn accept(fd: c_int, address: Address, length: Address) -> c_int {
        number_for(original::accept(real(fd), address, length))
    }
    "accept4": fn accept4(fd: c_int, address: Address, length: Address, flags: c_int) -> c_int {
        number_for(original::accept4(real(fd), address, length, flags))
    }
    "mkstemp": fn mkstemp(template: *mut c_char) -> c_int { number_for(original::mkstemp(template)) }
    "mkstemp64": fn mkstemp64(template: *mut c_char) -> c_int { number_for(original::mkstemp(template)) }
    "mkostemp": fn mkostemp(template: *mut c_char, flags: c_int) -> c_int {
        number_for(original::mkostemp(template, flags))
    }
    "mkostemp64": fn mkostemp64(template: *mut c_char, flags: c_int) -> c_int {
        number_for(original::mkostemp(template, flags))
    }
    "mkstemps": fn mkstemps(template: *mut c_char, suffix: c_int) -> c_int {
        number_for(original::mkstemps(template, suffix))
    }
    "pipe": fn pipe(ends: *mut c_int) -> c_int { pipe2(ends, 0) }
    "pipe2": fn pipe2(ends: *mut c_int, flags: c_int) -> c_int { both(original::pipe2(ends, flags), ends) }
    "socketpair": fn socketpair(family: c_int, kind: c_int, protocol: c_int, ends: *mut c_int) -> c_int {
        both(original::socketpair(family, kind, protocol, ends), ends)
    }
    "dup": fn dup(fd: c_int) -> c_int { number_for(original::dup(real(fd))) }
    "dup2": fn dup2(fd: c_int, to: c_int) -> c_int {
        if fd == to && real(fd) >= 0 { fcntl(fd, libc::F_GETFD, 0).min(0) | to } else { move_to(fd, to, 0) }
    }
    "dup3": fn dup3(fd: c_int, to: c_int, flags: c_int) -> c_int {
        if fd == to { fail(libc::EINVAL) } else { move_to(fd, to, flags) }
    }
    "close": fn close(fd: c_int) -> c_int {
        match (own(fd), state::current()) {
            (Some(number), Some(rank)) => rank.streams.change(|numbers, moved| numbers.close(number, moved)),
            _ => original::close(fd),
        }
    }
    "fcntl": fn fcntl(fd: c_int, command: c_int, argument: usize) -> c_int { control(fd, command, argument) }
    "fcntl64": fn fcntl64(fd: c_int, command: c_int, argument: usize) -> c_int { control(fd, command, argument) }
    "fopen": fn fopen(path: *const c_char, mode: *const c_char) -> *mut Stream {
        opened(with_path(path, |path| original::fopen(path, mode)))
    }
    "fopen64": fn fopen64(path: *const c_char, mode: *const c_char) -> *mut Stream {
        opened(with_path(path, |path| original::fopen(path, mode)))
    }
    "tmpfile": fn tmpfile() -> *mut Stream { opened(original::tmpfile()) }
    "tmpfile64": fn tmpfile64() -> *mut Stream { opened(original::tmpfile()) }
    "popen": fn popen(command: *const c_char, mode: *const c_char) -> *mut Stream {
        opened(original::popen(command, mode))
    }
    "pclose": fn pclose(stream: *mut Stream) -> c_int {
        state::current().iter().for_each(|rank| rank.streams.forget(stream));
        original::pclose(stream)
    }
    "open_memstream": fn open_memstream(text: *mut *mut c_char, size: *mut usize) -> *mut Stream {
        opened(original::open_memstream(text, size))
    }
    "fdopen": fn fdopen(fd: c_int, mode: *const c_char) -> *mut Stream {
        let stream = original::fdopen(real(fd), mode);
        match state::current() {
            Some(rank) if !stream.is_null() => rank.streams.remember(stream),
            _ => stream,
        }
    }
    "freopen": fn freopen(path: *const c_char, mode: *const c_char, stream: *mut Stream) -> *mut Stream {
        open_anew(path, mode, stream)
    }
    "freopen64": fn freopen64(path: *const c_char, mode: *const c_char, stream: *mut Stream) -> *mut Stream {
        open_anew(path, mode, stream)
    }
    "fclose": fn fclose(stream: *mut Stream) -> c_int {
        match state::current() {
            Some(rank) if !stream.is_null() => rank.streams.close(stream, |stream| original::fclose(stream)),
            _ => original::fclose(stream),
        }
    }
    "fileno": fn fileno(stream: *mut Stream) -> c_int { number_of(stream) }
    "fileno_unlocked": fn fileno_unlocked(stream: *mut Stream) -> c_int { number_of(stream) }
    "fflush": fn fflush(stream: *mut Stream) -> c_int { flush(stream) }
    "fflush_unlocked": fn fflush_unlocked(stream: *mut Stream) -> c_int { flush(stream) }
    "fcloseall": fn fcloseall() -> c_int { flush(core::ptr::null_mut()) }
}

fn opened(stream: *mut Stream) -> *mut Stream {
    match state::current() {
        // SAFETY: null, or what libc has just opened.
        Some(rank) => unsafe { rank.streams.opened(stream) },
        None => stream,
    }
}

unsafe fn both(result: c_int, ends: *mut c_int) -> c_int {
    if result == 0 {
        // SAFETY: the caller's array, just filled.
        unsafe {
            *ends = number_for(*ends);
            *ends.add(1) = number_for(*ends.add(1));
        }
    }
    result
}

/// Does what `dup2` and `dup3` do with two numbers that differ.
unsafe fn move_to(fd: c_int, to: c_int, flags: c_int) -> c_int {
    let from = real(fd);
    match (own(to), state::current()) {
        (Some(number), Some(rank)) => {
            if rank.streams.change(|numbers, moved| numbers.redirect(number, from, moved)) { to } else { -1 }
        }
        // SAFETY: the caller's numbers.
        _ if flags == 0 => unsafe { original::dup2(from, to) },
        // SAFETY: the caller's numbers and flags; no pointer is passed.
        _ => unsafe { original::dup3(from, to, flags) },
    }
}

unsafe fn control(fd: c_int, command: c_int, argument: usize) -> c_int {
    let opens = matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC);
    match own(fd) {
        // A place is closed for children by itself; the number is not.
        Some(_) if command == libc::F_GETFD && real(fd) >= COUNT as c_int => 0,
        Some(_) if command == libc::F_SETFD && real(fd) >= COUNT as c_int => 0,
        _ => {
            // SAFETY: the caller's own arguments, and what its descriptor stands for.
            let result = unsafe { original::fcntl(real(fd), command, argument) };
            if opens && argument == 0 { number_for(result) } else { result }
        }
    }
}

unsafe fn open_anew(path: *const c_char, mode: *const c_char, stream: *mut Stream) -> *mut Stream {
    // SAFETY: the caller's own arguments.
    let reopen = || with_path(path, |path| unsafe { original::freopen(path, mode, stream) });
    match state::current() {
        // SAFETY: the stream is the caller's, which must not be using it elsewhere.
        Some(rank) => unsafe { rank.streams.reopen(stream, reopen) },
        None => reopen(),
    }
}

unsafe fn number_of(stream: *mut Stream) -> c_int {
    // SAFETY: the caller's stream.
    let base = unsafe { original::fileno(stream) };
    let number = |rank: &RankState| rank.streams.descriptors.number_of(base);
    if base < 0 { base } else { state::current().map_or(base, number) }
}

unsafe fn flush(stream: *mut Stream) -> c_int {
    match state::current() {
        Some(rank) if stream.is_null() => rank.streams.flush(),
        // SAFETY: the caller's stream.
        _ => unsafe { original::fflush(stream) },
    }
}

/// Returns `stdin` (0), `stdout` or `stderr` of the calling thread's rank.
#[unsafe(no_mangle)]
extern "C" fn weft_stream(which: c_int) -> *mut Stream {
    match state::current() {
        // SAFETY: the rank's variable, which it may read at any time.
        Some(rank) => unsafe { *rank.streams.variable(which as usize) },
        None => weft_node::streams::of_process(which as usize),
    }
}
