//! How long files are, and how many lie side by side.

use super::{File, text};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Past this a file must be split.
const LONGEST: usize = 1000;

/// Past this a file needs a place in [`LONG`].
const USUAL: usize = 700;

/// Files that are still longer than usual. This table may only shrink.
const LONG: &[&str] = &[];

/// How many entries a folder of sources may have.
const ENTRIES: usize = 20;

/// Finds files that hold more than one subject, judged by their length.
pub fn length(files: &[File]) -> Vec<String> {
    lengths(files, LONG)
}

fn lengths(files: &[File], known: &[&str]) -> Vec<String> {
    let mut findings = Vec::new();
    let mut long = BTreeSet::new();
    for file in files.iter().filter(|f| text::is_source(f) && !f.is_generated() && !is_list(&f.path)) {
        let lines = file.text.lines().count();
        let path = file.path.display().to_string();
        if lines > LONGEST {
            findings.push(format!("{path}: {lines} lines; split it by subject"));
        } else if lines > USUAL && !known.contains(&path.as_str()) {
            findings.push(format!("{path}: {lines} lines, more than {USUAL}; split it by subject"));
        }
        if lines > USUAL {
            long.insert(path);
        }
    }
    let gone = known.iter().filter(|path| !long.contains(**path));
    findings.extend(
        gone.map(|path| format!("{path}: not long any more; remove it from xtask/src/tidy/sizes.rs")),
    );
    findings
}

/// Tells whether a file is a list that belongs together however long it is.
fn is_list(path: &Path) -> bool {
    path == Path::new("include/mpi.h")
}

/// Finds folders of sources with so many entries that nobody sees what is there.
pub fn folders(files: &[File]) -> Vec<String> {
    let mut folders: BTreeMap<&Path, BTreeSet<&Path>> = BTreeMap::new();
    for file in files.iter().filter(|file| !file.is_generated()) {
        for path in file.path.ancestors() {
            let Some(folder) = path.parent() else { break };
            if folder.components().any(|c| c.as_os_str() == "src") {
                folders.entry(folder).or_default().insert(path);
            }
        }
    }
    let full = folders.iter().filter(|(_, entries)| entries.len() > ENTRIES);
    full.map(|(folder, entries)| {
        format!("{}: {} entries; make folders by subject, each with a page", folder.display(), entries.len())
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn file(path: &str, lines: usize) -> File {
        File { path: PathBuf::from(path), text: "\n".repeat(lines) }
    }

    #[test]
    fn a_long_file_needs_a_reason_and_a_very_long_one_has_none() {
        let files = [file("a.rs", USUAL), file("b.rs", USUAL + 1), file("c.rs", LONGEST + 1)];
        let findings = lengths(&files, &["c.rs"]);
        assert_eq!(
            findings,
            ["b.rs: 701 lines, more than 700; split it by subject", "c.rs: 1001 lines; split it by subject"]
        );
        assert!(lengths(&files[..2], &["b.rs"]).is_empty());
    }

    #[test]
    fn the_table_of_long_files_can_only_shrink() {
        let findings = lengths(&[file("a.rs", 10)], &["a.rs"]);
        assert_eq!(findings, ["a.rs: not long any more; remove it from xtask/src/tidy/sizes.rs"]);
    }

    #[test]
    fn a_full_folder_is_found_and_its_folders_count_once() {
        let in_folder = |n: usize| file(&format!("crates/x/src/{n}.rs"), 1);
        let mut files: Vec<_> = (0..ENTRIES - 1).map(in_folder).collect();
        files.extend([file("crates/x/src/y/a.rs", 1), file("crates/x/src/y/b.rs", 1)]);
        assert!(folders(&files).is_empty());
        files.push(in_folder(ENTRIES));
        assert_eq!(folders(&files), ["crates/x/src: 21 entries; make folders by subject, each with a page"]);
    }
}
