//! Rings: in each step a rank sends one block to the next rank and receives one from the rank before.
//!
//! Every block is sent `size - 1` times, so rings use the bandwidth of all links and suit large data. A reduce-scatter
//! followed by an allgather is the ring allreduce; a scatter followed by an allgather a broadcast of large data.

/// What a rank does in a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The rank it sends to, the same in every step.
    pub to: u32,
    /// The block it sends.
    pub send: u32,
    /// The rank it receives from, the same in every step.
    pub from: u32,
    /// The block it receives.
    pub receive: u32,
}

fn back(rank: u32, by: u32, size: u32) -> u32 {
    ((u64::from(rank) + u64::from(size) - u64::from(by % size)) % u64::from(size)) as u32
}

/// Returns a step of an allgather, from 0 to `size - 2`: rank `r` begins with block `r`.
pub fn allgather(rank: u32, size: u32, step: u32) -> Step {
    Step {
        to: (rank + 1) % size,
        send: back(rank, step, size),
        from: back(rank, 1, size),
        receive: back(rank, step + 1, size),
    }
}

/// Returns a step of a reduce-scatter, from 0 to `size - 2`: what is received is combined with the rank's own block, and
/// rank `r` ends with block `r`. Block `b` begins at rank `b + 1` and goes around upwards, so commutative operations only.
pub fn reduce_scatter(rank: u32, size: u32, step: u32) -> Step {
    Step {
        to: (rank + 1) % size,
        send: back(rank, step + 1, size),
        from: back(rank, 1, size),
        receive: back(rank, step + 2, size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_peers(steps: impl Fn(u32) -> Step, size: u32) {
        for rank in 0..size {
            let step = steps(rank);
            let other = steps(step.to);
            assert_eq!((other.from, other.receive), (rank, step.send));
        }
    }

    #[test]
    fn an_allgather_brings_every_block_once() {
        for size in 1..130 {
            let mut has: Vec<Vec<bool>> = (0..size).map(|r| (0..size).map(|b| b == r).collect()).collect();
            for step in 0..size - 1 {
                check_peers(|rank| allgather(rank, size, step), size);
                let before = has.clone();
                for rank in 0..size {
                    let now = allgather(rank, size, step);
                    assert!(before[rank as usize][now.send as usize]);
                    assert!(!std::mem::replace(&mut has[rank as usize][now.receive as usize], true));
                }
            }
            assert!(has.iter().flatten().all(|&has| has));
        }
    }

    #[test]
    fn a_reduce_scatter_combines_every_contribution_once() {
        for size in 1..130 {
            // contributions[rank][block]: how many ranks' contributions are in it, and which, as a sum of squares.
            let mut sums: Vec<Vec<(u32, u64)>> =
                (0..size).map(|r| vec![(1, u64::from(r) * u64::from(r)); size as usize]).collect();
            for step in 0..size - 1 {
                check_peers(|rank| reduce_scatter(rank, size, step), size);
                let before = sums.clone();
                for rank in 0..size {
                    let now = reduce_scatter(rank, size, step);
                    let (count, sum) = before[now.from as usize][now.receive as usize];
                    let own = &mut sums[rank as usize][now.receive as usize];
                    *own = (own.0 + count, own.1 + sum);
                }
            }
            let all: u64 = (0..u64::from(size)).map(|r| r * r).sum();
            assert!((0..size as usize).all(|rank| sums[rank][rank] == (size, all)), "{size}");
        }
    }
}
