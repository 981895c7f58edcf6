//! The API as data: reads `api/*.json` and the lists of finished procedures.

use crate::Result;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A parameter of a procedure or callback.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    pub name: String,
    /// The standard's kind: what the parameter means.
    pub kind: String,
    /// `in` (the default), `out` or `inout`.
    #[serde(default)]
    pub direction: Option<String>,
    /// Its C type in the plain form; absent when only the large-count form has the parameter.
    #[serde(default)]
    pub c: Option<String>,
    /// Its C type in the large-count form, when that differs.
    #[serde(default)]
    pub large: Option<String>,
    /// The length of an array, in terms of other parameters or constants.
    #[serde(default)]
    pub length: Option<String>,
    /// Whether a buffer is in use after the call.
    #[serde(default)]
    pub asynchronous: bool,
    /// Whether module `mpi_f08` declares an intent, where C's type would tell one.
    #[serde(default = "yes")]
    pub f08_intent: bool,
    /// Whether Fortran has the parameter.
    #[serde(default = "yes")]
    pub fortran: bool,
    /// The callback's type, for a function of the user.
    #[serde(default)]
    pub function: Option<String>,
}

/// Which of Fortran's ways have a procedure.
#[derive(Deserialize, Default, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Fortran {
    /// All three.
    #[default]
    All,
    /// One interface for all three, with integer handles: what was deprecated before module `mpi_f08` came.
    Old,
    /// C has it only.
    None,
}

/// Names that mean something else in Rust or in the generated functions.
const RESERVED: [&str; 8] = ["type", "ref", "in", "box", "match", "fn", "result", "entry"];

impl Parameter {
    /// Returns the C type in the plain or the large-count form; `None` when that form lacks the parameter.
    pub fn c_type(&self, large: bool) -> Option<&str> {
        match (large, &self.large) {
            (true, Some(c)) => Some(c),
            _ => self.c.as_deref(),
        }
    }

    /// Returns its name in Rust.
    pub fn rust_name(&self) -> String {
        let name = self.name.to_lowercase();
        if RESERVED.contains(&name.as_str()) { format!("{name}_") } else { name }
    }

    /// Tells whether its type depends on the form.
    pub fn is_poly(&self) -> bool {
        self.kind.starts_with("POLY")
    }
}

/// A procedure or a callback.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Procedure {
    pub name: String,
    /// The C return type.
    #[serde(default = "int")]
    pub returns: String,
    /// Whether there is a large-count form, named with `_c`.
    #[serde(default)]
    pub large: bool,
    /// Whether the standard ABI has it.
    #[serde(default = "yes")]
    pub abi: bool,
    #[serde(default)]
    pub fortran: Fortran,
    pub parameters: Vec<Parameter>,
}

fn int() -> String {
    "int".into()
}

fn yes() -> bool {
    true
}

impl Procedure {
    /// Returns the forms it has: plain, then large-count.
    pub fn forms(&self) -> &'static [bool] {
        if self.large { &[false, true] } else { &[false] }
    }

    /// Returns the C name of a form.
    pub fn form_name(&self, large: bool) -> String {
        format!("{}{}", self.name, if large { "_c" } else { "" })
    }

    /// Returns the name of the Rust function that carries it out.
    pub fn rust_name(&self) -> String {
        self.name.strip_prefix("MPI_").unwrap_or(&self.name).to_lowercase()
    }

    /// Tells whether it belongs to the tool information interface, whose errors reach no error handler.
    pub fn is_tool(&self) -> bool {
        self.name.starts_with("MPI_T_")
    }
}

/// A named constant.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constant {
    pub name: String,
    pub value: i64,
    pub c: String,
}

/// Constants that belong together.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Category {
    pub category: String,
    pub constants: Vec<Constant>,
}

/// A chapter of the standard and the procedures it defines.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chapter {
    pub chapter: u32,
    pub title: String,
    /// The generated file's stem.
    pub file: String,
    #[serde(default)]
    pub deprecated: bool,
    pub procedures: Vec<String>,
}

/// Everything in `api/`.
pub struct Api {
    pub procedures: BTreeMap<String, Procedure>,
    pub callbacks: Vec<Procedure>,
    pub constants: Vec<Category>,
    pub chapters: Vec<Chapter>,
    /// Finished procedures, and the module that carries each out, `FOLDER/MODULE` or `MODULE`: its file is
    /// `crates/mpi/src/FOLDER/MODULE.rs`.
    pub done: BTreeMap<String, String>,
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
}

impl Api {
    /// Reads and cross-checks the description.
    pub fn load(root: &Path) -> Result<Self> {
        let dir = root.join("api");
        let list: Vec<Procedure> = read(&dir.join("procedures.json"))?;
        let procedures: BTreeMap<_, _> = list.into_iter().map(|p| (p.name.clone(), p)).collect();
        let chapters: Vec<Chapter> = read(&dir.join("chapters.json"))?;
        let mut placed = BTreeSet::new();
        for name in chapters.iter().flat_map(|c| &c.procedures) {
            if !procedures.contains_key(name) || !placed.insert(name) {
                return Err(format!("api/chapters.json: {name} is unknown or listed twice"));
            }
        }
        if let Some(name) = procedures.keys().find(|n| !placed.contains(n)) {
            return Err(format!("api/chapters.json: {name} has no chapter"));
        }
        let done = load_done(&dir.join("done"), &procedures)?;
        Ok(Self {
            callbacks: read(&dir.join("callbacks.json"))?,
            constants: read(&dir.join("constants.json"))?,
            procedures,
            chapters,
            done,
        })
    }
}

fn load_done(dir: &Path, procedures: &BTreeMap<String, Procedure>) -> Result<BTreeMap<String, String>> {
    let mut done = BTreeMap::new();
    for path in lists(dir)? {
        let module = path.strip_prefix(dir).unwrap_or(&path).with_extension("").display().to_string();
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        for name in text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')) {
            if !procedures.contains_key(name) {
                return Err(format!(
                    "{}: {name} is not a procedure (list the form without _c)",
                    path.display()
                ));
            }
            if let Some(other) = done.insert(name.to_owned(), module.clone()) {
                return Err(format!("{}: {name} is already in api/done/{other}.txt", path.display()));
            }
        }
    }
    Ok(done)
}

/// Finds the lists of a directory and of those in it, in order.
fn lists(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut lists = Vec::new();
    for entry in fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))? {
        let path = entry.map_err(|e| format!("{}: {e}", dir.display()))?.path();
        if path.is_dir() {
            lists.extend(self::lists(&path)?);
        } else if path.extension().is_some_and(|e| e == "txt") {
            lists.push(path);
        }
    }
    lists.sort();
    Ok(lists)
}
