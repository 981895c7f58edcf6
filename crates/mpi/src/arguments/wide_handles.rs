//! Handles as integers (chapter 19): what `MPI_Comm_toint`, `MPI_Comm_c2f` and the like make of them, for mpi4py and for
//! every call of a Fortran program.
//!
//! A handle below 2^31 is its own number. The handle of an object that the program created has a number made of the object's
//! place in the rank's table; the rest of the handle is found there again. So nothing is stored, and ranks share nothing.
//!
//! ```text
//! requests   1 0 dddddd iiiiiiiiiiiiiiiiiiiiiiii
//! others     1 1 kkkk dddddd iiiiiiiiiiiiiiiiiiii
//! ```
//!
//! `k` is the kind, `i` the index. `d` are digits of how often the place was used before and of the rank, so that the number
//! of a freed object, or one of another rank, does not mean the object that is there now. A number that means nothing becomes
//! a handle that every check refuses, with the words for what it was. No number is a small negative constant.

use crate::process::Process;
use core::ffi::c_int;
use weft_base::abi::Request;
use weft_base::handle::Kind;
use weft_p2p::{COMPLETED_SEND, is_memoryless};

/// Every number of a created object.
const CREATED: u32 = 1 << 31;
/// That of one that is no request.
const OTHER: u32 = 1 << 30;
const KIND_SHIFT: u32 = 26;
/// In place of a kind: requests with nothing to remember, of which there are two.
const MEMORYLESS: u32 = 12 << KIND_SHIFT;
/// The number of what is no handle, or has no number; in place of a kind.
pub const NOTHING: c_int = (CREATED | OTHER | 13 << KIND_SHIFT) as c_int;
/// How many digits there are.
const DIGITS: u32 = 64;
const REQUEST_DIGITS: u32 = 24;
const OTHER_DIGITS: u32 = 20;
/// The lower half of a handle: where the kind begins, and what comes before the index.
const HANDLE_KIND: u32 = 28;

/// The upper half of a handle, taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Upper {
    generation: u32,
    rank: u32,
}

impl Upper {
    fn of_request(upper: u32) -> Self {
        let (generation, rank) = weft_p2p::request_parts(upper);
        Self { generation, rank }
    }

    fn of_other(upper: u32) -> Self {
        Self { generation: upper >> 16, rank: upper & 0xffff }
    }

    /// Returns the digits of neighbouring ranks, which should differ.
    fn of_rank(self) -> u32 {
        self.rank.wrapping_mul(0x9e37_79b1) >> 26
    }

    fn digits(self) -> u32 {
        (self.generation ^ self.of_rank()) % DIGITS
    }

    /// Returns by how many uses of its place an object with these digits comes before this one.
    fn age(self, digits: u32) -> u32 {
        (self.generation.wrapping_sub(digits ^ self.of_rank())) % DIGITS
    }
}

/// Returns the integer of a handle. A handle that no table can have given out, and the handle of an object beside a million
/// others of its kind, or of a request beside sixteen million, has the number that stands for nothing ([`limit_reached`]).
pub fn to_int(handle: usize) -> c_int {
    match c_int::try_from(handle) {
        Ok(narrow) => narrow,
        Err(_) => wide(handle) as c_int,
    }
}

fn wide(handle: usize) -> u32 {
    if is_memoryless(Request(handle)) {
        return CREATED | OTHER | MEMORYLESS | (handle & 1) as u32;
    }
    let (low, upper) = (handle as u32, (handle >> 32) as u32);
    let kind = low >> HANDLE_KIND;
    let index = (low & ((1 << HANDLE_KIND) - 1)).wrapping_sub(first());
    if kind == Kind::Request as u32 && index < 1 << REQUEST_DIGITS {
        return CREATED | Upper::of_request(upper).digits() << REQUEST_DIGITS | index;
    }
    if !(Kind::Comm as u32..=Kind::File as u32).contains(&kind) || index >= 1 << OTHER_DIGITS {
        return NOTHING as u32;
    }
    CREATED | OTHER | kind << KIND_SHIFT | Upper::of_other(upper).digits() << OTHER_DIGITS | index
}

/// Returns how many objects of a kind have numbers, if a handle is of an object that has none because there are more.
pub fn limit_reached(handle: usize) -> Option<usize> {
    let (low, upper) = (handle as u32, (handle >> 32) as u32);
    let kind = low >> HANDLE_KIND;
    let index = (low & ((1 << HANDLE_KIND) - 1)).checked_sub(first())? as usize;
    let (most, there) = if kind == Kind::Request as u32 {
        (1 << REQUEST_DIGITS, Process::any().messages.get()?.endpoint.requests().upper(index))
    } else {
        (1 << OTHER_DIGITS, self::upper(Process::any(), kind, index))
    };
    (index >= most && there == Some(upper)).then_some(most)
}

/// Returns the index that a handle's lower half begins with.
fn first() -> u32 {
    (Kind::Comm.first() & ((1 << HANDLE_KIND) - 1)) as u32
}

/// Returns the handle of an integer.
pub fn from_int(number: c_int) -> usize {
    match usize::try_from(number) {
        Ok(narrow) => narrow,
        Err(_) => found(number as u32, Process::any()),
    }
}

fn found(number: u32, process: &Process) -> usize {
    let digits = |shift: u32| (number >> shift) % DIGITS;
    if number & OTHER == 0 {
        let index = number % (1 << REQUEST_DIGITS);
        let requests = process.messages.get().map(|messages| messages.endpoint.requests());
        let upper = requests.and_then(|requests| requests.upper(index as usize)).unwrap_or(0);
        let age = Upper::of_request(upper).age(digits(REQUEST_DIGITS));
        return (weft_p2p::request_before(upper, age) as usize) << 32
            | (Kind::Request.first() + index as usize);
    }
    let kind = number >> KIND_SHIFT & 15;
    if kind << KIND_SHIFT == MEMORYLESS {
        return COMPLETED_SEND.0 | (number & 1) as usize;
    }
    let index = (number % (1 << OTHER_DIGITS)) as usize;
    let upper = upper(process, kind, index).unwrap_or(0);
    let age = Upper::of_other(upper).age(digits(OTHER_DIGITS));
    let before = upper.wrapping_sub(age << 16);
    (before as usize) << 32 | ((kind << HANDLE_KIND | first()) as usize + index)
}

/// Returns the upper half of the handle at a place of the table of a kind, whether or not there is an object.
fn upper(process: &Process, kind: u32, index: usize) -> Option<u32> {
    const COMM: u32 = Kind::Comm as u32;
    const DATATYPE: u32 = Kind::Datatype as u32;
    const OP: u32 = Kind::Op as u32;
    const GROUP: u32 = Kind::Group as u32;
    const ERRHANDLER: u32 = Kind::Errhandler as u32;
    const INFO: u32 = Kind::Info as u32;
    const MESSAGE: u32 = Kind::Message as u32;
    const SESSION: u32 = Kind::Session as u32;
    const WIN: u32 = Kind::Win as u32;
    const FILE: u32 = Kind::File as u32;
    match kind {
        COMM => process.communicators.upper(index),
        DATATYPE => process.datatypes.upper(index),
        OP => process.operations.upper(index),
        GROUP => process.groups.upper(index),
        ERRHANDLER => process.error_handlers.upper(index),
        INFO => process.infos.upper(index),
        MESSAGE => process.messages.get()?.matched.upper(index),
        SESSION => process.sessions.upper(index),
        WIN => process.windows.upper(index),
        FILE => process.files.upper(index),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn handle(kind: Kind, generation: usize, rank: usize, index: usize) -> usize {
        match kind {
            Kind::Request => (rank << 20 | generation) << 32 | (kind.first() + index),
            _ => generation << 48 | rank << 32 | (kind.first() + index),
        }
    }

    #[test]
    fn numbers_tell_places_kinds_and_successors_apart() {
        let kinds = [Kind::Comm, Kind::Datatype, Kind::Info, Kind::Message, Kind::Request, Kind::Win];
        for rank in [0, 1, 17, 999] {
            let places = [0, 1, 77, (1 << 20) - 1];
            let all = kinds.into_iter().flat_map(|kind| {
                places
                    .into_iter()
                    .flat_map(move |index| (0..64).map(move |uses| handle(kind, uses, rank, index)))
            });
            let all: Vec<_> = all.collect();
            let numbers: Vec<_> = all.iter().map(|&handle| to_int(handle)).collect();
            for (&number, &handle) in numbers.iter().zip(&all) {
                assert!(number as usize == handle || number < -1_000_000, "{number} of {handle:#x}");
            }
            assert_eq!(numbers.iter().collect::<HashSet<_>>().len(), numbers.len());
        }
        assert_ne!(to_int(handle(Kind::Comm, 0, 0, 5)), to_int(handle(Kind::Comm, 0, 1, 5)));
        let memoryless = [to_int(COMPLETED_SEND.0), to_int(COMPLETED_SEND.0 | 1)];
        assert!(memoryless[0] != memoryless[1] && memoryless.iter().all(|&number| number < -1_000_000));
    }

    #[test]
    fn what_no_table_has_given_out_has_the_number_of_nothing() {
        let garbage =
            [usize::MAX, i64::MAX as usize, 0xffff_ffff_8000_0000, handle(Kind::Request, 1, 0, 1 << 24)];
        for handle in garbage {
            assert_eq!(to_int(handle), NOTHING, "{handle:#x}");
        }
    }

    #[test]
    fn digits_tell_how_long_ago_an_object_was_there() {
        let now = Upper { generation: 1000, rank: 7 };
        for age in 0..DIGITS {
            let then = Upper { generation: 1000 - age, rank: 7 };
            assert_eq!(now.age(then.digits()), age);
        }
    }
}
