//! Memory that processes of one host map: where that can be tried, and how one process gets what another one has made.
//!
//! Such memory has no name. Who makes it offers it at its door (`weft_door`) and tells others an *invitation*; they fetch a
//! descriptor there and map it, if they can. What is left when all have unmapped it, whatever ended them, is nothing.
//!
//! What two processes can is decided by what they have tried, in one way for communicators (`MPI_COMM_TYPE_SHARED`) and windows.

use crate::jobs::nodes;
use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, OnceLock};
use weft_base::Result;
use weft_coll::Team;
use weft_door::Ticket;
use weft_sync::Lock;
use weft_sys::shared::{self, Mapping};

/// How long what is told of memory is, filled up with zeros. All zero: there is none.
pub(crate) const INVITATION: usize = 96;

/// Returns a number that processes have in common for which it makes sense to try: they are on the same host of the job, and
/// see the same network, where doors are, and the same processes, so that they know who lives.
pub(crate) fn place() -> u64 {
    static PLACE: OnceLock<u64> = OnceLock::new();
    *PLACE.get_or_init(|| {
        let boot = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let space = |name: &str| {
            std::fs::metadata(format!("/proc/self/ns/{name}")).map_or(0, |space| space.ino()).to_le_bytes()
        };
        let words = [&boot[..], &space("net"), &space("pid"), &nodes::host().to_le_bytes()];
        let hash = words.into_iter().flatten().fold(0xcbf2_9ce4_8422_2325u64, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        hash.max(1)
    })
}

/// Memory that others can fetch as long as this is kept.
pub(crate) struct Offered {
    /// What they are told.
    pub invitation: [u8; INVITATION],
    _ticket: Ticket,
}

/// Why a process has no memory in common with others.
#[derive(Clone)]
pub(crate) enum Lack {
    /// There is not so much.
    Memory,
    /// It cannot be shared, for this reason.
    Sharing(String),
}

impl From<io::Error> for Lack {
    fn from(error: io::Error) -> Self {
        Self::Sharing(error.to_string())
    }
}

/// Memory that others map, too, or why there is none.
pub(crate) type Memory = core::result::Result<Arc<Mapping>, Lack>;

/// Makes memory, all zero, at a multiple of `alignment`, and offers it.
///
/// # Errors
/// Why there is none.
pub(crate) fn make(size: usize, alignment: usize) -> core::result::Result<(Mapping, Offered), Lack> {
    if !shared::is_affordable(size) {
        return Err(Lack::Memory);
    }
    let descriptor = shared::create(c"weft-window", size as u64)?;
    let memory = Mapping::aligned(descriptor.as_fd(), alignment)?;
    let door = weft_door::door()?;
    let ticket = door.offer(descriptor)?;
    let words = format!("{} {}", door.name(), ticket.token());
    let mut invitation = [0; INVITATION];
    invitation[..words.len()].copy_from_slice(words.as_bytes());
    Ok((memory, Offered { invitation, _ticket: ticket }))
}

/// Maps memory that another process of the host has made, at a multiple of `alignment`.
///
/// # Errors
/// Why there is none.
pub(crate) fn fetch(invitation: &[u8], alignment: usize) -> core::result::Result<Mapping, Lack> {
    let words = invitation.split(|&byte| byte == 0).next().unwrap_or_default();
    let none = || Lack::Sharing("the process that was to make the memory could not".to_owned());
    let (door, ticket) =
        str::from_utf8(words).ok().and_then(|words| words.split_once(' ')).ok_or_else(none)?;
    let descriptor = weft_door::fetch(door, ticket)?;
    Ok(Mapping::aligned(descriptor.as_fd(), alignment)?)
}

/// Tells whether memory of an invitation can be mapped here. The ranks of a process try once.
fn is_mappable(invitation: &[u8]) -> bool {
    static LAST: Lock<(Vec<u8>, bool)> = Lock::new((Vec::new(), false));
    {
        let last = LAST.lock();
        if last.0 == invitation {
            return last.1;
        }
    }
    let is_mappable = fetch(invitation, 1).is_ok();
    *LAST.lock() = (invitation.to_vec(), is_mappable);
    is_mappable
}

/// Tells whether ranks of several processes are at the same place.
pub(crate) fn are_neighbours(whereabouts: &[(u64, u32)]) -> bool {
    let mut processes = HashMap::new();
    whereabouts.iter().any(|&(place, process)| *processes.entry(place).or_insert(process) != process)
}

/// Tries with whom of a team the calling rank shares memory. Of each rank it is known where it is: its place, and a number that the
/// ranks of its process have in common. Returns the first rank of those that do, the calling one among them.
///
/// # Errors
/// Those of a collective operation.
pub(crate) fn first_sharer(team: &Team, rank: u32, whereabouts: &[(u64, u32)]) -> Result<u32> {
    let (place, process) = whereabouts[rank as usize];
    let first = |wanted: &dyn Fn(&(u64, u32)) -> bool| {
        whereabouts.iter().position(wanted).expect("the rank itself is there") as u32
    };
    let (first_here, maker) = (first(&|&(_, other)| other == process), first(&|&(other, _)| other == place));
    if !are_neighbours(whereabouts) {
        return Ok(first_here);
    }
    let made = if rank == maker { make(1, 1).ok() } else { None };
    let told = made.as_ref().map_or([0; INVITATION], |(_, offered)| offered.invitation);
    let mut invitations = vec![0; INVITATION * whereabouts.len()];
    team.allgather_bytes(&told, &mut invitations)?;
    let invitation = &invitations[INVITATION * maker as usize..][..INVITATION];
    let shares = maker == first_here || is_mappable(invitation);
    // The memory stays until all have tried.
    let mut all = vec![0; whereabouts.len()];
    team.allgather_bytes(&[u8::from(shares)], &mut all)?;
    Ok(if shares { maker } else { first_here })
}
