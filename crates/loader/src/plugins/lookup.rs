//! `dlsym` for a rank: the rank's own symbols, and the host's functions in place of libc's.
#![allow(unsafe_code)] // Asks the dynamic linker.

use super::space::{Space, owner_of};
use super::tables::{Answer, Body, Id};
use crate::linker::take_message;
use crate::program::Listed;
use crate::variables::is_plain_definition;
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

/// What `dlsym` and `dlvsym` are asked for.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub name: &'a CStr,
    pub version: Option<&'a CStr>,
}

impl Wanted<'_> {
    /// Asks the linker; null if the object of that handle, and those it needs, lack the symbol.
    fn find(self, handle: usize) -> *mut c_void {
        let handle = handle as *mut c_void;
        // SAFETY: C strings, and a handle the linker has given, or one for which the program answers.
        unsafe {
            match self.version {
                Some(version) => libc::dlvsym(handle, self.name.as_ptr(), version.as_ptr()),
                None => libc::dlsym(handle, self.name.as_ptr()),
            }
        }
    }

    fn missing(self, object: &str) -> Option<String> {
        let name = self.name.to_string_lossy();
        Some(match self.version {
            Some(version) => {
                format!("{object}: undefined symbol: {name}, version {}", version.to_string_lossy())
            }
            None => format!("{object}: undefined symbol: {name}"),
        })
    }
}

/// Returns the rank's own in place of a symbol of libc: a function of the dynamic linker, another one, or a variable.
pub(crate) fn replacement(space: &Space, name: &str) -> Option<usize> {
    let function = space.linker.iter().find(|(known, _)| *known == name).map(|(_, address)| *address);
    let function = function.or_else(|| space.own.functions.get(name).copied());
    function
        .or_else(|| space.own.variables.iter().find(|(known, _)| *known == name).map(|(_, address)| *address))
}

/// Returns the start of the object in which an address lies.
fn object_at(address: *const c_void) -> *mut c_void {
    let mut found = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: null_mut(),
    };
    // SAFETY: the structure is ours; any address may be asked for.
    unsafe { libc::dladdr(address, &mut found) };
    found.dli_fbase
}

/// Puts the rank's own, or the host's, in place of what was found in a library that all ranks share.
fn own(space: &Space, wanted: Wanted<'_>, found: *mut c_void) -> *mut c_void {
    if found.is_null() || owner_of(found as usize).is_some() {
        return found;
    }
    if let Some(address) = wanted.name.to_str().ok().and_then(|name| replacement(space, name)) {
        return address as *mut c_void;
    }
    let host = find_in_host(wanted.name);
    // SAFETY: asks for a constant.
    let headers = unsafe { libc::getauxval(libc::AT_PHDR) } as *const c_void;
    if !host.is_null() && object_at(host) == object_at(headers) { host } else { found }
}

fn find_in_host(name: &CStr) -> *mut c_void {
    // SAFETY: the host's own handle, and a C string.
    unsafe { libc::dlsym(libc::dlopen(std::ptr::null(), libc::RTLD_LAZY), name.as_ptr()) }
}

impl Space {
    /// Finds a symbol by a handle for code of the object `caller`.
    pub fn symbol(&'static self, handle: *mut c_void, wanted: Wanted<'_>, caller: Id) -> Answer<*mut c_void> {
        let found = if handle == libc::RTLD_NEXT {
            return self.next(wanted, caller);
        } else if handle == libc::RTLD_DEFAULT {
            self.global(wanted, Some(caller))
        } else if self.of_handle(handle) == Some(0) {
            self.global(wanted, None)
        } else {
            let found = wanted.find(handle as usize);
            let message = take_message();
            if found.is_null() && message.is_some() {
                return Err(message);
            }
            return Ok(own(self, wanted, found));
        };
        found.ok_or_else(|| wanted.missing(&self.name_of(caller)))
    }

    fn name_of(&self, id: Id) -> String {
        let tables = self.tables();
        let entry = tables.entries.get(&id).unwrap_or(&tables.entries[&0]);
        entry.path.to_string_lossy().into_owned()
    }

    /// Searches the program, what was opened with `RTLD_GLOBAL`, and what the caller was opened with.
    fn global(&self, wanted: Wanted<'_>, caller: Option<Id>) -> Option<*mut c_void> {
        let handles: Vec<usize> = {
            let tables = self.tables();
            let globals = tables.entries.values().filter(|entry| entry.is_global);
            let root = caller.and_then(|id| tables.entries.get(&tables.entries.get(&id)?.root));
            [&tables.entries[&0]].into_iter().chain(globals).chain(root).map(|entry| entry.handle).collect()
        };
        let found = handles.into_iter().map(|handle| wanted.find(handle)).find(|found| !found.is_null());
        found.map(|found| own(self, wanted, found))
    }

    /// Searches the objects after the caller's.
    fn next(&self, wanted: Wanted<'_>, caller: Id) -> Answer<*mut c_void> {
        let list: Vec<Id> = {
            let tables = self.tables();
            let root = tables.entries.get(&caller).map_or(0, |entry| entry.root);
            let list = if root == 0 {
                let own = self.copy.program().inner.list.iter();
                let own = own.filter_map(|listed| match listed {
                    Listed::Own(index) => Some(*index as Id),
                    Listed::Shared(_) => None,
                });
                own.chain(tables.globals()).collect()
            } else {
                tables.closure(root)
            };
            let past = list.iter().position(|id| *id == caller).map_or(0, |at| at + 1);
            list.into_iter().skip(past).collect()
        };
        let own_one = list.into_iter().find_map(|id| self.defined_in(id, wanted.name));
        if let Some(found) = own_one {
            return Ok(found);
        }
        // Then come the libraries that all ranks share.
        let shared = self.copy.program().inner.list.iter().filter_map(|listed| match listed {
            Listed::Shared(name) => Some(name),
            Listed::Own(_) => None,
        });
        for name in shared {
            // SAFETY: a C string; the library is loaded already.
            let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
            if handle.is_null() {
                continue;
            }
            let found = wanted.find(handle as usize);
            // SAFETY: the handle from above; the library stays, as the program needs it.
            unsafe { libc::dlclose(handle) };
            if !found.is_null() && owner_of(found as usize).is_none() {
                return Ok(own(self, wanted, found));
            }
        }
        Err(wanted.missing(&self.name_of(caller)))
    }

    /// Finds a symbol in one object alone.
    fn defined_in(&self, id: Id, name: &CStr) -> Option<*mut c_void> {
        let (handle, range, base, value) = {
            let tables = self.tables();
            let entry = tables.entries.get(&id)?;
            let object = entry.object(self.copy);
            let image = crate::image::Image::parse(object.file.bytes()).ok()?;
            let name = name.to_str().ok()?;
            let symbol = image.symbols().find(|symbol| symbol.name == name && symbol.defined)?;
            let plain = is_plain_definition(&symbol).then_some(symbol.value);
            let handle = match entry.body {
                Body::Plugin(_) => entry.handle,
                Body::Program(_) => 0,
            };
            (handle, object.template.span, entry.base, plain)
        };
        if let Some(value) = value {
            return Some((base + value as usize) as *mut c_void);
        }
        // A function that chooses its form, or thread-local data: the linker knows how.
        let found = Wanted { name, version: None }.find(handle);
        let inside = (found as usize).wrapping_sub(base) as u64;
        (handle != 0 && inside >= range.0 && inside < range.1).then_some(found)
    }
}
