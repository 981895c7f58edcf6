//! Reduction operations: the predefined ones and the user's.
//!
//! A predefined operation is a table of kernels by element type, so applying it costs one load and one indirect call.
//! The user's functions and the kernels work on addresses the caller vouches for; hence the unsafe code.
#![allow(unsafe_code)]

mod element;
mod kernels;
mod level;
mod number;
#[cfg(test)]
mod same_bits;
mod special;

pub use element::Element;

use core::ffi::{c_int, c_void};
use kernels::{Combination, Kernel};
use std::sync::LazyLock;
use weft_base::abi::{self, Callback, Count};
use weft_base::constants as c;
use weft_base::{Error, Result};
use weft_datatype::{Basic, Datatype};

/// The predefined operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Sum,
    Minimum,
    Maximum,
    Product,
    BitAnd,
    BitOr,
    BitXor,
    LogicalAnd,
    LogicalOr,
    LogicalXor,
    MinimumLocation,
    MaximumLocation,
    Replace,
    NoOp,
}

const PREDEFINED: [(Kind, abi::Op, &str); 14] = [
    (Kind::Sum, c::MPI_SUM, "MPI_SUM"),
    (Kind::Minimum, c::MPI_MIN, "MPI_MIN"),
    (Kind::Maximum, c::MPI_MAX, "MPI_MAX"),
    (Kind::Product, c::MPI_PROD, "MPI_PROD"),
    (Kind::BitAnd, c::MPI_BAND, "MPI_BAND"),
    (Kind::BitOr, c::MPI_BOR, "MPI_BOR"),
    (Kind::BitXor, c::MPI_BXOR, "MPI_BXOR"),
    (Kind::LogicalAnd, c::MPI_LAND, "MPI_LAND"),
    (Kind::LogicalOr, c::MPI_LOR, "MPI_LOR"),
    (Kind::LogicalXor, c::MPI_LXOR, "MPI_LXOR"),
    (Kind::MinimumLocation, c::MPI_MINLOC, "MPI_MINLOC"),
    (Kind::MaximumLocation, c::MPI_MAXLOC, "MPI_MAXLOC"),
    (Kind::Replace, c::MPI_REPLACE, "MPI_REPLACE"),
    (Kind::NoOp, c::MPI_NO_OP, "MPI_NO_OP"),
];

/// `MPI_User_function`
type Small = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut abi::Datatype);
/// `MPI_User_function_c`
type Large = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut Count, *mut abi::Datatype);

/// What carries out an operation of another language: it gets the word that came with it, the two vectors, their length and
/// the datatype's handle.
pub type Foreign = unsafe extern "C" fn(usize, *mut c_void, *mut c_void, Count, abi::Datatype);

/// A reduction operation. Cloning is cheap.
#[derive(Clone)]
pub struct Op(Inner);

#[derive(Clone)]
enum Inner {
    Predefined {
        kind: Kind,
        name: &'static str,
        kernels: &'static [Option<Kernel>; 256],
        combinations: &'static [Option<Combination>; 256],
    },
    Small {
        function: Small,
        commutative: bool,
    },
    Large {
        function: Large,
        commutative: bool,
    },
    Foreign {
        function: Foreign,
        word: usize,
        commutative: bool,
    },
}

/// Handles of predefined operations lie below this distance from the first.
const HANDLES: usize = 32;

static OPS: LazyLock<[Option<Op>; HANDLES]> = LazyLock::new(|| {
    let level = level::Level::chosen();
    let mut ops = [const { None }; HANDLES];
    for (kind, handle, name) in PREDEFINED {
        let (mut kernels, mut combinations) = (Box::new([None; 256]), Box::new([None; 256]));
        for basic in Basic::all() {
            kernels[basic.index()] = kernel(level, kind, basic);
            combinations[basic.index()] = kernels::combination(level, kind, basic);
        }
        let (kernels, combinations) = (Box::leak(kernels), Box::leak(combinations));
        let op = Op(Inner::Predefined { kind, name, kernels, combinations });
        ops[handle.0 - c::MPI_OP_NULL.0] = Some(op);
    }
    ops
});

/// Returns the kernel of an operation on a predefined type at a level, or nothing when the standard does not define it.
fn kernel(level: level::Level, kind: Kind, basic: Basic) -> Option<Kernel> {
    special::kernel(level, kind, kernels::class(basic), basic.description().repr)
        .or_else(|| kernels::general(level, kind, basic))
}

impl Op {
    /// Returns the predefined operation of a handle, or nothing when the handle is not a predefined one.
    #[inline]
    pub fn predefined(handle: abi::Op) -> Option<&'static Op> {
        OPS.get(handle.0.wrapping_sub(c::MPI_OP_NULL.0))?.as_ref()
    }

    /// Creates a user's operation; `large` says that the function takes its length as `MPI_Count *`.
    ///
    /// # Safety
    /// `function` is a function of type `MPI_User_function` (or `MPI_User_function_c`) that lives as long as the
    /// operation.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for a null pointer.
    pub unsafe fn user(function: Callback, commute: bool, large: bool) -> Result<Op> {
        if function.is_null() {
            return Err(Error::new(c::MPI_ERR_ARG, "user_fn is a null pointer; pass a function"));
        }
        // SAFETY: non-null and of that type by this function's contract.
        Ok(Op(unsafe {
            if large {
                let function = core::mem::transmute::<Callback, Large>(function);
                Inner::Large { function, commutative: commute }
            } else {
                let function = core::mem::transmute::<Callback, Small>(function);
                Inner::Small { function, commutative: commute }
            }
        }))
    }

    /// Creates an operation of another language.
    ///
    /// # Safety
    /// `function` may be called with `word` as long as the operation lives.
    pub unsafe fn foreign(function: Foreign, word: usize, commute: bool) -> Op {
        Op(Inner::Foreign { function, word, commutative: commute })
    }

    /// Tells whether operands may be exchanged.
    #[inline]
    pub fn is_commutative(&self) -> bool {
        match self.0 {
            Inner::Predefined { kind, .. } => !matches!(kind, Kind::Replace | Kind::NoOp),
            Inner::Small { commutative, .. }
            | Inner::Large { commutative, .. }
            | Inner::Foreign { commutative, .. } => commutative,
        }
    }

    /// Tells whether this is a predefined operation.
    #[inline]
    pub fn is_predefined(&self) -> bool {
        matches!(self.0, Inner::Predefined { .. })
    }

    /// Checks that a reduction may apply the operation to the datatype.
    ///
    /// # Errors
    /// `MPI_ERR_OP` for a combination the standard does not define.
    #[inline]
    pub fn check(&self, ty: &Datatype) -> Result {
        let Inner::Predefined { kernels, kind, .. } = self.0 else { return Ok(()) };
        match ty.as_predefined() {
            Some(basic) if kernels[basic.index()].is_some() => Ok(()),
            None if kernels::locates(kind) && ty.as_unnamed_pair().is_some() => Ok(()),
            _ => Err(self.undefined(ty)),
        }
    }

    /// Tells what is beyond the standard in applying the operation to the datatype, which `check` has accepted.
    #[cold]
    pub fn beyond_the_standard(&self, ty: &Datatype) -> Option<String> {
        let Inner::Predefined { kind, name, .. } = self.0 else { return None };
        let basic = ty.as_predefined().filter(|&basic| kernels::is_beyond(kind, basic))?;
        Some(format!(
            "{name} on {}: the standard does not define it, and another MPI may refuse it",
            basic.name()
        ))
    }

    /// Checks that an accumulate function may apply the operation to the element kind of the datatype.
    ///
    /// # Errors
    /// `MPI_ERR_OP` for a user's operation and for a combination the standard does not define.
    pub fn check_accumulate(&self, ty: &Datatype) -> Result {
        match (&self.0, ty.basic()) {
            (Inner::Predefined { kind: Kind::Replace | Kind::NoOp, .. }, _) => Ok(()),
            (Inner::Predefined { kernels, .. }, Some(basic)) if kernels[basic.index()].is_some() => Ok(()),
            (Inner::Predefined { kind, .. }, None)
                if kernels::locates(*kind) && ty.as_unnamed_pair().is_some() =>
            {
                Ok(())
            }
            _ => Err(self.undefined(ty)),
        }
    }

    #[cold]
    fn undefined(&self, ty: &Datatype) -> Error {
        let Inner::Predefined { kind, name, .. } = self.0 else {
            let message = "op is a user-defined operation; accumulate functions take predefined ones only";
            return Error::new(c::MPI_ERR_OP, message);
        };
        let message = match ty.as_predefined() {
            _ if matches!(kind, Kind::Replace | Kind::NoOp) => {
                format!("op is {name}, which is for accumulate functions only, not for reductions")
            }
            Some(basic) => format!("op is {name}, which is not defined for {}", basic.name()),
            None => format!(
                "op is {name}, which is not defined for a derived datatype; make an operation with MPI_Op_create"
            ),
        };
        Error::new(c::MPI_ERR_OP, message)
    }

    /// Computes `inout[i] = input[i] op inout[i]` for `count` elements. `handle` is what a user's function gets to
    /// see as the datatype.
    ///
    /// # Safety
    /// `check` (or `check_accumulate`) accepted `ty`; both buffers hold `count` elements of it, `inout` may be
    /// written, and they do not overlap.
    ///
    /// # Panics
    /// If the operation is not defined for the type.
    #[inline]
    pub unsafe fn apply(
        &self,
        ty: &Datatype,
        handle: abi::Datatype,
        input: *const u8,
        inout: *mut u8,
        count: u64,
    ) {
        if let (Inner::Predefined { kernels, .. }, Some(basic)) = (&self.0, ty.as_predefined())
            && let Some(kernel) = kernels[basic.index()]
        {
            // SAFETY: the caller's promise; the kernel belongs to the element type.
            return unsafe { kernel(input, inout, count as usize) };
        }
        // SAFETY: the caller's promise.
        unsafe { self.apply_other(ty, handle, input, inout, count) }
    }

    /// Computes `out[i] = first[i] op second[i]` for `count` elements, if the operation has a loop for that on the type. Returns
    /// whether it has.
    ///
    /// # Safety
    /// `check` accepted `ty`; all three buffers hold `count` elements of it, `out` may be written and overlaps none of the others.
    #[inline]
    pub unsafe fn combine(
        &self,
        ty: &Datatype,
        first: *const u8,
        second: *const u8,
        out: *mut u8,
        count: u64,
    ) -> bool {
        if let (Inner::Predefined { combinations, .. }, Some(basic)) = (&self.0, ty.as_predefined())
            && let Some(combination) = combinations[basic.index()]
        {
            // SAFETY: the caller's promise; the loop belongs to the element type.
            unsafe { combination(first, second, out, count as usize) };
            return true;
        }
        false
    }

    /// Applies what is not one kernel on dense elements.
    ///
    /// # Safety
    /// As [`Op::apply`].
    unsafe fn apply_other(
        &self,
        ty: &Datatype,
        mut handle: abi::Datatype,
        input: *const u8,
        inout: *mut u8,
        count: u64,
    ) {
        let input_void = input.cast_mut().cast::<c_void>();
        match &self.0 {
            Inner::Predefined { kind: Kind::NoOp, .. } => {}
            Inner::Predefined { kind: Kind::Replace, .. } => {
                // SAFETY: the caller's promise.
                unsafe { weft_datatype::copy(input, count, ty, inout, count, ty) };
            }
            Inner::Predefined { name, kind, kernels, .. } => {
                if let Some(pair) = ty.as_unnamed_pair() {
                    let index_at = ty.true_extent() as u64 - pair.1.size();
                    let shape =
                        kernels::PairShape { index_at: index_at as usize, extent: ty.extent() as usize };
                    // SAFETY: the caller's promise; the pair is of that shape.
                    if unsafe { kernels::locate(*kind, pair, &shape, input, inout, count as usize) } {
                        return;
                    }
                }
                let kernel = ty.basic().and_then(|basic| kernels[basic.index()].map(|k| (k, basic)));
                let Some((kernel, basic)) = kernel else {
                    panic!("{name} applied to {ty:?}, which check() refuses")
                };
                let element = Datatype::of(basic);
                weft_datatype::for_each_run(ty, count, |offset, bytes| {
                    let n = (bytes / element.size()) as usize;
                    let (from, to) =
                        (input.wrapping_offset(offset as isize), inout.wrapping_offset(offset as isize));
                    // SAFETY: the run belongs to the elements for which the caller vouches.
                    unsafe { kernel(from, to, n) };
                });
            }
            Inner::Small { function, .. } => {
                // Lengths beyond `int` go to the function in several calls.
                let mut done = 0;
                while done < count {
                    let n = (count - done).min(c_int::MAX as u64);
                    let mut length = n as c_int;
                    let at = (done as i64).wrapping_mul(ty.extent()) as isize;
                    // SAFETY: the user's function gets what MPI_Op_create promises it.
                    unsafe {
                        function(
                            input_void.wrapping_byte_offset(at),
                            inout.cast::<c_void>().wrapping_byte_offset(at),
                            &mut length,
                            &mut handle,
                        );
                    }
                    done += n;
                }
            }
            Inner::Large { function, .. } => {
                let mut length = count as Count;
                if count > 0 {
                    // SAFETY: MPI_Op_create_c promises the user's function the same with a large count.
                    unsafe { function(input_void, inout.cast(), &mut length, &mut handle) };
                }
            }
            Inner::Foreign { function, word, .. } => {
                if count > 0 {
                    // SAFETY: who created the operation vouches for the function and its word.
                    unsafe { function(*word, input_void, inout.cast(), count as Count, handle) };
                }
            }
        }
    }
}
