//! Words that stand for the values of variables: those of settings that are a choice.

use crate::tools::state::{index, initialized};
use crate::tools::strings;
use core::ffi::{c_char, c_int, c_void};
use weft_base::constants::*;
use weft_base::settings::{Kind, Setting, TABLE};
use weft_base::{Error, Out, Result};

/// The word of the first setting's enumeration; that of the next one is one step on. Those of objects are higher.
const FIRST: usize = 1 << 12;
const STEP: usize = 16;

/// Returns the handle of a setting's enumeration, or `MPI_T_ENUM_NULL`.
pub(super) fn of(number: usize) -> *mut c_void {
    match TABLE[number].kind {
        Kind::Choice(_) => (FIRST + number * STEP) as *mut c_void,
        _ => MPI_T_ENUM_NULL as *mut c_void,
    }
}

fn find(enumtype: *mut c_void) -> Result<(&'static Setting, &'static [&'static str])> {
    let distance = (enumtype as usize).wrapping_sub(FIRST);
    let setting = TABLE.get(distance / STEP).filter(|_| distance.is_multiple_of(STEP));
    match setting.map(|setting| (*setting, setting.kind)) {
        Some((setting, Kind::Choice(words))) => Ok((setting, words)),
        _ => {
            let text = format!("enumtype is {:#x}, which is no enumeration", enumtype as usize);
            Err(Error::new(MPI_T_ERR_INVALID_HANDLE, text))
        }
    }
}

/// `MPI_T_enum_get_info`: an enumeration is named as its variable.
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_HANDLE`, `MPI_T_ERR_INVALID`
pub fn t_enum_get_info(
    enumtype: *mut c_void,
    num: Out<c_int>,
    name: Out<c_char>,
    name_len: Out<c_int>,
) -> Result {
    initialized()?;
    let (setting, words) = find(enumtype)?;
    strings::give(setting.name, name, name_len, "name")?;
    num.set(words.len() as c_int);
    Ok(())
}

/// `MPI_T_enum_get_item`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_HANDLE`, `MPI_T_ERR_INVALID_INDEX`, `MPI_T_ERR_INVALID`
pub fn t_enum_get_item(
    enumtype: *mut c_void,
    item: c_int,
    value: Out<c_int>,
    name: Out<c_char>,
    name_len: Out<c_int>,
) -> Result {
    initialized()?;
    let (_, words) = find(enumtype)?;
    let item = index(item, words.len(), "index")?;
    strings::give(words[item], name, name_len, "name")?;
    value.set(item as c_int);
    Ok(())
}
