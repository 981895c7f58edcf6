//! Intercommunicators (chapter 7): creation from two intracommunicators, merging, the other side.

use crate::communicators::{Communicator, agree_on_context, intra, publish};
use crate::contexts;
use crate::from_groups::{check_leader, disjoint};
use crate::messages::{Purpose, bad_tag};
use crate::process::Process;
use crate::{check, groups};
use core::ffi::c_int;
use weft_base::constants::*;
use weft_base::{Error, Out, Result, abi};
use weft_comm::{Communicator as Values, Group};

/// `MPI_Comm_remote_size`
///
/// # Errors
/// `MPI_ERR_COMM` for an intracommunicator, `MPI_ERR_ARG`
pub fn comm_remote_size(comm: abi::Comm, size: Out<c_int>) -> Result {
    check::output(size, "size")?;
    let process = Process::current()?;
    let communicator = process.communicator(comm)?;
    let remote = communicator.values.remote.as_ref().ok_or_else(|| not_inter("comm"))?;
    size.set(remote.size() as c_int);
    Ok(())
}

#[cold]
fn not_inter(name: &str) -> Error {
    Error::new(MPI_ERR_COMM, format!("{name} is an intracommunicator; it has no remote group"))
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

/// `MPI_Comm_remote_group`
///
/// # Errors
/// `MPI_ERR_COMM` for an intracommunicator, `MPI_ERR_ARG`
pub fn comm_remote_group(comm: abi::Comm, group: Out<abi::Group>) -> Result {
    check::output(group, "group")?;
    let process = Process::current()?;
    let members = process.communicator(comm)?.values.remote.clone().ok_or_else(|| not_inter("comm"))?;
    groups::give(process, members, group);
    Ok(())
}

/// What the leader learns from the other side's leader.
struct Bridge {
    context: u32,
    remote: Group,
}

/// Exchanges the groups with the other side's leader. The leader with the smaller rank in the job speaks first; the other
/// one knows both groups then, so it checks them and gives out the context number.
fn meet_leader(
    process: &'static Process,
    local: &Communicator,
    peer_comm: abi::Comm,
    remote_leader: c_int,
    tag: c_int,
) -> Result<Bridge> {
    let peer = process.communicator(peer_comm)?;
    groups::one_origin(&local.values.group, &peer.values.group, ["local_comm", "peer_comm"], MPI_ERR_COMM)?;
    let there = peer.values.peers();
    let remote_leader = check_leader("remote_leader", remote_leader, there)?;
    let other = there.world_rank(remote_leader);
    if local.values.group.rank_of(other).is_some() {
        let text = format!(
            "remote_leader {remote_leader} of peer_comm is in local_comm, too; the local and the remote group must \
             be disjoint"
        );
        return Err(Error::new(MPI_ERR_COMM, text));
    }
    let messages = process.messages();
    let outgoing = Purpose::Intercommunicator.envelope(&peer.values, peer.values.rank, tag);
    let incoming = Purpose::Intercommunicator.envelope(&peer.values, remote_leader, tag);
    let own: Vec<u32> = local.values.group.iter().collect();
    let receive_group = |size: u32| -> Result<Group> {
        let mut ranks = vec![0; size as usize];
        messages.receive_words(other, incoming, &mut ranks)?;
        Ok(Group::from_ranks(&ranks).with_origin(local.values.group.origin()))
    };
    let mut header = [0; 2];
    if process.world_rank < other {
        messages.send_words(other, outgoing, &[own.len() as u32, 0])?;
        messages.send_words(other, outgoing, &own)?;
        messages.receive_words(other, incoming, &mut header)?;
        let remote = receive_group(header[0])?;
        overlap(&local.values.group, &remote)?;
        return Ok(Bridge { context: header[1], remote });
    }
    messages.receive_words(other, incoming, &mut header)?;
    let remote = receive_group(header[0])?;
    let disjoint = overlap(&local.values.group, &remote);
    let context = if disjoint.is_ok() { contexts::allocate(own.len() as u32 + remote.size()) } else { 0 };
    messages.send_words(other, outgoing, &[own.len() as u32, context])?;
    messages.send_words(other, outgoing, &own)?;
    disjoint.map(|()| Bridge { context, remote })
}

fn overlap(own: &Group, remote: &Group) -> Result {
    disjoint(own, remote).map_err(|error| Error::new(MPI_ERR_COMM, error.message.clone()))
}

/// Tells all ranks of `local` what its leader has found out.
fn tell_side(local: &Communicator, leader: u32, found: Result<Bridge>) -> Result<Bridge> {
    let (mut words, mut ranks) = ([0; 3], Vec::new());
    match &found {
        Ok(bridge) => {
            words = [0, bridge.context, bridge.remote.size()];
            ranks = bridge.remote.iter().collect();
        }
        Err(error) => words[0] = error.class as u32,
    }
    broadcast_words(local, leader, &mut words)?;
    if local.values.rank == leader && found.is_err() {
        return found;
    }
    if words[0] != 0 {
        let text = format!("the local leader, rank {leader}, found an error in its arguments");
        return Err(Error::new(words[0] as i32, text));
    }
    ranks.resize(words[2] as usize, 0);
    broadcast_words(local, leader, &mut ranks)?;
    let remote = Group::from_ranks(&ranks).with_origin(local.values.group.origin());
    Ok(Bridge { context: words[1], remote })
}

fn broadcast_words(local: &Communicator, root: u32, words: &mut [u32]) -> Result {
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    local.team.broadcast_bytes(root, &mut bytes)?;
    for (word, four) in words.iter_mut().zip(bytes.chunks_exact(4)) {
        *word = u32::from_ne_bytes(four.try_into().expect("four bytes"));
    }
    Ok(())
}

/// `MPI_Intercomm_create`: the leaders exchange their groups in the context that `peer_comm` keeps for the library's own
/// messages.
///
/// # Errors
/// `MPI_ERR_COMM`, also when the groups overlap; `MPI_ERR_RANK`, `MPI_ERR_TAG`. What is wrong with arguments that only
/// the leader passes is reported by all ranks of its side.
pub fn intercomm_create(
    local_comm: abi::Comm,
    local_leader: c_int,
    peer_comm: abi::Comm,
    remote_leader: c_int,
    tag: c_int,
    newintercomm: Out<abi::Comm>,
) -> Result {
    check::output(newintercomm, "newintercomm")?;
    let process = Process::current()?;
    let local = process.communicator(local_comm)?;
    intra(&local, "local_comm")?;
    if tag < 0 {
        return Err(bad_tag(tag, ""));
    }
    let leader = check_leader("local_leader", local_leader, &local.values.group)?;
    newintercomm.set(MPI_COMM_NULL);
    let found = match local.values.rank == leader {
        true => meet_leader(process, &local, peer_comm, remote_leader, tag),
        false => Ok(Bridge { context: 0, remote: Group::empty() }),
    };
    let bridge = tell_side(&local, leader, found)?;
    let Values { rank, group, .. } = local.values.clone();
    let values = Values::inter(bridge.context, rank, group, bridge.remote);
    publish(process, Communicator::new(values, local.error_handler()), newintercomm);
    Ok(())
}

/// `MPI_Intercomm_merge`: the side that passes `high` comes last; when both pass the same, the left side comes first.
///
/// # Errors
/// `MPI_ERR_COMM` for an intracommunicator; `MPI_ERR_ARG` when the ranks of one side pass different values of `high`.
pub fn intercomm_merge(intercomm: abi::Comm, high: c_int, newintracomm: Out<abi::Comm>) -> Result {
    check::output(newintracomm, "newintracomm")?;
    let process = Process::current()?;
    let parent = process.communicator(intercomm)?;
    let remote = parent.values.remote.as_ref().ok_or_else(|| not_inter("intercomm"))?;
    newintracomm.set(MPI_COMM_NULL);
    let mut all = vec![0; parent.team.size() as usize];
    parent.team.allgather_bytes(&[u8::from(high != 0)], &mut all)?;
    let left = if parent.values.is_left { parent.values.size() } else { remote.size() };
    let (left, right) = all.split_at(left as usize);
    if [left, right].iter().any(|side| side.iter().any(|high| *high != side[0])) {
        let text = "the ranks of one group passed different values of high; each group must pass one value";
        return Err(Error::new(MPI_ERR_ARG, text));
    }
    let context = agree_on_context(&parent)?;
    let (everyone, place) = parent.values.everyone();
    let (group, rank) = if left[0] > right[0] {
        let ranks: Vec<u32> =
            everyone.iter().skip(left.len()).chain(everyone.iter().take(left.len())).collect();
        let all = left.len() + right.len();
        (Group::from_ranks(&ranks).with_origin(everyone.origin()), (place as usize + right.len()) % all)
    } else {
        (everyone, place as usize)
    };
    let values = Values::intra(context, rank as u32, group);
    publish(process, Communicator::new(values, parent.error_handler()), newintracomm);
    Ok(())
}
