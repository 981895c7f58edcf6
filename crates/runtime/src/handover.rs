//! What a node process inherits from `mpirun`: the job, the socket to `mpirun`, and the way to the other node processes.
#![allow(unsafe_code)] // Takes inherited descriptors.

use crate::mpirun::control::Control;
use std::fs::File;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use weft_base::Error;
use weft_base::constants::MPI_ERR_INTERN;
use weft_base::job::{Handover, Job, NO_FD, Report};
use weft_fabric::{Card, Meeting, Member};
use weft_transport::{Node, Nodes, Places, Routes};

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

/// Opens the ways to the other node processes, if there are any.
fn routes(job: &Job, handover: Handover, control: &Control) -> Result<Option<Routes>, String> {
    let mut ranks = vec![0; job.nodes() as usize];
    job.node_of.iter().for_each(|&node| ranks[node as usize] += 1);
    let members = (0..).zip(ranks).map(|(node, ranks)| Member { host: job.host_of(node).into(), ranks });
    let meeting = Meeting::of_job(handover.node, members.collect());
    let inherited = (handover.shared_fd != NO_FD).then(|| take(handover.shared_fd)).transpose()?;
    let failed = |error: weft_base::Error| error.message.to_string();
    let mut offer = meeting.offer(inherited).map_err(failed)?;
    let mut book = Vec::new();
    if offer.asks() {
        control.send(&Report::Offers { card: offer.card().to_string() });
        book = control.book();
    }
    let mut card_of = |node: Node| {
        let text = book.get(node as usize).map_or("", String::as_str);
        Card::read(text).map_err(|what| Error::new(MPI_ERR_INTERN, format!("node process {node}: {what}")))
    };
    let joined = offer.join(&mut card_of, job.secret.as_ref().map(|secret| &secret.0)).map_err(failed)?;
    Ok(joined.into_routes())
}
