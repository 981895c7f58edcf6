//! What Fortran programs use: entries in Rust, `mpif.h`, and the sources of the modules.
//!
//! - `argument`: what a parameter is for Fortran. `buffers`: what a call does with a buffer.
//! - `entries`: the library's procedures.
//! - `constants`: constants, and `mpif.h`. `declarations`: arguments in Fortran. `modules`: the sources of modules.
//! - `replaced`: what calls procedures that a program has replaced.

mod argument;
mod buffers;
mod constants;
mod declarations;
mod entries;
mod modules;
mod replaced;

use crate::Result;
use crate::api::{Api, Fortran, Procedure};
use std::path::PathBuf;

/// The directory of the entries.
pub const ENTRIES: &str = "crates/fortran/src/generated";

/// A way in which Fortran programs use MPI.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    F08,
    Module,
    Include,
}

impl Way {
    pub const ALL: [Self; 3] = [Self::F08, Self::Module, Self::Include];
}

/// Returns how many forms of a procedure a way has.
pub fn forms(procedure: &Procedure, way: Way) -> usize {
    // These convert statuses of types that mpif.h does not have.
    let typed = procedure.parameters.iter().any(|p| p.kind == "F08_STATUS");
    match (procedure.fortran, way) {
        (Fortran::None, _) => 0,
        (_, Way::Include) if typed => 0,
        (Fortran::All, Way::F08) if argument::has_large(procedure) => 2,
        _ => 1,
    }
}

/// Generates the entries as (name, text).
pub fn entries(api: &Api) -> Result<Vec<(String, String)>> {
    entries::generate(api)
}

/// Generates what compilers read.
pub fn sources(api: &Api) -> Vec<(PathBuf, String)> {
    let modules = PathBuf::from("crates/fortran/modules");
    vec![
        ("include/mpif.h".into(), constants::include_file(api)),
        (modules.join("common.F90"), modules::common(api)),
        (modules.join("mpi.F90"), modules::old_module(api)),
        (modules.join("mpi_f08.F90"), modules::f08_module(api)),
        (modules.join("mpi_f08ts.F90"), replaced::calls(api)),
    ]
}
