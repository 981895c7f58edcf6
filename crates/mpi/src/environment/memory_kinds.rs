//! Memory allocation kinds (chapter 12): which kinds of memory messages may lie in, as info objects tell.

use crate::process::Process;
use crate::process::host;

/// The key by which kinds are asked for and told.
pub const KEY: &str = "mpi_memory_alloc_kinds";
/// The key by which a program promises to use no other kinds.
pub const ASSERT_KEY: &str = "mpi_assert_memory_alloc_kinds";

/// What is always supported.
const ALWAYS: [&str; 2] = ["mpi", "system"];
const MPI_RESTRICTORS: [&str; 3] = ["alloc_mem", "win_allocate", "win_allocate_shared"];

/// Tells whether a kind such as `mpi:alloc_mem` is known.
fn is_supported(kind: &str) -> bool {
    let mut parts = kind.split(':');
    match parts.next() {
        Some("system") => parts.next().is_none(),
        Some("mpi") => parts.all(|restrictor| MPI_RESTRICTORS.contains(&restrictor)),
        _ => false,
    }
}

fn elements(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(|kind| kind.trim_matches(' ')).filter(|kind| !kind.is_empty())
}

/// Returns the list of supported kinds for a request: what is always supported, and of the request what is known, in
/// the program's own spelling.
pub fn provided(requested: &str) -> String {
    let mut kinds = ALWAYS.to_vec();
    for kind in elements(requested).filter(|kind| is_supported(kind)) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds.join(",")
}

/// Tells whether a promise about kinds is recognised: every kind in it is supported.
pub fn is_recognised(asserted: &str) -> bool {
    elements(asserted).all(is_supported)
}

/// Returns the kinds that objects of the world model and, if it asks for nothing else, of a session support.
pub fn of_launch(process: &Process) -> String {
    let launch = host::host().launch_info(process.world_rank);
    provided(launch.iter().find(|(key, _)| key == KEY).map_or("", |(_, value)| value))
}

/// Returns the kinds of an object that comes from the session with number `origin`, or from the world model.
pub fn of_origin(process: &Process, origin: usize) -> String {
    let session = process.sessions.get(origin).ok().filter(|_| origin != 0);
    session.map_or_else(|| of_launch(process), |session| session.memory_kinds.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_answered_with_what_is_known() {
        assert_eq!(provided(""), "mpi,system");
        assert_eq!(provided("system,gpu:device"), "mpi,system");
        assert_eq!(
            provided(" mpi:alloc_mem , mpi:win_allocate:alloc_mem"),
            "mpi,system,mpi:alloc_mem,mpi:win_allocate:alloc_mem"
        );
        assert_eq!(provided("mpi:gpu,system:x,mpi:"), "mpi,system");
        assert!(is_recognised("") && is_recognised("system, mpi") && !is_recognised("system,gpu"));
    }
}
