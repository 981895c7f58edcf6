//! `stdin`, `stdout` and `stderr` of a rank: streams of its own on its own descriptors 0, 1 and 2.
//!
//! Rank 0 takes libc's own three, so that what libc itself does with them is right for the only rank that has standard
//! input. The others' are made by `fdopen` and taken out of libc's list of all streams: with thousands of ranks that list
//! would make each `fclose` and each `fflush(NULL)` slow. What a rank opens besides is remembered, because `fflush(NULL)`
//! and the rank's end concern only that.
#![allow(unsafe_code)] // Handles libc's streams.

use crate::descriptors::{COUNT, Descriptors, null};
use core::cell::UnsafeCell;
use core::ffi::{c_char, c_int, c_void};
use std::collections::HashSet;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The public head of `FILE` (`<bits/types/struct_FILE.h>`), the same on all machines with 64 bits.
#[repr(C)]
pub struct Stream {
    flags: c_int,
    pointers: [*mut c_void; 11],
    markers: *mut c_void,
    chain: *mut c_void,
    number: c_int,
    more_flags: c_int,
}

/// Keeps `_IO_file_close_it` from closing the descriptor.
const KEEP_DESCRIPTOR: c_int = 32;

unsafe extern "C" {
    static stdin: *mut Stream;
    static stdout: *mut Stream;
    static stderr: *mut Stream;
    fn _IO_un_link(stream: *mut Stream);
    fn _IO_file_close_it(stream: *mut Stream) -> c_int;
    fn __fwriting(stream: *mut Stream) -> c_int;
    fn __fpurge(stream: *mut Stream);
    fn fdopen(fd: c_int, mode: *const c_char) -> *mut Stream;
    fn fflush(stream: *mut Stream) -> c_int;
    fn flockfile(stream: *mut Stream);
    fn ftrylockfile(stream: *mut Stream) -> c_int;
    fn funlockfile(stream: *mut Stream);
    fn setvbuf(stream: *mut Stream, buffer: *mut c_char, mode: c_int, size: usize) -> c_int;
}

/// A stream as a key: it is compared, and handed back to libc.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Opened(*mut Stream);

// SAFETY: libc's streams may be used by any thread.
unsafe impl Send for Opened {}

/// The streams of a rank.
pub struct Streams {
    /// What 0, 1 and 2 are.
    pub descriptors: Descriptors,
    /// The streams the rank began with.
    first: [*mut Stream; COUNT],
    /// The variables `stdin`, `stdout`, `stderr`, unless the program has them elsewhere.
    variables: [UnsafeCell<*mut Stream>; COUNT],
    /// Where the program has them.
    places: [AtomicPtr<*mut Stream>; COUNT],
    /// What the rank has opened and not closed. Whoever changes descriptors holds this, too.
    opened: Mutex<HashSet<Opened>>,
}

// SAFETY: the variables are the program's, which must order its accesses as in a process; streams have locks.
unsafe impl Sync for Streams {}
// SAFETY: a stream belongs to no thread.
unsafe impl Send for Streams {}

/// All ranks' streams, for the end of the job.
static ALL: Mutex<Vec<&'static Streams>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns libc's own stream.
pub fn of_process(which: usize) -> *mut Stream {
    // SAFETY: libc's variables, which nobody changes: ranks have their own.
    unsafe { [stdin, stdout, stderr][which] }
}

/// Makes a stream that libc does not list.
fn create(which: usize) -> *mut Stream {
    let mode = if which == 0 { c"r" } else { c"w" };
    // SAFETY: a descriptor of ours and a C string. The stream is new, so nobody else uses it; it is at the list's begin.
    unsafe {
        let stream = fdopen(null(), mode.as_ptr());
        if stream.is_null() {
            return of_process(which);
        }
        _IO_un_link(stream);
        stream
    }
}

/// Tells whether a stream may have something to be written.
///
/// # Safety
/// The stream is open.
unsafe fn flush_if_writing(stream: *mut Stream) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { if __fwriting(stream) != 0 { fflush(stream) } else { 0 } }
}

impl Streams {
    /// Creates the streams of a rank on the descriptors it was given. `is_first` says that it is rank 0.
    pub fn new(given: [c_int; COUNT], is_first: bool) -> Self {
        let first = [0, 1, 2].map(|which| if is_first { of_process(which) } else { create(which) });
        for (stream, fd) in first.iter().zip(given) {
            // SAFETY: streams of this rank only, which nobody uses yet.
            unsafe { (**stream).number = fd };
        }
        if !is_first {
            // SAFETY: a stream of this rank that nobody uses yet; without a buffer the size says nothing.
            unsafe { setvbuf(first[2], core::ptr::null_mut(), libc::_IONBF, 0) };
        }
        Self {
            descriptors: Descriptors::new(given),
            first,
            variables: first.map(UnsafeCell::new),
            places: Default::default(),
            opened: Mutex::default(),
        }
    }

    /// Lets the end of the job know them.
    pub fn register(&'static self) {
        lock(&ALL).push(self);
    }

    /// Returns the address of the rank's `stdin` (0), `stdout` or `stderr`.
    pub fn variable(&self, which: usize) -> *mut *mut Stream {
        let place = self.places[which].load(Ordering::Relaxed);
        if place.is_null() { self.variables[which].get() } else { place }
    }

    /// Says that the program has a variable of its own, and sets it.
    ///
    /// # Safety
    /// `place` is the variable of this rank's copy, which does not run yet.
    pub unsafe fn move_variable(&self, which: usize, place: *mut *mut Stream) {
        self.places[which].store(place, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { *place = self.first[which] };
    }

    /// Returns the stream the rank began with.
    pub fn first(&self, which: usize) -> *mut Stream {
        self.first[which]
    }

    /// Changes descriptors; the rank's streams follow.
    pub fn change<R>(&self, change: impl FnOnce(&Descriptors, &mut dyn FnMut(c_int, c_int)) -> R) -> R {
        let opened = lock(&self.opened);
        let mut follow = |from: c_int, to: c_int| {
            for stream in self.first.iter().copied().chain(opened.iter().map(|opened| opened.0)) {
                // SAFETY: open streams of this rank, or those it began with, which stay.
                unsafe {
                    if (*stream).number == from {
                        (*stream).number = to;
                    }
                }
            }
        };
        change(&self.descriptors, &mut follow)
    }

    /// Remembers a stream that the rank has made of a descriptor.
    pub fn remember(&self, stream: *mut Stream) -> *mut Stream {
        lock(&self.opened).insert(Opened(stream));
        stream
    }

    /// Remembers a stream that the rank has just opened, null if it could not. It takes the lowest free number.
    ///
    /// # Safety
    /// Null, or a stream that nobody else has seen yet.
    pub unsafe fn opened(&self, stream: *mut Stream) -> *mut Stream {
        if stream.is_null() {
            return stream;
        }
        if self.descriptors.has_closed() {
            self.change(|descriptors, _| {
                // SAFETY: the caller's promise.
                unsafe {
                    if (*stream).number >= 0 {
                        let number = descriptors.adopt((*stream).number);
                        if let Ok(number @ ..COUNT) = usize::try_from(number) {
                            (*stream).number = descriptors.base(number);
                        }
                    }
                }
            });
        }
        self.remember(stream)
    }

    /// Forgets a stream that is about to be closed.
    pub fn forget(&self, stream: *mut Stream) {
        lock(&self.opened).remove(&Opened(stream));
    }

    /// Returns the number by which the rank knows a stream's descriptor.
    ///
    /// # Safety
    /// The stream is open.
    pub unsafe fn number(&self, stream: *mut Stream) -> c_int {
        // SAFETY: the caller's promise.
        self.descriptors.number_of(unsafe { (*stream).number })
    }

    /// Closes a stream of the rank; `close` is libc's function. Returns its result.
    ///
    /// # Safety
    /// As `fclose` demands; but a stream the rank began with stays where it is, for programs that print all the same.
    pub unsafe fn close(&self, stream: *mut Stream, close: unsafe fn(*mut Stream) -> c_int) -> c_int {
        self.forget(stream);
        // SAFETY: the caller's promise.
        unsafe {
            let number = usize::try_from(self.number(stream)).ok().filter(|number| *number < COUNT);
            if self.first.contains(&stream) {
                flockfile(stream);
                let mut result = if (*stream).number < 0 { -1 } else { 0 };
                (*stream).more_flags |= KEEP_DESCRIPTOR;
                if result == 0 {
                    result = _IO_file_close_it(stream);
                }
                (*stream).more_flags &= !KEEP_DESCRIPTOR;
                funlockfile(stream);
                return match number {
                    Some(number) => result | self.change(|numbers, moved| numbers.close(number, moved)),
                    None => result,
                };
            }
            let Some(number) = number else { return close(stream) };
            // It is on one of the rank's numbers, whose place stays.
            let result = fflush(stream);
            let copy = libc::syscall(libc::SYS_dup, (*stream).number) as c_int;
            (*stream).number = copy;
            result | close(stream) | self.change(|numbers, moved| numbers.close(number, moved))
        }
    }

    /// Takes a stream the rank began with out of libc's list, where opening it anew puts it.
    fn unlist(&self, stream: *mut Stream) {
        if self.first.contains(&stream) && (0..COUNT).all(|which| of_process(which) != stream) {
            // SAFETY: an open stream, or one that is in no list.
            unsafe { _IO_un_link(stream) };
        }
    }

    /// Opens a stream anew by `reopen`, libc's function; it keeps its number.
    ///
    /// # Safety
    /// As `freopen` demands.
    pub unsafe fn reopen(&self, stream: *mut Stream, reopen: impl FnOnce() -> *mut Stream) -> *mut Stream {
        // SAFETY: the caller's promise.
        unsafe {
            let number = usize::try_from(self.number(stream)).ok().filter(|number| *number < COUNT);
            let Some(number) = number else {
                let is_closed = (*stream).number < 0;
                let result = reopen();
                self.unlist(stream);
                return if is_closed { self.opened(result) } else { result };
            };
            if !self.change(|numbers, moved| numbers.settle(number, moved)) {
                return core::ptr::null_mut();
            }
            let result = reopen();
            self.unlist(stream);
            self.change(|numbers, _| {
                if result.is_null() {
                    numbers.lost(number);
                    (*stream).number = numbers.base(number);
                } else {
                    libc::syscall(libc::SYS_fcntl, numbers.base(number), libc::F_SETFD, libc::FD_CLOEXEC);
                    numbers.reopened(number);
                }
            });
            result
        }
    }

    /// Writes out what the rank's streams hold. Returns 0, or -1.
    pub fn flush(&self) -> c_int {
        let others: Vec<Opened> = lock(&self.opened).iter().copied().collect();
        let own = self.first.into_iter().chain(others.into_iter().map(|opened| opened.0));
        // SAFETY: the rank's streams; that it does not close them meanwhile is up to it, as in a process.
        own.map(|stream| unsafe { flush_if_writing(stream) }).fold(0, |all, one| all | one)
    }

    /// Forgets what the rank's streams hold: it ends at once.
    pub fn discard(&self) {
        let others: Vec<Opened> = lock(&self.opened).iter().copied().collect();
        for stream in self.first.into_iter().chain(others.into_iter().map(|opened| opened.0)) {
            // SAFETY: as for `flush`. What another thread of the rank is writing is on its way.
            unsafe {
                if ftrylockfile(stream) == 0 {
                    if __fwriting(stream) != 0 {
                        __fpurge(stream);
                    }
                    funlockfile(stream);
                }
            }
        }
    }

    /// Does what the end of a process does with its streams.
    pub fn end(&self) {
        self.flush();
        for stream in self.first {
            // SAFETY: streams that are never freed. Without a buffer, what threads of the rank still print gets out, and
            // what was read too far is given back.
            unsafe { setvbuf(stream, core::ptr::null_mut(), libc::_IONBF, 0) };
        }
        self.change(|descriptors, _| descriptors.end());
    }
}

/// Writes out what all ranks have printed. A stream that somebody is using is left alone: nobody may wait for it when
/// the job ends.
pub fn flush_all() {
    for streams in lock(&ALL).iter() {
        let others = streams.opened.try_lock().map(|opened| opened.iter().copied().collect::<Vec<_>>());
        let others = others.unwrap_or_default();
        for stream in streams.first.into_iter().chain(others.into_iter().map(|opened| opened.0)) {
            // SAFETY: streams of ranks; those they began with are never freed, and the others' ranks would have to close
            // them at this moment.
            unsafe {
                if ftrylockfile(stream) == 0 {
                    flush_if_writing(stream);
                    funlockfile(stream);
                }
            }
        }
    }
}
