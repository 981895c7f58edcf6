//! What an operation does with one element, for those who carry it out on memory that others change at the same time.

use crate::kernels::Kernel;
use crate::{Inner, Kind, Op};
use weft_datatype::{Basic, Class};

/// What an operation does with elements of a predefined type.
#[derive(Clone, Copy)]
pub enum Element {
    /// Adds integers, which wrap.
    Add,
    /// `MPI_BAND`
    And,
    /// `MPI_BOR`
    Or,
    /// `MPI_BXOR`
    Xor,
    /// `MPI_REPLACE`
    Replace,
    /// `MPI_NO_OP`
    Nothing,
    /// All else: `inout[i] = input[i] op inout[i]` for so many elements, at any addresses.
    Other(unsafe fn(input: *const u8, inout: *mut u8, count: usize)),
}

impl Op {
    /// Returns what a predefined operation does with elements of a type; nothing where the standard does not define it.
    #[inline]
    pub fn element(&self, basic: Basic) -> Option<Element> {
        let Inner::Predefined { kind, kernels, .. } = self.0 else { return None };
        match kind {
            Kind::Replace => Some(Element::Replace),
            Kind::NoOp => Some(Element::Nothing),
            _ => kernels[basic.index()].map(|kernel| computed(kind, basic, kernel)),
        }
    }

    /// Returns the number of a predefined operation, counted from `MPI_OP_NULL`.
    pub fn number(&self) -> Option<u32> {
        let Inner::Predefined { kind, .. } = self.0 else { return None };
        let found = crate::PREDEFINED.iter().find(|(known, ..)| *known == kind);
        found.map(|(_, handle, _)| (handle.0 - weft_base::constants::MPI_OP_NULL.0) as u32)
    }

    /// Tells whether this is `MPI_NO_OP`.
    #[inline]
    pub fn is_no_op(&self) -> bool {
        matches!(self.0, Inner::Predefined { kind: Kind::NoOp, .. })
    }

    /// Tells whether this is `MPI_REPLACE`.
    #[inline]
    pub fn is_replace(&self) -> bool {
        matches!(self.0, Inner::Predefined { kind: Kind::Replace, .. })
    }
}

fn computed(kind: Kind, basic: Basic, kernel: Kernel) -> Element {
    let class = basic.description().class;
    let is_integer = matches!(class, Class::CInteger | Class::FortranInteger | Class::MultiLanguage);
    match kind {
        Kind::Sum if is_integer => Element::Add,
        Kind::BitAnd => Element::And,
        Kind::BitOr => Element::Or,
        Kind::BitXor => Element::Xor,
        _ => Element::Other(kernel),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_base::abi;
    use weft_base::constants as c;

    fn element(op: abi::Op, ty: abi::Datatype) -> Option<Element> {
        Op::predefined(op).unwrap().element(Basic::from_handle(ty).unwrap())
    }

    #[test]
    fn what_is_an_instruction_is_found_and_the_rest_computed() {
        assert!(matches!(element(c::MPI_SUM, c::MPI_INT64_T), Some(Element::Add)));
        assert!(matches!(element(c::MPI_SUM, c::MPI_AINT), Some(Element::Add)));
        assert!(matches!(element(c::MPI_SUM, c::MPI_DOUBLE), Some(Element::Other(_))));
        assert!(matches!(element(c::MPI_PROD, c::MPI_INT), Some(Element::Other(_))));
        assert!(matches!(element(c::MPI_BXOR, c::MPI_BYTE), Some(Element::Xor)));
        assert!(matches!(element(c::MPI_REPLACE, c::MPI_CHAR), Some(Element::Replace)));
        assert!(
            element(c::MPI_SUM, c::MPI_FLOAT_INT).is_none() && element(c::MPI_BAND, c::MPI_DOUBLE).is_none()
        );
    }
}
