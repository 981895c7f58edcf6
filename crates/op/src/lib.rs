//! Reduction operations.

/// An operation.
pub struct Op(());

impl Op {
    /// Returns a predefined operation.
    pub fn predefined(_handle: weft_base::abi::Op) -> Option<&'static Op> {
        None
    }
}
