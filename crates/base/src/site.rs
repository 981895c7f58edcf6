//! Where the program called the library: noted in checking mode only, for reports.

use core::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// A call of the program.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Site {
    /// The procedure: `MPI_Send`.
    pub call: &'static str,
    /// The address to which it returns; 0 if unknown.
    pub address: usize,
}

/// All sites by the address of their names, which is what a thread notes.
static SITES: Mutex<Vec<(usize, &'static Site)>> = Mutex::new(Vec::new());

thread_local! {
    static CURRENT: Cell<Option<&'static Site>> = const { Cell::new(None) };
    // Sites live for ever, so that whatever was noted stays valid; a program has few.
    static KNOWN: RefCell<HashMap<(usize, usize), &'static Site>> = RefCell::default();
}

/// Notes that the calling thread is in a call of the program, and returns it.
pub fn enter(call: &'static str) -> &'static Site {
    let address = weft_sys::caller::program_address();
    let key = (call.as_ptr() as usize, address);
    let make = || -> &'static Site {
        let site: &'static Site = Box::leak(Box::new(Site { call, address }));
        let mut sites = SITES.lock().unwrap_or_else(PoisonError::into_inner);
        sites.push((core::ptr::from_ref(&site.call) as usize, site));
        site
    };
    let site = KNOWN.with_borrow_mut(|known| *known.entry(key).or_insert_with(make));
    CURRENT.set(Some(site));
    site
}

impl Site {
    /// Finds the site whose name is at an address.
    pub fn of_call(address: usize) -> Option<&'static Self> {
        let sites = SITES.lock().unwrap_or_else(PoisonError::into_inner);
        sites.iter().find(|(known, _)| *known == address).map(|(_, site)| *site)
    }
}

/// Returns the calling thread's last call, if calls are noted.
pub fn current() -> Option<&'static Site> {
    CURRENT.get()
}
