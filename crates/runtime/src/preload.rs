//! What `LD_PRELOAD` names for ranks that are threads: tools that come between a program and MPI are loaded for each rank.
#![allow(unsafe_code)] // Changes the environment, before there is another thread.

use std::ffi::OsStr;
use std::path::PathBuf;
use weft_base::job::{Block, PRELOAD};
use weft_loader::Preload;
use weft_loader::libraries::System;

const NAME: &str = "LD_PRELOAD";

/// Gives the variable the value that ranks, and what they start, are to have. The process has been started without its tools.
pub fn restore() {
    if let Some(value) = std::env::var_os(PRELOAD) {
        // SAFETY: `main` of the process calls it, before any other thread is there.
        unsafe {
            std::env::set_var(NAME, value);
            std::env::remove_var(PRELOAD);
        }
    }
}

/// Lists the tools of a block's ranks; `ours` lists the names under which programs need our library.
pub fn tools(block: &Block, ours: &[&str]) -> Vec<PathBuf> {
    let own = block.environment.iter().rfind(|(name, _)| name == OsStr::new(NAME));
    let value = own.map(|(_, value)| value.clone()).or_else(|| std::env::var_os(NAME)).unwrap_or_default();
    if value.is_empty() {
        return Vec::new();
    }
    let directory = std::env::current_dir().unwrap_or_default();
    Preload::read(&value.to_string_lossy(), &directory, ours, &System::new()).tools
}
