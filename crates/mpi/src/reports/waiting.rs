//! What a rank of this process waits for, and what lies unmatched at it: said when it is certain that it waits for ever.
//!
//! A call's own arguments are in the record of its thread (`weft_base::noted`); requests and messages are looked up here and
//! now, so that nothing of this costs anything before.
#![allow(unsafe_code)] // Reads the program's array of requests.

use crate::communicators::communicator::Communicator;
use crate::process::{INITIALIZED, Process};
use weft_base::abi;
use weft_base::constants::*;
use weft_base::noted::{Form, form, pair};
use weft_base::waiting::{self as said, Key, Knowledge, MOST, MOST_RUNS, Message, Peer, Want};
use weft_comm::Group;
use weft_datatype::Datatype;
use weft_p2p::{Lying, Started, What};
use weft_rma::Holder;
use weft_sched::Thread;

/// How many of a call's requests are looked at.
const LOOKED_AT: usize = 10_000;

/// Returns what a rank's threads, of which the first is its own, wait for. All of them wait for ever, so that nothing that
/// belongs to their calls changes.
pub fn describe(process: &'static Process, threads: &[&'static Thread]) -> Knowledge {
    let mut teller = Teller { process, knowledge: Knowledge::default() };
    for &thread in threads {
        let call = teller.call(thread);
        teller.knowledge.calls.push(call);
    }
    teller.unmatched();
    teller.knowledge
}

struct Teller {
    process: &'static Process,
    knowledge: Knowledge,
}

/// Returns the ranks of a group as runs, if they are few.
fn runs(groups: &[&Group]) -> Option<Vec<said::Run>> {
    let mut runs: Vec<said::Run> = Vec::new();
    for rank in groups.iter().flat_map(|group| group.iter()) {
        let is_full = runs.len() == MOST_RUNS;
        match runs.last_mut() {
            Some((first, stride, count)) if *count == 1 => {
                (*stride, *count) = (i64::from(rank) - i64::from(*first), 2);
            }
            Some((first, stride, count))
                if i64::from(*first) + *stride * i64::from(*count) == i64::from(rank) =>
            {
                *count += 1;
            }
            _ if is_full => return None,
            _ => runs.push((rank, 1, 1)),
        }
    }
    Some(runs)
}

impl Teller {
    fn note(&mut self, communicator: &Communicator) -> Key {
        let values = &communicator.values;
        let first = |group: &Group| if group.size() == 0 { u32::MAX } else { group.world_rank(0) };
        let other = values.remote.as_ref().map_or(u32::MAX, first);
        let key = Key { context: values.context, first: first(&values.group).min(other) };
        if !self.knowledge.communicators.iter().any(|known| known.key == key) {
            let groups: Vec<&Group> = std::iter::once(&values.group).chain(&values.remote).collect();
            self.knowledge.communicators.push(said::Communicator {
                key,
                name: communicator.name(),
                size: values.population(),
                remote: values.remote.as_ref().map(Group::size),
                members: runs(&groups),
            });
        }
        key
    }

    fn communicator(&mut self, handle: u64) -> Option<(Key, Group)> {
        let communicator = self.process.communicator(abi::Comm(handle as usize)).ok()?;
        Some((self.note(&communicator), communicator.values.peers().clone()))
    }

    /// Finds the communicator of messages with a context.
    fn of_context(&mut self, context: u32) -> Option<(Key, Group)> {
        let is_it = |communicator: &Communicator| communicator.values.point_to_point_context() == context;
        let process = self.process;
        let predefined = [process.world.get(), process.itself.get()];
        if let Some(found) = predefined.into_iter().flatten().find(|communicator| is_it(communicator)) {
            return Some((self.note(found), found.values.peers().clone()));
        }
        let (_, found) = process.communicators.live().into_iter().find(|(_, c)| is_it(c))?;
        Some((self.note(&found), found.values.peers().clone()))
    }

    fn peer(group: &Group, local: i32) -> Peer {
        match u32::try_from(local) {
            Ok(local) if local < group.size() => Peer::Rank { local, world: group.world_rank(local) },
            _ if local == MPI_ANY_SOURCE => Peer::Anybody,
            _ => Peer::Nobody,
        }
    }

    fn tag(tag: i32) -> Option<i32> {
        (tag != MPI_ANY_TAG).then_some(tag)
    }

    /// Says how much of which datatype, of which there is the handle.
    fn by_handle(&self, count: u64, handle: u64) -> Option<(u64, String)> {
        if count == u64::MAX || handle == u64::MAX {
            return None;
        }
        let handle = abi::Datatype(handle as usize);
        let datatype = self.process.datatype(handle).ok()?;
        let given = self.process.datatype_state.name(handle).filter(|name| !name.is_empty());
        Some((count, given.unwrap_or_else(|| name_of(&datatype))))
    }

    fn lying(&mut self, lying: &Lying) -> Option<Message> {
        let (comm, group) = self.of_context(lying.envelope.context)?;
        Some(Message {
            comm,
            peer: Self::peer(&group, lying.envelope.source()),
            tag: Self::tag(lying.envelope.tag()),
            data: Some(data(lying.elements.as_ref(), lying.bytes)),
        })
    }

    fn unmatched(&mut self) {
        let Some(messages) = self.process.messages.get() else { return };
        let ((lying, more), (posted, more_posted)) = messages.engine.unmatched(messages.endpoint, MOST);
        let known: Vec<_> = lying.iter().filter_map(|message| self.lying(message)).collect();
        self.knowledge.unmatched.messages = known;
        self.knowledge.unmatched.more_messages = more;
        let known: Vec<_> = posted.iter().filter_map(|receive| self.lying(receive)).collect();
        self.knowledge.unmatched.receives = known;
        self.knowledge.unmatched.more_receives = more_posted;
    }

    fn call(&mut self, thread: &'static Thread) -> said::Waiting {
        let (call, words) = (thread.call(), thread.arguments());
        let mut waiting = said::Waiting { call: call.into(), ..said::Waiting::default() };
        let message = |teller: &mut Self, at: usize, data: bool| {
            let (comm, group) = teller.communicator(words[0])?;
            let (peer, tag) = pair(words[at]);
            let data = if data { teller.by_handle(words[at + 1], words[at + 2]) } else { None };
            Some(Message { comm, peer: Self::peer(&group, peer), tag: Self::tag(tag), data })
        };
        match form(call) {
            Form::Message { receives: true } => {
                waiting.wants.extend(message(self, 1, true).map(Want::Receive));
            }
            Form::Message { receives: false } => waiting.wants.extend(message(self, 1, true).map(Want::Send)),
            Form::Probe => waiting.wants.extend(message(self, 1, false).map(Want::Receive)),
            Form::Exchange => {
                let halves =
                    [message(self, 4, true).map(Want::Send), message(self, 1, true).map(Want::Receive)];
                waiting.wants.extend(halves.into_iter().flatten());
                self.forget_done(&words, &mut waiting.wants);
            }
            Form::Requests => self.requests(words[0], words[1], &mut waiting),
            Form::Collective => {
                let has_data = !call.contains("MPI_Barrier");
                if let Some((comm, _)) = self.communicator(words[0]) {
                    let data = if has_data { self.by_handle(words[2], words[3]) } else { None };
                    let root = (has_data && words[1] != u64::MAX).then_some(words[1] as i32);
                    waiting.wants.push(Want::Collective { comm, call: plain(call), root, data });
                }
            }
            Form::Communicator => {
                if let Some((comm, _)) = self.communicator(words[0]) {
                    waiting.wants.push(Want::Collective { comm, call: plain(call), root: None, data: None });
                }
            }
            Form::Nothing if call == "MPI_Finalize" && self.process.phase() == INITIALIZED => {
                if let Some((comm, _)) = self.communicator(MPI_COMM_WORLD.0 as u64) {
                    let call = call.into();
                    waiting.wants.push(Want::Collective { comm, call, root: None, data: None });
                }
            }
            Form::Window => {
                waiting.wants.extend(self.window(plain(call).as_str(), words[0], words[1]).map(Want::Other));
            }
            Form::Nothing => {}
        }
        waiting
    }

    /// Says what a call about a window waits for.
    fn window(&self, call: &str, handle: u64, rank: u64) -> Option<String> {
        let window = self.process.window(abi::Win(handle as usize)).ok()?;
        let title = window.title();
        let ranks = |ranks: &[u32]| match ranks {
            [one] => format!("rank {one}"),
            many => format!("ranks {}", many.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")),
        };
        Some(match call {
            "MPI_Win_lock" => {
                let rank = u32::try_from(rank).ok().filter(|&rank| rank < window.group.size())?;
                let holder = match window.rma.holder(rank) {
                    Some(Holder::One(holder)) => format!("which rank {holder} has locked exclusively"),
                    Some(Holder::Shared) => "which others have locked".into(),
                    None if window.rma.is_locked_as_a_whole() => {
                        "which others have locked by MPI_Win_lock_all".into()
                    }
                    None => "which nobody has locked".into(),
                };
                format!("for the memory of rank {rank} in {title}, {holder}")
            }
            "MPI_Win_lock_all" => {
                let all = 0..window.group.size();
                let is_held = |&rank: &u32| matches!(window.rma.holder(rank), Some(Holder::One(_)));
                let held: Vec<u32> = all.filter(is_held).collect();
                format!(
                    "for the memory of all ranks in {title}, of which that of {} is locked exclusively",
                    ranks(&held)
                )
            }
            "MPI_Win_start" => {
                format!("for MPI_Win_post by {} of {title}", ranks(&window.rma.missing_posts()))
            }
            _ => {
                let (missing, all) = window.rma.missing_completions();
                format!("for MPI_Win_complete by {missing} of {all} origins in {title}")
            }
        })
    }

    /// Of a call that sends and receives, leaves what is not done: the receive if it is still posted.
    /// A short send is done when the call begins.
    fn forget_done(&self, words: &[u64], wants: &mut Vec<Want>) {
        let Some(messages) = self.process.messages.get() else { return };
        let (_, (posted, _)) = messages.engine.unmatched(messages.endpoint, usize::MAX);
        let size = self.process.datatype(abi::Datatype(words[6] as usize)).map_or(u64::MAX, |d| d.size());
        let is_short = words[5].saturating_mul(size) <= messages.engine.limits().eager;
        let is_posted = |message: &Message| {
            posted.iter().any(|lying| {
                let local = match message.peer {
                    Peer::Rank { local, .. } => local as i32,
                    _ => MPI_ANY_SOURCE,
                };
                lying.envelope.source() == local && Self::tag(lying.envelope.tag()) == message.tag
            })
        };
        wants.retain(|want| match want {
            Want::Receive(message) => is_posted(message),
            Want::Send(message) => message.peer != Peer::Nobody && !is_short,
            _ => true,
        });
    }

    fn requests(&mut self, address: u64, count: u64, waiting: &mut said::Waiting) {
        let Some(messages) = self.process.messages.get() else { return };
        waiting.any_request = waiting.call.ends_with("any") || waiting.call.ends_with("some");
        let array = address as usize as *const abi::Request;
        if array.is_null() || count > i32::MAX as u64 {
            return;
        }
        for index in 0..(count as usize).min(LOOKED_AT) {
            // SAFETY: the call in progress has read the array, and the rank that waits in it neither changes nor frees it.
            let handle = unsafe { array.add(index).read_unaligned() };
            for started in messages.engine.started(messages.endpoint, handle) {
                if waiting.requests.len() == MOST {
                    waiting.more_requests += 1;
                } else if let Some(request) = self.request(&started) {
                    waiting.requests.push(request);
                }
            }
        }
    }

    fn request(&mut self, started: &Started) -> Option<said::Request> {
        let (comm, group) = self.communicator(started.comm.0 as u64).unzip();
        let data = || Some(data(started.elements.as_ref(), started.bytes));
        let either = |persistent: &str, other: &str| {
            if started.is_persistent { persistent.to_owned() } else { other.to_owned() }
        };
        let mut note = String::new();
        let (made_by, want) = match &started.what {
            What::Send { target, tag, is_synchronous } => {
                let local = group?.rank_of(*target)?;
                let peer = Peer::Rank { local, world: *target };
                let made_by = match is_synchronous {
                    true => either("MPI_Ssend_init", "MPI_Issend"),
                    false => either("MPI_Send_init", "MPI_Isend"),
                };
                let message = Message { comm: comm?, peer, tag: Some(*tag), data: data() };
                (made_by, Want::Send(message))
            }
            What::Receive(pattern) => {
                let (peer, tag) = match pattern {
                    Some(pattern) => (Self::peer(&group?, pattern.source()), Self::tag(pattern.tag())),
                    None => return None,
                };
                let message = Message { comm: comm?, peer, tag, data: data() };
                (either("MPI_Recv_init", "MPI_Irecv"), Want::Receive(message))
            }
            What::Work(work) => {
                let want = match (&work.collective, comm, &work.message) {
                    (Some(call), Some(comm), _) => Want::Collective {
                        comm,
                        call: call.clone(),
                        root: work.root.map(|root| root as i32),
                        data: None,
                    },
                    (None, Some(comm), Some(message)) => {
                        let peer = Peer::Rank { local: group?.rank_of(message.world)?, world: message.world };
                        let said = Message { comm, peer, tag: Some(message.tag), data: None };
                        if message.not_ready > 0 {
                            let (missing, all) = (message.not_ready, message.partitions);
                            let verb = if missing == 1 { "is" } else { "are" };
                            note = format!("{missing} of its {all} partitions {verb} not ready");
                        }
                        if message.is_send { Want::Send(said) } else { Want::Receive(said) }
                    }
                    _ => Want::Other(work.words.clone()),
                };
                (work.made_by.clone(), want)
            }
        };
        Some(said::Request { made_by, want, note })
    }
}

fn name_of(datatype: &Datatype) -> String {
    let named = if datatype.is_named() { datatype.as_predefined() } else { None };
    named.map_or_else(|| "a derived datatype".into(), |basic| basic.name().into())
}

fn data(elements: Option<&(u64, Datatype)>, bytes: u64) -> (u64, String) {
    match elements {
        Some((count, datatype)) => (*count, name_of(datatype)),
        None => (bytes, "bytes".into()),
    }
}

/// Returns a call's name without the mark of large counts.
fn plain(call: &str) -> String {
    call.strip_suffix("_c").unwrap_or(call).into()
}
