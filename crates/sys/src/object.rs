//! Finds the object that an address is in: a program, a library, or a rank's copy of one.
#![allow(unsafe_code)] // The linker's records.

use core::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

/// What the linker's lookup fills.
#[repr(C)]
struct Found {
    flags: u64,
    map_start: *mut c_void,
    map_end: *mut c_void,
    link_map: *const LinkMap,
    eh_frame: *mut c_void,
    reserved: [u64; 8],
}

#[repr(C)]
struct LinkMap {
    base: usize,
    name: *const c_char,
}

type Find = unsafe extern "C" fn(*mut c_void, *mut Found) -> c_int;

/// glibc's lookup that takes no lock; older ones lack it.
static FIND: OnceLock<Option<Find>> = OnceLock::new();

/// A loaded object.
pub struct Object {
    /// Its file's name; empty for the process's executable.
    pub name: &'static CStr,
    /// What addresses of the file are counted from.
    pub base: usize,
}

/// Looks up what [`find`] needs, which may allocate.
pub fn prepare() {
    FIND.get_or_init(|| {
        // SAFETY: a C string; the function has this type since it exists.
        unsafe {
            let found = libc::dlsym(libc::RTLD_DEFAULT, c"_dl_find_object".as_ptr());
            (!found.is_null()).then(|| core::mem::transmute::<*mut c_void, Find>(found))
        }
    });
}

/// Finds the object that an address is in, without locks or allocation once [`prepare`] has been called; before, nothing is found.
/// The name is valid while the object stays loaded.
#[must_use]
pub fn find(address: usize) -> Option<Object> {
    let find = (*FIND.get()?)?;
    // SAFETY: plain data, for which zeros are valid; the function only writes it.
    let record = unsafe {
        let mut found: Found = core::mem::zeroed();
        if find(address as *mut c_void, &mut found) != 0 {
            return None;
        }
        found.link_map.as_ref()?
    };
    // SAFETY: a record's name is a C string.
    Some(Object { name: unsafe { CStr::from_ptr(record.name) }, base: record.base })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_c_library_is_found_by_an_address_in_it() {
        super::prepare();
        let found = super::find(libc::getpid as *const () as usize);
        let is_old = super::FIND.get().is_some_and(Option::is_none);
        assert!(is_old || found.is_some_and(|object| object.name.to_bytes().ends_with(b"/libc.so.6")));
        assert!(super::find(16).is_none());
    }
}
