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

/// Finds blocks of code in doc comments, which nobody would compile: the suites build no doc tests.
pub fn blocks(files: &[File]) -> Vec<String> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is("rs")) {
        let mut is_open = false;
        for (number, line) in numbered(&file.text) {
            let line = line.trim_start();
            let Some(comment) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
                continue;
            };
            let Some(word) = comment.trim_start().strip_prefix("```") else { continue };
            if !is_open && word.trim() != "text" {
                let path = file.path.display();
                findings.push(format!("{path}:{number}: a block that is not `text`; make it a test"));
            }
            is_open = !is_open;
        }
    }
    findings
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_code_in_doc_comments_are_found() {
        let text = "//! ```text\n//! a -> b\n//! ```\n    /// ```\n    /// call();\n    /// ```\n";
        let files = [File { path: "a.rs".into(), text: text.into() }];
        assert_eq!(blocks(&files), ["a.rs:4: a block that is not `text`; make it a test"]);
    }
}
