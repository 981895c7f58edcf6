//! Balanced factorisations for `MPI_Dims_create`.
//!
//! "As close to each other as possible" is read as in Träff and Lübbe, *Specification Guideline Violations by
//! MPI_Dims_create* (EuroMPI 2015): the largest dimension is as small as can be, then the second largest, and so on.

/// Returns `count` factors of `nodes` in nonincreasing order, the largest as small as possible, then the next one.
///
/// # Panics
/// If `nodes` is 0, or `count` is 0 and `nodes` is not 1.
pub fn balanced_dimensions(nodes: u32, count: usize) -> Vec<u32> {
    assert!(nodes > 0 && (count > 0 || nodes == 1));
    let divisors = divisors(nodes);
    let mut rest = nodes;
    let mut bound = nodes;
    (0..count)
        .map(|done| {
            let left = count - done - 1;
            // `rest` itself is feasible: the others are then 1.
            let factor = *candidates(&divisors, rest, bound, left + 1)
                .find(|&&factor| is_product(&divisors, rest / factor, left, factor))
                .unwrap_or(&rest);
            rest /= factor;
            bound = factor;
            factor
        })
        .collect()
}

/// Returns the possible largest ones of `count` factors of `number`, all at most `bound`, in ascending order.
fn candidates(divisors: &[u32], number: u32, bound: u32, count: usize) -> impl Iterator<Item = &u32> {
    divisors
        .iter()
        .skip_while(move |&&factor| !reaches(factor, count, number))
        .take_while(move |&&factor| factor <= bound)
        .filter(move |&&factor| number.is_multiple_of(factor))
}

/// Tells whether the `count`-th power of `factor` is at least `number`.
fn reaches(factor: u32, count: usize, number: u32) -> bool {
    let mut power = 1u64;
    for _ in 0..count.min(32) {
        power *= u64::from(factor);
        if power >= u64::from(number) {
            return true;
        }
    }
    power >= u64::from(number)
}

/// Tells whether `number` is a product of `count` factors that are at most `bound`.
fn is_product(divisors: &[u32], number: u32, count: usize, bound: u32) -> bool {
    match count {
        0 => number == 1,
        1 => number <= bound,
        _ => candidates(divisors, number, bound, count)
            .any(|&factor| is_product(divisors, number / factor, count - 1, factor)),
    }
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

    /// All factorisations in nonincreasing order; the least in the order of their elements is the balanced one.
    fn by_trying_all(number: u32, count: usize, bound: u32) -> Option<Vec<u32>> {
        if count == 0 {
            return (number == 1).then(Vec::new);
        }
        (1..=bound.min(number)).filter(|&factor| number.is_multiple_of(factor)).find_map(|factor| {
            let mut rest = by_trying_all(number / factor, count - 1, factor)?;
            rest.insert(0, factor);
            Some(rest)
        })
    }

    #[test]
    fn small_numbers_are_balanced() {
        for number in 1..=720 {
            for count in 1..=5 {
                assert_eq!(Some(balanced_dimensions(number, count)), by_trying_all(number, count, number));
            }
        }
    }

    #[test]
    fn large_and_prime_numbers_are_balanced() {
        assert_eq!(balanced_dimensions(2_147_483_647, 3), [2_147_483_647, 1, 1]);
        assert_eq!(balanced_dimensions(1 << 30, 4), [256, 256, 128, 128]);
        assert_eq!(balanced_dimensions(46_337 * 46_337, 2), [46_337, 46_337]);
        assert_eq!(balanced_dimensions(2 * 3 * 5 * 7 * 11 * 13 * 17 * 19, 3), [221, 210, 209]);
        assert_eq!(balanced_dimensions(1, 0), [0u32; 0]);
        // 1344 divisors, more than any smaller number has.
        let many = balanced_dimensions(2_095_133_040, 8);
        assert_eq!(many.iter().product::<u32>(), 2_095_133_040);
        assert!(many.is_sorted_by(|a, b| a >= b) && many[0] <= 22, "{many:?}");
        assert_eq!(balanced_dimensions(12, 40)[..4], [3, 2, 2, 1]);
    }

    #[test]
    fn divisors_are_complete() {
        for number in 1..2000u32 {
            let all: Vec<u32> = (1..=number).filter(|&d| number.is_multiple_of(d)).collect();
            assert_eq!(divisors(number), all);
        }
    }
}
