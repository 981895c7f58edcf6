//! Procedures of the user: operations, error handlers, generalized requests, data representations.
//!
//! C calls functions of this module, with a word that leads to Fortran's procedures.
//!
//! Unsafe because it calls the user's procedures.
#![allow(unsafe_code)]

use super::predefined;
use crate::c;
use crate::convert::store_code;
use crate::handles::{Comm, Datatype, Errhandler, File, Kind, Op, Request, Session, Win};
use core::ffi::{c_int, c_void};

type Foreign = unsafe extern "C" fn(usize, *mut c_void, *mut c_void, i64, usize);

unsafe extern "C" {
    fn weft_fortran_op(function: Foreign, word: usize, commute: c_int, op: *mut usize) -> c_int;
    fn weft_fortran_errhandler(
        kind: c_int,
        function: *const c_void,
        word: usize,
        errhandler: *mut usize,
    ) -> c_int;
}

/// `MPI_User_function` of Fortran, in both forms of its length.
type Small = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut c_int);
type Large = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut i64, *mut c_int);

/// Calls an operation whose length is an `INTEGER`: more elements go to it in several calls.
unsafe extern "C" fn operate(
    word: usize,
    invec: *mut c_void,
    inoutvec: *mut c_void,
    count: i64,
    datatype: usize,
) {
    let mut number = Datatype::number(datatype);
    let (mut low, mut extent) = (0, 0);
    if count > c_int::MAX.into() {
        // SAFETY: C stores into variables.
        unsafe { c::PMPI_Type_get_extent_c(datatype, &mut low, &mut extent) };
    }
    let mut done = 0;
    while done < count {
        let part = (count - done).min(c_int::MAX.into());
        let mut length = part as c_int;
        let at = (done * extent) as isize;
        // SAFETY: the word is the procedure's address, and the vectors have that many elements.
        unsafe {
            let function = core::mem::transmute::<usize, Small>(word);
            function(
                invec.wrapping_byte_offset(at),
                inoutvec.wrapping_byte_offset(at),
                &mut length,
                &mut number,
            );
        }
        done += part;
    }
}

/// Calls an operation whose length is a large count.
unsafe extern "C" fn operate_large(
    word: usize,
    invec: *mut c_void,
    inoutvec: *mut c_void,
    count: i64,
    datatype: usize,
) {
    let (mut number, mut length) = (Datatype::number(datatype), count);
    // SAFETY: the word is the address of a procedure of this type.
    unsafe { core::mem::transmute::<usize, Large>(word)(invec, inoutvec, &mut length, &mut number) }
}

unsafe fn create_op(
    function: Foreign,
    procedure: *const c_void,
    commute: *const c_int,
    op: *mut c_int,
    ierror: *mut c_int,
) {
    let mut handle = 0;
    // SAFETY: the function takes the procedure's address; variables of the entry's caller.
    unsafe {
        let code = weft_fortran_op(function, procedure as usize, *commute, &mut handle);
        if code == 0 {
            *op = Op::number(handle);
        }
        store_code(ierror, code);
    }
}

/// `MPI_Op_create`
pub(crate) unsafe fn op_create(
    procedure: *const c_void,
    commute: *const c_int,
    op: *mut c_int,
    ierror: *mut c_int,
) {
    // SAFETY: what the entry's caller has passed.
    unsafe { create_op(operate, procedure, commute, op, ierror) }
}

/// `MPI_Op_create_c`
pub(crate) unsafe fn op_create_c(
    procedure: *const c_void,
    commute: *const c_int,
    op: *mut c_int,
    ierror: *mut c_int,
) {
    // SAFETY: passed by the caller of the entry for large counts.
    unsafe { create_op(operate_large, procedure, commute, op, ierror) }
}

/// `COMM_ERRHANDLER_FUNCTION` and its siblings.
type Handler = unsafe extern "C" fn(*mut c_int, *mut c_int);

macro_rules! error_handlers {
    ($($kind:ident = $number:literal: $call:ident $create:ident),* $(,)?) => {$(
        unsafe extern "C" fn $call(word: usize, object: usize, code: *mut c_int) {
            let mut number = $kind::number(object);
            // SAFETY: the word is the procedure's address; the code is C's variable.
            unsafe { core::mem::transmute::<usize, Handler>(word)(&mut number, code) }
        }
        pub(crate) unsafe fn $create(procedure: *const c_void, errhandler: *mut c_int, ierror: *mut c_int) {
            let mut handle = 0;
            // SAFETY: the function takes the address of a procedure; variables of the entry's caller.
            unsafe {
                let function = $call as *const c_void;
                let code = weft_fortran_errhandler($number, function, procedure as usize, &mut handle);
                if code == 0 {
                    *errhandler = Errhandler::number(handle);
                }
                store_code(ierror, code);
            }
        }
    )*};
}

error_handlers! {
    Comm = 0: handle_comm comm_create_errhandler,
    Win = 1: handle_win win_create_errhandler,
    File = 2: handle_file file_create_errhandler,
    Session = 3: handle_session session_create_errhandler,
}

/// The procedures of a generalized request.
struct Generalized {
    query: unsafe extern "C" fn(*mut isize, *mut c_int, *mut c_int),
    free: unsafe extern "C" fn(*mut isize, *mut c_int),
    cancel: unsafe extern "C" fn(*mut isize, *mut c_int, *mut c_int),
    extra_state: isize,
}

unsafe extern "C" fn query(request: *mut Generalized, status: *mut c_int) -> c_int {
    let mut code = 0;
    // SAFETY: the request's own procedures, until it is freed; the status is C's variable.
    unsafe { ((*request).query)(&raw mut (*request).extra_state, status, &mut code) };
    code
}

unsafe extern "C" fn free(request: *mut Generalized) -> c_int {
    let mut code = 0;
    // SAFETY: called once, at the end of the request.
    unsafe {
        let mut request = Box::from_raw(request);
        (request.free)(&mut request.extra_state, &mut code);
    }
    code
}

unsafe extern "C" fn cancel(request: *mut Generalized, complete: c_int) -> c_int {
    let (mut complete, mut code) = (c_int::from(complete != 0), 0);
    // SAFETY: the procedures of a request that is not freed yet.
    unsafe { ((*request).cancel)(&raw mut (*request).extra_state, &mut complete, &mut code) };
    code
}

/// `MPI_Grequest_start`
pub(crate) unsafe fn grequest_start(
    query_fn: *const c_void,
    free_fn: *const c_void,
    cancel_fn: *const c_void,
    extra_state: *mut isize,
    request: *mut c_int,
    ierror: *mut c_int,
) {
    let mut handle = 0;
    // SAFETY: procedures of these types, and variables, of the entry's caller.
    unsafe {
        let generalized = Box::into_raw(Box::new(Generalized {
            query: core::mem::transmute::<
                *const c_void,
                unsafe extern "C" fn(*mut isize, *mut c_int, *mut c_int),
            >(query_fn),
            free: core::mem::transmute::<*const c_void, unsafe extern "C" fn(*mut isize, *mut c_int)>(
                free_fn,
            ),
            cancel: core::mem::transmute::<
                *const c_void,
                unsafe extern "C" fn(*mut isize, *mut c_int, *mut c_int),
            >(cancel_fn),
            extra_state: *extra_state,
        }));
        let code = c::PMPI_Grequest_start(
            query as *const c_void,
            free as *const c_void,
            cancel as *const c_void,
            generalized.cast(),
            &mut handle,
        );
        if code == 0 {
            *request = Request::number(handle);
        } else {
            drop(Box::from_raw(generalized));
        }
        store_code(ierror, code);
    }
}

/// The procedures of a data representation; they stay as long as the rank.
struct Representation {
    read: *const c_void,
    write: *const c_void,
    extent: unsafe extern "C" fn(*mut c_int, *mut isize, *mut isize, *mut c_int),
    extra_state: isize,
}

/// `DATAREP_CONVERSION_FUNCTION`, in both forms of its count.
type Conversion =
    unsafe extern "C" fn(*mut c_void, *mut c_int, *mut c_int, *mut c_void, *mut i64, *mut isize, *mut c_int);
type LargeConversion =
    unsafe extern "C" fn(*mut c_void, *mut c_int, *mut i64, *mut c_void, *mut i64, *mut isize, *mut c_int);

macro_rules! conversions {
    ($($name:ident: $field:ident $type:ident $count:ty),* $(,)?) => {$(
        unsafe extern "C" fn $name(
            userbuf: *mut c_void,
            datatype: usize,
            mut count: $count,
            filebuf: *mut c_void,
            mut position: i64,
            representation: *mut Representation,
        ) -> c_int {
            let (mut number, mut code) = (Datatype::number(datatype), 0);
            // SAFETY: the representation's own procedure, of this type.
            unsafe {
                let representation = &mut *representation;
                let convert = core::mem::transmute::<*const c_void, $type>(representation.$field);
                let state = &mut representation.extra_state;
                convert(userbuf, &mut number, &mut count, filebuf, &mut position, state, &mut code);
            }
            code
        }
    )*};
}

conversions! {
    read: read Conversion c_int,
    write: write Conversion c_int,
    read_large: read LargeConversion i64,
    write_large: write LargeConversion i64,
}

unsafe extern "C" fn extent(
    datatype: usize,
    extent: *mut isize,
    representation: *mut Representation,
) -> c_int {
    let (mut number, mut code) = (Datatype::number(datatype), 0);
    // SAFETY: the procedure of this representation; the extent is C's variable.
    unsafe {
        let representation = &mut *representation;
        (representation.extent)(&mut number, extent, &mut representation.extra_state, &mut code);
    }
    code
}

/// Makes what C takes of a representation's procedures: the functions for reading and writing, and the word.
unsafe fn represent(
    procedures: [*const c_void; 3],
    functions: [*const c_void; 2],
    extra_state: isize,
) -> ([*const c_void; 2], *mut c_void) {
    let [read, write, extent] = procedures;
    // SAFETY: the caller's promise of the third procedure's type.
    let extent = unsafe {
        core::mem::transmute::<
            *const c_void,
            unsafe extern "C" fn(*mut c_int, *mut isize, *mut isize, *mut c_int),
        >(extent)
    };
    let representation = Box::into_raw(Box::new(Representation { read, write, extent, extra_state }));
    let chosen = |procedure: *const c_void, function: *const c_void| {
        if predefined::is_no_conversion(procedure) { core::ptr::null() } else { function }
    };
    ([chosen(read, functions[0]), chosen(write, functions[1])], representation.cast())
}

/// `MPI_Register_datarep`
#[allow(clippy::too_many_arguments)]
pub(crate) unsafe fn register_datarep(
    datarep: *const u8,
    read_fn: *const c_void,
    write_fn: *const c_void,
    extent_fn: *const c_void,
    extra_state: *mut isize,
    ierror: *mut c_int,
    datarep_length: usize,
) {
    // SAFETY: a text, procedures and a word of the entry's caller.
    unsafe {
        let text = crate::texts::Text::trimmed(datarep, datarep_length);
        let functions = [read as *const c_void, write as *const c_void];
        let ([read, write], word) = represent([read_fn, write_fn, extent_fn], functions, *extra_state);
        let code = c::PMPI_Register_datarep(text.address(), read, write, extent as *const c_void, word);
        store_code(ierror, code);
    }
}

/// `MPI_Register_datarep_c`
#[allow(clippy::too_many_arguments)]
pub(crate) unsafe fn register_datarep_c(
    datarep: *const u8,
    read_fn: *const c_void,
    write_fn: *const c_void,
    extent_fn: *const c_void,
    extra_state: *mut isize,
    ierror: *mut c_int,
    datarep_length: usize,
) {
    // SAFETY: of the caller of the entry for large counts: a text, procedures, a word.
    unsafe {
        let text = crate::texts::Text::trimmed(datarep, datarep_length);
        let functions = [read_large as *const c_void, write_large as *const c_void];
        let ([read, write], word) = represent([read_fn, write_fn, extent_fn], functions, *extra_state);
        let code = c::PMPI_Register_datarep_c(text.address(), read, write, extent as *const c_void, word);
        store_code(ierror, code);
    }
}
