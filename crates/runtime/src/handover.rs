//! What a node process inherits from `mpirun`: the job, the socket to `mpirun`, and the way to the other node processes.
#![allow(unsafe_code)] // Takes inherited descriptors.

use crate::control::Control;
use std::fs::File;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use weft_base::job::{Handover, Job, NO_FD, Report};
use weft_local::SegmentDevice;
use weft_net_tcp::{Card, Listener, NetConfig, TcpDevice};
use weft_transport::{Device, Node, Nodes, Places, Routes};

/// What a node process has received.
pub struct Received {
    /// The job.
    pub job: Job,
    /// The socket.
    pub control: &'static Control,
    /// The number of this node process.
    pub node: u32,
}

/// Tells whether a rank is this process's.
fn node_holds(job: &Job, node: u32, rank: u32) -> bool {
    job.node_of.get(rank as usize).map_or(node == 0, |&of| of == node)
}

/// Keeps a descriptor that `mpirun` passed from the programs that this one starts.
fn keep(fd: i32) -> Result<(), String> {
    // SAFETY: a system call on a number; fails if it is no descriptor.
    if unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
        return Err(format!(
            "descriptor {fd} was not passed: what stands between mpirun and this program must leave descriptors open \
             (Python's subprocess does with close_fds=False)"
        ));
    }
    Ok(())
}

/// Takes a descriptor that `mpirun` passed.
fn take(fd: i32) -> Result<OwnedFd, String> {
    keep(fd)?;
    // SAFETY: `mpirun` passed the descriptor to this process for this purpose; nobody else uses it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Reads the job description; all node processes share the file, so the place in it is left alone.
fn read(file: &File) -> Result<Job, String> {
    let wrong = |error: &dyn std::fmt::Display| format!("job description: {error}");
    let length = file.metadata().map_err(|error| wrong(&error))?.len();
    let mut text = vec![0; length as usize];
    file.read_exact_at(&mut text, 0).map_err(|error| wrong(&error))?;
    serde_json::from_slice(&text).map_err(|error| wrong(&error))
}

/// Takes over what `mpirun` passed.
///
/// # Errors
/// Says what was not passed or does not fit.
pub fn receive(handover: Handover) -> Result<Received, String> {
    let job = read(&File::from(take(handover.job_fd)?))?;
    if job.version != env!("CARGO_PKG_VERSION") {
        let ours = env!("CARGO_PKG_VERSION");
        return Err(format!("mpirun is version {}, the library {ours}; install weft again", job.version));
    }
    weft_base::settings::apply(&job.settings).map_err(|error| format!("{error}; install weft again"))?;
    for output in job.outputs.iter().filter(|output| node_holds(&job, handover.node, output.rank)) {
        keep(output.out_fd)?;
        keep(output.error_fd)?;
    }
    let control: &'static Control = Box::leak(Box::new(
        Control::new(take(handover.control_fd)?).map_err(|error| format!("the socket to mpirun: {error}"))?,
    ));
    if let Some(routes) = routes(&job, handover, control)? {
        let nodes = Nodes::new(routes, Places::new(&job.node_of));
        weft_mpi::jobs::nodes::install(Box::leak(Box::new(nodes)), |node| job.host_of(node));
    }
    Ok(Received { job, control, node: handover.node })
}

/// Opens the ways to the other node processes, if there are any: shared memory on this host, a network to others.
fn routes(job: &Job, handover: Handover, control: &Control) -> Result<Option<Routes>, String> {
    let node = handover.node;
    let mut devices: Vec<(Box<dyn Device>, Vec<Node>)> = Vec::new();
    if handover.segment_fd != NO_FD {
        let here = job.nodes_of(job.host_of(node));
        let place = here.iter().position(|&other| other == node).unwrap_or(0) as Node;
        let device = SegmentDevice::attach(take(handover.segment_fd)?, place)
            .map_err(|error| format!("the memory shared with the other processes: {error}"))?;
        devices.push((Box::new(device), here));
    }
    if job.is_spread() {
        devices.push((Box::new(network(job, node, control)?), (0..job.nodes()).collect()));
    }
    match devices.len() {
        0 => Ok(None),
        // Its numbers are the job's.
        1 => Ok(devices.pop().map(|(device, _)| Routes::from(device))),
        _ => Ok(Some(Routes::join(node, devices))),
    }
}

/// Listens, says where, and waits until it is known where the others do.
fn network(job: &Job, node: Node, control: &Control) -> Result<TcpDevice, String> {
    let failed = |error: &dyn std::fmt::Display| format!("the network to other hosts: {error}");
    let secret = job.secret.ok_or_else(|| failed(&"mpirun gave no secret; install weft again"))?;
    let ranks = job.node_of.iter().filter(|&&other| other == node).count();
    let workers = ranks.min(weft_machine::usable_cores()) as u32;
    let config = NetConfig { workers, ..NetConfig::from_settings() };
    let listener = Listener::bind(&config).map_err(|error| failed(&error))?;
    control.send(&Report::Listening { addresses: listener.card().words() });
    let read =
        |words: Vec<String>| Card::read(words.iter().map(String::as_str)).map_err(|what| failed(&what));
    let book: Result<Vec<Card>, String> = control.book().into_iter().map(read).collect();
    listener.join(node, book?, secret.0).map_err(|error| failed(&error))
}
