//! Commands of new jobs, with arrays of arguments that end with a blank one.
//!
//! Unsafe because it calls C with what Fortran passes.
#![allow(unsafe_code)]

use crate::c;
use crate::convert::{is_null_texts, store_code, words_of};
use crate::handles::{Comm, Handles, Info, Kind};
use crate::texts::Text;
use core::ffi::c_int;

/// The arguments of a command, as C takes them.
struct Arguments {
    /// What `pointers` point into.
    _texts: Vec<Text>,
    pointers: Vec<*mut u8>,
}

impl Arguments {
    /// Reads arguments, `step` of them apart, up to a blank one.
    ///
    /// # Safety
    /// `first` is the first of Fortran's texts of that length, of which one is blank.
    unsafe fn read(first: *const u8, length: usize, step: usize) -> Self {
        let mut texts = Vec::new();
        loop {
            // SAFETY: none of those before was blank, so there is another one.
            let text = unsafe { Text::stripped(first.add(texts.len() * step * length), length) };
            if text.is_empty() {
                break;
            }
            texts.push(text);
        }
        let ends = core::iter::once(core::ptr::null_mut());
        let pointers = texts.iter().map(Text::address).chain(ends).collect();
        Self { _texts: texts, pointers }
    }

    fn address(&mut self) -> *mut *mut u8 {
        self.pointers.as_mut_ptr()
    }
}

/// Tells whether the calling rank is the root, whose commands are looked at.
///
/// # Safety
/// The numbers are Fortran's.
unsafe fn is_root(comm: *const c_int, root: *const c_int) -> bool {
    let mut rank = -1;
    // SAFETY: C stores into a variable; the caller's integers.
    unsafe { c::PMPI_Comm_rank(Comm::handle(*comm), &mut rank) == 0 && rank == *root }
}

/// `MPI_Comm_spawn`
#[allow(clippy::too_many_arguments)]
pub(crate) unsafe fn comm_spawn(
    command: *const u8,
    argv: *const u8,
    maxprocs: *const c_int,
    info: *const c_int,
    root: *const c_int,
    comm: *const c_int,
    intercomm: *mut c_int,
    errcodes: *mut c_int,
    ierror: *mut c_int,
    command_length: usize,
    argv_length: usize,
) {
    let mut new = 0;
    // SAFETY: what the entry's caller has passed; commands and arguments are read at the root only.
    unsafe {
        let is_root = is_root(comm, root);
        let command = Text::stripped(command, if is_root { command_length } else { 0 });
        let mut arguments = (is_root && !is_null_texts(argv)).then(|| Arguments::read(argv, argv_length, 1));
        let code = c::PMPI_Comm_spawn(
            command.address(),
            arguments.as_mut().map_or(core::ptr::null_mut(), Arguments::address),
            *maxprocs,
            Info::handle(*info),
            *root,
            Comm::handle(*comm),
            &mut new,
            words_of(errcodes),
        );
        if new != 0 {
            *intercomm = Comm::number(new);
        }
        store_code(ierror, code);
    }
}

/// `MPI_Comm_spawn_multiple`
#[allow(clippy::too_many_arguments)]
pub(crate) unsafe fn comm_spawn_multiple(
    count: *const c_int,
    commands: *const u8,
    argvs: *const u8,
    maxprocs: *mut c_int,
    infos: *mut c_int,
    root: *const c_int,
    comm: *const c_int,
    intercomm: *mut c_int,
    errcodes: *mut c_int,
    ierror: *mut c_int,
    command_length: usize,
    argv_length: usize,
) {
    let mut new = 0;
    // SAFETY: what the caller of the entry has passed; arrays are read at the root only, of as many elements as it says.
    unsafe {
        let number = if is_root(comm, root) { usize::try_from(*count).unwrap_or(0) } else { 0 };
        let texts: Vec<_> =
            (0..number).map(|at| Text::stripped(commands.add(at * command_length), command_length)).collect();
        let mut names: Vec<_> = texts.iter().map(Text::address).collect();
        // The argument of a command lies beside those of the others.
        let mut arguments: Vec<_> = if number == 0 || is_null_texts(argvs) {
            Vec::new()
        } else {
            (0..number).map(|at| Arguments::read(argvs.add(at * argv_length), argv_length, number)).collect()
        };
        let mut lists: Vec<_> = arguments.iter_mut().map(Arguments::address).collect();
        let mut infos = Handles::<Info>::read(infos, number as i64);
        let code = c::PMPI_Comm_spawn_multiple(
            *count,
            names.as_mut_ptr(),
            if lists.is_empty() { core::ptr::null_mut() } else { lists.as_mut_ptr() },
            maxprocs,
            infos.address(),
            *root,
            Comm::handle(*comm),
            &mut new,
            words_of(errcodes),
        );
        if new != 0 {
            *intercomm = Comm::number(new);
        }
        store_code(ierror, code);
    }
}
