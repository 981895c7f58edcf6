//! Walks the stack of a crash and finds the objects its addresses belong to, without locks or allocation.
#![allow(unsafe_code)] // The C unwinder, and memory that may not be readable.

use core::ffi::{c_int, c_void};
use std::sync::OnceLock;
use weft_sys::object;

/// Frames reported at most.
pub const DEPTH: usize = 64;

unsafe extern "C" {
    fn _Unwind_Backtrace(step: extern "C" fn(*mut c_void, *mut c_void) -> c_int, data: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

/// The executable's name, which the linker does not know.
static EXECUTABLE: OnceLock<Vec<u8>> = OnceLock::new();

/// Does what may allocate: looks up names and walks one stack, which loads the unwinder's tables.
pub fn prepare() {
    object::prepare();
    EXECUTABLE.get_or_init(|| {
        std::fs::read_link("/proc/self/exe").unwrap_or_default().into_os_string().into_encoded_bytes()
    });
    let mut addresses = Addresses { list: [0; DEPTH * 2], length: 0 };
    addresses.collect();
}

struct Addresses {
    list: [usize; DEPTH * 2],
    length: usize,
}

impl Addresses {
    fn collect(&mut self) {
        // SAFETY: `step` gets this structure back.
        unsafe { _Unwind_Backtrace(step, core::ptr::from_mut(self).cast()) };
    }
}

extern "C" fn step(context: *mut c_void, data: *mut c_void) -> c_int {
    // SAFETY: the unwinder's context and the structure `collect` passed.
    let (address, addresses) = unsafe { (_Unwind_GetIP(context), &mut *data.cast::<Addresses>()) };
    if addresses.length == addresses.list.len() {
        return 5; // _URC_END_OF_STACK: stop here
    }
    addresses.list[addresses.length] = address;
    addresses.length += 1;
    0
}

/// Reads a word of this process's memory; `None` if it is not readable.
fn read_word(address: usize) -> Option<usize> {
    let mut word = 0usize;
    let local = libc::iovec { iov_base: (&raw mut word).cast(), iov_len: size_of::<usize>() };
    let remote = libc::iovec { iov_base: address as *mut c_void, iov_len: size_of::<usize>() };
    // SAFETY: the kernel checks the remote address and fails instead of faulting.
    let length = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
    (length == size_of::<usize>() as isize).then_some(word)
}

/// Calls `show` with each address from the crash outwards. Called in the handler, above the crash's own frames.
pub fn walk(program_counter: usize, stack_pointer: usize, mut show: impl FnMut(usize)) {
    let mut addresses = Addresses { list: [0; DEPTH * 2], length: 0 };
    addresses.collect();
    let found = &addresses.list[..addresses.length];
    // A stack that ends at the crash itself: the unwinder knew no code there.
    match found.iter().position(|address| *address == program_counter).filter(|first| first + 1 < found.len())
    {
        Some(first) => found[first..].iter().take(DEPTH).for_each(|address| show(*address)),
        None => {
            // The program jumped to where no code is: the word on top of the stack tells who called.
            show(program_counter);
            if let Some(caller) = read_word(stack_pointer) {
                show(caller);
            }
        }
    }
}

/// Calls `show` with the file of an address and the address as the file counts it.
pub fn locate(address: usize, mut show: impl FnMut(&[u8], usize)) {
    let Some(found) = object::find(address) else { return show(b"", 0) };
    let name = match found.name.to_bytes() {
        b"" => EXECUTABLE.get().map_or(&b""[..], Vec::as_slice),
        name => name,
    };
    show(name, address - found.base);
}
