//! Which rank has mapped what by its own calls, so that `MAP_FIXED` never replaces another rank's memory unseen.
//!
//! In a process of its own a rank may map memory at any address that it knows to be free. Ranks that are threads share their
//! addresses: two that map at the same place would take each other's memory. Only what ranks map themselves is noted; a
//! program that maps over libc's or its own image does the same harm in a process.

use core::ops::Range;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Whose memory it is: the address of the rank's state.
pub type Owner = usize;

/// Ranges of addresses and who has mapped them. Ranges do not overlap.
#[derive(Default)]
pub struct Mappings {
    /// By the first address: the address past the last, and the owner.
    ranges: BTreeMap<usize, (usize, Owner)>,
}

impl Mappings {
    /// Creates a table without ranges.
    pub const fn new() -> Self {
        Self { ranges: BTreeMap::new() }
    }

    /// Finds memory in the range that belongs to another rank than `owner`.
    pub fn of_others(&self, range: &Range<usize>, owner: Owner) -> Option<Range<usize>> {
        self.overlapping(range).find(|(_, other)| *other != owner).map(|(found, _)| found)
    }

    /// Notes that `owner` has mapped the range, whatever was there.
    pub fn map(&mut self, range: Range<usize>, owner: Owner) {
        self.unmap(&range);
        if !range.is_empty() {
            self.ranges.insert(range.start, (range.end, owner));
        }
    }

    /// Notes that the range is nobody's any more. Of ranges that it cuts, the rest stays.
    pub fn unmap(&mut self, range: &Range<usize>) {
        let cut: Vec<_> = self.overlapping(range).collect();
        for (found, owner) in cut {
            self.ranges.remove(&found.start);
            if found.start < range.start {
                self.ranges.insert(found.start, (range.start, owner));
            }
            if range.end < found.end {
                self.ranges.insert(range.end, (found.end, owner));
            }
        }
    }

    /// Forgets what belongs to a rank that has ended. Its memory stays until the process ends, and may be replaced.
    pub fn forget(&mut self, owner: Owner) {
        self.ranges.retain(|_, (_, other)| *other != owner);
    }

    fn overlapping(&self, range: &Range<usize>) -> impl Iterator<Item = (Range<usize>, Owner)> {
        let (start, end) = (range.start, range.end.max(range.start));
        // The one that begins before may reach into it; nothing is in an empty range.
        let before =
            self.ranges.range(..start).next_back().filter(|(_, (past, _))| *past > start && end > start);
        before
            .into_iter()
            .chain(self.ranges.range(start..end))
            .map(|(first, (past, owner))| (*first..*past, *owner))
    }
}

static MAPPINGS: Mutex<Mappings> = Mutex::new(Mappings::new());

/// Calls a function with the mappings of all ranks. It must run no code of the program.
pub fn with<R>(use_them: impl FnOnce(&mut Mappings) -> R) -> R {
    use_them(&mut MAPPINGS.lock().unwrap_or_else(PoisonError::into_inner))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PAGES: usize = 24;

    #[derive(Debug, Clone)]
    enum Step {
        Map(Range<usize>, Owner),
        Unmap(Range<usize>),
        Forget(Owner),
    }

    fn range() -> impl Strategy<Value = Range<usize>> {
        (0..PAGES, 0..PAGES).prop_map(|(a, b)| a.min(b)..a.max(b))
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (range(), 1usize..4).prop_map(|(range, owner)| Step::Map(range, owner)),
            3 => range().prop_map(Step::Unmap),
            1 => (1usize..4).prop_map(Step::Forget),
        ]
    }

    proptest! {
        /// A plain list with an owner (or 0) for each page says the same.
        #[test]
        fn they_agree_with_a_list_of_pages(steps in prop::collection::vec(step(), 0..40), asked in range()) {
            let (mut mappings, mut pages) = (Mappings::new(), [0; PAGES]);
            for step in steps {
                match step {
                    Step::Map(range, owner) => {
                        mappings.map(range.clone(), owner);
                        pages[range].fill(owner);
                    }
                    Step::Unmap(range) => {
                        mappings.unmap(&range);
                        pages[range].fill(0);
                    }
                    Step::Forget(owner) => {
                        mappings.forget(owner);
                        pages.iter_mut().filter(|page| **page == owner).for_each(|page| *page = 0);
                    }
                }
            }
            for owner in 1..4 {
                let expected = pages[asked.clone()].iter().any(|page| *page != 0 && *page != owner);
                let found = mappings.of_others(&asked, owner);
                prop_assert_eq!(found.is_some(), expected);
                if let Some(found) = found {
                    prop_assert!(pages[found].iter().all(|page| *page != 0 && *page != owner));
                }
            }
        }
    }
}
