//! Performance variables: sessions, handles, and values, as calls with arguments.
#![allow(unsafe_code)] // Values come and go through pointers without a type.

use crate::process::Process;
use crate::tools::counting::{Handle, Session};
use crate::tools::state::{Tools, index, initialized};
use crate::tools::variables::{self, Variable};
use crate::tools::{binding, strings};
use core::ffi::{c_char, c_int, c_void};
use std::sync::Arc;
use weft_base::constants::*;
use weft_base::{Error, In, Out, Result, abi};

/// Checks a session.
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_SESSION`
fn session(pe_session: *mut c_void) -> Result<(&'static Process, &'static Tools)> {
    let (process, tools) = initialized()?;
    tools.sessions.get(pe_session)?;
    Ok((process, tools))
}

/// Finds a handle of a session.
///
/// # Errors
/// As [`session`]; `MPI_T_ERR_INVALID_HANDLE`
fn handle_of(pe_session: *mut c_void, handle: *mut c_void) -> Result<Arc<Handle>> {
    let (_, tools) = session(pe_session)?;
    if handle as usize == MPI_T_PVAR_ALL_HANDLES {
        let text = "handle is MPI_T_PVAR_ALL_HANDLES, which this call does not take; give one handle";
        return Err(Error::new(MPI_T_ERR_INVALID_HANDLE, text));
    }
    let found = tools.variables.get(handle)?;
    if found.session != pe_session as usize {
        let text = format!("handle is {:#x}, which is of another session", handle as usize);
        return Err(Error::new(MPI_T_ERR_INVALID_HANDLE, text));
    }
    Ok(found)
}

/// Does something with a handle of a session, or with all that it makes sense for.
///
/// # Errors
/// As [`handle_of`], and what `may` returns for one handle.
fn each(
    pe_session: *mut c_void,
    handle: *mut c_void,
    may: impl Fn(&Handle) -> Result,
    work: impl Fn(&Handle),
) -> Result {
    if handle as usize == MPI_T_PVAR_ALL_HANDLES {
        let (_, tools) = session(pe_session)?;
        let own = |handle: &Arc<Handle>| handle.session == pe_session as usize && may(handle).is_ok();
        tools.variables.all().into_iter().filter(own).for_each(|handle| work(&handle));
        return Ok(());
    }
    let handle = handle_of(pe_session, handle)?;
    may(&handle)?;
    work(&handle);
    Ok(())
}

/// `MPI_T_pvar_get_num`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID`
pub fn t_pvar_get_num(num_pvar: Out<c_int>) -> Result {
    initialized()?;
    strings::output(num_pvar, "num_pvar")?;
    num_pvar.set(variables::count() as c_int);
    Ok(())
}

fn variable(pvar_index: c_int) -> Result<Variable> {
    let number = index(pvar_index, variables::count(), "pvar_index")?;
    Ok(variables::all().nth(number).expect("so many there are"))
}

/// `MPI_T_pvar_get_info`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_INDEX`, `MPI_T_ERR_INVALID`
#[allow(clippy::too_many_arguments)]
pub fn t_pvar_get_info(
    pvar_index: c_int,
    name: Out<c_char>,
    name_len: Out<c_int>,
    verbosity: Out<c_int>,
    var_class: Out<c_int>,
    datatype: Out<abi::Datatype>,
    enumtype: Out<*mut c_void>,
    desc: Out<c_char>,
    desc_len: Out<c_int>,
    bind: Out<c_int>,
    readonly: Out<c_int>,
    continuous: Out<c_int>,
    atomic: Out<c_int>,
) -> Result {
    initialized()?;
    let variable = variable(pvar_index)?;
    strings::give(variable.name(), name, name_len, "name")?;
    strings::give(variable.help(), desc, desc_len, "desc")?;
    verbosity.set(variable.verbosity());
    var_class.set(variable.class());
    datatype.set(MPI_UNSIGNED_LONG_LONG);
    enumtype.set(MPI_T_ENUM_NULL as *mut c_void);
    bind.set(binding::constant(variable.bound()));
    readonly.set(c_int::from(!variable.is_controlled()));
    continuous.set(c_int::from(!variable.is_controlled()));
    atomic.set(c_int::from(variable.is_controlled()));
    Ok(())
}

/// `MPI_T_pvar_get_index`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_NAME`, `MPI_T_ERR_INVALID`
pub fn t_pvar_get_index(name: In<c_char>, var_class: c_int, pvar_index: Out<c_int>) -> Result {
    initialized()?;
    strings::find(name, pvar_index, "pvar_index", |name| {
        variables::all().position(|variable| variable.name() == name && variable.class() == var_class)
    })
}

/// `MPI_T_pvar_session_create`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID`
pub fn t_pvar_session_create(pe_session: Out<*mut c_void>) -> Result {
    let (_, tools) = initialized()?;
    strings::output(pe_session, "pe_session")?;
    pe_session.set(tools.sessions.insert(Arc::new(Session::new())));
    Ok(())
}

/// `MPI_T_pvar_session_free`: frees its handles, too.
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_SESSION`, `MPI_T_ERR_INVALID`
pub fn t_pvar_session_free(pe_session: Out<*mut c_void>) -> Result {
    let (_, tools) = initialized()?;
    strings::output(pe_session, "pe_session")?;
    let session = pe_session.get_at(0);
    tools.sessions.remove(session)?;
    tools.variables.retain(|handle| handle.session != session as usize);
    pe_session.set(MPI_T_PVAR_SESSION_NULL as *mut c_void);
    Ok(())
}

/// `MPI_T_pvar_handle_alloc`: each variable is one element.
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_SESSION`, `MPI_T_ERR_INVALID_INDEX`, `MPI_T_ERR_INVALID_HANDLE`,
/// `MPI_T_ERR_INVALID`
pub fn t_pvar_handle_alloc(
    pe_session: *mut c_void,
    pvar_index: c_int,
    obj_handle: *mut c_void,
    handle: Out<*mut c_void>,
    count: Out<c_int>,
) -> Result {
    let (process, tools) = session(pe_session)?;
    let variable = variable(pvar_index)?;
    strings::output(handle, "handle")?;
    strings::output(count, "count")?;
    let object = binding::number(process, variable.bound(), obj_handle)?;
    let made = Handle::new(pe_session as usize, variable, process, object);
    count.set(1);
    handle.set(tools.variables.insert(Arc::new(made)));
    Ok(())
}

/// `MPI_T_pvar_handle_free`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_SESSION`, `MPI_T_ERR_INVALID_HANDLE`, `MPI_T_ERR_INVALID`
pub fn t_pvar_handle_free(pe_session: *mut c_void, handle: Out<*mut c_void>) -> Result {
    let (_, tools) = session(pe_session)?;
    strings::output(handle, "handle")?;
    handle_of(pe_session, handle.get_at(0))?;
    tools.variables.remove(handle.get_at(0))?;
    handle.set(MPI_T_PVAR_HANDLE_NULL as *mut c_void);
    Ok(())
}

/// `MPI_T_pvar_start`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_SESSION`, `MPI_T_ERR_INVALID_HANDLE`, `MPI_T_ERR_PVAR_NO_STARTSTOP`
pub fn t_pvar_start(pe_session: *mut c_void, handle: *mut c_void) -> Result {
    each(pe_session, handle, Handle::startable, Handle::start)
}

/// `MPI_T_pvar_stop`
///
/// # Errors
/// As [`t_pvar_start`].
pub fn t_pvar_stop(pe_session: *mut c_void, handle: *mut c_void) -> Result {
    each(pe_session, handle, Handle::startable, Handle::stop)
}

fn buffer(is_null: bool) -> Result {
    if is_null {
        return Err(Error::new(MPI_T_ERR_INVALID, "buf is a null pointer; pass an address"));
    }
    Ok(())
}

/// `MPI_T_pvar_read`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_SESSION`, `MPI_T_ERR_INVALID_HANDLE`, `MPI_T_ERR_INVALID`
pub fn t_pvar_read(pe_session: *mut c_void, handle: *mut c_void, buf: *mut c_void) -> Result {
    let handle = handle_of(pe_session, handle)?;
    buffer(buf.is_null())?;
    let value = handle.read();
    // SAFETY: the caller promises room for a value of the variable's datatype, aligned as C has that type.
    unsafe { Out::<u64>::new(buf.cast()) }.set(value);
    Ok(())
}

/// `MPI_T_pvar_write`
///
/// # Errors
/// As [`t_pvar_read`]; `MPI_T_ERR_PVAR_NO_WRITE`
pub fn t_pvar_write(pe_session: *mut c_void, handle: *mut c_void, buf: *const c_void) -> Result {
    let handle = handle_of(pe_session, handle)?;
    buffer(buf.is_null())?;
    handle.writable()?;
    // SAFETY: the caller promises a value of the variable's datatype, aligned as C has that type.
    let value = unsafe { In::<u64>::new(buf.cast()) }.get(0);
    handle.write(value);
    Ok(())
}

/// `MPI_T_pvar_reset`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_SESSION`, `MPI_T_ERR_INVALID_HANDLE`, `MPI_T_ERR_PVAR_NO_WRITE`
pub fn t_pvar_reset(pe_session: *mut c_void, handle: *mut c_void) -> Result {
    each(pe_session, handle, Handle::writable, Handle::reset)
}

/// `MPI_T_pvar_readreset`: what is counted meanwhile is in one of two values that follow each other.
///
/// # Errors
/// As [`t_pvar_read`]; `MPI_T_ERR_PVAR_NO_ATOMIC`
pub fn t_pvar_readreset(pe_session: *mut c_void, handle: *mut c_void, buf: *mut c_void) -> Result {
    let handle = handle_of(pe_session, handle)?;
    buffer(buf.is_null())?;
    let value = handle.take()?;
    // SAFETY: the caller promises room for the value that the variable had, aligned as C has its datatype.
    unsafe { Out::<u64>::new(buf.cast()) }.set(value);
    Ok(())
}
