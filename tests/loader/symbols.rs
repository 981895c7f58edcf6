//! The table of shared symbols: whether it is complete, agrees with weft-node and says only what exists.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use weft_loader::image::Image;
use weft_loader::libraries::{SHARED, Search, SearchPaths, System};
use weft_loader::symbols::{Standing, judge, judged};

fn read(path: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).expect(path)
}

/// Returns the groups of `harmless.txt`: the names and how many reasons.
fn harmless() -> (Vec<String>, usize) {
    let text = read("crates/loader/symbols/harmless.txt");
    let lines = || text.lines().filter(|line| !line.starts_with('#'));
    let names = lines().filter(|line| !line.starts_with(':')).flat_map(str::split_whitespace);
    (names.map(String::from).collect(), lines().filter(|line| line.starts_with(": ")).count())
}

/// Returns what a library exports, without the names of versions.
fn exports(path: &Path) -> BTreeSet<String> {
    let bytes = std::fs::read(path).expect("a library");
    let image = Image::parse(&bytes).expect("an ELF library");
    let symbols = image.symbols().filter(|s| s.defined && (s.value != 0 || s.size != 0 || s.kind == 6));
    symbols.map(|s| s.name.to_string()).collect()
}

/// Returns the shared libraries of this system with what they export, the C++ library apart.
fn installed() -> (BTreeMap<&'static str, BTreeSet<String>>, BTreeSet<String>) {
    let system = System::new();
    let find = |name| system.find(name, Path::new("/"), &SearchPaths::default());
    let mut all: BTreeMap<&str, BTreeSet<String>> =
        SHARED.iter().filter_map(|(name, _)| Some((*name, exports(&find(name)?)))).collect();
    let cxx = all.remove("libstdc++.so.6").unwrap_or_default();
    (all, cxx)
}

/// Tells whether the table was made for libraries like those of this system.
fn is_known_system(libc: &Path) -> bool {
    let bytes = std::fs::read(libc).expect("libc");
    let image = Image::parse(&bytes).expect("an ELF library");
    let has = |version: &str| image.symbols().any(|s| s.name == version);
    cfg!(target_arch = "x86_64") && has("GLIBC_2.36") && !has("GLIBC_2.37")
}

fn libc() -> PathBuf {
    System::new().find("libc.so.6", Path::new("/"), &SearchPaths::default()).expect("libc")
}

#[test]
fn every_line_is_understood_and_no_symbol_is_judged_twice() {
    let text = read("crates/loader/symbols/judged.txt");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    for (line, judged) in lines.clone().zip(judged()) {
        assert!(line.starts_with(judged.name) && line.ends_with(judged.why), "not understood: {line}");
    }
    assert_eq!(lines.count(), judged().count());
    let mut seen = BTreeSet::new();
    let (names, _) = harmless();
    for name in judged().map(|line| line.name).chain(names.iter().map(String::as_str)) {
        assert!(seen.insert(name), "{name} is judged twice");
    }
}

#[test]
fn every_symbol_of_the_shared_libraries_is_judged() {
    let (names, _) = harmless();
    let known: BTreeSet<&str> =
        judged().map(|line| line.name).chain(names.iter().map(String::as_str)).collect();
    let (installed, _) = installed();
    assert!(installed.contains_key("libc.so.6") && installed.contains_key("libm.so.6"));
    let mut text = String::new();
    for (library, exported) in &installed {
        let new: Vec<&str> =
            exported.iter().map(String::as_str).filter(|name| !known.contains(name)).collect();
        if !new.is_empty() {
            text.push_str(&format!("{library}: {}\n", new.join(" ")));
        }
    }
    if is_known_system(&libc()) {
        assert!(text.is_empty(), "not judged; add them to judged.txt or harmless.txt:\n{text}");
    } else if !text.is_empty() {
        eprintln!("another libc than the table was made for; not judged:\n{text}");
    }
}

#[test]
fn what_is_judged_exists() {
    if !is_known_system(&libc()) {
        return eprintln!("another libc than the table was made for");
    }
    let (installed, cxx) = installed();
    if !["libgomp.so.1", "libatomic.so.1", "libquadmath.so.0"].iter().all(|name| installed.contains_key(name))
        || cxx.is_empty()
    {
        return eprintln!("not all shared libraries are installed");
    }
    let exists =
        |name: &str| cxx.contains(name) || installed.values().any(|exported| exported.contains(name));
    let (names, groups) = harmless();
    assert!(groups > 5);
    let all = judged().map(|line| line.name).chain(names.iter().map(String::as_str));
    // Libraries of the program's own, whose functions call what is judged.
    let elsewhere = ["_gfortran_", "numa_", "hwloc_", "_ZN5boost"];
    let is_elsewhere = |name: &str| elsewhere.iter().any(|start| name.starts_with(start));
    let gone: Vec<&str> = all.filter(|name| !is_elsewhere(name) && !exists(name)).collect();
    assert!(gone.is_empty(), "in the table, but in no library: {gone:?}");
}

#[test]
fn private_is_what_the_host_replaces() {
    let list = read("crates/node/exports.list");
    let listed = list.split([';', '{', '}']).map(str::trim).filter(|name| !name.is_empty());
    let functions: BTreeSet<&str> = listed.filter(|name| !name.starts_with("weft_")).collect();
    let list = read("crates/node/redirects.list");
    let words = list.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace);
    let redirected: BTreeSet<&str> = words.map(|word| word.split('=').next().unwrap_or(word)).collect();
    // The names of redirected variables: `("optarg", Variable::OptionArgument),`.
    let host = read("crates/base/src/host.rs");
    let variables: BTreeSet<&str> = host
        .lines()
        .filter_map(|line| {
            line.trim().strip_prefix("(\"")?.split_once("\", Variable::").map(|(name, _)| name)
        })
        .collect();
    assert!(functions.contains("exit") && variables.contains("optarg"));
    let mut private = BTreeSet::new();
    for line in judged().filter(|line| line.standing == Standing::Private) {
        let opened = weft_loader::plugins::REPLACED.into_iter().collect();
        let replaced =
            [&functions, &redirected, &variables, &opened].iter().any(|names| names.contains(line.name));
        assert!(
            replaced || line.why.contains("per thread"),
            "{}: private, but weft-node lacks it",
            line.name
        );
        private.insert(line.name);
    }
    for name in functions.iter().chain(&variables) {
        assert!(private.contains(name), "{name}: weft-node replaces it, so the table must say private");
    }
    // These may be shared for other reasons, or be a newer libc's.
    let known = |name: &&&str| name.starts_with("__isoc23_") || judge(name).is_some();
    let unknown: Vec<_> = redirected.iter().filter(|name| !known(name)).collect();
    assert!(unknown.is_empty(), "weft-node gives ranks their own, and the table says nothing: {unknown:?}");
}
