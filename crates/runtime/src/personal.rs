//! Lets a copy refer to its rank's own variables and functions instead of libc's.
#![allow(unsafe_code)] // Calls the executable's table and changes where a copy's references lead.

use core::ffi::{CStr, c_void};
use weft_base::host::{Function, NodeHooks, Variable};
use weft_loader::{Copy, Program};

/// What the ranks of a program get.
pub struct Personal {
    hooks: &'static NodeHooks,
    variables: Vec<(&'static str, Variable)>,
    functions: Vec<(&'static str, usize)>,
}

impl Personal {
    /// Finds out what a program and its private libraries refer to.
    pub fn of(program: &Program, hooks: &'static NodeHooks) -> Self {
        let mut count = 0;
        // SAFETY: the executable's table of constants, with its length.
        let functions: &[Function] = unsafe {
            let first = (hooks.functions)(&raw mut count);
            core::slice::from_raw_parts(first, count)
        };
        let entry = |function: &'static Function| {
            // SAFETY: the names are C strings.
            let name = unsafe { CStr::from_ptr(function.name) }.to_str().ok()?;
            program.refers_to(name).then_some((name, function.function as usize))
        };
        let variables = Variable::NAMES.into_iter().filter(|(name, _)| program.refers_to(name)).collect();
        Self { hooks, variables, functions: functions.iter().filter_map(entry).collect() }
    }

    /// Gives a copy what is its rank's.
    ///
    /// # Safety
    /// `state` is the rank's, and nothing of the copy runs yet.
    pub unsafe fn give(&self, copy: &Copy, state: *const c_void) {
        for &(name, variable) in &self.variables {
            // SAFETY: the rank's own variable lives for ever and has the type of libc's; the caller's promise.
            unsafe {
                match copy.copied_variable(name) {
                    Some(address) => (self.hooks.move_variable)(state, variable, address as *mut c_void),
                    None => _ = copy.redirect(name, (self.hooks.variable)(state, variable) as usize),
                }
            }
        }
        for &(name, function) in &self.functions {
            // SAFETY: a function that takes and returns what libc's of this name does.
            unsafe { copy.redirect(name, function) };
        }
    }
}
