//! A rank's environment. The truth is the variable `environ`, as in libc: the program may assign it, or its elements.
//!
//! The array is the rank's from the beginning. Its strings are the process's, for all ranks, until `getenv` hands one
//! out: programs write into what they get (`strtok(getenv("PATH"), ":")`), so the rank then gets a string of its own.
#![allow(unsafe_code)] // Hands C strings and C arrays to the program, and reads arrays of the program.

use core::ffi::{CStr, c_char};
use core::ptr::null_mut;
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::OnceLock;

/// What a variable `environ` needs beside itself. All functions get the variable's address.
pub struct Environment {
    /// The null-terminated array whose strings are not the rank's.
    common: *const *mut c_char,
    /// The array that was last made here, with room at its end.
    array: Vec<*mut c_char>,
    /// The strings made by `set`, which are used again: what `getenv` returned stays valid, so they are never freed.
    known: HashMap<Box<[u8]>, *mut c_char>,
}

// SAFETY: the strings are leaked or the program's (`putenv`), and stay in place.
unsafe impl Send for Environment {}

unsafe extern "C" {
    #[link_name = "environ"]
    static mut PROCESS: *mut *mut c_char;
}

/// Returns the strings with which the process has started. libc changes its array when a rank's time zone is looked at.
fn process() -> *const *mut c_char {
    struct Array(*const *mut c_char);
    // SAFETY: the array is never changed.
    unsafe impl Send for Array {}
    // SAFETY: nobody writes to it, so threads may read it together.
    unsafe impl Sync for Array {}
    static FIRST: OnceLock<Array> = OnceLock::new();
    let array = FIRST.get_or_init(|| {
        // SAFETY: read when the first rank is made, before anything changes it.
        let list: Vec<*mut c_char> = unsafe { strings(PROCESS).chain([null_mut()]).collect() };
        Array(list.leak().as_ptr())
    });
    array.0
}

/// Room for new variables in an array.
const ROOM: usize = 8;

/// Returns the strings of a null-terminated array.
///
/// # Safety
/// `vector` is null or such an array.
unsafe fn strings(vector: *const *mut c_char) -> impl Iterator<Item = *mut c_char> {
    let mut at = vector;
    core::iter::from_fn(move || {
        // SAFETY: the array ends with a null, at which the iterator stays.
        unsafe {
            if at.is_null() || (*at).is_null() {
                return None;
            }
            at = at.add(1);
            Some(*at.sub(1))
        }
    })
}

fn is_named(entry: *mut c_char, name: &[u8]) -> bool {
    // SAFETY: entries are C strings; the comparison stops at the first difference, which may be the end.
    unsafe {
        name.iter().enumerate().all(|(at, byte)| *entry.add(at) as u8 == *byte)
            && *entry.add(name.len()) as u8 == b'='
    }
}

fn is_name(name: &CStr) -> bool {
    !name.is_empty() && !name.to_bytes().contains(&b'=')
}

impl Environment {
    /// Creates an environment with the strings of `vector`, or of the process if null, and its array.
    ///
    /// # Safety
    /// `vector` is null or a null-terminated array of C strings; both live, unchanged, as long as the process.
    pub unsafe fn create(vector: *const *mut c_char) -> (Self, *mut *mut c_char) {
        let common = if vector.is_null() { process() } else { vector };
        let mut new = Self { common, array: Vec::new(), known: HashMap::new() };
        // SAFETY: the caller's promise.
        let array = new.renew(unsafe { strings(common) }.collect());
        (new, array)
    }

    /// Makes a new array of these strings. One handed out earlier may still be walked by the program, and is left alone.
    fn renew(&mut self, mut strings: Vec<*mut c_char>) -> *mut *mut c_char {
        strings.reserve_exact(strings.len().max(ROOM) / 2 + 1);
        strings.push(null_mut());
        core::mem::forget(core::mem::replace(&mut self.array, strings));
        self.array.as_mut_ptr()
    }

    /// Returns a variable's value; null if there is none.
    ///
    /// # Safety
    /// `environ` is a variable as the program may leave it: null, or a null-terminated array of C strings.
    pub unsafe fn get(&mut self, environ: *mut *mut *mut c_char, name: &CStr) -> *mut c_char {
        // SAFETY: the caller's promise; a value begins inside its entry.
        unsafe {
            let Some(place) = find(*environ, name.to_bytes()) else { return null_mut() };
            if strings(self.common).any(|common| common == *place) {
                *place = CStr::from_ptr(*place).to_owned().into_raw();
            }
            (*place).add(name.count_bytes() + 1)
        }
    }

    /// Sets a variable. Returns false, and changes nothing, if the name is empty or contains `=`.
    ///
    /// # Safety
    /// As [`Environment::get`].
    pub unsafe fn set(
        &mut self,
        environ: *mut *mut *mut c_char,
        name: &CStr,
        value: &CStr,
        overwrite: bool,
    ) -> bool {
        if !is_name(name) {
            return false;
        }
        // SAFETY: the caller's promise.
        unsafe {
            if overwrite || find(*environ, name.to_bytes()).is_none() {
                let entry = self.string([name.to_bytes(), b"=", value.to_bytes()].concat());
                self.put(environ, entry, name.to_bytes());
            }
        }
        true
    }

    /// Returns a string that lives for ever.
    fn string(&mut self, text: Vec<u8>) -> *mut c_char {
        let text = text.into_boxed_slice();
        // SAFETY: strings made here are never freed. The program may have written into one.
        match self.known.get(&text).filter(|known| unsafe { CStr::from_ptr(**known) }.to_bytes() == &*text) {
            Some(known) => *known,
            None => {
                let new = CString::new(&*text).expect("made of C strings").into_raw();
                self.known.insert(text, new);
                new
            }
        }
    }

    /// Makes a string an entry (`putenv`).
    ///
    /// # Safety
    /// As [`Environment::get`]; the string stays.
    pub unsafe fn put(&mut self, environ: *mut *mut *mut c_char, entry: *mut c_char, name: &[u8]) {
        // SAFETY: the caller's promise. What lies between an own array's length and capacity is not used otherwise, and the
        // array ends with a null at every moment.
        unsafe {
            if let Some(place) = find(*environ, name) {
                *place = entry;
                return;
            }
            let length = strings(*environ).count();
            if *environ != self.array.as_mut_ptr() || self.array.capacity() < length + 2 {
                let list = strings(*environ).collect();
                *environ = self.renew(list);
            }
            let end = (*environ).add(length);
            end.add(1).write(null_mut());
            end.write(entry);
        }
    }

    /// Removes a variable. Returns false if the name is not one.
    ///
    /// # Safety
    /// As [`Environment::get`].
    pub unsafe fn remove(&mut self, environ: *mut *mut *mut c_char, name: &CStr) -> bool {
        if !is_name(name) {
            return false;
        }
        // SAFETY: the caller's promise: each entry has a successor, the last a null.
        unsafe {
            while let Some(mut place) = find(*environ, name.to_bytes()) {
                while !(*place).is_null() {
                    *place = *place.add(1);
                    place = place.add(1);
                }
            }
        }
        true
    }
}

/// Returns the place of a variable.
unsafe fn find(vector: *mut *mut c_char, name: &[u8]) -> Option<*mut *mut c_char> {
    // SAFETY: the caller passes null or a null-terminated array, so places before the null are in it.
    unsafe { strings(vector).position(|entry| is_named(entry, name)).map(|at| vector.add(at)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Rank(Environment, *mut *mut c_char);

    impl Rank {
        fn new() -> Self {
            // SAFETY: the process's own environment, which no test changes.
            let (environment, environ) = unsafe { Environment::create(core::ptr::null()) };
            Rank(environment, environ)
        }
        fn value(&mut self, name: &CStr) -> Option<String> {
            // SAFETY: the variable was made by `create`; a value is a C string.
            unsafe {
                let found = self.0.get(&raw mut self.1, name);
                (!found.is_null()).then(|| CStr::from_ptr(found).to_str().unwrap().to_owned())
            }
        }
        fn set(&mut self, name: &CStr, value: &CStr, overwrite: bool) -> bool {
            // SAFETY: name and value are C strings, and the variable is this test's own.
            unsafe { self.0.set(&raw mut self.1, name, value, overwrite) }
        }
        fn remove(&mut self, name: &CStr) -> bool {
            // SAFETY: the name is a C string, and the variable is this test's own.
            unsafe { self.0.remove(&raw mut self.1, name) }
        }
    }

    #[test]
    fn a_rank_changes_only_its_own_environment() {
        let path = std::env::var("PATH").ok();
        let (mut one, mut two) = (Rank::new(), Rank::new());
        assert_eq!(one.value(c"PATH"), path);
        assert!(one.set(c"PATH", c"/nowhere", true) && one.set(c"WEFT_NEW", c"1", true));
        assert!(one.set(c"WEFT_NEW", c"2", false));
        assert_eq!(one.value(c"PATH").as_deref(), Some("/nowhere"));
        assert_eq!(one.value(c"WEFT_NEW").as_deref(), Some("1"));
        assert_eq!(two.value(c"PATH"), path);
        assert_eq!(two.value(c"WEFT_NEW"), None);
        assert!(one.remove(c"WEFT_NEW"));
        assert_eq!(one.value(c"WEFT_NEW"), None);
        assert!(!one.set(c"", c"x", true) && !one.set(c"a=b", c"x", true) && !one.remove(c""));
        one.1 = null_mut();
        assert_eq!(one.value(c"PATH"), None);
        for n in 0..100 {
            let name = CString::new(format!("WEFT_{n}")).unwrap();
            assert!(one.set(&name, c"1", true));
        }
        assert_eq!(one.value(c"WEFT_0").as_deref(), Some("1"));
        assert_eq!(one.value(c"WEFT_99").as_deref(), Some("1"));
    }

    #[test]
    fn what_the_program_writes_stays_in_the_rank() {
        let path = std::env::var("PATH").ok();
        let (mut one, mut two) = (Rank::new(), Rank::new());
        // SAFETY: PATH has a value of at least one byte wherever tests run.
        unsafe { *one.0.get(&raw mut one.1, c"PATH") = 0 };
        assert_eq!(one.value(c"PATH").as_deref(), Some(""));
        assert_eq!(two.value(c"PATH"), path);
        let mut array = [c"PATH=/x".as_ptr().cast_mut(), null_mut()];
        two.1 = array.as_mut_ptr();
        assert_eq!(two.value(c"PATH").as_deref(), Some("/x"));
        assert!(two.set(c"HOME", c"/h", true) && two.1 != array.as_mut_ptr());
        assert_eq!(two.value(c"HOME").as_deref(), Some("/h"));
        // A string that the program has written into is not taken again.
        // SAFETY: a string of the rank's.
        unsafe { *two.0.get(&raw mut two.1, c"HOME") = b'x' as c_char };
        assert!(two.set(c"HOME", c"/h", true));
        assert_eq!(two.value(c"HOME").as_deref(), Some("/h"));
    }
}
