//! The layer rule: a crate uses only crates below it.

use crate::Result;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The crates from the bottom up. A crate may use those of the lines above its own.
const LAYERS: [&[&str]; 17] = [
    &["sys"],
    &["sync"],
    &["base"],
    &["machine", "loader", "pmi", "handshake"],
    &["datatype"],
    &["op"],
    &["sched"],
    &["transport", "door"],
    &["local", "net-tcp"],
    &["fabric"],
    &["comm"],
    &["p2p", "coll"],
    &["rma", "topology", "io"],
    &["mpi", "diagnose"],
    &["runtime"],
    &["capi"],
    &["launcher", "node", "fortran", "bench"],
];

fn layer(name: &str) -> Option<usize> {
    let name = name.strip_prefix("weft-")?;
    LAYERS.iter().position(|layer| layer.contains(&name))
}

/// Checks every dependency within the workspace.
pub fn check(root: &Path) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    for package in packages(root)? {
        let name = package["name"].as_str().unwrap_or_default();
        let Some(own) = layer(name) else {
            if name != "xtask" {
                findings.push(format!("{name} has no layer: add it to xtask/src/tidy/layers.rs"));
            }
            continue;
        };
        let dependencies = package["dependencies"].as_array().cloned().unwrap_or_default();
        // Tests may use what they like.
        for dependency in dependencies.iter().filter(|d| d["kind"] != "dev") {
            let used = dependency["name"].as_str().unwrap_or_default();
            if layer(used).is_some_and(|other| other >= own) {
                findings.push(format!("{name} uses {used}, which is not in a lower layer"));
            }
        }
    }
    Ok(findings)
}

/// Checks that no crate opts out of the workspace's lints.
pub fn check_lints(root: &Path) -> Result<Vec<String>> {
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

fn packages(root: &Path) -> Result<Vec<Value>> {
    let output = Command::new("cargo")
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root)
        .output()
        .map_err(|e| format!("cargo: {e}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let value: Value = serde_json::from_slice(&output.stdout).map_err(|e| format!("cargo metadata: {e}"))?;
    value["packages"].as_array().cloned().ok_or_else(|| "cargo metadata lists no packages".into())
}
