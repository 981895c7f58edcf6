//! Who carries out which part of a file in a collective operation: arithmetic, the same at all ranks.
//!
//! What all ranks touch of the file is cut into parts of equal length, one for each rank that works. A part is gone through window
//! by window; all parts' windows of one number are a round.

/// A file's parts, and their windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Domains {
    first: u64,
    behind: u64,
    /// The bytes of a part, and of a window.
    part: u64,
    window: u64,
}

impl Domains {
    /// Cuts what lies between two bytes of a file into at most `parts` parts, which begin at multiples of `alignment`.
    pub fn new(first: u64, behind: u64, parts: u64, alignment: u64, window: u64) -> Self {
        let alignment = alignment.max(1);
        let first = first / alignment * alignment;
        let part = (behind.max(first) - first).div_ceil(parts.max(1));
        // At the end of what a file can have nothing is rounded up.
        let part = part.checked_next_multiple_of(alignment).unwrap_or(part).max(1);
        Self { first, behind: behind.max(first), part, window: window.max(1) }
    }

    /// Returns the bytes of a part: the first one, and the one behind the last.
    pub fn part(&self, part: u64) -> (u64, u64) {
        let from = part.saturating_mul(self.part).saturating_add(self.first).min(self.behind);
        (from, from.saturating_add(self.part).min(self.behind))
    }

    /// Returns how many windows the longest part has.
    pub fn rounds(&self) -> u64 {
        (self.behind - self.first).min(self.part).div_ceil(self.window)
    }

    /// Returns the bytes of a part's window in a round, if it has one.
    pub fn window(&self, part: u64, round: u64) -> Option<(u64, u64)> {
        let (from, to) = self.part(part);
        let start = from.saturating_add(round.saturating_mul(self.window));
        (start < to).then(|| (start, start.saturating_add(self.window).min(to)))
    }
}

/// Chooses the ranks that work for all: so many, or `each` of every host. Hosts take turns, and those of a host are far from each
/// other. `hosts` has the number of each rank's host.
pub fn workers(hosts: &[u32], wanted: Option<u64>, each: u64) -> Vec<u32> {
    let mut numbers = hosts.to_vec();
    numbers.sort_unstable();
    numbers.dedup();
    let ranks_of =
        |number| (0u32..).zip(hosts).filter(move |(_, host)| **host == number).map(|(rank, _)| rank);
    let ranks: Vec<Vec<u32>> = numbers.into_iter().map(|number| ranks_of(number).collect()).collect();
    let wanted = wanted.map(|wanted| wanted.clamp(1, hosts.len().max(1) as u64));
    // How many each host gives, given in turns.
    let mut shares = vec![0u64; ranks.len()];
    let mut left = wanted.unwrap_or(u64::MAX);
    let most = if wanted.is_some() { u64::MAX } else { each.max(1) };
    loop {
        let mut has_given = false;
        for (share, ranks) in shares.iter_mut().zip(&ranks) {
            if left > 0 && *share < most.min(ranks.len() as u64) {
                (*share, left, has_given) = (*share + 1, left - 1, true);
            }
        }
        if !has_given {
            break;
        }
    }
    let spread = shares.iter().zip(&ranks).flat_map(|(&share, ranks)| {
        (0..share).map(move |number| ranks[(number * ranks.len() as u64 / share) as usize])
    });
    spread.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_trials::rounds;

    #[test]
    fn windows_cover_every_byte_once_and_parts_begin_at_multiples() {
        let mut seed = 7u64;
        let mut below = |limit: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % limit
        };
        for _ in 0..rounds(400) {
            let first = below(1000);
            let behind = first + below(5000);
            let (parts, alignment, window) = (1 + below(9), 1 + below(70), 1 + below(300));
            let all = Domains::new(first, behind, parts, alignment, window);
            let mut seen = vec![0; behind as usize + 1];
            for part in 0..parts {
                assert!(all.part(part).0.is_multiple_of(alignment) || all.part(part).0 == behind, "{all:?}");
                for round in 0..all.rounds() {
                    let Some((from, to)) = all.window(part, round) else { continue };
                    assert!(to > from && to - from <= window && to <= behind, "{all:?} {part} {round}");
                    (from..to).for_each(|at| seen[at as usize] += 1);
                }
                assert_eq!(all.window(part, all.rounds()), None, "{all:?}");
            }
            assert!((first..behind).all(|at| seen[at as usize] == 1), "{all:?}");
        }
        let end = i64::MAX as u64;
        let all = Domains::new(end - 10, end, 3, 4096, 1 << 20);
        assert_eq!(all.part(2).1, end);
    }

    #[test]
    fn hosts_take_turns_at_giving_workers() {
        assert_eq!(workers(&[0; 8], None, 2), [0, 4]);
        assert_eq!(workers(&[0, 1, 0, 1, 0, 1], None, 2), [0, 2, 1, 3]);
        assert_eq!(workers(&[5, 5, 5, 9], Some(3), 1), [0, 1, 3]);
        assert_eq!(workers(&[5, 5, 5, 9], Some(2), 1), [0, 3]);
        assert_eq!(workers(&[0, 0], Some(100), 1), [0, 1]);
        assert_eq!(workers(&[0, 0, 1], Some(0), 1), [0]);
    }
}
