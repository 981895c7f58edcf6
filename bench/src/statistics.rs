//! Samples and what is said about them: medians, and how far they scatter.

use serde::Serialize;
use std::collections::BTreeMap;

/// What a measurement is of: the implementation, the quantity, and its size (bytes or ranks).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The name of the implementation, or `machine` for floors.
    pub who: String,
    /// What was measured.
    pub what: String,
    /// Bytes of a message, or ranks of a job.
    pub size: u64,
}

/// All samples of a run, by round: rounds are interleaved, so a disturbance hits everything measured then.
#[derive(Default)]
pub struct Samples {
    rounds: BTreeMap<Key, BTreeMap<usize, Vec<f64>>>,
}

/// A quantity over all rounds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Summary {
    /// The median of the rounds' medians.
    pub median: f64,
    /// The smallest median of a round.
    pub low: f64,
    /// The largest median of a round.
    pub high: f64,
    /// How many samples there are in all.
    pub samples: usize,
}

/// Computes the median of a list; `None` if it is empty.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        length if length % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

fn summarize(medians: &[f64], samples: usize) -> Option<Summary> {
    Some(Summary {
        median: median(medians)?,
        low: medians.iter().copied().fold(f64::INFINITY, f64::min),
        high: medians.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        samples,
    })
}

impl Samples {
    /// Adds one sample of a round.
    pub fn add(&mut self, who: &str, what: &str, size: u64, round: usize, value: f64) {
        let key = Key { who: who.into(), what: what.into(), size };
        self.rounds.entry(key).or_default().entry(round).or_default().push(value);
    }

    /// Lists everything that was measured.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.rounds.keys()
    }

    fn medians(&self, who: &str, what: &str, size: u64) -> BTreeMap<usize, f64> {
        let key = Key { who: who.into(), what: what.into(), size };
        let rounds = self.rounds.get(&key);
        rounds.into_iter().flatten().filter_map(|(round, values)| Some((*round, median(values)?))).collect()
    }

    /// Sums up a quantity over all rounds; `None` if it was not measured.
    pub fn summary(&self, who: &str, what: &str, size: u64) -> Option<Summary> {
        let medians: Vec<f64> = self.medians(who, what, size).into_values().collect();
        let key = Key { who: who.into(), what: what.into(), size };
        let samples = self.rounds.get(&key)?.values().map(Vec::len).sum();
        summarize(&medians, samples)
    }

    /// Divides one quantity by another round by round and sums up the ratios: what disturbed a round disturbed both.
    pub fn ratio(&self, above: (&str, &str, u64), below: (&str, &str, u64)) -> Option<Summary> {
        let divisors = self.medians(below.0, below.1, below.2);
        let ratios: Vec<f64> = self
            .medians(above.0, above.1, above.2)
            .iter()
            .filter_map(|(round, value)| Some(value / divisors.get(round)?))
            .collect();
        summarize(&ratios, ratios.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_odd_even_and_none() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn ratios_pair_samples_of_the_same_round() {
        let mut samples = Samples::default();
        for (round, disturbance) in [1.0, 10.0, 3.0].into_iter().enumerate() {
            samples.add("machine", "handoff", 0, round, 50.0 * disturbance);
            samples.add("weft", "latency", 8, round, 60.0 * disturbance);
        }
        // A round in which only one of the two was measured says nothing about the ratio.
        samples.add("weft", "latency", 8, 3, 1e9);
        let ratio = samples.ratio(("weft", "latency", 8), ("machine", "handoff", 0)).unwrap();
        assert!((ratio.median - 1.2).abs() < 1e-12 && (ratio.high - ratio.low).abs() < 1e-12, "{ratio:?}");
        assert_eq!(ratio.samples, 3);
        assert!(samples.ratio(("weft", "latency", 8), ("machine", "nothing", 0)).is_none());
    }
}
