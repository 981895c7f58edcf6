//! One-sided operations, of ranks that are threads and of ranks that are processes, beside peers and beside what the
//! processor takes for the same by itself.

use crate::bars::{Bar, Check, best_peer, sizes};
use crate::plan::{Implementation, Session, WEFT};
use crate::statistics::Samples;
use std::time::Duration;

/// What is added to the names of measurements of ranks that are processes.
const APART: &str = "-apart";
/// Ranks; peers' are processes, which on few cores take minutes if there are more.
const RANKS: [u64; 3] = [2, 8, 32];
const PEER_RANKS: u64 = 8;
/// The operations that `bench/kernels/one_sided.c` measures.
const OPERATIONS: [&str; 7] = [
    "put-flush",
    "get-flush",
    "accumulate-flush",
    "fetch-and-op",
    "compare-and-swap",
    "lock-unlock",
    "fence",
];
/// How long a program may take. What it has measured by then counts.
const LIMIT: Duration = Duration::from_secs(12);

impl Session {
    /// Measures one-sided operations once, each implementation in turn.
    pub fn one_sided(&mut self, round: usize, everybody: &[Implementation]) {
        let limit = core::mem::replace(&mut self.limit, LIMIT);
        let ways = |who: &Implementation| -> Vec<(&'static [&'static str], &'static str)> {
            let apart: (&[&str], &str) = (&["--ranks-as", "processes"], APART);
            if who.is_peer { vec![(&[], "")] } else { vec![(&[], ""), apart] }
        };
        for (ranks, kernel) in
            RANKS.map(|ranks| (ranks, "one_sided 5")).into_iter().chain([(2, "one_sided 5 puts")])
        {
            for who in everybody.iter().filter(|who| !who.is_peer || ranks <= PEER_RANKS) {
                for (options, suffix) in ways(who) {
                    self.kernel(who, options, suffix, ranks, round, kernel);
                }
            }
        }
        self.limit = limit;
    }
}

/// One-sided operations beside the best peer and beside the processor's own.
pub fn checks(samples: &Samples) -> Vec<Check> {
    let mut checks = Vec::new();
    for what in OPERATIONS.iter().flat_map(|what| [String::from(*what), format!("{what}{APART}")]) {
        let own = what.trim_end_matches(APART);
        for size in sizes(samples, &what) {
            let Some(peer) = best_peer(samples, own, size) else { continue };
            checks.push(Check {
                what: format!("{what}, {size} ranks: {peer} / weft"),
                value: samples.ratio((&peer, own, size), (WEFT, &what, size)),
                unit: "x",
                bar: Bar::AtLeast(if what == "fence" && size == 8 { 10.0 } else { 1.0 }),
            });
        }
    }
    for size in sizes(samples, "fetch-and-op") {
        checks.push(Check {
            what: format!("fetch-and-op, {size} ranks / the processor's own"),
            value: samples.ratio((WEFT, "fetch-and-op", size), (WEFT, "floor-atomic", size)),
            unit: "x",
            bar: Bar::AtMost(1.5),
        });
    }
    for size in sizes(samples, "put") {
        checks.push(Check {
            what: format!("put of {size} bytes: memcpy / weft"),
            value: samples.ratio((WEFT, "floor-put", size), (WEFT, "put", size)),
            unit: "x",
            bar: Bar::AtLeast(0.95),
        });
        if let Some(peer) = best_peer(samples, "put", size) {
            checks.push(Check {
                what: format!("put of {size} bytes: {peer} / weft"),
                value: samples.ratio((&peer, "put", size), (WEFT, "put", size)),
                unit: "x",
                bar: Bar::AtLeast(1.0),
            });
        }
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sided_operations_are_judged_against_the_best_peer_and_the_processor() {
        let mut samples = Samples::default();
        for (who, what, size, value) in [
            (WEFT, "fetch-and-op", 8, 6.0),
            (WEFT, "floor-atomic", 8, 5.0),
            (WEFT, "fence", 8, 1000.0),
            (WEFT, "fence-apart", 8, 9000.0),
            ("slow", "fence", 8, 90_000.0),
            ("fast", "fence", 8, 8000.0),
        ] {
            samples.add(who, what, size, 0, value);
        }
        let checks = checks(&samples);
        let verdicts: Vec<_> =
            checks.iter().map(|c| (&*c.what, c.bar.holds(c.value.unwrap().median))).collect();
        assert_eq!(
            verdicts,
            [
                ("fence, 8 ranks: fast / weft", false),
                ("fence-apart, 8 ranks: fast / weft", false),
                ("fetch-and-op, 8 ranks / the processor's own", true)
            ]
        );
    }
}
