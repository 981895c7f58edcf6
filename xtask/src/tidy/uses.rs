//! Which crate uses which: every pair is listed, and every listed pair is used.

use super::{File, packages};
use crate::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Each crate of the library, from the bottom up, and those that it uses. A new pair is a decision: whoever adds one says to
/// a reader which of the two crates lies below the other.
const USES: &[(&str, &[&str])] = &[
    ("trials", &[]),
    ("sys", &[]),
    ("sync", &["sys"]),
    ("base", &["sys"]),
    ("machine", &["sys", "base"]),
    ("loader", &[]),
    ("pmi", &[]),
    ("handshake", &["sys"]),
    ("datatype", &["sys", "base"]),
    ("op", &["base", "datatype"]),
    ("sched", &["sys", "sync", "base", "machine"]),
    ("transport", &["sys", "sync", "base"]),
    ("post", &["sync", "transport"]),
    ("am", &["sync", "sched", "transport", "post"]),
    ("net-tcp", &["sys", "sync", "base", "machine", "handshake", "transport"]),
    ("comm", &[]),
    ("door", &["sys", "sync", "base", "machine", "handshake", "sched"]),
    ("local", &["sys", "sync", "base", "machine", "transport", "door"]),
    ("fabric", &["sync", "base", "sched", "transport", "net-tcp", "local"]),
    ("p2p", &["sys", "sync", "base", "datatype", "sched", "transport", "local", "post"]),
    ("coll", &["sys", "sync", "base", "machine", "datatype", "op", "sched", "transport", "post"]),
    ("rma", &["sync", "base", "datatype", "op", "sched", "transport", "am"]),
    ("io", &["sys", "sync", "base", "datatype", "sched", "transport", "am"]),
    (
        "mpi",
        &[
            "sys",
            "sync",
            "base",
            "machine",
            "handshake",
            "datatype",
            "op",
            "sched",
            "transport",
            "post",
            "am",
            "comm",
            "door",
            "fabric",
            "p2p",
            "coll",
            "rma",
            "io",
        ],
    ),
    ("diagnose", &["sys", "base"]),
    (
        "runtime",
        &[
            "sys",
            "sync",
            "base",
            "loader",
            "pmi",
            "handshake",
            "sched",
            "transport",
            "fabric",
            "mpi",
            "diagnose",
        ],
    ),
    ("capi", &["sys", "base", "sched", "mpi", "runtime"]),
    // Knows the C functions and the constants only.
    ("fortran", &["base"]),
    ("shims", &["base"]),
    ("shim-mpich", &["base", "shims"]),
    ("shim-openmpi", &["base", "shims"]),
    ("launcher", &["sys", "base", "machine", "loader", "handshake", "door", "fabric", "p2p", "diagnose"]),
    ("node", &["sys", "base"]),
    ("bench", &[]),
];

/// What belongs to the workspace and is not of the library.
const OUTSIDE: [&str; 1] = ["xtask"];

/// Checks the dependencies of every crate against the table.
///
/// # Errors
/// If cargo cannot list the workspace's packages.
pub fn check(root: &Path, files: &[File]) -> Result<Vec<String>> {
    let mut found = BTreeMap::new();
    let mut findings = Vec::new();
    for package in packages(root)? {
        let name = package["name"].as_str().unwrap_or_default();
        if OUTSIDE.contains(&name) {
            continue;
        }
        let short = name.strip_prefix("weft-").unwrap_or(name);
        // Tests may use what they like.
        let uses: BTreeSet<String> = package["dependencies"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|dependency| dependency["kind"] != "dev")
            .filter_map(|dependency| dependency["name"].as_str()?.strip_prefix("weft-").map(str::to_owned))
            .collect();
        let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
        let place =
            manifest.parent().and_then(|place| place.strip_prefix(root).ok()).unwrap_or(Path::new(""));
        findings.extend(unused(short, &uses, place, files));
        found.insert(short.to_owned(), uses);
    }
    findings.extend(compare(USES, &found));
    Ok(findings)
}

/// Finds dependencies that a crate declares and its sources never name.
fn unused(name: &str, uses: &BTreeSet<String>, place: &Path, files: &[File]) -> Vec<String> {
    let own: Vec<_> = files.iter().filter(|file| file.is("rs") && file.path.starts_with(place)).collect();
    uses.iter()
        .filter(|used| {
            let word = format!("weft_{}", used.replace('-', "_"));
            !own.iter().any(|file| file.text.contains(&word))
        })
        .map(|used| format!("{name} depends on {used} and does not use it: remove it from Cargo.toml"))
        .collect()
}

/// Compares the table with what the crates' manifests say.
fn compare(table: &[(&str, &[&str])], found: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let mut findings = Vec::new();
    let mut below = BTreeSet::new();
    for (name, listed) in table {
        let Some(used) = found.get(*name) else {
            findings.push(format!("{name} is in the table of xtask/src/tidy/uses.rs and is no crate"));
            continue;
        };
        for other in *listed {
            if !used.contains(*other) {
                findings.push(format!(
                    "{name} may use {other} and does not: remove the pair from xtask/src/tidy/uses.rs"
                ));
            }
            if !below.contains(other) {
                findings.push(format!(
                    "{name} may use {other}, which does not stand above it in xtask/src/tidy/uses.rs"
                ));
            }
        }
        for other in used.iter().filter(|other| !listed.contains(&other.as_str())) {
            findings.push(format!("{name} may not use {other} (the table is in xtask/src/tidy/uses.rs)"));
        }
        below.insert(*name);
    }
    for name in found.keys().filter(|name| !below.contains(name.as_str())) {
        findings.push(format!("{name} is missing in the table of xtask/src/tidy/uses.rs"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn found(crates: &[(&str, &[&str])]) -> BTreeMap<String, BTreeSet<String>> {
        let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        crates.iter().map(|(name, uses)| ((*name).to_owned(), own(uses))).collect()
    }

    const TABLE: &[(&str, &[&str])] = &[("sys", &[]), ("base", &["sys"])];

    #[test]
    fn what_the_table_says_is_right() {
        assert!(compare(TABLE, &found(&[("sys", &[]), ("base", &["sys"])])).is_empty());
    }

    #[test]
    fn a_pair_that_is_not_listed_is_wrong() {
        let findings = compare(TABLE, &found(&[("sys", &["base"]), ("base", &["sys"])]));
        assert_eq!(findings, ["sys may not use base (the table is in xtask/src/tidy/uses.rs)"]);
    }

    #[test]
    fn a_pair_that_is_not_used_is_wrong() {
        let findings = compare(TABLE, &found(&[("sys", &[]), ("base", &[])]));
        assert_eq!(findings, ["base may use sys and does not: remove the pair from xtask/src/tidy/uses.rs"]);
    }

    #[test]
    fn crates_that_are_missing_on_either_side_are_wrong() {
        let findings = compare(TABLE, &found(&[("sys", &[]), ("new", &[])]));
        assert!(findings[0].starts_with("base is in the table"), "{findings:?}");
        assert!(findings[1].starts_with("new is missing"), "{findings:?}");
    }

    #[test]
    fn the_table_goes_from_the_bottom_up() {
        let table: &[(&str, &[&str])] = &[("base", &["sys"]), ("sys", &[])];
        let findings = compare(table, &found(&[("sys", &[]), ("base", &["sys"])]));
        assert!(findings[0].contains("does not stand above it"), "{findings:?}");
    }

    #[test]
    fn a_dependency_that_no_source_names_is_wrong() {
        let file = |path: &str, text: &str| File { path: PathBuf::from(path), text: text.into() };
        let files = [
            file("crates/base/src/lib.rs", "use weft_sys::map;"),
            file("crates/other/src/lib.rs", "weft_net_tcp"),
        ];
        let uses = ["sys".to_owned(), "net-tcp".to_owned()].into();
        let findings = unused("base", &uses, Path::new("crates/base"), &files);
        assert_eq!(findings, ["base depends on net-tcp and does not use it: remove it from Cargo.toml"]);
    }
}
