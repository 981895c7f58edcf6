//! Every crate has the workspace's lints.

use super::packages;
use crate::Result;
use std::fs;
use std::path::Path;

/// Checks that no crate opts out of the workspace's lints.
pub fn check(root: &Path) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    for package in packages(root)? {
        let manifest = package["manifest_path"].as_str().unwrap_or_default();
        let text = fs::read_to_string(manifest).map_err(|e| format!("{manifest}: {e}"))?;
        if !text.replace(' ', "").contains("[lints]\nworkspace=true") {
            findings.push(format!("{manifest}: needs [lints] workspace = true"));
        }
    }
    let workspace = fs::read_to_string(root.join("Cargo.toml")).map_err(|e| e.to_string())?;
    for lint in ["unsafe_code", "unsafe_op_in_unsafe_fn", concat!("undocumented_unsafe", "_blocks")] {
        if !workspace.contains(&format!("{lint} = \"deny\"")) {
            findings.push(format!("Cargo.toml: {lint} must be denied"));
        }
    }
    Ok(findings)
}
