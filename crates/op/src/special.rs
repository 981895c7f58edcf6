//! Loops that no compiler makes out of the general one: half precision through the processor's conversions, and x87 numbers
//! through its x87 unit.
//!
//! Both give the same bits as the computation in software (`number`), which other levels and targets use.
#![allow(unsafe_code)] // Vector conversions, x87 instructions, raw addresses as in `kernels`.

use crate::Kind;
use crate::kernels::Kernel;
use crate::level::Level;
use weft_datatype::{Class, Repr};

/// Returns the special kernel of an operation on a representation at a level, if there is one.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn kernel(_: Level, _: Kind, _: Class, _: Repr) -> Option<Kernel> {
    None
}

/// Returns the special kernel of an operation on a representation at a level, if there is one.
#[cfg(target_arch = "x86_64")]
pub(crate) fn kernel(level: Level, kind: Kind, class: Class, repr: Repr) -> Option<Kernel> {
    match (class, repr) {
        (Class::Floating, Repr::F16) if level >= Level::Avx2 => half::kernel(kind),
        // The sum of complex numbers is that of their parts.
        (Class::Complex, Repr::F16) if level >= Level::Avx2 && kind == Kind::Sum => Some(half::complex_sum),
        (Class::Floating, Repr::LongDouble) => x87::kernel(kind),
        (Class::Complex, Repr::LongDouble) => x87::complex_kernel(kind),
        _ => None,
    }
}

#[cfg(target_arch = "x86_64")]
mod half {
    use super::{Kernel, Kind};
    use crate::kernels::{Function, Maximum, Minimum, Product, Sum};
    use crate::number::Half;
    use core::arch::x86_64::{
        __m128i, _CMP_LT_OQ, _MM_FROUND_TO_NEAREST_INT, _mm_blendv_epi8, _mm_loadu_si128, _mm_packs_epi32,
        _mm_storeu_si128, _mm256_add_ps, _mm256_castps_si256, _mm256_castsi256_si128, _mm256_cmp_ps,
        _mm256_cvtph_ps, _mm256_cvtps_ph, _mm256_extracti128_si256, _mm256_mul_ps,
    };

    /// How many numbers a step takes.
    const STEP: usize = 8;

    pub fn kernel(kind: Kind) -> Option<Kernel> {
        Some(match kind {
            Kind::Sum => arithmetic::<false>,
            Kind::Product => arithmetic::<true>,
            Kind::Maximum => select::<true>,
            Kind::Minimum => select::<false>,
            _ => return None,
        })
    }

    /// # Safety
    /// As a [`Kernel`] of complex numbers.
    pub unsafe fn complex_sum(input: *const u8, inout: *mut u8, count: usize) {
        // SAFETY: the caller's promise; a complex number is two.
        unsafe { arithmetic::<false>(input, inout, 2 * count) }
    }

    /// Does the numbers from `first` on one by one.
    ///
    /// # Safety
    /// As a [`Kernel`] of half precision numbers.
    unsafe fn rest<F: Function<Half>>(input: *const u8, inout: *mut u8, first: usize, count: usize) {
        let (input, inout) = (input.cast::<Half>(), inout.cast::<Half>());
        for i in first..count {
            // SAFETY: `i` is below `count`, for which the caller vouches.
            unsafe {
                let result = F::call(input.add(i).read_unaligned(), inout.add(i).read_unaligned());
                inout.add(i).write_unaligned(result);
            }
        }
    }

    /// Adds, or multiplies.
    ///
    /// # Safety
    /// As a [`Kernel`] of half precision numbers; the processor has the instructions.
    #[target_feature(enable = "avx2,f16c")]
    unsafe fn arithmetic<const PRODUCT: bool>(input: *const u8, inout: *mut u8, count: usize) {
        let whole = count - count % STEP;
        for i in (0..whole).step_by(STEP) {
            // SAFETY: the step lies within the `count` numbers for which the caller vouches.
            unsafe {
                let (from, to) = (input.add(2 * i).cast(), inout.add(2 * i).cast::<__m128i>());
                let a = _mm256_cvtph_ps(_mm_loadu_si128(from));
                let b = _mm256_cvtph_ps(_mm_loadu_si128(to));
                let result = if PRODUCT { _mm256_mul_ps(a, b) } else { _mm256_add_ps(a, b) };
                _mm_storeu_si128(to, _mm256_cvtps_ph(result, _MM_FROUND_TO_NEAREST_INT));
            }
        }
        // SAFETY: the caller's promise.
        unsafe {
            if PRODUCT {
                rest::<Product>(input, inout, whole, count);
            } else {
                rest::<Sum>(input, inout, whole, count);
            }
        }
    }

    /// Takes the larger, or the smaller, as it is.
    ///
    /// # Safety
    /// As a [`Kernel`] of half precision numbers; the processor has the instructions.
    #[target_feature(enable = "avx2,f16c")]
    unsafe fn select<const LARGER: bool>(input: *const u8, inout: *mut u8, count: usize) {
        let whole = count - count % STEP;
        for i in (0..whole).step_by(STEP) {
            // SAFETY: the step lies within the `count` numbers for which the caller vouches.
            unsafe {
                let (from, to) = (input.add(2 * i).cast(), inout.add(2 * i).cast::<__m128i>());
                let (a, b) = (_mm_loadu_si128(from), _mm_loadu_si128(to));
                let (x, y) = (_mm256_cvtph_ps(a), _mm256_cvtph_ps(b));
                let less = if LARGER {
                    _mm256_cmp_ps::<_CMP_LT_OQ>(y, x)
                } else {
                    _mm256_cmp_ps::<_CMP_LT_OQ>(x, y)
                };
                let less = _mm256_castps_si256(less);
                let less = _mm_packs_epi32(_mm256_castsi256_si128(less), _mm256_extracti128_si256::<1>(less));
                _mm_storeu_si128(to, _mm_blendv_epi8(b, a, less));
            }
        }
        // SAFETY: the caller's promise.
        unsafe {
            if LARGER {
                rest::<Maximum>(input, inout, whole, count);
            } else {
                rest::<Minimum>(input, inout, whole, count);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x87 {
    use super::{Kernel, Kind};
    use core::arch::asm;

    /// The distance of two numbers: ten bytes and padding.
    const SIZE: usize = 16;

    pub fn kernel(kind: Kind) -> Option<Kernel> {
        Some(match kind {
            Kind::Sum => sum,
            Kind::Product => product,
            Kind::Maximum => select::<true>,
            Kind::Minimum => select::<false>,
            _ => return None,
        })
    }

    pub fn complex_kernel(kind: Kind) -> Option<Kernel> {
        Some(match kind {
            Kind::Sum => complex_sum,
            Kind::Product => complex_product,
            _ => return None,
        })
    }

    macro_rules! arithmetic {
        ($(#[$doc:meta])* $name:ident $instruction:literal) => {
            $(#[$doc])*
            ///
            /// # Safety
            /// As a [`Kernel`] of x87 numbers.
            unsafe fn $name(input: *const u8, inout: *mut u8, count: usize) {
                for i in 0..count {
                    // SAFETY: the number is one of those for which the caller vouches; the x87 stack is empty between
                    // functions, and empty again afterwards.
                    unsafe {
                        asm!(
                            "fld tbyte ptr [{a}]",
                            "fld tbyte ptr [{b}]",
                            $instruction,
                            "fstp tbyte ptr [{b}]",
                            a = in(reg) input.add(i * SIZE),
                            b = in(reg) inout.add(i * SIZE),
                            out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                            out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                            options(nostack),
                        );
                    }
                }
            }
        };
    }
    arithmetic! {
        /// Adds.
        sum "faddp st(1), st"
    }
    arithmetic! {
        /// Multiplies.
        product "fmulp st(1), st"
    }

    /// # Safety
    /// As a [`Kernel`] of complex x87 numbers.
    unsafe fn complex_sum(input: *const u8, inout: *mut u8, count: usize) {
        // SAFETY: the caller's promise; a complex number is two.
        unsafe { sum(input, inout, 2 * count) }
    }

    /// Multiplies complex numbers.
    ///
    /// # Safety
    /// As a [`Kernel`] of complex x87 numbers.
    unsafe fn complex_product(input: *const u8, inout: *mut u8, count: usize) {
        for i in 0..count {
            // SAFETY: as in `sum`. With a + bi at `a` and c + di at `b`: first ac - bd stays on the stack, then ad + bc,
            // and both are stored.
            unsafe {
                asm!(
                    "fld tbyte ptr [{a}]",
                    "fld tbyte ptr [{b}]",
                    "fmulp st(1), st",
                    "fld tbyte ptr [{a} + 16]",
                    "fld tbyte ptr [{b} + 16]",
                    "fmulp st(1), st",
                    // The assembler's Intel syntax calls the difference st(1) - st `fsubp`.
                    "fsubp st(1), st",
                    "fld tbyte ptr [{a}]",
                    "fld tbyte ptr [{b} + 16]",
                    "fmulp st(1), st",
                    "fld tbyte ptr [{a} + 16]",
                    "fld tbyte ptr [{b}]",
                    "fmulp st(1), st",
                    "faddp st(1), st",
                    "fstp tbyte ptr [{b} + 16]",
                    "fstp tbyte ptr [{b}]",
                    a = in(reg) input.add(2 * i * SIZE),
                    b = in(reg) inout.add(2 * i * SIZE),
                    out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                    out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                    options(nostack),
                );
            }
        }
    }

    /// Takes the larger, or the smaller, as it is.
    ///
    /// # Safety
    /// As a [`Kernel`] of x87 numbers.
    unsafe fn select<const LARGER: bool>(input: *const u8, inout: *mut u8, count: usize) {
        for i in 0..count {
            // SAFETY: the number is one of those for which the caller vouches.
            let (from, to) = unsafe { (input.add(i * SIZE), inout.add(i * SIZE)) };
            let (less, greater) = if LARGER { (to.cast_const(), from) } else { (from, to.cast_const()) };
            let is_less: u8;
            // SAFETY: as in `sum`. `fcomip` compares the number loaded last with the one before: greater if neither carry
            // (less, or not comparable) nor zero is set.
            unsafe {
                asm!(
                    "fld tbyte ptr [{less}]",
                    "fld tbyte ptr [{greater}]",
                    "fcomip st, st(1)",
                    "seta {is_less}",
                    "fstp st(0)",
                    less = in(reg) less,
                    greater = in(reg) greater,
                    is_less = out(reg_byte) is_less,
                    out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                    out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                    options(nostack, readonly),
                );
                if is_less != 0 {
                    core::ptr::copy_nonoverlapping(from, to, SIZE);
                }
            }
        }
    }
}
