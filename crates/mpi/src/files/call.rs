//! What all calls on files have in common: the file, checks, and operations on their way.
#![allow(unsafe_code)] // Describes the program's buffers.

use crate::arguments::check;
use crate::files::file::File;
use crate::files::merging;
use crate::files::requests::{self, Form, Where};
use crate::point_to_point::messages::{Data, store_status};
use crate::process::Process;
use crate::reports::told;
use core::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use weft_base::abi::{self, Count, Offset, Status};
use weft_base::constants::*;
use weft_base::{Error, Out, Result};
use weft_io::{Access, Direction, Memory, View};

/// Who calls, and the file.
pub(super) struct Call {
    pub process: &'static Process,
    pub file: Arc<File>,
    handle: abi::File,
}

/// The program's buffer of an operation.
#[derive(Clone, Copy)]
pub(super) struct Buffer {
    pub address: *const c_void,
    pub count: Count,
    pub datatype: abi::Datatype,
}

impl Call {
    /// Looks up who calls, and the file.
    ///
    /// # Errors
    /// `MPI_ERR_FILE`
    pub fn new(fh: abi::File) -> Result<Self> {
        let process = Process::current()?;
        let state = process.file(fh)?.state.clone();
        let file = state.downcast().expect("only files are kept so");
        Ok(Self { process, file, handle: fh })
    }

    /// Refuses what a file that is only accessed in sequence does not allow.
    ///
    /// # Errors
    /// `MPI_ERR_UNSUPPORTED_OPERATION`
    pub fn any_order(&self) -> Result {
        if self.file.has(MPI_MODE_SEQUENTIAL) {
            let text = "fh was opened with MPI_MODE_SEQUENTIAL; only operations with the shared file pointer are possible";
            return Err(Error::new(MPI_ERR_UNSUPPORTED_OPERATION, text));
        }
        Ok(())
    }

    /// Refuses to read what is only written, and the other way round.
    ///
    /// # Errors
    /// `MPI_ERR_ACCESS`, `MPI_ERR_READ_ONLY`
    fn allows(&self, direction: Direction) -> Result {
        match direction {
            Direction::Read if self.file.has(MPI_MODE_WRONLY) => {
                Err(Error::new(MPI_ERR_ACCESS, "fh was opened with MPI_MODE_WRONLY; open it to read, too"))
            }
            Direction::Write if self.file.has(MPI_MODE_RDONLY) => Err(Error::new(
                MPI_ERR_READ_ONLY,
                "fh was opened with MPI_MODE_RDONLY; open it to write, too",
            )),
            _ => Ok(()),
        }
    }

    /// Checks the data of an operation.
    ///
    /// # Errors
    /// `MPI_ERR_COUNT`, `MPI_ERR_TYPE`, `MPI_ERR_BUFFER`, `MPI_ERR_ACCESS`, `MPI_ERR_READ_ONLY`
    fn memory(&self, direction: Direction, buffer: Buffer) -> Result<Memory> {
        let Buffer { address, count, datatype } = buffer;
        let names = ["buf", "count"];
        let data = Data::new(self.process, address, count, datatype, names)?;
        self.allows(direction)?;
        let datatype = data.datatype().clone();
        let bytes = datatype.size() * count as u64;
        told::transfer(
            self.process.world_rank,
            told::number_of(&*self.file),
            direction == Direction::Read,
            bytes,
        );
        // SAFETY: the caller of the MPI procedure promises the memory until the operation is complete.
        Ok(unsafe { Memory::new(address.cast_mut().cast(), count as u64, datatype) })
    }

    fn make(&self, direction: Direction, view: &Arc<View>, memory: Memory, offset: u64) -> Result<Access> {
        let is_atomic = self.file.is_atomic.load(Ordering::Relaxed);
        Access::new(&self.file.opened, view, direction, memory, offset, is_atomic)
    }

    /// Makes an operation at an offset that the program gives.
    ///
    /// # Errors
    /// As [`Call::memory`]; `MPI_ERR_ARG`, `MPI_ERR_UNSUPPORTED_OPERATION`, and what a representation's functions return.
    fn at(&self, direction: Direction, offset: Offset, buffer: Buffer) -> Result<Access> {
        let memory = self.memory(direction, buffer)?;
        self.any_order()?;
        self.make(direction, &self.file.view(), memory, not_negative(offset)?)
    }

    /// Makes an operation at the individual file pointer, which goes on.
    ///
    /// # Errors
    /// As [`Call::at`].
    fn here(&self, direction: Direction, buffer: Buffer) -> Result<Access> {
        let memory = self.memory(direction, buffer)?;
        self.any_order()?;
        let view = self.file.view();
        let etypes = view.etypes(&memory)?;
        let offset = self.file.position.fetch_add(etypes, Ordering::AcqRel);
        self.make(direction, &view, memory, offset)
    }

    /// Makes an operation at the shared file pointer, which goes on.
    ///
    /// # Errors
    /// As [`Call::memory`].
    fn shared(&self, direction: Direction, buffer: Buffer) -> Result<Access> {
        let memory = self.memory(direction, buffer)?;
        let view = self.file.view();
        let offset = self.file.pointer.add(view.etypes(&memory)?)?;
        self.make(direction, &view, memory, offset)
    }

    /// Makes an operation at the shared file pointer as if the ranks came one after the other.
    ///
    /// # Errors
    /// As [`Call::memory`]; that of another rank.
    fn ordered(&self, direction: Direction, buffer: Buffer) -> Result<Access> {
        let view = self.file.view();
        let mine = self.memory(direction, buffer).and_then(|memory| Ok((view.etypes(&memory)?, memory)));
        let team = &self.file.team;
        let count = mine.as_ref().map_or(u64::MAX, |(etypes, _)| *etypes);
        let counts = merging::gather(team, [count])?.into_flattened();
        let (_, memory) = mine?;
        if let Some(rank) = counts.iter().position(|&count| count == u64::MAX) {
            let text = format!("rank {rank} of the file's group has passed wrong arguments");
            return Err(Error::new(MPI_ERR_OTHER, text));
        }
        let total = counts.iter().fold(0u64, |sum, count| sum.saturating_add(*count));
        let moved = if team.rank() == 0 { self.file.pointer.add(total) } else { Ok(0) };
        let first = super::file::tell(team, 0, moved)?;
        let before: u64 = counts[..team.rank() as usize].iter().sum();
        self.make(direction, &view, memory, first.saturating_add(before))
    }

    /// Makes an operation of a form; `offset` is of use where the program gives it.
    ///
    /// # Errors
    /// As [`Call::memory`]; `MPI_ERR_ARG`, `MPI_ERR_UNSUPPORTED_OPERATION`, and what a representation's functions return.
    pub fn access(&self, Form(direction, place): Form, offset: Offset, buffer: Buffer) -> Result<Access> {
        match place {
            Where::Explicit => self.at(direction, offset, buffer),
            Where::Individual => self.here(direction, buffer),
            Where::Shared => self.shared(direction, buffer),
            Where::Ordered => self.ordered(direction, buffer),
        }
    }

    /// Begins an operation behind a request.
    fn start(&self, access: Access, request: Out<abi::Request>) {
        let work = requests::start(access, self.handle, weft_sched::current().call());
        let requests = self.process.messages().endpoint.requests();
        request.set(requests.create_work(work, MPI_COMM_SELF, true));
    }
}

/// Carries out an operation.
///
/// # Errors
/// `MPI_ERR_FILE`, as [`Call::access`], and what became of it.
pub(super) fn run(fh: abi::File, form: Form, offset: Offset, buffer: Buffer, status: Out<Status>) -> Result {
    let bytes = Call::new(fh)?.access(form, offset, buffer)?.carry_out_aside()?;
    store_status(status, Status::of(bytes, false));
    Ok(())
}

/// Carries out a collective operation. The ranks merge what they read or write, if that is of use; a rank whose arguments are wrong takes part without data.
///
/// # Errors
/// As [`run`]; `MPI_ERR_OTHER` during a split operation; what became of the operation at another rank where they were merged.
pub(super) fn run_all(
    fh: abi::File,
    form: Form,
    offset: Offset,
    buffer: Buffer,
    status: Out<Status>,
) -> Result {
    let call = Call::new(fh)?;
    call.no_split()?;
    let bytes = merging::carry_out(&call.file, form.0, call.access(form, offset, buffer))?;
    store_status(status, Status::of(bytes, false));
    Ok(())
}

/// Begins an operation behind a request.
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_ARG`, as [`Call::access`]
pub(super) fn start(
    fh: abi::File,
    form: Form,
    offset: Offset,
    buffer: Buffer,
    request: Out<abi::Request>,
) -> Result {
    check::output(request, "request")?;
    let call = Call::new(fh)?;
    call.start(call.access(form, offset, buffer)?, request);
    Ok(())
}

/// Begins a collective operation behind a request.
///
/// # Errors
/// As [`start`]; `MPI_ERR_OTHER` during a split operation.
pub(super) fn start_all(
    fh: abi::File,
    form: Form,
    offset: Offset,
    buffer: Buffer,
    request: Out<abi::Request>,
) -> Result {
    check::output(request, "request")?;
    Call::new(fh)?.no_split()?;
    start(fh, form, offset, buffer, request)
}

/// Checks an offset.
///
/// # Errors
/// `MPI_ERR_ARG`
pub(super) fn not_negative(offset: Offset) -> Result<u64> {
    u64::try_from(offset)
        .map_err(|_| Error::new(MPI_ERR_ARG, format!("offset is {offset}; it must not be negative")))
}
