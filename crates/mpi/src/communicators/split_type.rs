//! `MPI_Comm_split_type` (chapter 7): parts of a communicator that share a machine, a hardware resource or a process set.

use crate::arguments::check;
use crate::communicators::communicator::Communicator;
use crate::communicators::splitting::{Color, split};
use crate::environment::info;
use crate::environment::resources;
use crate::environment::sessions;
use crate::jobs::{host_memory, nodes};
use crate::process::Process;
use core::ffi::c_int;
use weft_base::constants::*;
use weft_base::{Error, Out, Result, abi};
use weft_machine::resources::{Instances, Resource};

/// The info key that names a type of hardware resource.
const RESOURCE_KEY: &str = "mpi_hw_resource_type";
/// The info key that names a process set.
const PSET_KEY: &str = "mpi_pset_name";
/// The value of [`RESOURCE_KEY`] that stands for `MPI_COMM_TYPE_SHARED`.
const SHARED_MEMORY: &str = "mpi_shared_memory";

/// What a rank asks for, in words that all ranks can compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    /// No communicator: `MPI_UNDEFINED`, no key, or a value that is not known.
    Nothing,
    /// The ranks that can share memory.
    SharedMemory,
    /// The ranks that share an instance of the type at this place of `Resource::ALL`.
    Resource(usize),
    /// The ranks that share an instance of whatever type splits them first.
    Unguided,
    /// The ranks in the process set with this number.
    Pset(u64),
}

fn value<'a>(pairs: &'a [(String, String)], key: &str) -> Option<&'a str> {
    pairs.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
}

fn resource(name: Option<&str>) -> Wish {
    match name {
        Some(SHARED_MEMORY) => Wish::SharedMemory,
        Some(name) => resources::by_uri(name).map_or(Wish::Nothing, Wish::Resource),
        None => Wish::Nothing,
    }
}

/// Reads the arguments of one rank.
fn wish(
    process: &Process,
    parent: &Communicator,
    split_type: c_int,
    pairs: &[(String, String)],
) -> Result<Wish> {
    let (hardware, pset) = (value(pairs, RESOURCE_KEY), value(pairs, PSET_KEY));
    Ok(match split_type {
        MPI_UNDEFINED => Wish::Nothing,
        MPI_COMM_TYPE_SHARED => Wish::SharedMemory,
        MPI_COMM_TYPE_HW_UNGUIDED => Wish::Unguided,
        MPI_COMM_TYPE_HW_GUIDED => resource(hardware),
        MPI_COMM_TYPE_RESOURCE_GUIDED => match (hardware, pset) {
            (Some(_), Some(_)) => {
                let text =
                    format!("info has both {RESOURCE_KEY} and {PSET_KEY}; only one of them may be given");
                return Err(Error::new(MPI_ERR_INFO, text));
            }
            (_, Some(name)) => pset_number(process, parent, name).map_or(Wish::Nothing, Wish::Pset),
            (hardware, None) => resource(hardware),
        },
        other => {
            let text = format!("split_type is {other}; use an MPI_COMM_TYPE_… constant or MPI_UNDEFINED");
            return Err(Error::new(MPI_ERR_ARG, text));
        }
    })
}

/// Returns a number that the ranks of a process set have in common; none for a communicator that does not come from a
/// session, or a set the rank is not in.
fn pset_number(process: &Process, parent: &Communicator, name: &str) -> Option<u64> {
    if parent.values.group.origin() == 0 {
        return None;
    }
    let members = sessions::members(process, name)?;
    members.rank_of(process.world_rank)?;
    // Every rank has an mpi://SELF of its own.
    Some(u64::from(members.world_rank(0)) << 32 | u64::from(members.size()))
}

/// What one rank tells the others: its wish, its host and its resources there, and where it might share memory.
const WORDS: usize = FIRST_RESOURCE + Resource::ALL.len();
const HOST: usize = 2;
const PLACE: usize = 3;
const FIRST_RESOURCE: usize = 5;
/// What stands for [`Wish::SharedMemory`].
const SHARED: u32 = 1;

fn encode(split_type: c_int, wish: Wish, host: u32, place: u64, own: &Instances) -> Vec<u8> {
    let code = match wish {
        Wish::Nothing => 0,
        Wish::SharedMemory => SHARED,
        Wish::Unguided => 2,
        Wish::Pset(_) => 3,
        Wish::Resource(which) => 4 + which as u32,
    };
    let instances = own.iter().map(|instance| instance.map_or(u32::MAX, |instance| instance));
    [split_type as u32, code, host, place as u32, (place >> 32) as u32]
        .into_iter()
        .chain(instances)
        .flat_map(u32::to_ne_bytes)
        .collect()
}

/// What all ranks have told, in the order of `Values::everyone`.
struct Table(Vec<[u32; WORDS]>);

impl Table {
    fn gather(parent: &Communicator, mine: &[u8]) -> Result<Self> {
        let mut all = vec![0; mine.len() * parent.team.size() as usize];
        parent.team.allgather_bytes(mine, &mut all)?;
        let word = |bytes: &[u8]| u32::from_ne_bytes(bytes.try_into().expect("four bytes"));
        let row = |bytes: &[u8]| core::array::from_fn(|i| word(&bytes[4 * i..][..4]));
        Ok(Self(all.chunks_exact(4 * WORDS).map(row).collect()))
    }

    /// Checks that ranks that want a communicator agree on what they want.
    fn agree(&self) -> Result {
        let mut types = self.0.iter().map(|row| row[0] as c_int).filter(|&kind| kind != MPI_UNDEFINED);
        let first = types.next();
        if let Some(other) = types.find(|&kind| Some(kind) != first) {
            let text = format!(
                "the ranks passed different values of split_type, {} and {other}; they may differ only by MPI_UNDEFINED",
                first.unwrap_or(MPI_UNDEFINED)
            );
            return Err(Error::new(MPI_ERR_ARG, text));
        }
        // Ranks outside a process set may say what they like, and those without the key get nothing.
        let mut wishes = self.0.iter().map(|row| row[1]).filter(|&code| code == SHARED || code >= 4);
        let first = wishes.next();
        if wishes.any(|code| Some(code) != first) {
            let text = format!("the ranks passed different values of the info key {RESOURCE_KEY}");
            return Err(Error::new(MPI_ERR_INFO_VALUE, text));
        }
        Ok(())
    }

    /// Returns the first rank that the calling one shares memory with, which may be itself, if any rank wants to know that.
    fn first_sharer(&self, parent: &Communicator) -> Result<Option<u32>> {
        if self.0.iter().all(|row| row[1] != SHARED) {
            return Ok(None);
        }
        let (everyone, own) = parent.values.everyone();
        let whereabouts: Vec<_> = (self.0.iter().zip(everyone.iter()))
            .map(|(row, rank)| {
                (u64::from(row[PLACE]) | u64::from(row[PLACE + 1]) << 32, nodes::node_of(rank))
            })
            .collect();
        host_memory::first_sharer(&parent.team, own, &whereabouts).map(Some)
    }

    /// Returns the outermost type of resource that some ranks want to be split by and that splits the communicator: an
    /// instance that some ranks use and others don't.
    fn first_to_split(&self) -> Option<usize> {
        (0..Resource::ALL.len()).find(|which| {
            let mut used = self.0.iter().map(|row| (row[HOST], row[FIRST_RESOURCE + which]));
            let first = used.next();
            used.any(|instance| Some(instance) != first)
        })
    }
}

/// `MPI_Comm_split_type`: with `MPI_COMM_TYPE_HW_UNGUIDED`, `info` gets the type of the resource the new communicator
/// stands for.
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_INFO`; `MPI_ERR_ARG` for a kind that is not known or differs among the ranks;
/// `MPI_ERR_INFO_VALUE` for a type of resource that differs among them.
pub fn comm_split_type(
    comm: abi::Comm,
    split_type: c_int,
    key: c_int,
    info: abi::Info,
    newcomm: Out<abi::Comm>,
) -> Result {
    check::output(newcomm, "newcomm")?;
    let process = Process::current()?;
    let parent = process.communicator(comm)?;
    let pairs = info::optional(info)?;
    let wish = wish(process, &parent, split_type, &pairs)?;
    let own = resources::of_rank(process.world_rank);
    let host = nodes::host();
    let table = Table::gather(&parent, &encode(split_type, wish, host, host_memory::place(), &own))?;
    newcomm.set(MPI_COMM_NULL);
    table.agree()?;
    let unguided = table.first_to_split();
    let first_sharer = table.first_sharer(&parent)?;
    let instance = |which: usize| own[which].map(|instance| u64::from(host) << 32 | u64::from(instance));
    let color: Color = match wish {
        Wish::Nothing => None,
        // What can make a shared window together.
        Wish::SharedMemory => first_sharer.map(u64::from),
        Wish::Resource(which) => instance(which),
        Wish::Unguided => unguided.and_then(instance),
        Wish::Pset(number) => Some(number),
    };
    let Some(created) = split(process, &parent, color, key, newcomm)? else { return Ok(()) };
    created.hint(&pairs);
    if wish == Wish::Unguided
        && let Some(which) = unguided
    {
        info::store(info, RESOURCE_KEY, &resources::uri(Resource::ALL[which]));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(c_int, Wish, u32, u32)]) -> Table {
        on_hosts(
            &rows
                .iter()
                .map(|&(kind, wish, package, core)| (kind, wish, 0, package, core))
                .collect::<Vec<_>>(),
        )
    }

    fn on_hosts(rows: &[(c_int, Wish, u32, u32, u32)]) -> Table {
        let row = |&(kind, wish, host, package, core): &(c_int, Wish, u32, u32, u32)| {
            let mut own: Instances = [Some(0); Resource::ALL.len()];
            (own[1], own[6], own[7]) = (Some(package), Some(core), Some(core));
            let bytes = encode(kind, wish, host, 1, &own);
            core::array::from_fn(|i| u32::from_ne_bytes(bytes[4 * i..][..4].try_into().expect("four")))
        };
        Table(rows.iter().map(row).collect())
    }

    #[test]
    fn the_outermost_resource_that_splits_is_found() {
        let unguided = |package, core| (MPI_COMM_TYPE_HW_UNGUIDED, Wish::Unguided, package, core);
        assert_eq!(table(&[unguided(0, 1), unguided(1, 2), unguided(1, 3)]).first_to_split(), Some(1));
        assert_eq!(table(&[unguided(1, 2), unguided(1, 3)]).first_to_split(), Some(6));
        assert_eq!(table(&[unguided(1, 2), unguided(1, 2)]).first_to_split(), None);
        assert_eq!(table(&[unguided(1, 2)]).first_to_split(), None);
    }

    #[test]
    fn hosts_split_before_anything_in_them() {
        let unguided = |host, core| (MPI_COMM_TYPE_HW_UNGUIDED, Wish::Unguided, host, 0, core);
        assert_eq!(on_hosts(&[unguided(0, 1), unguided(1, 1)]).first_to_split(), Some(0));
        assert_eq!(on_hosts(&[unguided(1, 1), unguided(1, 2)]).first_to_split(), Some(6));
    }

    #[test]
    fn ranks_that_differ_are_noticed() {
        let guided = |wish| (MPI_COMM_TYPE_HW_GUIDED, wish, 0, 0);
        assert!(table(&[guided(Wish::Resource(1)), guided(Wish::Nothing)]).agree().is_ok());
        let error = table(&[guided(Wish::Resource(1)), guided(Wish::Resource(2))]).agree().unwrap_err();
        assert_eq!(error.class, MPI_ERR_INFO_VALUE);
        let undefined = (MPI_UNDEFINED, Wish::Nothing, 0, 0);
        assert!(table(&[guided(Wish::SharedMemory), undefined]).agree().is_ok());
        let shared = (MPI_COMM_TYPE_SHARED, Wish::SharedMemory, 0, 0);
        assert_eq!(table(&[guided(Wish::SharedMemory), shared]).agree().unwrap_err().class, MPI_ERR_ARG);
    }
}
