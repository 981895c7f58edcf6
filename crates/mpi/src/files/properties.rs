//! What a file is: its size, the room it has, its group, modes and hints.

use crate::arguments::check;
use crate::communicators::groups;
use crate::environment::info::{self, Info};
use crate::environment::memory_kinds;
use crate::files::call::Call;
use crate::files::file::tell;
use crate::files::merging::choose_workers;
use crate::jobs::nodes;
use core::ffi::c_int;
use std::sync::Arc;
use weft_base::abi::{self, Offset};
use weft_base::constants::*;
use weft_base::{Error, Out, Result};

/// Has the first rank do something with a size that all ranks pass.
fn resize(fh: abi::File, size: Offset, act: impl FnOnce(&weft_io::Opened, u64) -> Result) -> Result {
    let call = Call::new(fh)?;
    let Ok(bytes) = u64::try_from(size) else {
        return Err(Error::new(MPI_ERR_ARG, format!("size is {size}; it must not be negative")));
    };
    call.any_order()?;
    call.no_split()?;
    let file = &call.file;
    if file.has(MPI_MODE_RDONLY) {
        return Err(Error::new(
            MPI_ERR_READ_ONLY,
            "fh was opened with MPI_MODE_RDONLY; open it to write, too",
        ));
    }
    let mut all = vec![0; 8 * file.team.size() as usize];
    file.team.allgather_bytes(&bytes.to_ne_bytes(), &mut all)?;
    if all.chunks_exact(8).any(|other| other != bytes.to_ne_bytes()) {
        return Err(Error::new(MPI_ERR_NOT_SAME, format!("size is {size}; other ranks pass another")));
    }
    let done = if file.team.rank() == 0 { act(&file.opened, bytes) } else { Ok(()) };
    tell(&file.team, 0, done.map(|()| 0)).map(drop)
}

/// `MPI_File_set_size`
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_ARG`, `MPI_ERR_READ_ONLY`, `MPI_ERR_UNSUPPORTED_OPERATION`, `MPI_ERR_NOT_SAME`; the class of what the
/// system says, at all ranks.
pub fn file_set_size(fh: abi::File, size: Offset) -> Result {
    resize(fh, size, weft_io::Opened::set_size)
}

/// `MPI_File_preallocate`
///
/// # Errors
/// As [`file_set_size`].
pub fn file_preallocate(fh: abi::File, size: Offset) -> Result {
    resize(fh, size, weft_io::Opened::preallocate)
}

/// `MPI_File_get_size`
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_ARG`; the class of what the system says.
pub fn file_get_size(fh: abi::File, size: Out<Offset>) -> Result {
    check::output(size, "size")?;
    size.set(Call::new(fh)?.file.opened.size()? as Offset);
    Ok(())
}

/// `MPI_File_get_group`
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_ARG`
pub fn file_get_group(fh: abi::File, group: Out<abi::Group>) -> Result {
    check::output(group, "group")?;
    let call = Call::new(fh)?;
    groups::give(call.process, call.file.group.clone(), group);
    Ok(())
}

/// `MPI_File_get_amode`
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_ARG`
pub fn file_get_amode(fh: abi::File, amode: Out<c_int>) -> Result {
    check::output(amode, "amode")?;
    amode.set(Call::new(fh)?.file.modes);
    Ok(())
}

/// `MPI_File_set_info`
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_INFO`
pub fn file_set_info(fh: abi::File, info: abi::Info) -> Result {
    let call = Call::new(fh)?;
    let pairs = info::optional(info)?;
    call.file.update_hints(pairs)
}

/// `MPI_File_get_info`
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_ARG`
pub fn file_get_info(fh: abi::File, info_used: Out<abi::Info>) -> Result {
    check::output(info_used, "info_used")?;
    let call = Call::new(fh)?;
    let mut pairs = vec![("filename".to_owned(), call.file.opened.name().to_owned())];
    let file = &call.file;
    let hints = file.hints.lock().clone();
    let hosts: Vec<u32> = file.group.iter().map(|rank| nodes::host_of(nodes::node_of(rank))).collect();
    let workers = choose_workers(&hints.tuning, &hosts, nodes::are_apart(&file.group));
    pairs.extend(hints.reported(workers.len()));
    pairs.push((memory_kinds::KEY.into(), memory_kinds::of_origin(call.process, call.file.group.origin())));
    info_used.set(abi::Info(call.process.infos.insert(Arc::new(Info::new(pairs)))));
    Ok(())
}
