//! What is called done has a conformance program that calls it.

use super::File;
use crate::Result;
use crate::api::Api;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The programs that call a procedure, by the procedure's name; `CHAPTER/NAME.c`.
pub type Callers = BTreeMap<String, BTreeSet<String>>;

/// Finds the conformance programs that call each procedure, in either form.
pub fn callers(files: &[File]) -> Callers {
    let mut callers = Callers::new();
    for file in files {
        let Ok(program) = file.path.strip_prefix("tests/conformance") else { continue };
        if !["c", "cpp", "h", "f90"].iter().any(|e| file.is(e)) {
            continue;
        }
        for name in calls(&file.text) {
            for name in [name, name.strip_suffix("_c").unwrap_or(name)] {
                callers.entry(name.into()).or_default().insert(program.display().to_string());
            }
        }
    }
    callers
}

/// Finds finished procedures that no conformance program calls, in either form.
pub fn check(root: &Path, files: &[File]) -> Result<Vec<String>> {
    let callers = callers(files);
    let untested = |name: &&String| !callers.contains_key(name.as_str());
    let api = Api::load(root)?;
    Ok(api
        .done
        .iter()
        .filter(|(name, _)| untested(name))
        .map(|(name, module)| {
            format!("{name} (api/done/{module}.txt) is called by no program under tests/conformance/")
        })
        .collect())
}

/// Returns the names that are followed by an opening parenthesis, without a profiling prefix.
fn calls(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('(').filter_map(|(end, _)| {
        let before = text[..end].trim_end();
        let start = before.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(0, |i| i + 1);
        let name = &before[start..];
        let name = name.strip_prefix('P').unwrap_or(name);
        name.starts_with("MPI_").then_some(name)
    })
}
