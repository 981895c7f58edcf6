//! The functions of the dynamic linker as copies call them.
//!
//! Who calls is known by the address to return to, which only code without a frame of its own can hand on: each of the
//! functions that needs it is a jump.
#![allow(unsafe_code)] // C functions with the program's pointers.

use super::lookup::Wanted;
use super::objects;
use super::space::{Space, owner_of, space_of};
use super::tables::{Answer, Id};
use super::text;
use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::ptr::null_mut;

/// Returns name and address of each function.
pub(crate) fn addresses() -> [(&'static str, usize); 8] {
    [
        ("dlopen", open as *const () as usize),
        ("dlmopen", open_in as *const () as usize),
        ("dlsym", symbol as *const () as usize),
        ("dlvsym", versioned_symbol as *const () as usize),
        ("dlclose", close as *const () as usize),
        ("dlinfo", information as *const () as usize),
        ("dlerror", error as *const () as usize),
        ("dl_iterate_phdr", iterate as *const () as usize),
    ]
}

/// Finds who calls: by the place it returns to, or else by the rank of the thread.
fn caller(place: usize) -> Option<(&'static Space, Id)> {
    owner_of(place).or_else(|| {
        let copy = super::HOST.get().and_then(|host| (host.own_copy)())?;
        Some((space_of(copy)?, 0))
    })
}

/// Notes how a call ended and returns its value.
fn end<T>(answer: Answer<T>, failed: T) -> T {
    match answer {
        Ok(value) => {
            text::note(None);
            value
        }
        Err(message) => {
            text::note(message);
            failed
        }
    }
}

unsafe fn text_of<'a>(name: *const c_char) -> Option<&'a CStr> {
    // SAFETY: the program passes null or a C string, as to libc.
    (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) })
}

unsafe extern "C" fn open_from(name: *const c_char, flags: c_int, place: usize) -> *mut c_void {
    let Some((space, caller)) = caller(place) else {
        // SAFETY: the caller's own arguments.
        return unsafe { libc::dlopen(name, flags) };
    };
    // SAFETY: the caller's promise.
    let name = unsafe { text_of(name) };
    end(space.open(name, flags, caller).map(|handle| handle as *mut c_void), null_mut())
}

unsafe extern "C" fn open_in_from(
    namespace: c_long,
    name: *const c_char,
    flags: c_int,
    place: usize,
) -> *mut c_void {
    if namespace == 0 {
        // SAFETY: the caller's own arguments.
        return unsafe { open_from(name, flags, place) };
    }
    // SAFETY: the caller's promise.
    let name = unsafe { text_of(name) }.unwrap_or_default().to_string_lossy().into_owned();
    let message = format!(
        "{name}: another namespace needs a process of its own, and this rank is a thread; run with --ranks-as processes"
    );
    end(Err(Some(message)), null_mut())
}

unsafe extern "C" fn symbol_from(handle: *mut c_void, name: *const c_char, place: usize) -> *mut c_void {
    // SAFETY: the caller's promise.
    let name = unsafe { text_of(name) }.unwrap_or_default();
    let Some((space, caller)) = caller(place) else {
        // SAFETY: the caller's own arguments.
        return unsafe { libc::dlsym(handle, name.as_ptr()) };
    };
    end(space.symbol(handle, Wanted { name, version: None }, caller), null_mut())
}

unsafe extern "C" fn versioned_symbol_from(
    handle: *mut c_void,
    name: *const c_char,
    version: *const c_char,
    place: usize,
) -> *mut c_void {
    // SAFETY: the caller's promise.
    let (name, version) =
        unsafe { (text_of(name).unwrap_or_default(), text_of(version).unwrap_or_default()) };
    let Some((space, caller)) = caller(place) else {
        // SAFETY: the caller's own arguments.
        return unsafe { libc::dlvsym(handle, name.as_ptr(), version.as_ptr()) };
    };
    end(space.symbol(handle, Wanted { name, version: Some(version) }, caller), null_mut())
}

unsafe extern "C" fn close_from(handle: *mut c_void, place: usize) -> c_int {
    let known = caller(place).and_then(|(space, _)| space.close(handle as usize));
    match known {
        Some(result) => end(result.map(|()| 0).map_err(Some), -1),
        // SAFETY: the caller's own argument: a library that all ranks share, or a mistake.
        None => unsafe { libc::dlclose(handle) },
    }
}

unsafe extern "C" fn information_from(
    handle: *mut c_void,
    request: c_int,
    result: *mut c_void,
    place: usize,
) -> c_int {
    const RTLD_DI_ORIGIN: c_int = 6;
    let folder = caller(place).filter(|_| request == RTLD_DI_ORIGIN).and_then(|(space, _)| {
        let id = space.of_handle(handle)?;
        let folder = space.tables().entries.get(&id)?.object(space.copy).path.parent()?.to_path_buf();
        std::ffi::CString::new(folder.into_os_string().into_encoded_bytes()).ok()
    });
    match folder {
        // SAFETY: the program passes an array with room for the folder, as to libc.
        Some(folder) => unsafe {
            libc::strcpy(result.cast(), folder.as_ptr());
            end(Ok(0), -1)
        },
        // SAFETY: the caller's own arguments.
        None => unsafe { libc::dlinfo(handle, request, result) },
    }
}

unsafe extern "C" fn iterate_from(callback: objects::Callback, data: *mut c_void, place: usize) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { objects::iterate(callback, data, caller(place).map(|(space, _)| space)) }
}

extern "C" fn error() -> *mut c_char {
    text::take()
}

/// Defines functions that hand on where they return to as one argument more.
macro_rules! jump {
    ($($name:ident => $target:ident, $register:literal;)*) => {$(
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!(concat!("mov ", $register, ", [rsp]"), "jmp {}", sym $target);
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!(concat!("mov ", $register, ", x30"), "b {}", sym $target);
        }
    )*};
}

#[cfg(target_arch = "x86_64")]
jump! {
    close => close_from, "rsi";
    open => open_from, "rdx";
    symbol => symbol_from, "rdx";
    iterate => iterate_from, "rdx";
    open_in => open_in_from, "rcx";
    versioned_symbol => versioned_symbol_from, "rcx";
    information => information_from, "rcx";
}

#[cfg(target_arch = "aarch64")]
jump! {
    close => close_from, "x1";
    open => open_from, "x2";
    symbol => symbol_from, "x2";
    iterate => iterate_from, "x2";
    open_in => open_in_from, "x3";
    versioned_symbol => versioned_symbol_from, "x3";
    information => information_from, "x3";
}
