//! The errors of operations that lose a node process.

use weft_base::Error;
use weft_base::constants::MPI_ERR_PROC_ABORTED;
use weft_transport::Node;

/// Returns the error of who loses a peer.
#[cold]
pub(crate) fn unreachable_peer(node: Node, reason: &str) -> Error {
    Error::new(
        MPI_ERR_PROC_ABORTED,
        format!("node process {node}, which holds ranks of the communicator, is gone: {reason}"),
    )
}

/// Returns the error of who hears from another process that it has lost one.
#[cold]
pub(crate) fn heard_of_loss(from: Node) -> Error {
    let text = format!("node process {from} has lost another that holds ranks of the communicator");
    Error::new(MPI_ERR_PROC_ABORTED, text)
}
