//! Trees of datatype constructors from arbitrary bytes: no call panics or overflows; what is made packs and unpacks to
//! the same bytes whole and in segments, byte by byte as its runs say; it copies to other types as packing and
//! unpacking would; it can be made again from its contents; its external32 form comes back.
#![no_main]

#[path = "../../crates/datatype/tests/model/rebuild.rs"]
mod rebuild;

use libfuzzer_sys::fuzz_target;
use rebuild::rebuild;
use weft_base::constants as c;
use weft_datatype::{Basic, Datatype, copy, for_each_run, pack, pack_external, unpack, unpack_external};

/// Types and memory up to these sizes are packed; larger ones are only made.
const MAX_BYTES: u64 = 1 << 16;
const MAX_SPAN: i64 = 1 << 20;

struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// Returns mostly small numbers, sometimes extreme ones.
    fn number(&mut self) -> i64 {
        match self.byte() {
            255 => i64::MAX >> (self.byte() & 63),
            254 => i64::MIN >> (self.byte() & 63),
            small => i64::from(small as i8) / 4,
        }
    }

    fn numbers(&mut self, length: usize) -> Vec<i64> {
        (0..length).map(|_| self.number()).collect()
    }
}

fn make(input: &mut Input<'_>, made: &[Datatype]) -> weft_base::Result<Datatype> {
    let basics: Vec<Basic> = Basic::all().collect();
    let old = |input: &mut Input<'_>| {
        let n = usize::from(input.byte());
        if n < 128 || made.is_empty() {
            Datatype::of(basics[n % basics.len()]).clone()
        } else {
            made[n % made.len()].clone()
        }
    };
    let first = old(input);
    let second = old(input);
    let length = match input.byte() {
        long @ 200.. => usize::from(long) - 120,
        short => usize::from(short % 8),
    };
    let (a, b) = (input.numbers(length), input.numbers(length));
    let order = if input.byte() & 1 == 0 { c::MPI_ORDER_C } else { c::MPI_ORDER_FORTRAN };
    match input.byte() % 13 {
        0 => Datatype::contiguous(input.number(), &first),
        1 => Datatype::vector(input.number(), input.number(), input.number(), &first),
        2 => Datatype::hvector(input.number(), input.number(), input.number(), &first),
        3 => Datatype::indexed(&a, &b, &first),
        4 => Datatype::hindexed(&a, &b, &first),
        5 => Datatype::indexed_block(input.number(), &b, &first),
        6 => Datatype::hindexed_block(input.number(), &b, &first),
        7 => {
            let types: Vec<_> = (0..length).map(|i| if i % 2 == 0 { first.clone() } else { second.clone() }).collect();
            Datatype::structure(&a, &b, &types)
        }
        8 => Datatype::resized(input.number(), input.number(), &first),
        9 => first.dup(),
        10 => Datatype::subarray(&a, &b, &input.numbers(length), order, &first),
        11 => {
            let ints = |v: Vec<i64>| v.into_iter().map(|n| n as i32).collect::<Vec<_>>();
            let distributions: Vec<i32> = a.iter().map(|n| c::MPI_DISTRIBUTE_NONE + (*n as i32 & 3)).collect();
            let (arguments, grid) = (ints(input.numbers(length)), ints(input.numbers(length)));
            let size = grid.iter().fold(1i32, |n, p| n.wrapping_mul(*p));
            Datatype::darray(size, input.number() as i32, &b, &distributions, &arguments, &grid, order, &first)
        }
        _ => Datatype::structure(&[1, 1], &[0, input.number()], &[first, second]),
    }
}

/// Memory in which every data byte of `count` instances lies, and the index of the buffer address in it.
fn memory(ty: &Datatype, count: u64) -> Option<(Vec<u8>, usize)> {
    let shift = i64::try_from(count.saturating_sub(1)).ok()?.checked_mul(ty.extent())?;
    let low = ty.true_lb().min(ty.true_lb().checked_add(shift)?).min(0);
    let end = ty.true_lb().checked_add(ty.true_extent())?;
    let high = end.max(end.checked_add(shift)?).max(0);
    let span = high.checked_sub(low).filter(|s| *s <= MAX_SPAN)?;
    Some(((0..=span as usize).map(|i| (i * 31) as u8).collect(), low.unsigned_abs() as usize))
}

fn check(ty: &Datatype, count: u64, cut: u64) {
    if ty.size().saturating_mul(count) > MAX_BYTES {
        return;
    }
    let Some((mut bytes, zero)) = memory(ty, count) else { return };
    let total = (ty.size() * count) as usize;
    let (mut whole, mut parts) = (vec![0u8; total], vec![0u8; total]);
    let address = bytes.as_mut_ptr().wrapping_add(zero);
    // SAFETY: `memory` holds every data byte around `address`; the packed buffers hold `total` bytes.
    unsafe {
        assert_eq!(pack(address, count, ty, 0, whole.as_mut_ptr(), u64::MAX), total as u64);
        let mut done = 0;
        while done < total as u64 {
            done += pack(address, count, ty, done, parts.as_mut_ptr().add(done as usize), cut.min(total as u64 - done));
        }
        assert_eq!(whole, parts);
        // What was packed from the memory changes nothing when it is unpacked to it.
        let before = bytes.clone();
        let address = bytes.as_mut_ptr().wrapping_add(zero);
        assert_eq!(unpack(address, count, ty, 0, whole.as_ptr(), total as u64), total as u64);
        assert_eq!(before, bytes);
        // The runs, byte by byte.
        let mut byte = 0;
        for_each_run(ty, count, |at, length| {
            for i in 0..length as i64 {
                assert_eq!(before[(zero as i64 + at + i) as usize], whole[byte]);
                byte += 1;
            }
        });
        assert_eq!(byte, total);
        // A type to itself elsewhere.
        let mut other = bytes.clone();
        let (from, to) = (bytes.as_ptr().wrapping_add(zero), other.as_mut_ptr().wrapping_add(zero));
        assert_eq!(copy(from, count, ty, to, count, ty), total as u64);
        assert_eq!(other, bytes);
    }
}

/// Copies between two types of any size and compares with packing and unpacking.
fn check_copy(from: &Datatype, to: &Datatype, counts: (u64, u64)) {
    let bytes = |ty: &Datatype, count: u64| ty.size().saturating_mul(count);
    let length = bytes(from, counts.0).min(bytes(to, counts.1));
    if bytes(from, counts.0) > MAX_BYTES || bytes(to, counts.1) > MAX_BYTES || overlaps(to, counts.1) {
        return;
    }
    let (Some((mut source, s)), Some((mut target, t))) = (memory(from, counts.0), memory(to, counts.1)) else {
        return;
    };
    let mut expected = target.clone();
    let mut packed = vec![0u8; length as usize];
    // SAFETY: `memory` holds every data byte around the addresses; the packed buffer holds `length` bytes.
    unsafe {
        let source = source.as_mut_ptr().wrapping_add(s);
        assert_eq!(pack(source, counts.0, from, 0, packed.as_mut_ptr(), length), length);
        let at = expected.as_mut_ptr().wrapping_add(t);
        assert_eq!(unpack(at, counts.1, to, 0, packed.as_ptr(), length), length);
        assert_eq!(copy(source, counts.0, from, target.as_mut_ptr().wrapping_add(t), counts.1, to), length);
    }
    assert_eq!(target, expected);
}

/// Tells whether two data bytes share a place: such a type must not be received into.
fn overlaps(ty: &Datatype, count: u64) -> bool {
    let mut runs = Vec::new();
    for_each_run(ty, count, |at, length| runs.push((at, length as i64)));
    runs.sort_unstable();
    runs.windows(2).any(|w| w[0].0 + w[0].1 > w[1].0)
}

fn check_again(ty: &Datatype) {
    let Some(again) = rebuild(ty) else { return };
    let again = again.expect("a call that succeeded succeeds again");
    let again = rebuild(&again.made_with_large_counts()).expect("derived").expect("as above");
    assert_eq!((again.size(), again.lb(), again.extent()), (ty.size(), ty.lb(), ty.extent()));
    assert_eq!((again.true_lb(), again.true_extent()), (ty.true_lb(), ty.true_extent()));
    assert_eq!((again.envelope(), again.elements()), (ty.envelope(), ty.elements()));
    let elements = ty.elements_in(ty.size() / 2);
    assert_eq!(again.elements_in(ty.size() / 2), elements);
    if let Some(elements) = elements.filter(|_| ty.size() > 0) {
        assert_eq!(ty.bytes_of(elements), Some(ty.size() / 2));
    }
}

/// What comes back from external32 has that external form: values that lose digits lose them once.
fn check_external(ty: &Datatype, count: u64) {
    if ty.size().saturating_mul(count) > MAX_BYTES || ty.external_size().saturating_mul(count) > MAX_BYTES {
        return;
    }
    let Some((mut bytes, zero)) = memory(ty, count) else { return };
    if overlaps(ty, count) {
        return;
    }
    let total = (ty.external_size() * count) as usize;
    let (mut first, mut second) = (vec![0u8; total], vec![0u8; total]);
    let address = bytes.as_mut_ptr().wrapping_add(zero);
    // SAFETY: `memory` holds every data byte around `address`; the packed buffers hold the external size.
    unsafe {
        assert_eq!(pack_external(address, count, ty, first.as_mut_ptr()), total as u64);
        assert_eq!(unpack_external(address, count, ty, first.as_ptr()), total as u64);
        assert_eq!(pack_external(address, count, ty, second.as_mut_ptr()), total as u64);
    }
    assert_eq!(first, second);
}

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let mut made = Vec::new();
    while !input.0.is_empty() && made.len() < 24 {
        if let Ok(ty) = make(&mut input, &made) {
            let count = match input.byte() {
                many @ 220.. => u64::from(many) - 200,
                few => u64::from(few % 4),
            };
            check(&ty, count, u64::from(input.byte()) + 1);
            check_again(&ty);
            check_external(&ty, count);
            if let Some(other) = made.get(usize::from(input.byte())) {
                check_copy(&ty, other, (count, u64::from(input.byte() % 16)));
            }
            made.push(ty);
        }
    }
});
