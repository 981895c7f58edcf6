//! Finds the shared libraries a program needs and decides which of them all ranks may share.

mod cache;
pub(crate) mod runtimes;
pub mod supplied;
pub mod symbols;

use crate::image::Image;
use object::elf;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Lists the system libraries that are loaded once, each with the reason why sharing is right.
///
/// Everything else gets a copy per rank. What a rank could tell from its own in these libraries is judged symbol by symbol
/// (`symbols.rs`).
pub const SHARED: &[(&str, &str)] = &[
    ("ld-linux-x86-64.so.2", "is the dynamic linker: there is one per process"),
    ("ld-linux-aarch64.so.1", "is the dynamic linker: there is one per process"),
    ("libc.so.6", "owns heap, stdio and threads; the host gives ranks their own getopt, rand, strtok, exit"),
    ("libpthread.so.0", "is part of libc"),
    ("libdl.so.2", "is part of libc"),
    ("librt.so.1", "is part of libc"),
    ("libutil.so.1", "is part of libc"),
    ("libresolv.so.2", "is part of libc; keeps its state per thread"),
    ("libnsl.so.1", "is part of libc"),
    ("libanl.so.1", "is part of libc"),
    ("libm.so.6", "has no state but errno and signgam"),
    ("libmvec.so.1", "has no state"),
    ("libquadmath.so.0", "has no state but errno and signgam; teaches libc's printf its format once"),
    ("libgcc_s.so.1", "unwinds through every object, so it must know all of them; has no other state"),
    ("libatomic.so.1", "its locks must be the same for everybody"),
    ("libstdc++.so.6", "is thread-safe; a throw in one object must meet the catch in another"),
    ("libgomp.so.1", "keeps teams and settings per thread; ranks have their own critical sections"),
];

/// Tells why a library may be shared by all ranks, by the name other objects need it under.
pub fn reason_to_share(name: &str) -> Option<&'static str> {
    SHARED.iter().find(|(shared, _)| *shared == name).map(|(_, why)| *why)
}

/// Finds libraries by name; a test or a fuzzer puts something else in place of the file system.
pub trait Search {
    /// Returns the absolute path of the library `name` that an object at `origin` with these search lists needs.
    fn find(&self, name: &str, origin: &Path, paths: &SearchPaths) -> Option<PathBuf>;
}

/// Holds the search lists that apply to the libraries one object needs.
#[derive(Debug, Clone, Default)]
pub struct SearchPaths {
    /// Lists folders of `DT_RPATH`, the object's own and those inherited from who needed it.
    pub before: Vec<String>,
    /// Lists folders of `DT_RUNPATH`, which holds for the object itself only.
    pub after: Vec<String>,
}

impl SearchPaths {
    /// Reads an object's lists; `parent` are those of the object that needed it.
    pub fn of(image: &Image<'_>, path: &Path, parent: Option<&SearchPaths>) -> Self {
        let origin = path.parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned();
        let split = |tag| -> Vec<String> {
            let list = image.tagged_string(tag).unwrap_or("");
            list.split(':').filter(|s| !s.is_empty()).flat_map(|s| expand(s, &origin)).collect()
        };
        let after = split(elf::DT_RUNPATH);
        let mut before = if after.is_empty() { split(elf::DT_RPATH) } else { Vec::new() };
        before.extend(parent.iter().flat_map(|p| p.before.iter().cloned()));
        SearchPaths { before, after }
    }
}

/// Replaces what a path with a folder may refer to by `$`, for an object at `origin`.
pub(crate) fn expand_path(path: &str, origin: &Path) -> PathBuf {
    let folder = origin.parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned();
    let all = expand(path, &folder);
    let found = all.iter().find(|path| Path::new(path).exists()).or(all.first());
    PathBuf::from(found.map_or(path, String::as_str))
}

/// Replaces `$ORIGIN` and `$LIB`; the latter means a different folder from system to system, so try each.
fn expand(folder: &str, origin: &str) -> Vec<String> {
    let folder = folder.replace("${ORIGIN}", origin).replace("$ORIGIN", origin).replace("${LIB}", "$LIB");
    if folder.contains("$LIB") {
        LIB_FOLDERS.iter().map(|lib| folder.replace("$LIB", lib)).collect()
    } else {
        vec![folder]
    }
}

#[cfg(not(target_arch = "aarch64"))]
const LIB_FOLDERS: &[&str] = &["lib/x86_64-linux-gnu", "lib64", "lib"];
#[cfg(target_arch = "aarch64")]
const LIB_FOLDERS: &[&str] = &["lib/aarch64-linux-gnu", "lib64", "lib"];

/// Searches the file system the way the dynamic linker does.
pub struct System {
    environment: Vec<String>,
    cache: HashMap<String, PathBuf>,
}

impl System {
    /// Reads `LD_LIBRARY_PATH` and the linker's cache once.
    pub fn new() -> Self {
        let list = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
        // An empty entry means the working directory.
        let folders = list.split([':', ';']).map(|s| if s.is_empty() { "." } else { s });
        let environment = if list.is_empty() { Vec::new() } else { folders.map(String::from).collect() };
        System { environment, cache: cache::read() }
    }
}

impl Default for System {
    fn default() -> Self {
        Self::new()
    }
}

impl Search for System {
    fn find(&self, name: &str, origin: &Path, paths: &SearchPaths) -> Option<PathBuf> {
        if let Some(path) = supplied::find(name) {
            return Some(path);
        }
        if name.contains('/') {
            let folder = origin.parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned();
            return expand(name, &folder).iter().find_map(|path| usable(Path::new(path)));
        }
        let listed = |list: &[String]| list.iter().find_map(|f| usable(&Path::new(f).join(name)));
        listed(&paths.before)
            .or_else(|| listed(&self.environment))
            .or_else(|| listed(&paths.after))
            .or_else(|| self.cache.get(name).and_then(|path| usable(path)))
            .or_else(|| {
                let roots = ["/", "/usr/"].iter();
                let mut folders =
                    roots.flat_map(|root| LIB_FOLDERS.iter().map(move |lib| format!("{root}{lib}")));
                folders.find_map(|folder| usable(&Path::new(&folder).join(name)))
            })
    }
}

/// Accepts a file that starts like a 64-bit object of this machine; the linker skips others as well.
fn usable(path: &Path) -> Option<PathBuf> {
    use std::io::Read;
    let mut head = [0; 20];
    std::fs::File::open(path).ok()?.read_exact(&mut head).ok()?;
    let machine = u16::from_le_bytes([head[18], head[19]]);
    let fits =
        head.starts_with(&elf::ELFMAG) && head[4] == elf::ELFCLASS64 && machine == crate::image::HOST_MACHINE;
    if !fits {
        return None;
    }
    std::path::absolute(path).ok()
}
