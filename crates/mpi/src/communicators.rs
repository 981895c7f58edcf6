//! Communicators (chapter 7): the objects, and their creation.

use crate::attributes::Attributes;
use crate::errors::ErrorHandler;
use crate::groups;
use crate::info::{self, Info};
use crate::messages::bad_tag;
use crate::process::Process;
use crate::{check, error_handlers, strings};
use core::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use weft_base::constants::*;
use weft_base::{Error, In, Out, Result, abi};
use weft_coll::Team;
use weft_comm::{Communicator as Values, Comparison, FIRST_FREE_CONTEXT, Group, SELF_CONTEXT, WORLD_CONTEXT};
use weft_p2p::Envelope;
use weft_sync::Lock;

/// A communicator as the library keeps it for one rank.
pub struct Communicator {
    handle: OnceLock<abi::Comm>,
    /// Who is in it, and its context number.
    pub values: Values,
    /// Its shared-memory collectives.
    pub team: Team,
    pub(crate) error_handler: Lock<ErrorHandler>,
    /// What the user has cached on it.
    pub attributes: Attributes,
    name: Lock<String>,
    info: Lock<Vec<(String, String)>>,
}

impl Communicator {
    fn new(values: Values, error_handler: ErrorHandler) -> Self {
        let team =
            Team::join(values.context, values.size(), values.rank, |rank| values.group.world_rank(rank));
        Self {
            handle: OnceLock::new(),
            values,
            team,
            error_handler: Lock::new(error_handler),
            attributes: Attributes::default(),
            name: Lock::default(),
            info: Lock::default(),
        }
    }

    fn predefined(process: &Process, handle: abi::Comm) -> Self {
        let (context, group, name) = match handle {
            MPI_COMM_WORLD => (WORLD_CONTEXT, Group::range(0, process.world_size), "MPI_COMM_WORLD"),
            _ => (SELF_CONTEXT, Group::range(process.world_rank, 1), "MPI_COMM_SELF"),
        };
        let rank = group.rank_of(process.world_rank).unwrap_or(0);
        let values = Values { context, rank, group, remote: None };
        let communicator = Self::new(values, error_handlers::initial(process));
        *communicator.name.lock() = name.into();
        let _ = communicator.handle.set(handle);
        communicator
    }

    /// Returns the handle the user knows it by.
    pub fn handle(&self) -> abi::Comm {
        self.handle.get().copied().unwrap_or(MPI_COMM_NULL)
    }

    /// Returns the name the user gave it.
    pub fn name(&self) -> String {
        self.name.lock().clone()
    }
}

/// Creates `MPI_COMM_WORLD` and `MPI_COMM_SELF` of a rank.
pub(crate) fn create_predefined(process: &Process) {
    process.world.set(Communicator::predefined(process, MPI_COMM_WORLD));
    process.itself.set(Communicator::predefined(process, MPI_COMM_SELF));
}

/// Gives out `count` fresh context numbers and returns the first.
fn allocate_contexts(count: u32) -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(FIRST_FREE_CONTEXT);
    NEXT.fetch_add(count, Ordering::Relaxed)
}

/// Agrees on fresh context numbers: `count` of them, as rank 0 of `parent` says. Returns the first.
pub(crate) fn agree_on_contexts(parent: &Communicator, count: u32) -> Result<u32> {
    let mine = if parent.values.rank == 0 { allocate_contexts(count) } else { 0 };
    let mut word = mine.to_ne_bytes();
    parent.team.broadcast_bytes(0, &mut word)?;
    Ok(u32::from_ne_bytes(word))
}

fn publish(process: &Process, communicator: Communicator, newcomm: Out<abi::Comm>) -> Arc<Communicator> {
    let communicator = Arc::new(communicator);
    let handle = abi::Comm(process.communicators.insert(communicator.clone()));
    let _ = communicator.handle.set(handle);
    newcomm.set(handle);
    communicator
}

fn intra_only(communicator: &Communicator, call: &'static str) -> Result {
    if communicator.values.remote.is_some() {
        return Err(Error::new(
            MPI_ERR_UNSUPPORTED_OPERATION,
            format!("{call} on an intercommunicator is not done yet"),
        ));
    }
    Ok(())
}

/// `MPI_Comm_rank`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_ARG`
pub fn comm_rank(comm: abi::Comm, rank: Out<c_int>) -> Result {
    check::output(rank, "rank")?;
    rank.set(Process::current()?.communicator(comm)?.values.rank as c_int);
    Ok(())
}

/// `MPI_Comm_size`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_ARG`
pub fn comm_size(comm: abi::Comm, size: Out<c_int>) -> Result {
    check::output(size, "size")?;
    size.set(Process::current()?.communicator(comm)?.values.size() as c_int);
    Ok(())
}

/// `MPI_Comm_remote_size`
///
/// # Errors
/// `MPI_ERR_COMM` for an intracommunicator, `MPI_ERR_ARG`
pub fn comm_remote_size(comm: abi::Comm, size: Out<c_int>) -> Result {
    check::output(size, "size")?;
    let process = Process::current()?;
    let communicator = process.communicator(comm)?;
    let remote = communicator.values.remote.as_ref().ok_or_else(not_inter)?;
    size.set(remote.size() as c_int);
    Ok(())
}

#[cold]
fn not_inter() -> Error {
    Error::new(MPI_ERR_COMM, "comm is an intracommunicator; it has no remote group")
}

/// `MPI_Comm_test_inter`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_ARG`
pub fn comm_test_inter(comm: abi::Comm, flag: Out<c_int>) -> Result {
    check::output(flag, "flag")?;
    flag.set(c_int::from(Process::current()?.communicator(comm)?.values.remote.is_some()));
    Ok(())
}

/// `MPI_Comm_compare`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_ARG`
pub fn comm_compare(comm1: abi::Comm, comm2: abi::Comm, result: Out<c_int>) -> Result {
    check::output(result, "result")?;
    let process = Process::current()?;
    let (a, b) = (process.communicator(comm1)?, process.communicator(comm2)?);
    let (a, b) = (&a.values, &b.values);
    let compared = match (&a.remote, &b.remote) {
        _ if a.context == b.context => MPI_IDENT,
        (None, None) => match a.group.compare(&b.group) {
            Comparison::Identical => MPI_CONGRUENT,
            other => groups::comparison(other),
        },
        (Some(ra), Some(rb)) => match (a.group.compare(&b.group), ra.compare(rb)) {
            (Comparison::Identical, Comparison::Identical) => MPI_CONGRUENT,
            (Comparison::Unequal, _) | (_, Comparison::Unequal) => MPI_UNEQUAL,
            _ => MPI_SIMILAR,
        },
        _ => MPI_UNEQUAL,
    };
    // MPI_COMM_SELF of a one-rank job and its duplicate of MPI_COMM_WORLD differ in context, as they should.
    result.set(compared);
    Ok(())
}

/// `MPI_Comm_group`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_ARG`
pub fn comm_group(comm: abi::Comm, group: Out<abi::Group>) -> Result {
    check::output(group, "group")?;
    let process = Process::current()?;
    let members = process.communicator(comm)?.values.group.clone();
    groups::give(process, members, group);
    Ok(())
}

/// `MPI_Comm_remote_group`
///
/// # Errors
/// `MPI_ERR_COMM` for an intracommunicator, `MPI_ERR_ARG`
pub fn comm_remote_group(comm: abi::Comm, group: Out<abi::Group>) -> Result {
    check::output(group, "group")?;
    let process = Process::current()?;
    let members = process.communicator(comm)?.values.remote.clone().ok_or_else(not_inter)?;
    groups::give(process, members, group);
    Ok(())
}

fn duplicate(comm: abi::Comm, pairs: Option<Vec<(String, String)>>, newcomm: Out<abi::Comm>) -> Result {
    check::output(newcomm, "newcomm")?;
    let process = Process::current()?;
    let parent = process.communicator(comm)?;
    intra_only(&parent, "MPI_Comm_dup")?;
    let context = agree_on_contexts(&parent, 1)?;
    let values = Values { context, ..parent.values.clone() };
    let created = Communicator::new(values, parent.error_handler());
    *created.info.lock() = pairs.unwrap_or_else(|| parent.info.lock().clone());
    newcomm.set(MPI_COMM_NULL);
    parent.attributes.copy_to(comm.0, &created.attributes)?;
    publish(process, created, newcomm);
    Ok(())
}

/// `MPI_Comm_dup`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_ARG`, or the code of an attribute's copy function.
pub fn comm_dup(comm: abi::Comm, newcomm: Out<abi::Comm>) -> Result {
    duplicate(comm, None, newcomm)
}

/// `MPI_Comm_dup_with_info`
///
/// # Errors
/// As [`comm_dup`]; `MPI_ERR_INFO`
pub fn comm_dup_with_info(comm: abi::Comm, info: abi::Info, newcomm: Out<abi::Comm>) -> Result {
    duplicate(comm, Some(info::optional(info)?), newcomm)
}

/// Splits `parent` by color; a negative color is `MPI_UNDEFINED` and gives no communicator.
fn split(
    process: &Process,
    parent: &Communicator,
    color: c_int,
    key: c_int,
    newcomm: Out<abi::Comm>,
) -> Result<Option<Arc<Communicator>>> {
    let size = parent.values.size() as usize;
    let mut mine = [0; 8];
    mine[..4].copy_from_slice(&color.to_ne_bytes());
    mine[4..].copy_from_slice(&key.to_ne_bytes());
    let mut all = vec![0; 8 * size];
    parent.team.allgather_bytes(&mine, &mut all)?;
    let word = |bytes: &[u8]| c_int::from_ne_bytes(bytes.try_into().expect("four bytes"));
    let entries = || all.chunks_exact(8).map(|e| (word(&e[..4]), word(&e[4..])));

    let mut colors: Vec<c_int> = entries().map(|(color, _)| color).filter(|&c| c >= 0).collect();
    colors.sort_unstable();
    colors.dedup();
    let first_context = agree_on_contexts(parent, colors.len() as u32)?;
    let Ok(nth) = colors.binary_search(&color) else {
        newcomm.set(MPI_COMM_NULL);
        return Ok(None);
    };
    let mut members: Vec<(c_int, u32)> =
        entries().zip(0u32..).filter(|((c, _), _)| *c == color).map(|((_, k), rank)| (k, rank)).collect();
    members.sort_unstable();
    let mine = members.iter().position(|&(_, rank)| rank == parent.values.rank);
    let rank = mine.expect("a rank with a color is among its members") as u32;
    let ranks: Vec<u32> = members.iter().map(|&(_, r)| parent.values.group.world_rank(r)).collect();
    let group = Group::from_ranks(&ranks).with_origin(parent.values.group.origin());
    let values = Values { context: first_context + nth as u32, rank, group, remote: None };
    Ok(Some(publish(process, Communicator::new(values, parent.error_handler()), newcomm)))
}

/// `MPI_Comm_split`
///
/// # Errors
/// `MPI_ERR_COMM`; `MPI_ERR_ARG` for a negative color that is not `MPI_UNDEFINED`.
pub fn comm_split(comm: abi::Comm, color: c_int, key: c_int, newcomm: Out<abi::Comm>) -> Result {
    check::output(newcomm, "newcomm")?;
    let process = Process::current()?;
    let parent = process.communicator(comm)?;
    intra_only(&parent, "MPI_Comm_split")?;
    if color < 0 && color != MPI_UNDEFINED {
        let text = format!("color is {color}; it must not be negative (or be MPI_UNDEFINED)");
        return Err(Error::new(MPI_ERR_ARG, text));
    }
    split(process, &parent, color, key, newcomm)?;
    Ok(())
}

/// `MPI_Comm_split_type`: all ranks share one machine, so `MPI_COMM_TYPE_SHARED` and
/// `MPI_COMM_TYPE_RESOURCE_GUIDED` keep them together; the hardware-guided kinds find no finer resource and give
/// `MPI_COMM_NULL`, as the standard has it.
///
/// # Errors
/// `MPI_ERR_COMM`; `MPI_ERR_ARG` for an unknown kind.
pub fn comm_split_type(
    comm: abi::Comm,
    split_type: c_int,
    key: c_int,
    info: abi::Info,
    newcomm: Out<abi::Comm>,
) -> Result {
    check::output(newcomm, "newcomm")?;
    let process = Process::current()?;
    let parent = process.communicator(comm)?;
    intra_only(&parent, "MPI_Comm_split_type")?;
    let pairs = info::optional(info)?;
    let color = match split_type {
        MPI_COMM_TYPE_SHARED => 0,
        MPI_COMM_TYPE_HW_UNGUIDED
        | MPI_COMM_TYPE_HW_GUIDED
        | MPI_COMM_TYPE_RESOURCE_GUIDED
        | MPI_UNDEFINED => MPI_UNDEFINED,
        other => {
            return Err(Error::new(
                MPI_ERR_ARG,
                format!("split_type is {other}; use an MPI_COMM_TYPE_… constant"),
            ));
        }
    };
    if let Some(created) = split(process, &parent, color, key, newcomm)? {
        *created.info.lock() = pairs;
    }
    Ok(())
}

/// `MPI_Comm_create_group`: collective over the group only. Its first member gives out the context number and sends
/// it to the others, in the context that `comm` keeps for the library's own messages.
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_TAG`; `MPI_ERR_GROUP` when the group has members that are not in `comm`.
pub fn comm_create_group(comm: abi::Comm, group: abi::Group, tag: c_int, newcomm: Out<abi::Comm>) -> Result {
    check::output(newcomm, "newcomm")?;
    let process = Process::current()?;
    let parent = process.communicator(comm)?;
    intra_only(&parent, "MPI_Comm_create_group")?;
    if tag < 0 {
        return Err(bad_tag("tag", tag, ""));
    }
    let members = process.group(group)?;
    all_within(&members, &parent.values.group)?;
    let Some(rank) = members.rank_of(process.world_rank) else {
        newcomm.set(MPI_COMM_NULL);
        return Ok(());
    };
    let first = parent.values.group.rank_of(members.world_rank(0)).unwrap_or(0);
    let envelope = Envelope { context: parent.values.collective_context(), source: first as c_int, tag };
    let context = if rank == 0 {
        let context = allocate_contexts(1);
        members.iter().skip(1).for_each(|member| process.messages().send_word(member, envelope, context));
        context
    } else {
        process.messages().receive_word(members.world_rank(0), envelope)?
    };
    let values = Values { context, rank, group: (*members).clone(), remote: None };
    publish(process, Communicator::new(values, parent.error_handler()), newcomm);
    Ok(())
}

fn all_within(members: &Group, parent: &Group) -> Result {
    match members.iter().find(|&rank| parent.rank_of(rank).is_none()) {
        None => Ok(()),
        Some(stranger) => {
            let text = format!("group has rank {stranger} of MPI_COMM_WORLD, which is not in comm");
            Err(Error::new(MPI_ERR_GROUP, text))
        }
    }
}

/// `MPI_Comm_create`
///
/// # Errors
/// `MPI_ERR_COMM`; `MPI_ERR_GROUP` when the group has members that are not in `comm`.
pub fn comm_create(comm: abi::Comm, group: abi::Group, newcomm: Out<abi::Comm>) -> Result {
    check::output(newcomm, "newcomm")?;
    let process = Process::current()?;
    let parent = process.communicator(comm)?;
    intra_only(&parent, "MPI_Comm_create")?;
    let members = process.group(group)?;
    all_within(&members, &parent.values.group)?;
    // Ranks may pass different, disjoint groups: the first member's rank tells them apart.
    match members.rank_of(process.world_rank) {
        Some(rank) => {
            let color = parent.values.group.rank_of(members.world_rank(0)).unwrap_or(0);
            split(process, &parent, color as c_int, rank as c_int, newcomm)?
        }
        None => split(process, &parent, MPI_UNDEFINED, 0, newcomm)?,
    };
    Ok(())
}

/// `MPI_Comm_free`
///
/// # Errors
/// `MPI_ERR_COMM`, also for a predefined one; or the code of an attribute's delete function, and then the
/// communicator stays.
pub fn comm_free(comm: Out<abi::Comm>) -> Result {
    check::output(comm, "comm")?;
    let process = Process::current()?;
    let handle = comm.get_at(0);
    if [MPI_COMM_WORLD, MPI_COMM_SELF].contains(&handle) {
        return Err(Error::new(MPI_ERR_COMM, "MPI_COMM_WORLD and MPI_COMM_SELF cannot be freed"));
    }
    let communicator = process.communicator(handle)?;
    communicator.attributes.delete_all(handle.0)?;
    process.communicators.remove(handle.0)?;
    comm.set(MPI_COMM_NULL);
    Ok(())
}

/// `MPI_Comm_disconnect`
///
/// # Errors
/// As [`comm_free`].
pub fn comm_disconnect(comm: Out<abi::Comm>) -> Result {
    comm_free(comm)
}

/// `MPI_Comm_set_name`: a longer name is cut to `MPI_MAX_OBJECT_NAME - 1` characters.
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_ARG`
pub fn comm_set_name(comm: abi::Comm, comm_name: In<c_char>) -> Result {
    let process = Process::current()?;
    let communicator = process.communicator(comm)?;
    *communicator.name.lock() = strings::read(comm_name, "comm_name")?;
    Ok(())
}

/// `MPI_Comm_get_name`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_ARG`
pub fn comm_get_name(comm: abi::Comm, comm_name: Out<c_char>, resultlen: Out<c_int>) -> Result {
    check::output(comm_name, "comm_name")?;
    check::output(resultlen, "resultlen")?;
    let process = Process::current()?;
    // MPI_COMM_NULL has a name in the standard.
    let name = match comm {
        MPI_COMM_NULL => "MPI_COMM_NULL".into(),
        _ => process.communicator(comm)?.name(),
    };
    strings::write(&name, comm_name, MPI_MAX_OBJECT_NAME as usize, resultlen);
    Ok(())
}

/// `MPI_Comm_set_info`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_INFO`
pub fn comm_set_info(comm: abi::Comm, info: abi::Info) -> Result {
    let process = Process::current()?;
    let communicator = process.communicator(comm)?;
    *communicator.info.lock() = info::optional(info)?;
    Ok(())
}

/// `MPI_Comm_get_info`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_ARG`
pub fn comm_get_info(comm: abi::Comm, info_used: Out<abi::Info>) -> Result {
    check::output(info_used, "info_used")?;
    let process = Process::current()?;
    let pairs = process.communicator(comm)?.info.lock().clone();
    info_used.set(abi::Info(process.infos.insert(Arc::new(Info::new(pairs)))));
    Ok(())
}
