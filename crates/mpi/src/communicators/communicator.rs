//! Communicators (chapter 7): the objects, what can be asked of them, and their end.
//!
//! A communicator comes to be in [`crate::communicators::duplication`], [`crate::communicators::splitting`], [`crate::communicators::split_type`],
//! [`crate::communicators::from_groups`] or [`crate::communicators::intercommunicators`]: the ranks agree on a context number and on who is in it.

use crate::arguments::check;
use crate::arguments::strings;
use crate::attributes::values::Attributes;
use crate::communicators::agreement;
use crate::communicators::contexts::Held;
use crate::communicators::groups;
use crate::communicators::hints::Hints;
use crate::errors::handlers;
use crate::errors::handling::{Action, ErrorHandler};
use crate::jobs::strangers::Tie;
use crate::process::Process;
use core::ffi::{c_char, c_int};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use weft_base::constants::*;
use weft_base::finding;
use weft_base::handle::Kind;
use weft_base::settings::is_checking;
use weft_base::{Error, In, Out, Result, abi};
use weft_coll::{Call, Team};
use weft_comm::topology::Topology;
use weft_comm::{Communicator as Values, Comparison, Group, SELF_CONTEXT, WORLD_CONTEXT};
use weft_p2p::{Matched, Scope};
use weft_sync::Lock;

/// A communicator as the library keeps it for one rank.
pub struct Communicator {
    handle: OnceLock<abi::Comm>,
    /// Who is in it, and its context number.
    pub values: Values,
    /// Its shared-memory collectives: among its ranks, or for an intercommunicator among those of both sides in the
    /// order of `Values::everyone`.
    pub team: Team,
    pub(crate) error_handler: Lock<ErrorHandler>,
    /// What the user has cached on it.
    pub attributes: Attributes,
    name: Lock<String>,
    pub(crate) hints: Lock<Hints>,
    topology: Option<Arc<Topology>>,
    /// How many nonblocking duplicates of it were begun.
    pub(crate) duplicates: AtomicU64,
    /// Keeps the processes of other jobs known that are in it.
    pub(crate) tie: Option<Tie>,
    /// Let go last: the context number may be used again when all ranks have done so.
    _context: Held,
}

impl Communicator {
    /// Creates this rank's part of a communicator, with nothing cached on it and hints at their defaults.
    pub(crate) fn new(values: Values, error_handler: ErrorHandler) -> Self {
        let (everyone, place) = values.everyone();
        let team = crate::jobs::nodes::join(values.context, everyone.size(), place, |rank| {
            everyone.world_rank(rank)
        });
        let team = match &values.remote {
            None => team,
            Some(_) if values.is_left => team.divided(values.size()),
            Some(remote) => team.divided(remote.size()),
        };
        // An earlier one may have had its number.
        note_name(&values, "");
        Self {
            handle: OnceLock::new(),
            team,
            error_handler: Lock::new(error_handler),
            attributes: Attributes::default(),
            name: Lock::default(),
            hints: Lock::default(),
            topology: None,
            duplicates: AtomicU64::new(0),
            tie: Tie::of(&values),
            _context: Held::new(values.context, values.group.world_rank(values.rank)),
            values,
        }
    }

    fn predefined(process: &Process, handle: abi::Comm) -> Self {
        let (context, group, name) = match handle {
            MPI_COMM_WORLD => (WORLD_CONTEXT, Group::range(0, process.world_size), "MPI_COMM_WORLD"),
            _ => (SELF_CONTEXT, Group::range(process.world_rank, 1), "MPI_COMM_SELF"),
        };
        let rank = group.rank_of(process.world_rank).unwrap_or(0);
        let communicator = Self::new(Values::intra(context, rank, group), handlers::initial(process));
        communicator.rename(name);
        let _ = communicator.handle.set(handle);
        communicator
    }

    /// Returns the handle the user knows it by.
    pub fn handle(&self) -> abi::Comm {
        self.handle.get().copied().unwrap_or(MPI_COMM_NULL)
    }

    /// Returns its virtual topology, if it has one.
    pub fn topology(&self) -> Option<&Topology> {
        self.topology.as_deref()
    }

    /// Attaches a topology, before anybody else sees the communicator.
    pub(crate) fn set_topology(&mut self, topology: Topology) {
        self.topology = Some(Arc::new(topology));
    }

    /// Attaches the topology of the communicator it is a duplicate of.
    pub(crate) fn share_topology(&mut self, original: &Self) {
        self.topology = original.topology.clone();
    }

    pub(crate) fn set_handle(&self, handle: abi::Comm) {
        let _ = self.handle.set(handle);
    }

    /// Names it.
    pub(crate) fn rename(&self, name: &str) {
        *self.name.lock() = name.into();
        note_name(&self.values, name);
    }

    /// Returns the name the user gave it.
    pub fn name(&self) -> String {
        self.name.lock().clone()
    }
}

/// Notes what a rank calls a communicator, for the findings of checking mode.
fn note_name(values: &Values, name: &str) {
    if is_checking() {
        finding::name_communicator(values.group.world_rank(values.rank), values.context, name);
    }
}

/// Creates `MPI_COMM_WORLD` and `MPI_COMM_SELF` of a rank.
pub(crate) fn create_predefined(process: &Process) {
    process.world.set(Communicator::predefined(process, MPI_COMM_WORLD));
    process.itself.set(Communicator::predefined(process, MPI_COMM_SELF));
}

/// Agrees on a fresh context number for all ranks of `parent`, of both sides if there are two.
pub(crate) fn agree_on_context(parent: &Communicator) -> Result<u32> {
    Ok(agreement::on_numbers(parent, &[parent.values.population()])?[0])
}

/// Gives a communicator a handle.
pub(crate) fn publish(
    process: &Process,
    communicator: Communicator,
    newcomm: Out<abi::Comm>,
) -> Arc<Communicator> {
    process.drop_retired();
    let communicator = Arc::new(communicator);
    let handle = abi::Comm(process.communicators.insert(communicator.clone()));
    communicator.set_handle(handle);
    newcomm.set(handle);
    communicator
}

/// Refuses an intercommunicator where the standard wants an intracommunicator.
pub(crate) fn intra(communicator: &Communicator, name: &str) -> Result {
    if communicator.values.is_inter() {
        return Err(Error::new(
            MPI_ERR_COMM,
            format!("{name} is an intercommunicator; this call needs an intracommunicator"),
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

/// `MPI_Comm_compare`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_ARG`
pub fn comm_compare(comm1: abi::Comm, comm2: abi::Comm, result: Out<c_int>) -> Result {
    check::output(result, "result")?;
    let process = Process::current()?;
    let (a, b) = (process.communicator(comm1)?, process.communicator(comm2)?);
    let (a, b) = (&a.values, &b.values);
    groups::one_origin(&a.group, &b.group, ["comm1", "comm2"], MPI_ERR_COMM)?;
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

/// `MPI_Comm_free`: what the rank has begun on the communicator goes on and ends as if it were still there.
///
/// # Errors
/// `MPI_ERR_COMM`, also for a predefined one; or the code of an attribute's delete function, and then the
/// communicator stays.
pub fn comm_free(comm: Out<abi::Comm>) -> Result {
    check::output(comm, "comm")?;
    let process = Process::current()?;
    let handle = comm.get_at(0);
    created(handle)?;
    process.communicator(handle)?.attributes.delete_all(handle.0)?;
    let communicator = process.communicators.remove(handle.0)?;
    if communicator.tie.is_some() {
        // Its processes stay connected.
        process.freed_ties.lock().push(communicator.clone());
    }
    process.retire(handle, communicator);
    comm.set(MPI_COMM_NULL);
    Ok(())
}

/// Refuses a communicator that the program has not created.
fn created(handle: abi::Comm) -> Result {
    if [MPI_COMM_WORLD, MPI_COMM_SELF].contains(&handle) {
        return Err(Kind::Comm.predefined(handle.0));
    }
    Ok(())
}

/// `MPI_Comm_disconnect`: as [`comm_free`], after what the rank has begun on the communicator is complete. The processes of
/// different jobs that no other communicator joins are independent afterwards.
///
/// # Errors
/// As [`comm_free`]; `MPI_ERR_PROC_ABORTED` if a process of another job is lost, and then the communicator stays until it is
/// freed.
pub fn comm_disconnect(comm: Out<abi::Comm>) -> Result {
    check::output(comm, "comm")?;
    let process = Process::current()?;
    let handle = comm.get_at(0);
    created(handle)?;
    let communicator = process.communicator(handle)?;
    let joins_jobs = communicator.tie.is_some();
    if let Some(messages) = process.messages.get() {
        let pending = messages.endpoint.requests().active_on(handle);
        messages.engine.wait_for_all(messages.endpoint, pending.len(), |i| pending[i])?;
        messages.endpoint.requests().wait_for_abandoned(handle);
        messages.give_back_buffer(Scope::Communicator(handle));
    }
    if !joins_jobs {
        drop(communicator);
        return comm_free(comm);
    }
    communicator.attributes.delete_all(handle.0)?;
    // Nobody lets go of the way to the others before they need it no more.
    communicator.team.barrier_of(Call::Disconnect)?;
    drop(communicator);
    let communicator = process.communicators.remove(handle.0)?;
    process.retire(handle, communicator);
    comm.set(MPI_COMM_NULL);
    Ok(())
}

/// Waits for the processes of other jobs that this rank is connected to, as they do for it, and lets go of them. Of those
/// that are lost the program has been told, where errors are not fatal.
///
/// # Errors
/// `MPI_ERR_PROC_ABORTED` when one of them is lost, and that is fatal on the communicator that joins it with this rank.
pub(crate) fn part(process: &Process) -> Result {
    let live = process.communicators.live();
    let freed = core::mem::take(&mut *process.freed_ties.lock());
    let mut ties: Vec<_> = live.into_iter().map(|(_, communicator)| communicator).chain(freed).collect();
    ties.retain(|communicator| communicator.tie.is_some());
    // All ranks of two communicators wait in the same order.
    ties.sort_by_key(|communicator| communicator.values.context);
    let is_fatal = |communicator: &Communicator| {
        matches!(communicator.error_handler().action, Action::Fatal | Action::Abort)
    };
    ties.iter().try_for_each(|communicator| match communicator.team.barrier_of(Call::Disconnect) {
        Err(error) if error.class == MPI_ERR_PROC_ABORTED && !is_fatal(communicator) => Ok(()),
        outcome => outcome,
    })
}

impl Process {
    /// Keeps a freed communicator as long as requests or matched messages of the rank refer to it: persistent requests
    /// may be started again in its context, and errors go to its error handler.
    fn retire(&self, handle: abi::Comm, communicator: Arc<Communicator>) {
        self.drop_retired();
        if self.is_in_use(handle) {
            self.retired.lock().push((handle, communicator));
        }
    }

    fn is_in_use(&self, handle: abi::Comm) -> bool {
        let Some(messages) = self.messages.get() else { return false };
        let is_matched =
            |message: &Lock<Option<Matched>>| message.lock().as_ref().is_some_and(|m| m.comm == handle);
        messages.endpoint.requests().is_used(handle)
            || messages.matched.live().iter().any(|(_, message)| is_matched(message))
    }

    /// Lets go of freed communicators that no request refers to any more.
    pub(crate) fn drop_retired(&self) {
        if self.retired.lock().is_empty() {
            return;
        }
        let over: Vec<_> = {
            let mut retired = self.retired.lock();
            let (over, still) = retired.drain(..).partition(|(handle, _)| !self.is_in_use(*handle));
            *retired = still;
            over
        };
        drop(over);
    }

    /// Returns a communicator that was freed while requests refer to it.
    pub(crate) fn retired(&self, handle: abi::Comm) -> Option<Arc<Communicator>> {
        self.retired.lock().iter().find(|(freed, _)| *freed == handle).map(|(_, found)| found.clone())
    }
}

/// `MPI_Comm_set_name`: a longer name is cut to `MPI_MAX_OBJECT_NAME - 1` characters.
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_ARG`
pub fn comm_set_name(comm: abi::Comm, comm_name: In<c_char>) -> Result {
    let process = Process::current()?;
    let communicator = process.communicator(comm)?;
    communicator.rename(&strings::read(comm_name, "comm_name")?);
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
