//! Recursive doubling and halving, for any number of ranks.
//!
//! Both work among a power of two of ranks, the *core*. Of the `2 * extra` first ranks, where `extra` is what the number
//! of ranks exceeds the power of two by, every even one gives what it has to its odd neighbour before and gets the result
//! from it afterwards; so neighbours combine in rank order.
//!
//! Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication Operations in MPICH", IJHPCA 19
//! (2005), section 6.

use core::ops::Range;

/// A rank's part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Outside the core: represented by the rank above it.
    Extra {
        /// The rank that represents it.
        by: u32,
    },
    /// Number `number` of the core.
    Core {
        /// The rank's number in the core.
        number: u32,
        /// The rank it represents.
        represents: Option<u32>,
    },
}

/// Returns the size of the core.
pub fn core_size(size: u32) -> u32 {
    if size.is_power_of_two() { size } else { size.next_power_of_two() / 2 }
}

/// Returns a rank's part.
pub fn role(rank: u32, size: u32) -> Role {
    let extra = size - core_size(size);
    if rank >= 2 * extra {
        Role::Core { number: rank - extra, represents: None }
    } else if rank.is_multiple_of(2) {
        Role::Extra { by: rank + 1 }
    } else {
        Role::Core { number: rank / 2, represents: Some(rank - 1) }
    }
}

/// Returns the rank with a number in the core.
pub fn rank_of(number: u32, size: u32) -> u32 {
    let extra = size - core_size(size);
    if number < extra { 2 * number + 1 } else { number + extra }
}

/// Returns the number of the core member with which a member exchanges everything in a step of recursive doubling, from 0
/// to `log2(core) - 1`. The one with the smaller number holds the lower ranks' data.
pub fn partner(number: u32, step: u32) -> u32 {
    number ^ 1 << step
}

/// A step of recursive halving.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Halving {
    /// The core member with which to exchange.
    pub partner: u32,
    /// The blocks to send, as numbers of core members.
    pub send: Range<u32>,
    /// The blocks to receive, and to keep.
    pub keep: Range<u32>,
}

/// Returns a step of recursive halving, from 0 to `log2(core) - 1`: a core member begins with all blocks of the core and
/// ends with its own. In reverse, with sending and keeping exchanged, it is an allgather by recursive doubling.
pub fn halving(number: u32, core: u32, step: u32) -> Halving {
    let half = core >> (step + 1);
    let partner = number ^ half;
    let block = |number: u32| number / half * half..(number / half + 1) * half;
    Halving { partner, send: block(partner), keep: block(number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which ranks' contributions are combined, as a range: rank order is kept if ranges only ever join their neighbours.
    fn join(low: &Range<u32>, high: &Range<u32>) -> Range<u32> {
        assert_eq!(low.end, high.start, "out of rank order");
        low.start..high.end
    }

    fn begin(size: u32) -> Vec<Range<u32>> {
        let own = |rank| match role(rank, size) {
            Role::Core { represents: Some(below), .. } => join(&(below..rank), &(rank..rank + 1)),
            _ => rank..rank + 1,
        };
        (0..core_size(size)).map(|number| own(rank_of(number, size))).collect()
    }

    #[test]
    fn every_rank_is_in_the_core_or_represented() {
        for size in 1..130 {
            let mut seen = vec![0; size as usize];
            for rank in 0..size {
                match role(rank, size) {
                    Role::Extra { by } => {
                        assert!(
                            matches!(role(by, size), Role::Core { represents: Some(r), .. } if r == rank)
                        );
                    }
                    Role::Core { number, represents } => {
                        assert_eq!(rank_of(number, size), rank);
                        seen[number as usize] += 1;
                        assert!(represents.is_none_or(|r| role(r, size) == Role::Extra { by: rank }));
                    }
                }
            }
            assert!(seen[..core_size(size) as usize].iter().all(|&count| count == 1));
        }
    }

    #[test]
    fn doubling_combines_all_in_rank_order() {
        for size in 1..130 {
            let mut has = begin(size);
            for step in 0..core_size(size).ilog2() {
                let before = has.clone();
                for number in 0..core_size(size) {
                    let other = partner(number, step);
                    assert_eq!(partner(other, step), number);
                    let (low, high) = (number.min(other) as usize, number.max(other) as usize);
                    has[number as usize] = join(&before[low], &before[high]);
                }
            }
            assert!(has.iter().all(|range| *range == (0..size)));
        }
    }

    #[test]
    fn halving_leaves_everybody_its_own_block_of_all() {
        for size in 1..130 {
            let core = core_size(size);
            let own = begin(size);
            // blocks[number][block]: whose contributions the member has combined in it, if it still has it.
            let mut blocks: Vec<Vec<Option<Vec<u32>>>> =
                own.iter().map(|range| vec![Some(range.clone().collect()); core as usize]).collect();
            for step in 0..core.ilog2() {
                let before = blocks.clone();
                for number in 0..core {
                    let now = halving(number, core, step);
                    let other = halving(now.partner, core, step);
                    assert_eq!((other.partner, &other.keep, &other.send), (number, &now.send, &now.keep));
                    for block in now.send {
                        assert!(blocks[number as usize][block as usize].take().is_some());
                    }
                    for block in now.keep {
                        let theirs = before[now.partner as usize][block as usize].clone().expect("it has it");
                        let mine = blocks[number as usize][block as usize].as_mut().expect("kept");
                        mine.extend(theirs);
                    }
                }
            }
            for (number, blocks) in blocks.iter_mut().enumerate() {
                for (block, content) in blocks.iter_mut().enumerate() {
                    assert_eq!(content.is_some(), block == number);
                    if let Some(ranks) = content {
                        ranks.sort_unstable();
                        assert_eq!(*ranks, (0..size).collect::<Vec<_>>());
                    }
                }
            }
        }
    }
}
