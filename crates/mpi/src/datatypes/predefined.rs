//! Predefined datatypes by what they hold: by size, by precision and range, by value and index. Those without a name are made once
//! per rank.

use crate::arguments::check;
use crate::process::Process;
use core::ffi::c_int;
use std::sync::Arc;
use weft_base::abi::{self};
use weft_base::arguments::Out;
use weft_base::constants::*;
use weft_base::{Error, Result};
use weft_datatype::{Basic, Class, Datatype};

/// `MPI_Type_match_size`
///
/// # Errors
/// `MPI_ERR_ARG` when there is no such type.
pub fn type_match_size(typeclass: c_int, size: c_int, datatype: Out<abi::Datatype>) -> Result {
    Process::current()?;
    check::output(datatype, "datatype")?;
    let found = match (typeclass, size) {
        (MPI_TYPECLASS_INTEGER, 1) => MPI_INTEGER1,
        (MPI_TYPECLASS_INTEGER, 2) => MPI_INTEGER2,
        (MPI_TYPECLASS_INTEGER, 4) => MPI_INTEGER4,
        (MPI_TYPECLASS_INTEGER, 8) => MPI_INTEGER8,
        (MPI_TYPECLASS_INTEGER, 16) => MPI_INTEGER16,
        (MPI_TYPECLASS_REAL, 2) => MPI_REAL2,
        (MPI_TYPECLASS_REAL, 4) => MPI_REAL4,
        (MPI_TYPECLASS_REAL, 8) => MPI_REAL8,
        (MPI_TYPECLASS_REAL, 16) => MPI_REAL16,
        (MPI_TYPECLASS_COMPLEX, 4) => MPI_COMPLEX4,
        (MPI_TYPECLASS_COMPLEX, 8) => MPI_COMPLEX8,
        (MPI_TYPECLASS_COMPLEX, 16) => MPI_COMPLEX16,
        (MPI_TYPECLASS_COMPLEX, 32) => MPI_COMPLEX32,
        _ => {
            let text = format!(
                "typeclass is {typeclass} and size is {size}; no datatype is so, classes are MPI_TYPECLASS_INTEGER, \
                 _REAL and _COMPLEX"
            );
            return Err(Error::new(MPI_ERR_ARG, text));
        }
    };
    datatype.set(found);
    Ok(())
}

/// `MPI_Type_get_value_index`: a named pair type if there is one, else an unnamed one for any value that can be compared
/// and any integer index.
///
/// # Errors
/// `MPI_ERR_TYPE`, `MPI_ERR_ARG`
pub fn type_get_value_index(
    value_type: abi::Datatype,
    index_type: abi::Datatype,
    pair_type: Out<abi::Datatype>,
) -> Result {
    let process = Process::current()?;
    check::output(pair_type, "pair_type")?;
    let named = |datatype: &Datatype| datatype.named_handle().and_then(Basic::from_handle);
    let value = named(&*process.datatype(value_type)?);
    let index = named(&*process.datatype(index_type)?);
    pair_type.set(MPI_DATATYPE_NULL);
    let (Some(value), Some(index)) = (value, index) else { return Ok(()) };
    let is_pair = |b: &Basic| b.pair().is_some_and(|(v, i, _)| v == value && i == index);
    if let Some(found) = Basic::all().find(is_pair) {
        pair_type.set(found.handle());
        return Ok(());
    }
    let integer = |b: Basic| {
        matches!(b.description().class, Class::CInteger | Class::FortranInteger | Class::MultiLanguage)
    };
    if integer(index) && (integer(value) || value.description().class == Class::Floating) {
        let key = [MPI_COMBINER_VALUE_INDEX, value.index() as c_int, index.index() as c_int];
        unnamed(key, || Datatype::unnamed_pair(value, index), pair_type)?;
    }
    Ok(())
}

/// Returns the one unnamed type of a rank for these arguments of an `MPI_Type_create_f90_` call.
fn f90(kind: abi::Datatype, combiner: c_int, arguments: &[c_int], newtype: Out<abi::Datatype>) -> Result {
    let key = [combiner, arguments[0], arguments.get(1).copied().unwrap_or(0)];
    let basic = Basic::from_handle(kind).expect("a predefined handle");
    unnamed(key, || Datatype::unnamed(basic, combiner, arguments.to_vec()), newtype)
}

/// Returns which of the kinds single, double and quadruple has that precision and exponent range.
fn real_kind(p: c_int, r: c_int) -> Result<usize> {
    // Decimal digits and exponent ranges of gfortran's real kinds 4, 8, 10 and 16; kind 10 shares the size of 16.
    let p = if p == MPI_UNDEFINED { 0 } else { p };
    let r = if r == MPI_UNDEFINED { 0 } else { r };
    match (p, r) {
        (..0, _) | (_, ..0) => {}
        (..=6, ..=37) => return Ok(0),
        (..=15, ..=307) => return Ok(1),
        (..=18, ..=4931) if cfg!(target_arch = "x86_64") => return Ok(2),
        (..=33, ..=4931) => return Ok(3),
        _ => {}
    }
    Err(Error::new(
        MPI_ERR_ARG,
        format!("p is {p} and r is {r}; no kind of the Fortran compiler is so precise and wide"),
    ))
}

/// `MPI_Type_create_f90_real`
///
/// # Errors
/// `MPI_ERR_ARG` when no kind has that precision and range.
pub fn type_create_f90_real(p: c_int, r: c_int, newtype: Out<abi::Datatype>) -> Result {
    defined(p, r)?;
    let kinds = [MPI_REAL4, MPI_REAL8, MPI_LONG_DOUBLE, MPI_REAL16];
    f90(kinds[real_kind(p, r)?], MPI_COMBINER_F90_REAL, &[p, r], newtype)
}

/// `MPI_Type_create_f90_complex`
///
/// # Errors
/// As [`type_create_f90_real`].
pub fn type_create_f90_complex(p: c_int, r: c_int, newtype: Out<abi::Datatype>) -> Result {
    defined(p, r)?;
    let kinds = [MPI_COMPLEX8, MPI_COMPLEX16, MPI_C_LONG_DOUBLE_COMPLEX, MPI_COMPLEX32];
    f90(kinds[real_kind(p, r)?], MPI_COMBINER_F90_COMPLEX, &[p, r], newtype)
}

fn defined(p: c_int, r: c_int) -> Result {
    if p == MPI_UNDEFINED && r == MPI_UNDEFINED {
        return Err(Error::new(MPI_ERR_ARG, "p and r are both MPI_UNDEFINED; give at least one"));
    }
    Ok(())
}

/// `MPI_Type_create_f90_integer`
///
/// # Errors
/// `MPI_ERR_ARG` when no kind has that range.
pub fn type_create_f90_integer(r: c_int, newtype: Out<abi::Datatype>) -> Result {
    let kind = match r {
        i32::MIN..0 | 39.. => {
            let text = format!("r is {r}; no integer kind of the Fortran compiler has that many digits");
            return Err(Error::new(MPI_ERR_ARG, text));
        }
        0..=2 => MPI_INTEGER1,
        3..=4 => MPI_INTEGER2,
        5..=9 => MPI_INTEGER4,
        10..=18 => MPI_INTEGER8,
        19..=38 => MPI_INTEGER16,
    };
    f90(kind, MPI_COMBINER_F90_INTEGER, &[r], newtype)
}

/// Returns the one unnamed predefined type of a rank for these arguments.
fn unnamed(key: [c_int; 3], make: impl FnOnce() -> Datatype, newtype: Out<abi::Datatype>) -> Result {
    let process = Process::current()?;
    check::output(newtype, "newtype")?;
    let mut unnamed = process.datatype_state.unnamed.lock();
    if let Some((_, _, handle)) = unnamed.iter().find(|(k, _, _)| *k == key) {
        newtype.set(*handle);
        return Ok(());
    }
    let datatype = make();
    let handle = abi::Datatype(process.datatypes.insert(Arc::new(datatype.clone())));
    unnamed.push((key, datatype, handle));
    newtype.set(handle);
    Ok(())
}
