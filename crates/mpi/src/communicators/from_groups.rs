//! Communicators of the members of groups (chapter 7), with and without a communicator that all of them belong to.

use crate::arguments::check;
use crate::arguments::strings;
use crate::communicators::agreement;
use crate::communicators::communicator::{Communicator, intra, publish};
use crate::communicators::contexts;
use crate::communicators::distant;
use crate::communicators::groups::one_origin;
use crate::communicators::meetings::{self, Agreement, Key};
use crate::communicators::splitting::all_within;
use crate::environment::info;
use crate::errors::handling::{self, ErrorHandler, HandlerKind};
use crate::jobs::strangers;
use crate::point_to_point::messages::{Purpose, bad_tag};
use crate::process::Process;
use core::ffi::{c_char, c_int};
use weft_base::constants::*;
use weft_base::{Error, In, Out, Result, abi};
use weft_comm::{Communicator as Values, Group};

/// `MPI_Comm_create_group`: collective over the group only. Its first member gives out the context number and sends
/// it to the others, in the context that `comm` keeps for the library's own messages.
///
/// # Errors
/// `MPI_ERR_COMM`, also for an intercommunicator; `MPI_ERR_TAG`; `MPI_ERR_GROUP` when the group has members that are not
/// in `comm`.
pub fn comm_create_group(comm: abi::Comm, group: abi::Group, tag: c_int, newcomm: Out<abi::Comm>) -> Result {
    check::output(newcomm, "newcomm")?;
    let process = Process::current()?;
    let parent = process.communicator(comm)?;
    intra(&parent, "comm")?;
    if tag < 0 {
        return Err(bad_tag(tag, ""));
    }
    let members = process.group(group)?;
    one_origin(&parent.values.group, &members, ["comm", "group"], MPI_ERR_GROUP)?;
    all_within(&members, &parent.values.group)?;
    newcomm.set(MPI_COMM_NULL);
    let Some(rank) = members.rank_of(process.world_rank) else { return Ok(()) };
    let first = parent.values.group.rank_of(members.world_rank(0)).unwrap_or(0);
    let envelope = Purpose::CreateGroup.envelope(&parent.values, first, tag);
    let context = if strangers::are_in(&members) {
        let member = |place: u32| parent.values.group.rank_of(members.world_rank(place)).unwrap_or(0);
        agreement::among(process, &members, |place| {
            Purpose::CreateGroup.envelope(&parent.values, member(place), tag)
        })?
    } else if rank == 0 {
        let context = contexts::allocate(members.size());
        members
            .iter()
            .skip(1)
            .try_for_each(|member| process.messages().send_words(member, envelope, &[context]))?;
        context
    } else {
        let mut word = [0];
        process.messages().receive_words(members.world_rank(0), envelope, &mut word)?;
        word[0]
    };
    let values = Values::intra(contexts::usable(context)?, rank, (*members).clone());
    publish(process, Communicator::new(values, parent.error_handler()), newcomm);
    Ok(())
}

/// What the calls without a parent communicator have in common.
struct Request {
    process: &'static Process,
    tag: String,
    hints: Vec<(String, String)>,
    error_handler: ErrorHandler,
}

impl Request {
    fn new(stringtag: In<c_char>, info: abi::Info, errhandler: abi::Errhandler) -> Result<Self> {
        let process = Process::current()?;
        let tag = strings::read(stringtag, "stringtag")?;
        if tag.len() >= MPI_MAX_STRINGTAG_LEN as usize {
            let limit = MPI_MAX_STRINGTAG_LEN - 1;
            let text = format!("stringtag has {} characters; at most {limit} are allowed", tag.len());
            return Err(Error::new(MPI_ERR_ARG, text));
        }
        let hints = info::optional(info)?;
        let error_handler = handling::handler(process, errhandler, HandlerKind::Communicator)?;
        Ok(Self { process, tag, hints, error_handler })
    }

    fn publish(self, values: Values, newcomm: Out<abi::Comm>) {
        let created = Communicator::new(values, self.error_handler);
        created.hint(&self.hints);
        publish(self.process, created, newcomm);
    }
}

/// Finds the caller's rank in a group it must belong to.
fn own_rank(process: &Process, group: &Group, name: &str) -> Result<u32> {
    group.rank_of(process.world_rank).ok_or_else(|| {
        Error::new(
            MPI_ERR_GROUP,
            format!("the calling process is not in {name}; only its members may make this call"),
        )
    })
}

/// Refuses groups with processes of other jobs: without a communicator that all are in they cannot agree.
fn of_one_job(group: &Group, name: &str) -> Result {
    if strangers::are_in(group) {
        let text = format!(
            "{name} has processes of another job; make the communicator with MPI_Comm_create_group, from one they are \
             all in"
        );
        return Err(Error::new(MPI_ERR_GROUP, text));
    }
    Ok(())
}

fn members_of(group: &Group) -> Vec<u32> {
    group.iter().collect()
}

/// `MPI_Comm_create_from_group`: its members agree by the group and the tag, in the memory they share.
///
/// # Errors
/// `MPI_ERR_GROUP`, also when the caller is not in it; `MPI_ERR_ARG` for a tag that is too long; `MPI_ERR_INFO`,
/// `MPI_ERR_ERRHANDLER`
pub fn comm_create_from_group(
    group: abi::Group,
    stringtag: In<c_char>,
    info: abi::Info,
    errhandler: abi::Errhandler,
    newcomm: Out<abi::Comm>,
) -> Result {
    check::output(newcomm, "newcomm")?;
    let request = Request::new(stringtag, info, errhandler)?;
    let process = request.process;
    let group = process.group(group)?;
    newcomm.set(MPI_COMM_NULL);
    if group.size() == 0 {
        return Ok(());
    }
    let rank = own_rank(process, &group, "group")?;
    of_one_job(&group, "group")?;
    let key = Key::Group { tag: request.tag.clone(), members: members_of(&group) };
    let context = if distant::spans(&group) {
        distant::of_group(process, &key, &group)?
    } else {
        meetings::join(key, process.world_rank, group.size()).context(group.size())
    };
    request.publish(Values::intra(context, rank, (*group).clone()), newcomm);
    Ok(())
}

/// What the leader of a side finds out about the other.
fn lead(
    request: &Request,
    own: &Group,
    remote: abi::Group,
    remote_leader: c_int,
) -> Result<Option<Agreement>> {
    let process = request.process;
    let remote = process.group(remote)?;
    if remote.size() == 0 {
        return Ok(None);
    }
    one_origin(own, &remote, ["local_group", "remote_group"], MPI_ERR_GROUP)?;
    of_one_job(&remote, "remote_group")?;
    let remote_leader = check_leader("remote_leader", remote_leader, &remote)?;
    disjoint(own, &remote)?;
    let (mut left, mut right) = (members_of(own), members_of(&remote));
    if left[0] > right[0] {
        (left, right) = (right, left);
    }
    let key = Key::Leaders { tag: request.tag.clone(), left, right };
    let other = remote.world_rank(remote_leader);
    let context = if distant::is_here(other) {
        meetings::join(key, process.world_rank, 2).context(own.size() + remote.size())
    } else {
        distant::of_leaders(process, &key, other, own.size() + remote.size())?
    };
    Ok(Some(Agreement { context, remote: Some((*remote).clone()) }))
}

/// Checks the rank of a leader.
pub(crate) fn check_leader(name: &str, rank: c_int, group: &Group) -> Result<u32> {
    match u32::try_from(rank) {
        Ok(leader) if leader < group.size() => Ok(leader),
        _ => {
            let text = format!("{name} is {rank}; the group has ranks 0 to {}", i64::from(group.size()) - 1);
            Err(Error::new(MPI_ERR_RANK, text))
        }
    }
}

/// Checks that the sides of an intercommunicator have no rank in common.
pub(crate) fn disjoint(own: &Group, remote: &Group) -> Result {
    match remote.iter().find(|&rank| own.rank_of(rank).is_some()) {
        None => Ok(()),
        Some(common) => {
            let text = format!(
                "the local and the remote group both have rank {common} of MPI_COMM_WORLD; they must be disjoint"
            );
            Err(Error::new(MPI_ERR_GROUP, text))
        }
    }
}

/// `MPI_Intercomm_create_from_groups`: the leaders agree by both groups and the tag, the ranks of each side learn from
/// theirs.
///
/// # Errors
/// `MPI_ERR_GROUP` when the caller is not in the local group or the groups overlap; `MPI_ERR_RANK` for a leader that is
/// not in its group; `MPI_ERR_ARG`, `MPI_ERR_INFO`, `MPI_ERR_ERRHANDLER`
#[expect(clippy::too_many_arguments)]
pub fn intercomm_create_from_groups(
    local_group: abi::Group,
    local_leader: c_int,
    remote_group: abi::Group,
    remote_leader: c_int,
    stringtag: In<c_char>,
    info: abi::Info,
    errhandler: abi::Errhandler,
    newintercomm: Out<abi::Comm>,
) -> Result {
    check::output(newintercomm, "newintercomm")?;
    let request = Request::new(stringtag, info, errhandler)?;
    let process = request.process;
    let group = process.group(local_group)?;
    newintercomm.set(MPI_COMM_NULL);
    if group.size() == 0 {
        return Ok(());
    }
    let rank = own_rank(process, &group, "local_group")?;
    of_one_job(&group, "local_group")?;
    let leader = check_leader("local_leader", local_leader, &group)?;
    let agreed = if rank == leader {
        let found = lead(&request, &group, remote_group, remote_leader);
        if group.size() > 1 {
            let told = found.as_ref().map_or_else(meetings::refused, |agreed| Ok(agreed.clone()));
            say(&request, &group, leader, told)?;
        }
        found?
    } else {
        listen(&request, &group, leader)?
    };
    let Some(Agreement { context, remote }) = agreed else { return Ok(()) };
    // The leader's session is one of its own.
    let remote = remote.map(|remote| remote.with_origin(group.origin()));
    let values = match remote {
        Some(remote) => Values::inter(context, rank, (*group).clone(), remote),
        None => Values::intra(context, rank, (*group).clone()),
    };
    request.publish(values, newintercomm);
    Ok(())
}

fn side(request: &Request, group: &Group, leader: u32) -> Key {
    Key::Side { tag: request.tag.clone(), members: members_of(group), leader }
}

/// Tells a side what its leader has found out.
fn say(request: &Request, group: &Group, leader: u32, told: Result<Option<Agreement>>) -> Result {
    let key = side(request, group, leader);
    if distant::spans(group) {
        return distant::say(request.process, &key, group, &told);
    }
    meetings::join(key, request.process.world_rank, group.size()).say(told);
    Ok(())
}

/// Waits for what the leader of the caller's side finds out.
fn listen(request: &Request, group: &Group, leader: u32) -> Result<Option<Agreement>> {
    let key = side(request, group, leader);
    if distant::spans(group) {
        return distant::listen(request.process, &key, group, leader);
    }
    meetings::join(key, request.process.world_rank, group.size()).listen()
}
