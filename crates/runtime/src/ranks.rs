//! How one rank begins.
#![allow(unsafe_code)] // Enters the program's code.

use core::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicU8, Ordering};
use weft_base::host::NodeHooks;
use weft_loader::Copy;

/// How far a rank is.
pub mod phase {
    pub const LOADING: u8 = 0;
    pub const STARTED: u8 = 1;
    pub const ENDED: u8 = 2;
}

/// What a rank's thread needs to begin.
pub struct Start {
    /// The executable's table.
    pub hooks: &'static NodeHooks,
    pub rank: u32,
    /// How many ranks the job has.
    pub of: u32,
    /// How far the rank is.
    pub phase: &'static AtomicU8,
    pub copy: &'static Copy,
    pub state: *const core::ffi::c_void,
    pub argc: c_int,
    pub argv: *mut *mut c_char,
}

// SAFETY: the vectors are made for this rank only, and the state is shared by threads of the rank.
unsafe impl Send for Start {}

impl Start {
    /// Becomes the rank: runs constructors and enters the program, which does not come back.
    pub fn run(self) {
        // SAFETY: the state is this rank's; the copy was loaded for it and is entered once, on its own thread.
        unsafe {
            (self.hooks.attach)(self.state);
            self.phase.store(phase::STARTED, Ordering::Release);
            weft_mpi::process::Process::create(self.rank, self.of);
            let environment = (self.hooks.variable)(self.state, weft_base::host::Variable::Environment);
            let envp = *environment.cast::<*mut *mut c_char>();
            self.copy.run_constructors(self.argc, self.argv, envp);
            self.copy.enter(self.argv.cast_const().cast(), envp.cast_const().cast())
        }
    }
}
