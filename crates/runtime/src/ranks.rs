//! How one rank begins.
#![allow(unsafe_code)] // Enters the program's code.

use crate::job::Held;
use core::ffi::{c_char, c_int};
use weft_loader::Copy;

/// What a rank's thread needs to begin.
pub struct Start {
    pub job: &'static Held,
    pub rank: u32,
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
            (self.job.hooks.attach)(self.state);
            self.job.began(self.rank);
            weft_mpi::process::Process::create(self.rank, self.job.ranks());
            let environment = (self.job.hooks.variable)(self.state, weft_base::host::Variable::Environment);
            let envp = *environment.cast::<*mut *mut c_char>();
            self.copy.run_constructors(self.argc, self.argv, envp);
            self.copy.enter(self.argv.cast_const().cast(), envp.cast_const().cast())
        }
    }
}
