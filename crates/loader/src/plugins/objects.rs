//! `dl_iterate_phdr` for a rank: its own objects, its program first, and what all ranks share.
#![allow(unsafe_code)] // Calls the program's function with the dynamic linker's structures.

use super::space::{Space, owner_of};
use std::ffi::{c_int, c_void};

/// The program's function, which is called for each object.
pub(crate) type Callback = unsafe extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> c_int;

type All = Vec<(libc::dl_phdr_info, usize)>;

unsafe extern "C" fn collect(info: *mut libc::dl_phdr_info, size: usize, data: *mut c_void) -> c_int {
    // SAFETY: `iterate` passes its own list, and the linker a structure that is at least as large as this.
    unsafe { (*data.cast::<All>()).push((info.read(), size.min(size_of::<libc::dl_phdr_info>()))) };
    0
}

/// Calls a function for each object until it returns other than 0.
///
/// # Safety
/// As for libc's function.
pub(crate) unsafe fn iterate(callback: Callback, data: *mut c_void, space: Option<&'static Space>) -> c_int {
    let Some(space) = space else {
        // SAFETY: passed on to the caller.
        return unsafe { libc::dl_iterate_phdr(Some(callback), data) };
    };
    let mut all = All::new();
    // SAFETY: the list lives until the call returns.
    unsafe { libc::dl_iterate_phdr(Some(collect), (&raw mut all).cast()) };
    let program = space.copy.base();
    let belongs = |info: &libc::dl_phdr_info| match owner_of(info.dlpi_phdr as usize) {
        Some((owner, _)) => std::ptr::eq(owner, space),
        // What has no name only keeps others in order.
        // SAFETY: the linker's C string.
        None => !info.dlpi_name.is_null() && unsafe { *info.dlpi_name } != 0,
    };
    let is_program = |info: &libc::dl_phdr_info| info.dlpi_addr as usize == program;
    let first = all.iter().filter(|(info, _)| is_program(info));
    let others =
        all.iter().enumerate().filter(|(at, (info, _))| *at > 0 && !is_program(info) && belongs(info));
    let host = all.iter().take(1);
    for (info, size) in first.chain(others.map(|(_, one)| one)).chain(host) {
        let mut info = *info;
        if is_program(&info) {
            info.dlpi_name = c"".as_ptr();
        } else if std::ptr::eq(info.dlpi_phdr, all[0].0.dlpi_phdr) {
            info.dlpi_name = c"/proc/self/exe".as_ptr();
        }
        // SAFETY: the program's function, with a structure like the linker's; what it points to is the linker's.
        let result = unsafe { callback(&mut info, *size, data) };
        if result != 0 {
            return result;
        }
    }
    0
}
