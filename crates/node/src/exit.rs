//! What a rank registered to be called when it ends.
#![allow(unsafe_code)] // Calls the program's C functions.

use core::ffi::{c_int, c_void};

/// A function registered by `atexit`, `__cxa_atexit`, `on_exit`, or as a destructor of a `thread_local` variable.
#[derive(Clone, Copy)]
pub enum Function {
    /// Called with the registered argument.
    Plain(unsafe extern "C" fn(*mut c_void)),
    /// Called with the exit code and the registered argument.
    WithCode(unsafe extern "C" fn(c_int, *mut c_void)),
}

/// One registration.
#[derive(Clone, Copy)]
pub struct Handler {
    /// What to call.
    pub function: Function,
    /// Its argument.
    pub argument: *mut c_void,
    /// The `__dso_handle` of the object that registered it; null for the executable.
    pub object: *mut c_void,
}

// SAFETY: the pointers are the program's and only handed back to it.
unsafe impl Send for Handler {}

/// The registrations of a rank, oldest first.
#[derive(Default)]
pub struct ExitHandlers {
    exit: Vec<Handler>,
    quick: Vec<Handler>,
    thread: Vec<Handler>,
}

/// Which of the lists of the C and C++ standards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// `exit`
    Exit,
    /// `quick_exit`
    QuickExit,
    /// Destructors of the `thread_local` variables of the rank's own thread; `exit` runs them first.
    ThreadExit,
}

impl ExitHandlers {
    fn list(&mut self, when: When) -> &mut Vec<Handler> {
        match when {
            When::Exit => &mut self.exit,
            When::QuickExit => &mut self.quick,
            When::ThreadExit => &mut self.thread,
        }
    }

    /// Registers a handler.
    pub fn push(&mut self, when: When, handler: Handler) {
        self.list(when).push(handler);
    }

    /// Takes the handler registered last, of the given object if one is given.
    pub fn pop(&mut self, when: When, object: Option<*mut c_void>) -> Option<Handler> {
        let list = self.list(when);
        let at = match object {
            None => list.len().checked_sub(1)?,
            Some(object) => list.iter().rposition(|handler| handler.object == object)?,
        };
        Some(list.remove(at))
    }
}

/// Calls handlers, last registered first, until none is left. Handlers may register more, which run next.
///
/// # Safety
/// Each handler was registered by code that is still loaded, to be called on a thread of its rank.
pub unsafe fn run(code: c_int, mut next: impl FnMut() -> Option<Handler>) {
    while let Some(handler) = next() {
        match handler.function {
            // SAFETY: the caller's promise.
            Function::Plain(function) => unsafe { function(handler.argument) },
            // SAFETY: the caller's promise.
            Function::WithCode(function) => unsafe { function(code, handler.argument) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    thread_local!(static ORDER: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) });

    extern "C" fn note(argument: *mut c_void) {
        ORDER.with_borrow_mut(|order| order.push(argument as usize));
    }

    extern "C" fn note_code(code: c_int, argument: *mut c_void) {
        ORDER.with_borrow_mut(|order| order.push(argument as usize + code as usize));
    }

    fn handler(number: usize, object: usize) -> Handler {
        let function = Function::Plain(note);
        Handler { function, argument: number as *mut c_void, object: object as *mut c_void }
    }

    #[test]
    fn handlers_run_in_reverse_order_and_by_object() {
        let mut handlers = ExitHandlers::default();
        for (number, object) in [(1, 10), (2, 20), (3, 10)] {
            handlers.push(When::Exit, handler(number, object));
        }
        handlers.push(When::QuickExit, handler(9, 10));
        let late = Handler { function: Function::WithCode(note_code), ..handler(100, 20) };
        handlers.push(When::Exit, late);
        // SAFETY: the handlers are the functions above.
        unsafe { run(7, || handlers.pop(When::Exit, Some(10 as *mut c_void))) };
        // SAFETY: what is left in the list are the functions above, too.
        unsafe { run(7, || handlers.pop(When::Exit, None)) };
        assert_eq!(ORDER.take(), [3, 1, 107, 2]);
        assert!(handlers.pop(When::QuickExit, None).is_some());
    }
}
