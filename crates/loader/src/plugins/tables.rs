//! The objects of one rank: what each is, what it needs, and in which order their symbols are searched and they end.
#![allow(unsafe_code)] // Holds a pointer of the dynamic linker.

use super::prepared::{FileKey, Prepared};
use crate::copy::Copy;

use crate::program::Object;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CString, c_char};
use std::path::PathBuf;
use std::sync::Arc;

/// Numbers the objects of a rank in the order of their loading; the program is 0.
pub(crate) type Id = u32;

/// Where an object's template is.
#[derive(Debug, Clone)]
pub(crate) enum Body {
    /// The program or one of its libraries: its index there.
    Program(usize),
    /// Opened later.
    Plugin(Arc<Prepared>),
}

/// What the linker knows of a loaded object.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub unique: CString,
    pub handle: usize,
    pub base: usize,
    /// Holds the handles of the objects that were opened for it.
    pub(super) wrappers: Vec<usize>,
    /// Holds the linker's own name, which it frees at the end.
    pub(super) linkers_name: *const c_char,
    /// Holds the name that stands in the linker's record meanwhile.
    #[allow(dead_code, reason = "kept alive for the linker's record")]
    pub(super) shown: CString,
}

// SAFETY: the pointer belongs to the linker's record of the object, which one thread at a time changes.
unsafe impl Send for Loaded {}

/// One object of a rank.
#[derive(Debug)]
pub(crate) struct Entry {
    pub body: Body,
    pub key: FileKey,
    /// Holds the path by which it was found first.
    pub path: PathBuf,
    /// Lists the names by which it may be asked for without a folder.
    pub names: BTreeSet<String>,
    /// Holds the name under which the linker knows it.
    pub unique: CString,
    /// Holds what the linker knows of an object that is no part of the program.
    pub loaded: Option<Loaded>,
    /// Holds the linker's record, if one was asked for.
    pub handle: usize,
    pub base: usize,
    /// Lists the private objects it needs.
    pub needs: Vec<Id>,
    /// Lists the objects in which it has found symbols although it does not need them.
    pub bound: Vec<Id>,
    /// Counts how often it was opened and not closed.
    pub count: usize,
    pub is_global: bool,
    pub is_resident: bool,
    /// Tells whether its destructors have begun.
    pub has_ended: bool,
    /// Tells which plugin's opening brought it.
    pub root: Id,
}

#[derive(Debug, Default)]
pub(crate) struct Tables {
    pub entries: BTreeMap<Id, Entry>,
    pub next: Id,
    /// Lists shared libraries that the rank has opened with `RTLD_GLOBAL`.
    pub shared_globals: Vec<CString>,
}

/// The answer to a rank, or the text of its next `dlerror`; without a text the answer is null and no error.
pub(crate) type Answer<T> = Result<T, Option<String>>;

impl Entry {
    /// Returns what it was loaded from.
    pub fn object<'a>(&'a self, copy: &'a Copy) -> &'a Object {
        match &self.body {
            Body::Program(index) => &copy.program().inner.objects[*index],
            Body::Plugin(prepared) => &prepared.object,
        }
    }

    pub fn range(&self, copy: &Copy) -> (usize, usize) {
        let (low, high) = self.object(copy).template.span;
        (self.base + low as usize, self.base + high as usize)
    }

    pub fn is_known_as(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}

impl Tables {
    pub fn find(&self, test: impl Fn(&Entry) -> bool) -> Option<Id> {
        self.entries.iter().find(|(_, entry)| test(entry)).map(|(id, _)| *id)
    }

    /// Lists an object and all private ones it needs, breadth first.
    pub fn closure(&self, root: Id) -> Vec<Id> {
        let mut list = vec![root];
        let mut at = 0;
        while let Some(id) = list.get(at).copied() {
            for need in self.entries.get(&id).map(|entry| &entry.needs).into_iter().flatten() {
                if !list.contains(need) {
                    list.push(*need);
                }
            }
            at += 1;
        }
        list
    }

    /// Lists what was opened with `RTLD_GLOBAL`, each with what it needs, in the order of search.
    pub fn globals(&self) -> Vec<Id> {
        let mut list = Vec::new();
        for (id, _) in self.entries.iter().filter(|(_, entry)| entry.is_global) {
            for one in self.closure(*id) {
                if !list.contains(&one) {
                    list.push(one);
                }
            }
        }
        list
    }

    /// Lists what nothing refers to any more.
    pub fn unused(&self) -> BTreeSet<Id> {
        let is_root =
            |entry: &Entry| entry.count > 0 || entry.is_resident || matches!(entry.body, Body::Program(_));
        let mut used: Vec<Id> =
            self.entries.iter().filter(|(_, entry)| is_root(entry)).map(|(id, _)| *id).collect();
        let mut at = 0;
        while let Some(entry) = used.get(at).map(|id| &self.entries[id]) {
            for need in entry.needs.iter().chain(&entry.bound) {
                if !used.contains(need) && self.entries.contains_key(need) {
                    used.push(*need);
                }
            }
            at += 1;
        }
        self.entries.keys().copied().filter(|id| !used.contains(id)).collect()
    }

    /// Orders objects as their destructors run: each before those it needs, otherwise as they were loaded, the program
    /// first.
    pub fn order_of_ends(&self, objects: &BTreeSet<Id>) -> Vec<Id> {
        let mut order = Vec::new();
        let mut seen = BTreeSet::new();
        for start in objects.iter().rev().copied() {
            // A stack of its own instead of recursion: the depth is up to whoever made the files.
            let mut stack = if seen.insert(start) { vec![(start, 0)] } else { Vec::new() };
            while let Some((id, next)) = stack.pop() {
                let entry = &self.entries[&id];
                let Some(need) = entry.needs.iter().chain(&entry.bound).nth(next).copied() else {
                    order.push(id);
                    continue;
                };
                stack.push((id, next + 1));
                if objects.contains(&need) && seen.insert(need) {
                    stack.push((need, 0));
                }
            }
        }
        order.reverse();
        if let Some(at) = order.iter().position(|id| *id == 0) {
            order[..=at].rotate_right(1);
        }
        order
    }
}
