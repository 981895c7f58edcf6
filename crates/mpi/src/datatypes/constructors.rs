//! Derived datatypes: made of one old type, or of several.

use super::datatype::insert;
use crate::arguments::check;
use crate::process::Process;
use core::ffi::c_int;
use weft_base::abi::{self, Count};
use weft_base::arguments::{Counts, In, Out};
use weft_base::constants::*;
use weft_base::{Error, Named, Result};
use weft_datatype::Datatype;

/// Makes a type from one old type; `large` says that the form with large counts was called.
fn make(
    oldtype: abi::Datatype,
    newtype: Out<abi::Datatype>,
    large: bool,
    constructor: impl FnOnce(&Datatype) -> Result<Datatype>,
) -> Result {
    let process = Process::current()?;
    check::output(newtype, "newtype")?;
    let old = process.datatype(oldtype)?;
    insert(process, formed(constructor(&old)?, large), newtype)
}

/// Has a type remember the form of the call that made it.
fn formed(datatype: Datatype, large: bool) -> Datatype {
    if large { datatype.made_with_large_counts() } else { datatype }
}

/// Reads an array of `count` counts.
fn array(values: Counts, count: usize, name: &str) -> Result<Vec<i64>> {
    present(values.is_null() && count > 0, name)?;
    Ok(values.to_vec(count))
}

fn int_array(values: In<c_int>, count: usize, name: &str) -> Result<Vec<c_int>> {
    present(values.is_null() && count > 0, name)?;
    Ok(values.to_vec(count))
}

fn present(missing: bool, name: &str) -> Result {
    if missing {
        return Err(Error::new(MPI_ERR_ARG, format!("{name} is a null pointer; pass an array")));
    }
    Ok(())
}

fn array_length(count: Count) -> Result<usize> {
    check::count(count, "count").map(|n| n as usize)
}

fn dimensions(ndims: c_int) -> Result<usize> {
    if ndims < 1 {
        return Err(Error::new(MPI_ERR_ARG, format!("ndims is {ndims}; it must be positive")));
    }
    Ok(ndims as usize)
}

/// `MPI_Type_contiguous`
///
/// # Errors
/// `MPI_ERR_COUNT`, `MPI_ERR_TYPE`, `MPI_ERR_ARG`
pub fn type_contiguous(count: Count, oldtype: abi::Datatype, newtype: Out<abi::Datatype>) -> Result {
    make(oldtype, newtype, false, |old| Datatype::contiguous(count, old))
}

/// `MPI_Type_contiguous_c`
///
/// # Errors
/// As [`type_contiguous`].
pub fn type_contiguous_c(count: Count, oldtype: abi::Datatype, newtype: Out<abi::Datatype>) -> Result {
    make(oldtype, newtype, true, |old| Datatype::contiguous(count, old))
}

/// `MPI_Type_vector`
///
/// # Errors
/// As [`type_contiguous`].
pub fn type_vector(
    count: Count,
    blocklength: Count,
    stride: Count,
    oldtype: abi::Datatype,
    newtype: Out<abi::Datatype>,
) -> Result {
    make(oldtype, newtype, false, |old| Datatype::vector(count, blocklength, stride, old))
}

/// `MPI_Type_vector_c`
///
/// # Errors
/// As [`type_vector`].
pub fn type_vector_c(
    count: Count,
    blocklength: Count,
    stride: Count,
    oldtype: abi::Datatype,
    newtype: Out<abi::Datatype>,
) -> Result {
    make(oldtype, newtype, true, |old| Datatype::vector(count, blocklength, stride, old))
}

/// `MPI_Type_create_hvector`
///
/// # Errors
/// As [`type_contiguous`].
pub fn type_create_hvector(
    count: Count,
    blocklength: Count,
    stride: Count,
    oldtype: abi::Datatype,
    newtype: Out<abi::Datatype>,
) -> Result {
    make(oldtype, newtype, false, |old| Datatype::hvector(count, blocklength, stride, old))
}

/// `MPI_Type_create_hvector_c`
///
/// # Errors
/// As [`type_create_hvector`].
pub fn type_create_hvector_c(
    count: Count,
    blocklength: Count,
    stride: Count,
    oldtype: abi::Datatype,
    newtype: Out<abi::Datatype>,
) -> Result {
    make(oldtype, newtype, true, |old| Datatype::hvector(count, blocklength, stride, old))
}

/// `MPI_Type_indexed`
///
/// # Errors
/// As [`type_contiguous`].
pub fn type_indexed(
    count: Count,
    blocklengths: Counts,
    displacements: Counts,
    oldtype: abi::Datatype,
    newtype: Out<abi::Datatype>,
) -> Result {
    make(oldtype, newtype, displacements.is_large(), |old| {
        let n = array_length(count)?;
        let lengths = array(blocklengths, n, "array_of_blocklengths")?;
        Datatype::indexed(&lengths, &array(displacements, n, "array_of_displacements")?, old)
    })
}

/// `MPI_Type_create_hindexed`
///
/// # Errors
/// As [`type_contiguous`].
pub fn type_create_hindexed(
    count: Count,
    blocklengths: Counts,
    displacements: Counts,
    oldtype: abi::Datatype,
    newtype: Out<abi::Datatype>,
) -> Result {
    make(oldtype, newtype, displacements.is_large(), |old| {
        let n = array_length(count)?;
        let lengths = array(blocklengths, n, "array_of_blocklengths")?;
        Datatype::hindexed(&lengths, &array(displacements, n, "array_of_displacements")?, old)
    })
}

/// `MPI_Type_create_indexed_block`
///
/// # Errors
/// As [`type_contiguous`].
pub fn type_create_indexed_block(
    count: Count,
    blocklength: Count,
    displacements: Counts,
    oldtype: abi::Datatype,
    newtype: Out<abi::Datatype>,
) -> Result {
    make(oldtype, newtype, displacements.is_large(), |old| {
        let n = array_length(count)?;
        Datatype::indexed_block(blocklength, &array(displacements, n, "array_of_displacements")?, old)
    })
}

/// `MPI_Type_create_hindexed_block`
///
/// # Errors
/// As [`type_contiguous`].
pub fn type_create_hindexed_block(
    count: Count,
    blocklength: Count,
    displacements: Counts,
    oldtype: abi::Datatype,
    newtype: Out<abi::Datatype>,
) -> Result {
    make(oldtype, newtype, displacements.is_large(), |old| {
        let n = array_length(count)?;
        Datatype::hindexed_block(blocklength, &array(displacements, n, "array_of_displacements")?, old)
    })
}

/// `MPI_Type_create_struct`
///
/// # Errors
/// As [`type_contiguous`].
pub fn type_create_struct(
    count: Count,
    blocklengths: Counts,
    displacements: Counts,
    types: In<abi::Datatype>,
    newtype: Out<abi::Datatype>,
) -> Result {
    let process = Process::current()?;
    check::output(newtype, "newtype")?;
    let n = array_length(count)?;
    let large = displacements.is_large();
    let lengths = array(blocklengths, n, "array_of_blocklengths")?;
    let displacements = array(displacements, n, "array_of_displacements")?;
    present(types.is_null() && n > 0, "array_of_types")?;
    let member = |i| -> Result<Datatype> {
        let found = process.datatype(types.get(i));
        Ok(found.named_at("array_of_types", i)?.clone())
    };
    let types = (0..n).map(member).collect::<Result<Vec<_>>>()?;
    insert(process, formed(Datatype::structure(&lengths, &displacements, &types)?, large), newtype)
}

/// `MPI_Type_create_resized`
///
/// # Errors
/// As [`type_contiguous`].
pub fn type_create_resized(
    oldtype: abi::Datatype,
    lb: Count,
    extent: Count,
    newtype: Out<abi::Datatype>,
) -> Result {
    make(oldtype, newtype, false, |old| Datatype::resized(lb, extent, old))
}

/// `MPI_Type_create_resized_c`
///
/// # Errors
/// As [`type_create_resized`].
pub fn type_create_resized_c(
    oldtype: abi::Datatype,
    lb: Count,
    extent: Count,
    newtype: Out<abi::Datatype>,
) -> Result {
    make(oldtype, newtype, true, |old| Datatype::resized(lb, extent, old))
}

/// `MPI_Type_create_subarray`
///
/// # Errors
/// As [`type_contiguous`].
pub fn type_create_subarray(
    ndims: c_int,
    sizes: Counts,
    subsizes: Counts,
    starts: Counts,
    order: c_int,
    oldtype: abi::Datatype,
    newtype: Out<abi::Datatype>,
) -> Result {
    make(oldtype, newtype, sizes.is_large(), |old| {
        let n = dimensions(ndims)?;
        let sizes = array(sizes, n, "array_of_sizes")?;
        let subsizes = array(subsizes, n, "array_of_subsizes")?;
        Datatype::subarray(&sizes, &subsizes, &array(starts, n, "array_of_starts")?, order, old)
    })
}

/// `MPI_Type_create_darray`
///
/// # Errors
/// As [`type_contiguous`].
#[allow(clippy::too_many_arguments)]
pub fn type_create_darray(
    size: c_int,
    rank: c_int,
    ndims: c_int,
    gsizes: Counts,
    distribs: In<c_int>,
    dargs: In<c_int>,
    psizes: In<c_int>,
    order: c_int,
    oldtype: abi::Datatype,
    newtype: Out<abi::Datatype>,
) -> Result {
    make(oldtype, newtype, gsizes.is_large(), |old| {
        let n = dimensions(ndims)?;
        let gsizes = array(gsizes, n, "array_of_gsizes")?;
        let distribs = int_array(distribs, n, "array_of_distribs")?;
        let dargs = int_array(dargs, n, "array_of_dargs")?;
        let psizes = int_array(psizes, n, "array_of_psizes")?;
        Datatype::darray(size, rank, &gsizes, &distribs, &dargs, &psizes, order, old)
    })
}
