//! `dlopen` for a rank: what it opens while it runs is its own, as its program is.
//!
//! The functions of the dynamic linker that a copy calls lead here ([`REPLACED`], by [`Copy::redirect`]); those of shared
//! libraries stay libc's. The caller is known by the address it returns to. For each copy there is a [`Space`]: the
//! objects of its program, and what was opened since, each with a count and with what it needs.
//!
//! A plugin is loaded as a program is: a memory file of the same layout, with the libraries it needs by the paths of
//! this rank's copies. What is asked for from the linker is a small object that needs first the program, then what was
//! opened with `RTLD_GLOBAL`, then the plugin (`linker::order`): so symbols are searched in the order of a process. Constructors
//! run afterwards, on the thread that opens. Libraries that ranks share (`libraries::SHARED`, and ours) are libc's business.
//!
//! `dlclose` runs destructors when the last use has ended, and unloads, so what is opened again begins anew.
//! Handles are the linker's own records, so `dladdr`, `dlinfo` and debuggers understand them.
//!
//! - `tables`: the objects of a rank. `space`: what one rank has open, its opening and closing.
//! - `opening`: brings what is opened into memory, with `prepared` templates and `load`, which asks the linker.
//! - `calls`: the functions that copies call. `lookup`, `objects`: symbols and lists of objects. `of_copy`: what a copy does beside what was opened. `text`: messages.

mod calls;
mod load;
mod lookup;
mod objects;
mod of_copy;
mod opening;
mod prepared;
mod space;
mod tables;
mod text;

pub use crate::linker::REPLACED;

use crate::copy::Copy;
use space::{Space, space_of};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, OnceLock, PoisonError};

/// What the loader asks whoever runs the copies.
pub struct Host {
    /// Returns the copy of the calling thread's rank, if it is one's.
    pub own_copy: fn() -> Option<&'static Copy>,
    /// Tells the user something.
    pub warn: fn(&str),
}

/// What a rank has of its own in place of libc's.
#[derive(Debug)]
pub struct Own {
    /// Functions, the same for all ranks.
    pub functions: &'static HashMap<&'static str, usize>,
    /// Variables.
    pub variables: Vec<(&'static str, usize)>,
}

static HOST: OnceLock<Host> = OnceLock::new();

/// Says who runs the copies of this process.
pub fn install(host: Host) {
    let _ = HOST.set(host);
}

/// Tells the user something, once per process.
fn warn(message: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(message.to_string())
        && let Some(host) = HOST.get()
    {
        (host.warn)(message);
    }
}

/// Keeps what a rank has opened at this address until the rank ends, whatever it closes.
pub fn keep(address: usize) {
    if let Some((space, id)) = space::owner_of(address) {
        space.keep(id);
    }
}

/// Makes what a copy opens its own, if it opens anything. `own` tells what the rank has of its own besides, to which
/// references of plugins lead, too.
///
/// # Safety
/// The copy must not be running, and each address be good for what a program does with libc's of that name.
#[allow(unsafe_code)] // Redirects references of a copy that does not run.
pub unsafe fn serve(copy: &'static Copy, own: impl FnOnce() -> Own) {
    if space_of(copy).is_some() {
        return;
    }
    let functions = calls::addresses();
    let Some(space) = Space::of(copy, functions, own) else { return };
    let space: &'static Space = Box::leak(Box::new(space));
    space.register();
    for (name, address) in functions {
        // SAFETY: functions with the types and duties of libc's.
        unsafe { copy.redirect(name, address) };
    }
}
