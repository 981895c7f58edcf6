//! Attributes for Fortran: integers, on objects of every kind.
#![allow(unsafe_code)] // Reads predefined values at the addresses that C gets.

use crate::attributes::communicator_attributes as communicators;
use crate::attributes::keyvals::{Kind, Language};
use crate::attributes::type_attributes as datatypes;
use crate::attributes::values::Value;
use crate::process::Process;
use core::ffi::c_int;
use weft_base::constants::*;
use weft_base::{Out, Result, abi};

/// Creates a key whose functions take integers.
///
/// `copy` and `delete` are 0 for none, `copy` is 1 for "as it is", else the addresses of functions that are called as C's.
pub fn create_keyval(
    kind: Kind,
    functions: [usize; 2],
    extra_state: usize,
    language: Language,
    keyval: Out<c_int>,
) -> Result {
    keyval.set(Process::any().keyvals.add(kind, functions, extra_state, language));
    Ok(())
}

/// Sets an attribute.
///
/// # Errors
/// As `MPI_Comm_set_attr` and its siblings.
pub fn set(kind: Kind, handle: usize, keyval: c_int, value: Value) -> Result {
    let key = || Process::current().and_then(|process| process.keyvals.get(kind, keyval));
    match kind {
        Kind::Communicator => {
            let (_, communicator) = communicators::target(abi::Comm(handle))?;
            communicator.attributes.set(key()?, value, handle)
        }
        Kind::Datatype => {
            let (_, attributes) = datatypes::target(abi::Datatype(handle))?;
            attributes.set(key()?, value, handle)
        }
        Kind::Window => {
            let window = Process::current()?.window(abi::Win(handle))?;
            window.attributes.set(key()?, value, handle)
        }
    }
}

/// Looks an attribute up.
///
/// # Errors
/// As `MPI_Comm_get_attr` and its siblings.
pub fn get(kind: Kind, handle: usize, keyval: c_int) -> Result<Option<isize>> {
    let key = || Process::current().and_then(|process| process.keyvals.get_in_use(kind, keyval));
    match kind {
        Kind::Communicator => {
            let (process, communicator) = communicators::target(abi::Comm(handle))?;
            if let Some(found) = communicators::predefined(process, keyval) {
                let there = keyval == MPI_TAG_UB || communicator.values.group.origin() == 0;
                // SAFETY: predefined attributes of communicators are integers.
                return Ok(found
                    .filter(|_| there)
                    .map(|address| unsafe { *address.cast::<c_int>() } as isize));
            }
            let key = key()?;
            Ok(communicator.attributes.value(key.number).map(|value| value.word()))
        }
        Kind::Datatype => {
            let (_, attributes) = datatypes::target(abi::Datatype(handle))?;
            let key = key()?;
            Ok(attributes.value(key.number).map(|value| value.word()))
        }
        Kind::Window => {
            let window = Process::current()?.window(abi::Win(handle))?;
            if let Some(address) = window.predefined_attribute(keyval) {
                // SAFETY: the address of a word, or of an integer, according to the key; the base is an address itself.
                return Ok(Some(unsafe {
                    match keyval {
                        MPI_WIN_BASE => address as isize,
                        MPI_WIN_SIZE => *address.cast::<isize>(),
                        _ => *address.cast::<c_int>() as isize,
                    }
                }));
            }
            let key = key()?;
            Ok(window.attributes.value(key.number).map(|value| value.word()))
        }
    }
}
