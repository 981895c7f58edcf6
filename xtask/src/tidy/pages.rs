//! Rules about what people read: links lead somewhere, paths exist, the map of the code is short and complete.

use super::File;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// The map of the code, and how many words it may have.
const MAP: (&str, usize) = ("ARCHITECTURE.md", 1500);
/// The pages of the book, and its table of contents.
const BOOK: (&str, &str) = ("docs/book/src", "SUMMARY.md");
/// Folders of the repository whose files pages name in code spans.
const FOLDERS: [&str; 11] =
    ["api", "bench", "crates", "docs", "examples", "fuzz", "include", "mk", "python", "tests", "xtask"];

/// Finds links to files, or to places in them, that are not there.
pub fn links(root: &Path, files: &[File]) -> Vec<String> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is("md")) {
        for (number, line) in prose(&file.text) {
            for target in targets(&without_code(line)) {
                if let Some(why) = dead(root, files, file, &target) {
                    findings.push(format!("{}:{number}: ({target}): {why}", file.path.display()));
                }
            }
        }
    }
    findings
}

/// Finds paths in code spans that are not there, and pages of the book that its table of contents lacks.
pub fn paths(root: &Path, files: &[File]) -> Vec<String> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is("md") && !file.is_generated()) {
        for (number, line) in prose(&file.text) {
            for span in line.split('`').skip(1).step_by(2) {
                if is_path(span) && !root.join(span).exists() {
                    findings.push(format!("{}:{number}: `{span}` is not there", file.path.display()));
                }
            }
        }
    }
    let (folder, contents) = BOOK;
    let listed = files.iter().find(|file| file.path == Path::new(folder).join(contents));
    let listed: BTreeSet<String> = listed.map_or_else(BTreeSet::new, |file| targets(&file.text).collect());
    for file in files {
        if let Ok(page) = file.path.strip_prefix(folder)
            && file.is("md")
            && page != Path::new(contents)
            && !listed.contains(&page.display().to_string())
        {
            findings.push(format!("{}: add it to {folder}/{contents}", file.path.display()));
        }
    }
    findings
}

/// Checks that the map of the code is short and has every crate.
pub fn map(files: &[File]) -> Vec<String> {
    let (name, most) = MAP;
    let Some(map) = files.iter().find(|file| file.path == Path::new(name)) else {
        return vec![format!("{name} is missing")];
    };
    let mut findings = Vec::new();
    let words = map.text.split_whitespace().count();
    if words > most {
        findings.push(format!("{name}: {words} words; a map has at most {most}: move the rest to a page"));
    }
    let picture: BTreeSet<&str> =
        map.text.split("```").skip(1).step_by(2).flat_map(str::split_whitespace).collect();
    for file in files {
        let mut parts = file.path.iter().map(|part| part.to_string_lossy());
        if let (Some("crates"), Some(name), Some("Cargo.toml")) =
            (parts.next().as_deref(), parts.next().as_deref(), parts.next().as_deref())
        {
            if !map.text.contains(&format!("**{name}**")) {
                findings
                    .push(format!("{}: has no line for crate {name}: write **{name}**: what it does", MAP.0));
            }
            if !picture.contains(&name) {
                findings.push(format!("{}: the picture does not show crate {name}", MAP.0));
            }
        }
    }
    findings
}

/// Yields the lines outside of code blocks, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
            return None;
        }
        (!in_code && !line.starts_with("    ")).then_some((index + 1, line))
    })
}

fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("code")
}

/// Returns what the links of a text lead to.
fn targets(text: &str) -> impl Iterator<Item = String> {
    let after = text.split("](").skip(1);
    after.filter_map(|rest| rest.split_once(')').map(|(target, _)| target.to_owned()))
}

fn is_path(span: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    let first = span.split('/').next().unwrap_or_default();
    // Words in capitals stand for something.
    let stands_for =
        span.split(['/', '.']).any(|part| part.len() > 1 && part.chars().all(|c| c.is_ascii_uppercase()));
    span.contains('/')
        && span.chars().all(plain)
        && FOLDERS.contains(&first)
        && (!stands_for || span.ends_with(".md"))
}

/// Tells why a link leads nowhere.
fn dead(root: &Path, files: &[File], from: &File, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, place) = target.split_once('#').map_or((target, None), |(path, place)| (path, Some(place)));
    let folder = from.path.parent().unwrap_or(Path::new(""));
    let path = if path.is_empty() { from.path.clone() } else { flat(&folder.join(path)) };
    if !path_is_there(root, from, &path) {
        return Some("there is no such file".into());
    }
    let place = place?;
    let to = files.iter().find(|file| file.path == path)?;
    let is_there = prose(&to.text).any(|(_, line)| line.starts_with('#') && anchor(line) == place);
    (!is_there).then(|| "there is no such heading".into())
}

fn path_is_there(root: &Path, from: &File, path: &Path) -> bool {
    path == from.path || root.join(path).exists()
}

/// Removes `..` from a path.
fn flat(path: &Path) -> PathBuf {
    let mut flat = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                flat.pop();
            }
            part => flat.push(part),
        }
    }
    flat
}

/// Returns the name by which a link finds a heading.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    text.chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.into(), text: text.into() }
    }

    #[test]
    fn links_must_lead_to_files_and_headings() {
        let root = crate::root();
        let page = file(
            "docs/a.md",
            "# One: two\n[x](#one-two) [y](#three) [z](../README.md) [w](none.md) `[v](none.md)`\n",
        );
        let found = links(&root, &[page]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("(#three): there is no such heading"), "{found:?}");
        assert!(found[1].contains("(none.md): there is no such file"), "{found:?}");
    }

    #[test]
    fn paths_in_code_spans_must_be_there() {
        let text = "`crates/absent` `tests/run` `crates/CRATE/src` `a/b`\n```\n`crates/none`\n```\n";
        let found = paths(&crate::root(), &[file("x.md", text)]);
        assert_eq!(found, ["x.md:1: `crates/absent` is not there"]);
    }

    #[test]
    fn pages_of_the_book_are_in_its_contents() {
        let pages = [file("docs/book/src/SUMMARY.md", "[a](a.md)"), file("docs/book/src/b.md", "")];
        assert_eq!(paths(&crate::root(), &pages), ["docs/book/src/b.md: add it to docs/book/src/SUMMARY.md"]);
    }

    #[test]
    fn the_map_is_short_and_has_every_crate() {
        let map_file = |text: &str| [file("ARCHITECTURE.md", text), file("crates/one/Cargo.toml", "")];
        assert!(map(&map_file("```\none\n```\n**one**: does it")).is_empty());
        assert!(map(&map_file("```\none\n```\none"))[0].contains("no line for crate one"));
        assert!(map(&map_file("**one**: does it"))[0].contains("the picture does not show crate one"));
        assert!(map(&map_file(&"**one** ".repeat(1501)))[0].contains("1501 words"));
    }
}
