//! The interpreters of Python programs that measure.

use crate::command;
use std::path::{Path, PathBuf};
use std::time::Duration;

const MPI4PY: &str = "mpi4py==4.1.2";

/// The Python programs' interpreters: one with mpi4py as it comes from the package index, for peers, and one with mpi4py
/// built by our own wrapper.
pub struct Pythons {
    pub peers: PathBuf,
    pub own: PathBuf,
}

impl Pythons {
    /// Makes both environments, which takes some minutes once.
    ///
    /// # Errors
    /// Which command failed, and how.
    pub fn prepare(bin: &Path, out: &Path) -> Result<Self, String> {
        // pip builds in a folder of its own.
        let bin = std::path::absolute(bin).map_err(|error| format!("{}: {error}", bin.display()))?;
        let environment = |name: &str, install: &[&str]| {
            let home = out.join(name);
            let (python, ready) = (home.join("bin/python"), home.join("ready"));
            if !ready.exists() {
                run(&["python3".into(), "-m".into(), "venv".into(), home.display().to_string()])?;
                let wrapper = format!("MPICC={}", bin.join("mpicc").display());
                let pip = ["env", &wrapper, &python.display().to_string(), "-m", "pip", "install", "--quiet"];
                run(&pip.iter().chain(install).map(|word| word.to_string()).collect::<Vec<_>>())?;
                std::fs::write(&ready, "").map_err(|error| format!("{}: {error}", ready.display()))?;
            }
            Ok::<_, String>(python)
        };
        Ok(Self {
            peers: environment("python-of-peers", &["numpy", MPI4PY])?,
            // pip keeps what it has built, and would give out one that is linked with another installation's library.
            own: environment("python", &["--no-cache-dir", "--no-binary=mpi4py", "numpy", MPI4PY])?,
        })
    }
}

fn run(command: &[String]) -> Result<(), String> {
    let outcome = command::run(command, Duration::from_secs(900), false);
    if outcome.success { Ok(()) } else { Err(format!("{}: {}", command.join(" "), outcome.reason)) }
}
