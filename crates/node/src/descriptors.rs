//! What the descriptor numbers 0, 1 and 2 mean to a rank.
//!
//! At first they are the process's own, or what the rank was given instead. What a rank redirects or closes gets a
//! *place*: a descriptor above 2 that stands for the number from then on, until the rank ends. So streams may hold on to
//! the place's number, whatever the rank makes of it. The place of a closed number holds [`nowhere`], with which nothing
//! can be done.
#![allow(unsafe_code)] // System calls on descriptors.

use core::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, Ordering::Relaxed};

/// How many numbers are a rank's own.
pub const COUNT: usize = 3;
/// The lowest number that a place may have.
const LOWEST_PLACE: c_int = COUNT as c_int;
/// What a closed number stands for.
const CLOSED: c_int = -1;
/// What streams have instead of the place of a number that is gone; the number is added.
const GONE: c_int = c_int::MIN;

/// The numbers of one rank. Changes are made by one thread at a time (the caller's lock).
pub struct Descriptors {
    /// The descriptor that a number stands for, or [`CLOSED`].
    real: [AtomicI32; COUNT],
    /// The descriptor that streams use: the real one, or the place of what is closed.
    base: [AtomicI32; COUNT],
    /// Whether the descriptor is this rank's alone.
    is_own: [AtomicBool; COUNT],
    /// How many are closed.
    closed: AtomicU8,
}

fn open(flags: c_int) -> c_int {
    // SAFETY: a C string. The system call, because the function may be a rank's.
    unsafe {
        libc::syscall(libc::SYS_openat, libc::AT_FDCWD, c"/dev/null".as_ptr(), flags | libc::O_CLOEXEC)
            as c_int
    }
}

/// Returns a descriptor that takes everything and gives nothing, for all ranks.
pub fn null() -> c_int {
    static NULL: OnceLock<c_int> = OnceLock::new();
    *NULL.get_or_init(|| open(libc::O_RDWR))
}

/// Returns a descriptor that can be neither read nor written.
fn nowhere() -> c_int {
    static NOWHERE: OnceLock<c_int> = OnceLock::new();
    *NOWHERE.get_or_init(|| open(libc::O_PATH))
}

fn fail(error: c_int) -> c_int {
    // SAFETY: the calling thread's own `errno`.
    unsafe { *libc::__errno_location() = error };
    -1
}

/// Makes `place` another descriptor for `from`. The system call, because the function may be a rank's.
fn replace(from: c_int, place: c_int) -> bool {
    // SAFETY: system calls on numbers.
    unsafe { libc::syscall(libc::SYS_dup3, from, place, libc::O_CLOEXEC) >= 0 }
}

fn close(fd: c_int) {
    // SAFETY: the caller owns the descriptor. libc's function, because locks on files may hang on it.
    unsafe { libc::close(fd) };
}

impl Descriptors {
    /// Creates the numbers of a rank that uses these descriptors; those above 2 are its own.
    pub fn new(given: [c_int; COUNT]) -> Self {
        Self {
            real: given.map(AtomicI32::new),
            base: given.map(AtomicI32::new),
            is_own: given.map(|fd| AtomicBool::new(fd >= LOWEST_PLACE && fd != null())),
            closed: AtomicU8::new(0),
        }
    }

    /// Returns the descriptor that a number of the rank stands for: itself from 3 on, -1 if it is closed.
    #[inline]
    pub fn real(&self, number: c_int) -> c_int {
        match self.real.get(number as usize) {
            Some(real) => real.load(Relaxed),
            None => number,
        }
    }

    /// Returns the descriptor that streams on one of the rank's numbers use.
    pub fn base(&self, number: usize) -> c_int {
        self.base[number].load(Relaxed)
    }

    /// Returns the number by which the rank knows a descriptor that one of its streams uses.
    pub fn number_of(&self, base: c_int) -> c_int {
        self.base.iter().position(|one| one.load(Relaxed) == base).map_or(base, |number| number as c_int)
    }

    /// Tells whether the rank has closed one of its numbers, so that what it opens next gets that one.
    #[inline]
    pub fn has_closed(&self) -> bool {
        self.closed.load(Relaxed) != 0
    }

    fn is_closed(&self, number: usize) -> bool {
        self.real[number].load(Relaxed) == CLOSED
    }

    fn mark(&self, number: usize, is_closed: bool) {
        if is_closed != self.is_closed(number) {
            self.closed.fetch_add(if is_closed { 1 } else { u8::MAX }, Relaxed);
        }
        self.real[number].store(if is_closed { CLOSED } else { self.base(number) }, Relaxed);
    }

    /// Gives a number a place, if it has none. `moved` hears the old descriptor and the new one. Returns whether there is
    /// one; `errno` says why not.
    fn give_place(&self, number: usize, moved: &mut dyn FnMut(c_int, c_int)) -> bool {
        if self.is_own[number].load(Relaxed) {
            return true;
        }
        // SAFETY: a system call on a descriptor of ours.
        let place = unsafe {
            libc::syscall(libc::SYS_fcntl, nowhere(), libc::F_DUPFD_CLOEXEC, LOWEST_PLACE) as c_int
        };
        if place < 0 {
            return false;
        }
        let before = self.base[number].swap(place, Relaxed);
        self.is_own[number].store(true, Relaxed);
        moved(before, place);
        true
    }

    /// Makes `number`, at most 2, stand for `fd`, a descriptor of the process. Returns whether that worked, or `errno`.
    pub fn redirect(&self, number: usize, fd: c_int, moved: &mut dyn FnMut(c_int, c_int)) -> bool {
        // SAFETY: a system call on a number.
        let is_open = unsafe { libc::syscall(libc::SYS_fcntl, fd, libc::F_GETFD) >= 0 };
        if !is_open || !self.give_place(number, moved) || !replace(fd, self.base(number)) {
            return false;
        }
        self.mark(number, false);
        true
    }

    /// Gives a number a place that is what the number was, so that others may change what the place is.
    pub fn settle(&self, number: usize, moved: &mut dyn FnMut(c_int, c_int)) -> bool {
        let before = self.real[number].load(Relaxed);
        if self.is_own[number].load(Relaxed) {
            return true;
        }
        if !self.give_place(number, moved) {
            return false;
        }
        if before != CLOSED {
            replace(before, self.base(number));
            self.mark(number, false);
        }
        true
    }

    /// Says that the place of a number has been opened anew.
    pub fn reopened(&self, number: usize) {
        self.mark(number, false);
    }

    /// Says that the place of a number is gone: something else has closed it.
    pub fn lost(&self, number: usize) {
        self.mark(number, true);
        self.is_own[number].store(false, Relaxed);
        self.base[number].store(GONE + number as c_int, Relaxed);
    }

    /// Closes a number. Returns 0, or -1 with `errno`.
    pub fn close(&self, number: usize, moved: &mut dyn FnMut(c_int, c_int)) -> c_int {
        if self.is_closed(number) {
            return fail(libc::EBADF);
        }
        if !self.give_place(number, moved) || !replace(nowhere(), self.base(number)) {
            // No descriptor is left for its place.
            return -1;
        }
        self.mark(number, true);
        0
    }

    /// Gives what was just opened the lowest number that is free: one that the rank has closed, if there is one.
    pub fn adopt(&self, fd: c_int) -> c_int {
        let Some(number) = (0..COUNT).find(|&number| self.is_closed(number)) else { return fd };
        if fd < LOWEST_PLACE || !self.redirect(number, fd, &mut |_, _| {}) {
            return fd;
        }
        close(fd);
        number as c_int
    }

    /// Lets go of what the rank has redirected: nobody writes there any more.
    pub fn end(&self) {
        for number in (0..COUNT).filter(|&number| self.is_own[number].load(Relaxed)) {
            replace(nowhere(), self.base(number));
            self.mark(number, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_open(fd: c_int) -> bool {
        // SAFETY: a system call on a number; an empty write.
        unsafe { libc::write(fd, core::ptr::null(), 0) == 0 }
    }

    #[test]
    fn what_is_closed_is_the_next_to_be_opened() {
        let own = Descriptors::new([0, 1, 2]);
        let mut moves = Vec::new();
        assert_eq!((own.real(1), own.real(7), own.has_closed()), (1, 7, false));
        assert_eq!(own.close(1, &mut |from, to| moves.push((from, to))), 0);
        assert_eq!((own.real(1), own.has_closed(), moves.len()), (-1, true, 1));
        assert!(moves[0].0 == 1 && moves[0].1 > 2 && !is_open(moves[0].1) && is_open(1));
        assert_eq!(own.close(1, &mut |_, _| {}), -1);
        let fd = open(libc::O_WRONLY);
        assert_eq!(own.adopt(fd), 1);
        assert_eq!((own.real(1), own.base(1), own.has_closed()), (moves[0].1, moves[0].1, false));
        assert!(is_open(own.real(1)) && own.number_of(moves[0].1) == 1);
        own.end();
        assert!(!is_open(moves[0].1));
    }

    #[test]
    fn what_is_redirected_stays_at_its_place() {
        let own = Descriptors::new([0, 1, 2]);
        assert!(own.redirect(2, null(), &mut |_, _| {}));
        let place = own.real(2);
        assert!(place > 2 && own.redirect(2, 1, &mut |_, _| panic!("it has its place")));
        assert_eq!(own.real(2), place);
        assert!(!own.redirect(0, -5, &mut |_, _| panic!("it stays")) && own.real(0) == 0);
        assert!(own.settle(1, &mut |_, _| {}) && own.real(1) > 2 && !own.has_closed());
        own.end();
    }
}
