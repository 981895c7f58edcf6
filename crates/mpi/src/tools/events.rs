//! Events: which there are, registrations for them, and what an instance says.
#![allow(unsafe_code)] // Data goes out through pointers without a type.

use crate::environment::info;
use crate::tools::handles::Handles;
use crate::tools::listening::{Callback, Registration, level};
use crate::tools::state::{index, initialized};
use crate::tools::{binding, delivery, enumerations, strings};
use core::ffi::{c_char, c_int, c_void};
use std::sync::Arc;
use weft_base::constants::*;
use weft_base::tools::counters::Bound;
use weft_base::tools::events::{Event, Form, Instance};
use weft_base::{Error, In, Out, Result, abi};

fn find(event_index: c_int) -> Result<Event> {
    Ok(Event::ALL[index(event_index, Event::ALL.len(), "event_index")?])
}

fn bound(event: Event) -> Bound {
    if event.is_of_communicator() { Bound::Communicator } else { Bound::Rank }
}

fn size(form: Form) -> usize {
    match form {
        Form::Int => size_of::<c_int>(),
        Form::Count => size_of::<abi::Count>(),
    }
}

/// Returns where each word is in what `MPI_T_event_copy` copies.
fn displacements(event: Event) -> impl Iterator<Item = (usize, Form)> {
    event.elements().iter().scan(0usize, |end, &(.., form)| {
        let begin = end.next_multiple_of(size(form));
        *end = begin + size(form);
        Some((begin, form))
    })
}

fn description(event: Event) -> String {
    let words: Vec<String> =
        event.elements().iter().map(|(name, meaning, _)| format!("{name}: {meaning}")).collect();
    let text = format!("{}. {}", event.help(), words.join("; "));
    match event {
        Event::CollectiveBegun | Event::CollectiveEnded => {
            let call = |call: &weft_coll::Call| format!("{} {}", *call as c_int, call.name());
            let program = |call: &&weft_coll::Call| call.is_of_program();
            let calls: Vec<String> = weft_coll::Call::ALL.iter().filter(program).map(call).collect();
            format!("{text}: {}", calls.join(", "))
        }
        _ => text,
    }
}

/// Checks an info argument, whose hints are ignored: there are none that the interface knows.
///
/// # Errors
/// `MPI_T_ERR_INVALID_HANDLE`
fn ignored(hints: abi::Info) -> Result {
    info::optional(hints).map_err(|error| Error::new(MPI_T_ERR_INVALID_HANDLE, error.message.clone()))?;
    Ok(())
}

/// Returns an info object without hints, if one is asked for.
///
/// # Errors
/// `MPI_T_ERR_INVALID` for a null pointer where there must be none.
pub(super) fn no_hints(hints: Out<abi::Info>, name: &str) -> Result {
    strings::output(hints, name)?;
    info::info_create(hints)
}

/// `MPI_T_event_get_num`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID`
pub fn t_event_get_num(num_events: Out<c_int>) -> Result {
    initialized()?;
    strings::output(num_events, "num_events")?;
    num_events.set(Event::ALL.len() as c_int);
    Ok(())
}

/// `MPI_T_event_get_info`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_INDEX`, `MPI_T_ERR_INVALID`
#[allow(clippy::too_many_arguments)]
pub fn t_event_get_info(
    event_index: c_int,
    name: Out<c_char>,
    name_len: Out<c_int>,
    verbosity: Out<c_int>,
    array_of_datatypes: Out<abi::Datatype>,
    array_of_displacements: Out<abi::Aint>,
    num_elements: Out<c_int>,
    enumtype: Out<*mut c_void>,
    info: Out<abi::Info>,
    desc: Out<c_char>,
    desc_len: Out<c_int>,
    bind: Out<c_int>,
) -> Result {
    initialized()?;
    let event = find(event_index)?;
    if !num_elements.is_null() {
        let given = num_elements.get_at(0);
        let Ok(room) = usize::try_from(given) else {
            let text = format!("num_elements is {given}; it must not be negative");
            return Err(Error::new(MPI_T_ERR_INVALID, text));
        };
        for (place, (displacement, form)) in displacements(event).enumerate().take(room) {
            if !array_of_datatypes.is_null() {
                array_of_datatypes.set_at(place, if form == Form::Int { MPI_INT } else { MPI_COUNT });
            }
            if !array_of_displacements.is_null() {
                array_of_displacements.set_at(place, displacement as abi::Aint);
            }
        }
        num_elements.set(event.elements().len() as c_int);
    }
    strings::give(event.name(), name, name_len, "name")?;
    strings::give(&description(event), desc, desc_len, "desc")?;
    verbosity.set(match event {
        Event::RankParked => MPI_T_VERBOSITY_TUNER_DETAIL,
        _ => MPI_T_VERBOSITY_USER_DETAIL,
    });
    enumtype.set(enumerations::of_event(event));
    bind.set(binding::constant(bound(event)));
    if !info.is_null() {
        no_hints(info, "info")?;
    }
    Ok(())
}

/// `MPI_T_event_get_index`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_NAME`, `MPI_T_ERR_INVALID`
pub fn t_event_get_index(name: In<c_char>, event_index: Out<c_int>) -> Result {
    initialized()?;
    let position = |name: &str| Event::ALL.iter().position(|event| event.name() == name);
    strings::find(name, event_index, "event_index", position)
}

/// `MPI_T_event_handle_alloc`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_INDEX`, `MPI_T_ERR_INVALID_HANDLE`, `MPI_T_ERR_INVALID`
pub fn t_event_handle_alloc(
    event_index: c_int,
    obj_handle: *mut c_void,
    info: abi::Info,
    event_registration: Out<*mut c_void>,
) -> Result {
    let (process, tools) = initialized()?;
    let event = find(event_index)?;
    strings::output(event_registration, "event_registration")?;
    ignored(info)?;
    let object = binding::number(process, bound(event), obj_handle)?;
    let object = Some(object).filter(|_| event.is_of_communicator());
    let number = Handles::<Registration>::number();
    let registration = Arc::new(Registration::new(number, event, process, object));
    event_registration.set(tools.registrations.insert_as(number, registration));
    Ok(())
}

/// `MPI_T_event_handle_free`: the function is called when no other of the registration's is running.
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_HANDLE`
pub fn t_event_handle_free(
    event_registration: *mut c_void,
    user_data: *mut c_void,
    free_cb_function: abi::Callback,
) -> Result {
    let (_, tools) = initialized()?;
    let registration = tools.registrations.remove(event_registration)?;
    let last = Callback { function: free_cb_function as usize, user_data: user_data as usize };
    registration.end(Some(last).filter(|_| !free_cb_function.is_null()));
    Ok(())
}

/// `MPI_T_event_handle_set_info`: there are no hints.
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_HANDLE`
pub fn t_event_handle_set_info(event_registration: *mut c_void, info: abi::Info) -> Result {
    let (_, tools) = initialized()?;
    tools.registrations.get(event_registration)?;
    ignored(info)
}

/// `MPI_T_event_handle_get_info`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_HANDLE`, `MPI_T_ERR_INVALID`
pub fn t_event_handle_get_info(event_registration: *mut c_void, info_used: Out<abi::Info>) -> Result {
    let (_, tools) = initialized()?;
    tools.registrations.get(event_registration)?;
    no_hints(info_used, "info_used")
}

/// `MPI_T_event_register_callback`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_HANDLE`, `MPI_T_ERR_INVALID`
pub fn t_event_register_callback(
    event_registration: *mut c_void,
    cb_safety: c_int,
    info: abi::Info,
    user_data: *mut c_void,
    event_cb_function: abi::Callback,
) -> Result {
    let (_, tools) = initialized()?;
    let registration = tools.registrations.get(event_registration)?;
    let level = level(cb_safety)?;
    ignored(info)?;
    let callback = Callback { function: event_cb_function as usize, user_data: user_data as usize };
    registration.register(level, Some(callback).filter(|_| !event_cb_function.is_null()));
    Ok(())
}

/// `MPI_T_event_callback_set_info`: there are no hints.
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_HANDLE`, `MPI_T_ERR_INVALID`
pub fn t_event_callback_set_info(
    event_registration: *mut c_void,
    cb_safety: c_int,
    info: abi::Info,
) -> Result {
    let (_, tools) = initialized()?;
    tools.registrations.get(event_registration)?;
    level(cb_safety)?;
    ignored(info)
}

/// `MPI_T_event_callback_get_info`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_HANDLE`, `MPI_T_ERR_INVALID`
pub fn t_event_callback_get_info(
    event_registration: *mut c_void,
    cb_safety: c_int,
    info_used: Out<abi::Info>,
) -> Result {
    let (_, tools) = initialized()?;
    tools.registrations.get(event_registration)?;
    level(cb_safety)?;
    no_hints(info_used, "info_used")
}

/// `MPI_T_event_set_dropped_handler`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_HANDLE`
pub fn t_event_set_dropped_handler(
    event_registration: *mut c_void,
    dropped_cb_function: abi::Callback,
) -> Result {
    let (_, tools) = initialized()?;
    let registration = tools.registrations.get(event_registration)?;
    registration.set_dropped(Some(dropped_cb_function as usize).filter(|_| !dropped_cb_function.is_null()));
    Ok(())
}

/// Finds the instance that a callback is being told.
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_HANDLE`
fn instance(event_instance: *mut c_void) -> Result<Instance> {
    let (_, tools) = initialized()?;
    let current = tools.current.lock();
    match *current {
        Some((handle, instance)) if handle == event_instance as usize => Ok(instance),
        _ => {
            let text = format!(
                "event_instance is {:#x}, which is not what a callback is called with now",
                event_instance as usize
            );
            Err(Error::new(MPI_T_ERR_INVALID_HANDLE, text))
        }
    }
}

/// Stores a word of an instance.
///
/// # Safety
/// There is room for a value of the form, aligned as C has the type.
unsafe fn store(word: i64, form: Form, address: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe {
        match form {
            Form::Int => Out::<c_int>::new(address.cast()).set(word as c_int),
            Form::Count => Out::<abi::Count>::new(address.cast()).set(word as abi::Count),
        }
    }
}

fn buffer_there(buffer: *mut c_void) -> Result {
    if buffer.is_null() {
        return Err(Error::new(MPI_T_ERR_INVALID, "buffer is a null pointer; pass an address"));
    }
    Ok(())
}

/// `MPI_T_event_read`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_HANDLE`, `MPI_T_ERR_INVALID_INDEX`, `MPI_T_ERR_INVALID`
pub fn t_event_read(event_instance: *mut c_void, element_index: c_int, buffer: *mut c_void) -> Result {
    let instance = instance(event_instance)?;
    let elements = instance.event.elements();
    let element = index(element_index, elements.len(), "element_index")?;
    buffer_there(buffer)?;
    // SAFETY: the caller promises room for an element of the datatype that the event type says.
    unsafe { store(instance.words[element], elements[element].2, buffer.cast()) };
    Ok(())
}

/// `MPI_T_event_copy`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_HANDLE`, `MPI_T_ERR_INVALID`
pub fn t_event_copy(event_instance: *mut c_void, buffer: *mut c_void) -> Result {
    let instance = instance(event_instance)?;
    buffer_there(buffer)?;
    for ((displacement, form), &word) in displacements(instance.event).zip(&instance.words) {
        // SAFETY: the caller promises room up to the last element, at an address aligned for the longest.
        unsafe { store(word, form, buffer.cast::<u8>().add(displacement)) };
    }
    Ok(())
}

/// `MPI_T_event_get_timestamp`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_HANDLE`, `MPI_T_ERR_INVALID`
pub fn t_event_get_timestamp(event_instance: *mut c_void, event_timestamp: Out<abi::Count>) -> Result {
    let instance = instance(event_instance)?;
    strings::output(event_timestamp, "event_timestamp")?;
    event_timestamp.set(instance.time as abi::Count);
    Ok(())
}

/// `MPI_T_event_get_source`
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`, `MPI_T_ERR_INVALID_HANDLE`, `MPI_T_ERR_INVALID`
pub fn t_event_get_source(event_instance: *mut c_void, source_index: Out<c_int>) -> Result {
    let instance = instance(event_instance)?;
    strings::output(source_index, "source_index")?;
    source_index.set(delivery::source_index(instance.event.source()));
    Ok(())
}
