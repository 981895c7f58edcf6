//! How ranks are grouped: by their workers, and by their processes.

/// The ranks by their home workers.
#[derive(Debug)]
pub(crate) struct Shards {
    /// The shard of each rank.
    pub of: Box<[u32]>,
    /// The ranks of each shard in rank order; shards are ordered by their first rank.
    pub members: Box<[Box<[u32]>]>,
    /// Whether each shard is a range of ranks, so that combining shard by shard keeps rank order.
    pub are_contiguous: bool,
}

impl Shards {
    /// Groups ranks with the given home workers.
    pub fn new(homes: &[usize]) -> Self {
        let size = homes.len();
        let mut order: Vec<usize> = Vec::new();
        let mut shard_of: Vec<u32> = Vec::with_capacity(size);
        for home in homes {
            let shard = order.iter().position(|h| h == home).unwrap_or_else(|| {
                order.push(*home);
                order.len() - 1
            });
            shard_of.push(shard as u32);
        }
        // Few ranks per worker: one counter for all is less work than two levels.
        if order.len() * 4 > size {
            shard_of.fill(0);
            order.truncate(1);
        }
        let mut members = vec![Vec::new(); order.len()];
        for (rank, &shard) in shard_of.iter().enumerate() {
            members[shard as usize].push(rank as u32);
        }
        Self {
            are_contiguous: shard_of.is_sorted(),
            of: shard_of.into(),
            members: members.into_iter().map(Vec::into_boxed_slice).collect(),
        }
    }

    /// Tells whether an operation is combined shard by shard, where there are several.
    pub fn combine(&self, is_commutative: bool) -> bool {
        self.members.len() > 1 && (self.are_contiguous || is_commutative)
    }
}

/// In which order ranks of several processes are combined: those of each group, then the groups, each from the last to the first.
/// So what a process can reduce by itself, where data goes in messages, is reduced first here, too (`hier::ordered`).
#[derive(Default)]
pub(crate) struct Groups {
    /// The ranks of each process; processes are ordered by their first rank.
    by_process: Vec<Vec<u32>>,
    /// Runs of consecutive ranks of one process.
    by_run: Vec<Vec<u32>>,
}

impl Groups {
    /// Groups ranks, of which `home` gives the process.
    pub fn new(size: u32, home: impl Fn(u32) -> u32) -> Self {
        let mut found: Vec<(u32, Vec<u32>)> = Vec::new();
        let mut by_run: Vec<Vec<u32>> = Vec::new();
        for rank in 0..size {
            match by_run.last_mut() {
                Some(run) if home(run[0]) == home(rank) => run.push(rank),
                _ => by_run.push(vec![rank]),
            }
            match found.iter_mut().find(|(process, _)| *process == home(rank)) {
                Some((_, ranks)) => ranks.push(rank),
                None => found.push((home(rank), vec![rank])),
            }
        }
        Self { by_process: found.into_iter().map(|(_, ranks)| ranks).collect(), by_run }
    }

    /// Returns the groups, unless all are combined in rank order.
    pub fn of(&self, is_commutative: bool) -> Option<&[Vec<u32>]> {
        let groups = if is_commutative { &self.by_process } else { &self.by_run };
        groups.iter().any(|group| group.len() > 1).then_some(&groups[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_grouped_by_process_and_in_runs_where_order_matters() {
        let alone = Groups::new(4, |rank| rank);
        assert!(alone.of(true).is_none() && alone.of(false).is_none());
        let pairs = Groups::new(5, |rank| rank / 2);
        assert_eq!(pairs.of(true), Some(&[vec![0, 1], vec![2, 3], vec![4]][..]));
        assert_eq!(pairs.of(false), pairs.of(true));
        let turns = Groups::new(4, |rank| rank % 2);
        assert_eq!(turns.of(true), Some(&[vec![0, 2], vec![1, 3]][..]));
        assert_eq!(turns.of(false), None);
        assert_eq!(
            Groups::new(4, |rank| [0, 1, 1, 0][rank as usize]).of(false),
            Some(&[vec![0], vec![1, 2], vec![3]][..])
        );
    }
}
