//! Rules about the text of files.

use super::File;

/// Past this a file must be split.
const LONGEST: usize = 1000;

/// Finds files that hold more than one subject, judged by their length.
pub fn length(files: &[File]) -> Vec<String> {
    files
        .iter()
        .filter(|f| is_source(f) && !f.is_generated() && f.text.lines().count() > LONGEST)
        .map(|f| format!("{}: {} lines; split it by subject", f.path.display(), f.text.lines().count()))
        .collect()
}

fn is_source(file: &File) -> bool {
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

/// Crates that have no business with unsafe code.
const SAFE: [&str; 3] = ["crates/comm/", "crates/machine/", "xtask/"];

/// How far above an unsafe block its argument may stand.
const NEAR: usize = 12;

/// Finds unsafe code where it is not allowed, in modules that do not say why, and without an argument.
///
/// The compiler's lints see only what is compiled for one machine type; this sees all.
pub fn unsafe_code(files: &[File]) -> Vec<String> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|f| f.is("rs")) {
        let path = file.path.display().to_string();
        let lines: Vec<_> = file.text.lines().collect();
        if let Some(index) = lines.iter().position(|l| l.starts_with("#![allow(unsafe_code")) {
            if SAFE.iter().any(|safe| path.starts_with(safe)) {
                findings.push(format!("{path}: no unsafe code here; it belongs into a lower crate"));
            }
            if !lines[..index].iter().any(|l| l.starts_with("//!")) {
                findings.push(format!("{path}: the module's page must say why it needs unsafe code"));
            }
        }
        // A test program may argue once, for all its blocks, where it switches the lint off.
        let argues_once = lines.iter().any(|l| l.contains(concat!("undocumented_unsafe", "_blocks")));
        if argues_once && file.path.components().any(|c| c.as_os_str() == "tests") {
            continue;
        } else if argues_once {
            findings.push(format!("{path}: every unsafe block needs its argument"));
        }
        for (index, line) in lines.iter().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            let opens = code.contains("unsafe {") || code.contains("unsafe impl");
            let argued = lines[index.saturating_sub(NEAR)..=index].iter().any(|l| l.contains("SAFETY:"));
            if opens && !argued && !code.contains('"') {
                findings.push(format!("{path}:{}: an unsafe block without // SAFETY:", index + 1));
            }
        }
    }
    findings
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split('\n').enumerate().map(|(index, line)| (index + 1, line))
}
