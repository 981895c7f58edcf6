//! How a datatype was made.

use crate::arguments::check;
use crate::process::Process;
use core::ffi::c_int;
use std::sync::Arc;
use weft_base::abi::{self, Aint, Count};
use weft_base::arguments::{CountOut, Out};
use weft_base::constants::*;
use weft_base::{Error, Result};
use weft_datatype::Datatype;

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
pub(crate) fn handle_of(process: &Process, datatype: &Datatype) -> abi::Datatype {
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
