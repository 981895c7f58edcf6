//! How a file is opened, closed and deleted.

use crate::arguments::{check, strings};
use crate::communicators::communicator::{agree_on_context, intra};
use crate::communicators::contexts::Held;
use crate::environment::info;
use crate::files::call::Call;
use crate::files::file::{File, agree, tell};
use crate::files::hints::Hints;
use crate::jobs::nodes;
use crate::process::{KeptFile, Process};
use core::ffi::{c_char, c_int};
use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock, Weak};
use weft_base::constants::*;
use weft_base::{Error, In, Out, Result, abi};
use weft_datatype::Datatype;
use weft_io::{Modes, Opened, Pointer, Representation, View, failed};
use weft_sync::Lock;

/// What the ranks of a process share of a file that is being opened: it is opened once.
struct Common {
    opened: OnceLock<Result<Arc<Opened>>>,
}

impl Common {
    /// Finds what the ranks of the file with a context number share, or creates it.
    fn join(context: u32) -> Arc<Self> {
        static LIVE: Lock<Option<HashMap<u32, Weak<Common>>>> = Lock::new(None);
        let mut live = LIVE.lock();
        let live = live.get_or_insert_default();
        if let Some(found) = live.get(&context).and_then(Weak::upgrade) {
            return found;
        }
        live.retain(|_, common| common.strong_count() > 0);
        let created = Arc::new(Self { opened: OnceLock::new() });
        live.insert(context, Arc::downgrade(&created));
        created
    }

    fn open(&self, path: &Path, modes: Modes, is_apart: bool) -> Result<Arc<Opened>> {
        let open = || match Opened::open(path, modes, is_apart) {
            Ok(opened) => Ok(Arc::new(opened)),
            Err(refusal) => Err(failed("opening", &path.display().to_string(), None, &refusal)),
        };
        self.opened.get_or_init(open).clone()
    }
}

/// Returns the name of a file as the system has it.
fn path(filename: In<c_char>) -> Result<PathBuf> {
    let name = strings::read(filename, "filename")?;
    Ok(PathBuf::from(OsString::from_vec(strings::bytes(&name))))
}

/// Checks the bits of `MPI_MODE_…`.
fn check_modes(amode: c_int) -> Result {
    const ALL: c_int = MPI_MODE_APPEND
        | MPI_MODE_CREATE
        | MPI_MODE_DELETE_ON_CLOSE
        | MPI_MODE_EXCL
        | MPI_MODE_RDONLY
        | MPI_MODE_RDWR
        | MPI_MODE_SEQUENTIAL
        | MPI_MODE_UNIQUE_OPEN
        | MPI_MODE_WRONLY;
    let has = |bits: c_int| amode & bits != 0;
    let refused = |what: &str| Err(Error::new(MPI_ERR_AMODE, format!("amode is {amode:#x}; {what}")));
    let ways = [MPI_MODE_RDONLY, MPI_MODE_RDWR, MPI_MODE_WRONLY];
    if has(!ALL) {
        return refused("it has bits that no MPI_MODE_ constant for files has");
    }
    if ways.into_iter().filter(|&way| has(way)).count() != 1 {
        return refused("it must have exactly one of MPI_MODE_RDONLY, MPI_MODE_RDWR and MPI_MODE_WRONLY");
    }
    if has(MPI_MODE_RDONLY) && has(MPI_MODE_CREATE | MPI_MODE_EXCL) {
        return refused("MPI_MODE_CREATE and MPI_MODE_EXCL make no sense with MPI_MODE_RDONLY");
    }
    if has(MPI_MODE_RDWR) && has(MPI_MODE_SEQUENTIAL) {
        return refused("MPI_MODE_SEQUENTIAL goes with MPI_MODE_RDONLY or MPI_MODE_WRONLY only");
    }
    Ok(())
}

/// `MPI_File_open`: `filename` is a name as the system has it, without prefixes.
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_ARG`, `MPI_ERR_INFO`, `MPI_ERR_AMODE`; `MPI_ERR_NOT_SAME`; the class of what the system says, at all
/// ranks.
pub fn file_open(
    comm: abi::Comm,
    filename: In<c_char>,
    amode: c_int,
    info: abi::Info,
    fh: Out<abi::File>,
) -> Result {
    check::output(fh, "fh")?;
    let process = Process::current()?;
    let parent = process.communicator(comm)?;
    intra(&parent, "comm")?;
    let path = path(filename)?;
    let mut hints = Hints::default();
    hints.update(info::optional(info)?, true);
    check_modes(amode)?;

    // Peers may ask for something as soon as all have agreed.
    nodes::serve_active(crate::active::SERVICES);
    nodes::active().into_iter().for_each(weft_io::use_active);
    let context = agree_on_context(&parent)?;
    let values = &parent.values;
    let rank = values.rank;
    let held = Held::new(context, process.world_rank);
    let team = nodes::join(context, values.size(), rank, |rank| values.group.world_rank(rank));
    let common = Common::join(context);
    let first = values.group.world_rank(0);
    let elsewhere = (!nodes::is_here(first)).then(|| nodes::node_of(first));
    let pointer = Pointer::join(context, elsewhere);

    let mut all = vec![0; 4 * team.size() as usize];
    team.allgather_bytes(&amode.to_ne_bytes(), &mut all)?;
    if all.chunks_exact(4).any(|other| other != amode.to_ne_bytes()) {
        return Err(Error::new(MPI_ERR_NOT_SAME, format!("amode is {amode:#x}; other ranks pass another")));
    }
    let has = |bits: c_int| amode & bits != 0;
    let modes = Modes {
        reads: !has(MPI_MODE_WRONLY),
        writes: !has(MPI_MODE_RDONLY),
        creates: has(MPI_MODE_CREATE),
        is_new: has(MPI_MODE_EXCL),
        permissions: hints.permissions(),
    };
    // One rank makes the file; the others find it there.
    let is_apart = nodes::are_apart(&values.group);
    let opened = if rank == 0 { Some(common.open(&path, modes, is_apart)) } else { None };
    let size = match &opened {
        Some(Ok(opened)) => opened.size(),
        Some(Err(error)) => Err(error.clone()),
        None => Ok(0),
    };
    let size = tell(&team, 0, size)?;
    let there = Modes { creates: false, is_new: false, ..modes };
    let opened = opened.unwrap_or_else(|| common.open(&path, there, is_apart));
    agree(&team, opened.as_ref().map(drop).map_err(Clone::clone))?;
    let opened = opened?;
    hints.tuning.agree(&team, opened.block().unwrap_or(1))?;

    let bytes = Datatype::predefined(MPI_BYTE).expect("a predefined datatype");
    let view = View::new(0, bytes.clone(), bytes.clone(), Representation::Native, modes.writes)?;
    let start = if has(MPI_MODE_APPEND) { size } else { 0 };
    if rank == 0 {
        pointer.set(start)?;
    }
    // Nobody moves the shared file pointer before it is set.
    team.barrier()?;
    let handler = process.default_file_handler.lock().clone();
    let file = File {
        group: values.group.clone(),
        team,
        opened,
        modes: amode,
        view: Lock::new(Arc::new(view)),
        position: AtomicU64::new(start),
        pointer,
        is_atomic: AtomicBool::new(false),
        split: Lock::new(None),
        hints: Lock::new(hints),
        _context: held,
    };
    let kept = KeptFile {
        error_handler: Lock::new(handler),
        group: file.group.clone(),
        title: format!("file \"{}\"", file.opened.name()),
        state: Arc::new(file),
    };
    fh.set(abi::File(process.files.insert(Arc::new(kept))));
    Ok(())
}

/// `MPI_File_close`: what ranks have written is on the device then.
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_ARG`; `MPI_ERR_OTHER` while a split collective operation has not ended, and then the file stays open.
/// The class of what the system says, at all ranks; the file is closed nevertheless.
pub fn file_close(fh: Out<abi::File>) -> Result {
    check::output(fh, "fh")?;
    let handle = fh.get_at(0);
    let call = Call::new(handle)?;
    call.no_split()?;
    let file = &call.file;
    let synchronised = file.agree(file.opened.sync());
    call.process.files.remove(handle.0)?;
    fh.set(MPI_FILE_NULL);
    let deleted = match file.has(MPI_MODE_DELETE_ON_CLOSE) {
        false => Ok(0),
        true => {
            let path = PathBuf::from(OsString::from_vec(strings::bytes(file.opened.name())));
            let mine = if file.team.rank() == 0 { remove(&path) } else { Ok(()) };
            tell(&file.team, 0, mine.map(|()| 0))
        }
    };
    synchronised.and(deleted.map(drop))
}

fn remove(path: &Path) -> Result {
    let refused = |refusal: io::Error| failed("deleting", &path.display().to_string(), None, &refusal);
    std::fs::remove_file(path).map_err(refused)
}

/// `MPI_File_delete`
///
/// # Errors
/// `MPI_ERR_ARG`, `MPI_ERR_INFO`; the class of what the system says.
pub fn file_delete(filename: In<c_char>, info: abi::Info) -> Result {
    Process::current()?;
    let path = path(filename)?;
    info::optional(info)?;
    remove(&path)
}
