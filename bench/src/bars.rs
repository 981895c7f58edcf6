//! What figures are compared with: bars, and the best of the peers.

use crate::plan::WEFT;
use crate::statistics::{Samples, Summary};

/// How a ratio or a figure is judged.
#[derive(Clone, Copy)]
pub enum Bar {
    /// At most so much.
    AtMost(f64),
    /// At least so much.
    AtLeast(f64),
}

impl Bar {
    /// Tells whether a figure is as it must be.
    pub fn holds(self, value: f64) -> bool {
        match self {
            Bar::AtMost(limit) => value <= limit,
            Bar::AtLeast(limit) => value >= limit,
        }
    }

    /// Says what a figure must be.
    pub fn text(self) -> String {
        match self {
            Bar::AtMost(limit) => format!("<= {limit}"),
            Bar::AtLeast(limit) => format!(">= {limit}"),
        }
    }
}

/// One comparison with a bar.
pub struct Check {
    /// What is compared with what.
    pub what: String,
    /// The ratio or figure, if it was measured.
    pub value: Option<Summary>,
    /// The figure's unit.
    pub unit: &'static str,
    /// What it must be.
    pub bar: Bar,
}

/// Names the implementation other than ours with the smallest median.
pub fn best_peer(samples: &Samples, what: &str, size: u64) -> Option<String> {
    let peers = samples.keys().filter(|key| key.what == what && key.size == size && key.who != WEFT);
    let medians =
        peers.filter_map(|key| Some((samples.summary(&key.who, what, size)?.median, key.who.clone())));
    medians.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, who)| who)
}

/// Lists the sizes at which something was measured by ours.
pub fn sizes(samples: &Samples, what: &str) -> Vec<u64> {
    samples.keys().filter(|key| key.what == what && key.who == WEFT).map(|key| key.size).collect()
}
