//! What one rank has open.
#![allow(unsafe_code)] // Calls constructors and destructors, and the dynamic linker's functions.

use super::load::{self, Loaded, Plan};
use super::prepared::{FileKey, Kind, Prepared, kind_of, prepare, system};
use super::{Own, text};
use crate::copy::{Copy, construct, destruct};
use crate::edit::{Hooks, Slot};
use crate::image::Image;
use crate::libraries::{Search, SearchPaths};
use crate::map::MappedFile;
use crate::program::{Listed, Object};
use object::elf;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};

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
    next: Id,
    /// Lists shared libraries that the rank has opened with `RTLD_GLOBAL`.
    shared_globals: Vec<CString>,
}

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
struct Arguments(c_int, *mut *mut c_char, *mut *mut c_char);

// SAFETY: the program's vectors, which constructors get on whatever thread of the rank opens.
unsafe impl Send for Arguments {}

/// Everything one rank has open.
#[derive(Debug)]
pub(crate) struct Space {
    pub copy: &'static Copy,
    pub own: Own,
    turn: Turn,
    tables: Mutex<Tables>,
    arguments: Mutex<Arguments>,
}

/// Says which object of which rank an address belongs to: the end of its range, its rank's space and its number.
type Owners = BTreeMap<usize, (usize, &'static Space, Id)>;
static OWNERS: RwLock<Owners> = RwLock::new(BTreeMap::new());

/// Finds the object of a rank that an address lies in.
pub(crate) fn owner_of(address: usize) -> Option<(&'static Space, Id)> {
    let owners = OWNERS.read().unwrap_or_else(PoisonError::into_inner);
    let (_, (end, space, id)) = owners.range(..=address).next_back()?;
    (address < *end).then_some((*space, *id))
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

    fn range(&self, copy: &Copy) -> (usize, usize) {
        let (low, high) = self.object(copy).template.span;
        (self.base + low as usize, self.base + high as usize)
    }

    fn is_known_as(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}

impl Tables {
    fn find(&self, test: impl Fn(&Entry) -> bool) -> Option<Id> {
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
    fn unused(&self) -> BTreeSet<Id> {
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
    fn order_of_ends(&self, objects: &BTreeSet<Id>) -> Vec<Id> {
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
    pub fn of(copy: &'static Copy, own: impl FnOnce() -> Own) -> Option<Space> {
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

    fn ours(&self) -> Vec<&str> {
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
            return Err(text::take_libcs());
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

    /// Loads a plugin with the libraries it needs and that the rank has not, and runs their constructors.
    fn load(&'static self, path: &Path, shown: &str, flags: c_int, from: &SearchPaths) -> Answer<Id> {
        let (plan, first) = {
            let tables = self.tables();
            (self.plan(&tables, path, shown, from)?, tables.next)
        };
        let constructors: Vec<(usize, Hooks)> = {
            let mut tables = self.tables();
            let list = self.order_of_search(&tables, &plan, first, flags);
            let loaded = load::load(&plan, &list, flags, first, |need| tables.entries[&need].unique.clone())?;
            for (at, (new, loaded)) in plan.iter().zip(loaded).enumerate() {
                let id = first + at as Id;
                let entry = Entry {
                    body: Body::Plugin(new.prepared.clone()),
                    key: new.prepared.key,
                    path: new.path.clone(),
                    names: new.names.clone(),
                    unique: loaded.unique.clone(),
                    handle: loaded.handle,
                    base: loaded.base,
                    loaded: Some(loaded),
                    needs: new.needs.clone(),
                    bound: Vec::new(),
                    count: 0,
                    is_global: false,
                    is_resident: new.prepared.is_resident,
                    has_ended: false,
                    root: first,
                };
                tables.entries.insert(id, entry);
            }
            tables.next = first + plan.len() as Id;
            let mut owners = OWNERS.write().unwrap_or_else(PoisonError::into_inner);
            for at in 0..plan.len() {
                let id = first + at as Id;
                let (low, high) = tables.entries[&id].range(self.copy);
                owners.insert(low, (high, self, id));
            }
            drop(owners);
            for at in 0..plan.len() {
                let id = first + at as Id;
                self.correct(&tables, id, flags);
                let bound = self.bound(&tables, id);
                tables.entries.get_mut(&id).expect("just inserted").bound = bound;
            }
            let new: BTreeSet<Id> = (first..tables.next).collect();
            let order = tables.order_of_ends(&new).into_iter().rev();
            let hooks = |id: Id| {
                let entry = &tables.entries[&id];
                (entry.base, entry.object(self.copy).template.hooks.clone())
            };
            order.map(hooks).collect()
        };
        let Arguments(argc, argv, envp) = *self.arguments.lock().unwrap_or_else(PoisonError::into_inner);
        for (base, hooks) in constructors {
            // SAFETY: the object was loaded just now; no lock is held but the rank's turn, which a constructor that
            // opens something may take again.
            unsafe { construct(base, &hooks, argc, argv, envp) };
        }
        Ok(first)
    }

    /// Finds what has to be loaded for a plugin: itself, and breadth first the private libraries the rank has not yet.
    fn plan(&self, tables: &Tables, path: &Path, shown: &str, from: &SearchPaths) -> Answer<Vec<Plan>> {
        let ours = self.ours();
        let first = tables.next;
        // The search lists of who opens hold for what it opens only; those inherited from the program for all.
        let inherited = SearchPaths { before: from.before.clone(), after: Vec::new() };
        let mut plan = vec![Plan::new(prepare(path, shown, &ours)?, path)];
        let mut lists: Vec<SearchPaths> = Vec::new();
        let mut parents = vec![None];
        let mut next = 0;
        while next < plan.len() {
            let prepared = plan[next].prepared.clone();
            if prepared.object.template.executable_stack && !self.copy.program().needs_executable_stack() {
                return Err(Some(text::needs_stack(&plan[next].path.to_string_lossy())));
            }
            let origin = &prepared.object.path;
            let parent = parents[next].map_or(&inherited, |at: usize| &lists[at]);
            let paths = Image::parse(prepared.object.file.bytes())
                .map(|image| SearchPaths::of(&image, origin, Some(parent)))
                .unwrap_or_default();
            load::load_shared(&prepared, &paths, &ours)?;
            for name in prepared.private_needs() {
                let id = self.resolve(tables, &mut plan, name, origin, &paths, &ours)?;
                parents.resize(plan.len(), Some(next));
                plan[next].needs.push(id);
                debug_assert!(id < first + plan.len() as Id);
            }
            lists.push(paths);
            next += 1;
        }
        Ok(plan)
    }

    /// Finds the object that a needed name stands for, and adds it to the plan if the rank has it not.
    fn resolve(
        &self,
        tables: &Tables,
        plan: &mut Vec<Plan>,
        name: &str,
        origin: &Path,
        paths: &SearchPaths,
        ours: &[&str],
    ) -> Answer<Id> {
        let planned = |at: usize| tables.next + at as Id;
        if let Some(id) = tables.find(|entry| entry.is_known_as(name)) {
            return Ok(id);
        }
        if let Some(at) = plan.iter().position(|new| new.names.contains(name)) {
            return Ok(planned(at));
        }
        let found = system().find(name, origin, paths).ok_or_else(|| text::missing(name))?;
        let data = std::fs::metadata(&found).map_err(|e| text::unreadable(name, &e))?;
        let key = FileKey::of(&data);
        if let Some(id) = tables.find(|entry| entry.key.is_same_file(&key)) {
            return Ok(id);
        }
        if let Some(at) = plan.iter().position(|new| new.prepared.key.is_same_file(&key)) {
            plan[at].names.insert(name.to_string());
            return Ok(planned(at));
        }
        let mut new = Plan::new(prepare(&found, &found.to_string_lossy(), ours)?, &found);
        new.names.insert(name.to_string());
        plan.push(new);
        Ok(planned(plan.len() - 1))
    }

    /// Lists the names of all objects in which a plugin's symbols are searched, in order. The plugin's own is missing:
    /// its place is marked by none.
    fn order_of_search(
        &self,
        tables: &Tables,
        plan: &[Plan],
        first: Id,
        flags: c_int,
    ) -> Vec<load::Searched> {
        let program = self.copy.program().inner.list.iter().map(|listed| match listed {
            Listed::Own(index) => load::Searched::Known(tables.entries[&(*index as Id)].unique.clone()),
            Listed::Shared(name) => load::Searched::Known(name.clone()),
        });
        let shared = tables.shared_globals.iter().cloned().map(load::Searched::Known);
        let globals = tables.globals();
        let globals = globals.iter().map(|id| load::Searched::Known(tables.entries[id].unique.clone()));
        let others = program.chain(shared).chain(globals);
        if flags & libc::RTLD_DEEPBIND == 0 {
            return others.chain([load::Searched::New(0)]).collect();
        }
        let mut own = vec![load::Searched::New(0)];
        for need in plan.iter().flat_map(|new| &new.needs) {
            own.push(match need.checked_sub(first) {
                Some(at) => load::Searched::New(at as usize),
                None => load::Searched::Known(tables.entries[need].unique.clone()),
            });
        }
        own.into_iter().chain(others).collect()
    }

    /// Lets references of a new object lead to what comes first for the rank, where the linker found the host's or libc's.
    fn correct(&self, tables: &Tables, id: Id, flags: c_int) {
        let inner = &self.copy.program().inner;
        let entry = &tables.entries[&id];
        let Body::Plugin(prepared) = &entry.body else { return };
        let own = tables.closure(entry.root);
        let globals = tables.globals();
        let of_program = |name: &str| {
            let (object, value) = inner.own_names.get(name)?;
            Some(self.copy.bases()[*object] + *value as usize)
        };
        let of_plugins = |list: &[Id], name: &str| {
            list.iter().find_map(|id| {
                let entry = tables.entries.get(id)?;
                match &entry.body {
                    Body::Plugin(prepared) => {
                        prepared.host_definitions.get(name).map(|value| entry.base + *value as usize)
                    }
                    Body::Program(_) => None,
                }
            })
        };
        for (name, slots) in &prepared.host_slots {
            let deep = flags & libc::RTLD_DEEPBIND != 0;
            let target = deep
                .then(|| of_plugins(&own, name))
                .flatten()
                .or_else(|| of_program(name))
                .or_else(|| of_plugins(&globals, name))
                .or_else(|| of_plugins(&own, name))
                .or_else(|| super::lookup::replacement(self, name));
            let Some(target) = target else { continue };
            for Slot { address, addend } in slots {
                // SAFETY: the slot lies in the object's writable data, as the template's maker checked, and nothing of
                // the object runs yet.
                unsafe {
                    let place = (entry.base + *address as usize) as *mut usize;
                    place.write_unaligned(target.wrapping_add(*addend as usize));
                }
            }
        }
    }

    /// Lists the objects opened with `RTLD_GLOBAL` in which a new one has found symbols.
    fn bound(&self, tables: &Tables, id: Id) -> Vec<Id> {
        let entry = &tables.entries[&id];
        let own = tables.closure(entry.root);
        let others: Vec<(Id, (usize, usize))> = tables
            .globals()
            .into_iter()
            .filter(|other| !own.contains(other) && *other != id)
            .map(|other| (other, tables.entries[&other].range(self.copy)))
            .collect();
        let mut bound = Vec::new();
        if others.is_empty() {
            return bound;
        }
        for Slot { address, .. } in entry.object(self.copy).template.slots.values().flatten() {
            // SAFETY: the slot lies in the object's data.
            let value = unsafe { ((entry.base + *address as usize) as *const usize).read_unaligned() };
            for (other, (low, high)) in &others {
                if (*low..*high).contains(&value) && !bound.contains(other) {
                    bound.push(*other);
                }
            }
        }
        bound
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
