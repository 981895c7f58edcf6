//! Lets a copy refer to its rank's own variables and functions instead of libc's.
#![allow(unsafe_code)] // Calls the executable's table and changes where a copy's references lead.

use core::ffi::{CStr, c_void};
use std::collections::HashMap;
use std::sync::OnceLock;
use weft_base::host::{Function, NodeHooks, Variable};
use weft_loader::plugins::{self, Own};
use weft_loader::{Copy, Program};

/// What the ranks of a program get.
pub struct Personal {
    hooks: &'static NodeHooks,
    variables: Vec<(&'static str, Variable)>,
    functions: Vec<(&'static str, usize)>,
    /// All there are, for what a rank opens while it runs.
    all: &'static HashMap<&'static str, usize>,
}

/// Returns the functions of the executable that ranks get instead of libc's, by name.
fn all_functions(hooks: &'static NodeHooks) -> &'static HashMap<&'static str, usize> {
    static ALL: OnceLock<HashMap<&'static str, usize>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut count = 0;
        // SAFETY: the executable's table of constants, with its length.
        let functions: &'static [Function] = unsafe {
            let first = (hooks.functions)(&raw mut count);
            core::slice::from_raw_parts(first, count)
        };
        let entry = |function: &'static Function| {
            // SAFETY: the names are C strings.
            let name = unsafe { CStr::from_ptr(function.name) }.to_str().ok()?;
            Some((name, function.function as usize))
        };
        functions.iter().filter_map(entry).collect()
    })
}

impl Personal {
    /// Finds out what a program and its private libraries refer to.
    pub fn of(program: &Program, hooks: &'static NodeHooks) -> Self {
        let all = all_functions(hooks);
        let functions = all.iter().map(|(name, function)| (*name, *function));
        let functions = functions.filter(|(name, _)| program.refers_to(name)).collect();
        let variables = Variable::NAMES.into_iter().filter(|(name, _)| program.refers_to(name)).collect();
        Self { hooks, variables, functions, all }
    }

    /// Gives a copy what is its rank's.
    ///
    /// # Safety
    /// `state` is the rank's, and nothing of the copy runs yet.
    pub unsafe fn give(&self, copy: &'static Copy, state: *const c_void) {
        for &(name, variable) in &self.variables {
            if let Some(address) = copy.copied_variable(name) {
                // SAFETY: the program's own variable, of the type of libc's; the caller's promise.
                unsafe { (self.hooks.move_variable)(state, variable, address as *mut c_void) };
            }
        }
        // A variable with several names may be the program's under one of them.
        for &(name, variable) in
            self.variables.iter().filter(|(name, _)| copy.copied_variable(name).is_none())
        {
            // SAFETY: the rank's own variable lives for ever and has the type of libc's; the caller's promise.
            unsafe { copy.redirect(name, (self.hooks.variable)(state, variable) as usize) };
        }
        for &(name, function) in &self.functions {
            // SAFETY: a function that takes and returns what libc's of this name does.
            unsafe { copy.redirect(name, function) };
        }
        // SAFETY: the rank's own variables live for ever; the caller's promise.
        unsafe {
            let variable = |(name, variable)| (name, (self.hooks.variable)(state, variable) as usize);
            plugins::serve(copy, || Own {
                functions: self.all,
                variables: Variable::NAMES.map(variable).to_vec(),
            });
        }
    }
}
