//! Collective operations on files, in memory and on a disk, of ranks that are threads and of ranks that are processes, beside peers
//! and beside what the system takes for a part of each rank at once.

use crate::bars::{Bar, Check, best_peer, sizes};
use crate::plan::{Implementation, Session, WEFT};
use crate::statistics::Samples;
use std::path::Path;
use std::time::Duration;

/// What is added to the names of measurements of ranks that are processes.
const APART: &str = "-apart";
/// Ranks; peers' are processes, which on few cores take minutes if there are more.
const RANKS: [u64; 2] = [8, 64];
const PEER_RANKS: u64 = 8;
/// The operations that `bench/kernels/files.c` measures.
const OPERATIONS: [&str; 7] = [
    "contiguous-write",
    "contiguous-read",
    "columns-write",
    "columns-read",
    "slabs-read",
    "records-write",
    "records-read",
];
/// How long a program may take. What it has measured by then counts.
const LIMIT: Duration = Duration::from_secs(40);
/// File systems: how measurements there are called, and where they are. The folder of the programs is on a disk, as a rule.
const MEMORY: (&str, &str) = ("tmpfs", "/dev/shm");
const DISK: &str = "disk";

impl Session {
    /// Measures operations on files once, each implementation in turn.
    pub fn files(&mut self, round: usize, everybody: &[Implementation], out: &Path) {
        let limit = core::mem::replace(&mut self.limit, LIMIT);
        let out = out.display().to_string();
        for (name, folder) in [MEMORY, (DISK, &out)] {
            let kernel = format!("files {folder} {name}");
            for ranks in RANKS {
                for who in everybody.iter().filter(|who| !who.is_peer || ranks <= PEER_RANKS) {
                    self.kernel(who, &[], "", ranks, round, &kernel);
                    if !who.is_peer && ranks <= PEER_RANKS {
                        self.kernel(who, &["--ranks-as", "processes"], APART, ranks, round, &kernel);
                    }
                }
            }
        }
        self.limit = limit;
    }
}

/// Operations on files beside the best peer, and parts at once beside the system's own.
pub fn checks(samples: &Samples) -> Vec<Check> {
    let mut checks = Vec::new();
    for place in [MEMORY.0, DISK] {
        for operation in OPERATIONS {
            let what = format!("file-{operation}-{place}");
            for own in [what.clone(), format!("{what}{APART}")] {
                for size in sizes(samples, &own) {
                    let Some(peer) = best_peer(samples, &what, size) else { continue };
                    checks.push(Check {
                        what: format!("{own}, {size} ranks: {peer} / weft"),
                        value: samples.ratio((&peer, &what, size), (WEFT, &own, size)),
                        unit: "x",
                        bar: Bar::AtLeast(if operation.starts_with("columns") { 2.0 } else { 1.0 }),
                    });
                }
            }
        }
        for way in ["write", "read"] {
            let (floor, what) =
                (format!("file-floor-{way}-{place}"), format!("file-contiguous-{way}-{place}"));
            for size in sizes(samples, &what) {
                checks.push(Check {
                    what: format!("{what}, {size} ranks: the system's own / weft"),
                    value: samples.ratio((WEFT, &floor, size), (WEFT, &what, size)),
                    unit: "x",
                    bar: Bar::AtLeast(0.95),
                });
            }
        }
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_to_be_twice_as_fast_as_the_best_peer_and_parts_at_once_as_the_system() {
        let mut samples = Samples::default();
        for (who, what, value) in [
            (WEFT, "file-columns-write-tmpfs", 50.0),
            (WEFT, "file-columns-write-tmpfs-apart", 90.0),
            ("slow", "file-columns-write-tmpfs", 300.0),
            ("fast", "file-columns-write-tmpfs", 110.0),
            (WEFT, "file-floor-read-disk", 20.0),
            (WEFT, "file-contiguous-read-disk", 20.5),
        ] {
            samples.add(who, what, 8, 0, value);
        }
        let checks = checks(&samples);
        let verdicts: Vec<_> =
            checks.iter().map(|c| (&*c.what, c.bar.holds(c.value.unwrap().median))).collect();
        assert_eq!(
            verdicts,
            [
                ("file-columns-write-tmpfs, 8 ranks: fast / weft", true),
                ("file-columns-write-tmpfs-apart, 8 ranks: fast / weft", false),
                ("file-contiguous-read-disk, 8 ranks: the system's own / weft", true)
            ]
        );
    }
}
