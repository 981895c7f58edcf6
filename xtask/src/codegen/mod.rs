//! Writes everything that is derived from `api/`.

mod constants;
mod foreign;
mod fortran;
mod functions;
mod header;
mod noted;
mod status;
mod symbols;

use crate::Result;
use crate::api::Api;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The directory of the exported functions; nothing else may be in it.
const FUNCTIONS: &str = "crates/capi/src/generated";

/// The directories with nothing but generated files.
const DIRECTORIES: [&str; 5] =
    [FUNCTIONS, fortran::ENTRIES, foreign::DIRECTORIES[0], foreign::DIRECTORIES[1], foreign::DIRECTORIES[2]];

/// Generates all files; with `check`, only compares them with what is there.
pub fn run(root: &Path, check: bool) -> Result {
    let api = Api::load(root)?;
    let mut files: Vec<(PathBuf, String)> = vec![
        ("include/mpi.h".into(), header::generate(&api)),
        ("crates/base/src/constants.rs".into(), format_rust(root, &constants::generate(&api)?)?),
        (
            "crates/base/src/predefined_handles.rs".into(),
            format_rust(root, &constants::generate_handles(&api))?,
        ),
        ("docs/book/src/api-status.md".into(), status::generate(&api)),
        ("docs/book/src/shared-symbols.md".into(), symbols::generate(root)?),
        ("crates/launcher/src/tools/undone.rs".into(), format_rust(root, &status::generate_undone(&api))?),
    ];
    for (name, text) in functions::generate(&api)? {
        files.push((Path::new(FUNCTIONS).join(name), format_rust(root, &text)?));
    }
    for (name, text) in fortran::entries(&api)? {
        files.push((Path::new(fortran::ENTRIES).join(name), format_rust(root, &text)?));
    }
    for (path, text) in foreign::generate(root, &api)? {
        files.push((path, format_rust(root, &text)?));
    }
    files.extend(fortran::sources(&api));
    let mut stale = Vec::new();
    for (path, text) in &files {
        let full = root.join(path);
        if fs::read_to_string(&full).is_ok_and(|old| old == *text) {
            continue;
        }
        stale.push(path.display().to_string());
        if !check {
            let directory = full.parent().unwrap_or(root);
            fs::create_dir_all(directory).map_err(|e| format!("{}: {e}", directory.display()))?;
            fs::write(&full, text).map_err(|e| format!("{}: {e}", full.display()))?;
        }
    }
    for extra in leftovers(root, &files) {
        stale.push(extra.display().to_string());
        if !check {
            fs::remove_file(root.join(&extra)).map_err(|e| format!("{}: {e}", extra.display()))?;
        }
    }
    match (stale.is_empty(), check) {
        (true, _) => Ok(()),
        (false, true) => Err(format!("stale, run `cargo xtask codegen`: {}", stale.join(", "))),
        (false, false) => {
            println!("written: {}", stale.join(", "));
            Ok(())
        }
    }
}

/// Lists files in the generated directories that are generated no longer.
fn leftovers(root: &Path, files: &[(PathBuf, String)]) -> Vec<PathBuf> {
    let found = DIRECTORIES.iter().flat_map(|directory| {
        let entries = fs::read_dir(root.join(directory)).into_iter().flatten();
        entries.filter_map(|e| e.ok().map(|e| Path::new(directory).join(e.file_name())))
    });
    found.filter(|path| !files.iter().any(|(p, _)| p == path)).collect()
}

/// Formats Rust source with the repository's settings.
fn format_rust(root: &Path, text: &str) -> Result<String> {
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--emit", "stdout", "--config-path"])
        .arg(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("rustfmt: {e}"))?;
    let mut input = child.stdin.take().expect("stdin is piped");
    let source = text.to_owned();
    let writer = std::thread::spawn(move || input.write_all(source.as_bytes()));
    let output = child.wait_with_output().map_err(|e| format!("rustfmt: {e}"))?;
    writer.join().expect("the writer does not panic").map_err(|e| format!("rustfmt: {e}"))?;
    if !output.status.success() {
        return Err("rustfmt rejects generated code".into());
    }
    String::from_utf8(output.stdout).map_err(|e| e.to_string())
}
