//! What a rank knows of its datatypes beside the types themselves.

use crate::attributes::values::Attributes;
use core::ffi::c_int;
use std::collections::HashMap;
use std::sync::Arc;
use weft_base::abi::{self};
use weft_datatype::Datatype;
use weft_sync::Lock;

/// What a rank knows of its datatypes beside the types themselves.
#[derive(Default)]
pub struct DatatypeState {
    /// Names the user gave, by handle. Predefined types can be named as well, by each rank for itself.
    pub(super) names: Lock<HashMap<usize, String>>,
    /// Unnamed predefined types handed out, by combiner and arguments.
    pub(super) unnamed: Lock<Vec<([c_int; 3], Datatype, abi::Datatype)>>,
    /// What the user has cached, by handle.
    pub(super) attributes: Lock<HashMap<usize, Arc<Attributes>>>,
}

impl DatatypeState {
    /// Returns the name that the program has given.
    pub(crate) fn name(&self, handle: abi::Datatype) -> Option<String> {
        self.names.lock().get(&handle.0).cloned()
    }

    /// Lists the handles of unnamed predefined types, which nobody frees.
    pub(crate) fn unnamed_handles(&self) -> Vec<usize> {
        self.unnamed.lock().iter().map(|(_, _, handle)| handle.0).collect()
    }

    /// Returns the place for attributes of a live handle.
    pub(crate) fn attributes(&self, datatype: abi::Datatype) -> Arc<Attributes> {
        self.attributes.lock().entry(datatype.0).or_default().clone()
    }
}
