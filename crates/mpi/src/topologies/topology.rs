//! Virtual topologies (chapter 8). Who is whose neighbor is the business of [`weft_comm::topology`].

use crate::arguments::check;
use crate::communicators::communicator::{Communicator, agree_on_context, intra, publish};
use crate::communicators::splitting::split_values;
use crate::process::Process;
use core::ffi::c_int;
use weft_base::constants::*;
use weft_base::{Error, In, Out, Result, abi};
use weft_comm::topology::{Cartesian, Graph, Topology, balanced_dimensions, place_graph, place_grid};
use weft_comm::{Communicator as Values, Group};

/// Returns the workers that the ranks of a group are at home on, or their node processes if there are several: what all
/// ranks know of each other.
fn places(group: &Group) -> Vec<usize> {
    match crate::jobs::nodes::nodes() {
        Some(nodes) => group.iter().map(|rank| nodes.places().of(rank).node as usize).collect(),
        None => group.iter().map(weft_sched::home_worker).collect(),
    }
}

fn all_equal(places: &[usize]) -> bool {
    places.windows(2).all(|pair| pair[0] == pair[1])
}

/// Finds, on all ranks of `parent`, which of its ranks takes each place of a new topology. Rank 0 computes it; `None` if
/// all stay where they are.
pub(crate) fn agree_on_placement(
    parent: &Communicator,
    size: usize,
    compute: impl FnOnce(&[usize]) -> Vec<u32>,
) -> Result<Option<Vec<u32>>> {
    let places = places(&parent.values.group);
    if all_equal(&places[..size]) {
        return Ok(None);
    }
    let mut bytes = vec![0; 4 * size];
    if parent.team.rank() == 0 {
        for (word, rank) in bytes.chunks_exact_mut(4).zip(compute(&places)) {
            word.copy_from_slice(&rank.to_ne_bytes());
        }
    }
    parent.team.broadcast_bytes(0, &mut bytes)?;
    let placed: Vec<u32> =
        bytes.chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().expect("four bytes"))).collect();
    Ok(Some(placed).filter(|placed| !placed.iter().copied().eq(0..size as u32)))
}

/// Returns the new rank of the old rank `rank`, if it has one among `size`.
fn new_rank(placed: Option<&[u32]>, size: usize, rank: u32) -> Option<u32> {
    match placed {
        None => Some(rank).filter(|&rank| (rank as usize) < size),
        Some(placed) => placed.iter().position(|&old| old == rank).map(|new| new as u32),
    }
}

/// Creates a communicator of the first ranks of `parent`, as many as the topology has, in the order of `placed`.
fn create(
    process: &Process,
    parent: &Communicator,
    topology: Topology,
    size: usize,
    placed: Option<&[u32]>,
    newcomm: Out<abi::Comm>,
) -> Result {
    let mine = new_rank(placed, size, parent.values.rank);
    newcomm.set(MPI_COMM_NULL);
    let color = mine.map(|_| 0);
    let Some(values) = split_values(parent, color, mine.unwrap_or(0) as c_int)? else { return Ok(()) };
    attach(process, parent, values, topology, newcomm);
    Ok(())
}

/// Publishes a communicator with a topology.
pub(crate) fn attach(
    process: &Process,
    parent: &Communicator,
    values: Values,
    topology: Topology,
    newcomm: Out<abi::Comm>,
) {
    let mut communicator = Communicator::new(values, parent.error_handler());
    communicator.set_topology(topology);
    publish(process, communicator, newcomm);
}

/// Publishes a communicator of all ranks of `parent`, in the order of `placed`.
pub(crate) fn attach_to_all(
    process: &Process,
    parent: &Communicator,
    placed: Option<&[u32]>,
    topology: Topology,
    newcomm: Out<abi::Comm>,
) -> Result {
    let context = agree_on_context(parent)?;
    let values = match placed {
        None => Values { context, ..parent.values.clone() },
        Some(placed) => {
            let old = &parent.values.group;
            let ranks: Vec<u32> = placed.iter().map(|&rank| old.world_rank(rank)).collect();
            let rank =
                new_rank(Some(placed), placed.len(), parent.values.rank).expect("all ranks are placed");
            Values::intra(context, rank, Group::from_ranks(&ranks))
        }
    };
    attach(process, parent, values, topology, newcomm);
    Ok(())
}

// --- grids ---------------------------------------------------------------------------------------------------------------

/// Reads the shape of a grid for a communicator of `ranks` ranks.
fn grid(ndims: c_int, dims: In<c_int>, periods: In<c_int>, ranks: u32) -> Result<Cartesian> {
    let count = usize::try_from(ndims).map_err(|_| {
        Error::new(MPI_ERR_DIMS, format!("ndims is {ndims}; a grid has 0 dimensions or more"))
    })?;
    if count > 0 {
        check::input(dims, "dims")?;
        check::input(periods, "periods")?;
    }
    let dimension = |index: usize| match dims.get(index) {
        n if n > 0 => Ok(n as u32),
        n => Err(Error::new(MPI_ERR_DIMS, format!("dims[{index}] is {n}; it must be positive"))),
    };
    let dimensions = (0..count).map(dimension).collect::<Result<Vec<u32>>>()?;
    let grid = Cartesian { dimensions, periods: (0..count).map(|index| periods.get(index) != 0).collect() };
    match grid.size() {
        Some(size) if size <= ranks => Ok(grid),
        size => {
            let size = size.map_or("more than 4294967295".into(), |size| size.to_string());
            let text = format!(
                "dims make a grid of {size} ranks, but the communicator has {ranks}; make it smaller"
            );
            Err(Error::new(MPI_ERR_DIMS, text))
        }
    }
}

/// `MPI_Cart_create`
///
/// Ranks of a reordered grid are placed so that neighbors share workers ([`place_grid`]).
///
/// # Errors
/// `MPI_ERR_COMM`; `MPI_ERR_DIMS` for a grid that is larger than the group or has a bad shape; `MPI_ERR_ARG`
pub fn cart_create(
    comm_old: abi::Comm,
    ndims: c_int,
    dims: In<c_int>,
    periods: In<c_int>,
    reorder: c_int,
    comm_cart: Out<abi::Comm>,
) -> Result {
    check::output(comm_cart, "comm_cart")?;
    let process = Process::current()?;
    let parent = process.communicator(comm_old)?;
    intra(&parent, "comm_old")?;
    let grid = grid(ndims, dims, periods, parent.values.size())?;
    let size = grid.size().expect("checked above") as usize;
    let placed = match reorder {
        0 => None,
        _ => agree_on_placement(&parent, size, |places| place_grid(&grid, places))?,
    };
    create(process, &parent, Topology::Cartesian(grid), size, placed.as_deref(), comm_cart)
}

/// `MPI_Dims_create`
///
/// # Errors
/// `MPI_ERR_ARG` for fewer than one node; `MPI_ERR_DIMS` for a negative dimension, or if the fixed ones do not divide
/// the nodes.
pub fn dims_create(nnodes: c_int, ndims: c_int, dims: Out<c_int>) -> Result {
    if nnodes < 1 {
        return Err(Error::new(MPI_ERR_ARG, format!("nnodes is {nnodes}; it must be positive")));
    }
    let count = usize::try_from(ndims)
        .map_err(|_| Error::new(MPI_ERR_DIMS, format!("ndims is {ndims}; it must not be negative")))?;
    if count > 0 {
        check::output(dims, "dims")?;
    }
    let given: Vec<c_int> = (0..count).map(|index| dims.get_at(index)).collect();
    if let Some(index) = given.iter().position(|&n| n < 0) {
        let text = format!("dims[{index}] is {}; it must be 0 (to be chosen) or positive", given[index]);
        return Err(Error::new(MPI_ERR_DIMS, text));
    }
    let fixed =
        given.iter().filter(|&&n| n > 0).try_fold(1i64, |product, &n| product.checked_mul(i64::from(n)));
    let free: Vec<usize> = (0..count).filter(|&index| given[index] == 0).collect();
    let rest = fixed.filter(|fixed| i64::from(nnodes) % fixed == 0).map(|fixed| i64::from(nnodes) / fixed);
    match rest {
        Some(rest) if !free.is_empty() || rest == 1 => {
            for (index, n) in free.iter().zip(balanced_dimensions(rest as u32, free.len())) {
                dims.set_at(*index, n as c_int);
            }
            Ok(())
        }
        _ => {
            let fixed = fixed.map_or("too large a number".into(), |fixed| fixed.to_string());
            let text = format!(
                "the given dims multiply to {fixed}, which {} nnodes, {nnodes}; change a dimension, or set it to 0 to \
                 have it chosen",
                if free.is_empty() { "is not" } else { "does not divide" }
            );
            Err(Error::new(MPI_ERR_DIMS, text))
        }
    }
}

/// Runs `then` with the grid of a communicator.
fn with_grid<T>(comm: abi::Comm, then: impl FnOnce(&Communicator, &Cartesian) -> Result<T>) -> Result<T> {
    let communicator = Process::current()?.communicator(comm)?;
    match communicator.topology() {
        Some(Topology::Cartesian(grid)) => then(&communicator, grid),
        other => Err(other_topology(other, "a Cartesian")),
    }
}

#[cold]
pub(crate) fn other_topology(found: Option<&Topology>, wanted: &str) -> Error {
    let found = match found {
        None => "no topology",
        Some(Topology::Cartesian(_)) => "a Cartesian topology",
        Some(Topology::Graph(_)) => "a graph topology",
        Some(Topology::Distributed(_)) => "a distributed graph topology",
    };
    Error::new(MPI_ERR_TOPOLOGY, format!("comm has {found}; this call needs {wanted} topology"))
}

fn enough(room: c_int, needed: usize, name: &str) -> Result {
    if usize::try_from(room).is_ok_and(|room| room >= needed) {
        return Ok(());
    }
    Err(Error::new(MPI_ERR_ARG, format!("{name} is {room}; the topology needs {needed}")))
}

fn store(values: &[u32], array: Out<c_int>) {
    for (at, &value) in values.iter().enumerate() {
        array.set_at(at, value as c_int);
    }
}

/// `MPI_Cartdim_get`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_TOPOLOGY`, `MPI_ERR_ARG`
pub fn cartdim_get(comm: abi::Comm, ndims: Out<c_int>) -> Result {
    check::output(ndims, "ndims")?;
    with_grid(comm, |_, grid| {
        ndims.set(grid.dimensions.len() as c_int);
        Ok(())
    })
}

/// `MPI_Cart_get`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_TOPOLOGY`; `MPI_ERR_ARG` if `maxdims` is too small.
pub fn cart_get(
    comm: abi::Comm,
    maxdims: c_int,
    dims: Out<c_int>,
    periods: Out<c_int>,
    coords: Out<c_int>,
) -> Result {
    with_grid(comm, |communicator, grid| {
        let count = grid.dimensions.len();
        if count > 0 {
            enough(maxdims, count, "maxdims")?;
            check::output(dims, "dims")?;
            check::output(periods, "periods")?;
            check::output(coords, "coords")?;
        }
        store(&grid.dimensions, dims);
        store(&grid.coordinates(communicator.values.rank), coords);
        for (index, &period) in grid.periods.iter().enumerate() {
            periods.set_at(index, c_int::from(period));
        }
        Ok(())
    })
}

/// `MPI_Cart_rank`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_TOPOLOGY`; `MPI_ERR_ARG` for a coordinate outside a dimension that is not periodic.
pub fn cart_rank(comm: abi::Comm, coords: In<c_int>, rank: Out<c_int>) -> Result {
    check::output(rank, "rank")?;
    with_grid(comm, |_, grid| {
        let count = grid.dimensions.len();
        if count > 0 {
            check::input(coords, "coords")?;
        }
        let coordinates: Vec<i64> = (0..count).map(|index| i64::from(coords.get(index))).collect();
        let found = grid.rank(&coordinates).map_err(|index| {
            let last = grid.dimensions[index] - 1;
            let text = format!(
                "coords[{index}] is {}; dimension {index} is not periodic and has coordinates 0 to {last}",
                coordinates[index]
            );
            Error::new(MPI_ERR_ARG, text)
        })?;
        rank.set(found as c_int);
        Ok(())
    })
}

fn member(communicator: &Communicator, rank: c_int) -> Result<u32> {
    let size = communicator.values.size();
    u32::try_from(rank).ok().filter(|&rank| rank < size).ok_or_else(|| {
        let text = format!("rank is {rank}; the communicator has ranks 0 to {}", size - 1);
        Error::new(MPI_ERR_RANK, text)
    })
}

/// `MPI_Cart_coords`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_TOPOLOGY`, `MPI_ERR_RANK`; `MPI_ERR_ARG` if `maxdims` is too small.
pub fn cart_coords(comm: abi::Comm, rank: c_int, maxdims: c_int, coords: Out<c_int>) -> Result {
    with_grid(comm, |communicator, grid| {
        let rank = member(communicator, rank)?;
        if !grid.dimensions.is_empty() {
            enough(maxdims, grid.dimensions.len(), "maxdims")?;
            check::output(coords, "coords")?;
        }
        store(&grid.coordinates(rank), coords);
        Ok(())
    })
}

/// `MPI_Cart_shift`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_TOPOLOGY`, `MPI_ERR_ARG`; `MPI_ERR_DIMS` for a direction that the grid does not have.
pub fn cart_shift(
    comm: abi::Comm,
    direction: c_int,
    disp: c_int,
    rank_source: Out<c_int>,
    rank_dest: Out<c_int>,
) -> Result {
    check::output(rank_source, "rank_source")?;
    check::output(rank_dest, "rank_dest")?;
    with_grid(comm, |communicator, grid| {
        let count = grid.dimensions.len();
        let dimension =
            usize::try_from(direction).ok().filter(|&direction| direction < count).ok_or_else(|| {
                Error::new(MPI_ERR_DIMS, format!("direction is {direction}; the grid has {count} dimensions"))
            })?;
        let at = |steps: i64| {
            let there = grid.shifted(communicator.values.rank, dimension, steps);
            there.map_or(MPI_PROC_NULL, |rank| rank as c_int)
        };
        rank_source.set(at(-i64::from(disp)));
        rank_dest.set(at(i64::from(disp)));
        Ok(())
    })
}

/// `MPI_Cart_sub`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_TOPOLOGY`, `MPI_ERR_ARG`
pub fn cart_sub(comm: abi::Comm, remain_dims: In<c_int>, newcomm: Out<abi::Comm>) -> Result {
    check::output(newcomm, "newcomm")?;
    with_grid(comm, |parent, grid| {
        let count = grid.dimensions.len();
        if count > 0 {
            check::input(remain_dims, "remain_dims")?;
        }
        let remain: Vec<bool> = (0..count).map(|index| remain_dims.get(index) != 0).collect();
        let (part, color, position) = grid.subgrid(&remain, parent.values.rank);
        let values =
            split_values(parent, Some(u64::from(color)), position as c_int)?.expect("every rank has a color");
        attach(Process::current()?, parent, values, Topology::Cartesian(part), newcomm);
        Ok(())
    })
}

/// `MPI_Cart_map`
///
/// # Errors
/// As [`cart_create`].
pub fn cart_map(
    comm: abi::Comm,
    ndims: c_int,
    dims: In<c_int>,
    periods: In<c_int>,
    newrank: Out<c_int>,
) -> Result {
    check::output(newrank, "newrank")?;
    let communicator = Process::current()?.communicator(comm)?;
    intra(&communicator, "comm")?;
    let grid = grid(ndims, dims, periods, communicator.values.size())?;
    let size = grid.size().expect("checked above") as usize;
    let placed = place_grid(&grid, &places(&communicator.values.group));
    let rank = new_rank(Some(&placed), size, communicator.values.rank);
    newrank.set(rank.map_or(MPI_UNDEFINED, |rank| rank as c_int));
    Ok(())
}

// --- graphs --------------------------------------------------------------------------------------------------------------

/// Reads a graph for a communicator of `ranks` ranks.
fn graph(nnodes: c_int, index: In<c_int>, edges: In<c_int>, ranks: u32) -> Result<Graph> {
    let nodes = match u32::try_from(nnodes) {
        Ok(nodes) if nodes <= ranks => nodes as usize,
        _ => {
            let text = format!(
                "nnodes is {nnodes}; the communicator has {ranks} ranks, so 0 to {ranks} are possible"
            );
            return Err(Error::new(MPI_ERR_ARG, text));
        }
    };
    if nodes > 0 {
        check::input(index, "index")?;
    }
    let mut before = 0;
    for at in 0..nodes {
        let end = index.get(at);
        if end < before {
            let text =
                format!("index[{at}] is {end}, less than {before} before it; it counts the edges so far");
            return Err(Error::new(MPI_ERR_ARG, text));
        }
        before = end;
    }
    if before > 0 {
        check::input(edges, "edges")?;
    }
    let edge = |at: usize| match edges.get(at) {
        to if (0..nnodes).contains(&to) => Ok(to as u32),
        to => {
            let text = format!("edges[{at}] is {to}; the graph has nodes 0 to {}", nnodes - 1);
            Err(Error::new(MPI_ERR_ARG, text))
        }
    };
    let edges = (0..before as usize).map(edge).collect::<Result<Vec<u32>>>()?;
    Ok(Graph { index: index.to_vec(nodes).into_iter().map(|end| end as u32).collect(), edges })
}

fn place(graph: &Graph, places: &[usize]) -> Vec<u32> {
    let count = graph.index.len();
    let edges: Vec<(u32, u32, u64)> = (0..count as u32)
        .flat_map(|node| graph.neighbors(node).iter().map(move |&other| (node, other, 1)))
        .collect();
    place_graph(&edges, &places[..count])
}

/// `MPI_Graph_create`
///
/// # Errors
/// `MPI_ERR_COMM`; `MPI_ERR_ARG` for a graph that is larger than the group, or whose arrays make no sense.
pub fn graph_create(
    comm_old: abi::Comm,
    nnodes: c_int,
    index: In<c_int>,
    edges: In<c_int>,
    reorder: c_int,
    comm_graph: Out<abi::Comm>,
) -> Result {
    check::output(comm_graph, "comm_graph")?;
    let process = Process::current()?;
    let parent = process.communicator(comm_old)?;
    intra(&parent, "comm_old")?;
    let graph = graph(nnodes, index, edges, parent.values.size())?;
    let size = graph.index.len();
    let placed = match reorder {
        0 => None,
        _ => agree_on_placement(&parent, size, |places| place(&graph, places))?,
    };
    create(process, &parent, Topology::Graph(graph), size, placed.as_deref(), comm_graph)
}

fn with_graph<T>(comm: abi::Comm, then: impl FnOnce(&Communicator, &Graph) -> Result<T>) -> Result<T> {
    let communicator = Process::current()?.communicator(comm)?;
    match communicator.topology() {
        Some(Topology::Graph(graph)) => then(&communicator, graph),
        other => Err(other_topology(other, "a graph")),
    }
}

/// `MPI_Graphdims_get`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_TOPOLOGY`, `MPI_ERR_ARG`
pub fn graphdims_get(comm: abi::Comm, nnodes: Out<c_int>, nedges: Out<c_int>) -> Result {
    check::output(nnodes, "nnodes")?;
    check::output(nedges, "nedges")?;
    with_graph(comm, |_, graph| {
        nnodes.set(graph.index.len() as c_int);
        nedges.set(graph.edges.len() as c_int);
        Ok(())
    })
}

/// `MPI_Graph_get`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_TOPOLOGY`; `MPI_ERR_ARG` if an array is too small.
pub fn graph_get(
    comm: abi::Comm,
    maxindex: c_int,
    maxedges: c_int,
    index: Out<c_int>,
    edges: Out<c_int>,
) -> Result {
    with_graph(comm, |_, graph| {
        enough(maxindex, graph.index.len(), "maxindex")?;
        enough(maxedges, graph.edges.len(), "maxedges")?;
        check::output(index, "index")?;
        if !graph.edges.is_empty() {
            check::output(edges, "edges")?;
        }
        store(&graph.index, index);
        store(&graph.edges, edges);
        Ok(())
    })
}

/// `MPI_Graph_neighbors_count`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_TOPOLOGY`, `MPI_ERR_RANK`, `MPI_ERR_ARG`
pub fn graph_neighbors_count(comm: abi::Comm, rank: c_int, nneighbors: Out<c_int>) -> Result {
    check::output(nneighbors, "nneighbors")?;
    with_graph(comm, |communicator, graph| {
        nneighbors.set(graph.neighbors(member(communicator, rank)?).len() as c_int);
        Ok(())
    })
}

/// `MPI_Graph_neighbors`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_TOPOLOGY`, `MPI_ERR_RANK`; `MPI_ERR_ARG` if `maxneighbors` is too small.
pub fn graph_neighbors(comm: abi::Comm, rank: c_int, maxneighbors: c_int, neighbors: Out<c_int>) -> Result {
    with_graph(comm, |communicator, graph| {
        let found = graph.neighbors(member(communicator, rank)?);
        enough(maxneighbors, found.len(), "maxneighbors")?;
        if !found.is_empty() {
            check::output(neighbors, "neighbors")?;
        }
        store(found, neighbors);
        Ok(())
    })
}

/// `MPI_Graph_map`
///
/// # Errors
/// As [`graph_create`].
pub fn graph_map(
    comm: abi::Comm,
    nnodes: c_int,
    index: In<c_int>,
    edges: In<c_int>,
    newrank: Out<c_int>,
) -> Result {
    check::output(newrank, "newrank")?;
    let communicator = Process::current()?.communicator(comm)?;
    intra(&communicator, "comm")?;
    let graph = graph(nnodes, index, edges, communicator.values.size())?;
    let placed = place(&graph, &places(&communicator.values.group));
    let rank = new_rank(Some(&placed), placed.len(), communicator.values.rank);
    newrank.set(rank.map_or(MPI_UNDEFINED, |rank| rank as c_int));
    Ok(())
}

/// `MPI_Topo_test`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_ARG`
pub fn topo_test(comm: abi::Comm, status: Out<c_int>) -> Result {
    check::output(status, "status")?;
    let communicator = Process::current()?.communicator(comm)?;
    status.set(match communicator.topology() {
        None => MPI_UNDEFINED,
        Some(Topology::Cartesian(_)) => MPI_CART,
        Some(Topology::Graph(_)) => MPI_GRAPH,
        Some(Topology::Distributed(_)) => MPI_DIST_GRAPH,
    });
    Ok(())
}
