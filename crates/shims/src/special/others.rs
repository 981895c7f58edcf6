//! Spawning, contents of datatypes, ranks of groups, the interface's version.
//!
//! Unsafe because it calls C with what the program passes.
#![allow(unsafe_code)]

use crate::abi::{Abi, Handle};
use crate::c;
use crate::handles::{Handles, Variable};
use core::ffi::c_int;
use weft_base::constants::{MPI_COMBINER_DARRAY, MPI_COMBINER_SUBARRAY, MPI_COMM_NULL, MPI_INT64_T};

/// `MPI_Abi_get_version`: this is not the standard's binary interface, which the standard wants to be told so. Programs take
/// the interface of a library from it.
///
/// # Safety
/// As the interface says.
pub unsafe fn abi_get_version<A: Abi>(abi_major: *mut c_int, abi_minor: *mut c_int) -> c_int {
    // SAFETY: the caller's variables, or null pointers, which C refuses.
    unsafe {
        let code = c::MPI_Abi_get_version(abi_major, abi_minor);
        if code == 0 {
            (*abi_major, *abi_minor) = (-1, -1);
        }
        A::error_theirs(code)
    }
}

/// The codes of processes to be started.
struct Codes {
    target: *mut c_int,
    ours: Vec<c_int>,
}

/// Stands for a code that a call has not stored.
const UNTOUCHED: c_int = c_int::MIN;

impl Codes {
    /// Makes room for as many codes as there are processes, unless nobody wants them.
    fn new(target: *mut c_int, length: i64) -> Self {
        let length = if target.is_null() { 0 } else { usize::try_from(length).unwrap_or(0) };
        Self { target, ours: vec![UNTOUCHED; length] }
    }

    fn address(&mut self) -> *mut c_int {
        if self.target.is_null() { self.target } else { self.ours.as_mut_ptr() }
    }

    /// Stores what the call has stored.
    ///
    /// # Safety
    /// The program's array is as long as was said.
    unsafe fn write<A: Abi>(&self) {
        for (at, &code) in self.ours.iter().enumerate().filter(|(_, code)| **code != UNTOUCHED) {
            // SAFETY: within the length of the array.
            unsafe { *self.target.add(at) = A::error_theirs(code) }
        }
    }
}

/// `MPI_Comm_spawn`
///
/// # Safety
/// As the interface says.
pub unsafe fn comm_spawn<A: Abi>(
    command: *mut u8,
    argv: *mut *mut u8,
    maxprocs: c_int,
    info: A::Info,
    root: c_int,
    comm: A::Comm,
    intercomm: *mut A::Comm,
    array_of_errcodes: *mut c_int,
) -> c_int {
    let mut spawned = Variable::empty(intercomm);
    let mut codes = Codes::new(array_of_errcodes, maxprocs.into());
    // SAFETY: the caller's promise of each argument.
    unsafe {
        let code = c::MPI_Comm_spawn(
            command,
            argv,
            maxprocs,
            info.ours(),
            A::rank_ours(root),
            comm.ours(),
            spawned.address(),
            codes.address(),
        );
        spawned.write();
        codes.write::<A>();
        A::error_theirs(code)
    }
}

/// `MPI_Comm_spawn_multiple`
///
/// # Safety
/// As the interface says.
pub unsafe fn comm_spawn_multiple<A: Abi>(
    count: c_int,
    array_of_commands: *mut *mut u8,
    array_of_argv: *mut *mut *mut u8,
    array_of_maxprocs: *mut c_int,
    array_of_info: *mut A::Info,
    root: c_int,
    comm: A::Comm,
    intercomm: *mut A::Comm,
    array_of_errcodes: *mut c_int,
) -> c_int {
    let (mut spawned, comm) = (Variable::empty(intercomm), comm.ours());
    // SAFETY: what the caller promises of each argument; those of others than the root mean nothing.
    unsafe {
        let (is_root, processes) = all_processes(count, array_of_maxprocs, root, comm);
        let mut info = Handles::read(array_of_info, if is_root { count.into() } else { 0 });
        let mut codes = Codes::new(array_of_errcodes, processes);
        let code = c::MPI_Comm_spawn_multiple(
            count,
            array_of_commands,
            array_of_argv,
            array_of_maxprocs,
            info.address(),
            A::rank_ours(root),
            comm,
            spawned.address(),
            codes.address(),
        );
        spawned.write();
        codes.write::<A>();
        A::error_theirs(code)
    }
}

/// Returns whether this is the root, and how many processes are to be started, which the root alone knows. Where an argument is
/// wrong there are none, and the call says so.
///
/// # Safety
/// At the root there is an array of `count` numbers.
unsafe fn all_processes(count: c_int, maxprocs: *const c_int, root: c_int, comm: usize) -> (bool, i64) {
    let (mut is_between, mut rank, mut size, mut total) = (0, -1, 0, 0i64);
    // SAFETY: variables. The communicator is one, and errors of a wrong one are raised by the call itself.
    unsafe {
        if comm == 0
            || comm == MPI_COMM_NULL.0
            || c::MPI_Comm_test_inter(comm, &mut is_between) != 0
            || is_between != 0
            || c::MPI_Comm_rank(comm, &mut rank) != 0
            || c::MPI_Comm_size(comm, &mut size) != 0
            || !(0..size).contains(&root)
        {
            return (false, 0);
        }
        if rank == root && !maxprocs.is_null() {
            total = (0..count.max(0) as usize).map(|at| i64::from((*maxprocs.add(at)).max(0))).sum();
        }
        c::MPI_Bcast((&raw mut total).cast(), 1, MPI_INT64_T.0, root, comm);
    }
    (rank == root, total)
}

/// `MPI_Group_translate_ranks`
///
/// # Safety
/// As the interface says.
pub unsafe fn group_translate_ranks<A: Abi>(
    group1: A::Group,
    n: c_int,
    ranks1: *mut c_int,
    group2: A::Group,
    ranks2: *mut c_int,
) -> c_int {
    let length = usize::try_from(n).unwrap_or(0);
    // SAFETY: the caller's arrays of that length, or null pointers, which C refuses.
    unsafe {
        let mut ranks: Vec<c_int> = Vec::new();
        if !ranks1.is_null() {
            ranks.extend((0..length).map(|at| A::rank_ours(*ranks1.add(at))));
        }
        let from = if ranks1.is_null() { ranks1 } else { ranks.as_mut_ptr() };
        let code = c::MPI_Group_translate_ranks(group1.ours(), n, from, group2.ours(), ranks2);
        if code == 0 && !ranks2.is_null() {
            for at in 0..length {
                *ranks2.add(at) = A::rank_theirs(*ranks2.add(at));
            }
        }
        A::error_theirs(code)
    }
}

/// Converts constants among the integers that made a datatype.
///
/// # Safety
/// `integers` has what the combiner says.
unsafe fn convert_integers<A: Abi>(combiner: c_int, integers: *mut c_int) {
    // SAFETY: as the standard says of each combiner: dimensions, then arrays of so many.
    unsafe {
        let convert = |at: usize, theirs: fn(c_int) -> c_int| *integers.add(at) = theirs(*integers.add(at));
        match combiner {
            MPI_COMBINER_SUBARRAY => {
                let dimensions = usize::try_from(*integers).unwrap_or(0);
                convert(1 + 3 * dimensions, A::order_theirs);
            }
            MPI_COMBINER_DARRAY => {
                let dimensions = usize::try_from(*integers.add(2)).unwrap_or(0);
                for at in 0..dimensions {
                    convert(3 + dimensions + at, A::distribution_theirs);
                    convert(3 + 2 * dimensions + at, A::distribution_argument_theirs);
                }
                convert(3 + 4 * dimensions, A::order_theirs);
            }
            _ => {}
        }
    }
}

/// `MPI_Type_get_contents`
///
/// # Safety
/// As the interface says.
pub unsafe fn type_get_contents<A: Abi>(
    datatype: A::Datatype,
    max_integers: c_int,
    max_addresses: c_int,
    max_datatypes: c_int,
    array_of_integers: *mut c_int,
    array_of_addresses: *mut isize,
    array_of_datatypes: *mut A::Datatype,
) -> c_int {
    let mut datatypes = Handles::empty(array_of_datatypes, max_datatypes.into());
    let (mut integers, mut addresses, mut count, mut combiner) = (0, 0, 0, 0);
    // SAFETY: the caller's arrays; variables.
    unsafe {
        let code = c::MPI_Type_get_contents(
            datatype.ours(),
            max_integers,
            max_addresses,
            max_datatypes,
            array_of_integers,
            array_of_addresses,
            datatypes.address(),
        );
        datatypes.write_stored(array_of_datatypes);
        if code == 0
            && c::MPI_Type_get_envelope(
                datatype.ours(),
                &mut integers,
                &mut addresses,
                &mut count,
                &mut combiner,
            ) == 0
        {
            convert_integers::<A>(combiner, array_of_integers);
        }
        A::error_theirs(code)
    }
}

/// `MPI_Type_get_contents_c`
///
/// # Safety
/// As the interface says.
pub unsafe fn type_get_contents_c<A: Abi>(
    datatype: A::Datatype,
    max_integers: i64,
    max_addresses: i64,
    max_large_counts: i64,
    max_datatypes: i64,
    array_of_integers: *mut c_int,
    array_of_addresses: *mut isize,
    array_of_large_counts: *mut i64,
    array_of_datatypes: *mut A::Datatype,
) -> c_int {
    let mut datatypes = Handles::empty(array_of_datatypes, max_datatypes);
    let (mut integers, mut addresses, mut large, mut count, mut combiner) = (0, 0, 0, 0, 0);
    // SAFETY: arrays of the caller of the form for large counts; variables.
    unsafe {
        let code = c::MPI_Type_get_contents_c(
            datatype.ours(),
            max_integers,
            max_addresses,
            max_large_counts,
            max_datatypes,
            array_of_integers,
            array_of_addresses,
            array_of_large_counts,
            datatypes.address(),
        );
        datatypes.write_stored(array_of_datatypes);
        let known = code == 0
            && c::MPI_Type_get_envelope_c(
                datatype.ours(),
                &mut integers,
                &mut addresses,
                &mut large,
                &mut count,
                &mut combiner,
            ) == 0;
        if known && large == 0 {
            convert_integers::<A>(combiner, array_of_integers);
        } else if known {
            convert_few::<A>(combiner, array_of_integers, integers);
        }
        A::error_theirs(code)
    }
}

/// Converts constants among the integers of a datatype whose sizes are large counts, and so are not among them.
///
/// # Safety
/// `integers` has what the combiner says.
unsafe fn convert_few<A: Abi>(combiner: c_int, integers: *mut c_int, length: i64) {
    // SAFETY: the form for large counts has sizes elsewhere: a subarray has dimensions and order here, a distributed array
    // size, rank, dimensions, distributions, arguments, process grid and order.
    unsafe {
        let last = integers.add(usize::try_from(length - 1).unwrap_or(0));
        match combiner {
            MPI_COMBINER_SUBARRAY => *last = A::order_theirs(*last),
            MPI_COMBINER_DARRAY => {
                *last = A::order_theirs(*last);
                let dimensions = usize::try_from(*integers.add(2)).unwrap_or(0);
                for at in 3..3 + dimensions {
                    let (first, second) = (integers.add(at), integers.add(at + dimensions));
                    *first = A::distribution_theirs(*first);
                    *second = A::distribution_argument_theirs(*second);
                }
            }
            _ => {}
        }
    }
}
