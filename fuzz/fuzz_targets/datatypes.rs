//! Trees of datatype constructors from arbitrary bytes: no call panics or overflows, and what is made packs and
//! unpacks to the same bytes whole and in segments.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weft_base::constants as c;
use weft_datatype::{Basic, Datatype, copy, pack, unpack};

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
    let length = usize::from(input.byte() % 8);
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
        // A type to itself elsewhere.
        let mut other = bytes.clone();
        let (from, to) = (bytes.as_ptr().wrapping_add(zero), other.as_mut_ptr().wrapping_add(zero));
        assert_eq!(copy(from, count, ty, to, count, ty), total as u64);
        assert_eq!(other, bytes);
    }
}

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let mut made = Vec::new();
    while !input.0.is_empty() && made.len() < 24 {
        if let Ok(ty) = make(&mut input, &made) {
            check(&ty, u64::from(input.byte() % 4), u64::from(input.byte()) + 1);
            made.push(ty);
        }
    }
});
