//! Rules about the text of files.

use super::File;

/// Tells whether a file is written by people for a compiler, an interpreter or a reader.
pub fn is_source(file: &File) -> bool {
    ["rs", "c", "cpp", "h", "f90", "py", "md", "toml"].iter().any(|e| file.is(e))
        || file.text.starts_with("#!")
}

/// Finds trailing blanks, carriage returns and missing ends of line.
pub fn whitespace(files: &[File]) -> Vec<String> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|f| is_source(f)) {
        let path = file.path.display();
        for (number, line) in numbered(&file.text) {
            if line.ends_with([' ', '\t', '\r']) {
                findings.push(format!("{path}:{number}: blanks at the end of the line"));
            }
        }
        if !file.text.is_empty() && !file.text.ends_with('\n') {
            findings.push(format!("{path}: the last line has no end"));
        }
    }
    findings
}

/// Finds marks of unfinished work and tests that are switched off.
pub fn unfinished(files: &[File]) -> Vec<String> {
    // In two parts, or this file would be found.
    let marks = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("XX", "X "),
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
        concat!("dbg", "!("),
        concat!("#[ig", "nore"),
    ];
    find(files, &marks, "finish it, or open an issue and say here why")
}

/// Finds paths of the machine the work was done on.
pub fn machine(files: &[File]) -> Vec<String> {
    let marks = [concat!("/ho", "me/"), concat!("/wo", "rk/"), concat!("/ro", "ot/")];
    find(files, &marks, "a path of one machine; make it relative")
}

/// Finds messages that are not written whole.
pub fn messages(files: &[File]) -> Vec<String> {
    let marks = [concat!("eprint", "!("), concat!("eprintln", "!(")];
    let of_library = files.iter().filter(|file| file.path.starts_with("crates"));
    find(of_library, &marks, "its pieces are mixed with other jobs' messages; use `weft_base::say!`")
}

fn find<'a>(files: impl IntoIterator<Item = &'a File>, marks: &[&str], advice: &str) -> Vec<String> {
    let mut findings = Vec::new();
    for file in files {
        for (number, line) in numbered(&file.text) {
            for mark in marks.iter().filter(|m| line.contains(**m)) {
                findings.push(format!("{}:{number}: {mark:?}: {advice}", file.path.display()));
            }
        }
    }
    findings
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split('\n').enumerate().map(|(index, line)| (index + 1, line))
}
