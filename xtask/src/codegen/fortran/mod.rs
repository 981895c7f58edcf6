//! What Fortran programs use: entries in Rust, `mpif.h`, and the sources of the modules.
//!
//! - `argument`: what a parameter is for Fortran. `buffers`: what a call does with a buffer.
//! - `entries`: the library's procedures.
//! - `constants`: constants, and `mpif.h`. `declarations`: arguments in Fortran. `modules`: the sources of modules.

mod argument;
mod buffers;
mod constants;
mod declarations;
mod entries;
mod modules;

use crate::Result;
use crate::api::Api;
use std::path::PathBuf;

/// The directory of the entries.
pub const ENTRIES: &str = "crates/fortran/src/generated";

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
        (modules.join("mpi_f08ts.F90"), modules::f08_procedures(api)),
    ]
}
