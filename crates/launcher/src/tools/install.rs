//! Where the parts of an installation are, seen from the running executable.

use std::path::{Path, PathBuf};

/// The parts.
#[derive(Debug, Clone)]
pub struct Installation {
    /// The directory that holds `bin`, `lib`, `include`; or the build directory.
    pub prefix: PathBuf,
    /// The directory of the executables.
    pub bin: PathBuf,
    /// The directory of the library.
    pub lib: PathBuf,
    /// The directory of `mpi.h`.
    pub include: PathBuf,
    /// The executable that holds ranks.
    pub node: PathBuf,
    /// The directory of the libraries for programs of other MPIs.
    pub foreign: PathBuf,
}

impl Installation {
    /// Finds the installation this executable belongs to.
    ///
    /// # Errors
    /// Says what could not be found out.
    pub fn find() -> Result<Self, String> {
        let this = std::env::current_exe().map_err(|error| format!("/proc/self/exe: {error}"))?;
        Ok(Self::of(this.parent().unwrap_or(Path::new("/"))))
    }

    fn of(bin: &Path) -> Self {
        let prefix = bin.parent().unwrap_or(bin).to_path_buf();
        let beside = bin.join("weft-node");
        let node = if beside.exists() { beside } else { prefix.join("lib/weft/weft-node") };
        let (lib, include) = (prefix.join("lib"), prefix.join("include"));
        let foreign = lib.join("weft/abi");
        Self { bin: bin.to_path_buf(), lib, include, node, foreign, prefix }
    }
}
