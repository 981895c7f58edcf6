//! Neighborhood collectives (chapter 8): the arguments of each, checked once for its blocking, nonblocking and persistent
//! form. The pieces of the buffers belong to the neighbors in the order of the communicator's topology.

use crate::collectives::arguments::{Argument, Arguments, enter};
use crate::collectives::checks::{Caller, Shown};
use crate::collectives::forms::Form;
use crate::communicators::communicator::Communicator;
use weft_base::abi;
use weft_base::constants::*;
use weft_base::{Error, Result};
use weft_coll::{Call, NOBODY, Neighbors, Operation};
use weft_comm::topology::Topology;

/// Returns the caller's neighbors.
fn neighbors(communicator: &Communicator) -> Result<Neighbors> {
    let topology = communicator.topology().ok_or_else(|| {
        let text =
            "comm has no topology; make one with MPI_Cart_create, MPI_Graph_create or MPI_Dist_graph_create";
        Error::new(MPI_ERR_TOPOLOGY, text)
    })?;
    let all = topology.neighbors(communicator.values.rank);
    let number = |rank: Option<u32>| rank.unwrap_or(NOBODY);
    Ok(Neighbors {
        sources: all.sources.into_iter().map(number).collect(),
        destinations: all.destinations.into_iter().map(number).collect(),
        grid: matches!(topology, Topology::Cartesian(_)),
    })
}

/// A collective operation among neighbors.
pub(crate) struct Neighborhood {
    pub call: Call,
    pub send: Argument,
    pub receive: Argument,
    pub comm: abi::Comm,
}

impl Arguments for Neighborhood {
    fn run(&self, form: Form) -> Result {
        let (process, communicator) = enter(self.comm)?;
        let neighbors = neighbors(&communicator)?;
        let (sources, destinations) = (neighbors.sources.len() as u32, neighbors.destinations.len() as u32);
        let sendtypes = self.send.types(process, destinations)?;
        let recvtypes = self.receive.types(process, sources)?;
        let gathers = matches!(self.call, Call::NeighborAllgather | Call::NeighborAllgatherv);
        let operation = Operation {
            send: self.send.buffers(&sendtypes, destinations, !gathers)?,
            receive: self.receive.buffers(&recvtypes, sources, true)?,
            neighbors: Some(neighbors),
            ..Operation::new(self.call)
        };
        form.run(&communicator, &operation)
    }

    fn comm(&self) -> abi::Comm {
        self.comm
    }

    fn show(&self, caller: &Caller, shown: &mut Shown) {
        let Ok(neighbors) = neighbors(caller.communicator) else { return };
        let destinations = neighbors.destinations.iter().enumerate();
        shown.sends = caller.edges(&self.send, destinations.map(|(i, &to)| (to, neighbors.edge_to(i))));
        let sources = neighbors.sources.iter().enumerate();
        shown.receives =
            caller.edges(&self.receive, sources.map(|(i, &from)| (from, neighbors.edge_from(i))));
    }
}
