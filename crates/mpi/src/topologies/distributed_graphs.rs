//! Distributed graph topologies (chapter 8): each rank knows its own edges.
//!
//! Edges that other ranks specified, or that belong to the node a reordered rank becomes, come by a broadcast from each
//! rank that has some: no rank ever holds more than its own edges and those of one other (rank 0 holds them all while
//! it computes a reordering).

use crate::arguments::check;
use crate::communicators::communicator::{Communicator, intra};
use crate::environment::info;
use crate::process::Process;
use crate::topologies::topology::{agree_on_placement, attach_to_all, other_topology};
use core::ffi::c_int;
use weft_base::constants::*;
use weft_base::{Error, In, Out, Result, abi};
use weft_comm::topology::{DistributedGraph, Edges, Topology, place_graph};

/// The weights argument of a call.
#[derive(Clone, Copy)]
enum Weights {
    Unweighted,
    Given(In<c_int>),
}

impl Weights {
    /// Reads the argument for `count` edges.
    fn new(argument: In<c_int>, count: usize, name: &str) -> Result<Self> {
        let address = argument.address().addr();
        if address == MPI_UNWEIGHTED {
            return Ok(Self::Unweighted);
        }
        if count > 0 && (argument.is_null() || address == MPI_WEIGHTS_EMPTY) {
            let given = if argument.is_null() { "a null pointer" } else { "MPI_WEIGHTS_EMPTY" };
            let text = format!(
                "{name} is {given}, but there are {count} edges; pass their weights or MPI_UNWEIGHTED"
            );
            return Err(Error::new(MPI_ERR_ARG, text));
        }
        Ok(Self::Given(argument))
    }

    fn is_given(self) -> bool {
        matches!(self, Self::Given(_))
    }

    fn read(self, count: usize, name: &str) -> Result<Vec<u32>> {
        let Self::Given(array) = self else { return Ok(Vec::new()) };
        (0..count).map(|at| non_negative(array.get(at), name, at)).collect()
    }
}

fn non_negative(value: c_int, name: &str, at: usize) -> Result<u32> {
    u32::try_from(value)
        .map_err(|_| Error::new(MPI_ERR_ARG, format!("{name}[{at}] is {value}; it must not be negative")))
}

/// Reads an array of ranks.
fn ranks(array: In<c_int>, count: usize, name: &str, size: u32) -> Result<Vec<u32>> {
    if count > 0 {
        check::input(array, name)?;
    }
    let rank = |at: usize| match u32::try_from(array.get(at)) {
        Ok(rank) if rank < size => Ok(rank),
        _ => {
            let text =
                format!("{name}[{at}] is {}; the communicator has ranks 0 to {}", array.get(at), size - 1);
            Err(Error::new(MPI_ERR_RANK, text))
        }
    };
    (0..count).map(rank).collect()
}

fn edges(array: In<c_int>, weights: Weights, count: usize, names: [&str; 2], size: u32) -> Result<Edges> {
    Ok(Edges { ranks: ranks(array, count, names[0], size)?, weights: weights.read(count, names[1])? })
}

/// Shows every rank's words to all ranks, one rank after another.
fn share(communicator: &Communicator, mine: &[u32], mut each: impl FnMut(u32, &[u32])) -> Result {
    let team = &communicator.team;
    let mut lengths = vec![0; 8 * team.size() as usize];
    team.allgather_bytes(&(mine.len() as u64).to_ne_bytes(), &mut lengths)?;
    for (rank, length) in (0..).zip(lengths.chunks_exact(8)) {
        let length = u64::from_ne_bytes(length.try_into().expect("eight bytes")) as usize;
        if length == 0 {
            continue;
        }
        let mut bytes: Vec<u8> = match rank == team.rank() {
            true => mine.iter().flat_map(|word| word.to_ne_bytes()).collect(),
            false => vec![0; 4 * length],
        };
        team.broadcast_bytes(rank, &mut bytes)?;
        let word = |bytes: &[u8]| u32::from_ne_bytes(bytes.try_into().expect("four bytes"));
        each(rank, &bytes.chunks_exact(4).map(word).collect::<Vec<u32>>());
    }
    Ok(())
}

/// Finds a placement for a graph of which each rank of `parent` gives some edges: node, node, weight.
fn place(parent: &Communicator, mine: &[[u32; 3]]) -> Result<Option<Vec<u32>>> {
    let mut all = Vec::new();
    let is_first = parent.team.rank() == 0;
    share(parent, mine.as_flattened(), |_, words| {
        if is_first {
            // An edge of weight 0 still hangs its nodes together.
            all.extend(
                words.as_chunks().0.iter().map(|&[from, to, weight]| (from, to, u64::from(weight) + 1)),
            );
        }
    })?;
    agree_on_placement(parent, parent.values.size() as usize, |places| place_graph(&all, places))
}

fn own_node(placed: Option<&[u32]>, rank: u32) -> u32 {
    placed.map_or(rank, |placed| {
        placed.iter().position(|&old| old == rank).expect("all ranks are placed") as u32
    })
}

/// `MPI_Dist_graph_create_adjacent`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_INFO`, `MPI_ERR_RANK`; `MPI_ERR_ARG` for a negative degree or weight, or weights on one side
/// only.
#[allow(clippy::too_many_arguments)]
pub fn dist_graph_create_adjacent(
    comm_old: abi::Comm,
    indegree: c_int,
    sources: In<c_int>,
    sourceweights: In<c_int>,
    outdegree: c_int,
    destinations: In<c_int>,
    destweights: In<c_int>,
    info: abi::Info,
    reorder: c_int,
    comm_dist_graph: Out<abi::Comm>,
) -> Result {
    check::output(comm_dist_graph, "comm_dist_graph")?;
    let process = Process::current()?;
    let parent = process.communicator(comm_old)?;
    intra(&parent, "comm_old")?;
    info::optional(info)?;
    let (inward, outward) = (check::length(indegree, "indegree")?, check::length(outdegree, "outdegree")?);
    let inward_weights = Weights::new(sourceweights, inward, "sourceweights")?;
    let outward_weights = Weights::new(destweights, outward, "destweights")?;
    if inward_weights.is_given() != outward_weights.is_given() && inward > 0 && outward > 0 {
        let text = "one of sourceweights and destweights is MPI_UNWEIGHTED, the other is not; a graph has weights or not";
        return Err(Error::new(MPI_ERR_ARG, text));
    }
    let size = parent.values.size();
    let mine = DistributedGraph {
        incoming: edges(sources, inward_weights, inward, ["sources", "sourceweights"], size)?,
        outgoing: edges(destinations, outward_weights, outward, ["destinations", "destweights"], size)?,
        is_weighted: match (inward, outward) {
            (0, _) => outward_weights.is_given(),
            _ => inward_weights.is_given(),
        },
    };
    comm_dist_graph.set(MPI_COMM_NULL);
    let placed = if reorder == 0 { None } else { place(&parent, &outgoing(&mine, parent.values.rank))? };
    let graph = match &placed {
        None => mine,
        Some(placed) => {
            let node = own_node(Some(placed), parent.values.rank);
            let mut own = DistributedGraph::default();
            share(&parent, &encode(&mine), |rank, words| {
                if rank == node {
                    own = decode(words);
                }
            })?;
            own
        }
    };
    attach_to_all(process, &parent, placed.as_deref(), Topology::Distributed(graph), comm_dist_graph)
}

fn outgoing(graph: &DistributedGraph, rank: u32) -> Vec<[u32; 3]> {
    let weight = |at: usize| graph.outgoing.weights.get(at).copied().unwrap_or(1);
    graph.outgoing.ranks.iter().enumerate().map(|(at, &to)| [rank, to, weight(at)]).collect()
}

/// Writes a node's edges as words: whether weighted, how many come in, and then the arrays.
fn encode(graph: &DistributedGraph) -> Vec<u32> {
    let mut words = vec![u32::from(graph.is_weighted), graph.incoming.ranks.len() as u32];
    for edges in [&graph.incoming, &graph.outgoing] {
        words.extend(&edges.ranks);
        words.extend(&edges.weights);
    }
    words
}

fn decode(words: &[u32]) -> DistributedGraph {
    let is_weighted = words[0] != 0;
    let columns = if is_weighted { 2 } else { 1 };
    let (incoming, outgoing) = words[2..].split_at(words[1] as usize * columns);
    let edges = |words: &[u32]| {
        let (ranks, weights) = words.split_at(words.len() / columns);
        Edges { ranks: ranks.to_vec(), weights: weights.to_vec() }
    };
    DistributedGraph { incoming: edges(incoming), outgoing: edges(outgoing), is_weighted }
}

/// `MPI_Dist_graph_create`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_INFO`, `MPI_ERR_RANK`; `MPI_ERR_ARG` for a negative number or weight, or if only some ranks
/// give weights.
#[allow(clippy::too_many_arguments)]
pub fn dist_graph_create(
    comm_old: abi::Comm,
    n: c_int,
    sources: In<c_int>,
    degrees: In<c_int>,
    destinations: In<c_int>,
    weights: In<c_int>,
    info: abi::Info,
    reorder: c_int,
    comm_dist_graph: Out<abi::Comm>,
) -> Result {
    check::output(comm_dist_graph, "comm_dist_graph")?;
    let process = Process::current()?;
    let parent = process.communicator(comm_old)?;
    intra(&parent, "comm_old")?;
    info::optional(info)?;
    let count = check::length(n, "n")?;
    let size = parent.values.size();
    let sources = ranks(sources, count, "sources", size)?;
    if count > 0 {
        check::input(degrees, "degrees")?;
    }
    let degrees =
        (0..count).map(|at| non_negative(degrees.get(at), "degrees", at)).collect::<Result<Vec<_>>>()?;
    let total = degrees.iter().map(|&degree| degree as usize).sum();
    let weights = Weights::new(weights, total, "weights")?;
    let Edges { ranks: destinations, weights: numbers } =
        edges(destinations, weights, total, ["destinations", "weights"], size)?;
    let from = sources.iter().zip(&degrees).flat_map(|(&source, &degree)| (0..degree).map(move |_| source));
    let mine: Vec<[u32; 3]> = from
        .zip(&destinations)
        .enumerate()
        .map(|(at, (from, &to))| [from, to, numbers.get(at).copied().unwrap_or(1)])
        .collect();

    comm_dist_graph.set(MPI_COMM_NULL);
    let is_weighted = agree_on_weights(&parent, weights, total)?;
    let placed = if reorder == 0 { None } else { place(&parent, &mine)? };
    let node = own_node(placed.as_deref(), parent.values.rank);
    let mut graph = DistributedGraph { is_weighted, ..DistributedGraph::default() };
    share(&parent, mine.as_flattened(), |_, words| {
        for &[from, to, weight] in words.as_chunks().0 {
            for (end, other, edges) in [(to, from, &mut graph.incoming), (from, to, &mut graph.outgoing)] {
                if end == node {
                    edges.ranks.push(other);
                    edges.weights.extend(is_weighted.then_some(weight));
                }
            }
        }
    })?;
    attach_to_all(process, &parent, placed.as_deref(), Topology::Distributed(graph), comm_dist_graph)
}

/// Finds out whether the ranks give weights. Those without edges have no say while others do.
fn agree_on_weights(parent: &Communicator, weights: Weights, edges: usize) -> Result<bool> {
    let mut all = vec![0; parent.team.size() as usize];
    let vote = u8::from(weights.is_given()) | if edges > 0 { 2 } else { 0 };
    parent.team.allgather_bytes(&[vote], &mut all)?;
    let any = |vote: u8| all.contains(&vote);
    match (any(3), any(2)) {
        (true, true) => {
            let text =
                "weights is MPI_UNWEIGHTED on some ranks and not on others; a graph has weights or not";
            Err(Error::new(MPI_ERR_ARG, text))
        }
        (false, false) => Ok(any(1)),
        (weighted, _) => Ok(weighted),
    }
}

fn with_distributed_graph<T>(
    comm: abi::Comm,
    then: impl FnOnce(&DistributedGraph) -> Result<T>,
) -> Result<T> {
    let communicator = Process::current()?.communicator(comm)?;
    match communicator.topology() {
        Some(Topology::Distributed(graph)) => then(graph),
        other => Err(other_topology(other, "a distributed graph")),
    }
}

/// `MPI_Dist_graph_neighbors_count`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_TOPOLOGY`, `MPI_ERR_ARG`
pub fn dist_graph_neighbors_count(
    comm: abi::Comm,
    indegree: Out<c_int>,
    outdegree: Out<c_int>,
    weighted: Out<c_int>,
) -> Result {
    check::output(indegree, "indegree")?;
    check::output(outdegree, "outdegree")?;
    check::output(weighted, "weighted")?;
    with_distributed_graph(comm, |graph| {
        indegree.set(graph.incoming.ranks.len() as c_int);
        outdegree.set(graph.outgoing.ranks.len() as c_int);
        weighted.set(c_int::from(graph.is_weighted));
        Ok(())
    })
}

/// Stores at most `room` edges.
fn store(edges: &Edges, room: usize, ranks: Out<c_int>, weights: Out<c_int>, names: [&str; 2]) -> Result {
    let count = room.min(edges.ranks.len());
    if count == 0 {
        return Ok(());
    }
    check::output(ranks, names[0])?;
    let wants_weights = weights.address().addr() != MPI_UNWEIGHTED && !edges.weights.is_empty();
    if wants_weights {
        check::output(weights, names[1])?;
    }
    for at in 0..count {
        ranks.set_at(at, edges.ranks[at] as c_int);
        if wants_weights {
            weights.set_at(at, edges.weights[at] as c_int);
        }
    }
    Ok(())
}

/// `MPI_Dist_graph_neighbors`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_TOPOLOGY`, `MPI_ERR_ARG`
pub fn dist_graph_neighbors(
    comm: abi::Comm,
    maxindegree: c_int,
    sources: Out<c_int>,
    sourceweights: Out<c_int>,
    maxoutdegree: c_int,
    destinations: Out<c_int>,
    destweights: Out<c_int>,
) -> Result {
    let (inward, outward) =
        (check::length(maxindegree, "maxindegree")?, check::length(maxoutdegree, "maxoutdegree")?);
    with_distributed_graph(comm, |graph| {
        store(&graph.incoming, inward, sources, sourceweights, ["sources", "sourceweights"])?;
        store(&graph.outgoing, outward, destinations, destweights, ["destinations", "destweights"])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_survive_the_way() {
        for is_weighted in [false, true] {
            let edges = |ranks: &[u32]| Edges {
                ranks: ranks.to_vec(),
                weights: if is_weighted { ranks.iter().map(|rank| 10 * rank).collect() } else { vec![] },
            };
            for (incoming, outgoing) in [(&[3u32, 1, 3][..], &[0u32][..]), (&[], &[7, 8]), (&[], &[])] {
                let graph =
                    DistributedGraph { incoming: edges(incoming), outgoing: edges(outgoing), is_weighted };
                assert_eq!(decode(&encode(&graph)), graph);
            }
        }
    }
}
