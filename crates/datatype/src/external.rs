//! The "external32" representation (chapter 14): big-endian, IEEE, with the standard's sizes, without padding.
//!
//! Data is converted in the packed order of its basic elements, a buffer at a time. The module works on addresses that
//! the caller of the MPI function vouches for; that is why it needs unsafe code.
#![allow(unsafe_code)]

use crate::basic::{Basic, Class, Repr};
use crate::copy::{pack, unpack};
use crate::datatype::Datatype;
use weft_base::constants as c;

/// Bytes of native data that are converted at a time; more than any element has.
const BUFFER: usize = 16 << 10;

impl Basic {
    /// Returns the number of bytes of an element in the "external32" representation.
    pub fn external_size(self) -> u64 {
        match (self.handle(), self.pair()) {
            (c::MPI_LONG | c::MPI_UNSIGNED_LONG, _) => 4,
            (c::MPI_WCHAR, _) => 2,
            (_, Some((value, index, _))) => value.external_size() + index.external_size(),
            _ => self.size(),
        }
    }
}

/// How a number of an element goes to and from its external form.
#[derive(Clone, Copy)]
enum Conversion {
    /// Byte by byte.
    Same,
    /// The bytes in reverse order.
    Swap,
    /// A truth value: zero or not.
    Truth,
    /// 8 bytes, of which the low 4 are kept, with the sign.
    Signed,
    /// 8 bytes, of which the low 4 are kept.
    Unsigned,
    /// 4 bytes, of which the low 2 are kept.
    Character,
    /// x87 extended precision to binary128.
    Extended,
}

impl Conversion {
    fn of(basic: Basic) -> Self {
        let description = basic.description();
        match (basic.handle(), description.class, description.repr) {
            (c::MPI_LONG, ..) => Self::Signed,
            (c::MPI_UNSIGNED_LONG, ..) => Self::Unsigned,
            (c::MPI_WCHAR, ..) => Self::Character,
            (_, Class::Logical, _) => Self::Truth,
            (_, _, Repr::LongDouble) if cfg!(target_arch = "x86_64") => Self::Extended,
            _ if cfg!(target_endian = "big") => Self::Same,
            (_, _, Repr::I8 | Repr::U8 | Repr::Opaque) => Self::Same,
            _ => Self::Swap,
        }
    }
}

/// The numbers of an element: of what native and external size, and how they are converted.
#[derive(Clone, Copy)]
struct Form {
    native: usize,
    external: usize,
    /// Numbers in one element.
    parts: usize,
    conversion: Conversion,
}

impl Form {
    fn of(basic: Basic) -> Self {
        let parts = if basic.description().class == Class::Complex { 2 } else { 1 };
        Self {
            native: basic.size() as usize / parts,
            external: basic.external_size() as usize / parts,
            parts,
            conversion: Conversion::of(basic),
        }
    }

    /// Converts numbers to the external form.
    fn encode(self, native: &[u8], external: &mut [u8]) {
        let pairs = native.chunks_exact(self.native).zip(external.chunks_exact_mut(self.external));
        match self.conversion {
            Conversion::Same => external.copy_from_slice(native),
            Conversion::Swap => swap(self.native, native, external),
            Conversion::Truth => pairs.for_each(|(from, to)| {
                to.fill(0);
                to[to.len() - 1] = u8::from(from.iter().any(|byte| *byte != 0));
            }),
            Conversion::Signed => pairs.for_each(|(from, to)| {
                let value = i64::from_ne_bytes(array(from));
                let sign = if value < 0 { 1 << 31 } else { 0 };
                to.copy_from_slice(&(value as u32 & 0x7fff_ffff | sign).to_be_bytes());
            }),
            Conversion::Unsigned => pairs.for_each(|(from, to)| {
                to.copy_from_slice(&(u64::from_ne_bytes(array(from)) as u32).to_be_bytes());
            }),
            Conversion::Character => pairs.for_each(|(from, to)| {
                to.copy_from_slice(&(u32::from_ne_bytes(array(from)) as u16).to_be_bytes());
            }),
            Conversion::Extended => pairs.for_each(|(from, to)| {
                to.copy_from_slice(&widen(u128::from_ne_bytes(array(from))).to_be_bytes());
            }),
        }
    }

    /// Converts numbers from the external form.
    fn decode(self, external: &[u8], native: &mut [u8]) {
        let pairs = external.chunks_exact(self.external).zip(native.chunks_exact_mut(self.native));
        match self.conversion {
            Conversion::Same => native.copy_from_slice(external),
            Conversion::Swap => swap(self.native, external, native),
            Conversion::Truth => pairs.for_each(|(from, to)| {
                let one = if cfg!(target_endian = "big") { to.len() - 1 } else { 0 };
                to.fill(0);
                to[one] = u8::from(from.iter().any(|byte| *byte != 0));
            }),
            Conversion::Signed => pairs.for_each(|(from, to)| {
                to.copy_from_slice(&i64::from(i32::from_be_bytes(array(from))).to_ne_bytes());
            }),
            Conversion::Unsigned => pairs.for_each(|(from, to)| {
                to.copy_from_slice(&u64::from(u32::from_be_bytes(array(from))).to_ne_bytes());
            }),
            Conversion::Character => pairs.for_each(|(from, to)| {
                to.copy_from_slice(&u32::from(u16::from_be_bytes(array(from))).to_ne_bytes());
            }),
            Conversion::Extended => pairs.for_each(|(from, to)| {
                to.copy_from_slice(&narrow(u128::from_be_bytes(array(from))).to_ne_bytes());
            }),
        }
    }
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("chunks of this size")
}

/// Reverses the bytes of each number of `size` bytes.
fn swap(size: usize, from: &[u8], to: &mut [u8]) {
    fn each<const N: usize>(from: &[u8], to: &mut [u8]) {
        for (from, to) in from.as_chunks::<N>().0.iter().zip(to.as_chunks_mut::<N>().0) {
            *to = *from;
            to.reverse();
        }
    }
    match size {
        2 => each::<2>(from, to),
        4 => each::<4>(from, to),
        8 => each::<8>(from, to),
        _ => each::<16>(from, to),
    }
}

const EXPONENT: u128 = 0x7fff;
/// Fraction bits of binary128, and by how many they are more than those of the x87 format.
const FRACTION: u32 = 112;
const EXTRA: u32 = 49;
const QUIET: u128 = 1 << 111;

/// Turns an x87 extended-precision number (the low 80 bits) into binary128: the same value, as it has more digits.
fn widen(bits: u128) -> u128 {
    let (sign, mut exponent) = (bits >> 79 & 1, bits >> 64 & EXPONENT);
    let significand = bits & 0xffff_ffff_ffff_ffff;
    let leading = significand >> 63 == 1;
    let mut fraction = (significand & 0x7fff_ffff_ffff_ffff) << EXTRA;
    if exponent == 0 && leading {
        exponent = 1;
    } else if exponent != 0 && !leading {
        // No value of the hardware: an invalid operand.
        (exponent, fraction) = (EXPONENT, QUIET);
    }
    sign << 127 | exponent << FRACTION | fraction
}

/// Turns a binary128 number into the nearest x87 extended-precision number, ties to even.
fn narrow(bits: u128) -> u128 {
    let (sign, exponent) = (bits >> 127, bits >> FRACTION & EXPONENT);
    let fraction = bits & ((1 << FRACTION) - 1);
    let assemble = |exponent: u128, significand: u128| sign << 79 | exponent << 64 | significand;
    if exponent == EXPONENT {
        let nan = if fraction == 0 { 0 } else { fraction >> EXTRA | 1 << 62 };
        return assemble(EXPONENT, 1 << 63 | nan);
    }
    let leading = if exponent == 0 { 0 } else { 1 << FRACTION };
    let (kept, rest) = ((leading | fraction) >> EXTRA, fraction & ((1 << EXTRA) - 1));
    let half = 1 << (EXTRA - 1);
    let up = rest > half || (rest == half && kept & 1 == 1);
    let significand = kept + u128::from(up);
    if significand >> 64 != 0 {
        return assemble(exponent + 1, 1 << 63);
    }
    // The largest number without a leading one may have been rounded to one that has it.
    assemble(if exponent == 0 { significand >> 63 } else { exponent }, significand)
}

/// Packs `count` instances at `buf` in the "external32" representation; returns how many bytes were written.
///
/// # Safety
/// The data bytes of `count` instances of `ty` relative to `buf` are valid for reads, `out` for writes of their
/// [external size](Datatype::external_size), and they do not overlap.
pub unsafe fn pack_external(buf: *const u8, count: u64, ty: &Datatype, out: *mut u8) -> u64 {
    let mut native = [0u8; BUFFER];
    let (mut position, mut start, mut end) = (0, 0, 0);
    let mut written = 0;
    ty.for_each_basic(count, &mut |basic, number| {
        let form = Form::of(basic);
        let mut left = number as usize * form.parts;
        while left > 0 {
            if end - start < form.native {
                native.copy_within(start..end, 0);
                (start, end) = (0, end - start);
                let room = (BUFFER - end) as u64;
                // SAFETY: the caller's promise; the buffer has that room behind `end`.
                let filled = unsafe { pack(buf, count, ty, position, native.as_mut_ptr().add(end), room) };
                (position, end) = (position + filled, end + filled as usize);
            }
            let n = left.min((end - start) / form.native);
            // SAFETY: the external forms of all elements lie one behind the other in `out`.
            let target = unsafe { std::slice::from_raw_parts_mut(out.add(written), n * form.external) };
            form.encode(&native[start..start + n * form.native], target);
            (start, written, left) = (start + n * form.native, written + n * form.external, left - n);
        }
    });
    written as u64
}

/// Unpacks `count` instances to `buf` from the "external32" representation at `input`; returns how many bytes were
/// used.
///
/// # Safety
/// As [`pack_external`], with reads and writes exchanged.
pub unsafe fn unpack_external(buf: *mut u8, count: u64, ty: &Datatype, input: *const u8) -> u64 {
    let mut native = [0u8; BUFFER];
    let (mut position, mut end) = (0, 0);
    let mut used = 0;
    // SAFETY: the caller's promise; the buffer holds `end` bytes.
    let flush = |position: u64, native: &[u8]| unsafe {
        position + unpack(buf, count, ty, position, native.as_ptr(), native.len() as u64)
    };
    ty.for_each_basic(count, &mut |basic, number| {
        let form = Form::of(basic);
        let mut left = number as usize * form.parts;
        while left > 0 {
            if BUFFER - end < form.native {
                position = flush(position, &native[..end]);
                end = 0;
            }
            let n = left.min((BUFFER - end) / form.native);
            // SAFETY: the external forms of all elements lie one behind the other at `input`.
            let source = unsafe { std::slice::from_raw_parts(input.add(used), n * form.external) };
            form.decode(source, &mut native[end..end + n * form.native]);
            (end, used, left) = (end + n * form.native, used + n * form.external, left - n);
        }
    });
    flush(position, &native[..end]);
    used as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An x87 number of sign, exponent field and significand.
    fn extended(sign: u128, exponent: u128, significand: u64) -> u128 {
        sign << 79 | exponent << 64 | u128::from(significand)
    }

    #[test]
    fn extended_precision_survives_the_way_out_and_back() {
        let significands = [1 << 63, u64::MAX, 1 << 63 | 1, 0xdead_beef_dead_beef];
        for (exponent, significand) in
            [1, 2, 16383, 16384, 32766].into_iter().flat_map(|e| significands.map(|s| (e, s)))
        {
            for sign in [0, 1] {
                let number = extended(sign, exponent, significand);
                assert_eq!(narrow(widen(number)), number, "{number:x}");
            }
        }
        for number in [extended(0, 0, 0), extended(1, 0, 0), extended(0, 0, 1), extended(1, 0, (1 << 63) - 1)]
        {
            assert_eq!(narrow(widen(number)), number, "{number:x}");
        }
    }

    #[test]
    fn binary128_has_the_known_bits_and_rounds_to_even() {
        let one = 0x3fff << FRACTION;
        assert_eq!(widen(extended(0, 16383, 1 << 63)), one);
        assert_eq!(widen(extended(1, 0x7fff, 1 << 63)), 0xffff << FRACTION);
        let x87_one = extended(0, 16383, 1 << 63);
        assert_eq!(narrow(one + (1 << 48)), x87_one, "a tie goes to the even neighbour below");
        assert_eq!(narrow(one + (1 << 48) + 1), x87_one + 1);
        assert_eq!(narrow(one + (3 << 48)), x87_one + 2, "a tie goes to the even neighbour above");
        // The largest fraction rounds up to the next power of two, the largest number to infinity.
        assert_eq!(narrow(one + (1 << FRACTION) - 1), extended(0, 16384, 1 << 63));
        assert_eq!(narrow((0x7fff << FRACTION) - 1), extended(0, 0x7fff, 1 << 63));
        assert_eq!(narrow((1 << FRACTION) - 1), extended(0, 1, 1 << 63));
        let nan = narrow((0x7fff << FRACTION) + 1);
        assert!(nan & (1 << 62) != 0 && nan >> 64 == 0x7fff);
        assert_eq!(widen(extended(0, 5, 1)) >> 111, 0xffff, "an unnormal number becomes a quiet NaN");
    }
}
