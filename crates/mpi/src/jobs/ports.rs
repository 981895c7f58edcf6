//! Ports, names for them, and the connections between groups of processes that they serve (chapter 11).
//!
//! A port's name says at which door it is (`weft_door`), what to show there, and where the door is found from other hosts. A
//! port belongs to the node process that has opened it; its root process accepts there.
//!
//! Who connects waits until it is accepted, perhaps for a limited time, and then says that it still wants to. So both sides
//! agree whether they are connected: who accepts passes over those who have given up.

use crate::arguments::check;
use crate::arguments::strings;
use crate::communicators::communicator::{Communicator, intra, publish};
use crate::environment::info;
use crate::jobs::bridges::{self, Talk};
use crate::jobs::strangers::system;
use crate::process::Process;
use crate::process::host::host;
use core::ffi::{c_char, c_int};
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use weft_base::constants::*;
use weft_base::job::{Name, Named};
use weft_base::settings::CONNECT_TIMEOUT;
use weft_base::{Error, In, Out, Result, abi};
use weft_door::{Line, Port, door};
use weft_sync::Lock;

/// A port that is open, and why nobody will come any more, once that is known.
struct Open {
    port: Port,
    refusal: Lock<Option<String>>,
}

/// The ports of this node process, by name.
static PORTS: Lock<Option<HashMap<String, Arc<Open>>>> = Lock::new(None);

/// What a port's name begins with.
const SCHEME: &str = "weft:";

fn no_door(error: io::Error) -> Error {
    system(MPI_ERR_INTERN, "a socket for other processes to connect to", &error)
}

/// Opens a port; returns its name.
///
/// # Errors
/// `MPI_ERR_INTERN` with what the system refuses.
pub(crate) fn open() -> Result<String> {
    let door = door().map_err(no_door)?;
    let port = door.open_port().map_err(no_door)?;
    let addresses: Vec<String> = port.addresses().iter().map(ToString::to_string).collect();
    let name = format!("{SCHEME}{}:{}:{}", door.name(), port.token(), addresses.join(","));
    let open = Open { port, refusal: Lock::default() };
    PORTS.lock().get_or_insert_default().insert(name.clone(), Arc::new(open));
    Ok(name)
}

/// Says why those who are waited for at a port will not come: the wait ends with that.
pub fn refuse(name: &str, reason: String) {
    let open = PORTS.lock().as_ref().and_then(|ports| ports.get(name).cloned());
    if let Some(open) = open {
        *open.refusal.lock() = Some(reason);
        open.port.close();
    }
}

/// Closes a port; returns whether it was open.
pub(crate) fn close(name: &str) -> bool {
    let port = PORTS.lock().as_mut().and_then(|ports| ports.remove(name));
    port.is_some()
}

fn unknown(name: &str) -> Error {
    Error::new(
        MPI_ERR_PORT,
        format!("port_name is {name:?}, which is no port that is open; it may have been closed"),
    )
}

/// Says for how long was waited, and how that is changed.
fn in_vain(name: &str, what: &str, limit: Option<Duration>) -> Error {
    let seconds = limit.unwrap_or_default().as_secs_f64();
    let key = "the info key timeout sets how long, in seconds, and 0 for ever";
    Error::new(MPI_ERR_PORT, format!("port_name is {name:?}, {what} within {seconds} s; {key}"))
}

/// Waits at a port of this process, perhaps for a limited time, for one who connects.
///
/// # Errors
/// `MPI_ERR_PORT` if it is none, or nobody comes in time; `MPI_ERR_SPAWN` if it was opened for a job that has ended.
pub(crate) fn wait_at(name: &str, limit: Option<Duration>) -> Result<Line> {
    let open = PORTS.lock().as_ref().and_then(|ports| ports.get(name).cloned());
    let open = open.ok_or_else(|| unknown(name))?;
    let until = limit.map(|limit| Instant::now() + limit);
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let line = match open.port.accept(left) {
            Ok(line) => line,
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                return Err(in_vain(name, "to which nobody has connected", limit));
            }
            Err(_) => {
                let refusal = open.refusal.lock().clone();
                return Err(Error::new(
                    MPI_ERR_SPAWN,
                    refusal.unwrap_or_else(|| "the new job has ended".into()),
                ));
            }
        };
        // Whoever has connected begins with an empty message, and answers when it is accepted, unless it has given up.
        let agreed = line.receive().and_then(|_| line.send(b"")).and_then(|()| line.receive());
        if agreed.is_ok() {
            return Ok(line);
        }
    }
}

/// Connects to a port, and waits until that is accepted, perhaps for a limited time.
///
/// # Errors
/// `MPI_ERR_PORT` if it is none, is not there any more, or nobody accepts in time.
pub(crate) fn connect_to(name: &str, limit: Option<Duration>) -> Result<Line> {
    let place = name.strip_prefix(SCHEME).and_then(|rest| rest.split_once(':'));
    let (door, rest) = place.ok_or_else(|| unknown(name))?;
    let (token, addresses) = rest.split_once(':').unwrap_or((rest, ""));
    let addresses: Vec<SocketAddr> = addresses.split(',').filter_map(|word| word.parse().ok()).collect();
    let line = weft_door::connect(door, token, &addresses, b"").map_err(|error| {
        Error::new(MPI_ERR_PORT, format!("port_name is {name:?}, where nobody can be reached: {error}"))
    })?;
    match line.receive_within(limit).and_then(|_| line.send(b"")) {
        Ok(()) => Ok(line),
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {
            Err(in_vain(name, "where nobody has accepted", limit))
        }
        Err(_) => Err(unknown(name)),
    }
}

/// Returns how long to wait: what the info key `timeout` says, in seconds, or else so many; 0 is for ever.
fn limit_of(info: abi::Info, default: u64) -> Result<Option<Duration>> {
    let pairs = info::optional(info)?;
    let said = pairs.iter().rev().find(|(key, _)| key == "timeout").map(|(_, value)| value);
    let limit = said.map_or(Some(Duration::from_secs(default)), |text| {
        let seconds = text.trim().parse().ok()?;
        Duration::try_from_secs_f64(seconds).ok().filter(|limit| *limit <= LONGEST)
    });
    let wrong = || {
        let text = said.map_or("", String::as_str);
        let text =
            format!("info has the value {text:?} for timeout; pass a number of seconds from 0 to 1000000000");
        Error::new(MPI_ERR_INFO_VALUE, text)
    };
    Ok(Some(limit.ok_or_else(wrong)?).filter(|limit| !limit.is_zero()))
}

/// The longest time limit.
const LONGEST: Duration = Duration::from_secs(1_000_000_000);

/// `MPI_Open_port`: info keys have no meaning, as the place of a port is not to be chosen.
///
/// # Errors
/// `MPI_ERR_INFO`, `MPI_ERR_ARG`
pub fn open_port(info: abi::Info, port_name: Out<c_char>) -> Result {
    check::output(port_name, "port_name")?;
    Process::current()?;
    info::optional(info)?;
    let name = open()?;
    strings::write(&name, port_name, MPI_MAX_PORT_NAME as usize, Out::null());
    Ok(())
}

/// `MPI_Close_port`
///
/// # Errors
/// `MPI_ERR_PORT` if this process has not opened it, or closed it since.
pub fn close_port(port_name: In<c_char>) -> Result {
    Process::current()?;
    let name = strings::read(port_name, "port_name")?;
    if close(&name) { Ok(()) } else { Err(unknown(&name)) }
}

/// What accepting and connecting have in common.
fn join_at(
    comm: abi::Comm,
    root: c_int,
    newcomm: Out<abi::Comm>,
    is_left: bool,
    line: impl FnOnce() -> Result<Line>,
) -> Result {
    check::output(newcomm, "newcomm")?;
    let process = Process::current()?;
    let local = process.communicator(comm)?;
    intra(&local, "comm")?;
    let root = check::root(root, local.values.size())?;
    newcomm.set(MPI_COMM_NULL);
    let line = (local.values.rank == root).then(line);
    let talk = line.as_ref().map(|line| line.as_ref().map(|line| line as &dyn Talk).map_err(Error::clone));
    let (values, tie) = bridges::build(&local, root, talk, is_left)?;
    publish(process, Communicator::new(values, local.error_handler()), newcomm);
    drop(tie);
    Ok(())
}

/// `MPI_Comm_accept`: the info key `timeout` limits the wait.
///
/// # Errors
/// `MPI_ERR_COMM`, also when a process is on both sides; `MPI_ERR_ROOT`; `MPI_ERR_PORT` when the root process has opened no
/// such port, or nobody connects in time; `MPI_ERR_INFO_VALUE`.
pub fn comm_accept(
    port_name: In<c_char>,
    info: abi::Info,
    root: c_int,
    comm: abi::Comm,
    newcomm: Out<abi::Comm>,
) -> Result {
    join_at(comm, root, newcomm, true, || {
        let limit = limit_of(info, 0)?;
        wait_at(&strings::read(port_name, "port_name")?, limit)
    })
}

/// `MPI_Comm_connect`: waits to be accepted as long as the info key `timeout` says, or else the setting `connect-timeout`.
///
/// # Errors
/// As [`comm_accept`]; `MPI_ERR_PORT` when there is no such port, or nobody accepts there in time.
pub fn comm_connect(
    port_name: In<c_char>,
    info: abi::Info,
    root: c_int,
    comm: abi::Comm,
    newcomm: Out<abi::Comm>,
) -> Result {
    join_at(comm, root, newcomm, false, || {
        let limit = limit_of(info, CONNECT_TIMEOUT.get())?;
        connect_to(&strings::read(port_name, "port_name")?, limit)
    })
}

fn service(service_name: In<c_char>) -> Result<String> {
    let service = strings::read(service_name, "service_name")?;
    if service.is_empty() {
        return Err(Error::new(MPI_ERR_ARG, "service_name is empty"));
    }
    Ok(service)
}

/// Sees to names, here or at `mpirun`.
fn see_to(name: &Name) -> Result<Named> {
    match host().name_afar(name).unwrap_or_else(|| weft_door::see_to(name)) {
        Named::Failed(why) => Err(system(MPI_ERR_INTERN, "a socket for a published name", &why)),
        named => Ok(named),
    }
}

/// `MPI_Publish_name`: the name is known to all programs of the user on this host, or on that of `mpirun` if the job has
/// processes elsewhere, until it is taken back or the process ends.
///
/// # Errors
/// `MPI_ERR_SERVICE` if the name is published already; `MPI_ERR_ARG`, `MPI_ERR_INFO`
pub fn publish_name(service_name: In<c_char>, info: abi::Info, port_name: In<c_char>) -> Result {
    Process::current()?;
    info::optional(info)?;
    let (service, port) = (service(service_name)?, strings::read(port_name, "port_name")?);
    match see_to(&Name::Publish { service: service.clone(), port })? {
        Named::Done(false) => {
            let text = format!("service_name is {service:?}, which is published already; unpublish it first");
            Err(Error::new(MPI_ERR_SERVICE, text))
        }
        _ => Ok(()),
    }
}

/// `MPI_Unpublish_name`
///
/// # Errors
/// `MPI_ERR_SERVICE` if this process has not published the name; `MPI_ERR_ARG`, `MPI_ERR_INFO`
pub fn unpublish_name(service_name: In<c_char>, info: abi::Info, port_name: In<c_char>) -> Result {
    Process::current()?;
    info::optional(info)?;
    let service = service(service_name)?;
    strings::read(port_name, "port_name")?;
    if see_to(&Name::Unpublish { service: service.clone() })? == Named::Done(true) {
        return Ok(());
    }
    let text = format!("service_name is {service:?}, which this process has not published");
    Err(Error::new(MPI_ERR_SERVICE, text))
}

/// `MPI_Lookup_name`
///
/// # Errors
/// `MPI_ERR_NAME` if nobody has published the name; `MPI_ERR_ARG`, `MPI_ERR_INFO`
pub fn lookup_name(service_name: In<c_char>, info: abi::Info, port_name: Out<c_char>) -> Result {
    check::output(port_name, "port_name")?;
    Process::current()?;
    info::optional(info)?;
    let service = service(service_name)?;
    let Named::Found(Some(port)) = see_to(&Name::LookUp { service: service.clone() })? else {
        let text = format!("service_name is {service:?}, which nobody has published where this job looks");
        return Err(Error::new(MPI_ERR_NAME, text));
    };
    strings::write(&port, port_name, MPI_MAX_PORT_NAME as usize, Out::null());
    Ok(())
}

/// What the two ends of a socket tell each other in `MPI_Comm_join`, in as many bytes.
const RECORD: usize = MPI_MAX_PORT_NAME as usize;

/// `MPI_Comm_join`: through the socket go as many bytes in each direction as it takes to find each other.
///
/// # Errors
/// `MPI_ERR_ARG` if `fd` is no connected socket, or what comes through it makes no sense.
pub fn comm_join(fd: c_int, intercomm: Out<abi::Comm>) -> Result {
    check::output(intercomm, "intercomm")?;
    Process::current()?;
    let wrong = |error: io::Error| {
        Error::new(MPI_ERR_ARG, format!("fd is {fd}; a connected socket is wanted: {error}"))
    };
    let name = open()?;
    let record = format!("{name:<RECORD$}");
    let swapped = weft_sys::local_socket::swap(fd, record.as_bytes()).map_err(wrong);
    let joined = swapped.and_then(|theirs| {
        let theirs = String::from_utf8_lossy(&theirs).trim_end().to_owned();
        if !theirs.starts_with(SCHEME) || theirs == name {
            let text = format!("fd is {fd}; at its other end is no process of this library in the same call");
            return Err(Error::new(MPI_ERR_ARG, text));
        }
        let is_left = name < theirs;
        join_at(MPI_COMM_SELF, 0, intercomm, is_left, || {
            // Both are in the call.
            if is_left { wait_at(&name, None) } else { connect_to(&theirs, None) }
        })
    });
    close(&name);
    joined
}
