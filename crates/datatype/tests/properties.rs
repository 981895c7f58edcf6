//! Any generated type behaves as the byte-by-byte model of it. A failure prints its seed and the shrunk recipe; set
//! `PROPTEST_RNG_SEED` to replay it.
#![allow(unsafe_code)]

mod model;

use model::rebuild::rebuild;
use model::{BASICS, Model, Recipe};
use proptest::collection::vec;
use proptest::prelude::*;
use weft_datatype::{Class, Datatype, copy, pack, pack_external, unpack, unpack_external};
use weft_trials::rounds;

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
            (vec((0..4i64, 0..24i64), 17..100), old.clone()).prop_map(|(b, o)| spread(b, o)),
            (1..3i64, vec(0..3i64, 17..100), old.clone()).prop_map(|(n, gaps, o)| {
                let blocks = gaps.iter().scan(0, |at, gap| {
                    *at += n + gap;
                    Some(*at)
                });
                Recipe::IndexedBlock(n, blocks.collect(), o)
            }),
            (0..4i64, vec(-6..7i64, 0..20), old.clone()).prop_map(|(b, d, o)| Recipe::IndexedBlock(b, d, o)),
            (0..4i64, vec(-90..90i64, 0..6), old.clone())
                .prop_map(|(b, d, o)| Recipe::HindexedBlock(b, d, o)),
            vec((0..3i64, -60..60i64, inner), 0..4).prop_map(Recipe::Struct),
            (-40..40i64, -60..60i64, old.clone()).prop_map(|(l, e, o)| Recipe::Resized(l, e, o)),
            (vec(dimension(), 1..4), any::<bool>(), old.clone())
                .prop_map(|(d, c, o)| Recipe::Subarray(d, c, o)),
            (vec(distribution(), 1..4), any::<bool>(), old).prop_map(|(d, c, o)| Recipe::Darray(d, c, o)),
        ]
    })
}

/// Makes a long list of blocks that do not overlap if the old type has its bounds around its data.
fn spread(blocks: Vec<(i64, i64)>, old: Box<Recipe>) -> Recipe {
    let mut at = 0;
    let extent = old.make().1.extent();
    let placed = blocks.into_iter().map(|(length, gap)| {
        let here = at + gap;
        at = here + length * extent;
        (length, here)
    });
    Recipe::Hindexed(placed.collect(), old)
}

/// Returns few instances, or so many that runs of several are copied together.
fn instances() -> impl Strategy<Value = u64> {
    prop_oneof![3 => 0..4u64, 1 => 8..70u64]
}

fn dimension() -> impl Strategy<Value = (i64, i64, i64)> {
    (1..5i64).prop_flat_map(|size| {
        (1..=size).prop_flat_map(move |sub| (0..=size - sub).prop_map(move |start| (size, sub, start)))
    })
}

fn distribution() -> impl Strategy<Value = (i64, i32, i32, i32)> {
    (1..8i64, 1..4i32, 0..4i32).prop_flat_map(|(size, processes, block)| {
        (0..processes).prop_map(move |mine| (size, processes, mine, block))
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
    model.size() * count <= 5_000
}

/// Tells whether two elements share a byte: such a type may be sent but not received into.
fn overlaps(model: &Model, count: u64) -> bool {
    let mut bytes = model.bytes(count);
    bytes.sort_unstable();
    bytes.windows(2).any(|w| w[0] == w[1])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rounds(250), failure_persistence: None, ..ProptestConfig::default() })]

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
        recipe in recipe(), count in instances(), cuts in vec(1..40u64, 1..6), whole in any::<bool>()
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
        recipe in recipe(), count in instances(), cuts in vec(1..40u64, 1..6)
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
            // SAFETY: memory and input hold all `total` bytes, and `len` more than are done are not asked for.
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
    fn a_type_made_again_from_its_contents_is_equal(recipe in recipe(), large in any::<bool>()) {
        let (ty, model) = recipe.make();
        let Some(again) = rebuild(&ty) else { return Ok(()) };
        let mut again = again.unwrap();
        if large {
            // The same call in its form with large counts decodes to the same arguments.
            again = again.made_with_large_counts();
            again = rebuild(&again).unwrap().unwrap();
        }
        prop_assert_eq!((again.size(), again.lb(), again.extent()), (ty.size(), ty.lb(), ty.extent()));
        prop_assert_eq!((again.true_lb(), again.true_extent()), (ty.true_lb(), ty.true_extent()));
        prop_assert_eq!(again.envelope(), ty.envelope());
        prop_assert_eq!((again.elements(), again.external_size()), (ty.elements(), ty.external_size()));
        prop_assume!(small(&model, 2) && !overlaps(&model, 2));
        check_copy((&ty, &model, 2), (&again, &model, 2))?;
    }

    #[test]
    fn elements_are_counted_as_in_the_model(recipe in recipe(), bytes in 0..200u64) {
        let (ty, model) = recipe.make();
        let mut ends = vec![0];
        if model.size() > 0 {
            while *ends.last().unwrap() < bytes {
                let next = ends.last().unwrap() + model.entries[(ends.len() - 1) % model.entries.len()].1;
                ends.push(next);
            }
        }
        let expected = ends.iter().position(|end| *end == bytes).map(|n| n as u64);
        prop_assert_eq!(ty.elements_in(bytes), expected);
        if let Some(elements) = expected {
            prop_assert_eq!(ty.bytes_of(elements), Some(bytes));
        }
    }

    #[test]
    fn external32_is_the_model_and_comes_back(recipe in recipe(), count in instances()) {
        let (ty, model) = recipe.make();
        prop_assume!(small(&model, count) && !overlaps(&model, count));
        let mut memory = Memory::new(&model, count, noise);
        tidy_values(&mut memory, &model, count);
        let mut expected = Vec::new();
        for i in 0..count as i64 {
            for ((at, size), kind) in model.entries.iter().zip(&model.kinds) {
                let bytes: Vec<u8> =
                    (0..*size as i64).map(|b| *memory.at(at + i * model.extent() + b)).collect();
                expected.extend(model::external(*kind, &bytes));
            }
        }
        prop_assert_eq!(ty.external_size() * count, expected.len() as u64);
        let mut packed = vec![0u8; expected.len()];
        // SAFETY: the memory holds every byte of the type map, the output the external size.
        let n = unsafe { pack_external(memory.address(), count, &ty, packed.as_mut_ptr()) };
        prop_assert_eq!(n, expected.len() as u64);
        prop_assert_eq!(&packed, &expected);
        let mut back = Memory::new(&model, count, |_| 0xee);
        // SAFETY: packing has filled all of the external size, and the memory was made for the same type map.
        unsafe { unpack_external(back.address(), count, &ty, packed.as_ptr()) };
        let mut wanted = Memory::new(&model, count, |_| 0xee);
        for d in model.bytes(count) {
            *wanted.at(d) = *memory.at(d);
        }
        prop_assert_eq!(back.bytes, wanted.bytes);
    }

    #[test]
    fn copying_equals_packing_and_unpacking(
        first in recipe(), second in recipe(), same in any::<bool>(), counts in (instances(), instances())
    ) {
        let (src_ty, src) = first.make();
        let (dst_ty, dst) = if same { (src_ty.clone(), src.clone()) } else { second.make() };
        check_copy((&src_ty, &src, counts.0), (&dst_ty, &dst, counts.1))?;
    }
}

/// Makes the noise values that survive a narrower representation.
fn tidy_values(memory: &mut Memory, model: &Model, count: u64) {
    for i in 0..count as i64 {
        for ((at, _), kind) in model.entries.iter().zip(&model.kinds) {
            let at = at + i * model.extent();
            let bytes: Vec<u8> = match (kind.name(), kind.description().class) {
                ("MPI_LONG", _) => {
                    i64::from(*memory.at(at) as i8).wrapping_mul(7_777_777).to_ne_bytes().into()
                }
                (_, Class::Logical) => i32::from(*memory.at(at) & 1).to_ne_bytes().into(),
                // A normal number: exponent in range, the leading bit set, the unused bytes zero.
                ("MPI_LONG_DOUBLE", _) if cfg!(target_arch = "x86_64") => {
                    let noise = u128::from(*memory.at(at)) << 40 | u128::from(*memory.at(at + 1)) << 8;
                    (noise | 1 << 63 | 0x3ff0 << 64).to_ne_bytes().into()
                }
                _ => continue,
            };
            for (b, byte) in bytes.into_iter().enumerate() {
                *memory.at(at + b as i64) = byte;
            }
        }
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
