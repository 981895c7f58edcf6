//! Hardware resources by type and instance: which package, memory node, cache and core a set of processors is in.

use crate::{caches, memory_nodes, parse_list};
use std::fs;

/// A type of hardware resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resource {
    /// The whole machine.
    Machine,
    /// A processor package (socket).
    Package,
    /// A memory node.
    NumaNode,
    /// A third-level cache.
    L3Cache,
    /// A second-level cache.
    L2Cache,
    /// A first-level data cache.
    L1Cache,
    /// A core.
    Core,
    /// A processor as the kernel numbers them: a hardware thread of a core.
    ProcessingUnit,
}

impl Resource {
    /// All types, larger resources first.
    pub const ALL: [Self; 8] = [
        Self::Machine,
        Self::Package,
        Self::NumaNode,
        Self::L3Cache,
        Self::L2Cache,
        Self::L1Cache,
        Self::Core,
        Self::ProcessingUnit,
    ];

    /// Returns the name that hwloc gives the type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Machine => "Machine",
            Self::Package => "Package",
            Self::NumaNode => "NUMANode",
            Self::L3Cache => "L3Cache",
            Self::L2Cache => "L2Cache",
            Self::L1Cache => "L1Cache",
            Self::Core => "Core",
            Self::ProcessingUnit => "PU",
        }
    }
}

/// The instances of every type that one processor belongs to, in the order of [`Resource::ALL`]; none for types that the
/// machine does not have or does not show.
pub type Instances = [Option<u32>; Resource::ALL.len()];

/// Returns the instances that a processor belongs to. Two processors are in the same instance if the numbers are equal.
pub fn instances(processor: usize) -> Instances {
    let topology = |file: &str| {
        fs::read_to_string(format!("/sys/devices/system/cpu/cpu{processor}/topology/{file}")).ok()
    };
    let caches = caches(processor);
    let first = |list: &[usize]| list.first().map(|&first| first as u32);
    let cache = |level| first(&caches.iter().find(|cache| cache.level == level)?.shared_by);
    Resource::ALL.map(|resource| match resource {
        Resource::Machine => Some(0),
        // Where the kernel does not say, there is one.
        Resource::Package => {
            topology("physical_package_id").and_then(|id| id.trim().parse().ok()).or(Some(0))
        }
        Resource::NumaNode => {
            let nodes = memory_nodes();
            let node = nodes.iter().position(|node| node.contains(&processor));
            node.map(|node| node as u32).or(nodes.is_empty().then_some(0))
        }
        Resource::L3Cache => cache(3),
        Resource::L2Cache => cache(2),
        Resource::L1Cache => cache(1),
        Resource::Core => topology("thread_siblings_list")
            .and_then(|list| first(&parse_list(&list)))
            .or(Some(processor as u32)),
        Resource::ProcessingUnit => Some(processor as u32),
    })
}

/// Returns the instances that all of several processors share; `None` for a type of which they use several instances or
/// which does not exist.
pub fn common(processors: &[Instances]) -> Instances {
    let Some((first, rest)) = processors.split_first() else { return [None; Resource::ALL.len()] };
    let mut common = *first;
    for instances in rest {
        for (common, other) in common.iter_mut().zip(instances) {
            *common = common.filter(|_| common == other);
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_is_in_one_instance_of_what_always_exists() {
        for processor in crate::allowed_cores() {
            let found = instances(processor);
            assert_eq!(found[0], Some(0));
            assert_eq!(found[7], Some(processor as u32));
            assert!(found[1].is_some() && found[6].is_some(), "{found:?}");
        }
    }

    #[test]
    fn processors_share_what_is_equal() {
        let a = [Some(0), Some(1), Some(2), None, Some(4), Some(4), Some(4), Some(4)];
        let b = [Some(0), Some(1), Some(3), None, None, Some(4), Some(4), Some(5)];
        assert_eq!(common(&[a, b]), [Some(0), Some(1), None, None, None, Some(4), Some(4), None]);
        assert_eq!(common(&[a]), a);
        assert_eq!(common(&[]), [None; 8]);
    }
}
