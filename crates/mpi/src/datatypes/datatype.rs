//! Datatypes as objects: committed, duplicated, freed, named; their sizes and bounds.

use super::elements::counted;
use crate::arguments::check;
use crate::arguments::strings;
use crate::attributes::values::Attributes;
use crate::point_to_point::messages::not_committed;
use crate::process::{Process, Ref};
use core::ffi::{c_char, c_int, c_void};
use std::sync::Arc;
use weft_base::abi::{self, Aint, Count};
use weft_base::arguments::{CountOut, In, Out};
use weft_base::constants::*;
use weft_base::handle::Kind;
use weft_base::{Error, Result};
use weft_datatype::Datatype;

pub(super) fn insert(process: &Process, datatype: Datatype, newtype: Out<abi::Datatype>) -> Result {
    newtype.set(abi::Datatype(process.datatypes.insert(Arc::new(datatype))));
    Ok(())
}

/// `MPI_Type_dup`
///
/// # Errors
/// As [`type_contiguous`](super::constructors::type_contiguous), or the code of an attribute's copy function.
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

/// `MPI_Get_address`
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn get_address(location: *const c_void, address: Out<Aint>) -> Result {
    check::output(address, "address")?;
    address.set(location as Aint);
    Ok(())
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
