//! Functions of the user: operations, error handlers, generalized requests, data representations.
//!
//! C calls functions of this module, with a word that leads to the user's.
//!
//! Unsafe because it calls the user's functions.
#![allow(unsafe_code)]

use crate::abi::{Abi, Handle, StatusLayout};
use crate::c;
use core::ffi::{c_int, c_void};
use weft_base::abi::Status;

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

/// `MPI_User_function` and `MPI_User_function_c`
type Small<D> = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut D);
type Large<D> = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut i64, *mut D);

/// Calls an operation whose length is an `int`: more elements go to it in several calls.
unsafe extern "C" fn operate<A: Abi>(
    word: usize,
    invec: *mut c_void,
    inoutvec: *mut c_void,
    count: i64,
    datatype: usize,
) {
    let mut theirs = A::Datatype::theirs(datatype);
    let (mut low, mut extent) = (0, 0);
    if count > c_int::MAX.into() {
        // SAFETY: C stores into variables.
        unsafe { c::MPI_Type_get_extent_c(datatype, &mut low, &mut extent) };
    }
    let mut done = 0;
    while done < count {
        let part = (count - done).min(c_int::MAX.into());
        let mut length = part as c_int;
        let at = (done * extent) as isize;
        // SAFETY: the word is the function's address, and the vectors have that many elements.
        unsafe {
            let function = core::mem::transmute::<usize, Small<A::Datatype>>(word);
            function(
                invec.wrapping_byte_offset(at),
                inoutvec.wrapping_byte_offset(at),
                &mut length,
                &mut theirs,
            );
        }
        done += part;
    }
}

/// Calls an operation whose length is a large count.
unsafe extern "C" fn operate_large<A: Abi>(
    word: usize,
    invec: *mut c_void,
    inoutvec: *mut c_void,
    count: i64,
    datatype: usize,
) {
    let (mut theirs, mut length) = (A::Datatype::theirs(datatype), count);
    // SAFETY: the word is the address of a function of this type.
    unsafe {
        core::mem::transmute::<usize, Large<A::Datatype>>(word)(invec, inoutvec, &mut length, &mut theirs);
    }
}

unsafe fn create_op<A: Abi>(
    function: Foreign,
    user_fn: *const c_void,
    commute: c_int,
    op: *mut A::Op,
) -> c_int {
    // SAFETY: a null pointer is what the standard's function refuses; the other takes the user's function as its word.
    let code = unsafe {
        let mut handle = 0;
        let code = if user_fn.is_null() || op.is_null() {
            let place = if op.is_null() { core::ptr::null_mut() } else { &raw mut handle };
            c::MPI_Op_create(user_fn, commute, place)
        } else {
            weft_fortran_op(function, user_fn as usize, commute, &mut handle)
        };
        if code == 0 {
            *op = A::Op::theirs(handle);
        }
        code
    };
    A::error_theirs(code)
}

/// `MPI_Op_create`
///
/// # Safety
/// As the interface says.
pub unsafe fn op_create<A: Abi>(user_fn: *const c_void, commute: c_int, op: *mut A::Op) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { create_op::<A>(operate::<A>, user_fn, commute, op) }
}

/// `MPI_Op_create_c`
///
/// # Safety
/// As the interface says.
pub unsafe fn op_create_c<A: Abi>(user_fn: *const c_void, commute: c_int, op: *mut A::Op) -> c_int {
    // SAFETY: what the caller of the form for large counts promises.
    unsafe { create_op::<A>(operate_large::<A>, user_fn, commute, op) }
}

/// `MPI_Comm_errhandler_function` and its siblings.
type Handler<H> = unsafe extern "C" fn(*mut H, *mut c_int, ...);

macro_rules! error_handlers {
    ($($kind:ident = $number:literal: $call:ident $create:ident $standard:ident),* $(,)?) => {$(
        unsafe extern "C" fn $call<A: Abi>(word: usize, object: usize, code: *mut c_int) {
            // SAFETY: the word is the function's address; the code is C's variable.
            unsafe {
                let (mut theirs, mut their_code) = (A::$kind::theirs(object), A::error_theirs(*code));
                core::mem::transmute::<usize, Handler<A::$kind>>(word)(&mut theirs, &mut their_code);
                *code = A::error_ours(their_code);
            }
        }

        #[doc = concat!("`", stringify!($standard), "`")]
        ///
        /// # Safety
        /// As the interface says.
        pub unsafe fn $create<A: Abi>(function: *const c_void, errhandler: *mut A::Errhandler) -> c_int {
            let mut handle = 0;
            // SAFETY: the function of this module takes the address of the user's; a null pointer is refused by C.
            let code = unsafe {
                let code = if function.is_null() || errhandler.is_null() {
                    let place = if errhandler.is_null() { core::ptr::null_mut() } else { &raw mut handle };
                    c::$standard(function, place)
                } else {
                    let call = $call::<A> as *const c_void;
                    weft_fortran_errhandler($number, call, function as usize, &mut handle)
                };
                if code == 0 {
                    *errhandler = A::Errhandler::theirs(handle);
                }
                code
            };
            A::error_theirs(code)
        }
    )*};
}

error_handlers! {
    Comm = 0: handle_comm comm_create_errhandler MPI_Comm_create_errhandler,
    Win = 1: handle_win win_create_errhandler MPI_Win_create_errhandler,
    File = 2: handle_file file_create_errhandler MPI_File_create_errhandler,
    Session = 3: handle_session session_create_errhandler MPI_Session_create_errhandler,
}

/// The functions of a generalized request.
struct Generalized<S> {
    query: unsafe extern "C" fn(*mut c_void, *mut S) -> c_int,
    free: unsafe extern "C" fn(*mut c_void) -> c_int,
    cancel: unsafe extern "C" fn(*mut c_void, c_int) -> c_int,
    extra_state: *mut c_void,
}

unsafe extern "C" fn query<A: Abi>(request: *mut Generalized<A::Status>, status: *mut Status) -> c_int {
    // SAFETY: the request's own functions, until it is freed; the status is C's variable. A layout of numbers may begin as
    // zeros.
    unsafe {
        let mut theirs: A::Status = core::mem::zeroed();
        theirs.store(&*status);
        theirs.store_error((*status).error);
        let code = ((*request).query)((*request).extra_state, &mut theirs);
        *status = theirs.ours();
        A::error_ours(code)
    }
}

unsafe extern "C" fn free<A: Abi>(request: *mut Generalized<A::Status>) -> c_int {
    // SAFETY: called once, at the end of the request.
    unsafe {
        let request = Box::from_raw(request);
        A::error_ours((request.free)(request.extra_state))
    }
}

unsafe extern "C" fn cancel<A: Abi>(request: *mut Generalized<A::Status>, complete: c_int) -> c_int {
    // SAFETY: the functions of a request that is not freed yet.
    unsafe { A::error_ours(((*request).cancel)((*request).extra_state, complete)) }
}

/// `MPI_Grequest_start`
///
/// # Safety
/// As the interface says.
pub unsafe fn grequest_start<A: Abi>(
    query_fn: *const c_void,
    free_fn: *const c_void,
    cancel_fn: *const c_void,
    extra_state: *mut c_void,
    request: *mut A::Request,
) -> c_int {
    let mut handle = 0;
    // SAFETY: functions of these types, and a variable, or a null pointer that C refuses.
    let code = unsafe {
        if query_fn.is_null() || free_fn.is_null() || cancel_fn.is_null() || request.is_null() {
            let place = if request.is_null() { core::ptr::null_mut() } else { &raw mut handle };
            return A::error_theirs(c::MPI_Grequest_start(query_fn, free_fn, cancel_fn, extra_state, place));
        }
        let generalized = Box::into_raw(Box::new(Generalized::<A::Status> {
            query: core::mem::transmute::<
                *const c_void,
                unsafe extern "C" fn(*mut c_void, *mut A::Status) -> c_int,
            >(query_fn),
            free: core::mem::transmute::<*const c_void, unsafe extern "C" fn(*mut c_void) -> c_int>(free_fn),
            cancel: core::mem::transmute::<*const c_void, unsafe extern "C" fn(*mut c_void, c_int) -> c_int>(
                cancel_fn,
            ),
            extra_state,
        }));
        let code = c::MPI_Grequest_start(
            query::<A> as *const c_void,
            free::<A> as *const c_void,
            cancel::<A> as *const c_void,
            generalized.cast(),
            &mut handle,
        );
        if code == 0 {
            *request = A::Request::theirs(handle);
        } else {
            drop(Box::from_raw(generalized));
        }
        code
    };
    A::error_theirs(code)
}

/// The functions of a data representation; they stay as long as the rank.
struct Representation {
    read: *const c_void,
    write: *const c_void,
    extent: *const c_void,
    extra_state: *mut c_void,
}

macro_rules! conversions {
    ($($name:ident: $field:ident $count:ty),* $(,)?) => {$(
        unsafe extern "C" fn $name<A: Abi>(
            userbuf: *mut c_void,
            datatype: usize,
            count: $count,
            filebuf: *mut c_void,
            position: i64,
            representation: *mut Representation,
        ) -> c_int {
            type Conversion<D> = unsafe extern "C" fn(
                *mut c_void, D, $count, *mut c_void, i64, *mut c_void) -> c_int;
            // SAFETY: the representation's own function, of this type.
            unsafe {
                let convert =
                    core::mem::transmute::<*const c_void, Conversion<A::Datatype>>((*representation).$field);
                let state = (*representation).extra_state;
                A::error_ours(convert(userbuf, A::Datatype::theirs(datatype), count, filebuf, position, state))
            }
        }
    )*};
}

conversions! {
    read: read c_int,
    write: write c_int,
    read_large: read i64,
    write_large: write i64,
}

unsafe extern "C" fn extent<A: Abi>(
    datatype: usize,
    extent: *mut isize,
    representation: *mut Representation,
) -> c_int {
    type Extent<D> = unsafe extern "C" fn(D, *mut isize, *mut c_void) -> c_int;
    // SAFETY: the function of this representation; the extent is C's variable.
    unsafe {
        let function = core::mem::transmute::<*const c_void, Extent<A::Datatype>>((*representation).extent);
        A::error_ours(function(A::Datatype::theirs(datatype), extent, (*representation).extra_state))
    }
}

macro_rules! registrations {
    ($($name:ident: $standard:ident $read:ident $write:ident),* $(,)?) => {$(
        #[doc = concat!("`", stringify!($standard), "`")]
        ///
        /// # Safety
        /// As the interface says.
        pub unsafe fn $name<A: Abi>(
            datarep: *mut u8,
            read_fn: *const c_void,
            write_fn: *const c_void,
            extent_fn: *const c_void,
            extra_state: *mut c_void,
        ) -> c_int {
            let representation = Representation { read: read_fn, write: write_fn, extent: extent_fn, extra_state };
            let word = Box::into_raw(Box::new(representation));
            // A null pointer says that there is nothing to be converted, or is refused.
            let chosen = |user: *const c_void, ours: *const c_void| if user.is_null() { user } else { ours };
            // SAFETY: functions that take the representation for their word, which stays.
            let code = unsafe {
                c::$standard(
                    datarep,
                    chosen(read_fn, $read::<A> as *const c_void),
                    chosen(write_fn, $write::<A> as *const c_void),
                    chosen(extent_fn, extent::<A> as *const c_void),
                    word.cast(),
                )
            };
            A::error_theirs(code)
        }
    )*};
}

registrations! {
    register_datarep: MPI_Register_datarep read write,
    register_datarep_c: MPI_Register_datarep_c read_large write_large,
}
