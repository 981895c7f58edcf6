//! The element types of reductions and what can be computed with them.
//!
//! Rust has no stable type for x87 extended, binary128 and binary16 numbers: the first two are computed in software,
//! the last through `f32`, rounding after each operation as the hardware would.

use core::ops::{BitAnd, BitOr, BitXor};
use half::f16;
use rustc_apfloat::Float;
use rustc_apfloat::ieee::{Quad, X87DoubleExtended};

/// Numbers with the arithmetic of C: integers wrap.
pub(crate) trait Number: Copy {
    fn add(self, other: Self) -> Self;
    fn subtract(self, other: Self) -> Self;
    fn multiply(self, other: Self) -> Self;
    fn less(self, other: Self) -> bool;
}

/// Integers as bit patterns and truth values.
pub(crate) trait Bits:
    Copy + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self>
{
    fn truth(self) -> bool;
    fn from_truth(truth: bool) -> Self;
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Number for $t {
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn subtract(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn multiply(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn less(self, other: Self) -> bool {
                self < other
            }
        }
        impl Bits for $t {
            #[inline(always)]
            fn truth(self) -> bool {
                self != 0
            }
            #[inline(always)]
            fn from_truth(truth: bool) -> Self {
                truth as $t
            }
        }
    )*};
}
integers!(i8 i16 i32 i64 i128 u8 u16 u32 u64);

macro_rules! floats {
    ($($t:ty)*) => {$(
        impl Number for $t {
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn subtract(self, other: Self) -> Self {
                self - other
            }
            #[inline(always)]
            fn multiply(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn less(self, other: Self) -> bool {
                self < other
            }
        }
    )*};
}
floats!(f32 f64);

/// IEEE binary16.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Half(u16);

impl Half {
    fn wide(self) -> f32 {
        f16::from_bits(self.0).to_f32()
    }

    fn narrow(value: f32) -> Self {
        Self(f16::from_f32(value).to_bits())
    }
}

impl Number for Half {
    fn add(self, other: Self) -> Self {
        Self::narrow(self.wide() + other.wide())
    }
    fn subtract(self, other: Self) -> Self {
        Self::narrow(self.wide() - other.wide())
    }
    fn multiply(self, other: Self) -> Self {
        Self::narrow(self.wide() * other.wide())
    }
    fn less(self, other: Self) -> bool {
        self.wide() < other.wide()
    }
}

macro_rules! software {
    ($(#[$doc:meta])* $name:ident $format:ty, $mask:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        #[repr(transparent)]
        pub(crate) struct $name(u128);

        impl $name {
            fn value(self) -> $format {
                <$format>::from_bits(self.0 & $mask)
            }
        }

        impl Number for $name {
            fn add(self, other: Self) -> Self {
                Self((self.value() + other.value()).value.to_bits())
            }
            fn subtract(self, other: Self) -> Self {
                Self((self.value() - other.value()).value.to_bits())
            }
            fn multiply(self, other: Self) -> Self {
                Self((self.value() * other.value()).value.to_bits())
            }
            fn less(self, other: Self) -> bool {
                self.value() < other.value()
            }
        }
    };
}
software! {
    /// x87 extended precision: 80 bits in 16 bytes.
    Extended X87DoubleExtended, (1 << 80) - 1
}
software! {
    /// IEEE binary128.
    Quadruple Quad, u128::MAX
}

/// C `long double`.
#[cfg(target_arch = "x86_64")]
pub(crate) type LongDouble = Extended;
/// C `long double`.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) type LongDouble = Quadruple;

/// A complex number as C and Fortran store it.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Complex<T> {
    re: T,
    im: T,
}

impl<T: Number> Complex<T> {
    #[inline(always)]
    pub(crate) fn sum(self, other: Self) -> Self {
        Self { re: self.re.add(other.re), im: self.im.add(other.im) }
    }

    #[inline(always)]
    pub(crate) fn product(self, other: Self) -> Self {
        Self {
            re: self.re.multiply(other.re).subtract(self.im.multiply(other.im)),
            im: self.re.multiply(other.im).add(self.im.multiply(other.re)),
        }
    }
}

/// A value and its index as a C struct.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct ValueIndex<V, I> {
    pub(crate) value: V,
    pub(crate) index: I,
}
