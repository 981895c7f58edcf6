//! What an operation does at its target, whoever carries it out: the origin's thread where it sees the target's memory, or who
//! handles a message from another process.
//!
//! An accumulate function is atomic for each element of a predefined datatype. A short one is so as a whole, too, towards others of
//! several elements: the standard does not promise that, but programs count on it that put structures as bytes (`MPI_REPLACE`) and
//! get them so (`MPI_NO_OP`), because other libraries hold a lock meanwhile. Elements of 1, 2, 4 and 8
//! bytes at addresses that are multiples of them take the processor's atomic instructions (`words`); all others, a lock chosen by
//! the address (`stripes`). Which of both depends on size and address alone, so that different operations on an element exclude
//! each other.
//!
//! Data comes and goes *packed*, without gaps; the target's layout comes as the runs of bytes in packing order. So nothing here
//! asks whether there is a datatype for it in this process.
#![allow(unsafe_code)] // Reads and writes the memory of windows, for which callers vouch.

mod stripes;
mod words;

pub use stripes::Stripes;

use core::mem::MaybeUninit;
use weft_base::constants::MPI_DATATYPE_NULL;
use weft_datatype::{Basic, Datatype};
use weft_op::{Element, Op};
use weft_sync::ProcessGuard;

/// Which elements the data of an operation is made of.
pub struct Elements<'a>(Sequence<'a>);

/// How many bytes a short operation has at most.
const SHORT: u64 = 1 << 10;

/// In the code of elements: pairs without a name.
const PAIR: u32 = 1 << 31;

enum Sequence<'a> {
    /// Of one predefined type.
    Same(Basic),
    /// Of one predefined pair of value and index that has no name.
    Pairs(&'a Datatype),
    /// Of several predefined types; so many of each in turn, from the beginning after the last. Which ones are next, and how many
    /// of them are left.
    Mixed { parts: Vec<(Basic, u64)>, next: usize, left: u64 },
}

impl<'a> Elements<'a> {
    /// Returns the elements of a datatype.
    pub fn of(datatype: &'a Datatype) -> Self {
        if let Some(basic) = datatype.basic() {
            return Self(Sequence::Same(basic));
        }
        if datatype.as_unnamed_pair().is_some() {
            return Self(Sequence::Pairs(datatype));
        }
        let mut parts = Vec::new();
        datatype.for_each_basic(1, &mut |basic, number| {
            if number > 0 {
                parts.push((basic, number));
            }
        });
        let left = parts.first().map_or(0, |part| part.1);
        Self(Sequence::Mixed { parts, next: 0, left })
    }

    /// Returns the type of the elements that come next, and how many there are of it.
    fn next(&self) -> (Unit<'a>, u64) {
        match &self.0 {
            Sequence::Same(basic) => (Unit::Basic(*basic), u64::MAX),
            Sequence::Pairs(pair) => (Unit::Pair(pair), u64::MAX),
            Sequence::Mixed { parts, next, left } => (Unit::Basic(parts[*next].0), *left),
        }
    }

    /// Returns a code for the elements that come next, the bytes of one, and how many there are.
    pub(crate) fn coming(&self) -> (u32, u64, u64) {
        let (unit, most) = self.next();
        let code = match unit {
            Unit::Basic(basic) => basic.index() as u32,
            Unit::Pair(pair) => {
                let (value, index) = pair.as_unnamed_pair().expect("a pair");
                PAIR | value.index() as u32 | (index.index() as u32) << 8
            }
        };
        (code, unit.datatype().size(), most)
    }

    /// Returns the elements of codes, and how many there are of each in turn; nothing if they are none.
    pub(crate) fn of_codes(codes: &[(u32, u64)]) -> Option<Self> {
        let basic = |code: u32| Basic::all().find(|basic| basic.index() as u32 == code);
        let parts: Option<Vec<_>> =
            codes.iter().map(|&(code, number)| Some((basic(code)?, number)).filter(|_| number > 0)).collect();
        match parts?[..] {
            [] => None,
            [(basic, _)] => Some(Self(Sequence::Same(basic))),
            ref parts => Some(Self(Sequence::Mixed { left: parts[0].1, parts: parts.to_vec(), next: 0 })),
        }
    }

    /// Returns the pair without a name that a code stands for.
    pub(crate) fn pair_of(codes: &[(u32, u64)]) -> Option<Datatype> {
        let &[(code, _)] = codes else { return None };
        let basic = |code: u32| Basic::all().find(|basic| basic.index() as u32 == code & 0xff);
        let (value, index) = (basic(code)?, basic(code >> 8)?);
        let is_pair = code & PAIR != 0 && value.pair().is_none() && index.pair().is_none();
        is_pair.then(|| Datatype::unnamed_pair(value, index))
    }

    pub(crate) fn skip(&mut self, number: u64) {
        if let Sequence::Mixed { parts, next, left } = &mut self.0 {
            *left -= number;
            if *left == 0 {
                *next = (*next + 1) % parts.len();
                *left = parts[*next].1;
            }
        }
    }
}

/// The type of an element.
#[derive(Clone, Copy)]
enum Unit<'a> {
    Basic(Basic),
    Pair(&'a Datatype),
}

impl<'a> Unit<'a> {
    fn datatype(self) -> &'a Datatype {
        match self {
            Self::Basic(basic) => Datatype::of(basic),
            Self::Pair(pair) => pair,
        }
    }

    /// Returns the type if its elements are bytes that follow each other.
    fn simple(self) -> Option<Basic> {
        match self {
            Self::Basic(basic) if basic.pair().is_none() => Some(basic),
            _ => None,
        }
    }
}

/// An accumulate function in progress: it goes through the target's elements as their runs come.
pub struct Combination<'a> {
    op: &'a Op,
    elements: Elements<'a>,
    stripes: &'a Stripes,
    /// The elements to combine with, as far as they are not used yet.
    input: *const u8,
    /// Where the former values go; null if nobody wants them.
    result: *mut u8,
    /// Where the element begins of which this many bytes have come in runs.
    begun: (*mut u8, u64),
    /// Held if the operation is short and has several elements.
    _several: Option<ProcessGuard<'a>>,
}

impl<'a> Combination<'a> {
    /// Begins one of so many bytes. `input` has the packed elements, `result` has room for as many, or is null.
    ///
    /// # Safety
    /// `input` is valid for reads unless the operation is `MPI_NO_OP`, `result` is null or valid for writes, for as many bytes as
    /// will come in runs.
    pub unsafe fn new(
        op: &'a Op,
        elements: Elements<'a>,
        stripes: &'a Stripes,
        input: *const u8,
        result: *mut u8,
        bytes: u64,
    ) -> Self {
        let has_several = bytes > elements.next().0.datatype().size();
        let several = (has_several && bytes <= SHORT).then(|| stripes.lock_several());
        Self { op, elements, stripes, input, result, begun: (core::ptr::null_mut(), 0), _several: several }
    }

    /// Combines the elements of the target's next run of bytes.
    ///
    /// # Safety
    /// The bytes are valid for reads and writes; others use them at the same time by accumulate functions only. The operation is
    /// defined for the elements.
    pub unsafe fn run(&mut self, mut at: *mut u8, mut bytes: u64) {
        while bytes > 0 {
            let (unit, most) = self.elements.next();
            let size = unit.datatype().size();
            let done = match unit.simple() {
                Some(basic) => {
                    let count = (bytes / size).min(most);
                    // SAFETY: the caller's promise; elements without gaps are whole in a run.
                    unsafe { self.combine(unit, basic, at, count) };
                    self.elements.skip(count);
                    count * size
                }
                None => {
                    if self.begun.1 == 0 {
                        self.begun.0 = at;
                    }
                    let part = (size - self.begun.1).min(bytes);
                    self.begun.1 += part;
                    if self.begun.1 == size {
                        self.begun.1 = 0;
                        // SAFETY: the caller's promise; all bytes of the element have come.
                        unsafe { self.combine_one(unit.datatype(), self.begun.0) };
                        self.elements.skip(1);
                    }
                    part
                }
            };
            at = at.wrapping_add(done as usize);
            bytes -= done;
        }
    }

    /// Combines `count` elements without gaps.
    ///
    /// # Safety
    /// As [`Combination::run`].
    unsafe fn combine(&mut self, unit: Unit<'_>, basic: Basic, at: *mut u8, count: u64) {
        let size = basic.size();
        if let Some(element) = self.op.element(basic)
            && words::are_words(at, size)
        {
            // SAFETY: the caller's promises, of this function and of `new`.
            unsafe { words::combine(element, size, at, self.input, self.result, count) };
            self.advance(count * size);
            return;
        }
        for i in 0..count {
            // SAFETY: the caller's promise for each of the elements.
            unsafe { self.combine_one(unit.datatype(), at.wrapping_add((i * size) as usize)) };
        }
    }

    /// Combines one element under its lock.
    ///
    /// # Safety
    /// As [`Combination::run`].
    unsafe fn combine_one(&mut self, ty: &Datatype, at: *mut u8) {
        let size = ty.size();
        let mut former = Room::new(ty);
        let stripes = self.stripes;
        let _guard = stripes.lock(at);
        // SAFETY: the caller vouches for the element, and who began the combination for input and result; the rooms are as large
        // as an element with its gaps.
        unsafe {
            weft_datatype::copy(at, 1, ty, former.place(), 1, ty);
            if !self.result.is_null() {
                weft_datatype::pack(former.place(), 1, ty, 0, self.result, size);
            }
            if self.op.is_replace() {
                weft_datatype::unpack(at, 1, ty, 0, self.input, size);
            } else if !self.op.is_no_op() {
                let mut value = Room::new(ty);
                weft_datatype::unpack(value.place(), 1, ty, 0, self.input, size);
                self.op.apply(ty, MPI_DATATYPE_NULL, value.place(), former.place(), 1);
                weft_datatype::copy(former.place(), 1, ty, at, 1, ty);
            }
        }
        self.advance(size);
    }

    fn advance(&mut self, bytes: u64) {
        self.input = self.input.wrapping_add(bytes as usize);
        if !self.result.is_null() {
            self.result = self.result.wrapping_add(bytes as usize);
        }
    }
}

/// Room for an element as it lies in memory.
#[repr(C, align(16))]
struct Room(MaybeUninit<[u8; 128]>);

impl Room {
    /// # Panics
    /// If no predefined type is as large.
    fn new(ty: &Datatype) -> Self {
        assert!(ty.true_lb() == 0 && ty.true_extent() <= 128, "an element of {ty:?}");
        Self(MaybeUninit::zeroed())
    }

    fn place(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// Carries out `MPI_Fetch_and_op` on one element. Returns whether it did so by an instruction.
///
/// # Safety
/// As [`Combination::new`] and [`Combination::run`], of one element of type `basic` at `at`.
#[inline]
pub unsafe fn fetch_and_op(
    stripes: &Stripes,
    op: &Op,
    basic: Basic,
    size: u64,
    at: *mut u8,
    input: *const u8,
    result: *mut u8,
) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        match op.element(basic) {
            Some(element) if words::are_words(at, size) => {
                words::combine(element, size, at, input, result, 1);
                true
            }
            _ => {
                fetch_under_lock(stripes, op, basic, at, input, result);
                false
            }
        }
    }
}

/// Combines one element of `size` bytes with that at `at`, if the processor has an instruction for it; returns whether it has.
///
/// # Safety
/// As [`fetch_and_op`]; `result` may be null.
#[inline(always)]
pub(crate) unsafe fn one_word(
    element: Element,
    size: u64,
    at: *mut u8,
    input: *const u8,
    result: *mut u8,
) -> bool {
    let is_word = words::are_words(at, size);
    if is_word {
        // SAFETY: the caller's promise.
        unsafe { words::combine(element, size, at, input, result, 1) };
    }
    is_word
}

/// # Safety
/// As [`fetch_and_op`].
#[cold]
unsafe fn fetch_under_lock(
    stripes: &Stripes,
    op: &Op,
    basic: Basic,
    at: *mut u8,
    input: *const u8,
    result: *mut u8,
) {
    let ty = Datatype::of(basic);
    let (mut value, mut former) = (Room::new(ty), Room::new(ty));
    // SAFETY: the caller's promise: input and result are one element as it lies in memory, with its gaps.
    unsafe {
        if !op.is_no_op() {
            weft_datatype::pack(input, 1, ty, 0, value.place(), ty.size());
        }
        let elements = Elements(Sequence::Same(basic));
        Combination::new(op, elements, stripes, value.place(), former.place(), ty.size()).combine_one(ty, at);
        weft_datatype::unpack(result, 1, ty, 0, former.place(), ty.size());
    }
}

/// Carries out `MPI_Compare_and_swap` on one element of `size` bytes. Returns whether it did so by an instruction.
///
/// # Safety
/// `at` is valid for reads and writes, and others use it at the same time by accumulate functions only; `input` and `expected` are
/// valid for reads, `result` for writes.
#[inline]
pub unsafe fn compare_and_swap(
    stripes: &Stripes,
    size: u64,
    at: *mut u8,
    input: *const u8,
    expected: *const u8,
    result: *mut u8,
) -> bool {
    if words::are_words(at, size) {
        // SAFETY: the caller's promise.
        unsafe { words::compare_and_swap(size, at, input, expected, result) };
        return true;
    }
    let size = size as usize;
    let mut former = Room(MaybeUninit::uninit());
    let _guard = stripes.lock(at);
    // SAFETY: the caller vouches for the addresses; an element has at most 32 bytes.
    unsafe {
        core::ptr::copy_nonoverlapping(at, former.place(), size);
        let is_equal =
            core::slice::from_raw_parts(former.place(), size) == core::slice::from_raw_parts(expected, size);
        if is_equal {
            core::ptr::copy_nonoverlapping(input, at, size);
        }
        core::ptr::copy_nonoverlapping(former.place(), result, size);
    }
    false
}
