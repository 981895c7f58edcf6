//! Info objects (chapter 10): ordered sets of string keys and values.

use crate::arguments::check;
use crate::arguments::strings;
use crate::process::host;
use crate::process::{NOT_INITIALIZED, Process};
use core::ffi::{c_char, c_int};
use std::sync::Arc;
use weft_base::constants::*;
use weft_base::{Error, In, Out, Result, abi};
use weft_sync::Lock;

/// Keys and values in the order in which keys were first set.
#[derive(Default)]
pub struct Info(Lock<Vec<(String, String)>>);

impl Info {
    /// Returns a copy of the pairs.
    pub fn pairs(&self) -> Vec<(String, String)> {
        self.0.lock().clone()
    }

    /// Creates an object with these pairs.
    pub fn new(pairs: Vec<(String, String)>) -> Self {
        Self(Lock::new(pairs))
    }

    fn get(&self, key: &str) -> Option<String> {
        self.0.lock().iter().find(|(k, _)| k == key).map(|(_, v)| v.clone())
    }
}

/// Returns the info object of a handle; `MPI_INFO_NULL` is refused.
fn find(handle: abi::Info) -> Result<Arc<Info>> {
    let process = Process::any();
    match handle {
        MPI_INFO_ENV if process.phase() == NOT_INITIALIZED => {
            let text = "info is MPI_INFO_ENV, which is valid after MPI_Init only; MPI_Info_create_env gives the same before";
            Err(Error::new(MPI_ERR_INFO, text))
        }
        MPI_INFO_ENV => Ok(process.environment_info.get_or_init(|| Arc::new(environment(None))).clone()),
        _ => process.infos.get(handle.0),
    }
}

/// Returns the info object of a handle that is to be changed.
fn find_mutable(handle: abi::Info) -> Result<Arc<Info>> {
    if handle == MPI_INFO_ENV {
        return Err(Error::new(
            MPI_ERR_INFO,
            "info is MPI_INFO_ENV, which cannot be changed; duplicate it first",
        ));
    }
    find(handle)
}

/// Returns the pairs of an optional info argument: none for `MPI_INFO_NULL`.
///
/// # Errors
/// `MPI_ERR_INFO`
pub fn optional(handle: abi::Info) -> Result<Vec<(String, String)>> {
    if handle == MPI_INFO_NULL { Ok(Vec::new()) } else { Ok(find(handle)?.pairs()) }
}

/// Returns the pairs of an info argument that must be there.
///
/// # Errors
/// `MPI_ERR_INFO`
pub fn required(handle: abi::Info) -> Result<Vec<(String, String)>> {
    Ok(find(handle)?.pairs())
}

/// Stores a pair in an info argument that the library may write to; nothing for `MPI_INFO_NULL` and `MPI_INFO_ENV`.
pub(crate) fn store(handle: abi::Info, key: &str, value: &str) {
    if handle == MPI_INFO_ENV {
        return;
    }
    if let Ok(object) = find(handle) {
        let mut pairs = object.0.lock();
        pairs.retain(|(k, _)| k != key);
        pairs.push((key.to_owned(), value.to_owned()));
    }
}

/// Tells how the program was started. `arguments` are those the program says it has.
fn environment(arguments: Option<Vec<String>>) -> Info {
    let mut pairs = host::host().launch_info(Process::any().world_rank);
    if let Some((command, rest)) = arguments.as_deref().and_then(<[String]>::split_first) {
        pairs.retain(|(key, _)| key != "command" && key != "argv");
        pairs.insert(0, ("command".into(), command.clone()));
        pairs.insert(1, ("argv".into(), rest.join(" ")));
    }
    pairs.push(("host".into(), host::host().name()));
    pairs.push(("arch".into(), std::env::consts::ARCH.into()));
    if let Ok(directory) = std::env::current_dir() {
        pairs.push(("wdir".into(), directory.to_string_lossy().into_owned()));
    }
    Info::new(pairs)
}

fn key_argument(key: In<c_char>) -> Result<String> {
    let key = strings::read(key, "key")?;
    let length = strings::length(&key);
    if length == 0 || length >= MPI_MAX_INFO_KEY as usize {
        let text = format!("key has {length} characters; it must have 1 to {}", MPI_MAX_INFO_KEY - 1);
        return Err(Error::new(MPI_ERR_INFO_KEY, text));
    }
    Ok(key)
}

/// `MPI_Info_create`
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn info_create(info: Out<abi::Info>) -> Result {
    check::output(info, "info")?;
    info.set(abi::Info(Process::any().infos.insert(Arc::new(Info::default()))));
    Ok(())
}

/// `MPI_Info_set`
///
/// # Errors
/// `MPI_ERR_INFO`, `MPI_ERR_INFO_KEY`, `MPI_ERR_INFO_VALUE`
pub fn info_set(info: abi::Info, key: In<c_char>, value: In<c_char>) -> Result {
    let key = key_argument(key)?;
    let value = strings::read(value, "value")?;
    let length = strings::length(&value);
    if length >= MPI_MAX_INFO_VAL as usize {
        let text = format!("value has {length} characters; {} fit", MPI_MAX_INFO_VAL - 1);
        return Err(Error::new(MPI_ERR_INFO_VALUE, text));
    }
    let object = find_mutable(info)?;
    let mut pairs = object.0.lock();
    match pairs.iter_mut().find(|(k, _)| *k == key) {
        Some((_, old)) => *old = value,
        None => pairs.push((key, value)),
    }
    Ok(())
}

/// `MPI_Info_delete`
///
/// # Errors
/// `MPI_ERR_INFO`, `MPI_ERR_INFO_KEY`, `MPI_ERR_INFO_NOKEY`
pub fn info_delete(info: abi::Info, key: In<c_char>) -> Result {
    let key = key_argument(key)?;
    let object = find_mutable(info)?;
    let mut pairs = object.0.lock();
    let before = pairs.len();
    pairs.retain(|(k, _)| *k != key);
    if pairs.len() == before {
        return Err(Error::new(
            MPI_ERR_INFO_NOKEY,
            format!("key is \"{key}\", which the info object does not have"),
        ));
    }
    Ok(())
}

/// `MPI_Info_get_string`: `buflen` is the size of `value` on entry, the size needed (with NUL) on return.
///
/// # Errors
/// `MPI_ERR_INFO`, `MPI_ERR_INFO_KEY`, `MPI_ERR_ARG`
pub fn info_get_string(
    info: abi::Info,
    key: In<c_char>,
    buflen: Out<c_int>,
    value: Out<c_char>,
    flag: Out<c_int>,
) -> Result {
    check::output(buflen, "buflen")?;
    check::output(flag, "flag")?;
    let key = key_argument(key)?;
    let found = find(info)?.get(&key);
    flag.set(c_int::from(found.is_some()));
    if let Some(found) = found {
        let room = check::length(buflen.get_at(0), "buflen")?;
        if room > 0 {
            check::output(value, "value")?;
            strings::write(&found, value, room, buflen);
        }
        buflen.set(strings::length(&found) as c_int + 1);
    }
    Ok(())
}

/// `MPI_Info_get` (deprecated): `valuelen` is the number of characters without NUL that `value` can take.
///
/// # Errors
/// As [`info_get_string`].
pub fn info_get(
    info: abi::Info,
    key: In<c_char>,
    valuelen: c_int,
    value: Out<c_char>,
    flag: Out<c_int>,
) -> Result {
    check::output(flag, "flag")?;
    let key = key_argument(key)?;
    let room = check::length(valuelen, "valuelen")?;
    let found = find(info)?.get(&key);
    flag.set(c_int::from(found.is_some()));
    if let Some(found) = found {
        check::output(value, "value")?;
        let mut length = 0;
        strings::write(&found, value, room + 1, length_of(&mut length));
    }
    Ok(())
}

#[allow(unsafe_code)]
fn length_of(length: &mut c_int) -> Out<c_int> {
    // SAFETY: the reference is valid for the call it is passed to.
    unsafe { Out::new(length) }
}

/// `MPI_Info_get_valuelen` (deprecated)
///
/// # Errors
/// As [`info_get_string`].
pub fn info_get_valuelen(info: abi::Info, key: In<c_char>, valuelen: Out<c_int>, flag: Out<c_int>) -> Result {
    check::output(valuelen, "valuelen")?;
    check::output(flag, "flag")?;
    let found = find(info)?.get(&key_argument(key)?);
    flag.set(c_int::from(found.is_some()));
    if let Some(found) = found {
        valuelen.set(strings::length(&found) as c_int);
    }
    Ok(())
}

/// `MPI_Info_get_nkeys`
///
/// # Errors
/// `MPI_ERR_INFO`, `MPI_ERR_ARG`
pub fn info_get_nkeys(info: abi::Info, nkeys: Out<c_int>) -> Result {
    check::output(nkeys, "nkeys")?;
    nkeys.set(find(info)?.0.lock().len() as c_int);
    Ok(())
}

/// `MPI_Info_get_nthkey`
///
/// # Errors
/// `MPI_ERR_INFO`, `MPI_ERR_ARG` for a number out of range.
pub fn info_get_nthkey(info: abi::Info, n: c_int, key: Out<c_char>) -> Result {
    check::output(key, "key")?;
    let object = find(info)?;
    let pairs = object.0.lock();
    let Some((name, _)) = usize::try_from(n).ok().and_then(|n| pairs.get(n)) else {
        return Err(Error::new(MPI_ERR_ARG, format!("n is {n}; the info object has {} keys", pairs.len())));
    };
    let mut length = 0;
    strings::write(name, key, MPI_MAX_INFO_KEY as usize, length_of(&mut length));
    Ok(())
}

/// `MPI_Info_dup`
///
/// # Errors
/// `MPI_ERR_INFO`, `MPI_ERR_ARG`
pub fn info_dup(info: abi::Info, newinfo: Out<abi::Info>) -> Result {
    check::output(newinfo, "newinfo")?;
    let copy = Info::new(find(info)?.pairs());
    newinfo.set(abi::Info(Process::any().infos.insert(Arc::new(copy))));
    Ok(())
}

/// `MPI_Info_free`
///
/// # Errors
/// `MPI_ERR_INFO`, `MPI_ERR_ARG`
pub fn info_free(info: Out<abi::Info>) -> Result {
    check::output(info, "info")?;
    let handle = info.get_at(0);
    find_mutable(handle)?;
    Process::any().infos.remove(handle.0)?;
    info.set(MPI_INFO_NULL);
    Ok(())
}

/// `MPI_Info_create_env`: `argv` has `argc` elements, or is null.
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn info_create_env(argc: c_int, argv: In<*mut c_char>, info: Out<abi::Info>) -> Result {
    check::output(info, "info")?;
    let length = if argv.is_null() { 0 } else { check::length(argc, "argc")? };
    let argument = |pointer: *mut c_char| strings::read(pointer_argument(pointer), "an element of argv");
    let arguments = argv.to_vec(length).into_iter().map(argument).collect::<Result<Vec<String>>>()?;
    let described = environment((!arguments.is_empty()).then_some(arguments));
    info.set(abi::Info(Process::any().infos.insert(Arc::new(described))));
    Ok(())
}

#[allow(unsafe_code)]
fn pointer_argument(pointer: *mut c_char) -> In<c_char> {
    // SAFETY: an element of the program's `argv`: null or a string.
    unsafe { In::new(pointer) }
}
