//! Any generated type behaves as the byte-by-byte model of it. A failure prints its seed and the shrunk recipe; set
//! `PROPTEST_RNG_SEED` to replay it.
#![allow(unsafe_code)]

mod model;

use model::{BASICS, Model, Recipe};
use proptest::collection::vec;
use proptest::prelude::*;
use weft_datatype::{Datatype, copy, pack, unpack};

fn recipe() -> impl Strategy<Value = Recipe> {
    let leaf = (0..BASICS.len()).prop_map(Recipe::Basic);
    leaf.prop_recursive(4, 12, 3, |inner| {
        let old = inner.clone().prop_map(Box::new);
        prop_oneof![
            old.clone().prop_map(Recipe::Dup),
            (0..5i64, old.clone()).prop_map(|(n, o)| Recipe::Contiguous(n, o)),
            (0..5i64, 0..4i64, -5..6i64, old.clone()).prop_map(|(n, b, s, o)| Recipe::Vector(n, b, s, o)),
            (0..5i64, 0..4i64, -90..90i64, old.clone()).prop_map(|(n, b, s, o)| Recipe::Hvector(n, b, s, o)),
            (vec((0..4i64, -6..7i64), 0..6), old.clone()).prop_map(|(b, o)| Recipe::Indexed(b, o)),
            (vec((0..4i64, -90..90i64), 0..20), old.clone()).prop_map(|(b, o)| Recipe::Hindexed(b, o)),
            (0..4i64, vec(-6..7i64, 0..20), old.clone()).prop_map(|(b, d, o)| Recipe::IndexedBlock(b, d, o)),
            (0..4i64, vec(-90..90i64, 0..6), old.clone())
                .prop_map(|(b, d, o)| Recipe::HindexedBlock(b, d, o)),
            vec((0..3i64, -60..60i64, inner), 0..4).prop_map(Recipe::Struct),
            (-40..40i64, -60..60i64, old.clone()).prop_map(|(l, e, o)| Recipe::Resized(l, e, o)),
            (vec(dimension(), 1..4), any::<bool>(), old).prop_map(|(d, c, o)| Recipe::Subarray(d, c, o)),
        ]
    })
}

fn dimension() -> impl Strategy<Value = (i64, i64, i64)> {
    (1..5i64).prop_flat_map(|size| {
        (1..=size).prop_flat_map(move |sub| (0..=size - sub).prop_map(move |start| (size, sub, start)))
    })
}

/// Memory around a buffer address from which all bytes of a type map can be reached.
struct Memory {
    bytes: Vec<u8>,
    zero: usize,
}

impl Memory {
    fn new(model: &Model, count: u64, fill: impl Fn(usize) -> u8) -> Self {
        let places = model.bytes(count);
        let low = places.iter().copied().min().unwrap_or(0).min(0);
        let high = places.iter().copied().max().unwrap_or(0).max(0);
        let length = (high - low + 1) as usize;
        Self { bytes: (0..length).map(fill).collect(), zero: (-low) as usize }
    }

    fn address(&mut self) -> *mut u8 {
        self.bytes.as_mut_ptr().wrapping_add(self.zero)
    }

    fn at(&mut self, displacement: i64) -> &mut u8 {
        &mut self.bytes[(self.zero as i64 + displacement) as usize]
    }
}

fn noise(i: usize) -> u8 {
    (i.wrapping_mul(0x9e37_79b9) >> 7) as u8
}

fn small(model: &Model, count: u64) -> bool {
    model.size() * count <= 20_000
}

/// Tells whether two elements share a byte: such a type may be sent but not received into.
fn overlaps(model: &Model, count: u64) -> bool {
    let mut bytes = model.bytes(count);
    bytes.sort_unstable();
    bytes.windows(2).any(|w| w[0] == w[1])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bounds_and_sizes_follow_the_definitions(recipe in recipe()) {
        let (ty, model) = recipe.make();
        prop_assert_eq!(ty.size(), model.size());
        prop_assert_eq!(ty.true_lb(), model.true_bounds().0);
        prop_assert_eq!(ty.true_extent(), model.true_bounds().1 - model.true_bounds().0);
        if !(model.entries.is_empty() && model.markers.is_none()) {
            prop_assert_eq!((ty.lb(), ty.extent()), (model.bounds().0, model.extent()));
        }
        prop_assert_eq!(ty.elements(), model.entries.len() as u64);
        let dense: Vec<i64> = (0..2 * model.size() as i64).collect();
        if ty.is_dense() {
            prop_assert_eq!(model.bytes(2), dense);
        }
    }

    #[test]
    fn packing_in_segments_equals_the_model(
        recipe in recipe(), count in 0..4u64, cuts in vec(1..40u64, 1..6), whole in any::<bool>()
    ) {
        let (ty, model) = recipe.make();
        prop_assume!(small(&model, count));
        let mut memory = Memory::new(&model, count, noise);
        let expected: Vec<u8> = model.bytes(count).iter().map(|d| *memory.at(*d)).collect();
        let total = expected.len() as u64;
        let mut packed = vec![0u8; expected.len() + 1];
        let (mut done, mut cut) = (0, 0);
        while done < total {
            let len = if whole { total } else { cuts[cut % cuts.len()] };
            // SAFETY: the memory holds every byte of the type map, and the rest of the output has room.
            let n = unsafe {
                let room = len.min(total - done);
                pack(memory.address(), count, &ty, done, packed.as_mut_ptr().add(done as usize), room)
            };
            prop_assert_eq!(n, len.min(total - done));
            done += n;
            cut += 1;
        }
        // SAFETY: nothing is left, so nothing may be written.
        prop_assert_eq!(unsafe { pack(memory.address(), count, &ty, total, packed.as_mut_ptr(), 9) }, 0);
        packed.pop();
        prop_assert_eq!(packed, expected);
    }

    #[test]
    fn unpacking_in_segments_writes_the_data_and_nothing_else(
        recipe in recipe(), count in 0..4u64, cuts in vec(1..40u64, 1..6)
    ) {
        let (ty, model) = recipe.make();
        prop_assume!(small(&model, count) && !overlaps(&model, count));
        let mut expected = Memory::new(&model, count, |_| 0xee);
        let total = model.size() * count;
        let input: Vec<u8> = (0..total as usize).map(noise).collect();
        for (i, d) in model.bytes(count).into_iter().enumerate() {
            *expected.at(d) = input[i];
        }
        let mut memory = Memory::new(&model, count, |_| 0xee);
        let (mut done, mut cut) = (0, 0);
        while done < total {
            let len = cuts[cut % cuts.len()].min(total - done);
            // SAFETY: as above.
            let n = unsafe {
                unpack(memory.address(), count, &ty, done, input.as_ptr().add(done as usize), len)
            };
            prop_assert_eq!(n, len);
            done += n;
            cut += 1;
        }
        prop_assert_eq!(memory.bytes, expected.bytes);
    }

    #[test]
    fn copying_equals_packing_and_unpacking(
        first in recipe(), second in recipe(), same in any::<bool>(), counts in (0..5u64, 0..5u64)
    ) {
        let (src_ty, src) = first.make();
        let (dst_ty, dst) = if same { (src_ty.clone(), src.clone()) } else { second.make() };
        check_copy((&src_ty, &src, counts.0), (&dst_ty, &dst, counts.1))?;
    }
}

fn check_copy(
    (src_ty, src, src_count): (&Datatype, &Model, u64),
    (dst_ty, dst, dst_count): (&Datatype, &Model, u64),
) -> Result<(), TestCaseError> {
    prop_assume!(small(src, src_count) && small(dst, dst_count) && !overlaps(dst, dst_count));
    let mut from = Memory::new(src, src_count, noise);
    let mut to = Memory::new(dst, dst_count, |_| 0xee);
    let mut expected = Memory::new(dst, dst_count, |_| 0xee);
    let pairs: Vec<_> = src.bytes(src_count).into_iter().zip(dst.bytes(dst_count)).collect();
    for (s, d) in &pairs {
        *expected.at(*d) = *from.at(*s);
    }
    // SAFETY: both memories hold every byte of their type maps.
    let n = unsafe { copy(from.address(), src_count, src_ty, to.address(), dst_count, dst_ty) };
    prop_assert_eq!(n, pairs.len() as u64);
    prop_assert_eq!(to.bytes, expected.bytes);
    Ok(())
}
