//! Finds where the program called the library.
#![allow(unsafe_code)] // The C unwinder, and the linker's list of objects.

use crate::object;
use core::ffi::{c_int, c_void};
use core::ops::Range;
use std::sync::OnceLock;

unsafe extern "C" {
    fn _Unwind_Backtrace(step: extern "C" fn(*mut c_void, *mut c_void) -> c_int, data: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
}

/// The unwinder's word for "go on", and one for "enough".
const GO_ON: c_int = 0;
const STOP: c_int = 5;

/// Returns the addresses of the object this code is in.
fn own() -> &'static Range<usize> {
    static OWN: OnceLock<Range<usize>> = OnceLock::new();
    extern "C" fn look(object: *mut libc::dl_phdr_info, _size: usize, found: *mut c_void) -> c_int {
        // SAFETY: the linker passes its record, and back what `own` passed.
        let (object, found) = unsafe { (&*object, &mut *found.cast::<Range<usize>>()) };
        // SAFETY: the record's headers.
        let headers = unsafe { core::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into()) };
        let loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD).map(|header| {
            let start = object.dlpi_addr as usize + header.p_vaddr as usize;
            start..start + header.p_memsz as usize
        });
        let whole = loaded.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or_default();
        let is_ours = whole.contains(&(program_address as *const () as usize));
        if is_ours {
            *found = whole;
        }
        is_ours.into()
    }
    OWN.get_or_init(|| {
        let mut found = 0..0;
        // SAFETY: `look` gets the range back and nothing else keeps it.
        unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
        found
    })
}

/// Returns the frame of the innermost function outside of the library: from its stack pointer to its canonical frame
/// address. `None` if the stack cannot be walked so far.
#[inline(never)]
pub fn program_frame() -> Option<Range<usize>> {
    struct Found {
        start: usize,
        end: usize,
    }
    extern "C" fn step(context: *mut c_void, found: *mut c_void) -> c_int {
        // SAFETY: the unwinder's context, and what is passed below.
        let (address, stack, found) =
            unsafe { (_Unwind_GetIP(context), _Unwind_GetCFA(context), &mut *found.cast::<Found>()) };
        // What the unwinder calls so is where the stack pointer was before the call into the next inner frame.
        if found.start != 0 {
            found.end = stack;
            return STOP;
        }
        if is_program(address) {
            found.start = stack;
        }
        GO_ON
    }
    let mut found = Found { start: 0, end: 0 };
    // SAFETY: `step` gets the value back, which lives until the walk has ended.
    unsafe { _Unwind_Backtrace(step, (&raw mut found).cast()) };
    (found.start != 0 && found.start < found.end).then_some(found.start..found.end)
}

/// The library of Fortran's names, which programs call and which calls this object. Each rank has its own copy.
const FORTRAN: &[u8] = b"/libmpifort_abi.so.1";
/// The folder of libraries that programs of other MPIs call.
const OTHERS: &[u8] = b"/weft/abi/";

/// Tells whether an address is in the program or in what it uses, not in the library: neither in the object this code is in,
/// nor in a library of other names for its functions. Call [`object::prepare`] before.
pub fn is_program(address: usize) -> bool {
    !own().contains(&address)
        && object::find(address).is_none_or(|object| {
            let name = object.name.to_bytes();
            !name.ends_with(FORTRAN) && !name.windows(OTHERS.len()).any(|part| part == OTHERS)
        })
}

/// Shows the addresses to which the calls on the stack return, innermost first, until `show` returns false.
#[inline(never)]
pub fn walk(mut show: &mut dyn FnMut(usize) -> bool) {
    extern "C" fn step(context: *mut c_void, show: *mut c_void) -> c_int {
        // SAFETY: the unwinder's context, and what is passed below.
        let (address, show) =
            unsafe { (_Unwind_GetIP(context), &mut *show.cast::<&mut dyn FnMut(usize) -> bool>()) };
        if show(address) { GO_ON } else { STOP }
    }
    // SAFETY: `step` gets the closure back, which lives until the walk has ended.
    unsafe { _Unwind_Backtrace(step, (&raw mut show).cast()) };
}

/// Returns the address to which the innermost call into the library returns: the place in the program that called the
/// library. 0 if there is none. Takes about a microsecond.
#[inline(never)]
pub fn program_address() -> usize {
    let mut found = 0;
    walk(&mut |address| {
        if is_program(address) {
            found = address;
        }
        found == 0
    });
    found
}

#[cfg(test)]
mod tests {
    #[test]
    fn code_of_this_object_is_not_the_program() {
        assert!(super::own().contains(&(super::program_address as *const () as usize)));
        let address = super::program_address();
        assert!(!super::own().contains(&address));
    }
}
