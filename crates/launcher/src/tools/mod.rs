//! The programs and commands beside `mpirun`, and what they know of the installation.
//!
//! - `wrapper`: the compiler wrappers. `modules`: Fortran's modules, made for each compiler. `check`, `info`, `tune`: commands of `weft`. `undone`: procedures that are not done.
//! - `pages`: manual pages, completions for shells, the files for pkg-config.
//! - `install`: where the parts of an installation are. `watchers`: tools that watch a program while it runs.

pub mod check;
pub mod info;
pub mod install;
pub mod modules;
pub mod pages;
pub mod tune;
pub(crate) mod undone;
pub mod watchers;
pub mod wrapper;
