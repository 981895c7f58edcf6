//! Loads what was planned, and unloads it.
#![allow(unsafe_code)] // Calls the dynamic linker and writes into its records.

use super::prepared::{Kind, Prepared, kind_of, system};
use super::tables::{Answer, Entry, Id, Loaded, Tables};
use crate::copy::{fill_copy, settle};
use crate::libraries::{Search, SearchPaths};
use crate::linker::order::{close, close_wrapper, open, open_wrapper, show_debugger};
use crate::linker::{LOADING, LinkMap, explain, memory_file, unique_path};
use std::collections::BTreeSet;
use std::ffi::{CStr, CString, c_int};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

/// An object that is to be loaded.
pub(crate) struct Plan {
    pub prepared: Arc<Prepared>,
    /// Holds the path by which it was found.
    pub path: PathBuf,
    pub names: BTreeSet<String>,
    /// Lists what it needs of private objects, in the order of [`Prepared::private_needs`]. The objects of the plan have
    /// the numbers from the rank's next one on.
    pub needs: Vec<Id>,
}

impl Plan {
    pub fn new(prepared: Arc<Prepared>, path: &Path) -> Self {
        let names = prepared.object.soname.iter().cloned().collect();
        Plan { prepared, path: path.to_path_buf(), names, needs: Vec::new() }
    }
}

/// One object in the order of search.
pub(crate) enum Searched {
    /// It is loaded; this is the name the linker knows.
    Known(CString),
    /// It is one of the plan.
    New(usize),
}

const FLAGS: c_int = libc::RTLD_LAZY | libc::RTLD_NOW;

/// Returns the handle of an object that is loaded.
pub(crate) fn handle_of(unique: &CStr) -> Answer<usize> {
    let _one_at_a_time = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(open(unique, libc::RTLD_LAZY | libc::RTLD_NOLOAD)?)
}

/// Loads the libraries an object needs and all ranks share, so that it finds them by name.
pub(crate) fn load_shared(prepared: &Prepared, paths: &SearchPaths, ours: &[&str]) -> Answer<()> {
    for (name, kind) in &prepared.needs {
        let is_ours = kind_of(name, &[]) == Kind::Private && kind_of(name, ours) == Kind::Shared;
        if *kind == Kind::Private || is_ours {
            continue;
        }
        if let Some(path) = system().find(name, &prepared.object.path, paths) {
            crate::linker::load_shared(&[path]).map_err(|error| error.message)?;
        }
    }
    Ok(())
}

/// Loads the objects of a plan; `known` gives the linker's name of what the rank has already.
pub(crate) fn load(
    plan: &[Plan],
    order: &[Searched],
    flags: c_int,
    first: Id,
    known: impl Fn(Id) -> CString,
) -> Answer<Vec<Loaded>> {
    let _one_at_a_time = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
    let shown = |new: &Plan| new.path.to_string_lossy().into_owned();
    let mut files: Vec<File> = Vec::new();
    let mut names: Vec<CString> = Vec::new();
    for new in plan {
        let object = &new.prepared.object;
        let file = memory_file(&object.path, object.template.length).map_err(|error| error.to_string())?;
        names.push(unique_path(&file));
        files.push(file);
    }
    for (new, file) in plan.iter().zip(&files) {
        let needs: Vec<CString> = new
            .needs
            .iter()
            .map(|need| match need.checked_sub(first) {
                Some(at) => names[at as usize].clone(),
                None => known(*need),
            })
            .collect();
        fill_copy(&new.prepared.object, file, &needs).map_err(|error| error.to_string())?;
    }
    let order: Vec<&CStr> = order
        .iter()
        .map(|searched| match searched {
            Searched::Known(name) => name.as_c_str(),
            Searched::New(at) => names[*at].as_c_str(),
        })
        .collect();
    let wrapper = open_wrapper(&order, flags & FLAGS).map_err(|mut message| {
        for (new, name) in plan.iter().zip(&names) {
            message = message.replace(&*name.to_string_lossy(), &shown(new));
        }
        explain(message)
    })?;
    let mut all = Vec::new();
    for ((at, new), unique) in plan.iter().enumerate().zip(names) {
        let handle = open(&unique, flags & FLAGS | libc::RTLD_NOLOAD)?;
        let shown = CString::new(new.path.as_os_str().as_bytes()).unwrap_or_default();
        let map = handle as *mut LinkMap;
        // SAFETY: the linker's record of an object that was loaded just now and that nobody else knows.
        let (base, linkers_name) = unsafe {
            let own = (*map).name;
            (*map).name = shown.as_ptr();
            ((*map).base, own)
        };
        settle(&new.prepared.object, base).map_err(|error| error.to_string())?;
        let wrappers = if at == 0 { vec![wrapper] } else { Vec::new() };
        all.push(Loaded { unique, handle, base, wrappers, linkers_name, shown });
    }
    show_debugger();
    Ok(all)
}

/// Lets what the rank has opened before find symbols of an object that became global: references that are not bound yet.
pub(crate) fn widen(tables: &mut Tables, id: Id) {
    let closure = tables.closure(id);
    let is_earlier = |other: &Id, entry: &Entry| entry.loaded.is_some() && !closure.contains(other);
    let mut order: Vec<CString> = tables
        .entries
        .iter()
        .filter(|(other, entry)| is_earlier(other, entry))
        .map(|(_, entry)| entry.unique.clone())
        .collect();
    if order.is_empty() {
        return;
    }
    order.extend(closure.iter().map(|id| tables.entries[id].unique.clone()));
    let order: Vec<&CStr> = order.iter().map(CString::as_c_str).collect();
    let _one_at_a_time = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
    // Without it they are searched as before.
    if let Ok(wrapper) = open_wrapper(&order, libc::RTLD_LAZY)
        && let Some(loaded) = tables.entries.get_mut(&id).and_then(|entry| entry.loaded.as_mut())
    {
        loaded.wrappers.push(wrapper);
    }
}

/// Unloads an object whose destructors have run.
pub(crate) fn unload(entry: Entry) {
    let Some(loaded) = entry.loaded else { return };
    let _one_at_a_time = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the record is there until it is closed below; the linker frees its own name then.
    unsafe { (*(loaded.handle as *mut LinkMap)).name = loaded.linkers_name };
    close(loaded.handle);
    loaded.wrappers.iter().for_each(|wrapper| close_wrapper(*wrapper));
}
