//! Balanced factorisations for `MPI_Dims_create`.
//!
//! "As close to each other as possible" is read as the least difference between the largest and the smallest dimension; among
//! those, the largest is as small as can be, then the second largest, and so on. So 7488 nodes in three dimensions are
//! 26 x 18 x 16. The least largest dimension alone would give 24 x 24 x 13 (the reading of Träff and Lübbe, *Specification
//! Guideline Violations by MPI_Dims_create*, EuroMPI 2015).

use std::collections::HashSet;

/// Returns `count` factors of `nodes` in nonincreasing order, as close to each other as possible.
///
/// # Panics
/// If `nodes` is 0, or `count` is 0 and `nodes` is not 1.
pub fn balanced_dimensions(nodes: u32, count: usize) -> Vec<u32> {
    assert!(nodes > 0 && (count > 0 || nodes == 1));
    if count < 2 {
        return vec![nodes; count];
    }
    let divisors = divisors(nodes);
    // (largest, smallest)
    let mut best: Option<(u32, u32)> = None;
    for &largest in divisors.iter().filter(|&&factor| reaches(factor, count, nodes)) {
        // The smallest of the others is at most their mean, which falls while the largest grows.
        let most = nodes / largest;
        let is_mean = |low: &u32| *low == 1 || !exceeds(*low, count - 1, most);
        let mean = divisors.iter().copied().rev().find(is_mean).unwrap_or(1).min(largest);
        let bound = best.map_or(u32::MAX, |(largest, smallest)| largest - smallest);
        if largest - mean >= bound {
            break;
        }
        let smallest = divisors.iter().copied().rev().skip_while(|&low| low > mean);
        let mut closer = smallest.take_while(|&low| largest - low < bound);
        if let Some(low) =
            closer.find(|&low| Search::new(&divisors, low).least(most, count - 1, largest).is_some())
        {
            best = Some((largest, low));
        }
    }
    let (largest, smallest) = best.expect("the number itself and ones are factors");
    let rest = Search::new(&divisors, smallest).least(nodes / largest, count - 1, largest);
    let mut all = rest.expect("found before");
    // It was built from the smallest on.
    all.push(largest);
    all.reverse();
    all
}

/// A search for factors that are not below a number.
struct Search<'a> {
    divisors: &'a [u32],
    low: u32,
    /// What is no product of so many factors up to a number.
    dead_ends: HashSet<(u32, usize, u32)>,
}

impl<'a> Search<'a> {
    fn new(divisors: &'a [u32], low: u32) -> Self {
        Self { divisors, low, dead_ends: HashSet::new() }
    }

    /// Returns `count` factors of `number` up to `high`, in nondecreasing order: the largest as small as can be, and so on.
    fn least(&mut self, number: u32, count: usize, high: u32) -> Option<Vec<u32>> {
        if count == 0 {
            return (number == 1).then(Vec::new);
        }
        if exceeds(self.low, count, number) || self.dead_ends.contains(&(number, count, high)) {
            return None;
        }
        let divisors = self.divisors;
        let candidates = divisors.iter().copied().skip_while(|&factor| !reaches(factor, count, number));
        for factor in candidates.take_while(|&factor| factor <= high) {
            if number.is_multiple_of(factor)
                && factor >= self.low
                && let Some(mut rest) = self.least(number / factor, count - 1, factor)
            {
                rest.push(factor);
                return Some(rest);
            }
        }
        self.dead_ends.insert((number, count, high));
        None
    }
}

/// Tells whether the `count`-th power of `factor` is at least `number`.
fn reaches(factor: u32, count: usize, number: u32) -> bool {
    power(factor, count, number) >= u64::from(number)
}

/// Tells whether the `count`-th power of `factor` is more than `number`.
fn exceeds(factor: u32, count: usize, number: u32) -> bool {
    power(factor, count, number) > u64::from(number)
}

/// Returns the `count`-th power of `factor`, or something beyond `limit` if that is.
fn power(factor: u32, count: usize, limit: u32) -> u64 {
    let mut power = 1u64;
    for _ in 0..count.min(33) {
        power *= u64::from(factor);
        if power > u64::from(limit) {
            break;
        }
    }
    power
}

fn divisors(number: u32) -> Vec<u32> {
    let mut small: Vec<u32> = (1..)
        .take_while(|&d| u64::from(d) * u64::from(d) <= u64::from(number))
        .filter(|&d| number.is_multiple_of(d))
        .collect();
    let large: Vec<u32> = small.iter().rev().map(|&d| number / d).collect();
    small.extend(large);
    small.dedup();
    small
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds all factorisations in nonincreasing order.
    fn all(number: u32, count: usize, bound: u32, before: &mut Vec<u32>, found: &mut Vec<Vec<u32>>) {
        if count == 0 {
            if number == 1 {
                found.push(before.clone());
            }
            return;
        }
        for factor in (1..=bound.min(number)).filter(|&factor| number.is_multiple_of(factor)) {
            before.push(factor);
            all(number / factor, count - 1, factor, before, found);
            before.pop();
        }
    }

    /// The least spread; then the least in the order of the elements.
    fn by_trying_all(number: u32, count: usize) -> Option<Vec<u32>> {
        let mut found = Vec::new();
        all(number, count, number, &mut Vec::new(), &mut found);
        found.into_iter().min_by_key(|dimensions| (dimensions[0] - dimensions[count - 1], dimensions.clone()))
    }

    #[test]
    fn small_numbers_are_balanced() {
        for number in 1..=720 {
            for count in 1..=5 {
                assert_eq!(Some(balanced_dimensions(number, count)), by_trying_all(number, count));
            }
        }
    }

    #[test]
    fn large_and_prime_numbers_are_balanced() {
        assert_eq!(balanced_dimensions(2_147_483_647, 3), [2_147_483_647, 1, 1]);
        assert_eq!(balanced_dimensions(1 << 30, 4), [256, 256, 128, 128]);
        assert_eq!(balanced_dimensions(46_337 * 46_337, 2), [46_337, 46_337]);
        assert_eq!(balanced_dimensions(7488, 3), [26, 18, 16]);
        assert_eq!(balanced_dimensions(2 * 3 * 5 * 7 * 11 * 13 * 17 * 19, 3), [221, 210, 209]);
        assert_eq!(balanced_dimensions(1, 0), [0u32; 0]);
        // 1344 divisors, more than any smaller number has.
        let many = balanced_dimensions(2_095_133_040, 8);
        assert_eq!(many.iter().product::<u32>(), 2_095_133_040);
        assert!(many.is_sorted_by(|a, b| a >= b) && many[0] <= 22, "{many:?}");
        assert_eq!(balanced_dimensions(12, 40)[..4], [3, 2, 2, 1]);
    }

    /// The numbers below 2^31 with more divisors than any smaller one, and powers, in any number of dimensions.
    #[test]
    fn numbers_with_many_divisors_take_no_time() {
        let numbers =
            [2_095_133_040, 1_396_755_360, 1_102_701_600, 735_134_400, 367_567_200, 1 << 30, 1_162_261_467];
        for number in numbers {
            for count in 1..=32 {
                let found = balanced_dimensions(number, count);
                assert_eq!(found.iter().map(|&d| u64::from(d)).product::<u64>(), u64::from(number));
                assert!(found.len() == count && found.is_sorted_by(|a, b| a >= b));
            }
        }
    }

    #[test]
    fn divisors_are_complete() {
        for number in 1..2000u32 {
            let all: Vec<u32> = (1..=number).filter(|&d| number.is_multiple_of(d)).collect();
            assert_eq!(divisors(number), all);
        }
    }
}
