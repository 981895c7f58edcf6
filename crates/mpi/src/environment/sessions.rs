//! Sessions and process sets (chapter 12).

use crate::arguments::check;
use crate::arguments::strings;
use crate::communicators::groups;
use crate::environment::info::{self, Info};
use crate::environment::memory_kinds;
use crate::errors::handling;
use crate::errors::handling::{ErrorHandler, HandlerKind};
use crate::point_to_point::messages::Messages;
use crate::process::Process;
use crate::reports::thread_levels;
use core::ffi::{c_char, c_int};
use std::sync::Arc;
use weft_base::constants::*;
use weft_base::{Error, In, Out, Result, abi};
use weft_comm::Group;
use weft_p2p::Scope;
use weft_sync::Lock;

/// A session. Groups name it by its handle (`Group::origin`), and communicators and windows by their group.
pub struct Session {
    pub(crate) error_handler: Lock<ErrorHandler>,
    /// The value of `mpi_memory_alloc_kinds` for the session and all that comes from it.
    pub(crate) memory_kinds: String,
}

/// The info key that says which thread level is required.
const LEVEL_KEY: &str = "thread_level";

/// The process sets every rank is in.
const PSETS: [&str; 2] = ["mpi://WORLD", "mpi://SELF"];

/// Returns the members of a process set. Scheme and authority of a URI are the same in either case of letters.
pub(crate) fn members(process: &Process, name: &str) -> Option<Group> {
    match PSETS.iter().position(|known| known.eq_ignore_ascii_case(name))? {
        0 => Some(Group::range(0, process.world_size)),
        _ => Some(Group::range(process.world_rank, 1)),
    }
}

/// `MPI_Session_init`: `MPI_THREAD_MULTIPLE` is granted whatever is asked for.
///
/// # Errors
/// `MPI_ERR_INFO`, `MPI_ERR_ERRHANDLER`, `MPI_ERR_ARG`
pub fn session_init(info: abi::Info, errhandler: abi::Errhandler, session: Out<abi::Session>) -> Result {
    check::output(session, "session")?;
    let process = Process::any();
    let error_handler = Lock::new(handling::handler(process, errhandler, HandlerKind::Session)?);
    let pairs = info::optional(info)?;
    let requested = pairs.iter().find(|(key, _)| key == memory_kinds::KEY);
    let memory_kinds = requested
        .map_or_else(|| memory_kinds::of_launch(process), |(_, value)| memory_kinds::provided(value));
    process.messages.get_or_init(|| Messages::connect(process));
    let level =
        pairs.iter().find(|(key, _)| key == LEVEL_KEY).and_then(|(_, name)| thread_levels::of_name(name));
    // Without the key the level is what the implementation provides.
    thread_levels::require(process, level.unwrap_or(MPI_THREAD_MULTIPLE));
    process.count_session();
    let handle = process.sessions.insert(Arc::new(Session { error_handler, memory_kinds }));
    session.set(abi::Session(handle));
    Ok(())
}

/// `MPI_Session_finalize`: waits for operations of the session whose requests the program has freed, and for nobody
/// else. What was derived from the session and not freed goes, without calls of delete functions.
///
/// # Errors
/// `MPI_ERR_SESSION`, `MPI_ERR_ARG`
pub fn session_finalize(session: Out<abi::Session>) -> Result {
    check::output(session, "session")?;
    let process = Process::any();
    let handle = session.get_at(0);
    process.session(handle)?;
    process.complete_derived(handle.0);
    crate::reports::checking::report_derived(process, handle.0);
    process.discard_derived(handle.0);
    process.sessions.remove(handle.0)?;
    process.uncount_session();
    session.set(MPI_SESSION_NULL);
    Ok(())
}

impl Process {
    /// Waits until the rank's part in the messages of a session is complete, so that it may use the buffers for
    /// something else.
    fn complete_derived(&self, origin: usize) {
        let live = self.communicators.live().into_iter();
        let retired: Vec<_> = self.retired.lock().iter().map(|(handle, c)| (handle.0, c.clone())).collect();
        for (handle, communicator) in live.chain(retired) {
            if communicator.values.group.origin() == origin {
                let messages = self.messages();
                messages.endpoint.requests().wait_for_abandoned(abi::Comm(handle));
                messages.give_back_buffer(Scope::Communicator(abi::Comm(handle)));
            }
        }
        self.messages().give_back_buffer(Scope::Session(abi::Session(origin)));
        self.drop_retired();
    }

    /// Makes the handles of what comes from a session, or from the world model (0), invalid.
    pub(crate) fn discard_derived(&self, origin: usize) {
        for (handle, communicator) in self.communicators.live() {
            if communicator.values.group.origin() == origin {
                let _ = self.communicators.remove(handle);
            }
        }
        for (handle, window) in self.windows.live() {
            if window.group.origin() == origin {
                let _ = self.remove_window(abi::Win(handle));
            }
        }
        for (handle, file) in self.files.live() {
            if file.group.origin() == origin {
                let _ = self.files.remove(handle);
            }
        }
        for (handle, group) in self.groups.live() {
            if group.origin() == origin {
                let _ = self.groups.remove(handle);
            }
        }
    }
}

/// `MPI_Session_get_num_psets`
///
/// # Errors
/// `MPI_ERR_SESSION`, `MPI_ERR_INFO`, `MPI_ERR_ARG`
pub fn session_get_num_psets(session: abi::Session, info: abi::Info, npset_names: Out<c_int>) -> Result {
    check::output(npset_names, "npset_names")?;
    Process::any().session(session)?;
    info::optional(info)?;
    npset_names.set(PSETS.len() as c_int);
    Ok(())
}

/// `MPI_Session_get_nth_pset`: `pset_len` is the size of `pset_name` on entry, the size needed (with NUL) on return.
///
/// # Errors
/// `MPI_ERR_SESSION`, `MPI_ERR_INFO`, `MPI_ERR_ARG`
pub fn session_get_nth_pset(
    session: abi::Session,
    info: abi::Info,
    n: c_int,
    pset_len: Out<c_int>,
    pset_name: Out<c_char>,
) -> Result {
    check::output(pset_len, "pset_len")?;
    Process::any().session(session)?;
    info::optional(info)?;
    let Some(name) = usize::try_from(n).ok().and_then(|n| PSETS.get(n)) else {
        let text = format!("n is {n}; there are {} process sets, counted from 0", PSETS.len());
        return Err(Error::new(MPI_ERR_ARG, text));
    };
    let room = check::length(pset_len.get_at(0), "pset_len")?;
    if room > 0 {
        check::output(pset_name, "pset_name")?;
        strings::write(name, pset_name, room, pset_len);
    }
    pset_len.set(name.len() as c_int + 1);
    Ok(())
}

/// `MPI_Session_get_info`
///
/// # Errors
/// `MPI_ERR_SESSION`, `MPI_ERR_ARG`
pub fn session_get_info(session: abi::Session, info_used: Out<abi::Info>) -> Result {
    check::output(info_used, "info_used")?;
    let process = Process::any();
    let session = process.session(session)?;
    let pairs = vec![
        (LEVEL_KEY.into(), "MPI_THREAD_MULTIPLE".into()),
        (memory_kinds::KEY.into(), session.memory_kinds.clone()),
    ];
    info_used.set(abi::Info(process.infos.insert(Arc::new(Info::new(pairs)))));
    Ok(())
}

#[cold]
fn no_pset(name: &str) -> Error {
    Error::new(MPI_ERR_ARG, format!("pset_name is \"{name}\"; the process sets are {}", PSETS.join(" and ")))
}

/// `MPI_Session_get_pset_info`
///
/// # Errors
/// `MPI_ERR_SESSION`; `MPI_ERR_ARG` for a name that is no process set's.
pub fn session_get_pset_info(session: abi::Session, pset_name: In<c_char>, info: Out<abi::Info>) -> Result {
    check::output(info, "info")?;
    let process = Process::any();
    process.session(session)?;
    let name = strings::read(pset_name, "pset_name")?;
    let members = members(process, &name).ok_or_else(|| no_pset(&name))?;
    let pairs = vec![("mpi_size".into(), members.size().to_string())];
    info.set(abi::Info(process.infos.insert(Arc::new(Info::new(pairs)))));
    Ok(())
}

/// `MPI_Group_from_session_pset`
///
/// # Errors
/// `MPI_ERR_SESSION`; `MPI_ERR_ARG` for a name that is no process set's, and then the group is `MPI_GROUP_NULL`.
pub fn group_from_session_pset(
    session: abi::Session,
    pset_name: In<c_char>,
    newgroup: Out<abi::Group>,
) -> Result {
    check::output(newgroup, "newgroup")?;
    let process = Process::any();
    process.session(session)?;
    let name = strings::read(pset_name, "pset_name")?;
    newgroup.set(MPI_GROUP_NULL);
    let members = members(process, &name).ok_or_else(|| no_pset(&name))?;
    groups::give(process, members.with_origin(session.0), newgroup);
    Ok(())
}
