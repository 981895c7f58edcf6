//! What is called done has a test that calls it.

use super::File;
use crate::Result;
use crate::api::Api;
use std::collections::HashSet;
use std::path::Path;

/// Finds finished procedures that no test program calls, in either form.
pub fn check(root: &Path, files: &[File]) -> Result<Vec<String>> {
    let api = Api::load(root)?;
    let mut called = HashSet::new();
    for file in files.iter().filter(|f| f.path.starts_with("tests") && !f.path.starts_with("tests/api")) {
        if ["c", "cpp", "h", "f90"].iter().any(|e| file.is(e)) {
            called.extend(calls(&file.text));
        }
    }
    Ok(api
        .done
        .iter()
        .filter(|(name, _)| !called.contains(name.as_str()) && !called.contains(format!("{name}_c").as_str()))
        .map(|(name, module)| format!("{name} (api/done/{module}.txt) is called by no program under tests/"))
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
