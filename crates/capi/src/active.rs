//! The interface of active messages, `include/weft_am.h`.
//!
//! Written by hand: it is no part of the MPI standard.
#![allow(unsafe_code, missing_docs)] // C calls these functions, and their pointers are what C says they are.
#![allow(non_snake_case, clippy::missing_safety_doc)]

use crate::entry::{self, Object};
use core::ffi::{c_int, c_void};
use weft_base::abi;
use weft_base::arguments::{In, Out};
use weft_mpi::active;

/// Returns the object whose error handler hears of an error with a context.
fn object(context: c_int) -> Object {
    active::communicator(context).map_or(Object::None, Object::Communicator)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn Weft_am_init(comm: abi::Comm, context: *mut c_int) -> c_int {
    let _errno = weft_sched::begin_call(&"Weft_am_init");
    // SAFETY: the caller's pointer.
    let result = active::init(comm, unsafe { Out::new(context) });
    entry::finish("Weft_am_init", result, || Object::Communicator(comm))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn Weft_am_term(context: *mut c_int) -> c_int {
    let _errno = weft_sched::begin_call(&"Weft_am_term");
    // SAFETY: the caller's pointer.
    let context = unsafe { Out::new(context) };
    let before = if context.is_null() { Object::None } else { object(context.get_at(0)) };
    let result = active::term(context);
    entry::finish("Weft_am_term", result, || before)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn Weft_am_register_handler(
    context: c_int,
    handler: c_int,
    function: *const c_void,
) -> c_int {
    let _errno = weft_sched::begin_call(&"Weft_am_register_handler");
    let result = active::register_handler(context, handler, function);
    entry::finish("Weft_am_register_handler", result, || object(context))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn Weft_am_send(
    context: c_int,
    target: c_int,
    handler: c_int,
    header: *const c_void,
    header_length: usize,
    data: *const c_void,
    length: usize,
    target_counter: u64,
    origin_counter: *mut i64,
    completion_counter: *mut i64,
) -> c_int {
    let _errno = weft_sched::begin_call(&"Weft_am_send");
    // SAFETY: the caller's pointers.
    let counters = unsafe { [Out::new(origin_counter), Out::new(completion_counter)] };
    let result = active::send(
        context,
        target,
        handler,
        header,
        header_length,
        data,
        length,
        target_counter,
        counters[0],
        counters[1],
    );
    entry::finish("Weft_am_send", result, || object(context))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn Weft_am_put(
    context: c_int,
    target: c_int,
    length: usize,
    target_address: u64,
    origin_address: *const c_void,
    target_counter: u64,
    origin_counter: *mut i64,
    completion_counter: *mut i64,
) -> c_int {
    let _errno = weft_sched::begin_call(&"Weft_am_put");
    // SAFETY: the caller's pointers.
    let counters = unsafe { [Out::new(origin_counter), Out::new(completion_counter)] };
    let result = active::put(
        context,
        target,
        length,
        target_address,
        origin_address,
        target_counter,
        counters[0],
        counters[1],
    );
    entry::finish("Weft_am_put", result, || object(context))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn Weft_am_get(
    context: c_int,
    target: c_int,
    length: usize,
    target_address: u64,
    origin_address: *mut c_void,
    target_counter: u64,
    origin_counter: *mut i64,
) -> c_int {
    let _errno = weft_sched::begin_call(&"Weft_am_get");
    // SAFETY: the caller's pointer.
    let origin_counter = unsafe { Out::new(origin_counter) };
    let result =
        active::get(context, target, length, target_address, origin_address, target_counter, origin_counter);
    entry::finish("Weft_am_get", result, || object(context))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn Weft_am_rmw(
    context: c_int,
    operation: c_int,
    target: c_int,
    target_address: u64,
    input: *const i64,
    previous: *mut i64,
    origin_counter: *mut i64,
) -> c_int {
    let _errno = weft_sched::begin_call(&"Weft_am_rmw");
    // SAFETY: the caller's pointers.
    let (input, previous, counter) =
        unsafe { (In::new(input), Out::new(previous), Out::new(origin_counter)) };
    let result = active::rmw(context, operation, target, target_address, input, previous, counter);
    entry::finish("Weft_am_rmw", result, || object(context))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn Weft_am_setcntr(context: c_int, counter: *mut i64, value: i64) -> c_int {
    let _errno = weft_sched::begin_call(&"Weft_am_setcntr");
    // SAFETY: the caller's pointer.
    let result = active::setcntr(context, unsafe { Out::new(counter) }, value);
    entry::finish("Weft_am_setcntr", result, || object(context))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn Weft_am_getcntr(context: c_int, counter: *mut i64, value: *mut i64) -> c_int {
    let _errno = weft_sched::begin_call(&"Weft_am_getcntr");
    // SAFETY: the caller's pointers.
    let result = unsafe { active::getcntr(context, Out::new(counter), Out::new(value)) };
    entry::finish("Weft_am_getcntr", result, || object(context))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn Weft_am_waitcntr(
    context: c_int,
    counter: *mut i64,
    value: i64,
    current: *mut i64,
) -> c_int {
    let _errno = weft_sched::begin_call(&"Weft_am_waitcntr");
    // SAFETY: the caller's pointers.
    let result = unsafe { active::waitcntr(context, Out::new(counter), value, Out::new(current)) };
    entry::finish("Weft_am_waitcntr", result, || object(context))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn Weft_am_fence(context: c_int) -> c_int {
    let _errno = weft_sched::begin_call(&"Weft_am_fence");
    entry::finish("Weft_am_fence", active::fence(context), || object(context))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn Weft_am_gfence(context: c_int) -> c_int {
    let _errno = weft_sched::begin_call(&"Weft_am_gfence");
    entry::finish("Weft_am_gfence", active::gfence(context), || object(context))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn Weft_am_probe(context: c_int) -> c_int {
    let _errno = weft_sched::begin_call(&"Weft_am_probe");
    entry::finish("Weft_am_probe", active::probe(context), || object(context))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn Weft_am_address_of(memory: *const c_void) -> u64 {
    active::address(memory)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn Weft_am_address_init(context: c_int, mine: *const c_void, all: *mut u64) -> c_int {
    let _errno = weft_sched::begin_call(&"Weft_am_address_init");
    // SAFETY: the caller's array has an element for each rank.
    let result = active::address_init(context, mine, unsafe { Out::new(all) });
    entry::finish("Weft_am_address_init", result, || object(context))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn Weft_am_senv(context: c_int, query: c_int, value: c_int) -> c_int {
    let _errno = weft_sched::begin_call(&"Weft_am_senv");
    entry::finish("Weft_am_senv", active::senv(context, query, value), || object(context))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn Weft_am_qenv(context: c_int, query: c_int, value: *mut c_int) -> c_int {
    let _errno = weft_sched::begin_call(&"Weft_am_qenv");
    // SAFETY: the caller's pointer.
    let result = active::qenv(context, query, unsafe { Out::new(value) });
    entry::finish("Weft_am_qenv", result, || object(context))
}
