//! Control variables: the settings.
//!
//! The ranks of a process share their settings, so the scope of one that may change while ranks run is a group: those
//! ranks. All others are constant once the job has begun.
#![allow(unsafe_code)] // Values come and go through pointers without a type.

use crate::tools::state::{ControlHandle, index, initialized};
use crate::tools::{enumerations, strings};
use core::ffi::{c_char, c_int, c_void};
use std::sync::Arc;
use weft_base::constants::*;
use weft_base::settings::{Kind, Setting, TABLE};
use weft_base::tools::Category;
use weft_base::{Error, In, Out, Result, abi};

fn datatype(setting: &Setting) -> abi::Datatype {
    match setting.kind {
        Kind::Number(..) | Kind::Bytes(..) => MPI_UINT64_T,
        Kind::Choice(_) => MPI_INT,
        Kind::Text | Kind::Rows | Kind::RowsFile => MPI_CHAR,
    }
}

fn verbosity(setting: &Setting) -> c_int {
    match setting.category {
        Category::Jobs | Category::Checking | Category::Compilers => MPI_T_VERBOSITY_USER_BASIC,
        Category::Ranks | Category::Network => MPI_T_VERBOSITY_USER_DETAIL,
        Category::Messages | Category::Collectives | Category::OneSided | Category::Files => {
            MPI_T_VERBOSITY_TUNER_BASIC
        }
    }
}

/// Returns the value of a setting that is a text.
fn text(setting: &Setting) -> &str {
    setting.text().unwrap_or("")
}

fn description(setting: &Setting) -> String {
    let range = setting.range();
    match setting.is_live {
        true => format!(
            "{}. Possible: {range}. The group that must be given the same value are the ranks that are threads of one process.",
            setting.help
        ),
        false => format!("{}. Possible: {range}. Cannot change while ranks run.", setting.help),
    }
}

/// `MPI_T_cvar_get_num`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID`
pub fn t_cvar_get_num(num_cvar: Out<c_int>) -> Result {
    initialized()?;
    strings::output(num_cvar, "num_cvar")?;
    num_cvar.set(TABLE.len() as c_int);
    Ok(())
}

/// `MPI_T_cvar_get_info`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_INDEX`, `MPI_T_ERR_INVALID`
#[allow(clippy::too_many_arguments)]
pub fn t_cvar_get_info(
    cvar_index: c_int,
    name: Out<c_char>,
    name_len: Out<c_int>,
    verbosity_out: Out<c_int>,
    datatype_out: Out<abi::Datatype>,
    enumtype: Out<*mut c_void>,
    desc: Out<c_char>,
    desc_len: Out<c_int>,
    bind: Out<c_int>,
    scope: Out<c_int>,
) -> Result {
    initialized()?;
    let number = index(cvar_index, TABLE.len(), "cvar_index")?;
    let setting = TABLE[number];
    strings::give(setting.name, name, name_len, "name")?;
    strings::give(&description(setting), desc, desc_len, "desc")?;
    verbosity_out.set(verbosity(setting));
    datatype_out.set(datatype(setting));
    enumtype.set(enumerations::of(number));
    bind.set(MPI_T_BIND_NO_OBJECT);
    scope.set(if setting.is_live { MPI_T_SCOPE_GROUP_EQ } else { MPI_T_SCOPE_CONSTANT });
    Ok(())
}

/// `MPI_T_cvar_get_index`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_NAME`, `MPI_T_ERR_INVALID`
pub fn t_cvar_get_index(name: In<c_char>, cvar_index: Out<c_int>) -> Result {
    initialized()?;
    strings::find(name, cvar_index, "cvar_index", |name| TABLE.iter().position(|s| s.name == name))
}

/// `MPI_T_cvar_handle_alloc`: no variable is bound to an object.
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_INDEX`, `MPI_T_ERR_INVALID`
pub fn t_cvar_handle_alloc(
    cvar_index: c_int,
    _obj_handle: *mut c_void,
    handle: Out<*mut c_void>,
    count: Out<c_int>,
) -> Result {
    let (_, tools) = initialized()?;
    let setting = TABLE[index(cvar_index, TABLE.len(), "cvar_index")?];
    strings::output(handle, "handle")?;
    strings::output(count, "count")?;
    count.set(if setting.is_text() { text(setting).len() as c_int + 1 } else { 1 });
    handle.set(tools.controls.insert(Arc::new(ControlHandle(setting))));
    Ok(())
}

/// `MPI_T_cvar_handle_free`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_HANDLE`, `MPI_T_ERR_INVALID`
pub fn t_cvar_handle_free(handle: Out<*mut c_void>) -> Result {
    let (_, tools) = initialized()?;
    strings::output(handle, "handle")?;
    tools.controls.remove(handle.get_at(0))?;
    handle.set(MPI_T_CVAR_HANDLE_NULL as *mut c_void);
    Ok(())
}

fn buffer(is_null: bool) -> Result {
    if is_null {
        return Err(Error::new(MPI_T_ERR_INVALID, "buf is a null pointer; pass an address"));
    }
    Ok(())
}

/// `MPI_T_cvar_read`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_HANDLE`, `MPI_T_ERR_INVALID`
pub fn t_cvar_read(handle: *mut c_void, buf: *mut c_void) -> Result {
    let (_, tools) = initialized()?;
    let ControlHandle(setting) = *tools.controls.get(handle)?;
    buffer(buf.is_null())?;
    // SAFETY: the caller promises room for a value of the variable's datatype and count, aligned as C has that type.
    unsafe {
        match setting.kind {
            Kind::Number(..) | Kind::Bytes(..) => Out::<u64>::new(buf.cast()).set(setting.get()),
            Kind::Choice(_) => Out::<c_int>::new(buf.cast()).set(setting.get() as c_int),
            Kind::Text | Kind::Rows | Kind::RowsFile => {
                let (text, output) = (text(setting), Out::<c_char>::new(buf.cast()));
                text.bytes().enumerate().for_each(|(place, byte)| output.set_at(place, byte as c_char));
                output.set_at(text.len(), 0);
            }
        }
    }
    Ok(())
}

/// `MPI_T_cvar_write`: a live setting takes effect where it is read next.
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_HANDLE`, `MPI_T_ERR_CVAR_SET_NEVER`, `MPI_T_ERR_INVALID` for a value that is out
/// of the setting's range.
pub fn t_cvar_write(handle: *mut c_void, buf: *const c_void) -> Result {
    let (_, tools) = initialized()?;
    let ControlHandle(setting) = *tools.controls.get(handle)?;
    buffer(buf.is_null())?;
    if !setting.is_live {
        let text = format!("handle is of {}, which cannot change while ranks run", setting.name);
        return Err(Error::new(MPI_T_ERR_CVAR_SET_NEVER, text));
    }
    // SAFETY: the caller promises a value of the variable's datatype, aligned as C has that type.
    let value = unsafe {
        match setting.kind {
            Kind::Number(low, high) | Kind::Bytes(low, high) => {
                Some(In::<u64>::new(buf.cast()).get(0)).filter(|value| (low..=high).contains(value))
            }
            Kind::Choice(words) => {
                let value = In::<c_int>::new(buf.cast()).get(0);
                u64::try_from(value).ok().filter(|&value| value < words.len() as u64)
            }
            // A text stays where readers have found it.
            Kind::Text | Kind::Rows | Kind::RowsFile => None,
        }
    };
    let Some(value) = value else {
        let text = format!("buf holds no value for {}; possible is {}", setting.name, setting.range());
        return Err(Error::new(MPI_T_ERR_INVALID, text));
    };
    setting.set(value);
    Ok(())
}
