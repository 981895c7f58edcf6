//! Collects the objects a program consists of: itself and, directly or not, the libraries it needs.

use crate::error::{Error, ErrorKind, Result};
use crate::image::{Fault, Image};
use crate::libraries::{self, Search, SearchPaths, runtimes};
use crate::map::MappedFile;
use object::elf;
use std::path::{Path, PathBuf};

/// What becomes of a needed library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Need {
    /// It is our own library, which the process holds already.
    Ours,
    /// It is shared by all ranks; the path is missing if only the dynamic linker knows it.
    Shared(Option<PathBuf>),
    /// It gets a copy per rank: the index among the parts.
    Private(usize),
}

/// One object that gets a copy per rank.
#[derive(Debug)]
pub(crate) struct Part {
    /// Names the file absolutely.
    pub path: PathBuf,
    /// Holds the file's content.
    pub file: MappedFile,
    /// Lists the needed libraries in the object's order, by the names it uses.
    pub needs: Vec<(String, Need)>,
}

impl Part {
    /// Reads the object's tables.
    pub fn image(&self) -> Result<Image<'_>> {
        Image::parse(self.file.bytes()).map_err(|fault| at(&self.path, fault))
    }

    /// Lists the private libraries it needs, as indices among the parts.
    pub fn private_needs(&self) -> impl Iterator<Item = usize> {
        self.needs.iter().filter_map(|(_, need)| match need {
            Need::Private(index) => Some(*index),
            _ => None,
        })
    }
}

/// Adds the file's name to what is wrong with its bytes.
pub(crate) fn at(path: &Path, fault: Fault) -> Error {
    Error { path: path.to_path_buf(), kind: fault.kind, message: fault.message }
}

/// Reads a program and all libraries of which ranks get copies, the program first, then the tools, then breadth first. The
/// program needs the tools first of all, as far as others can see.
pub(crate) fn collect(
    path: &Path,
    tools: &[PathBuf],
    ours: &[&str],
    search: &dyn Search,
) -> Result<Vec<Part>> {
    let path = std::path::absolute(path).map_err(|e| Error::system(path, "has no absolute path", &e))?;
    let mut parts = vec![Part { file: MappedFile::open(&path)?, path: path.clone(), needs: Vec::new() }];
    for tool in tools {
        let name = tool.to_string_lossy().into_owned();
        let need = resolve(&name, &path, &SearchPaths::default(), ours, search, &mut parts)?;
        if !parts[0].needs.iter().any(|(_, known)| *known == need) {
            parts[0].needs.push((name, need));
        }
    }
    let mut lists: Vec<SearchPaths> = Vec::new();
    // Keeps for each part the search lists of the one that needed it first.
    let mut parents: Vec<Option<usize>> = vec![None; parts.len()];
    let mut next = 0;
    while next < parts.len() {
        let image = parts[next].image()?;
        let origin = parts[next].path.clone();
        let paths = SearchPaths::of(&image, &origin, parents[next].map(|p| &lists[p]));
        let names: Vec<String> = image
            .needed()
            .map_err(|fault| at(&origin, fault))?
            .iter()
            .map(|(name, _)| (*name).to_string())
            .collect();
        drop(image);
        for name in names {
            let need = resolve(&name, &origin, &paths, ours, search, &mut parts)?;
            parents.resize(parts.len(), Some(next));
            parts[next].needs.push((name, need));
        }
        lists.push(paths);
        next += 1;
    }
    Ok(parts)
}

fn resolve(
    name: &str,
    origin: &Path,
    paths: &SearchPaths,
    ours: &[&str],
    search: &dyn Search,
    parts: &mut Vec<Part>,
) -> Result<Need> {
    let base = name.rsplit('/').next().unwrap_or(name);
    if ours.contains(&base) {
        return Ok(Need::Ours);
    }
    let found = search.find(name, origin, paths);
    // What only the dynamic linker knows is part of libc or of what every process has.
    let is_shared = libraries::reason_to_share(base).is_some();
    if is_shared && (found.is_some() || runtimes::of(base).is_none()) {
        return Ok(Need::Shared(found));
    }
    let Some(found) = found else {
        return Err(Error::new(origin, ErrorKind::MissingLibrary, runtimes::missing(name)));
    };
    // Two names of one file are one library, as for the dynamic linker.
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let known = real(&found);
    if let Some(index) = parts.iter().position(|part| real(&part.path) == known) {
        return Ok(Need::Private(index));
    }
    let part = Part { file: MappedFile::open(&found)?, path: found, needs: Vec::new() };
    let image = part.image()?;
    if image.kind != elf::ET_DYN {
        return Err(Error::new(&part.path, ErrorKind::Malformed, "is needed as a library but is not one"));
    }
    drop(image);
    parts.push(part);
    Ok(Need::Private(parts.len() - 1))
}
