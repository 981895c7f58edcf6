//! Datatypes (chapter 5): constructors, bounds, decoding, names, counting elements.

use crate::arguments::check;
use crate::arguments::strings;
use crate::attributes::communicator_attributes::Attributes;
use crate::point_to_point::messages::not_committed;
use crate::process::{Process, Ref};
use core::ffi::{c_char, c_int, c_void};
use std::collections::HashMap;
use std::sync::Arc;
use weft_base::abi::{self, Aint, Count, Status};
use weft_base::arguments::{CountOut, Counts, In, Out};
use weft_base::constants::*;
use weft_base::handle::Kind;
use weft_base::{Error, Named, Result};
use weft_datatype::{Basic, Class, Datatype};
use weft_sync::Lock;

/// What a rank knows of its datatypes beside the types themselves.
#[derive(Default)]
pub struct DatatypeState {
    /// Names the user gave, by handle. Predefined types can be named as well, by each rank for itself.
    names: Lock<HashMap<usize, String>>,
    /// Unnamed predefined types handed out, by combiner and arguments.
    unnamed: Lock<Vec<([c_int; 3], Datatype, abi::Datatype)>>,
    /// What the user has cached, by handle.
    attributes: Lock<HashMap<usize, Arc<Attributes>>>,
}

impl DatatypeState {
    /// Lists the handles of unnamed predefined types, which nobody frees.
    /// Returns the name that the program has given.
    pub(crate) fn name(&self, handle: abi::Datatype) -> Option<String> {
        self.names.lock().get(&handle.0).cloned()
    }

    pub(crate) fn unnamed_handles(&self) -> Vec<usize> {
        self.unnamed.lock().iter().map(|(_, _, handle)| handle.0).collect()
    }

    /// Returns the place for attributes of a live handle.
    pub(crate) fn attributes(&self, datatype: abi::Datatype) -> Arc<Attributes> {
        self.attributes.lock().entry(datatype.0).or_default().clone()
    }
}

fn insert(process: &Process, datatype: Datatype, newtype: Out<abi::Datatype>) -> Result {
    newtype.set(abi::Datatype(process.datatypes.insert(Arc::new(datatype))));
    Ok(())
}

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

/// `MPI_Type_dup`
///
/// # Errors
/// As [`type_contiguous`], or the code of an attribute's copy function.
pub fn type_dup(oldtype: abi::Datatype, newtype: Out<abi::Datatype>) -> Result {
    let process = Process::current()?;
    check::output(newtype, "newtype")?;
    let duplicate = process.datatype(oldtype)?.dup()?;
    let attributes = process.datatype_state.attributes.lock().get(&oldtype.0).cloned();
    let copies = Arc::new(Attributes::default());
    if let Some(attributes) = attributes {
        newtype.set(MPI_DATATYPE_NULL);
        attributes.copy_to(oldtype.0, &copies)?;
    }
    insert(process, duplicate, newtype)?;
    if !copies.is_empty() {
        process.datatype_state.attributes.lock().insert(newtype.get_at(0).0, copies);
    }
    Ok(())
}

/// Reads an in-out handle.
fn handle(datatype: Out<abi::Datatype>) -> Result<abi::Datatype> {
    check::output(datatype, "datatype")?;
    Ok(datatype.get_at(0))
}

/// `MPI_Type_commit`
///
/// # Errors
/// `MPI_ERR_TYPE`
pub fn type_commit(datatype: Out<abi::Datatype>) -> Result {
    Process::current()?.datatype(handle(datatype)?)?.commit();
    Ok(())
}

/// `MPI_Type_free`: operations under way and types built from it keep the type alive.
///
/// # Errors
/// `MPI_ERR_TYPE`, also for predefined types; or the code of an attribute's delete function, and then the type stays.
pub fn type_free(datatype: Out<abi::Datatype>) -> Result {
    let process = Process::current()?;
    let handle = handle(datatype)?;
    let datatype_to_free = process.datatype(handle)?;
    if datatype_to_free.as_predefined().is_some() || datatype_to_free.as_unnamed_pair().is_some() {
        return Err(Kind::Datatype.predefined(handle.0));
    }
    let attributes = process.datatype_state.attributes.lock().get(&handle.0).cloned();
    if let Some(attributes) = attributes {
        attributes.delete_all(handle.0)?;
        process.datatype_state.attributes.lock().remove(&handle.0);
    }
    process.datatypes.remove(handle.0)?;
    process.datatype_state.names.lock().remove(&handle.0);
    datatype.set(MPI_DATATYPE_NULL);
    Ok(())
}

/// Stores two bounds. A pair that does not fit is stored as `MPI_UNDEFINED` by the output itself.
fn bounds(lb: CountOut, extent: CountOut, names: [&str; 2], values: (i64, i64)) -> Result {
    for (argument, name) in [(lb, names[0]), (extent, names[1])] {
        if argument.is_null() {
            return Err(Error::new(
                MPI_ERR_ARG,
                format!("{name} is a null pointer; pass the address of a variable"),
            ));
        }
    }
    lb.set(values.0);
    extent.set(values.1);
    Ok(())
}

/// `MPI_Type_size`
///
/// # Errors
/// `MPI_ERR_TYPE`, `MPI_ERR_ARG`
pub fn type_size(datatype: abi::Datatype, size: CountOut) -> Result {
    let process = Process::current()?;
    let value = process.datatype(datatype)?.size();
    counted(size, "size", Some(value))
}

/// `MPI_Type_size_x`
///
/// # Errors
/// As [`type_size`].
pub fn type_size_x(datatype: abi::Datatype, size: Out<Count>) -> Result {
    type_size(datatype, CountOut::Count(size))
}

/// `MPI_Type_get_extent`
///
/// # Errors
/// As [`type_size`].
pub fn type_get_extent(datatype: abi::Datatype, lb: CountOut, extent: CountOut) -> Result {
    let process = Process::current()?;
    let datatype = process.datatype(datatype)?;
    bounds(lb, extent, ["lb", "extent"], (datatype.lb(), datatype.extent()))
}

/// `MPI_Type_get_extent_x`
///
/// # Errors
/// As [`type_size`].
pub fn type_get_extent_x(datatype: abi::Datatype, lb: Out<Count>, extent: Out<Count>) -> Result {
    type_get_extent(datatype, CountOut::Count(lb), CountOut::Count(extent))
}

/// `MPI_Type_get_true_extent`
///
/// # Errors
/// As [`type_size`].
pub fn type_get_true_extent(datatype: abi::Datatype, true_lb: CountOut, true_extent: CountOut) -> Result {
    let process = Process::current()?;
    let datatype = process.datatype(datatype)?;
    bounds(true_lb, true_extent, ["true_lb", "true_extent"], (datatype.true_lb(), datatype.true_extent()))
}

/// `MPI_Type_get_true_extent_x`
///
/// # Errors
/// As [`type_size`].
pub fn type_get_true_extent_x(
    datatype: abi::Datatype,
    true_lb: Out<Count>,
    true_extent: Out<Count>,
) -> Result {
    type_get_true_extent(datatype, CountOut::Count(true_lb), CountOut::Count(true_extent))
}

/// `MPI_Type_get_envelope`: the plain form passes no place for the number of large counts.
///
/// # Errors
/// `MPI_ERR_TYPE` for a plain call on a type made with large counts, `MPI_ERR_ARG`.
pub fn type_get_envelope(
    datatype: abi::Datatype,
    num_integers: CountOut,
    num_addresses: CountOut,
    num_large_counts: CountOut,
    num_datatypes: CountOut,
    combiner: Out<c_int>,
) -> Result {
    let process = Process::current()?;
    for (argument, name) in
        [(num_integers, "num_integers"), (num_addresses, "num_addresses"), (num_datatypes, "num_datatypes")]
    {
        check::count_output(argument, name)?;
    }
    check::output(combiner, "combiner")?;
    let envelope = process.datatype(datatype)?.envelope();
    if envelope.large_counts > 0 && num_large_counts.is_null() {
        return Err(needs_large_form("MPI_Type_get_envelope_c"));
    }
    num_integers.set(envelope.integers as i64);
    num_addresses.set(envelope.addresses as i64);
    num_large_counts.set(envelope.large_counts as i64);
    num_datatypes.set(envelope.datatypes as i64);
    combiner.set(envelope.combiner);
    Ok(())
}

#[cold]
fn needs_large_form(name: &str) -> Error {
    Error::new(MPI_ERR_TYPE, format!("datatype was made by a call with large counts; decode it with {name}"))
}

/// `MPI_Type_get_contents`
///
/// # Errors
/// `MPI_ERR_TYPE` for a named predefined type and for a plain call on a type made with large counts, `MPI_ERR_ARG`
/// for arrays that are too short.
#[allow(clippy::too_many_arguments)]
pub fn type_get_contents(
    datatype: abi::Datatype,
    max_integers: Count,
    max_addresses: Count,
    max_large_counts: Count,
    max_datatypes: Count,
    integers: Out<c_int>,
    addresses: Out<Aint>,
    large_counts: Out<Count>,
    datatypes: Out<abi::Datatype>,
) -> Result {
    let process = Process::current()?;
    let datatype = process.datatype(datatype)?;
    if let (true, Some(basic)) = (datatype.is_named(), datatype.as_predefined()) {
        let text = format!("datatype is {}, which is predefined; it has no contents to decode", basic.name());
        return Err(Error::new(MPI_ERR_TYPE, text));
    }
    let contents = datatype.contents();
    if !contents.large_counts.is_empty() && large_counts.is_null() && max_large_counts == 0 {
        return Err(needs_large_form("MPI_Type_get_contents_c"));
    }
    let fits = |max: Count, needed: usize, null: bool, name: &str| {
        if max < needed as i64 {
            let text = format!("max_{name} is {max}, but there are {needed} to store");
            return Err(Error::new(MPI_ERR_ARG, text));
        }
        check::array(null, needed, &format!("array_of_{name}"))
    };
    fits(max_integers, contents.integers.len(), integers.is_null(), "integers")?;
    fits(max_addresses, contents.addresses.len(), addresses.is_null(), "addresses")?;
    fits(max_large_counts, contents.large_counts.len(), large_counts.is_null(), "large_counts")?;
    fits(max_datatypes, contents.datatypes.len(), datatypes.is_null(), "datatypes")?;
    contents.integers.iter().enumerate().for_each(|(i, v)| integers.set_at(i, *v));
    contents.addresses.iter().enumerate().for_each(|(i, v)| addresses.set_at(i, *v as Aint));
    contents.large_counts.iter().enumerate().for_each(|(i, v)| large_counts.set_at(i, *v));
    for (i, old) in contents.datatypes.iter().enumerate() {
        datatypes.set_at(i, handle_of(process, old));
    }
    Ok(())
}

/// Returns the handle of a predefined type, or a new handle for a derived one.
fn handle_of(process: &Process, datatype: &Datatype) -> abi::Datatype {
    if let Some(named) = datatype.named_handle() {
        return named;
    }
    let unnamed = process.datatype_state.unnamed.lock();
    if let Some((_, _, handle)) = unnamed.iter().find(|(_, d, _)| d.same(datatype)) {
        return *handle;
    }
    drop(unnamed);
    abi::Datatype(process.datatypes.insert(Arc::new(datatype.clone())))
}

/// `MPI_Type_set_name`: a longer name is cut when it is returned.
///
/// # Errors
/// `MPI_ERR_TYPE`, `MPI_ERR_ARG`
pub fn type_set_name(datatype: abi::Datatype, type_name: In<c_char>) -> Result {
    let process = Process::current()?;
    process.datatype(datatype)?;
    let name = strings::read(type_name, "type_name")?;
    process.datatype_state.names.lock().insert(datatype.0, name);
    Ok(())
}

/// `MPI_Type_get_name`
///
/// # Errors
/// `MPI_ERR_TYPE`, `MPI_ERR_ARG`
pub fn type_get_name(datatype: abi::Datatype, type_name: Out<c_char>, resultlen: Out<c_int>) -> Result {
    let process = Process::current()?;
    check::output(type_name, "type_name")?;
    check::output(resultlen, "resultlen")?;
    let given = process.datatype_state.names.lock().get(&datatype.0).cloned();
    let name = match given {
        Some(name) => name,
        // MPI_DATATYPE_NULL has a name in the standard.
        None if datatype == MPI_DATATYPE_NULL => "MPI_DATATYPE_NULL".into(),
        None => {
            let datatype = process.datatype(datatype)?;
            let named = if datatype.is_named() { datatype.as_predefined() } else { None };
            named.map_or(String::new(), |basic| basic.name().into())
        }
    };
    strings::write(&name, type_name, MPI_MAX_OBJECT_NAME as usize, resultlen);
    Ok(())
}

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

/// `MPI_Get_address`
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn get_address(location: *const c_void, address: Out<Aint>) -> Result {
    check::output(address, "address")?;
    address.set(location as Aint);
    Ok(())
}

fn read_status(status: In<Status>) -> Result<Status> {
    if status.is_null() {
        let text = "status is a null pointer (MPI_STATUS_IGNORE?); pass a status of a completed operation";
        return Err(Error::new(MPI_ERR_ARG, text));
    }
    Ok(status.get(0))
}

/// Stores a number, `MPI_UNDEFINED` for none or one that does not fit.
fn counted(count: CountOut, name: &str, value: Option<u64>) -> Result {
    if count.is_null() {
        return Err(Error::new(
            MPI_ERR_ARG,
            format!("{name} is a null pointer; pass the address of a variable"),
        ));
    }
    let value = value.and_then(|v| i64::try_from(v).ok());
    count.set(value.unwrap_or(i64::from(MPI_UNDEFINED)));
    Ok(())
}

/// `MPI_Get_count`
///
/// # Errors
/// `MPI_ERR_TYPE`, `MPI_ERR_ARG`
pub fn get_count(status: In<Status>, datatype: abi::Datatype, count: CountOut) -> Result {
    let process = Process::current()?;
    let bytes = read_status(status)?.bytes();
    let size = process.datatype(datatype)?.size();
    let value = match size {
        0 => (bytes == 0).then_some(0),
        _ => (bytes % size == 0).then_some(bytes / size),
    };
    counted(count, "count", value)
}

/// `MPI_Get_elements`
///
/// # Errors
/// As [`get_count`].
pub fn get_elements(status: In<Status>, datatype: abi::Datatype, count: CountOut) -> Result {
    let process = Process::current()?;
    let bytes = read_status(status)?.bytes();
    let elements = process.datatype(datatype)?.elements_in(bytes);
    counted(count, "count", elements)
}

/// `MPI_Get_elements_x`
///
/// # Errors
/// As [`get_count`].
pub fn get_elements_x(status: In<Status>, datatype: abi::Datatype, count: Out<Count>) -> Result {
    get_elements(status, datatype, CountOut::Count(count))
}

/// `MPI_Status_set_elements`
///
/// # Errors
/// `MPI_ERR_COUNT`, `MPI_ERR_TYPE`, `MPI_ERR_ARG`
pub fn status_set_elements(status: Out<Status>, datatype: abi::Datatype, count: Count) -> Result {
    let process = Process::current()?;
    check::output(status, "status")?;
    let elements = check::count(count, "count")?;
    let Some(bytes) = process.datatype(datatype)?.bytes_of(elements) else {
        return Err(Error::new(
            MPI_ERR_COUNT,
            format!("count is {count}; the datatype has no such number of elements"),
        ));
    };
    let mut value = status.get_at(0);
    value.set_bytes(bytes);
    status.set(value);
    Ok(())
}

/// `MPI_Status_set_elements_x`
///
/// # Errors
/// As [`status_set_elements`].
pub fn status_set_elements_x(status: Out<Status>, datatype: abi::Datatype, count: Count) -> Result {
    status_set_elements(status, datatype, count)
}

/// Returns a committed datatype by handle.
///
/// # Errors
/// `MPI_ERR_TYPE`
#[inline]
pub(crate) fn committed(process: &Process, datatype: abi::Datatype) -> Result<Ref<'_, Datatype>> {
    let found = process.datatype(datatype)?;
    if !found.is_committed() {
        return Err(not_committed(datatype));
    }
    Ok(found)
}
