//! What the interface keeps of a rank.

use crate::process::Process;
use crate::tools::counting::{Handle, Session};
use crate::tools::handles::Handles;
use crate::tools::listening::{self, Current, Registration};
use core::any::Any;
use core::ffi::c_int;
use std::sync::atomic::AtomicBool;
use weft_base::constants::*;
use weft_base::settings::Setting;
use weft_base::{Error, Result};
use weft_sync::Lock;

/// A control variable that a tool has a handle of.
pub(crate) struct ControlHandle(pub &'static Setting);

/// What the interface keeps of a rank.
pub(crate) struct Tools {
    /// How often it was initialised and not finalised.
    pub uses: Lock<u32>,
    pub controls: Handles<ControlHandle>,
    pub sessions: Handles<Session>,
    pub variables: Handles<Handle>,
    pub registrations: Handles<Registration>,
    /// The instance of an event that a callback is being told.
    pub current: Current,
    /// A thread of the rank tells what has happened.
    pub is_telling: AtomicBool,
}

impl Default for Tools {
    fn default() -> Self {
        Self {
            uses: Lock::default(),
            controls: Handles::new("handle"),
            sessions: Handles::failing(MPI_T_ERR_INVALID_SESSION, "pe_session"),
            variables: Handles::new("handle"),
            registrations: Handles::new("event_registration"),
            current: Current::default(),
            is_telling: AtomicBool::new(false),
        }
    }
}

impl Tools {
    /// Frees what tools have left when the interface ends.
    pub fn clear(&self) {
        self.controls.clear();
        self.variables.clear();
        self.sessions.clear();
        listening::end_all(self.registrations.clear().into_values());
    }
}

/// Returns what the interface keeps of a rank.
pub(super) fn of(process: &'static Process) -> &'static Tools {
    let make = || Box::new(Tools::default()) as Box<dyn Any + Send + Sync>;
    process.tools.get_or_init(make).downcast_ref().expect("nobody else stores it")
}

/// Returns what the interface keeps of a rank, if it was ever used.
pub(super) fn known(process: &'static Process) -> Option<&'static Tools> {
    process.tools.get()?.downcast_ref()
}

/// Returns the calling thread's rank and what the interface keeps of that, which must be initialised.
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`
pub(super) fn initialized() -> Result<(&'static Process, &'static Tools)> {
    let process = Process::any();
    let tools = of(process);
    if *tools.uses.lock() == 0 {
        let text = "the tool information interface is not initialised; call MPI_T_init_thread";
        return Err(Error::new(MPI_T_ERR_NOT_INITIALIZED, text));
    }
    Ok((process, tools))
}

/// Returns an index that a tool gives, if there are so many.
///
/// # Errors
/// `MPI_T_ERR_INVALID_INDEX`
pub(super) fn index(value: c_int, count: usize, name: &str) -> Result<usize> {
    usize::try_from(value).ok().filter(|&index| index < count).ok_or_else(|| {
        let text = format!("{name} is {value}; possible is 0 to {}", count as i64 - 1);
        Error::new(MPI_T_ERR_INVALID_INDEX, text)
    })
}
