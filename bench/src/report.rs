//! The table of results beside the bars of the project, and the JSON file that keeps everything.

use crate::bars::{Bar, Check, best_peer, sizes};
use crate::files;
use crate::one_sided;
use crate::plan::{MACHINE, Session, WEFT};
use crate::processes::{BARRIER_RANKS, START_RANKS, SUFFIX};
use crate::statistics::{Samples, Summary};
use serde_json::{Value, json};

fn scaled(summary: Option<Summary>, factor: f64) -> Option<Summary> {
    summary.map(|s| Summary { median: s.median * factor, low: s.low * factor, high: s.high * factor, ..s })
}

fn floors_checks(samples: &Samples) -> Vec<Check> {
    // The cheaper of the two ways to hand over a line is the floor.
    let median = |what| samples.summary(MACHINE, what, 0).map_or(f64::INFINITY, |s| s.median);
    let (one, two) = ("handoff-one-line", "handoff-two-lines");
    let handoff = if median(one) <= median(two) { one } else { two };
    let mut checks = vec![
        Check {
            what: format!("8-byte latency, two workers / {handoff}"),
            value: samples.ratio((WEFT, "latency", 8), (MACHINE, handoff, 0)),
            unit: "x",
            bar: Bar::AtMost(1.4),
        },
        Check {
            what: "8-byte latency, one worker / switch".into(),
            value: samples.ratio((WEFT, "latency-one-worker", 8), (MACHINE, "switch", 0)),
            unit: "x",
            bar: Bar::AtMost(5.0),
        },
    ];
    for (message, copy) in [
        ("message-fresh", "memcpy-fresh"),
        ("message-unchanged", "memcpy-unchanged"),
        ("pingpong", "memcpy-unchanged"),
    ] {
        for size in sizes(samples, message) {
            checks.push(Check {
                what: format!("bandwidth, {message} / {copy}, {} KiB", size / 1024),
                value: samples.ratio((MACHINE, copy, size), (WEFT, message, size)),
                unit: "x",
                bar: Bar::AtLeast(0.95),
            });
        }
    }
    checks
}

/// The message rate of several threads of a rank beside that of one.
fn thread_checks(samples: &Samples) -> Vec<Check> {
    let check = |what: &str, streams| Check {
        what: format!("message rate, 4 threads / 1, {what} each"),
        value: samples.ratio((WEFT, "rate-1-thread", 8), (WEFT, streams, 8)),
        unit: "x",
        bar: Bar::AtLeast(0.5),
    };
    vec![check("a tag", "rate-4-threads-tags"), check("a communicator", "rate-4-threads-comms")]
}

/// Messages of derived datatypes beside copy loops over the same layout, and contiguous types beside bytes.
fn datatype_checks(samples: &Samples) -> Vec<Check> {
    let mut checks = Vec::new();
    for key in samples.keys().filter(|key| key.who == WEFT) {
        let (what, size) = (key.what.as_str(), key.size);
        if let Some(layout) = what.strip_prefix("loop-") {
            checks.push(Check {
                what: format!("datatype {layout}, {} KiB: loop / message", size / 1024),
                value: samples.ratio((WEFT, what, size), (WEFT, layout, size)),
                unit: "x",
                bar: Bar::AtLeast(0.8),
            });
        } else if what.starts_with("typed-") && what != "typed-bytes" {
            checks.push(Check {
                what: format!("{what}, {size} bytes / bytes"),
                value: samples.ratio((WEFT, what, size), (WEFT, "typed-bytes", size)),
                unit: "x",
                bar: Bar::AtMost(1.1),
            });
        }
    }
    checks
}

fn absolute_checks(samples: &Samples) -> Vec<Check> {
    let collective = |what, ranks, limit| Check {
        what: format!("{what}, {ranks} ranks"),
        value: scaled(samples.summary(WEFT, what, ranks), 1e-3),
        unit: "us",
        bar: Bar::AtMost(limit),
    };
    let start = |ranks, limit| Check {
        what: format!("start, run and end of hello, {ranks} ranks"),
        value: scaled(samples.summary(WEFT, "start", ranks), 1e-9),
        unit: "s",
        bar: Bar::AtMost(limit),
    };
    vec![
        collective("barrier", 32, 4.0),
        collective("allreduce", 32, 4.0),
        collective("barrier", 1024, 150.0),
        collective("allreduce", 1024, 100.0),
        start(1000, 0.3),
        start(4096, 2.5),
        Check {
            what: "memory of hello, 1000 ranks".into(),
            value: scaled(samples.summary(WEFT, "memory", 1000), 1e-6),
            unit: "MB",
            bar: Bar::AtMost(150.0),
        },
    ]
}

/// A Fortran program beside C.
fn fortran_checks(samples: &Samples) -> Vec<Check> {
    let sections = sizes(samples, "fortran-section").into_iter().map(|size| Check {
        what: format!("section of {size} bytes / derived datatype"),
        value: samples.ratio((WEFT, "fortran-section", size), (WEFT, "derived-datatype", size)),
        unit: "x",
        bar: Bar::AtMost(1.0),
    });
    let sends = sizes(samples, "fortran-send").into_iter().map(|size| Check {
        what: format!("MPI_Send of mpi_f08 more than of C, {size} bytes"),
        value: samples.summary(WEFT, "fortran-send", size),
        unit: "ns",
        bar: Bar::AtMost(20.0),
    });
    sends.chain(sections).collect()
}

fn peer_checks(samples: &Samples) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut faster = |what: &str, size: u64, bar: f64| {
        if let Some(peer) = best_peer(samples, what, size) {
            checks.push(Check {
                what: format!("{what} {size}: {peer} / weft"),
                value: samples.ratio((&peer, what, size), (WEFT, what, size)),
                unit: "x",
                bar: Bar::AtLeast(bar),
            });
        }
    };
    faster("latency", 8, 1.25);
    for message in ["message-fresh", "message-unchanged", "pingpong", "window"] {
        for size in sizes(samples, message) {
            faster(message, size, 1.2);
        }
    }
    for operation in ["barrier", "bcast", "allreduce"] {
        faster(operation, 32, 40.0);
    }
    faster("start", 256, 50.0);
    faster("memory", 256, 20.0);
    checks
}

/// Ranks that are processes beside the best peer.
fn process_checks(samples: &Samples) -> Vec<Check> {
    let names = ["trip", "stream", "trip-far", "stream-far", "numpy-trip", "numpy-allreduce"];
    let sized =
        names.iter().flat_map(|&what| sizes(samples, what).into_iter().map(move |size| (what, size, 1.0)));
    let (barrier, start) = (format!("barrier{SUFFIX}"), format!("start{SUFFIX}"));
    let others = [(&*barrier, BARRIER_RANKS, 3.0), (&*start, START_RANKS, 1.0)];
    let beside_best = |(what, size, bar): (&str, u64, f64)| {
        let peer = best_peer(samples, what, size)?;
        Some(Check {
            what: format!("{what} {size}: {peer} / weft"),
            value: samples.ratio((&peer, what, size), (WEFT, what, size)),
            unit: "x",
            bar: Bar::AtLeast(bar),
        })
    };
    sized.chain(others).filter_map(beside_best).collect()
}

/// Collectives of several sizes beside the best peer: with a rank per core no slower, with many ranks faster by the
/// factors of the project's bar.
fn collective_checks(samples: &Samples) -> Vec<Check> {
    let mut checks = Vec::new();
    let sized = |what: &str| {
        let (operation, bytes) = what.rsplit_once('-')?;
        ["barrier", "bcast", "reduce", "allreduce", "allgather", "alltoall"]
            .contains(&operation)
            .then(|| bytes.parse::<u64>().ok())?
    };
    for key in samples.keys().filter(|key| key.who == WEFT) {
        let (Some(bytes), Some(peer)) = (sized(&key.what), best_peer(samples, &key.what, key.size)) else {
            continue;
        };
        let bar = match (key.size, bytes) {
            (2 | 8 | 128, _) => 1.0,
            (32, 0 | 8) => 40.0,
            (32, 65536) => 5.0,
            (32, 1048576) => 2.0,
            _ => continue,
        };
        // What no implementation can exceed that copies the data at all.
        let most =
            samples.ratio((&peer, &key.what, key.size), (MACHINE, &format!("floor-{}", key.what), key.size));
        let most = most.map_or_else(String::new, |most| format!(" (copies alone {:.1})", most.median));
        checks.push(Check {
            what: format!("{}, {} ranks: {peer} / weft{most}", key.what, key.size),
            value: samples.ratio((&peer, &key.what, key.size), (WEFT, &key.what, key.size)),
            unit: "x",
            bar: Bar::AtLeast(bar),
        });
    }
    for key in samples.keys().filter(|key| key.who == MACHINE) {
        let Some(what) = key.what.strip_prefix("floor-") else { continue };
        checks.push(Check {
            what: format!("{what}, {} ranks: copies alone / weft", key.size),
            value: samples.ratio((MACHINE, &key.what, key.size), (WEFT, what, key.size)),
            unit: "x",
            bar: Bar::AtLeast(0.7),
        });
    }
    for bytes in sizes(samples, "bcast-late") {
        checks.push(Check {
            what: format!("broadcast of {bytes} bytes, one of 8 late / all in time"),
            value: samples.ratio((WEFT, "bcast-late", bytes), (WEFT, "bcast-even", bytes)),
            unit: "x",
            bar: Bar::AtMost(1.2),
        });
    }
    checks
}

/// Writes a duration, a bandwidth or a memory size the way a reader expects it.
fn figure(what: &str, size: u64, summary: Summary) -> String {
    let ns = |value: f64| match value {
        v if v < 1e3 => format!("{v:.1} ns"),
        v if v < 1e6 => format!("{:.2} us", v / 1e3),
        v if v < 1e9 => format!("{:.2} ms", v / 1e6),
        v => format!("{:.2} s", v / 1e9),
    };
    let one =
        |value: f64| if what.starts_with("memory") { format!("{:.1} MB", value / 1e6) } else { ns(value) };
    let mut text =
        format!("{:>11}   {:>11} .. {:<11}", one(summary.median), one(summary.low), one(summary.high));
    let is_bulk = [
        "message-fresh",
        "message-unchanged",
        "memcpy-",
        "pingpong",
        "window",
        "trip",
        "stream",
        "numpy-trip",
    ]
    .iter()
    .any(|prefix| what.starts_with(prefix));
    if is_bulk && size > 0 {
        text += &format!(" {:6.2} GB/s", size as f64 / summary.median);
    } else if what.starts_with("message") || what.starts_with("rate") {
        text += &format!(" {:6.2} M/s", 1e3 / summary.median);
    }
    text
}

/// Prints all figures, then every bar with its verdict, then what failed. `is_whole`: bars of what was not measured are shown, too.
pub fn print(session: &Session, is_whole: bool) {
    let samples = &session.samples;
    println!("{:<10} {:<22} {:>9} {:>11}   {:>11} .. {:<11}", "", "what", "size", "median", "low", "high");
    for key in samples.keys() {
        if let Some(summary) = samples.summary(&key.who, &key.what, key.size) {
            println!(
                "{:<10} {:<22} {:>9} {}",
                key.who,
                key.what,
                key.size,
                figure(&key.what, key.size, summary)
            );
        }
    }
    println!("\n{:<66} {:>9} {:>21} {:>9}", "bar", "median", "low .. high", "");
    for check in checks(samples, is_whole) {
        let (value, spread, verdict) = match check.value {
            Some(s) => (
                format!("{:.3} {}", s.median, check.unit),
                format!("{:.3} .. {:.3}", s.low, s.high),
                if check.bar.holds(s.median) { "held" } else { "MISSED" },
            ),
            None => ("-".into(), String::new(), "not measured"),
        };
        println!("{:<66} {value:>12} {spread:>21} {:>9} {verdict}", check.what, check.bar.text());
    }
    for (what, why) in &session.failures {
        println!("failed: {what}: {why}");
    }
}

fn checks(samples: &Samples, is_whole: bool) -> Vec<Check> {
    let all = [
        floors_checks,
        thread_checks,
        datatype_checks,
        absolute_checks,
        peer_checks,
        process_checks,
        fortran_checks,
        collective_checks,
        one_sided::checks,
        files::checks,
    ];
    let all = all.iter().flat_map(|checks| checks(samples));
    all.filter(|check| is_whole || check.value.is_some()).collect()
}

/// Returns everything measured and judged as JSON; see [`print`].
pub fn json(session: &Session, rounds: usize, is_whole: bool) -> Value {
    let samples = &session.samples;
    let figures: Vec<Value> = samples
        .keys()
        .filter_map(|key| {
            let summary = samples.summary(&key.who, &key.what, key.size)?;
            Some(json!({ "who": key.who, "what": key.what, "size": key.size, "value": summary }))
        })
        .collect();
    let bars: Vec<Value> = checks(samples, is_whole)
        .into_iter()
        .map(|c| {
            let held = c.value.map(|s| c.bar.holds(s.median));
            json!({ "what": c.what, "value": c.value, "unit": c.unit, "bar": c.bar.text(), "held": held })
        })
        .collect();
    json!({ "rounds": rounds, "figures": figures, "bars": bars, "failures": session.failures })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn session() -> Session {
        let mut session = Session::new(Duration::from_secs(1));
        for round in 0..3 {
            for (who, what, size, value) in [
                (MACHINE, "handoff-one-line", 0, 50.0),
                (MACHINE, "handoff-two-lines", 0, 60.0),
                (WEFT, "latency", 8, 65.0),
                ("slow", "latency", 8, 1000.0),
                ("slow", "bcast-65536", 32, 240_000.0),
                ("fast", "latency", 8, 130.0),
                (MACHINE, "memcpy-fresh", 32768, 950.0),
                (WEFT, "message-fresh", 32768, 1100.0),
            ] {
                session.samples.add(who, what, size, round, value);
            }
        }
        session
    }

    #[test]
    fn the_cheaper_floor_and_the_best_peer_count() {
        let checks = checks(&session().samples, true);
        let latency = &checks[0];
        assert!(latency.what.ends_with("handoff-one-line"));
        assert!((latency.value.unwrap().median - 1.3).abs() < 1e-9 && latency.bar.holds(1.3));
        let peer = checks.iter().find(|c| c.what.starts_with("latency 8: ")).unwrap();
        assert!(peer.what.contains("fast") && (peer.value.unwrap().median - 2.0).abs() < 1e-9);
    }

    #[test]
    fn the_rate_of_threads_is_judged_against_that_of_one() {
        let mut session = session();
        for (what, value) in
            [("rate-1-thread", 60.0), ("rate-4-threads-tags", 100.0), ("rate-4-threads-comms", 130.0)]
        {
            session.samples.add(WEFT, what, 8, 0, value);
        }
        let checks = thread_checks(&session.samples);
        let held: Vec<bool> = checks.iter().map(|c| c.bar.holds(c.value.unwrap().median)).collect();
        assert_eq!(held, [true, false]);
    }

    #[test]
    fn datatypes_are_judged_against_their_loops_and_against_bytes() {
        let mut session = session();
        for (what, value) in [
            ("loop-vector8-same", 700.0),
            ("vector8-same", 1000.0),
            ("typed-bytes", 70.0),
            ("typed-dup", 72.0),
        ] {
            session.samples.add(WEFT, what, 8192, 0, value);
        }
        let checks = checks(&session.samples, true);
        let find = |what: &str| checks.iter().find(|c| c.what.contains(what)).unwrap();
        let vector = find("vector8-same, 8 KiB");
        assert!(!vector.bar.holds(vector.value.unwrap().median), "0.7 is below the bar");
        let dup = find("typed-dup");
        assert!(dup.bar.holds(dup.value.unwrap().median));
        assert!(!checks.iter().any(|c| c.what.contains("typed-bytes,")));
    }

    #[test]
    fn large_collectives_are_judged_against_their_copies() {
        let mut session = session();
        session.samples.add(MACHINE, "floor-bcast-65536", 32, 0, 60_000.0);
        session.samples.add(WEFT, "bcast-65536", 32, 0, 100_000.0);
        let checks = checks(&session.samples, true);
        let peer = checks.iter().find(|c| c.what.starts_with("bcast-65536, 32 ranks: slow / weft")).unwrap();
        assert!(peer.what.ends_with("(copies alone 4.0)") && !peer.bar.holds(peer.value.unwrap().median));
        let floor =
            checks.iter().find(|c| c.what.starts_with("bcast-65536, 32 ranks: copies alone")).unwrap();
        assert!(
            (floor.value.unwrap().median - 0.6).abs() < 1e-9 && !floor.bar.holds(0.6) && floor.bar.holds(0.7)
        );
    }

    #[test]
    fn processes_are_judged_against_the_best_peer() {
        let mut session = session();
        for (who, what, size, value) in [
            (WEFT, "trip", 4096, 400.0),
            ("slow", "trip", 4096, 2000.0),
            ("fast", "trip", 4096, 390.0),
            // Compared within one state of the machine.
            (WEFT, "trip-far", 4096, 900.0),
            ("fast", "trip-far", 4096, 950.0),
            (WEFT, "barrier-processes", 32, 40_000.0),
            ("slow", "barrier-processes", 32, 200_000.0),
            ("fast", "barrier-processes", 32, 130_000.0),
        ] {
            session.samples.add(who, what, size, 0, value);
        }
        let checks = process_checks(&session.samples);
        let verdicts: Vec<_> =
            checks.iter().map(|c| (&*c.what, c.bar.holds(c.value.unwrap().median))).collect();
        assert_eq!(
            verdicts,
            [
                ("trip 4096: fast / weft", false),
                ("trip-far 4096: fast / weft", true),
                ("barrier-processes 32: fast / weft", true)
            ]
        );
    }

    #[test]
    fn of_some_parts_only_what_was_measured_is_judged() {
        let (all, some) = (checks(&session().samples, true), checks(&session().samples, false));
        assert!(all.iter().any(|check| check.what == "barrier, 32 ranks"));
        assert!(!some.is_empty() && some.len() < all.len() && some.iter().all(|check| check.value.is_some()));
    }

    #[test]
    fn a_missed_bar_is_not_called_held() {
        let value = json(&session(), 3, true);
        let bars = value["bars"].as_array().unwrap();
        let fresh = bars.iter().find(|b| b["what"].as_str().unwrap().contains("message-fresh")).unwrap();
        assert_eq!(fresh["held"], false);
        let barrier = bars.iter().find(|b| b["what"] == "barrier, 32 ranks").unwrap();
        assert!(barrier["held"].is_null());
    }
}
