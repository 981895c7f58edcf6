//! The hardware resources of ranks (chapters 7 and 9), as URIs in the names of hwloc.
//!
//! A rank's resources are those of the processors it may run on: of its home worker's, if workers are bound.

use crate::arguments::check;
use crate::environment::info::Info;
use crate::process::Process;
use std::collections::HashMap;
use std::sync::Arc;
use weft_base::{Out, Result, abi};
use weft_machine::resources::{self, Instances, Resource};
use weft_sync::Lock;

const PROVIDER: &str = "hwloc://";

/// Returns the name under which programs know a type of resource.
pub(crate) fn uri(resource: Resource) -> String {
    format!("{PROVIDER}{}", resource.name())
}

/// Returns the place in [`Resource::ALL`] of the type with this name.
pub(crate) fn by_uri(uri: &str) -> Option<usize> {
    let name = uri.strip_prefix(PROVIDER)?;
    Resource::ALL.iter().position(|resource| resource.name() == name)
}

fn of_processor(processor: usize) -> Instances {
    // What the kernel says does not change, and takes a dozen files to read.
    static KNOWN: Lock<Option<HashMap<usize, Instances>>> = Lock::new(None);
    if let Some(known) = KNOWN.lock().as_ref().and_then(|known| known.get(&processor)) {
        return *known;
    }
    let found = resources::instances(processor);
    KNOWN.lock().get_or_insert_default().insert(processor, found);
    found
}

/// Returns the instance of each type that a rank of this machine is restricted to.
pub(crate) fn of_rank(world_rank: u32) -> Instances {
    let processors: Vec<Instances> =
        weft_sched::processors(world_rank).into_iter().map(of_processor).collect();
    resources::common(&processors)
}

/// `MPI_Get_hw_resource_info`: a key for each type of resource the machine has, "true" if the rank is restricted to one
/// instance.
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn get_hw_resource_info(hw_info: Out<abi::Info>) -> Result {
    check::output(hw_info, "hw_info")?;
    let process = Process::any();
    let own = of_rank(process.world_rank);
    let processors = weft_sched::processors(process.world_rank);
    let exists = |which: usize| processors.iter().any(|&processor| of_processor(processor)[which].is_some());
    let pairs = Resource::ALL.iter().enumerate().filter(|&(which, _)| exists(which));
    let pairs = pairs.map(|(which, &resource)| (uri(resource), own[which].is_some().to_string())).collect();
    hw_info.set(abi::Info(process.infos.insert(Arc::new(Info::new(pairs)))));
    Ok(())
}
