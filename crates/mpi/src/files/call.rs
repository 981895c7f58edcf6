//! What all calls on files have in common: the file, checks, and operations on their way.
#![allow(unsafe_code)] // Describes the program's buffers; looks at operations of other ranks.

use crate::arguments::check;
use crate::files::file::File;
use crate::files::requests;
use crate::jobs::nodes;
use crate::point_to_point::messages::{Data, store_status};
use crate::process::Process;
use core::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use weft_base::abi::{self, Count, Offset, Status};
use weft_base::constants::*;
use weft_base::{Error, Out, Result};
use weft_coll::Team;
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
    pub fn memory(&self, direction: Direction, buffer: Buffer) -> Result<Memory> {
        let Buffer { address, count, datatype } = buffer;
        let names = ["buf", "count"];
        let data = Data::new(self.process, address, count, datatype, names)?;
        self.allows(direction)?;
        let datatype = data.datatype().clone();
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
    pub fn at(&self, direction: Direction, offset: Offset, buffer: Buffer) -> Result<Access> {
        let memory = self.memory(direction, buffer)?;
        self.any_order()?;
        self.make(direction, &self.file.view(), memory, not_negative(offset)?)
    }

    /// Makes an operation at the individual file pointer, which goes on.
    ///
    /// # Errors
    /// As [`Call::at`].
    pub fn here(&self, direction: Direction, buffer: Buffer) -> Result<Access> {
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
    pub fn shared(&self, direction: Direction, buffer: Buffer) -> Result<Access> {
        let memory = self.memory(direction, buffer)?;
        let view = self.file.view();
        let offset = self.file.pointer.add(view.etypes(&memory)?)?;
        self.make(direction, &view, memory, offset)
    }

    /// Makes an operation at the shared file pointer as if the ranks came one after the other.
    ///
    /// # Errors
    /// As [`Call::memory`]; that of another rank.
    pub fn ordered(&self, direction: Direction, buffer: Buffer) -> Result<Access> {
        let view = self.file.view();
        let mine = self.memory(direction, buffer).and_then(|memory| Ok((view.etypes(&memory)?, memory)));
        let team = &self.file.team;
        let count = mine.as_ref().map_or(u64::MAX, |(etypes, _)| *etypes);
        let mut all = vec![0; 8 * team.size() as usize];
        team.allgather_bytes(&count.to_ne_bytes(), &mut all)?;
        let (_, memory) = mine?;
        let counts: Vec<u64> = all
            .chunks_exact(8)
            .map(|eight| u64::from_ne_bytes(eight.try_into().expect("eight bytes")))
            .collect();
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

    /// Carries an operation out.
    ///
    /// # Errors
    /// What became of it.
    pub fn run(&self, access: Access, status: Out<Status>) -> Result {
        let bytes = access.carry_out_aside()?;
        store_status(status, Status::of(bytes, false));
        Ok(())
    }

    /// Carries out a collective operation. The ranks of a process merge what they read or write, if that is of use; a rank whose
    /// arguments are wrong takes part without data.
    ///
    /// # Errors
    /// What became of the operation, also at another rank where they were merged.
    pub fn run_all(&self, made: Result<Access>, status: Out<Status>) -> Result {
        let file = &self.file;
        let is_alone = file.team.size() == 1 || file.is_atomic.load(Ordering::Relaxed);
        if is_alone || !file.view().representation().is_plain() || nodes::are_apart(&file.group) {
            return self.run(made?, status);
        }
        let Some(merged) = merge(&file.team, made.as_ref().ok())? else {
            return self.run(made?, status);
        };
        let access = made?;
        let bytes = merged?.map_or(access.bytes(), |end| access.bytes_until(end));
        store_status(status, Status::of(bytes, false));
        Ok(())
    }

    /// Begins an operation behind a request.
    ///
    /// # Errors
    /// `MPI_ERR_ARG`
    pub fn start(&self, access: Access, request: Out<abi::Request>) {
        let work = requests::start(access, self.handle, weft_sched::current().call());
        let requests = self.process.messages().endpoint.requests();
        request.set(requests.create_work(work, MPI_COMM_SELF, true));
    }
}

/// Parts of a file that ranks carry out begin at multiples of so many bytes.
const ALIGNMENT: u64 = 64 << 10;

/// Carries out the operations of all ranks of a team, all of which are in this process, part of the file by part. Returns where the
/// file has ended, if reading has met its end; nothing if merging is of no use.
///
/// # Errors
/// `MPI_ERR_OTHER` if the ranks are in different calls. Within: that of any rank.
fn merge(team: &Team, mine: Option<&Access>) -> Result<Option<Result<Option<u64>>>> {
    let (start, end) = mine.map_or((0, 0), Access::range);
    let is_mergeable = mine.is_none_or(Access::is_mergeable);
    let is_one_piece = mine.is_none_or(Access::is_one_piece);
    let address = mine.map_or(0, |access| core::ptr::from_ref(access).expose_provenance() as u64);
    let flags = u64::from(is_mergeable) | u64::from(is_one_piece) << 1;
    let all = gather(team, [address, start, end, flags])?;
    if all.iter().any(|told| told[3] & 1 == 0) || all.iter().all(|told| told[3] & 2 != 0) {
        return Ok(None);
    }
    let ranges = || all.iter().filter(|told| told[1] < told[2]);
    let first = ranges().map(|told| told[1]).min().unwrap_or(0) / ALIGNMENT * ALIGNMENT;
    let behind = ranges().map(|told| told[2]).max().unwrap_or(0);
    let (ranks, rank) = (u64::from(team.size()), u64::from(team.rank()));
    let parts = ranks.min(2 * weft_sched::workers().max(1) as u64);
    let length = (behind - first).div_ceil(parts).next_multiple_of(ALIGNMENT);
    // Those who work are far from each other, so that they are on several workers.
    let part = (0..parts).find(|part| part * ranks / parts == rank);
    let done = part.map_or(Ok(None), |part| {
        // SAFETY: each rank's operation lives until all have told what became of their parts, and nobody changes it.
        let access = |told: &[u64; 4]| unsafe {
            core::ptr::with_exposed_provenance::<Access>(told[0] as usize).as_ref()
        };
        let accesses: Vec<&Access> = all.iter().filter_map(access).collect();
        let from = first + part * length;
        Access::carry_out_between(&accesses, from, (from + length).min(behind))
    });
    let class = done.as_ref().err().map_or(MPI_SUCCESS, |error| error.class);
    let over = done.as_ref().ok().copied().flatten().unwrap_or(u64::MAX);
    let all = gather(team, [class as u64, over])?;
    if let Err(error) = done {
        return Ok(Some(Err(error)));
    }
    if let Some(rank) = all.iter().position(|told| told[0] as i32 != MPI_SUCCESS) {
        let text = format!("rank {rank} of the file's group could not do its part of a collective operation");
        return Ok(Some(Err(Error::new(all[rank][0] as i32, text))));
    }
    let over = all.iter().map(|told| told[1]).min().filter(|&over| over != u64::MAX);
    Ok(Some(Ok(over)))
}

/// Collects words of all ranks.
fn gather<const N: usize>(team: &Team, mine: [u64; N]) -> Result<Vec<[u64; N]>> {
    let mine = mine.map(u64::to_ne_bytes);
    let mut all = vec![[[0; 8]; N]; team.size() as usize];
    team.allgather_bytes(mine.as_flattened(), all.as_flattened_mut().as_flattened_mut())?;
    Ok(all.into_iter().map(|told| told.map(u64::from_ne_bytes)).collect())
}

/// Checks where a request goes.
///
/// # Errors
/// `MPI_ERR_ARG`
pub(super) fn request_output(request: Out<abi::Request>) -> Result {
    check::output(request, "request")
}

/// Checks an offset.
///
/// # Errors
/// `MPI_ERR_ARG`
pub(super) fn not_negative(offset: Offset) -> Result<u64> {
    u64::try_from(offset)
        .map_err(|_| Error::new(MPI_ERR_ARG, format!("offset is {offset}; it must not be negative")))
}
