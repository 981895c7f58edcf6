//! Circles among the modules of a crate: files that can only be understood together.
//!
//! A module uses another one if its code names a path of it, by `crate::`, `super::` or `self::`. Names that a folder's page
//! passes on count as those of the module they come from. A folder's page and the modules below it are one subject and may
//! name each other; tests may name what they like.

use super::File;
use std::collections::{BTreeMap, BTreeSet};

/// Modules that are still in a circle, by the folder of their crate, and why. This table may only shrink: a module that is
/// in no circle any more must leave it.
const KNOWN: &[(&str, &[&str], &str)] = &[
    (
        "crates/coll",
        &["hier::crossing", "hier::exchange", "hier::shown", "hier::spread"],
        "what a communicator shares holds all that its operations leave there, and each of those asks what is shared",
    ),
    (
        "crates/mpi",
        &[
            "attributes::communicator_attributes",
            "collectives::arguments",
            "collectives::checks",
            "collectives::forms",
            "collectives::movement",
            "collectives::neighborhoods",
            "collectives::reductions",
            "communicators::agreement",
            "communicators::communicator",
            "communicators::contexts",
            "communicators::groups",
            "communicators::hints",
            "datatypes::fortran",
            "environment::info",
            "environment::memory",
            "environment::memory_kinds",
            "environment::sessions",
            "errors::failures",
            "errors::handlers",
            "errors::handling",
            "jobs::nodes",
            "jobs::strangers",
            "point_to_point::messages",
            "process",
            "reports::checking",
            "reports::thread_levels",
            "windows::window",
        ],
        "the state of a rank owns every kind of object, and each of those finds the state of its rank",
    ),
    (
        "crates/p2p",
        &[
            "buffered",
            "endpoint",
            "engine",
            "partitioned",
            "remote",
            "remote::partitioned",
            "reports::checking",
            "requests",
            "requests::ending",
            "requests::slot",
            "transfer::offer",
            "waiting",
        ],
        "an endpoint holds operations, and each way of a message goes through the endpoint of its receiver",
    ),
    (
        "crates/sched",
        &["census", "errand", "foreign", "idle", "monitor", "outside", "pool", "thread", "worker"],
        "a worker runs threads, which are on a worker; who watches either asks both",
    ),
];

/// Finds circles that are not known, and known ones that are none any more.
pub fn check(files: &[File]) -> Vec<String> {
    compare(&circles(files), KNOWN)
}

/// The modules in circles of each crate, by the crate's folder.
type Circles = BTreeMap<String, Vec<Vec<String>>>;

fn compare(found: &Circles, known: &[(&str, &[&str], &str)]) -> Vec<String> {
    let mut findings = Vec::new();
    for (folder, circles) in found {
        let listed =
            known.iter().filter(|(crate_, ..)| crate_ == folder).flat_map(|(_, modules, _)| *modules);
        let listed: BTreeSet<_> = listed.copied().collect();
        for circle in
            circles.iter().filter(|circle| circle.iter().any(|module| !listed.contains(module.as_str())))
        {
            let new: Vec<_> = circle.iter().filter(|m| !listed.contains(m.as_str())).cloned().collect();
            findings.push(format!(
                "{folder}: {} in a circle of modules ({}): let one of them not name the others",
                new.join(", "),
                circle.join(", ")
            ));
        }
    }
    for (folder, modules, _) in known {
        let circles = found.get(*folder).map_or(&[][..], Vec::as_slice);
        for module in modules.iter().filter(|m| !circles.iter().flatten().any(|other| other == *m)) {
            findings.push(format!(
                "{folder}: {module} is in no circle: remove it from xtask/src/tidy/circles.rs"
            ));
        }
    }
    findings
}

type Module = Vec<String>;

/// The modules of a crate, each with its code.
struct Crate {
    modules: BTreeMap<Module, String>,
    /// Names that a module passes on, and whence it has them.
    passed_on: BTreeMap<(Module, String), Module>,
}

fn circles(files: &[File]) -> Circles {
    let mut crates: BTreeMap<String, BTreeMap<Module, String>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.is("rs")) {
        let path = file.path.display().to_string();
        let Some((folder, module)) = path.split_once("/src/") else { continue };
        let mut module: Module = module.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
        if module[0] == "bin" {
            continue;
        }
        if module.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
            module.pop();
        }
        crates.entry(folder.into()).or_default().insert(module, code(&file.text));
    }
    let mut found = Circles::new();
    for (folder, modules) in crates {
        let names = Crate::new(modules).circles();
        if !names.is_empty() {
            found.insert(folder, names);
        }
    }
    found
}

impl Crate {
    fn new(modules: BTreeMap<Module, String>) -> Self {
        let mut new = Self { modules, passed_on: BTreeMap::new() };
        let mut passed_on = BTreeMap::new();
        for (module, code) in &new.modules {
            for (path, public) in imports(code) {
                let (Some(name), true) = (path.last(), public) else { continue };
                if let Some(source) = new.resolve(module, &path).filter(|source| source != module) {
                    passed_on.insert((module.clone(), name.clone()), source);
                }
            }
        }
        new.passed_on = passed_on;
        new
    }

    /// Returns the module that a path leads to; `None` if it leads out of the crate.
    fn resolve(&self, from: &Module, path: &[String]) -> Option<Module> {
        let mut at = from.clone();
        let mut rest = path;
        match rest.first().map(String::as_str) {
            Some("crate") => (at, rest) = (Module::new(), &rest[1..]),
            Some("self") => rest = &rest[1..],
            Some("super") => {
                while rest.first().is_some_and(|word| word == "super") {
                    at.pop();
                    rest = &rest[1..];
                }
            }
            Some(word) if self.modules.contains_key(&[at.as_slice(), &[word.to_owned()]].concat()) => {}
            _ => return None,
        }
        for word in rest {
            at.push(word.clone());
            if self.modules.contains_key(&at) {
                continue;
            }
            at.pop();
            return Some(self.passed_on.get(&(at.clone(), word.clone())).cloned().unwrap_or(at));
        }
        Some(at)
    }

    /// Returns the circles, each as the sorted names of its modules.
    fn circles(&self) -> Vec<Vec<String>> {
        let mut uses: BTreeMap<&Module, BTreeSet<Module>> = BTreeMap::new();
        for (module, code) in &self.modules {
            let paths = imports(code).into_iter().map(|(path, _)| path).chain(paths(code));
            let targets = paths.filter_map(|path| self.resolve(module, &path));
            let of_others =
                targets.filter(|target| !module.starts_with(target) && !target.starts_with(module));
            uses.insert(module, of_others.collect());
        }
        let reached: BTreeMap<&Module, BTreeSet<&Module>> =
            self.modules.keys().map(|module| (module, reach(module, &uses))).collect();
        let mut done = BTreeSet::new();
        let mut circles = Vec::new();
        for (module, there) in &reached {
            if done.contains(module) || !there.contains(module) {
                continue;
            }
            let circle: Vec<_> =
                there.iter().filter(|other| reached[*other].contains(module)).copied().collect();
            done.extend(circle.iter().copied());
            circles.push(circle.iter().map(|module| module.join("::")).collect());
        }
        circles
    }
}

/// Returns all that a module leads to.
fn reach<'a>(module: &Module, uses: &'a BTreeMap<&'a Module, BTreeSet<Module>>) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&Module> = uses.get(module).into_iter().flatten().collect();
    while let Some(next) = open.pop() {
        if reached.insert(next) {
            open.extend(uses.get(next).into_iter().flatten());
        }
    }
    reached
}

/// Returns the code of a file without its comments and its module of tests.
fn code(text: &str) -> String {
    let mut code = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let of_tests = line.starts_with("#[cfg(") && line.contains("test");
        if of_tests && lines.peek().is_some_and(|next| next.starts_with("mod ") && next.ends_with('{')) {
            break;
        }
        code += line.split("//").next().unwrap_or_default();
        code.push('\n');
    }
    code
}

/// Returns the paths of the `use` items that lead into this crate, each with whether it is passed on.
fn imports(code: &str) -> Vec<(Vec<String>, bool)> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(start) = rest.find("use ") {
        let line = rest[..start].rsplit('\n').next().unwrap_or_default().trim();
        let is_item = line.is_empty() || line == "pub" || (line.starts_with("pub(") && line.ends_with(')'));
        rest = &rest[start + 4..];
        let Some(end) = rest.find(';').filter(|_| is_item) else { continue };
        let mut paths = Vec::new();
        expand(&[], &rest[..end], &mut paths);
        found.extend(paths.into_iter().map(|path| (path, !line.is_empty())));
        rest = &rest[end..];
    }
    found
}

/// Writes out the paths of `a::{b, c::{d, e}}`.
fn expand(before: &[String], tree: &str, paths: &mut Vec<Vec<String>>) {
    let mut depth = 0;
    let parts = tree.split(|c: char| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    for part in parts.map(str::trim).filter(|part| !part.is_empty()) {
        let words = |text: &str| -> Vec<String> {
            let text = text.split(" as ").next().unwrap_or_default();
            text.split("::").map(str::trim).filter(|w| !w.is_empty()).map(str::to_owned).collect()
        };
        match part.split_once('{') {
            Some((head, tail)) => {
                let inner = tail.rsplit_once('}').map_or(tail, |(inner, _)| inner);
                expand(&[before, &words(head)].concat(), inner, paths);
            }
            None => {
                let mut path = [before, &words(part)].concat();
                if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
                    path.pop();
                }
                paths.push(path);
            }
        }
    }
}

/// Returns the paths that code names outside of `use` items.
fn paths(code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back().unwrap_or(' ');
            if before.is_alphanumeric() || ['_', ':', '$'].contains(&before) {
                continue;
            }
            let path = &code[at..];
            let end = path.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').unwrap_or(path.len());
            found.push(path[..end].split("::").filter(|w| !w.is_empty()).map(str::to_owned).collect());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn found(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let file = |(path, text): &(&str, &str)| File {
            path: PathBuf::from(format!("crates/x/src/{path}")),
            text: (*text).to_owned(),
        };
        circles(&files.iter().map(file).collect::<Vec<_>>()).remove("crates/x").unwrap_or_default()
    }

    #[test]
    fn modules_that_use_each_other_are_a_circle() {
        let files =
            [("a.rs", "use crate::{b::{self, X}, d};"), ("b.rs", "fn f() { super::a::g() }"), ("d.rs", "")];
        assert_eq!(found(&files), [["a", "b"]]);
    }

    #[test]
    fn a_circle_may_be_long_and_lead_through_folders() {
        let files = [
            ("a.rs", "use crate::b::in_b::Y;"),
            ("b/mod.rs", "mod in_b;"),
            ("b/in_b.rs", "pub(crate) use crate::c::Z;"),
            ("c.rs", "use crate::a;"),
        ];
        assert_eq!(found(&files), [["a", "b::in_b", "c"]]);
    }

    #[test]
    fn what_a_page_passes_on_counts_where_it_comes_from() {
        let files = [
            ("a.rs", "use crate::b::Y;"),
            ("b/mod.rs", "mod in_b;\npub use in_b::Y;"),
            ("b/in_b.rs", "use crate::a::X;"),
        ];
        assert_eq!(found(&files), [["a", "b::in_b"]]);
    }

    #[test]
    fn comments_tests_and_a_folder_with_its_page_are_no_circles() {
        let files = [
            ("a.rs", "// crate::b\nuse super::c;\n#[cfg(test)]\nmod tests {\n use crate::b;\n}"),
            ("b.rs", "use crate::a;"),
            ("c/mod.rs", "mod d;\nuse d::E;"),
            ("c/d.rs", "use super::F;"),
        ];
        assert!(found(&files).is_empty());
    }

    #[test]
    fn the_table_of_known_circles_can_only_shrink() {
        let found = Circles::from([("crates/x".into(), vec![vec!["a".to_owned(), "b".to_owned()]])]);
        assert!(compare(&found, &[("crates/x", &["a", "b"], "why")]).is_empty());
        assert!(compare(&found, &[("crates/x", &["a"], "why")])[0].contains("b in a circle"));
        let findings = compare(&found, &[("crates/x", &["a", "b", "c"], "why")]);
        assert_eq!(findings, ["crates/x: c is in no circle: remove it from xtask/src/tidy/circles.rs"]);
    }
}
