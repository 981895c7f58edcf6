//! Buffers for buffered sends.
//!
//! A program reckons with the other MPI's `MPI_BSEND_OVERHEAD`, which is less than ours. So what is attached is larger memory
//! of this library, of which only what is used is ever touched, and the program gets its own address back.
//!
//! Unsafe because it calls C, and reads and writes what the program passes.
#![allow(unsafe_code)]

use crate::abi::{Abi, Handle};
use crate::c;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use std::sync::{Mutex, PoisonError};
use weft_base::constants::{MPI_BSEND_OVERHEAD, MPI_BUFFER_AUTOMATIC};

/// A buffer that is attached.
struct Attached {
    /// What it is attached to: a session or communicator, or zero for the process.
    place: usize,
    memory: Box<[MaybeUninit<u8>]>,
    /// The program's buffer. It is a number here, as only the program uses it.
    address: usize,
    size: i64,
}

/// The rank's buffers.
static ATTACHED: Mutex<Vec<Attached>> = Mutex::new(Vec::new());

/// Attaches a buffer by one of our functions.
fn attach<A: Abi>(
    place: usize,
    address: *mut c_void,
    size: i64,
    attach: impl Fn(*mut c_void, i64) -> c_int,
) -> c_int {
    let address = A::buffer_ours(address as usize);
    if address == 0 || address == MPI_BUFFER_AUTOMATIC || size <= 0 {
        return A::error_theirs(attach(address as *mut c_void, size));
    }
    let larger = size as usize * (MPI_BSEND_OVERHEAD as usize).div_ceil(A::BSEND_OVERHEAD);
    let mut memory = Box::new_uninit_slice(larger);
    let code = attach(memory.as_mut_ptr().cast(), larger as i64);
    if code == 0 {
        let mut all = ATTACHED.lock().unwrap_or_else(PoisonError::into_inner);
        // One that went with what it was attached to.
        all.retain(|other| other.place != place);
        all.push(Attached { place, memory, address, size });
    }
    A::error_theirs(code)
}

/// Detaches a buffer by one of our functions; returns the code, and address and size for the program.
fn detach<A: Abi>(place: usize, detach: impl Fn(*mut c_void, *mut i64) -> c_int) -> (c_int, usize, i64) {
    let (mut address, mut size) = (0usize, 0);
    let code = detach((&raw mut address).cast(), &mut size);
    if code == 0 {
        let mut all = ATTACHED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = all.iter().position(|a| a.place == place && a.memory.as_ptr() as usize == address) {
            let attached = all.swap_remove(at);
            (address, size) = (attached.address, attached.size);
        }
    }
    (A::error_theirs(code), A::buffer_theirs(address), size)
}

/// Stores an address and a size.
///
/// # Safety
/// Both are variables, of which one may be missing.
unsafe fn store<S: TryFrom<i64>>(
    (code, address, size): (c_int, usize, i64),
    place: *mut c_void,
    to: *mut S,
) -> c_int {
    if code == 0 && !place.is_null() && !to.is_null() {
        // SAFETY: the caller's promise.
        unsafe {
            *place.cast::<usize>() = address;
            if let Ok(size) = S::try_from(size) {
                *to = size;
            }
        }
    }
    code
}

macro_rules! buffers {
    ($($attach:ident $attach_c:ident $standard:ident, $detach:ident $detach_c:ident $detaches:ident, $($object:ident: $kind:ident)?;)*) => {$(
        #[doc = concat!("`", stringify!($standard), "` for small counts.")]
        ///
        /// # Safety
        /// As the interface says.
        pub unsafe fn $attach<A: Abi>($($object: A::$kind,)? buffer: *mut c_void, size: c_int) -> c_int {
            // SAFETY: the caller's promise, for the other form.
            unsafe { $attach_c::<A>($($object,)? buffer, size.into()) }
        }

        #[doc = concat!("`", stringify!($standard), "`")]
        ///
        /// # Safety
        /// As the interface says.
        pub unsafe fn $attach_c<A: Abi>($($object: A::$kind,)? buffer: *mut c_void, size: i64) -> c_int {
            let place = 0 $(+ $object.ours())?;
            // SAFETY: memory of that size, which stays until it is detached.
            attach::<A>(place, buffer, size, |buffer, size| unsafe { c::$standard($($object.ours(),)? buffer, size) })
        }

        #[doc = concat!("`", stringify!($detaches), "` for small counts.")]
        ///
        /// # Safety
        /// As the interface says.
        pub unsafe fn $detach<A: Abi>($($object: A::$kind,)? buffer_addr: *mut c_void, size: *mut c_int) -> c_int {
            let place = 0 $(+ $object.ours())?;
            // SAFETY: variables, of this module or of the caller.
            unsafe {
                store(detach::<A>(place, |address, size| c::$detaches($($object.ours(),)? address, size)), buffer_addr, size)
            }
        }

        #[doc = concat!("`", stringify!($detaches), "`")]
        ///
        /// # Safety
        /// As the interface says.
        pub unsafe fn $detach_c<A: Abi>($($object: A::$kind,)? buffer_addr: *mut c_void, size: *mut i64) -> c_int {
            let place = 0 $(+ $object.ours())?;
            // SAFETY: variables, of the caller of the form for large counts or of this module.
            unsafe {
                store(detach::<A>(place, |address, size| c::$detaches($($object.ours(),)? address, size)), buffer_addr, size)
            }
        }
    )*};
}

buffers! {
    buffer_attach buffer_attach_c MPI_Buffer_attach_c, buffer_detach buffer_detach_c MPI_Buffer_detach_c, ;
    comm_attach_buffer comm_attach_buffer_c MPI_Comm_attach_buffer_c,
        comm_detach_buffer comm_detach_buffer_c MPI_Comm_detach_buffer_c, comm: Comm;
    session_attach_buffer session_attach_buffer_c MPI_Session_attach_buffer_c,
        session_detach_buffer session_detach_buffer_c MPI_Session_detach_buffer_c, session: Session;
}
