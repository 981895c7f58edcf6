//! A window as the library keeps it for one rank.

use crate::attributes::values::Attributes;
use crate::communicators::contexts::Held;
use crate::environment::memory::Block;
use crate::errors::handling::ErrorHandler;
use core::any::Any;
use core::ffi::{c_int, c_void};
use std::sync::Arc;
use weft_base::abi::Aint;
use weft_base::constants::*;
use weft_coll::Team;
use weft_comm::Group;
use weft_sync::Lock;

/// A window as the library keeps it for one rank.
pub struct Window {
    /// The rank's epochs and operations.
    pub rma: weft_rma::Window,
    /// Its ranks.
    pub group: Group,
    pub(super) team: Team,
    /// Whether any of its ranks may lock, as far as they have said.
    pub(super) may_lock: bool,
    /// What all ranks share, with the memory of `MPI_Win_allocate_shared`.
    pub(super) _common: Arc<dyn Any + Send + Sync>,
    /// The memory of `MPI_Win_allocate`.
    pub(super) _block: Option<Block>,
    pub(crate) error_handler: Lock<ErrorHandler>,
    /// What the user has cached on it.
    pub attributes: Attributes,
    pub(crate) name: Lock<String>,
    pub(super) hints: Lock<Vec<(String, String)>>,
    pub(super) predefined: Predefined,
    /// Let go last: the number of the team's context.
    pub(super) _context: Held,
}

/// The values of the predefined attributes; the program gets their addresses.
pub(super) struct Predefined {
    pub base: usize,
    pub size: Aint,
    pub unit: c_int,
    pub flavor: c_int,
    pub model: c_int,
}

impl Window {
    /// Returns the address of a predefined attribute's value; of the memory itself for the base.
    pub(crate) fn predefined_attribute(&self, keyval: c_int) -> Option<*mut c_void> {
        let values = &self.predefined;
        let address = match keyval {
            MPI_WIN_BASE => return Some(values.base as *mut c_void),
            MPI_WIN_SIZE => (&raw const values.size).cast::<c_void>(),
            MPI_WIN_DISP_UNIT => (&raw const values.unit).cast(),
            MPI_WIN_CREATE_FLAVOR => (&raw const values.flavor).cast(),
            MPI_WIN_MODEL => (&raw const values.model).cast(),
            _ => return None,
        };
        Some(address.cast_mut())
    }

    /// Returns what reports call it.
    pub(crate) fn title(&self) -> String {
        let name = self.name.lock().clone();
        if name.is_empty() { format!("a window of {} ranks", self.group.size()) } else { name }
    }
}
