//! Counting basic elements in the packed form of a type: its signature, walked part by part.

use crate::basic::Basic;
use crate::datatype::Datatype;

impl Datatype {
    /// Returns how many basic elements the first `bytes` packed bytes of instances of the type hold, or nothing when
    /// they end within an element.
    pub fn elements_in(&self, bytes: u64) -> Option<u64> {
        if self.size() == 0 {
            return (bytes == 0).then_some(0);
        }
        let mut elements = bytes / self.size() * self.elements();
        let mut rest = bytes % self.size();
        for (part, copies) in &self.0.parts {
            let size = part.size() * copies;
            if rest < size {
                return Some(elements + part.elements_in(rest)?);
            }
            elements += part.elements() * copies;
            rest -= size;
        }
        (rest == 0).then_some(elements)
    }

    /// Returns how many packed bytes the first `elements` basic elements of instances of the type take, or nothing
    /// when that does not fit 63 bits.
    pub fn bytes_of(&self, elements: u64) -> Option<u64> {
        if self.elements() == 0 {
            return (elements == 0).then_some(0);
        }
        let instances = elements / self.elements();
        let mut bytes = instances.checked_mul(self.size()).filter(|b| *b <= i64::MAX as u64)?;
        let mut rest = elements % self.elements();
        for (part, copies) in &self.0.parts {
            let held = part.elements() * copies;
            if rest < held {
                return bytes.checked_add(part.bytes_of(rest)?);
            }
            bytes += part.size() * copies;
            rest -= held;
        }
        Some(bytes)
    }

    /// Calls `visit(kind, number)` for the basic elements of `count` instances in packing order.
    pub fn for_each_basic(&self, count: u64, visit: &mut impl FnMut(Basic, u64)) {
        match self.basic() {
            Some(basic) if basic.pair().is_none() => visit(basic, count * self.elements()),
            _ => {
                for _ in 0..count {
                    for (part, copies) in &self.0.parts {
                        part.for_each_basic(*copies, visit);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_base::constants as c;

    #[test]
    fn elements_and_bytes_are_inverse_to_each_other() {
        let int = Datatype::predefined(c::MPI_INT).unwrap().clone();
        let double = Datatype::predefined(c::MPI_DOUBLE).unwrap().clone();
        let ty = Datatype::structure(&[2, 3], &[0, 64], &[int, double]).unwrap();
        assert_eq!((ty.size(), ty.elements()), (32, 5));
        for n in 0..20 {
            assert_eq!(ty.elements_in(ty.bytes_of(n).unwrap()), Some(n));
        }
        assert_eq!((ty.elements_in(4), ty.elements_in(5), ty.elements_in(16)), (Some(1), None, Some(3)));
        assert_eq!(ty.elements_in(32 + 8), Some(7));
    }
}
