//! Plugins and the libraries they need, each file read and edited once for all ranks.

use super::text;
use crate::edit::{Slot, Template};
use crate::error::Error;
use crate::image::Image;
use crate::libraries::{self, System};
use crate::map::MappedFile;
use crate::parts::Part;
use crate::program::Object;
use crate::variables::is_plain_definition;
use object::elf;
use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

/// Tells files apart, and one file before and after it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FileKey {
    place: (u64, u64),
    state: (i64, i64, u64),
}

impl FileKey {
    /// Makes the key of a file from what the system says of it.
    pub fn of(data: &Metadata) -> Self {
        FileKey { place: (data.dev(), data.ino()), state: (data.mtime(), data.mtime_nsec(), data.len()) }
    }

    /// Tells whether it is the same file, whatever has been written to it: for the dynamic linker that is one object.
    pub fn is_same_file(&self, other: &FileKey) -> bool {
        self.place == other.place
    }
}

/// How a name that an object needs is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It is shared by all ranks: a library of the system, or ours.
    Shared,
    /// Each rank has its own.
    Private,
}

/// Tells whether ranks share what is needed under this name.
pub(crate) fn kind_of(name: &str, ours: &[&str]) -> Kind {
    let base = name.rsplit('/').next().unwrap_or(name);
    let shared = ours.contains(&base) || libraries::reason_to_share(base).is_some();
    if shared { Kind::Shared } else { Kind::Private }
}

/// A file that is ready to be loaded any number of times.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub object: Object,
    pub key: FileKey,
    /// Lists what it needs, in its order. The private ones are numbered as the template's libraries are.
    pub needs: Vec<(String, Kind)>,
    /// Tells whether `dlclose` never unloads it: it says so, or it has objects of which a process has one only.
    pub is_resident: bool,
    /// Holds the slots of symbols that the host or its libraries define, too, which the linker would take.
    pub host_slots: Vec<(Box<str>, Vec<Slot>)>,
    /// Holds what this object defines of such symbols.
    pub host_definitions: HashMap<Box<str>, u64>,
}

impl Prepared {
    /// Lists the private needs in the order of the template's slots for names.
    pub fn private_needs(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in self.needs.iter().filter(|(_, kind)| *kind == Kind::Private) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }
}

/// Returns the system's search, whose tables are read once.
pub(crate) fn system() -> &'static System {
    static SYSTEM: LazyLock<System> = LazyLock::new(System::new);
    &SYSTEM
}

/// Prepares a file, or finds that it is prepared. `shown` is its path in messages.
///
/// # Errors
/// The text of `dlerror`.
pub(crate) fn prepare(path: &Path, shown: &str, ours: &[&str]) -> Result<Arc<Prepared>, String> {
    type Cache = Mutex<HashMap<FileKey, Weak<Prepared>>>;
    static CACHE: LazyLock<Cache> = LazyLock::new(Cache::default);
    let key =
        std::fs::metadata(path).map(|data| FileKey::of(&data)).map_err(|e| text::unreadable(shown, &e))?;
    // Held while a file is prepared: others that open the same one at this moment want the result.
    let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = cache.get(&key).and_then(Weak::upgrade) {
        return Ok(found);
    }
    cache.retain(|_, prepared| prepared.strong_count() > 0);
    let made = Arc::new(make(path, shown, key, ours)?);
    cache.insert(key, Arc::downgrade(&made));
    Ok(made)
}

fn make(path: &Path, shown: &str, key: FileKey, ours: &[&str]) -> Result<Prepared, String> {
    let describe = |error: Error| text::of_error(shown, &error);
    let path = std::path::absolute(path).map_err(|e| text::unreadable(shown, &e))?;
    let file = MappedFile::open(&path).map_err(describe)?;
    let part = Part { file, path, needs: Vec::new() };
    let image = part.image().map_err(describe)?;
    text::check_kind(shown, &image)?;
    check(&part.path, shown, &image).map_err(describe)??;
    let names = image.needed().map_err(|fault| format!("{shown}: {}", fault.message))?;
    let needs: Vec<(String, Kind)> =
        names.iter().map(|(name, _)| ((*name).to_string(), kind_of(name, ours))).collect();
    let mut private: HashMap<&str, usize> = HashMap::new();
    for (name, _) in needs.iter().filter(|(_, kind)| *kind == Kind::Private) {
        let next = private.len();
        private.entry(name.as_str()).or_insert(next);
    }
    let template = Template::new(&image, &private, crate::linker::page_size())
        .map_err(|fault| format!("{shown}: {}", fault.message))?;
    let mut host_slots = Vec::new();
    for (name, slots) in &template.slots {
        if crate::linker::host_defines(name) {
            host_slots.push((name.clone(), slots.clone()));
        }
    }
    let definitions = image.symbols().filter(is_plain_definition);
    let host_definitions = definitions
        .filter(|symbol| crate::linker::host_defines(symbol.name))
        .map(|symbol| (Box::from(symbol.name), symbol.value))
        .collect();
    let is_resident = is_resident(&image);
    drop(image);
    let object = Object::new(part, template).map_err(describe)?;
    Ok(Prepared { object, key, needs, is_resident, host_slots, host_definitions })
}

fn is_resident(image: &Image<'_>) -> bool {
    let flags = image.tag(elf::DT_FLAGS_1).unwrap_or(0);
    flags & u64::from(elf::DF_1_NODELETE) != 0
        || image.symbols().any(|symbol| symbol.defined && symbol.bind == elf::STB_GNU_UNIQUE)
}

/// Refuses what cannot be loaded per rank, and warns of what works but concerns other ranks.
fn check(path: &Path, shown: &str, image: &Image<'_>) -> crate::Result<Result<(), String>> {
    let reasons = crate::examine::judge_library(path, image)?;
    if let Some(first) = reasons.iter().find(|reason| reason.kind.is_impossible()) {
        return Ok(Err(format!(
            "{shown}: {}, so it cannot be private to a rank that is a thread; {}, or run with --ranks-as processes",
            first.what, first.remedy
        )));
    }
    for reason in &reasons {
        super::warn(&format!("{shown}, opened by a rank, {}; run with --ranks-as processes", reason.what));
    }
    Ok(Ok(()))
}
