//! Finds what a program and its own libraries use of libraries that all ranks share, where a rank could tell.

use crate::error::Result;
use crate::image::Image;
use crate::libraries::System;
use crate::parts::{self, Part};
use crate::symbols::{self, Standing};
use crate::verdict::{Reason, ReasonKind};
use object::elf;
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

const EXCEPTIONS: &str = include_str!("../symbols/exceptions.txt");

const REMEDY: &str = "if no rank is disturbed by that, say --ranks-as threads";

/// Iterates over the table of libraries that use something without harm: pattern, symbol (or `*`), why.
pub fn exceptions() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    EXCEPTIONS.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let (library, rest) = line.split_once(' ')?;
        let (symbol, why) = rest.trim_start().split_once(' ')?;
        Some((library, symbol, why.trim_start()))
    })
}

/// Tells whether a name fits a pattern in which `*` stands for anything.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|tail| {
            (0..=tail.len()).any(|at| tail.get(at..).is_some_and(|tail| fits(rest, tail)))
        }),
    }
}

fn is_excepted(library: &str, symbol: &str) -> bool {
    exceptions().any(|(pattern, what, _)| (what == symbol || what == "*") && fits(pattern, library))
}

/// Returns the name by which the table knows a part; none for the program.
fn name_of<'a>(index: usize, part: &'a Part, image: &Image<'a>) -> Option<&'a str> {
    let file = || part.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    (index > 0).then(|| image.soname().unwrap_or_else(file))
}

/// Collects the reasons in all parts, the program's first.
pub(crate) fn judge(parts: &[Part]) -> Result<Vec<Reason>> {
    let images = parts.iter().map(Part::image).collect::<Result<Vec<_>>>()?;
    let names: Vec<Option<&str>> =
        parts.iter().zip(&images).enumerate().map(|(i, (part, image))| name_of(i, part, image)).collect();
    // What a part defines does not reach the shared library, but for the functions of known libraries, which are judged.
    let is_known = |library: &str| exceptions().any(|(pattern, ..)| fits(pattern, library));
    let defining = images.iter().zip(&names).filter(|(_, name)| !name.is_some_and(is_known));
    let own: HashSet<&str> = defining
        .flat_map(|(image, _)| image.symbols())
        .filter(|s| s.defined && s.bind != elf::STB_LOCAL && symbols::judge(s.name).is_some())
        .map(|s| s.name)
        .collect();
    let found = parts.iter().zip(&images).zip(&names);
    Ok(found.flat_map(|((part, image), name)| judge_image(&part.path, image, *name, &own)).collect())
}

/// Lists the symbols that a program and its own libraries take from elsewhere and that are `wanted`, by file; nothing if the
/// program cannot be read.
pub fn imports(path: &Path, ours: &[&str], wanted: &dyn Fn(&str) -> bool) -> Vec<(PathBuf, Vec<String>)> {
    let parts = parts::collect(path, &[], ours, &System::new()).unwrap_or_default();
    let of = |part: &Part| {
        let image = part.image().ok()?;
        let used = image.symbols().filter(|s| !s.defined && wanted(s.name)).map(|s| s.name.to_string());
        let used: BTreeSet<String> = used.collect();
        (!used.is_empty()).then(|| (part.path.clone(), used.into_iter().collect()))
    };
    parts.iter().filter_map(of).collect()
}

/// Collects the reasons in one object, one for each thing that ranks would share.
pub(crate) fn judge_image(
    path: &Path,
    image: &Image<'_>,
    library: Option<&str>,
    own: &HashSet<&str>,
) -> Vec<Reason> {
    let mut found: Vec<(&str, BTreeSet<String>)> = Vec::new();
    for symbol in image.symbols().filter(|s| !s.defined && !own.contains(s.name)) {
        let Some(judged) = symbols::judge(symbol.name) else { continue };
        if judged.standing != Standing::Processes
            || library.is_some_and(|library| is_excepted(library, symbol.name))
        {
            continue;
        }
        let name = shown(symbol.name);
        match found.iter_mut().find(|(why, _)| *why == judged.why) {
            Some((_, names)) => drop(names.insert(name)),
            None => found.push((judged.why, BTreeSet::from([name]))),
        }
    }
    found.sort();
    let reasons = found.into_iter().map(|(why, names)| Reason {
        kind: ReasonKind::ProcessCall,
        object: path.to_path_buf(),
        what: format!("uses {} ({why})", list(names.iter().map(String::as_str))),
        names: names.into_iter().collect(),
        remedy: REMEDY.into(),
    });
    reasons.collect()
}

/// Returns a symbol's name as people write it, for the few C++ names of the table.
fn shown(symbol: &str) -> String {
    let Some(rest) = symbol.strip_prefix("_Z") else { return symbol.into() };
    let rest = rest.strip_prefix('N').unwrap_or(rest);
    let (mut rest, mut parts) =
        rest.strip_prefix("St").map_or((rest, Vec::new()), |rest| (rest, vec!["std"]));
    while let Some(end) = rest.find(|c: char| !c.is_ascii_digit()).filter(|end| *end > 0) {
        let name = rest[..end].parse().ok().and_then(|length: usize| rest[end..].get(..length));
        let Some(name) = name else { break };
        parts.push(name);
        rest = &rest[end + name.len()..];
    }
    parts.join("::")
}

/// Joins the first names of a set.
pub(crate) fn list<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    const MOST: usize = 6;
    let more = names.len().saturating_sub(MOST);
    let mut text = names.take(MOST).collect::<Vec<_>>().join(", ");
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_names() {
        for (pattern, name, expected) in [
            ("libm.so.6", "libm.so.6", true),
            ("libm.so.6", "libm.so.60", false),
            ("libopenblas*.so.*", "libopenblas_pthreads.so.0", true),
            ("libopenblas*.so.*", "libopenblas.so", false),
            ("*", "", true),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn every_exception_is_understood_and_about_a_judged_symbol() {
        let lines = EXCEPTIONS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        assert_eq!(lines.count(), exceptions().count());
        for (library, symbol, _) in exceptions() {
            let is_judged = symbols::judge(symbol).is_some_and(|j| j.standing != Standing::Harmless);
            assert!(library.starts_with("lib") && (symbol == "*" || is_judged), "{library} {symbol}");
        }
    }

    #[test]
    fn names_of_cxx_are_readable() {
        assert_eq!(shown("_ZSt4cout"), "std::cout");
        assert_eq!(shown("_ZNSt6locale6globalERKS_"), "std::locale::global");
        assert_eq!(shown("_ZN5boost10filesystem4pathE"), "boost::filesystem::path");
        assert_eq!(shown("_ZSt9"), "std");
        assert_eq!(shown("chdir"), "chdir");
    }
}
