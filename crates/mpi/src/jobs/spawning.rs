//! Processes that start processes (chapter 11): `MPI_Comm_spawn`, `MPI_Comm_spawn_multiple`, `MPI_Comm_get_parent`.
//!
//! The root process opens a port and asks whoever has started its job to start the programs as a new job, which is told the
//! port. The new job's ranks connect to it in `MPI_Init`, and those who spawn accept them there, so that spawning is
//! connecting.

use crate::arguments::check;
use crate::arguments::strings;
use crate::communicators::communicator::{Communicator, intra, publish};
use crate::environment::info;
use crate::jobs::bridges::{self, Talk};
use crate::jobs::ports;
use crate::process::Process;
use crate::process::host::host;
use core::ffi::{c_char, c_int};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use weft_base::Named;
use weft_base::constants::*;
use weft_base::job::{Spawn, SpawnBlock};
use weft_base::{Error, In, Out, Result, abi};
use weft_door::Line;

/// The info keys of spawning that mean something here; others are ignored, as the standard wants.
const KEYS: [&str; 14] = [
    "host",
    "arch",
    "wdir",
    "path",
    "file",
    "soft",
    "mpi_initial_errhandler",
    "mpi_memory_alloc_kinds",
    // Not the standard's: what to set in the environment, and what programs for other MPIs say of hosts.
    "env",
    "hosts",
    "add-host",
    "hostfile",
    "add-hostfile",
    "map_by",
];

fn text(string: In<c_char>, name: &str) -> Result<OsString> {
    Ok(OsString::from_vec(strings::bytes(&strings::read(string, name)?)))
}

/// Reads a null-terminated array of strings, which may be null.
fn arguments(argv: In<*mut c_char>) -> Result<Vec<OsString>> {
    let mut found = Vec::new();
    if argv.is_null() {
        return Ok(found);
    }
    for index in 0.. {
        let string = strings::pointed_to(argv.get(index));
        if string.is_null() {
            break;
        }
        found.push(text(string, "argv")?);
    }
    Ok(found)
}

fn block(
    command: In<c_char>,
    arguments: Vec<OsString>,
    maxprocs: c_int,
    info: abi::Info,
    names: [&str; 2],
) -> Result<SpawnBlock> {
    let [command_name, maxprocs_name] = names;
    let program = text(command, command_name)?;
    let ranks = u32::try_from(maxprocs).ok().filter(|&ranks| ranks > 0).ok_or_else(|| {
        let text = format!("{maxprocs_name} is {maxprocs}; at least one process must be started");
        Error::new(MPI_ERR_ARG, text)
    })?;
    let keys = |(key, _): &(String, String)| KEYS.contains(&key.as_str());
    let info = info::optional(info)?.into_iter().filter(keys).collect();
    Ok(SpawnBlock { program, arguments, ranks, info })
}

/// Starts the programs; returns the way to the new job's root. Stores what each process came to in `errors`.
fn begin(blocks: Result<Vec<SpawnBlock>>, errors: &mut Vec<c_int>) -> Result<Line> {
    let blocks = blocks?;
    let wanted: Vec<u32> = blocks.iter().map(|block| block.ranks).collect();
    let count = wanted.iter().map(|&ranks| ranks as usize).sum();
    *errors = vec![MPI_ERR_SPAWN; count];
    let port = ports::open()?;
    let started = host().spawn(Spawn { blocks, port: port.clone() });
    let line = started.and_then(|started| {
        let line = ports::wait_at(&port, None)?;
        errors.clear();
        for (block, &wanted) in wanted.iter().enumerate() {
            let ranks = started.get(block).copied().unwrap_or(0).min(wanted);
            let state = |rank| if rank < ranks { MPI_SUCCESS } else { MPI_ERR_SPAWN };
            errors.extend((0..wanted).map(state));
        }
        Ok(line)
    });
    ports::close(&port);
    line
}

/// Shares the root's error codes with all, whatever came of it.
fn share_errors(local: &Communicator, root: u32, errors: &mut Vec<c_int>) -> Result {
    let mut length = (errors.len() as u32).to_ne_bytes();
    local.team.broadcast_bytes(root, &mut length)?;
    errors.resize(u32::from_ne_bytes(length) as usize, MPI_ERR_SPAWN);
    let mut bytes: Vec<u8> = errors.iter().flat_map(|error| error.to_ne_bytes()).collect();
    local.team.broadcast_bytes(root, &mut bytes)?;
    for (error, four) in errors.iter_mut().zip(bytes.chunks_exact(4)) {
        *error = c_int::from_ne_bytes(four.try_into().expect("four bytes"));
    }
    Ok(())
}

fn spawn(
    blocks: impl FnOnce() -> Result<Vec<SpawnBlock>>,
    root: c_int,
    comm: abi::Comm,
    intercomm: Out<abi::Comm>,
    array_of_errcodes: Out<c_int>,
) -> Result {
    check::output(intercomm, "intercomm")?;
    let process = Process::current()?;
    let local = process.communicator(comm)?;
    intra(&local, "comm")?;
    let root = check::root(root, local.values.size())?;
    intercomm.set(MPI_COMM_NULL);
    let mut errors = Vec::new();
    let begun = (local.values.rank == root).then(|| begin(blocks(), &mut errors));
    share_errors(&local, root, &mut errors)?;
    let talk = begun.as_ref().map(|line| line.as_ref().map(|line| line as &dyn Talk).map_err(Error::clone));
    let built = bridges::build(&local, root, talk, true);
    if built.is_err() {
        errors.fill(MPI_ERR_SPAWN);
    }
    if !array_of_errcodes.is_null() {
        errors.iter().enumerate().for_each(|(place, &error)| array_of_errcodes.set_at(place, error));
    }
    let (values, tie) = built.map_err(|error| match error.class {
        MPI_ERR_PORT => Error::new(MPI_ERR_SPAWN, format!("the new job was lost in MPI_Init: {error}")),
        _ => error,
    })?;
    publish(process, Communicator::new(values, local.error_handler()), intercomm);
    drop(tie);
    Ok(())
}

/// `MPI_Comm_spawn`
///
/// # Errors
/// `MPI_ERR_SPAWN` if no process, or not as many as wanted, could be started, and then nothing is started; also if the new
/// processes end before their `MPI_Init` is over;
/// `MPI_ERR_COMM`, `MPI_ERR_ROOT`; from the root process's arguments `MPI_ERR_ARG`, `MPI_ERR_INFO`. All ranks get an error.
pub fn comm_spawn(
    command: In<c_char>,
    argv: In<*mut c_char>,
    maxprocs: c_int,
    info: abi::Info,
    root: c_int,
    comm: abi::Comm,
    intercomm: Out<abi::Comm>,
    array_of_errcodes: Out<c_int>,
) -> Result {
    let blocks = || Ok(vec![block(command, arguments(argv)?, maxprocs, info, ["command", "maxprocs"])?]);
    spawn(blocks, root, comm, intercomm, array_of_errcodes)
}

/// `MPI_Comm_spawn_multiple`: as [`comm_spawn`], with several programs in one job.
///
/// # Errors
/// As [`comm_spawn`]; `MPI_ERR_ARG` if `count` is not positive.
pub fn comm_spawn_multiple(
    count: c_int,
    array_of_commands: In<*mut c_char>,
    array_of_argv: In<*mut *mut c_char>,
    array_of_maxprocs: In<c_int>,
    array_of_info: In<abi::Info>,
    root: c_int,
    comm: abi::Comm,
    intercomm: Out<abi::Comm>,
    array_of_errcodes: Out<c_int>,
) -> Result {
    let blocks = || {
        let count = usize::try_from(count).ok().filter(|&count| count > 0).ok_or_else(|| {
            Error::new(MPI_ERR_ARG, format!("count is {count}; at least one program must be named"))
        })?;
        let is_there = [
            ("array_of_commands", array_of_commands.is_null()),
            ("array_of_maxprocs", array_of_maxprocs.is_null()),
            ("array_of_info", array_of_info.is_null()),
        ];
        if let Some((name, _)) = is_there.into_iter().find(|(_, is_null)| *is_null) {
            return Err(Error::new(MPI_ERR_ARG, format!("{name} is a null pointer; pass an array")));
        }
        let one = |place| {
            let argv = if array_of_argv.is_null() {
                Vec::new()
            } else {
                arguments(strings::array_pointed_to(array_of_argv.get(place)))?
            };
            let command = strings::pointed_to(array_of_commands.get(place));
            let names = ["array_of_commands", "array_of_maxprocs"];
            let info = array_of_info.get(place);
            info::optional(info).named_at("array_of_info", place)?;
            block(command, argv, array_of_maxprocs.get(place), info, names)
        };
        (0..count).map(one).collect()
    };
    spawn(blocks, root, comm, intercomm, array_of_errcodes)
}

/// Connects a job that was spawned to those who have spawned it, once `MPI_COMM_WORLD` is there.
///
/// # Errors
/// `MPI_ERR_PORT` if they are gone.
pub(crate) fn meet_parent(process: &'static Process) -> Result {
    let Some(port) = host().parent() else { return Ok(()) };
    let world = process.communicator(MPI_COMM_WORLD)?;
    let line = (world.values.rank == 0).then(|| ports::connect_to(&port, None));
    let talk = line.as_ref().map(|line| line.as_ref().map(|line| line as &dyn Talk).map_err(Error::clone));
    let (values, tie) = bridges::build(&world, 0, talk, false)?;
    let communicator = Communicator::new(values, world.error_handler());
    communicator.rename("MPI_COMM_PARENT");
    let communicator = publish(process, communicator, Out::null());
    drop(tie);
    let _ = process.parent.set(communicator.handle());
    Ok(())
}

/// `MPI_Comm_get_parent`: `MPI_COMM_NULL` for a process that was not spawned, or that has let go of its parents.
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn comm_get_parent(parent: Out<abi::Comm>) -> Result {
    check::output(parent, "parent")?;
    let process = Process::current()?;
    let handle = process.parent.get().copied().filter(|&handle| process.communicator(handle).is_ok());
    parent.set(handle.unwrap_or(MPI_COMM_NULL));
    Ok(())
}
