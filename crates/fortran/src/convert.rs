//! Addresses that mean something of their own, error codes, and indices.
//!
//! `MPI_BOTTOM` and its like are variables in two common blocks, which `mpif.h` and both modules declare. The program's
//! blocks and this library's are one: the linker takes the program's. So an address tells which of them was passed.
//!
//! Unsafe because it reads and writes what Fortran passes.
#![allow(unsafe_code)]

use core::ffi::{c_int, c_void};
use weft_base::constants::{
    MPI_BUFFER_AUTOMATIC, MPI_ERR_IN_STATUS, MPI_IN_PLACE, MPI_SUCCESS, MPI_UNDEFINED, MPI_UNWEIGHTED,
    MPI_WEIGHTS_EMPTY,
};

/// The common block of variables that are numbers.
#[repr(C, align(32))]
struct Sentinels {
    bottom: c_int,
    in_place: c_int,
    buffer_automatic: c_int,
    unweighted: c_int,
    weights_empty: c_int,
    errcodes_ignore: c_int,
    _unused: [c_int; 2],
    status_ignore: [c_int; 8],
    statuses_ignore: [c_int; 8],
}

/// The common block of variables that are texts: `MPI_ARGV_NULL` and `MPI_ARGVS_NULL`.
#[repr(C, align(32))]
struct Texts([u8; 2]);

#[unsafe(no_mangle)]
static mut weft_sentinels_: Sentinels = Sentinels {
    bottom: 0,
    in_place: 0,
    buffer_automatic: 0,
    unweighted: 0,
    weights_empty: 0,
    errcodes_ignore: 0,
    _unused: [0; 2],
    status_ignore: [0; 8],
    statuses_ignore: [0; 8],
};

#[unsafe(no_mangle)]
static mut weft_sentinel_texts_: Texts = Texts([0; 2]);

/// Returns the address of the common block in force, which may be the program's: the compiler must not take the block of
/// this library for the only one.
#[inline(always)]
fn sentinels() -> usize {
    let address: usize;
    // SAFETY: loads an address from this library's table of addresses, which the loader has filled in.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!("mov {}, qword ptr [rip + weft_sentinels_@GOTPCREL]", out(reg) address, options(pure, nomem, nostack, preserves_flags));
    }
    // SAFETY: as for the other processor, of two instructions.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!("adrp {0}, :got:weft_sentinels_", "ldr {0}, [{0}, :got_lo12:weft_sentinels_]", out(reg) address, options(pure, readonly, nostack, preserves_flags));
    }
    address
}

fn texts() -> usize {
    let address: usize;
    // SAFETY: loads an address from the table that the loader has filled in.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!("mov {}, qword ptr [rip + weft_sentinel_texts_@GOTPCREL]", out(reg) address, options(pure, nomem, nostack, preserves_flags));
    }
    // SAFETY: loads an address from that table, page and place.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!("adrp {0}, :got:weft_sentinel_texts_", "ldr {0}, [{0}, :got_lo12:weft_sentinel_texts_]", out(reg) address, options(pure, readonly, nostack, preserves_flags));
    }
    address
}

/// Returns how far an address lies behind the start of the common block, if it is in it.
#[inline(always)]
fn place(address: usize) -> Option<usize> {
    let offset = address.wrapping_sub(sentinels());
    (offset < size_of::<Sentinels>()).then_some(offset)
}

/// Returns the address of a buffer as C takes it.
#[inline(always)]
pub(crate) fn buffer_of(address: *mut c_void) -> *mut c_void {
    match place(address as usize) {
        None => address,
        Some(offset) => special_buffer(address, offset),
    }
}

#[cold]
fn special_buffer(address: *mut c_void, offset: usize) -> *mut c_void {
    const BOTTOM_AT: usize = core::mem::offset_of!(Sentinels, bottom);
    const IN_PLACE_AT: usize = core::mem::offset_of!(Sentinels, in_place);
    const AUTOMATIC_AT: usize = core::mem::offset_of!(Sentinels, buffer_automatic);
    match offset {
        BOTTOM_AT => core::ptr::null_mut(),
        IN_PLACE_AT => MPI_IN_PLACE as *mut c_void,
        AUTOMATIC_AT => MPI_BUFFER_AUTOMATIC as *mut c_void,
        _ => address,
    }
}

/// Tells whether a buffer is `MPI_IN_PLACE`.
pub(crate) fn is_in_place(address: *const c_void) -> bool {
    place(address as usize) == Some(core::mem::offset_of!(Sentinels, in_place))
}

/// Returns the variable that stands for `MPI_BUFFER_AUTOMATIC` where C says so, else the address that C gives.
pub(crate) fn detached(address: *mut c_void) -> *mut c_void {
    if address as usize == MPI_BUFFER_AUTOMATIC {
        return (sentinels() + core::mem::offset_of!(Sentinels, buffer_automatic)) as *mut c_void;
    }
    address
}

/// Returns the address of weights or error codes as C takes it.
pub(crate) fn words_of(address: *mut c_int) -> *mut c_int {
    const UNWEIGHTED_AT: usize = core::mem::offset_of!(Sentinels, unweighted);
    const EMPTY_AT: usize = core::mem::offset_of!(Sentinels, weights_empty);
    const IGNORE_AT: usize = core::mem::offset_of!(Sentinels, errcodes_ignore);
    match place(address as usize) {
        Some(UNWEIGHTED_AT) => MPI_UNWEIGHTED as *mut c_int,
        Some(EMPTY_AT) => MPI_WEIGHTS_EMPTY as *mut c_int,
        Some(IGNORE_AT) => core::ptr::null_mut(),
        _ => address,
    }
}

/// Returns the address of one or many statuses as C takes it: null where Fortran passes `MPI_STATUS(ES)_IGNORE`.
#[inline(always)]
pub(crate) fn status_of(address: *mut c_int) -> *mut c_int {
    match place(address as usize) {
        None => address,
        Some(_) => core::ptr::null_mut(),
    }
}

/// Tells whether an array of texts is `MPI_ARGV_NULL` or `MPI_ARGVS_NULL`.
pub(crate) fn is_null_texts(address: *const u8) -> bool {
    (address as usize).wrapping_sub(texts()) < size_of::<[u8; 2]>()
}

/// Stores the error code, if the caller wants it.
///
/// # Safety
/// `ierror` is null or Fortran's variable.
#[inline(always)]
pub(crate) unsafe fn store_code(ierror: *mut c_int, code: c_int) {
    if !ierror.is_null() {
        // SAFETY: not null, so the caller's variable.
        unsafe { *ierror = code }
    }
}

/// Makes the index of an element that counts from one of C's.
///
/// # Safety
/// `index` is Fortran's variable.
pub(crate) unsafe fn one_based(index: *mut c_int) {
    // SAFETY: the caller's variable, which C has stored.
    unsafe {
        if *index != MPI_UNDEFINED {
            *index += 1;
        }
    }
}

/// As [`one_based`], for as many as there are; none where the number is undefined or the call failed before it knew.
///
/// # Safety
/// `indices` has `count` elements if that is positive and `code` is success or `MPI_ERR_IN_STATUS`.
pub(crate) unsafe fn indices_one_based(count: c_int, indices: *mut c_int, code: c_int) {
    if code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS {
        return;
    }
    for at in 0..count.max(0) as usize {
        // SAFETY: within the elements that C has stored.
        unsafe { *indices.add(at) += 1 }
    }
}
