//! Intercommunicators (chapter 7): creation from two intracommunicators, merging, the other side.

use crate::arguments::check;
use crate::communicators::communicator::{Communicator, agree_on_context, intra, publish};
use crate::communicators::contexts;
use crate::communicators::from_groups::{check_leader, disjoint};
use crate::communicators::groups;
use crate::jobs::bridges::{self, Talk};
use crate::jobs::strangers;
use crate::point_to_point::messages::{Purpose, bad_tag};
use crate::process::Process;
use core::ffi::c_int;
use weft_base::constants::*;
use weft_base::{Error, Out, Result, abi};
use weft_comm::{Communicator as Values, Group};
use weft_p2p::Envelope;

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
enum Bridge {
    /// The context number, and who is on the other side.
    Plain { context: u32, remote: Group },
    /// Processes of several jobs are on the sides: whether this is the left one.
    OfJobs { is_left: bool },
}

/// In the length of a group: processes of several jobs are in it.
const OF_JOBS: u32 = 1 << 31;

/// The way to the other side's leader, through messages in the context that the communicator of both keeps for the
/// library's own.
struct Leaders {
    process: &'static Process,
    other: u32,
    outgoing: Envelope,
    incoming: Envelope,
}

impl Talk for Leaders {
    fn send(&self, message: &[u8]) -> Result {
        let messages = self.process.messages();
        messages.send_words(self.other, self.outgoing, &[message.len() as u32])?;
        let words: Vec<u32> = message.chunks(4).map(word).collect();
        messages.send_words(self.other, self.outgoing, &words)
    }

    fn receive(&self) -> Result<Vec<u8>> {
        let messages = self.process.messages();
        let mut length = [0];
        messages.receive_words(self.other, self.incoming, &mut length)?;
        let mut words = vec![0; length[0].div_ceil(4) as usize];
        messages.receive_words(self.other, self.incoming, &mut words)?;
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes.truncate(length[0] as usize);
        Ok(bytes)
    }
}

fn word(bytes: &[u8]) -> u32 {
    let mut four = [0; 4];
    four[..bytes.len()].copy_from_slice(bytes);
    u32::from_ne_bytes(four)
}

/// Exchanges the groups with the other side's leader. The leader with the smaller rank in the job speaks first; the other
/// one knows both groups then, so it checks them and gives out the context number.
fn meet_leader(
    process: &'static Process,
    local: &Communicator,
    peer_comm: abi::Comm,
    remote_leader: c_int,
    tag: c_int,
) -> Result<(Bridge, Leaders)> {
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
    let outgoing = Purpose::Intercommunicator.envelope(&peer.values, peer.values.rank, tag);
    let incoming = Purpose::Intercommunicator.envelope(&peer.values, remote_leader, tag);
    let leaders = Leaders { process, other, outgoing, incoming };
    let bridge = exchange(local, &leaders)?;
    Ok((bridge, leaders))
}

fn exchange(local: &Communicator, leaders: &Leaders) -> Result<Bridge> {
    let &Leaders { process, other, outgoing, incoming } = leaders;
    let (me, they) = (strangers::identity(process.world_rank), strangers::identity(other));
    let of_jobs = || Ok(Bridge::OfJobs { is_left: me < they });
    if me.job != they.job {
        return of_jobs();
    }
    let messages = process.messages();
    let is_mixed = strangers::are_in(&local.values.group);
    let own: Vec<u32> = local.values.group.iter().collect();
    let receive_group = |size: u32| -> Result<Group> {
        let mut ranks = vec![0; size as usize];
        messages.receive_words(other, incoming, &mut ranks)?;
        Ok(Group::from_ranks(&ranks).with_origin(local.values.group.origin()))
    };
    let mut header = [0; 2];
    if process.world_rank < other {
        messages.send_words(other, outgoing, &[if is_mixed { OF_JOBS } else { own.len() as u32 }, 0])?;
        if !is_mixed {
            messages.send_words(other, outgoing, &own)?;
        }
        messages.receive_words(other, incoming, &mut header)?;
        if header[0] == OF_JOBS {
            return of_jobs();
        }
        let remote = receive_group(header[0])?;
        overlap(&local.values.group, &remote)?;
        return Ok(Bridge::Plain { context: header[1], remote });
    }
    messages.receive_words(other, incoming, &mut header)?;
    let remote = if header[0] == OF_JOBS { Group::empty() } else { receive_group(header[0])? };
    if is_mixed || header[0] == OF_JOBS {
        messages.send_words(other, outgoing, &[OF_JOBS, 0])?;
        return of_jobs();
    }
    let disjoint = overlap(&local.values.group, &remote);
    let context = if disjoint.is_ok() { contexts::allocate(own.len() as u32 + remote.size()) } else { 0 };
    messages.send_words(other, outgoing, &[own.len() as u32, context])?;
    messages.send_words(other, outgoing, &own)?;
    disjoint.map(|()| Bridge::Plain { context, remote })
}

fn overlap(own: &Group, remote: &Group) -> Result {
    disjoint(own, remote).map_err(|error| Error::new(MPI_ERR_COMM, error.message.clone()))
}

/// Tells all ranks of `local` what its leader has found out.
fn tell_side(local: &Communicator, leader: u32, found: Result<Bridge>) -> Result<Bridge> {
    let (mut words, mut ranks) = ([0; 4], Vec::new());
    match &found {
        Ok(Bridge::Plain { context, remote }) => {
            words = [0, *context, remote.size(), 0];
            ranks = remote.iter().collect();
        }
        Ok(Bridge::OfJobs { is_left }) => words[3] = 1 + u32::from(*is_left),
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
    if words[3] != 0 {
        return Ok(Bridge::OfJobs { is_left: words[3] == 2 });
    }
    ranks.resize(words[2] as usize, 0);
    broadcast_words(local, leader, &mut ranks)?;
    let remote = Group::from_ranks(&ranks).with_origin(local.values.group.origin());
    Ok(Bridge::Plain { context: contexts::usable(words[1])?, remote })
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
    let mut leaders = None;
    let found = match local.values.rank == leader {
        true => meet_leader(process, &local, peer_comm, remote_leader, tag).map(|(bridge, found)| {
            leaders = Some(found);
            bridge
        }),
        false => Ok(Bridge::Plain { context: 0, remote: Group::empty() }),
    };
    let (values, tie) = match tell_side(&local, leader, found)? {
        Bridge::Plain { context, remote } => {
            let Values { rank, group, .. } = local.values.clone();
            (Values::inter(context, rank, group, remote), None)
        }
        Bridge::OfJobs { is_left } => {
            let talk = leaders.as_ref().map(|leaders| Ok(leaders as &dyn Talk));
            let (values, tie) = bridges::build(&local, leader, talk, is_left)?;
            (values, Some(tie))
        }
    };
    publish(process, Communicator::new(values, local.error_handler()), newintercomm);
    drop(tie);
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
