//! Function names and source lines of addresses in a program's file.

use addr2line::Loader;
use object::{Object, ObjectSymbol};
use std::collections::HashMap;

/// Files read so far.
#[derive(Default)]
pub struct Symbols {
    files: HashMap<String, Option<File>>,
}

struct File {
    lines: Option<Loader>,
    /// Functions by address: first, past the last, name.
    functions: Vec<(u64, u64, String)>,
}

impl File {
    fn read(path: &str) -> Option<Self> {
        let bytes = std::fs::read(path).ok()?;
        let object = object::File::parse(&*bytes).ok()?;
        let mut functions: Vec<_> = object
            .symbols()
            .chain(object.dynamic_symbols())
            .filter(|symbol| symbol.kind() == object::SymbolKind::Text && symbol.size() > 0)
            .filter_map(|symbol| {
                Some((symbol.address(), symbol.address() + symbol.size(), symbol.name().ok()?.to_owned()))
            })
            .collect();
        functions.sort();
        Some(Self { lines: Loader::new(path).ok(), functions })
    }

    /// Finds the function whose code the address is in; a function that merely comes before it says nothing.
    fn function(&self, address: u64) -> Option<String> {
        let past = self.functions.partition_point(|(first, ..)| *first <= address);
        let (_, end, name) = self.functions[..past].last()?;
        (address < *end).then(|| addr2line::demangle_auto(name.into(), None).into_owned())
    }
}

/// One function at an address; several if functions were inlined into each other.
#[derive(Debug, PartialEq)]
pub struct Function {
    /// The function's name, demangled.
    pub function: Option<String>,
    /// `file.c:12`
    pub place: Option<String>,
}

impl Symbols {
    /// Finds the functions at an address of a file, innermost first. `is_return` says that the address is where a call
    /// returns to, which may already belong to the next line or function.
    pub fn find(&mut self, file: &str, address: u64, is_return: bool) -> Vec<Function> {
        let unknown = || vec![Function { function: None, place: None }];
        let entry = self.files.entry(file.to_owned()).or_insert_with(|| File::read(file));
        let Some(entry) = entry else { return unknown() };
        let address = address.saturating_sub(u64::from(is_return));
        let mut found = Vec::new();
        if let Some(Ok(mut frames)) = entry.lines.as_ref().map(|lines| lines.find_frames(address)) {
            while let Ok(Some(frame)) = frames.next() {
                let function =
                    frame.function.and_then(|name| name.demangle().ok().map(|name| name.into_owned()));
                let place = frame.location.and_then(|location| {
                    let file = location.file?.rsplit('/').next()?.to_owned();
                    Some(location.line.map_or_else(|| file.clone(), |line| format!("{file}:{line}")))
                });
                found.push(Function { function, place });
            }
        }
        match found.as_mut_slice() {
            [] => found.push(Function { function: entry.function(address), place: None }),
            [Function { function: function @ None, .. }] => *function = entry.function(address),
            _ => {}
        }
        found
    }
}
