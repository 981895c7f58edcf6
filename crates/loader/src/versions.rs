//! Versions of symbols: which ones an object asks its libraries for, and which ones a library has.
//!
//! A library that lacks a version which a program asks for is older than the one that the program was linked with. The dynamic
//! linker refuses the program then, in each rank.

use crate::error::{Error, ErrorKind, Result};
use crate::image::{Fault, Image};
use crate::libraries::runtimes;
use crate::map::MappedFile;
use crate::parts::{self, Need, Part};
use object::elf;
use object::endian::LittleEndian as LE;
use object::pod::{Pod, from_bytes};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What an object asks one library for (`Elf64_Verneed`).
#[derive(Debug, Clone)]
pub(crate) struct VersionNeed<'a> {
    /// Names the library.
    pub library: &'a str,
    /// Tells where the 32-bit `vn_file` field stands in the file.
    pub name_field: u64,
    /// Lists the versions without which the object cannot be loaded.
    pub versions: Vec<&'a str>,
}

/// Reads a structure at an address.
fn read<'a, T: Pod>(image: &Image<'a>, address: u64, what: &str) -> Result<&'a T, Fault> {
    let bytes = image.at(address, size_of::<T>() as u64);
    let read = bytes.and_then(|bytes| from_bytes::<T>(bytes).ok());
    read.map(|(value, _)| value).ok_or_else(|| outside(what))
}

fn outside(what: &str) -> Fault {
    Fault { kind: ErrorKind::Malformed, message: format!("has version {what} outside the file") }
}

/// Returns the address of the next entry of a chain, if there is one.
fn follow(address: u64, distance: u32, what: &str) -> Result<Option<u64>, Fault> {
    match distance {
        0 => Ok(None),
        _ => address.checked_add(u64::from(distance)).map(Some).ok_or_else(|| outside(what)),
    }
}

/// Returns how many entries a file has room for: a longer chain must be a loop.
fn room(image: &Image<'_>) -> usize {
    image.bytes().len() / size_of::<elf::Verneed<LE>>()
}

/// Lists which libraries' symbol versions an object asks for.
///
/// # Errors
/// A chain that leaves the file is a fault.
pub(crate) fn needs<'a>(image: &Image<'a>) -> Result<Vec<VersionNeed<'a>>, Fault> {
    let what = "requirements";
    let mut all = Vec::new();
    let (Some(first), Some(count)) = (image.tag(elf::DT_VERNEED), image.tag(elf::DT_VERNEEDNUM)) else {
        return Ok(all);
    };
    let (mut left, mut count, mut next) = (room(image), count, Some(first));
    while let Some(address) = next.filter(|_| count > 0 && left > 0) {
        (count, left) = (count - 1, left - 1);
        let raw: &elf::Verneed<LE> = read(image, address, what)?;
        let library = image.string(u64::from(raw.vn_file.get(LE))).ok_or_else(|| outside(what))?;
        let size = size_of::<elf::Verneed<LE>>() as u64;
        let name_field = image.offset_of(address, size).ok_or_else(|| outside(what))? + 4;
        let mut versions = Vec::new();
        let mut inner = follow(address, raw.vn_aux.get(LE), what)?;
        for _ in 0..raw.vn_cnt.get(LE) {
            let Some(address) = inner.filter(|_| left > 0) else { break };
            left -= 1;
            let raw: &elf::Vernaux<LE> = read(image, address, what)?;
            let name = image.string(u64::from(raw.vna_name.get(LE))).ok_or_else(|| outside(what))?;
            if raw.vna_flags.get(LE) & elf::VER_FLG_WEAK == 0 {
                versions.push(name);
            }
            inner = follow(address, raw.vna_next.get(LE), what)?;
        }
        all.push(VersionNeed { library, name_field, versions });
        next = follow(address, raw.vn_next.get(LE), what)?;
    }
    Ok(all)
}

/// Lists the versions that a library has; none if its symbols have no versions.
///
/// # Errors
/// A chain that leaves the file is a fault.
pub(crate) fn definitions(image: &Image<'_>) -> Result<BTreeSet<String>, Fault> {
    let what = "definitions";
    let mut all = BTreeSet::new();
    let (Some(first), Some(count)) = (image.tag(elf::DT_VERDEF), image.tag(elf::DT_VERDEFNUM)) else {
        return Ok(all);
    };
    let (mut left, mut next) = (count.min(room(image) as u64), Some(first));
    while let Some(address) = next.filter(|_| left > 0) {
        left -= 1;
        let raw: &elf::Verdef<LE> = read(image, address, what)?;
        // The first name is the version's own; those behind it are of versions that it contains.
        if let Some(name) = follow(address, raw.vd_aux.get(LE), what)? {
            let raw: &elf::Verdaux<LE> = read(image, name, what)?;
            let name = image.string(u64::from(raw.vda_name.get(LE))).ok_or_else(|| outside(what))?;
            all.insert(name.to_owned());
        }
        next = follow(address, raw.vd_next.get(LE), what)?;
    }
    Ok(all)
}

/// Finds out whether the libraries that a program needs have the versions that it asks for.
///
/// # Errors
/// Names the first version that is missing, the library, and what to do.
pub(crate) fn check(parts: &[Part]) -> Result<()> {
    let mut known: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
    for part in parts {
        let image = part.image()?;
        for need in needs(&image).map_err(|fault| parts::at(&part.path, fault))? {
            let path = match part.needs.iter().find(|(name, _)| name == need.library) {
                Some((_, Need::Private(index))) => &parts[*index].path,
                Some((_, Need::Shared(Some(path)))) => path,
                _ => continue,
            };
            let has = match known.get(path) {
                Some(has) => has,
                None => known.entry(path.clone()).or_insert(versions_of(path)?),
            };
            // The dynamic linker lets a library without versions pass.
            let lacks = |version: &&&str| !has.is_empty() && !has.contains(**version);
            if let Some(version) = need.versions.iter().find(lacks) {
                return Err(Error::new(
                    &part.path,
                    ErrorKind::MissingVersion,
                    lacking(need.library, version, path),
                ));
            }
        }
    }
    Ok(())
}

fn versions_of(path: &Path) -> Result<BTreeSet<String>> {
    let file = MappedFile::open(path)?;
    let image = Image::parse(file.bytes()).map_err(|fault| parts::at(path, fault))?;
    definitions(&image).map_err(|fault| parts::at(path, fault))
}

fn lacking(library: &str, version: &str, path: &Path) -> String {
    let what = runtimes::of(library).map_or(String::new(), |runtime| format!(" ({runtime})"));
    format!(
        "needs version {version} of {library}{what}, which {} has not: that file is older than the one with which the program was \
         linked; compile and link the program here, or put the folder of the newer one first in LD_LIBRARY_PATH",
        path.display()
    )
}
