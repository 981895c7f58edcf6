//! A rank's environment: the process's until the rank (or its block on `mpirun`'s line) changes a variable, its own
//! from then on. So a rank's `setenv` neither changes another rank's variables nor races with its `getenv`.
#![allow(unsafe_code)] // Hands C strings and C arrays to the program, and reads the process's `environ`.

use core::ffi::{CStr, c_char};
use std::ffi::CString;

/// The variables of one rank, if they are not the process's.
#[derive(Default)]
pub struct Environment {
    /// `NAME=value` strings. What `getenv` returned stays valid: strings are never freed, as in libc.
    own: Option<Vec<*mut c_char>>,
    /// The null-terminated array last handed out as `environ`.
    vector: Vec<*mut c_char>,
}

// SAFETY: the strings are leaked or the program's (`putenv`), and stay in place.
unsafe impl Send for Environment {}

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

/// Returns the strings of a null-terminated array.
///
/// # Safety
/// `vector` is null or such an array.
unsafe fn strings(vector: *const *mut c_char) -> Vec<*mut c_char> {
    let mut list = Vec::new();
    let mut at = vector;
    // SAFETY: the array ends with a null, at which the loop stops.
    while !at.is_null() && unsafe { !(*at).is_null() } {
        // SAFETY: as above.
        unsafe {
            list.push(*at);
            at = at.add(1);
        }
    }
    list
}

fn is_named(entry: *mut c_char, name: &[u8]) -> bool {
    // SAFETY: entries are C strings.
    let entry = unsafe { CStr::from_ptr(entry) }.to_bytes();
    entry.len() > name.len() && entry.starts_with(name) && entry[name.len()] == b'='
}

impl Environment {
    /// Takes over an environment of the rank's own.
    ///
    /// # Safety
    /// `vector` is a null-terminated array of C strings which live as long as the process.
    pub unsafe fn from_vector(vector: *const *mut c_char) -> Self {
        // SAFETY: the caller's promise.
        Self { own: Some(unsafe { strings(vector) }), vector: Vec::new() }
    }

    fn entries(&mut self) -> &mut Vec<*mut c_char> {
        // SAFETY: `environ` is the process's array; ranks do not change it, because their changes come here.
        self.own.get_or_insert_with(|| unsafe { strings(environ) })
    }

    /// Returns a variable's value; null if there is none.
    pub fn get(&self, name: &CStr) -> *mut c_char {
        let Some(own) = &self.own else {
            // SAFETY: a C string; the process's environment is not changed while ranks run.
            return unsafe { process_variable(name) };
        };
        let found = own.iter().find(|entry| is_named(**entry, name.to_bytes()));
        // SAFETY: the entry is `NAME=value`, so the value begins inside the string.
        found.map_or(core::ptr::null_mut(), |entry| unsafe { entry.add(name.count_bytes() + 1) })
    }

    /// Sets a variable. Returns false, and changes nothing, if the name is empty or contains `=`.
    pub fn set(&mut self, name: &CStr, value: &CStr, overwrite: bool) -> bool {
        if name.is_empty() || name.to_bytes().contains(&b'=') {
            return false;
        }
        let entry = [name.to_bytes(), b"=", value.to_bytes()].concat();
        if overwrite || !self.entries().iter().any(|entry| is_named(*entry, name.to_bytes())) {
            let entry = CString::new(entry).expect("made of C strings").into_raw();
            self.put(entry, name.to_bytes());
        }
        true
    }

    /// Makes a string of the program's own an entry (`putenv`).
    pub fn put(&mut self, entry: *mut c_char, name: &[u8]) {
        let entries = self.entries();
        match entries.iter().position(|entry| is_named(*entry, name)) {
            Some(at) => entries[at] = entry,
            None => entries.push(entry),
        }
    }

    /// Removes a variable. Returns false if the name is not one.
    pub fn remove(&mut self, name: &CStr) -> bool {
        if name.is_empty() || name.to_bytes().contains(&b'=') {
            return false;
        }
        self.entries().retain(|entry| !is_named(*entry, name.to_bytes()));
        true
    }

    /// Removes all variables.
    pub fn clear(&mut self) {
        self.own = Some(Vec::new());
    }

    /// Returns the array for the variable `environ`, valid until the next change.
    pub fn vector(&mut self) -> *mut *mut c_char {
        let Some(own) = &self.own else {
            // SAFETY: reads a pointer that is set before any rank starts.
            return unsafe { environ };
        };
        // An array handed out earlier may still be walked by the program: it is left alone, as libc leaves its own.
        let vector = own.iter().copied().chain([core::ptr::null_mut()]).collect();
        core::mem::forget(core::mem::replace(&mut self.vector, vector));
        self.vector.as_mut_ptr()
    }
}

/// Searches the process's `environ` without libc's `getenv`, which the executable replaces by its own.
///
/// # Safety
/// Nobody changes the process's environment meanwhile.
unsafe fn process_variable(name: &CStr) -> *mut c_char {
    // SAFETY: the caller's promise; the array ends with a null.
    unsafe {
        let mut at = environ;
        while !at.is_null() && !(*at).is_null() {
            if is_named(*at, name.to_bytes()) {
                return (*at).add(name.count_bytes() + 1);
            }
            at = at.add(1);
        }
    }
    core::ptr::null_mut()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(environment: &Environment, name: &CStr) -> Option<String> {
        let found = environment.get(name);
        // SAFETY: a value is a C string.
        (!found.is_null()).then(|| unsafe { CStr::from_ptr(found) }.to_str().unwrap().to_owned())
    }

    #[test]
    fn a_rank_changes_only_its_own_environment() {
        let path = std::env::var("PATH").ok();
        let (mut one, two) = (Environment::default(), Environment::default());
        assert_eq!(value(&one, c"PATH"), path);
        assert!(one.set(c"PATH", c"/nowhere", true) && one.set(c"WEFT_NEW", c"1", true));
        assert!(one.set(c"WEFT_NEW", c"2", false));
        assert_eq!(value(&one, c"PATH").as_deref(), Some("/nowhere"));
        assert_eq!(value(&one, c"WEFT_NEW").as_deref(), Some("1"));
        assert_eq!(value(&two, c"PATH"), path);
        assert_eq!(value(&two, c"WEFT_NEW"), None);
        assert!(one.remove(c"WEFT_NEW"));
        assert_eq!(value(&one, c"WEFT_NEW"), None);
        assert!(!one.set(c"", c"x", true) && !one.set(c"a=b", c"x", true) && !one.remove(c""));
        one.clear();
        // SAFETY: the array has at least its terminating null.
        assert!(unsafe { *one.vector() }.is_null());
    }
}
