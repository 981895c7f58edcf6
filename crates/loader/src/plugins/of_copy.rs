//! What a copy does beside what its rank has opened.
#![allow(unsafe_code)] // Calls constructors and destructors.

use super::space::space_of;
use crate::copy::{Copy, destruct, run_array};
use std::ffi::{c_char, c_int};
use std::io;

impl Copy {
    /// Tells whether an address lies in the copy's code or data.
    pub fn owns(&self, address: usize) -> bool {
        self.locate(address).is_some() || space_of(self).is_some_and(|space| space.owns(address))
    }

    /// Counts the memory mappings that the copy takes, as the system counts them now.
    ///
    /// # Errors
    /// What the system says when its list of mappings is read.
    pub fn mappings(&self) -> io::Result<u64> {
        let maps = std::fs::read_to_string("/proc/self/maps")?;
        let starts = |line: &str| usize::from_str_radix(line.split('-').next()?, 16).ok();
        Ok(maps.lines().filter_map(starts).filter(|start| self.owns(*start)).count() as u64)
    }

    /// Runs the constructors of the private libraries, then the program's, each after those it needs.
    ///
    /// Programs built with a libc before 2.34 pass their own loop over their constructors as the fourth argument of
    /// `__libc_start_main`; the host must not call it, as this has run them all.
    ///
    /// # Safety
    /// Must be called once, on the rank's own thread, with the vectors `main` will get.
    pub unsafe fn run_constructors(&self, argc: c_int, argv: *mut *mut c_char, envp: *mut *mut c_char) {
        let (base, hooks) = (self.bases()[0], &self.program().inner.objects[0].template.hooks);
        if let Some(space) = space_of(self) {
            space.set_arguments(argc, argv, envp);
        }
        // SAFETY: passed on to the caller; the program's table of early constructors comes before everything.
        unsafe {
            run_array(base, hooks.before, argc, argv, envp);
            for object in &self.program().inner.order {
                self.construct(*object, argc, argv, envp);
            }
        }
    }

    /// Runs destructors in the reverse order of constructors: the program's first.
    ///
    /// # Safety
    /// Must be called once, on the rank's own thread, after what the rank registered for its exit has run. Nothing
    /// of the copy may run afterwards.
    pub unsafe fn run_destructors(&self) {
        if let Some(space) = space_of(self) {
            // SAFETY: passed on to the caller.
            return unsafe { space.run_all_destructors() };
        }
        for object in self.program().inner.order.iter().rev() {
            // SAFETY: tables and functions were found inside the object; the caller keeps the order.
            unsafe { destruct(self.bases()[*object], &self.program().inner.objects[*object].template.hooks) };
        }
    }
}
