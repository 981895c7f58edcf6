//! An ordered set of ranks, named by their ranks in the job.

use std::collections::HashMap;
use std::sync::Arc;

/// How two groups relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Same members in the same order.
    Identical,
    /// Same members in another order.
    Similar,
    /// Different members.
    Unequal,
}

/// An ordered set of ranks of the job. Cheap to clone; rows and columns of a grid, ranges and the whole job take no
/// memory per member, so communicators of thousands of ranks don't cost ranks² words.
#[derive(Clone, Debug)]
pub struct Group {
    members: Members,
    origin: usize,
}

#[derive(Clone, Debug)]
enum Members {
    /// `first`, `first + stride`, …; the stride may be negative.
    Progression {
        first: u32,
        stride: i64,
        count: u32,
    },
    List(Arc<List>),
}

#[derive(Debug)]
struct List {
    ranks: Box<[u32]>,
    /// Pairs of (job rank, position), sorted, for lookups in large groups.
    sorted: Box<[(u32, u32)]>,
}

impl Group {
    /// Returns the group without members.
    pub const fn empty() -> Self {
        Self::range(0, 0)
    }

    /// Returns the group of job ranks `first..first + count`.
    pub const fn range(first: u32, count: u32) -> Self {
        Self { members: Members::Progression { first, stride: 1, count }, origin: 0 }
    }

    /// Returns the group with exactly these members, which must be distinct.
    pub fn from_ranks(ranks: &[u32]) -> Self {
        let Some(&first) = ranks.first() else { return Self::empty() };
        let stride = ranks.get(1).map_or(1, |&second| i64::from(second) - i64::from(first));
        if ranks.windows(2).all(|w| i64::from(w[1]) - i64::from(w[0]) == stride) {
            let members = Members::Progression { first, stride, count: ranks.len() as u32 };
            return Self { members, origin: 0 };
        }
        let mut sorted: Box<[(u32, u32)]> = (0u32..).zip(ranks).map(|(i, &r)| (r, i)).collect();
        sorted.sort_unstable();
        Self { members: Members::List(Arc::new(List { ranks: ranks.into(), sorted })), origin: 0 }
    }

    /// Returns the group with the number of the session it comes from; 0 stands for the world model. Groups made from
    /// this one keep it; comparisons ignore it.
    pub fn with_origin(mut self, origin: usize) -> Self {
        self.origin = origin;
        self
    }

    /// Returns the number of the session it comes from.
    pub fn origin(&self) -> usize {
        self.origin
    }

    /// Returns the number of members.
    #[inline]
    pub fn size(&self) -> u32 {
        match &self.members {
            Members::Progression { count, .. } => *count,
            Members::List(list) => list.ranks.len() as u32,
        }
    }

    /// Returns the job rank of member `index`.
    ///
    /// # Panics
    /// If there is no such member.
    #[inline]
    pub fn world_rank(&self, index: u32) -> u32 {
        match &self.members {
            Members::Progression { first, stride, count } => {
                assert!(index < *count);
                (i64::from(*first) + stride * i64::from(index)) as u32
            }
            Members::List(list) => list.ranks[index as usize],
        }
    }

    /// Returns the position of a job rank in the group.
    pub fn rank_of(&self, world_rank: u32) -> Option<u32> {
        match &self.members {
            Members::Progression { first, stride, count } => {
                let offset = i64::from(world_rank) - i64::from(*first);
                let index = offset / stride;
                (offset % stride == 0 && (0..i64::from(*count)).contains(&index)).then_some(index as u32)
            }
            Members::List(list) => {
                let found = list.sorted.binary_search_by_key(&world_rank, |&(rank, _)| rank).ok()?;
                Some(list.sorted[found].1)
            }
        }
    }

    /// Iterates over the members' job ranks in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.size()).map(|i| self.world_rank(i))
    }

    /// Compares two groups.
    pub fn compare(&self, other: &Self) -> Comparison {
        if self.size() != other.size() {
            Comparison::Unequal
        } else if self.iter().eq(other.iter()) {
            Comparison::Identical
        } else if self.iter().all(|r| other.rank_of(r).is_some()) {
            Comparison::Similar
        } else {
            Comparison::Unequal
        }
    }

    /// Returns the members of `self`, then those of `other` that are not in `self`.
    pub fn union(&self, other: &Self) -> Self {
        let mut ranks: Vec<u32> = self.iter().collect();
        ranks.extend(other.iter().filter(|&r| self.rank_of(r).is_none()));
        // The group without members belongs to nobody.
        let origin = if self.origin == 0 { other.origin } else { self.origin };
        Self::from_ranks(&ranks).with_origin(origin)
    }

    /// Returns the members of `self` that are in `other` too, in the order of `self`.
    pub fn intersection(&self, other: &Self) -> Self {
        Self::from_ranks(&self.iter().filter(|&r| other.rank_of(r).is_some()).collect::<Vec<_>>())
            .with_origin(self.origin)
    }

    /// Returns the members of `self` that are not in `other`, in the order of `self`.
    pub fn difference(&self, other: &Self) -> Self {
        Self::from_ranks(&self.iter().filter(|&r| other.rank_of(r).is_none()).collect::<Vec<_>>())
            .with_origin(self.origin)
    }

    /// Returns the members at `indices`, in that order.
    ///
    /// # Errors
    /// The first index that is out of range or repeated.
    pub fn include(&self, indices: &[i64]) -> Result<Self, i64> {
        let mut seen = HashMap::with_capacity(indices.len());
        let mut ranks = Vec::with_capacity(indices.len());
        for &index in indices {
            if !(0..i64::from(self.size())).contains(&index) || seen.insert(index, ()).is_some() {
                return Err(index);
            }
            ranks.push(self.world_rank(index as u32));
        }
        Ok(Self::from_ranks(&ranks).with_origin(self.origin))
    }

    /// Returns the members that are not at `indices`, in the order of `self`.
    ///
    /// # Errors
    /// The first index that is out of range or repeated.
    pub fn exclude(&self, indices: &[i64]) -> Result<Self, i64> {
        Ok(self.difference(&self.include(indices)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progressions_and_lists_answer_alike() {
        for ranks in [
            vec![],
            vec![7],
            vec![3, 1],
            vec![0, 1, 2, 3],
            vec![9, 6, 3, 0],
            vec![5, 1, 4],
            vec![2, 4, 8, 16],
        ] {
            let group = Group::from_ranks(&ranks);
            assert_eq!(group.iter().collect::<Vec<_>>(), ranks);
            for world in 0..20 {
                let expected = ranks.iter().position(|&r| r == world).map(|i| i as u32);
                assert_eq!(group.rank_of(world), expected, "{ranks:?} {world}");
            }
        }
    }

    #[test]
    fn set_operations_keep_the_order_of_the_first_group() {
        let a = Group::from_ranks(&[4, 0, 2, 6]);
        let b = Group::from_ranks(&[6, 5, 4]);
        let list = |g: Group| g.iter().collect::<Vec<_>>();
        assert_eq!(list(a.union(&b)), [4, 0, 2, 6, 5]);
        assert_eq!(list(a.intersection(&b)), [4, 6]);
        assert_eq!(list(a.difference(&b)), [0, 2]);
        assert_eq!(list(a.include(&[3, 0]).unwrap()), [6, 4]);
        assert_eq!(list(a.exclude(&[3, 0]).unwrap()), [0, 2]);
        assert_eq!(a.include(&[1, 1]).unwrap_err(), 1);
        assert_eq!(a.exclude(&[4]).unwrap_err(), 4);
        assert_eq!(a.include(&[-1]).unwrap_err(), -1);
    }

    #[test]
    fn derived_groups_keep_the_session_they_come_from() {
        let a = Group::from_ranks(&[4, 0, 2, 6]).with_origin(9);
        let b = Group::from_ranks(&[6, 5, 4]).with_origin(9);
        let derived = [a.union(&b), a.intersection(&b), a.difference(&b), Group::empty().union(&a)];
        assert!(derived.iter().all(|group| group.origin() == 9));
        assert_eq!(a.include(&[3, 0]).unwrap().origin(), 9);
        assert_eq!(a.exclude(&[3, 0]).unwrap().origin(), 9);
        assert_eq!(Group::range(0, 4).origin(), 0);
    }

    #[test]
    fn comparison_tells_order_from_membership() {
        let a = Group::from_ranks(&[1, 2, 3]);
        assert_eq!(a.compare(&Group::range(1, 3)), Comparison::Identical);
        assert_eq!(a.compare(&Group::from_ranks(&[3, 1, 2])), Comparison::Similar);
        assert_eq!(a.compare(&Group::from_ranks(&[1, 2, 4])), Comparison::Unequal);
        assert_eq!(Group::empty().compare(&Group::range(5, 0)), Comparison::Identical);
    }
}
