//! All kernels of all levels against the general loop of the baseline, one element at a time.

use crate::kernel;
use crate::kernels::{combination, general};
use crate::level::Level;
use crate::{Kind, PREDEFINED};
use proptest::prelude::*;
use weft_datatype::{Basic, Class, Repr};

/// The most elements of a run: several steps of the widest loop and a rest.
const MOST: usize = 150;
/// The largest element.
const LARGEST: usize = 32;

/// Numbers of one representation within an element.
fn parts(repr: Repr, element: &mut [u8]) -> impl Iterator<Item = &mut [u8]> {
    let size = match repr {
        Repr::F16 => 2,
        Repr::F32 => 4,
        Repr::F64 => 8,
        _ => 16,
    };
    element.chunks_exact_mut(size)
}

/// Makes what is in memory a number: of 80 bits not all patterns are.
fn make_valid(basic: Basic, data: &mut [u8]) {
    let is_extended = cfg!(target_arch = "x86_64") && basic.description().repr == Repr::LongDouble;
    if is_extended && basic.description().class != Class::Pair {
        for number in data.chunks_exact_mut(16) {
            let has_exponent = number[8] != 0 || number[9] & 0x7f != 0;
            number[7] = number[7] & 0x7f | if has_exponent { 0x80 } else { 0 };
            number[10..].fill(0);
        }
    }
}

/// Writes all that is not a number in one way: which one comes out of two is not defined.
fn unify_nans(basic: Basic, data: &mut [u8]) {
    if !matches!(basic.description().class, Class::Floating | Class::Complex) {
        return;
    }
    let repr = basic.description().repr;
    for number in parts(repr, data) {
        let word = |range: core::ops::Range<usize>| {
            number[range].iter().rev().fold(0u64, |w, &b| w << 8 | u64::from(b))
        };
        let is_nan = match repr {
            Repr::F16 => word(0..2) & 0x7fff > 0x7c00,
            Repr::F32 => f32::from_bits(word(0..4) as u32).is_nan(),
            Repr::F64 => f64::from_bits(word(0..8)).is_nan(),
            Repr::LongDouble if cfg!(target_arch = "x86_64") => {
                number[10..].fill(0);
                let word = |range: core::ops::Range<usize>| {
                    number[range].iter().rev().fold(0u64, |w, &b| w << 8 | u64::from(b))
                };
                word(8..10) & 0x7fff == 0x7fff && word(0..8) << 1 != 0
            }
            _ => word(8..16) << 1 > 0x7fff << 49 || word(8..16) << 1 == 0x7fff << 49 && word(0..8) != 0,
        };
        if is_nan {
            number.fill(0xff);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn every_level_gives_the_bits_of_the_scalar_loop(
        input in proptest::collection::vec(any::<u8>(), MOST * LARGEST),
        inout in proptest::collection::vec(any::<u8>(), MOST * LARGEST),
        count in 0..=MOST,
        shift in 0usize..4,
    ) {
        for (kind, basic) in PREDEFINED.iter().flat_map(|p| Basic::all().map(move |basic| (p.0, basic))) {
            let Some(scalar) = general(Level::Baseline, kind, basic) else { continue };
            let size = basic.size() as usize;
            let extent = weft_datatype::Datatype::of(basic).extent() as usize;
            assert!(size <= extent && extent <= LARGEST, "{}", basic.name());
            let bytes = count * extent;
            let (mut from, mut to) = (input[..bytes].to_vec(), inout[..bytes].to_vec());
            make_valid(basic, &mut from);
            make_valid(basic, &mut to);
            let mut right = to.clone();
            for i in 0..count {
                call(scalar, &from[i * extent..], &mut right[i * extent..], 1);
            }
            unify_nans(basic, &mut right);
            for level in Level::here() {
                let kernel = kernel(level, kind, basic).expect("defined at every level");
                // Not aligned to anything.
                let mut place = vec![0; shift + bytes];
                place[shift..].copy_from_slice(&to);
                call(kernel, &from, &mut place[shift..], count);
                unify_nans(basic, &mut place[shift..]);
                prop_assert!(place[shift..] == right, "{kind:?} of {count} {} at {level:?}", basic.name());
                let Some(combination) = combination(level, kind, basic) else { continue };
                place[shift..].fill(0x55);
                // SAFETY: all three hold `count` elements, and the processor has the loop's instructions.
                unsafe { combination(from.as_ptr(), to.as_ptr(), place[shift..].as_mut_ptr(), count) };
                unify_nans(basic, &mut place[shift..]);
                prop_assert!(place[shift..] == right, "{kind:?} of {count} {} at {level:?}, elsewhere", basic.name());
            }
        }
    }
}

#[test]
fn halves_of_all_patterns_are_treated_alike() {
    let basic =
        Basic::all().find(|b| b.description().repr == Repr::F16 && b.description().class == Class::Floating);
    let Some(basic) = basic else { return };
    let all: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
    for kind in [Kind::Sum, Kind::Product, Kind::Maximum, Kind::Minimum] {
        for step in [1, 77, 4099] {
            // An odd step meets all patterns.
            let pattern = |i: u16| i.wrapping_mul(step | 1).wrapping_add(step);
            let mut right: Vec<u8> = (0..=u16::MAX).flat_map(|i| pattern(i).to_le_bytes()).collect();
            let others = right.clone();
            call(general(Level::Baseline, kind, basic).expect("defined"), &all, &mut right, 1 << 16);
            unify_nans(basic, &mut right);
            for level in Level::here() {
                let mut place = others.clone();
                call(kernel(level, kind, basic).expect("defined"), &all, &mut place, 1 << 16);
                unify_nans(basic, &mut place);
                assert!(place == right, "{kind:?} at {level:?}");
            }
        }
    }
}

fn call(kernel: crate::kernels::Kernel, input: &[u8], inout: &mut [u8], count: usize) {
    // SAFETY: both slices hold `count` elements, and the processor has the kernel's instructions.
    unsafe { kernel(input.as_ptr(), inout.as_mut_ptr(), count) }
}
