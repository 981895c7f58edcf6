//! Loads what was planned, and unloads it.
#![allow(unsafe_code)] // Calls the dynamic linker and writes into its records.

use super::prepared::{Kind, Prepared, kind_of, system};
use super::space::{Answer, Entry, Id, Tables};
use super::{text, wrapper};
use crate::copy::{LOADING, LinkMap, explain, fill_copy, memory_file, settle, unique_path};
use crate::libraries::{Search, SearchPaths};
use std::collections::BTreeSet;
use std::ffi::{CStr, CString, c_char, c_int};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
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

/// What the linker knows of a loaded object.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub unique: CString,
    pub handle: usize,
    pub base: usize,
    /// Holds the handles of the objects that were opened for it.
    wrappers: Vec<usize>,
    /// Holds the linker's own name, which it frees at the end.
    linkers_name: *const c_char,
    /// Holds the name that stands in the linker's record meanwhile.
    #[allow(dead_code, reason = "kept alive for the linker's record")]
    shown: CString,
}

// SAFETY: the pointer belongs to the linker's record of the object, which one thread at a time changes.
unsafe impl Send for Loaded {}

const FLAGS: c_int = libc::RTLD_LAZY | libc::RTLD_NOW;

fn open(name: &CStr, flags: c_int) -> Result<usize, String> {
    // SAFETY: a C string; the constructors of what it names are hidden from the linker.
    let handle = unsafe { libc::dlopen(name.as_ptr(), flags) };
    if handle.is_null() {
        return Err(text::take_libcs().unwrap_or_else(|| "the dynamic linker gives no reason".into()));
    }
    Ok(handle as usize)
}

fn close(handle: usize) {
    // SAFETY: a handle from `open` that is closed once.
    unsafe { libc::dlclose(handle as *mut _) };
}

/// Opens an object that makes the linker search in an order.
fn open_wrapper(needed: &[&CStr], flags: c_int) -> Result<usize, String> {
    let bytes = wrapper::build(needed);
    let path = Path::new("plugin");
    let file = memory_file(path, bytes.len() as u64).map_err(|error| error.message)?;
    file.write_all_at(&bytes, 0).map_err(|error| format!("no memory for a plugin: {error}"))?;
    let name = unique_path(&file);
    let handle = open(&name, flags).map_err(|message| message.replace(&*name.to_string_lossy(), "plugin"))?;
    let map = handle as *mut LinkMap;
    // SAFETY: the linker's record of an object that only we know. Debuggers skip objects without a name; the empty text
    // lies at the end of the name, so what the linker frees must be put back before it unloads: see `close_wrapper`.
    unsafe {
        NAMES.lock().unwrap_or_else(PoisonError::into_inner).push((handle, (*map).name as usize));
        (*map).name = c"".as_ptr();
    }
    Ok(handle)
}

/// Keeps the linker's names of wrappers.
static NAMES: std::sync::Mutex<Vec<(usize, usize)>> = std::sync::Mutex::new(Vec::new());

fn close_wrapper(handle: usize) {
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(at) = names.iter().position(|(known, _)| *known == handle) {
        let (_, name) = names.swap_remove(at);
        // SAFETY: the linker's record, which is still there, gets its own name back.
        unsafe { (*(handle as *mut LinkMap)).name = name as *const c_char };
    }
    drop(names);
    close(handle);
}

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
            crate::copy::load_shared(&[path]).map_err(|error| error.message)?;
        }
    }
    Ok(())
}

/// Lets a debugger that is there look at the linker's list again: names have changed. It looks when something is loaded
/// or unloaded.
pub(crate) fn show_debugger() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:")).map(str::trim);
    if tracer.is_some_and(|tracer| tracer != "0")
        && let Ok(handle) = open_wrapper(&[], libc::RTLD_LAZY)
    {
        close_wrapper(handle);
    }
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
