//! What is known of another MPI: `api/abi/*.json`.

use crate::Result;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Another MPI's binary interface.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// Its constants that are numbers, handles among them.
    pub values: BTreeMap<String, i64>,
    /// Its predefined handles that are addresses of variables: name and size of each.
    #[serde(default)]
    pub objects: BTreeMap<String, (String, usize)>,
    /// Variables that stand for objects which the standard does not have; their sizes.
    #[serde(default)]
    pub others: BTreeMap<String, usize>,
    /// Functions of its own that are refused.
    pub refused: Vec<String>,
}

impl Data {
    /// Reads the data of an interface.
    pub fn load(root: &Path, name: &str) -> Result<Self> {
        let path = root.join("api/abi").join(name).with_extension("json");
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
    }

    /// Returns how long a text of a call may be at most, with the zero at its end.
    pub fn limit(&self, name: &str) -> Result<i64> {
        self.values.get(name).copied().ok_or_else(|| format!("api/abi: {name} has no value"))
    }
}
