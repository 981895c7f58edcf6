//! What one rank has open.
#![allow(unsafe_code)] // Calls destructors, and the dynamic linker's functions.

use super::load::{self};
use super::prepared::{FileKey, Kind, kind_of, system};
use super::tables::{Answer, Body, Entry, Id, Tables};
use super::{Own, text};
use crate::copy::{Copy, destruct};
use crate::image::Image;
use crate::libraries::{Search, SearchPaths};
use crate::linker::take_message;
use crate::map::MappedFile;
use object::elf;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, RwLock};

/// Lets one thread of the rank at a time open and close; a constructor may open, too.
#[derive(Debug, Default)]
struct Turn {
    owner: Mutex<Option<(libc::pthread_t, usize)>>,
    freed: Condvar,
}

struct TurnGuard<'a>(&'a Turn);

impl Turn {
    fn take(&self) -> TurnGuard<'_> {
        // SAFETY: no preconditions.
        let me = unsafe { libc::pthread_self() };
        let mut owner = self.owner.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match &mut *owner {
                None => *owner = Some((me, 1)),
                Some((who, depth)) if *who == me => *depth += 1,
                Some(_) => {
                    owner = self.freed.wait(owner).unwrap_or_else(PoisonError::into_inner);
                    continue;
                }
            }
            return TurnGuard(self);
        }
    }
}

impl Drop for TurnGuard<'_> {
    fn drop(&mut self) {
        let mut owner = self.0.owner.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *owner {
            Some((_, depth)) if *depth > 1 => *depth -= 1,
            _ => {
                *owner = None;
                self.0.freed.notify_one();
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Arguments(pub c_int, pub *mut *mut c_char, pub *mut *mut c_char);

// SAFETY: the program's vectors, which constructors get on whatever thread of the rank opens.
unsafe impl Send for Arguments {}

/// Everything one rank has open.
#[derive(Debug)]
pub(crate) struct Space {
    pub copy: &'static Copy,
    /// What the rank gets in place of libc's: the functions of the dynamic linker, and what its surroundings give.
    pub linker: [(&'static str, usize); 8],
    pub own: Own,
    turn: Turn,
    tables: Mutex<Tables>,
    pub(super) arguments: Mutex<Arguments>,
}

/// Says which object of which rank an address belongs to: the end of its range, its rank's space and its number.
pub(super) type Owners = BTreeMap<usize, (usize, &'static Space, Id)>;
pub(super) static OWNERS: RwLock<Owners> = RwLock::new(BTreeMap::new());

/// Finds the space of a copy, if it has one.
pub(crate) fn space_of(copy: &Copy) -> Option<&'static Space> {
    owner_of(copy.entry).map(|(space, _)| space)
}

/// Finds the object of a rank that an address lies in.
pub(crate) fn owner_of(address: usize) -> Option<(&'static Space, Id)> {
    let owners = OWNERS.read().unwrap_or_else(PoisonError::into_inner);
    let (_, (end, space, id)) = owners.range(..=address).next_back()?;
    (address < *end).then_some((*space, *id))
}

/// Tells whether a file calls itself by the name of a library that all ranks share, whatever its own name is.
fn is_shared_file(path: &Path, ours: &[&str]) -> bool {
    let Ok(file) = MappedFile::open(path) else { return false };
    let image = Image::parse(file.bytes());
    image.is_ok_and(|image| {
        image.tagged_string(elf::DT_SONAME).is_some_and(|name| kind_of(name, ours) == Kind::Shared)
    })
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

impl Space {
    /// Begins with the objects of a copy; none if it never asks the dynamic linker.
    pub fn of(
        copy: &'static Copy,
        linker: [(&'static str, usize); 8],
        own: impl FnOnce() -> Own,
    ) -> Option<Space> {
        let (uniques, handle) = copy.linked.as_ref()?;
        let inner = &copy.program().inner;
        let mut tables = Tables::default();
        for (index, (object, unique)) in inner.objects.iter().zip(uniques).enumerate() {
            let key = FileKey::of(&object.file.file().metadata().ok()?);
            let soname = object.soname.clone();
            tables.entries.insert(
                index as Id,
                Entry {
                    body: Body::Program(index),
                    key,
                    names: if index == 0 {
                        BTreeSet::new()
                    } else {
                        soname.into_iter().chain([file_name(&object.path)]).collect()
                    },
                    path: object.path.clone(),
                    unique: unique.clone(),
                    loaded: None,
                    handle: if index == 0 { *handle } else { 0 },
                    base: copy.bases()[index],
                    needs: inner.needs[index].iter().map(|need| *need as Id).collect(),
                    bound: Vec::new(),
                    count: 0,
                    is_global: false,
                    is_resident: true,
                    has_ended: false,
                    root: 0,
                },
            );
        }
        tables.next = inner.objects.len() as Id;
        let none = std::ptr::null_mut;
        Some(Space {
            copy,
            linker,
            own: own(),
            turn: Turn::default(),
            tables: Mutex::new(tables),
            arguments: Mutex::new(Arguments(0, none(), none())),
        })
    }

    /// Makes the copy's addresses known.
    pub fn register(&'static self) {
        let mut owners = OWNERS.write().unwrap_or_else(PoisonError::into_inner);
        for (id, entry) in &self.tables().entries {
            let (low, high) = entry.range(self.copy);
            owners.insert(low, (high, self, *id));
        }
    }

    pub fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what constructors are called with.
    pub fn set_arguments(&self, argc: c_int, argv: *mut *mut c_char, envp: *mut *mut c_char) {
        *self.arguments.lock().unwrap_or_else(PoisonError::into_inner) = Arguments(argc, argv, envp);
    }

    /// Tells whether an address lies in something the rank has opened.
    pub fn owns(&'static self, address: usize) -> bool {
        owner_of(address).is_some_and(|(space, _)| std::ptr::eq(space, self))
    }

    pub(super) fn ours(&self) -> Vec<&str> {
        self.copy.program().inner.ours.iter().map(String::as_str).collect()
    }

    /// Returns the search lists of an object that asks for another.
    fn paths_of(&self, tables: &Tables, id: Id) -> (PathBuf, SearchPaths) {
        let of = |id: Id, parent: Option<&SearchPaths>| {
            let entry = tables.entries.get(&id).unwrap_or(&tables.entries[&0]);
            let object = entry.object(self.copy);
            let image = Image::parse(object.file.bytes());
            let paths = image.map(|image| SearchPaths::of(&image, &object.path, parent)).unwrap_or_default();
            (object.path.clone(), paths)
        };
        let program = of(0, None);
        if id == 0 { program } else { of(id, Some(&program.1)) }
    }

    /// Opens an object for the rank and returns its handle; null, without a message, if it only asks whether it is open.
    pub fn open(&'static self, name: Option<&CStr>, flags: c_int, caller: Id) -> Answer<usize> {
        let name = name.unwrap_or_default().to_string_lossy().into_owned();
        if flags & (libc::RTLD_LAZY | libc::RTLD_NOW) == 0 {
            return Err(Some(format!("{name}: invalid mode for dlopen(): Invalid argument")));
        }
        let _turn = self.turn.take();
        if name.is_empty() {
            let mut tables = self.tables();
            let program = tables.entries.get_mut(&0).expect("the program is never closed");
            program.count += 1;
            return Ok(program.handle);
        }
        let ours = self.ours();
        if kind_of(&name, &ours) == Kind::Shared {
            return self.open_shared(&name, flags);
        }
        let (origin, paths) = self.paths_of(&self.tables(), caller);
        let known = self.tables().find(|entry| entry.is_known_as(&name));
        let id = match known {
            Some(id) => id,
            None => {
                let path = if name.contains('/') {
                    crate::libraries::expand_path(&name, &origin)
                } else {
                    system().find(&name, &origin, &paths).ok_or_else(|| text::missing(&name))?
                };
                let shown = path.to_string_lossy().into_owned();
                let data = std::fs::metadata(&path).map_err(|e| text::unreadable(&shown, &e))?;
                let key = FileKey::of(&data);
                let same = self.tables().find(|entry| entry.key.is_same_file(&key));
                match same {
                    Some(0) => return Err(Some(text::is_program(&shown))),
                    Some(id) => id,
                    None if is_shared_file(&path, &ours) => return self.open_shared(&shown, flags),
                    None if flags & libc::RTLD_NOLOAD != 0 => return Err(None),
                    None => {
                        let id = self.load(&path, &shown, flags, &paths)?;
                        if let Some(entry) =
                            self.tables().entries.get_mut(&id).filter(|_| !name.contains('/'))
                        {
                            entry.names.insert(name);
                        }
                        return self.count(id, flags);
                    }
                }
            }
        };
        self.count(id, flags)
    }

    /// Leaves a library that all ranks share to libc.
    fn open_shared(&self, name: &str, flags: c_int) -> Answer<usize> {
        let Ok(name) = CString::new(name) else { return Err(None) };
        // SAFETY: a C string; libraries on the shared list run no user code while they are loaded. In the global scope
        // of the process it would be found by all ranks.
        let handle =
            unsafe { libc::dlopen(name.as_ptr(), flags & !libc::RTLD_GLOBAL & !libc::RTLD_DEEPBIND) };
        if handle.is_null() {
            return Err(take_message());
        }
        let mut tables = self.tables();
        if flags & libc::RTLD_GLOBAL != 0 && !tables.shared_globals.contains(&name) {
            tables.shared_globals.push(name);
        }
        Ok(handle as usize)
    }

    /// Counts one more use of an object and returns its handle.
    fn count(&self, id: Id, flags: c_int) -> Answer<usize> {
        let mut tables = self.tables();
        let Some(entry) = tables.entries.get_mut(&id) else { return Err(None) };
        if entry.handle == 0 {
            entry.handle = load::handle_of(&entry.unique)?;
        }
        entry.count += 1;
        entry.is_resident |= flags & libc::RTLD_NODELETE != 0;
        let handle = entry.handle;
        if flags & libc::RTLD_GLOBAL != 0 && !entry.is_global && matches!(entry.body, Body::Plugin(_)) {
            entry.is_global = true;
            load::widen(&mut tables, id);
        }
        Ok(handle)
    }

    /// Keeps an object until the rank ends.
    pub fn keep(&self, id: Id) {
        if let Some(entry) = self.tables().entries.get_mut(&id) {
            entry.is_resident = true;
        }
    }

    /// Ends one use of an object; with the last one its destructors run, and it is unloaded with all that nothing else
    /// needs. `None` if the rank knows no such handle.
    pub fn close(&self, handle: usize) -> Option<Result<(), String>> {
        let _turn = self.turn.take();
        let (unused, order) = {
            let mut tables = self.tables();
            let id = tables.find(|entry| entry.handle == handle)?;
            let entry = tables.entries.get_mut(&id)?;
            if entry.count == 0 {
                return Some(Err(format!("{}: shared object not open", entry.path.display())));
            }
            entry.count -= 1;
            let unused = tables.unused();
            let order = tables.order_of_ends(&unused);
            (unused, order)
        };
        self.end(&order);
        let mut tables = self.tables();
        let gone: Vec<Entry> = unused.iter().filter_map(|id| tables.entries.remove(id)).collect();
        drop(tables);
        let mut owners = OWNERS.write().unwrap_or_else(PoisonError::into_inner);
        for entry in &gone {
            owners.remove(&entry.range(self.copy).0);
        }
        drop(owners);
        for entry in gone {
            load::unload(entry);
        }
        Some(Ok(()))
    }

    /// Runs the destructors of everything, as a process does at its end.
    ///
    /// # Safety
    /// Once, on the rank's own thread, when nothing of the rank's code runs any more.
    pub unsafe fn run_all_destructors(&self) {
        let order = {
            let tables = self.tables();
            let all = tables.entries.keys().copied().collect();
            tables.order_of_ends(&all)
        };
        self.end(&order);
    }

    /// Runs the destructors of objects that have not run theirs. A destructor may close others.
    fn end(&self, order: &[Id]) {
        for id in order {
            let hooks = self.tables().entries.get_mut(id).filter(|entry| !entry.has_ended).map(|entry| {
                entry.has_ended = true;
                (entry.base, entry.object(self.copy).template.hooks.clone())
            });
            if let Some((base, hooks)) = hooks {
                // SAFETY: the object is loaded, and nothing of the rank refers to it any more: the program promises
                // that by closing it, or by its end.
                unsafe { destruct(base, &hooks) };
            }
        }
    }

    /// Returns the object that a handle stands for.
    pub fn of_handle(&self, handle: *mut c_void) -> Option<Id> {
        self.tables().find(|entry| entry.handle != 0 && entry.handle == handle as usize)
    }
}
