//! Makes a segment, and recognises one.
#![allow(unsafe_code)] // Looks at mapped memory as a header.

use super::layout::{MAX_NODES, Shape};
use super::shared::{Header, MAGIC, VERSION};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;
use weft_base::Error;
use weft_base::constants::MPI_ERR_INTERN;
use weft_sys::shared::{self, Mapping};

/// A segment, before anybody has attached.
pub struct Segment;

impl Segment {
    /// Creates the segment of `nodes` processes: the descriptor for them to inherit (it is close-on-exec), and its size in
    /// bytes, of which none is used yet. It has no name and goes with the last process that has it.
    ///
    /// # Errors
    /// MPI_ERR_INTERN if there are too many processes, or what the kernel says.
    pub fn create(nodes: u32) -> weft_base::Result<(OwnedFd, u64)> {
        Self::create_under(nodes, std::process::id())
    }

    /// As [`Segment::create`], for processes that descend from `ancestor`, which may not be the one that calls.
    ///
    /// # Errors
    /// As there.
    pub fn create_under(nodes: u32, ancestor: u32) -> weft_base::Result<(OwnedFd, u64)> {
        if !(1..=MAX_NODES).contains(&nodes) {
            return Err(wrong(format!(
                "{nodes} processes cannot share a segment: at least 1 and at most {MAX_NODES} can"
            )));
        }
        let size = Shape::of(nodes).size();
        let failed = |error| wrong(format!("cannot create {size} bytes of shared memory: {error}"));
        let fd = shared::create(c"weft", size).map_err(failed)?;
        let memory = Mapping::of(fd.as_fd()).map_err(failed)?;
        // SAFETY: the mapping begins with the header, all of which are atomics.
        let header = unsafe { &*memory.address().cast::<Header>() };
        header.version.store(VERSION, Ordering::Relaxed);
        header.nodes.store(nodes, Ordering::Relaxed);
        header.size.store(size, Ordering::Relaxed);
        header.ancestor.store(ancestor, Ordering::Relaxed);
        header.cores.store(weft_machine::usable_cores() as u32, Ordering::Relaxed);
        header.magic.store(MAGIC, Ordering::Release);
        Ok((fd, size))
    }
}

pub(super) fn wrong(message: String) -> Error {
    Error::new(MPI_ERR_INTERN, message)
}

/// Checks that a mapping is a segment of this version, and returns its shape.
pub(super) fn check(memory: &Mapping) -> weft_base::Result<Shape> {
    let size = memory.size() as u64;
    if size < size_of::<Header>() as u64 {
        return Err(wrong(format!("the job's shared memory has only {size} bytes: it is none of Weft's")));
    }
    // SAFETY: the mapping is long enough, and begins on a page; the header's fields are atomics.
    let header = unsafe { &*memory.address().cast::<Header>() };
    if header.magic.load(Ordering::Acquire) != MAGIC {
        return Err(wrong(
            "the descriptor given for the job's shared memory is that of something else".into(),
        ));
    }
    let (version, nodes) = (header.version.load(Ordering::Relaxed), header.nodes.load(Ordering::Relaxed));
    if version != VERSION {
        return Err(wrong(format!(
            "mpirun made shared memory of layout {version}, but this library knows layout {VERSION}: use the mpirun of the library's own installation"
        )));
    }
    if !(1..=MAX_NODES).contains(&nodes) {
        return Err(wrong(format!(
            "the job's shared memory is broken: it claims to be of {nodes} processes"
        )));
    }
    let shape = Shape::of(nodes);
    let claimed = header.size.load(Ordering::Relaxed);
    if claimed != shape.size() || size != claimed {
        return Err(wrong(format!(
            "the job's shared memory is broken: {size} bytes, of which its header claims {claimed}, where {nodes} processes need {}",
            shape.size()
        )));
    }
    Ok(shape)
}
