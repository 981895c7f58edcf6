//! Words that stand for the values of variables, those of settings that are a choice, and for the elements of events.

use crate::tools::state::{index, initialized};
use crate::tools::strings;
use core::ffi::{c_char, c_int, c_void};
use weft_base::constants::*;
use weft_base::settings::{Kind, TABLE};
use weft_base::tools::events::Event;
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

/// Returns the handle of the enumeration of an event's elements: they follow those of settings.
pub(super) fn of_event(event: Event) -> *mut c_void {
    (FIRST + (TABLE.len() + event as usize) * STEP) as *mut c_void
}

/// Returns the name and the words of an enumeration.
fn find(enumtype: *mut c_void) -> Result<(&'static str, Vec<&'static str>)> {
    let distance = (enumtype as usize).wrapping_sub(FIRST);
    let number = distance / STEP;
    let setting = TABLE.get(number).filter(|_| distance.is_multiple_of(STEP));
    let event = Event::ALL.get(number.wrapping_sub(TABLE.len())).filter(|_| distance.is_multiple_of(STEP));
    match (setting.map(|setting| (setting.name, setting.kind)), event) {
        (Some((name, Kind::Choice(words))), _) => Ok((name, words.to_vec())),
        (_, Some(event)) => Ok((event.name(), event.elements().iter().map(|(name, ..)| *name).collect())),
        _ => {
            let text = format!("enumtype is {:#x}, which is no enumeration", enumtype as usize);
            Err(Error::new(MPI_T_ERR_INVALID_HANDLE, text))
        }
    }
}

/// `MPI_T_enum_get_info`: an enumeration is named as its variable or event.
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
    let (title, words) = find(enumtype)?;
    strings::give(title, name, name_len, "name")?;
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
