//! The polynomial hash modulo 2^61 - 1 of a sequence of elements: `hash(a b)` is `hash(a) × BASE^length(b) + hash(b)`.

use crate::basic::Basic;

pub(super) const MODULUS: u64 = (1 << 61) - 1;
const BASE: u64 = 0x0ec3_5ac6_9cb6_f2a7;

fn multiply(a: u64, b: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(MODULUS)) as u64
}

/// The hash of a sequence, and `BASE` to its length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hash {
    value: u64,
    power: u64,
}

impl Hash {
    pub const EMPTY: Self = Self { value: 0, power: 1 };

    pub fn of(basic: Basic) -> Self {
        let mixed = (basic.index() as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 4;
        Self { value: mixed % MODULUS, power: BASE % MODULUS }
    }

    /// Returns the hash of a sequence of which the value and the length are known.
    pub fn with_length(value: u64, length: u64) -> Self {
        let each = Self { value: 0, power: BASE % MODULUS };
        Self { value: value % MODULUS, power: each.times(length).power }
    }

    pub fn value(self) -> u64 {
        self.value
    }

    pub fn then(self, next: Self) -> Self {
        Self {
            value: (multiply(self.value, next.power) + next.value) % MODULUS,
            power: multiply(self.power, next.power),
        }
    }

    pub fn times(self, mut count: u64) -> Self {
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

    /// Returns the value of the last `length` elements of this sequence, whose others have the value `before`.
    pub fn without(self, before: u64, length: u64) -> u64 {
        let gone = multiply(before, Self::with_length(0, length).power);
        (self.value + MODULUS - gone) % MODULUS
    }
}
