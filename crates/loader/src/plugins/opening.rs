//! Brings what a rank opens into memory: finds what is missing, loads it, and lets its references lead to the rank's own.
#![allow(unsafe_code)] // Writes into objects that do not run yet, and calls constructors.

use super::load::{self, Plan};
use super::prepared::{FileKey, prepare, system};
use super::space::{Arguments, OWNERS, Space};
use super::tables::{Answer, Body, Entry, Id, Tables};
use super::text;
use crate::copy::construct;
use crate::edit::{Hooks, Slot};
use crate::image::Image;
use crate::libraries::{Search, SearchPaths};
use crate::program::Listed;
use std::collections::BTreeSet;
use std::ffi::c_int;
use std::path::Path;
use std::sync::PoisonError;

impl Space {
    /// Loads a plugin with the libraries it needs and that the rank has not, and runs their constructors.
    pub fn load(&'static self, path: &Path, shown: &str, flags: c_int, from: &SearchPaths) -> Answer<Id> {
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
}
