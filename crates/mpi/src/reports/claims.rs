//! Checking mode: what calls say of their buffers, for `mpirun` to compare with what the program's debug information says.
#![allow(unsafe_code)] // Reads the frame of the function that called.

use core::cell::RefCell;
use core::ffi::c_void;
use core::ops::Range;
use std::collections::HashSet;
use weft_base::finding::{Claim, Finding};
use weft_base::site;
use weft_datatype::{Basic, Class, Datatype, Repr};
use weft_sys::caller;

/// The largest frame that is searched for the buffer's address.
const MOST: usize = 16 << 20;

thread_local! {
    /// The calls, by site and name of the buffer, that have been compared for a datatype.
    static SEEN: RefCell<HashSet<(usize, usize, usize)>> = RefCell::default();
}

/// Has the type of a buffer compared with its declaration, once for each call, buffer argument and datatype of a thread. Only
/// predefined datatypes of numbers say what each element is; a number of one byte may be anything.
#[cold]
pub(crate) fn compare(rank: u32, buffer: *const c_void, count: u64, datatype: &Datatype, name: &str) {
    let Some((basic, (is_floating, size))) =
        datatype.as_predefined().and_then(|basic| Some((basic, elements(basic)?)))
    else {
        return;
    };
    let Some(site) = site::current().filter(|site| site.address != 0 && count > 0) else { return };
    let key = (core::ptr::from_ref(site).addr(), name.as_ptr().addr(), basic.index());
    if !SEEN.with_borrow_mut(|seen| seen.insert(key)) {
        return;
    }
    let Some(frame) = caller::program_frame().filter(|frame| frame.len() <= MOST) else { return };
    let (datatype, buffer) = (basic.name(), buffer.addr());
    let words = words(&frame, buffer);
    let frame = frame.contains(&buffer).then(|| buffer.wrapping_sub(frame.end) as i64);
    let claim = Claim { datatype, is_floating, size, buffer, frame, words };
    Finding::new(rank, format!("{name} has another type than the call says"))
        .call("passed", Some(site))
        .claiming(claim)
        .report();
}

/// Returns whether the elements of a datatype are floating-point numbers, and the size of one or of its parts.
fn elements(basic: Basic) -> Option<(bool, u64)> {
    let description = basic.description();
    let integers =
        matches!(description.class, Class::CInteger | Class::FortranInteger | Class::MultiLanguage);
    let floating = matches!(description.class, Class::Floating | Class::Complex);
    match description.repr {
        Repr::I16 | Repr::U16 if integers => Some((false, 2)),
        Repr::I32 | Repr::U32 if integers => Some((false, 4)),
        Repr::I64 | Repr::U64 if integers => Some((false, 8)),
        Repr::F16 if floating => Some((true, 2)),
        Repr::F32 if floating => Some((true, 4)),
        Repr::F64 if floating => Some((true, 8)),
        Repr::LongDouble | Repr::F128 if floating => Some((true, 16)),
        _ => None,
    }
}

/// Returns the words of a frame that hold an address, relative to its end.
fn words(frame: &Range<usize>, address: usize) -> Vec<i64> {
    let first = frame.start.next_multiple_of(size_of::<usize>());
    let read = |word: usize| {
        // SAFETY: the frame of a function that has not returned is readable, and the word is aligned.
        unsafe { core::ptr::with_exposed_provenance::<usize>(word).read_volatile() }
    };
    (first..frame.end)
        .step_by(size_of::<usize>())
        .filter(|&word| read(word) == address)
        .map(|word| word.wrapping_sub(frame.end) as i64)
        .collect()
}
