//! What tells of the program by name: `/proc/self/exe` and its neighbours, `getauxval`.
//!
//! These stand in the copies' tables (`redirects.list`): the MPI library's own `/proc/self/exe` is the process's.

use core::ffi::{CStr, c_char, c_int, c_ulong};
use core::sync::atomic::Ordering;
use std::ffi::CString;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use weft_node::proc_files::{ProcFile, kept_name};
use weft_node::{RankState, state};

mod original {
    use super::*;
    unsafe extern "C" {
        pub fn readlink(path: *const c_char, buffer: *mut c_char, size: usize) -> isize;
        pub fn readlinkat(folder: c_int, path: *const c_char, buffer: *mut c_char, size: usize) -> isize;
        pub fn __readlink_chk(path: *const c_char, buffer: *mut c_char, size: usize, room: usize) -> isize;
        pub fn __readlinkat_chk(
            folder: c_int,
            path: *const c_char,
            buffer: *mut c_char,
            size: usize,
            room: usize,
        ) -> isize;
        pub fn realpath(path: *const c_char, buffer: *mut c_char) -> *mut c_char;
        pub fn __realpath_chk(path: *const c_char, buffer: *mut c_char, room: usize) -> *mut c_char;
        pub fn getauxval(kind: c_ulong) -> c_ulong;
    }
}

/// A path that leads to what a rank asked for, as long as this lives.
pub struct Shown {
    /// The path.
    pub path: CString,
    _content: Option<OwnedFd>,
}

/// Returns which file of `/proc/self` the calling rank means.
fn asked(path: *const c_char) -> Option<(&'static RankState, ProcFile)> {
    // SAFETY: null or the caller's C string.
    let path = (!path.is_null()).then(|| unsafe { CStr::from_ptr(path) }.to_bytes())?;
    if !path.starts_with(b"/proc/") {
        return None;
    }
    let rank = state::current()?;
    Some((rank, ProcFile::named(path, rank.number.load(Ordering::Relaxed))?))
}

/// Returns the path of the rank's program, without symbolic links.
fn program(rank: &RankState) -> CString {
    // SAFETY: a C string that lives for ever; what `realpath` returns is the caller's to free.
    unsafe {
        let path = rank.program.path();
        let real = original::realpath(path.as_ptr(), core::ptr::null_mut());
        if real.is_null() {
            return path.to_owned();
        }
        let text = CStr::from_ptr(real).to_owned();
        libc::free(real.cast());
        text
    }
}

/// Returns where to find what a path of `/proc/self` must show to the calling rank, if it is one that tells of the program.
pub fn shown(path: *const c_char) -> Option<Shown> {
    let (rank, file) = asked(path)?;
    let content = match file {
        ProcFile::Program => return Some(Shown { path: program(rank), _content: None }),
        ProcFile::CommandLine => rank.program.command_line().to_vec(),
        ProcFile::Name => kept_name(rank.program.path().to_bytes()),
    };
    // SAFETY: a C string; the descriptor is new.
    let fd = unsafe { libc::memfd_create(c"weft-proc".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return None;
    }
    // SAFETY: the descriptor was made above, is valid, and belongs to nobody else.
    let mut memory = std::fs::File::from(unsafe { OwnedFd::from_raw_fd(fd) });
    memory.write_all(&content).ok()?;
    let path = CString::new(format!("/proc/self/fd/{}", memory.as_raw_fd())).ok()?;
    Some(Shown { path, _content: Some(memory.into()) })
}

/// Writes the program's path as `readlink` does, if the path asks for it.
unsafe fn link(path: *const c_char, buffer: *mut c_char, size: usize) -> Option<isize> {
    let (rank, ProcFile::Program) = asked(path)? else { return None };
    let program = program(rank);
    let length = program.count_bytes().min(size);
    // SAFETY: the caller's buffer has `size` bytes.
    unsafe { buffer.copy_from_nonoverlapping(program.as_ptr(), length) };
    (size > 0).then_some(length as isize)
}

#[unsafe(export_name = "rank_readlink")]
unsafe extern "C" fn readlink(path: *const c_char, buffer: *mut c_char, size: usize) -> isize {
    // SAFETY: the caller's own arguments.
    unsafe { link(path, buffer, size).unwrap_or_else(|| original::readlink(path, buffer, size)) }
}

#[unsafe(export_name = "rank_readlinkat")]
unsafe extern "C" fn readlinkat(
    folder: c_int,
    path: *const c_char,
    buffer: *mut c_char,
    size: usize,
) -> isize {
    // SAFETY: the caller's own arguments.
    unsafe { link(path, buffer, size).unwrap_or_else(|| original::readlinkat(folder, path, buffer, size)) }
}

#[unsafe(export_name = "rank___readlink_chk")]
unsafe extern "C" fn readlink_chk(
    path: *const c_char,
    buffer: *mut c_char,
    size: usize,
    room: usize,
) -> isize {
    let fits = size <= room;
    // SAFETY: the caller's own arguments; libc's function refuses a size that does not fit.
    unsafe {
        let own = if fits { link(path, buffer, size) } else { None };
        own.unwrap_or_else(|| original::__readlink_chk(path, buffer, size, room))
    }
}

#[unsafe(export_name = "rank___readlinkat_chk")]
unsafe extern "C" fn readlinkat_chk(
    folder: c_int,
    path: *const c_char,
    buffer: *mut c_char,
    size: usize,
    room: usize,
) -> isize {
    // SAFETY: the caller's buffer has `room` bytes, and `link` is asked only if `size` is no more.
    unsafe {
        let own = if size <= room { link(path, buffer, size) } else { None };
        own.unwrap_or_else(|| original::__readlinkat_chk(folder, path, buffer, size, room))
    }
}

#[unsafe(export_name = "rank_realpath")]
unsafe extern "C" fn realpath(path: *const c_char, buffer: *mut c_char) -> *mut c_char {
    let own = asked(path).filter(|(_, file)| *file == ProcFile::Program).map(|(rank, _)| rank.program.path());
    // SAFETY: the caller's own arguments, or a C string that lives for ever.
    unsafe { original::realpath(own.map_or(path, CStr::as_ptr), buffer) }
}

#[unsafe(export_name = "rank___realpath_chk")]
unsafe extern "C" fn realpath_chk(path: *const c_char, buffer: *mut c_char, room: usize) -> *mut c_char {
    let own = asked(path).filter(|(_, file)| *file == ProcFile::Program).map(|(rank, _)| rank.program.path());
    // SAFETY: the caller's buffer and its room, and a path that is a C string in either case.
    unsafe { original::__realpath_chk(own.map_or(path, CStr::as_ptr), buffer, room) }
}

#[unsafe(export_name = "rank_canonicalize_file_name")]
unsafe extern "C" fn canonicalize_file_name(path: *const c_char) -> *mut c_char {
    // SAFETY: the caller's own argument.
    unsafe { realpath(path, core::ptr::null_mut()) }
}

#[unsafe(export_name = "rank_getauxval")]
unsafe extern "C" fn getauxval(kind: c_ulong) -> c_ulong {
    match state::current() {
        Some(rank) if kind == libc::AT_EXECFN => rank.program.path().as_ptr() as c_ulong,
        // SAFETY: passes a number only.
        _ => unsafe { original::getauxval(kind) },
    }
}
