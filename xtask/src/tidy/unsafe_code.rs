//! Unsafe code: only where it belongs, and each block with an argument of its own.

use super::File;
use std::collections::BTreeMap;

/// Crates that have no business with unsafe code.
const SAFE: [&str; 3] = ["crates/comm/", "crates/machine/", "xtask/"];

/// How far above an unsafe block its argument may stand.
const NEAR: usize = 12;

/// Up to how many characters an argument is a phrase, such as "the caller's promise", that may stand at several blocks.
const PHRASE: usize = 80;

/// Finds unsafe code where it is not allowed, in modules that do not say why, and without an argument.
///
/// The compiler's lints see only what is compiled for one machine type; this sees all.
pub fn places(files: &[File]) -> Vec<String> {
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

/// Finds arguments that point to another block's, and long ones that stand at several blocks of a file.
pub fn arguments(files: &[File]) -> Vec<String> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|f| f.is("rs")) {
        let path = file.path.display();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for (line, argument) in written(&file.text) {
            if points_elsewhere(&argument) {
                findings
                    .push(format!("{path}:{line}: {argument:?} is no argument; say why this block is right"));
            } else if argument.chars().count() <= PHRASE || file.is_generated() {
                // A phrase, or text that one line of the generator stands for.
            } else if let Some(first) = places.insert(argument, line) {
                findings.push(format!(
                    "{path}:{line}: the argument of line {first}, word for word; say what holds here"
                ));
            }
        }
    }
    findings
}

/// Returns the arguments of a file, each with the number of the line in which it begins.
fn written(text: &str) -> Vec<(usize, String)> {
    let mut arguments = Vec::new();
    let mut lines = text.lines().zip(1..).peekable();
    while let Some((line, number)) = lines.next() {
        // In two parts, or this line would be taken for one.
        let Some((_, begin)) = line.split_once(concat!("// SAF", "ETY:")) else { continue };
        let mut argument = begin.trim().to_owned();
        while let Some((more, _)) = lines.next_if(|(next, _)| next.trim_start().starts_with("// ")) {
            argument.push(' ');
            argument += more.trim_start().trim_start_matches('/').trim();
        }
        arguments.push((number, argument));
    }
    arguments
}

/// Tells whether an argument says no more than that another one holds, without naming whose.
fn points_elsewhere(argument: &str) -> bool {
    let argument = argument.to_lowercase();
    [
        "as above",
        "as below",
        "as before",
        "as there",
        "see above",
        "see below",
        "same as",
        "likewise",
        "ditto",
    ]
    .iter()
    .any(|start| argument.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn file(text: &str) -> [File; 1] {
        [File {
            path: PathBuf::from("crates/x/src/a.rs"),
            text: text.replace("SAFE:", concat!("SAF", "ETY:")),
        }]
    }

    #[test]
    fn a_block_without_an_argument_is_found() {
        assert_eq!(
            places(&file("fn f() {\n    unsafe { g() }\n}\n")),
            ["crates/x/src/a.rs:2: an unsafe block without // SAFETY:"]
        );
        assert!(places(&file("// SAFE: `g` has no conditions.\nunsafe { g() }\n")).is_empty());
    }

    #[test]
    fn a_module_says_why_it_needs_unsafe_code() {
        assert!(places(&file("#![allow(unsafe_code)]\n"))[0].contains("must say why"));
        assert!(places(&file("//! Maps memory.\n#![allow(unsafe_code)]\n")).is_empty());
    }

    #[test]
    fn as_above_is_no_argument() {
        let findings = arguments(&file("// SAFE: As above; and more.\nunsafe { g() }\n"));
        assert!(
            findings[0].starts_with("crates/x/src/a.rs:1: \"As above; and more.\" is no argument"),
            "{findings:?}"
        );
    }

    #[test]
    fn a_long_argument_stands_at_one_block() {
        let long = "// SAFE: the memory is this thread's own until the counter says that\n// all others have arrived.\nunsafe { g() }\n";
        let findings = arguments(&file(&format!("{long}{long}")));
        assert!(findings[0].contains(":4: the argument of line 1, word for word"), "{findings:?}");
        assert!(arguments(&file(long)).is_empty());
        assert!(arguments(&file(&"// SAFE: the caller's promise.\nunsafe { g() }\n".repeat(3))).is_empty());
    }
}
