//! The loops of the predefined operations, one function for each operation and representation.
//!
//! They take raw addresses, which may be unaligned (packed data), and leave vectorising to the compiler, which does it once
//! for each [`Level`].
#![allow(unsafe_code)]

use crate::Kind;
use crate::level::Level;
use crate::number::{Bits, Complex, Half, LongDouble, Number, Quadruple, ValueIndex};
use weft_base::constants as c;
use weft_datatype::{Basic, Class, Repr};

/// Computes `inout[i] = input[i] op inout[i]` for `count` elements.
///
/// # Safety
/// Both point to `count` elements of the kernel's type, `inout` also for writes; they do not overlap.
pub(crate) type Kernel = unsafe fn(input: *const u8, inout: *mut u8, count: usize);

/// Computes `out[i] = first[i] op second[i]` for `count` elements.
///
/// # Safety
/// All point to `count` elements of the kernel's type, `out` also for writes; `out` overlaps neither of the others.
pub(crate) type Combination = unsafe fn(first: *const u8, second: *const u8, out: *mut u8, count: usize);

pub(crate) trait Function<T> {
    fn call(input: T, inout: T) -> T;
}

/// # Safety
/// As a [`Kernel`] of type `T`.
#[inline(always)]
unsafe fn each<T: Copy, F: Function<T>>(input: *const u8, inout: *mut u8, count: usize) {
    let (input, inout) = (input.cast::<T>(), inout.cast::<T>());
    for i in 0..count {
        // SAFETY: `i` is below `count`, for which the caller vouches.
        unsafe {
            let result = F::call(input.add(i).read_unaligned(), inout.add(i).read_unaligned());
            inout.add(i).write_unaligned(result);
        }
    }
}

/// # Safety
/// As a [`Kernel`] of type `T`.
unsafe fn baseline<T: Copy, F: Function<T>>(input: *const u8, inout: *mut u8, count: usize) {
    // SAFETY: the caller's promise.
    unsafe { each::<T, F>(input, inout, count) }
}

/// # Safety
/// As a [`Kernel`] of type `T`; the processor has the instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,f16c")]
unsafe fn avx2<T: Copy, F: Function<T>>(input: *const u8, inout: *mut u8, count: usize) {
    // SAFETY: the caller's promise.
    unsafe { each::<T, F>(input, inout, count) }
}

/// # Safety
/// As a [`Kernel`] of type `T`; the processor has the instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn avx512<T: Copy, F: Function<T>>(input: *const u8, inout: *mut u8, count: usize) {
    // SAFETY: the caller's promise.
    unsafe { each::<T, F>(input, inout, count) }
}

/// Returns the loop of a function at a level, which the processor has.
fn at<T: Copy, F: Function<T>>(level: Level) -> Kernel {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => avx2::<T, F>,
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => avx512::<T, F>,
        _ => baseline::<T, F>,
    }
}

/// # Safety
/// As a [`Combination`] of type `T`.
#[inline(always)]
unsafe fn combine_each<T: Copy, F: Function<T>>(
    first: *const u8,
    second: *const u8,
    out: *mut u8,
    count: usize,
) {
    let (first, second, out) = (first.cast::<T>(), second.cast::<T>(), out.cast::<T>());
    for i in 0..count {
        // SAFETY: `i` is below `count`, for which the caller vouches.
        unsafe {
            let result = F::call(first.add(i).read_unaligned(), second.add(i).read_unaligned());
            out.add(i).write_unaligned(result);
        }
    }
}

/// # Safety
/// As a [`Combination`] of type `T`.
unsafe fn combine_baseline<T: Copy, F: Function<T>>(
    first: *const u8,
    second: *const u8,
    out: *mut u8,
    count: usize,
) {
    // SAFETY: the caller's promise.
    unsafe { combine_each::<T, F>(first, second, out, count) }
}

/// # Safety
/// As a [`Combination`] of type `T`; the processor has the instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,f16c")]
unsafe fn combine_avx2<T: Copy, F: Function<T>>(
    first: *const u8,
    second: *const u8,
    out: *mut u8,
    count: usize,
) {
    // SAFETY: the caller's promise.
    unsafe { combine_each::<T, F>(first, second, out, count) }
}

/// # Safety
/// As a [`Combination`] of type `T`; the processor has the instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn combine_avx512<T: Copy, F: Function<T>>(
    first: *const u8,
    second: *const u8,
    out: *mut u8,
    count: usize,
) {
    // SAFETY: the caller's promise.
    unsafe { combine_each::<T, F>(first, second, out, count) }
}

/// Returns the loop of a function at a level, which the processor has, that puts results elsewhere.
fn combination_at<T: Copy, F: Function<T>>(level: Level) -> Combination {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => combine_avx2::<T, F>,
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => combine_avx512::<T, F>,
        _ => combine_baseline::<T, F>,
    }
}

macro_rules! functions {
    ($($name:ident<$bound:ident>($a:ident, $b:ident) $body:expr;)*) => {$(
        pub(crate) struct $name;
        impl<T: $bound> Function<T> for $name {
            #[inline(always)]
            fn call($a: T, $b: T) -> T {
                $body
            }
        }
    )*};
}

functions! {
    Sum<Number>(a, b) a.add(b);
    Product<Number>(a, b) a.multiply(b);
    Maximum<Number>(a, b) if b.less(a) { a } else { b };
    Minimum<Number>(a, b) if a.less(b) { a } else { b };
    BitAnd<Bits>(a, b) a & b;
    BitOr<Bits>(a, b) a | b;
    BitXor<Bits>(a, b) a ^ b;
    LogicalAnd<Bits>(a, b) T::from_truth(a.truth() & b.truth());
    LogicalOr<Bits>(a, b) T::from_truth(a.truth() | b.truth());
    LogicalXor<Bits>(a, b) T::from_truth(a.truth() ^ b.truth());
}

struct ComplexSum;
impl<T: Number> Function<Complex<T>> for ComplexSum {
    #[inline(always)]
    fn call(a: Complex<T>, b: Complex<T>) -> Complex<T> {
        a.sum(b)
    }
}

struct ComplexProduct;
impl<T: Number> Function<Complex<T>> for ComplexProduct {
    #[inline(always)]
    fn call(a: Complex<T>, b: Complex<T>) -> Complex<T> {
        a.product(b)
    }
}

#[inline(always)]
fn lower_index<V: Copy, I: Number>(a: ValueIndex<V, I>, b: ValueIndex<V, I>) -> ValueIndex<V, I> {
    if b.index.less(a.index) { b } else { a }
}

struct MaximumLocation;
impl<V: Number, I: Number> Function<ValueIndex<V, I>> for MaximumLocation {
    #[inline(always)]
    fn call(a: ValueIndex<V, I>, b: ValueIndex<V, I>) -> ValueIndex<V, I> {
        if b.value.less(a.value) {
            a
        } else if a.value.less(b.value) {
            b
        } else {
            lower_index(a, b)
        }
    }
}

struct MinimumLocation;
impl<V: Number, I: Number> Function<ValueIndex<V, I>> for MinimumLocation {
    #[inline(always)]
    fn call(a: ValueIndex<V, I>, b: ValueIndex<V, I>) -> ValueIndex<V, I> {
        if a.value.less(b.value) {
            a
        } else if b.value.less(a.value) {
            b
        } else {
            lower_index(a, b)
        }
    }
}

fn arithmetic<T: Number>((level, kind): (Level, Kind)) -> Option<Kernel> {
    Some(match kind {
        Kind::Sum => at::<T, Sum>(level),
        Kind::Product => at::<T, Product>(level),
        Kind::Maximum => at::<T, Maximum>(level),
        Kind::Minimum => at::<T, Minimum>(level),
        _ => return None,
    })
}

fn complex<T: Number>((level, kind): (Level, Kind)) -> Option<Kernel> {
    Some(match kind {
        Kind::Sum => at::<Complex<T>, ComplexSum>(level),
        Kind::Product => at::<Complex<T>, ComplexProduct>(level),
        _ => return None,
    })
}

fn bitwise<T: Bits>((level, kind): (Level, Kind)) -> Option<Kernel> {
    Some(match kind {
        Kind::BitAnd => at::<T, BitAnd>(level),
        Kind::BitOr => at::<T, BitOr>(level),
        Kind::BitXor => at::<T, BitXor>(level),
        _ => return None,
    })
}

fn logical<T: Bits>((level, kind): (Level, Kind)) -> Option<Kernel> {
    Some(match kind {
        Kind::LogicalAnd => at::<T, LogicalAnd>(level),
        Kind::LogicalOr => at::<T, LogicalOr>(level),
        Kind::LogicalXor => at::<T, LogicalXor>(level),
        _ => return None,
    })
}

fn location<V: Number, I: Number>((level, kind): (Level, Kind)) -> Option<Kernel> {
    Some(match kind {
        Kind::MaximumLocation => at::<ValueIndex<V, I>, MaximumLocation>(level),
        Kind::MinimumLocation => at::<ValueIndex<V, I>, MinimumLocation>(level),
        _ => return None,
    })
}

macro_rules! by_integer {
    ($function:ident, $repr:expr, $kind:expr) => {
        match $repr {
            Repr::I8 => $function::<i8>($kind),
            Repr::I16 => $function::<i16>($kind),
            Repr::I32 => $function::<i32>($kind),
            Repr::I64 => $function::<i64>($kind),
            Repr::I128 => $function::<i128>($kind),
            Repr::U8 => $function::<u8>($kind),
            Repr::U16 => $function::<u16>($kind),
            Repr::U32 => $function::<u32>($kind),
            Repr::U64 => $function::<u64>($kind),
            _ => None,
        }
    };
}

macro_rules! by_float {
    ($function:ident, $repr:expr, $kind:expr) => {
        match $repr {
            Repr::F16 => $function::<Half>($kind),
            Repr::F32 => $function::<f32>($kind),
            Repr::F64 => $function::<f64>($kind),
            Repr::LongDouble => $function::<LongDouble>($kind),
            Repr::F128 => $function::<Quadruple>($kind),
            _ => None,
        }
    };
}

/// Returns the group of a predefined type, where `MPI_CHAR` is a `signed char`: the standard gives it no operations, but others
/// do, and programs rely on that.
pub(crate) fn class(basic: Basic) -> Class {
    if basic.handle() == c::MPI_CHAR { Class::CInteger } else { basic.description().class }
}

/// Tells whether the standard has no such operation on the type, though there is a loop for it.
pub(crate) fn is_beyond(kind: Kind, basic: Basic) -> bool {
    let is_logical = matches!(kind, Kind::LogicalAnd | Kind::LogicalOr | Kind::LogicalXor);
    basic.handle() == c::MPI_CHAR || is_logical && basic.description().class == Class::MultiLanguage
}

/// Returns the general loop of an operation on a predefined type at a level, if it is defined.
pub(crate) fn general(level: Level, kind: Kind, basic: Basic) -> Option<Kernel> {
    let (repr, kind) = (basic.description().repr, (level, kind));
    match class(basic) {
        Class::CInteger | Class::MultiLanguage => by_integer!(arithmetic, repr, kind)
            .or_else(|| by_integer!(bitwise, repr, kind))
            .or_else(|| by_integer!(logical, repr, kind)),
        Class::FortranInteger => {
            by_integer!(arithmetic, repr, kind).or_else(|| by_integer!(bitwise, repr, kind))
        }
        Class::Floating => by_float!(arithmetic, repr, kind),
        Class::Complex => by_float!(complex, repr, kind),
        Class::Logical => by_integer!(logical, repr, kind),
        Class::Byte => by_integer!(bitwise, repr, kind),
        Class::Pair => match basic.handle() {
            c::MPI_FLOAT_INT => location::<f32, i32>(kind),
            c::MPI_DOUBLE_INT => location::<f64, i32>(kind),
            c::MPI_LONG_INT => location::<i64, i32>(kind),
            c::MPI_2INT | c::MPI_2INTEGER => location::<i32, i32>(kind),
            c::MPI_SHORT_INT => location::<i16, i32>(kind),
            c::MPI_LONG_DOUBLE_INT => location::<LongDouble, i32>(kind),
            c::MPI_2REAL => location::<f32, f32>(kind),
            c::MPI_2DOUBLE_PRECISION => location::<f64, f64>(kind),
            _ => None,
        },
        Class::None => None,
    }
}

/// Returns the loop of an operation on a predefined type at a level that puts results elsewhere, where there is one: for the
/// arithmetic of the processor's own numbers.
pub(crate) fn combination(level: Level, kind: Kind, basic: Basic) -> Option<Combination> {
    fn of<T: Number>((level, kind): (Level, Kind)) -> Option<Combination> {
        Some(match kind {
            Kind::Sum => combination_at::<T, Sum>(level),
            Kind::Product => combination_at::<T, Product>(level),
            Kind::Maximum => combination_at::<T, Maximum>(level),
            Kind::Minimum => combination_at::<T, Minimum>(level),
            _ => return None,
        })
    }
    let repr = basic.description().repr;
    match class(basic) {
        Class::CInteger | Class::FortranInteger | Class::MultiLanguage => {
            by_integer!(of, repr, (level, kind))
        }
        Class::Floating => match repr {
            Repr::F32 => of::<f32>((level, kind)),
            Repr::F64 => of::<f64>((level, kind)),
            _ => None,
        },
        _ => None,
    }
}

/// How one instance of an unnamed pair lies in memory.
pub(crate) struct PairShape {
    /// Displacement of the index.
    pub index_at: usize,
    /// Distance of the next instance.
    pub extent: usize,
}

/// Applies a location operation to pairs of a value and an index of any kind. Returns false for other operations and
/// kinds, having done nothing.
///
/// # Safety
/// Both point to `count` pairs of that shape, `inout` also for writes; they do not overlap.
pub(crate) unsafe fn locate(
    kind: Kind,
    (value, index): (Basic, Basic),
    shape: &PairShape,
    input: *const u8,
    inout: *mut u8,
    count: usize,
) -> bool {
    let larger = match kind {
        Kind::MaximumLocation => true,
        Kind::MinimumLocation => false,
        _ => return false,
    };
    let Some(index_order) = by_integer!(order, index.description().repr, ()) else { return false };
    let repr = value.description().repr;
    let Some(value_order) = by_integer!(order, repr, ()).or_else(|| by_float!(order, repr, ())) else {
        return false;
    };
    let (value_size, index_size) = (value.size() as usize, index.size() as usize);
    for i in 0..count {
        let (from, to) = (input.wrapping_add(i * shape.extent), inout.wrapping_add(i * shape.extent));
        let (from_index, to_index) = (from.wrapping_add(shape.index_at), to.wrapping_add(shape.index_at));
        // SAFETY: pair `i` is one of those the caller vouches for; value and index lie within it.
        unsafe {
            let (less, greater) = (value_order(from, to), value_order(to, from));
            let equal = !less && !greater;
            let better = if larger { greater } else { less };
            if better {
                core::ptr::copy_nonoverlapping(from, to, value_size);
            }
            if better || (equal && index_order(from_index, to_index)) {
                core::ptr::copy_nonoverlapping(from_index, to_index, index_size);
            }
        }
    }
    true
}

/// Returns the function that tells whether one number in memory is less than another.
fn order<T: Number>(_: ()) -> Option<unsafe fn(*const u8, *const u8) -> bool> {
    unsafe fn less<T: Number>(a: *const u8, b: *const u8) -> bool {
        // SAFETY: the caller passes the addresses of two numbers of this type.
        unsafe { a.cast::<T>().read_unaligned().less(b.cast::<T>().read_unaligned()) }
    }
    Some(less::<T>)
}

/// Tells whether [`locate`] serves an operation on an unnamed pair; those exist for fitting kinds only.
pub(crate) fn locates(kind: Kind) -> bool {
    matches!(kind, Kind::MaximumLocation | Kind::MinimumLocation)
}
