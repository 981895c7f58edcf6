//! Comparing type signatures: which basic elements follow each other, whatever lies between them in memory.
//!
//! A signature may have more elements than could ever be written down, so it is compared by a hash of which that of
//! a repetition and that of a prefix can be computed: the polynomial hash modulo 2^61 - 1. `hash(a b)` is `hash(a) ×
//! BASE^length(b) + hash(b)`, and a power is computed by doubling. Two signatures whose hashes differ are searched for the
//! first difference by halving the prefix that is compared.

use crate::basic::Basic;
use crate::datatype::Datatype;
use std::collections::HashMap;
use weft_base::constants::MPI_PACKED;

const MODULUS: u64 = (1 << 61) - 1;
const BASE: u64 = 0x0ec3_5ac6_9cb6_f2a7;

fn multiply(a: u64, b: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(MODULUS)) as u64
}

/// The hash of a sequence, and `BASE` to its length.
#[derive(Clone, Copy)]
struct Hash {
    value: u64,
    power: u64,
}

impl Hash {
    const EMPTY: Self = Self { value: 0, power: 1 };

    fn of(basic: Basic) -> Self {
        let mixed = (basic.index() as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 4;
        Self { value: mixed % MODULUS, power: BASE % MODULUS }
    }

    fn then(self, next: Self) -> Self {
        Self {
            value: (multiply(self.value, next.power) + next.value) % MODULUS,
            power: multiply(self.power, next.power),
        }
    }

    fn times(self, mut count: u64) -> Self {
        let (mut result, mut doubled) = (Self::EMPTY, self);
        while count > 0 {
            if count & 1 == 1 {
                result = result.then(doubled);
            }
            doubled = doubled.then(doubled);
            count >>= 1;
        }
        result
    }
}

/// The elements of `count` instances of a type.
#[derive(Clone, Debug)]
pub struct Signature {
    datatype: Datatype,
    count: u64,
}

/// Where two signatures differ first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The number of elements before it.
    pub at: u64,
    /// The element of the first signature; nothing where it has ended.
    pub first: Option<Basic>,
    /// That of the second.
    pub second: Option<Basic>,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = |basic: Option<Basic>| basic.map_or("nothing", Basic::name);
        write!(f, "element {} is {} here and {} there", self.at, name(self.first), name(self.second))
    }
}

/// Hashes of the types met in one comparison, by address: a type may be part of another in many places.
type Memory = HashMap<usize, Hash>;

fn whole(datatype: &Datatype, memory: &mut Memory) -> Hash {
    let parts = &datatype.0.parts;
    if parts.is_empty() {
        return datatype.basic().filter(|_| datatype.size() > 0).map_or(Hash::EMPTY, Hash::of);
    }
    let address = core::ptr::from_ref(&*datatype.0) as usize;
    if let Some(known) = memory.get(&address) {
        return *known;
    }
    let hash =
        parts.iter().fold(Hash::EMPTY, |hash, (part, copies)| hash.then(whole(part, memory).times(*copies)));
    memory.insert(address, hash);
    hash
}

/// Returns the hash of the first `length` elements of a repeated type.
fn prefix(datatype: &Datatype, length: u64, memory: &mut Memory) -> Hash {
    let each = datatype.elements();
    if each == 0 {
        return Hash::EMPTY;
    }
    let mut hash = whole(datatype, memory).times(length / each);
    let mut rest = length % each;
    for (part, copies) in &datatype.0.parts {
        let held = part.elements() * copies;
        if rest < held {
            return hash.then(prefix(part, rest, memory));
        }
        hash = hash.then(whole(part, memory).times(*copies));
        rest -= held;
    }
    hash
}

/// Returns an element of a repeated type.
fn element(datatype: &Datatype, index: u64) -> Option<Basic> {
    let mut rest = index.checked_rem(datatype.elements())?;
    if datatype.0.parts.is_empty() {
        return datatype.basic();
    }
    for (part, copies) in &datatype.0.parts {
        let held = part.elements() * copies;
        if rest < held {
            return element(part, rest);
        }
        rest -= held;
    }
    None
}

impl Signature {
    /// Describes `count` instances of a type.
    pub fn new(datatype: &Datatype, count: u64) -> Self {
        Self { datatype: datatype.clone(), count }
    }

    /// Returns the number of elements.
    pub fn elements(&self) -> u64 {
        self.count.saturating_mul(self.datatype.elements())
    }

    /// Returns the element at a place.
    pub fn element(&self, index: u64) -> Option<Basic> {
        if index < self.elements() { element(&self.datatype, index) } else { None }
    }

    /// Tells whether it is packed data, which matches everything.
    fn is_packed(&self) -> bool {
        self.datatype.basic().is_some_and(|basic| basic.handle() == MPI_PACKED)
    }

    fn is_plainly(&self, other: &Self) -> bool {
        let basic = |s: &Self| s.datatype.basic().filter(|basic| basic.pair().is_none());
        self.datatype.same(&other.datatype) || (basic(self).is_some() && basic(self) == basic(other))
    }

    /// Finds where a message of this signature and a receive of `other` differ; the receive may have more elements.
    pub fn differs_in_message(&self, other: &Self) -> Option<Difference> {
        let common = self.elements().min(other.elements());
        if self.is_plainly(other) || self.is_packed() || other.is_packed() {
            return None;
        }
        let mut memory = Memory::new();
        let mut differ = |length: u64| {
            let (a, b) =
                (prefix(&self.datatype, length, &mut memory), prefix(&other.datatype, length, &mut memory));
            a.value != b.value
        };
        if !differ(common) {
            return None;
        }
        let (mut same, mut different) = (0, common);
        while different - same > 1 {
            let middle = same + (different - same) / 2;
            if differ(middle) {
                different = middle;
            } else {
                same = middle;
            }
        }
        Some(Difference { at: same, first: self.element(same), second: other.element(same) })
    }

    /// Finds where two signatures that must be equal differ.
    pub fn differs(&self, other: &Self) -> Option<Difference> {
        let (mine, others) = (self.elements(), other.elements());
        let packed = self.is_packed() || other.is_packed();
        self.differs_in_message(other).or_else(|| {
            let at = mine.min(others);
            (mine != others && !packed).then(|| Difference {
                at,
                first: self.element(at),
                second: other.element(at),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use weft_base::constants::*;

    fn basic(pick: u8) -> Datatype {
        let handles = [MPI_INT, MPI_DOUBLE, MPI_CHAR, MPI_2INT, MPI_DOUBLE_INT];
        Datatype::predefined(handles[usize::from(pick) % handles.len()]).unwrap().clone()
    }

    /// Types of few elements, nested.
    fn types() -> impl Strategy<Value = Datatype> {
        any::<u8>().prop_map(basic).prop_recursive(4, 24, 3, |inner| {
            prop_oneof![
                (0..4i64, inner.clone()).prop_map(|(n, t)| Datatype::contiguous(n, &t).unwrap()),
                (0..3i64, 1..3i64, inner.clone())
                    .prop_map(|(n, b, t)| Datatype::vector(n, b, 5, &t).unwrap()),
                proptest::collection::vec((0..3i64, inner.clone()), 1..4).prop_map(|fields| {
                    let lengths: Vec<_> = fields.iter().map(|f| f.0).collect();
                    let places: Vec<_> = (0..fields.len() as i64).map(|i| i * 4096).collect();
                    let kinds: Vec<_> = fields.into_iter().map(|f| f.1).collect();
                    Datatype::structure(&lengths, &places, &kinds).unwrap()
                }),
                inner.prop_map(|t| t.dup().unwrap()),
            ]
        })
    }

    /// The rule itself: the elements one by one.
    fn list(signature: &Signature) -> Vec<Basic> {
        fn walk(datatype: &Datatype, out: &mut Vec<Basic>) {
            if datatype.0.parts.is_empty() {
                out.extend(datatype.basic().filter(|_| datatype.size() > 0));
            }
            for (part, copies) in &datatype.0.parts {
                (0..*copies).for_each(|_| walk(part, out));
            }
        }
        let mut out = Vec::new();
        (0..signature.count).for_each(|_| walk(&signature.datatype, &mut out));
        out
    }

    proptest! {
        #[test]
        fn differences_are_where_lists_differ((a, b, n, m) in (types(), types(), 0..4u64, 0..4u64)) {
            let (first, second) = (Signature::new(&a, n), Signature::new(&b, m));
            let (x, y) = (list(&first), list(&second));
            prop_assert_eq!(first.elements(), x.len() as u64);
            let common = x.len().min(y.len());
            let place = (0..common).find(|&i| x[i] != y[i]);
            prop_assert_eq!(first.differs_in_message(&second).map(|d| d.at as usize), place);
            let place = place.or((x.len() != y.len()).then_some(common));
            let found = first.differs(&second);
            prop_assert_eq!(found.map(|d| d.at as usize), place);
            if let Some(found) = found {
                prop_assert_eq!(found.first, x.get(found.at as usize).copied());
                prop_assert_eq!(found.second, y.get(found.at as usize).copied());
            }
        }
    }

    #[test]
    fn billions_of_elements_are_compared_at_once() {
        let mixed = Datatype::structure(&[1, 1], &[0, 8], &[basic(0), basic(1)]).unwrap();
        let many = Datatype::contiguous(1 << 40, &mixed).unwrap();
        assert_eq!(Signature::new(&many, 3).differs(&Signature::new(&mixed, 3 << 40)), None);
        let found = Signature::new(&many, 3).differs(&Signature::new(&mixed, (3 << 40) + 1)).unwrap();
        assert_eq!((found.at, found.first), (6 << 40, None));
        let (long, short) = (Datatype::contiguous(1 << 40, &basic(0)).unwrap(), basic(1));
        let odd = Datatype::structure(&[1, 1], &[0, 1 << 50], &[long, short]).unwrap();
        let found = Signature::new(&odd, 1).differs(&Signature::new(&basic(0), (1 << 40) + 1)).unwrap();
        assert_eq!(
            (found.at, found.to_string()),
            (1 << 40, format!("element {} is MPI_DOUBLE here and MPI_INT there", 1u64 << 40))
        );
    }

    #[test]
    fn packed_data_matches_everything_and_bytes_only_bytes() {
        let of = |handle, count| Signature::new(Datatype::predefined(handle).unwrap(), count);
        assert_eq!(of(MPI_PACKED, 8).differs(&of(MPI_INT, 2)), None);
        assert_eq!(of(MPI_INT, 2).differs_in_message(&of(MPI_PACKED, 100)), None);
        assert!(of(MPI_BYTE, 8).differs_in_message(&of(MPI_INT, 2)).is_some());
        assert_eq!(of(MPI_INT, 0).differs_in_message(&of(MPI_DOUBLE, 2)), None);
    }
}
