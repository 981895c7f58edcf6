//! Function names and source lines of addresses in a program's file.

use addr2line::Loader;
use std::collections::HashMap;

/// Files read so far.
#[derive(Default)]
pub struct Symbols {
    files: HashMap<String, Option<Loader>>,
}

/// One function at an address; several if functions were inlined into each other.
#[derive(Debug, PartialEq)]
pub struct Frame {
    /// The function's name, demangled.
    pub function: Option<String>,
    /// `file.c:12`
    pub place: Option<String>,
}

impl Symbols {
    /// Finds the functions at an address of a file, innermost first. `is_return` says that the address is where a call
    /// returns to, which may already belong to the next line or function.
    pub fn find(&mut self, file: &str, address: u64, is_return: bool) -> Vec<Frame> {
        let unknown = || vec![Frame { function: None, place: None }];
        let loader = self.files.entry(file.to_owned()).or_insert_with(|| Loader::new(file).ok());
        let Some(loader) = loader else { return unknown() };
        let address = address.saturating_sub(u64::from(is_return));
        let mut found = Vec::new();
        if let Ok(mut frames) = loader.find_frames(address) {
            while let Ok(Some(frame)) = frames.next() {
                let function = frame.function.and_then(|name| name.demangle().ok().map(|name| name.into_owned()));
                let place = frame.location.and_then(|location| {
                    let file = location.file?.rsplit('/').next()?.to_owned();
                    Some(location.line.map_or_else(|| file.clone(), |line| format!("{file}:{line}")))
                });
                found.push(Frame { function, place });
            }
        }
        if let [Frame { function: function @ None, .. }] = found.as_mut_slice() {
            *function = loader.find_symbol(address).map(|name| addr2line::demangle_auto(name.into(), None).into_owned());
        }
        if found.is_empty() {
            let function = loader.find_symbol(address).map(|name| addr2line::demangle_auto(name.into(), None).into_owned());
            found.push(Frame { function, place: None });
        }
        found
    }
}
