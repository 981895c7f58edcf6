//! `weft tune`: measures the algorithms of collectives on this machine and writes a table of the fastest.
//!
//! Between ranks, for each number of them and each collective one job runs: a kernel that measures all algorithms side by
//! side, sizes one after the other, in interleaved rounds. Between node processes, which take their table from the
//! launcher, a job measures one algorithm, and the jobs take turns. The median of an algorithm's rounds counts. What is
//! built in stays unless another is faster by more than [`MARGIN`] and three quarters of its rounds beat as many of what is
//! built in, so that noise does not write the table.

use crate::command_line::stop::Stop;
use crate::tools::install::Installation;
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use weft_base::collectives::{Algorithm, Collective, Level, Row, Step, Table, Thresholds};

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct Request {
    /// The numbers of ranks, ascending.
    pub ranks: Vec<u32>,
    /// The numbers of node processes, ascending.
    pub nodes: Vec<u32>,
    /// The collectives.
    pub collectives: Vec<Collective>,
    /// Whether few sizes and rounds are enough.
    pub quick: bool,
    /// The file to write.
    pub output: PathBuf,
}

/// How much faster than what is built in another algorithm must be.
const MARGIN: f64 = 1.05;

/// One way to do a collective, as a row for all sizes.
type Candidate = Row;

/// The times of a candidate's rounds in nanoseconds: the median, and the quarters below and above it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Times {
    low: f64,
    median: f64,
    high: f64,
}

impl Times {
    fn of(samples: &mut [f64]) -> Self {
        samples.sort_unstable_by(f64::total_cmp);
        let middle = samples.len() / 2;
        let median = if samples.len() % 2 == 1 {
            samples[middle]
        } else {
            (samples[middle - 1] + samples[middle]) / 2.0
        };
        let quarter = samples.len() / 4;
        Self { low: samples[quarter], median, high: samples[samples.len() - 1 - quarter] }
    }

    /// Tells whether these are clearly shorter.
    fn beat(&self, other: &Self) -> bool {
        self.median * MARGIN < other.median && self.high < other.low
    }
}

/// The times of each candidate, by size.
type Measured = BTreeMap<u64, Vec<Times>>;

fn failed(why: impl std::fmt::Display) -> Stop {
    Stop { message: format!("weft tune: {why}\n"), code: 1 }
}

/// Returns what can be measured of a collective.
fn candidates(collective: Collective, level: Level, quick: bool) -> Vec<Candidate> {
    let mut all = Vec::new();
    for &algorithm in Algorithm::of(collective, level) {
        let plain = Row::new(collective, level, algorithm);
        // A schedule cannot depend on a size that not every rank knows, and is no good for all sizes.
        if algorithm == Algorithm::Schedule && !collective.has_common_size() {
            continue;
        }
        if algorithm == Algorithm::InPlace && plain.block > 0 && !quick {
            all.extend([4, 64].map(|kib| Row { block: kib << 10, ..plain.clone() }));
        }
        if algorithm == Algorithm::Chain && !quick {
            all.extend([16, 256].map(|kib| Row { segment: kib << 10, ..plain.clone() }));
        }
        all.push(plain);
    }
    all
}

/// Writes what follows the colon of a row.
fn value(row: &Row) -> String {
    row.to_string().split_once(": ").map_or_else(String::new, |(_, value)| value.to_owned())
}

fn sizes(collective: Collective, level: Level, quick: bool) -> Vec<u64> {
    match (collective, quick) {
        (Collective::Barrier, _) => vec![0],
        // One algorithm is for all sizes, since not every member knows them.
        _ if level == Level::Nodes && !collective.has_common_size() => vec![4 << 10],
        (_, true) => vec![8, 1 << 10, 4 << 10, 64 << 10],
        (_, false) => (3..=20).map(|shift| 1 << shift).collect(),
    }
}

/// Reads what the kernel prints: size, number of the candidate, nanoseconds.
fn read(output: &str, candidates: usize) -> Result<Measured, Stop> {
    let mut samples: BTreeMap<u64, Vec<Vec<f64>>> = BTreeMap::new();
    for line in output.lines() {
        let mut words = line.split_whitespace();
        let mut next = || words.next().unwrap_or_default();
        let (bytes, which, time) = (next().parse().ok(), next().parse::<usize>().ok(), next().parse().ok());
        let (Some(bytes), Some(which), Some(time)) = (bytes, which.filter(|&w| w < candidates), time) else {
            return Err(failed(format!("the kernel printed {line:?}, which is no sample")));
        };
        samples.entry(bytes).or_insert_with(|| vec![Vec::new(); candidates])[which].push(time);
    }
    let whole = samples.into_iter().filter(|(_, of)| of.iter().all(|times| !times.is_empty()));
    Ok(whole.map(|(bytes, mut of)| (bytes, of.iter_mut().map(|times| Times::of(times)).collect())).collect())
}

/// How often each candidate between node processes has a job of its own.
const TURNS: u32 = 3;

fn measure(
    installation: &Installation,
    request: &Request,
    collective: Collective,
    (level, members): (Level, u32),
    all: &[Candidate],
) -> Result<Measured, Stop> {
    let (rounds, time_us) = if request.quick { (5, "300") } else { (11, "1000") };
    let sizes =
        sizes(collective, level, request.quick).iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    let job = |rounds: u32, options: &[&str], values: &[String]| {
        let mut command = Command::new(installation.bin.join("mpirun"));
        command.args(["-n", &members.to_string()]).args(options);
        command.arg(installation.prefix.join("lib/weft/weft-tune-kernel"));
        command.args([collective.name(), &rounds.to_string(), time_us, &sizes]).args(values);
        let output = command.output().map_err(|error| failed(format!("mpirun: {error}")))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let what =
                format!("{} on {members} {} ended with {}", collective.name(), level.name(), output.status);
            return Err(failed(format!("{what}: {}", said.trim_end())));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    if level == Level::Ranks {
        return read(&job(rounds, &[], &all.iter().map(value).collect::<Vec<_>>())?, all.len());
    }
    let mut samples = String::new();
    for _ in 0..TURNS {
        for (index, row) in all.iter().enumerate() {
            let setting = format!("collectives={row}");
            // As between hosts, which is what the rows are for.
            let messages = "host-collectives=messages";
            let options = ["--ranks-as", "processes", "--set", messages, "--set", &setting];
            let said = job(rounds.div_ceil(TURNS), &options, &["-".to_owned()])?;
            for line in said.lines() {
                // The job knows its candidate as the first one.
                let _ = writeln!(samples, "{}", line.replacen(" 0 ", &format!(" {index} "), 1));
            }
        }
    }
    read(&samples, all.len())
}

fn step(row: &Row) -> Step {
    Step { algorithm: row.algorithm, segment: row.segment, block: row.block }
}

/// The choice for a size: the candidate, and how much faster it is than what is built in.
struct Choice {
    bytes: u64,
    candidate: usize,
    gain: f64,
}

fn choose(measured: &Measured, all: &[Candidate], built_in: &Thresholds) -> Vec<Choice> {
    let choices = measured.iter().map(|(&bytes, times)| {
        let usual = all.iter().position(|row| step(row) == built_in.at(bytes)).unwrap_or(0);
        let best =
            (0..all.len()).min_by(|&a, &b| times[a].median.total_cmp(&times[b].median)).unwrap_or(usual);
        let candidate = if times[best].beat(&times[usual]) { best } else { usual };
        Choice { bytes, candidate, gain: times[usual].median / times[candidate].median }
    });
    choices.collect()
}

/// Makes rows of the choices for one number of ranks: neighbours with the same candidate share one, and a row ends in
/// the geometric middle between two sizes.
fn rows(choices: &[Choice], all: &[Candidate]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut first = 0;
    for (index, choice) in choices.iter().enumerate() {
        let next = choices.get(index + 1);
        if next.is_some_and(|next| next.candidate == choice.candidate) {
            continue;
        }
        let last =
            next.map_or(u64::MAX, |next| ((choice.bytes.max(1) as f64) * (next.bytes as f64)).sqrt() as u64);
        rows.push(Row { bytes: first..=last, ..all[choice.candidate].clone() });
        first = last.saturating_add(1);
    }
    rows
}

/// Joins the rows for each number of ranks: one holds up to the next that was measured; what is the same for all needs no
/// range.
fn join(by_ranks: &[(u32, Vec<Row>)]) -> Vec<Row> {
    if by_ranks.windows(2).all(|two| two[0].1 == two[1].1) {
        return by_ranks.first().map_or_else(Vec::new, |(_, rows)| rows.clone());
    }
    let mut joined = Vec::new();
    for (index, (ranks, rows)) in by_ranks.iter().enumerate() {
        let low = if index == 0 { 0 } else { *ranks };
        let high = by_ranks.get(index + 1).map_or(u32::MAX, |(next, _)| next - 1);
        joined.extend(rows.iter().map(|row| Row { members: low..=high, ..row.clone() }));
    }
    joined
}

/// Names a number of bytes.
fn name(bytes: u64) -> String {
    match bytes {
        0 => String::new(),
        _ if bytes.is_multiple_of(1 << 20) => format!(" of {} MiB", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!(" of {} KiB", bytes >> 10),
        _ => format!(" of {bytes} B"),
    }
}

/// Says whose number it is.
fn noun(level: Level) -> &'static str {
    match level {
        Level::Ranks => "ranks",
        Level::Nodes => "node processes",
    }
}

fn write(path: &Path, text: &str) -> Result<(), Stop> {
    std::fs::write(path, text).map_err(|error| failed(format!("{}: {error}", path.display())))
}

/// Measures, writes the table, and returns what there is to gain.
///
/// # Errors
/// Says what could not be run or written.
pub fn tune(installation: &Installation, request: &Request) -> Result<String, Stop> {
    // What cannot be written is better known before than after.
    write(&request.output, "")?;
    let levels = [(Level::Ranks, &request.ranks), (Level::Nodes, &request.nodes)];
    let what = levels.iter().flat_map(|&(level, members)| {
        let worth = move |&collective: &Collective| candidates(collective, level, request.quick).len() > 1;
        request.collectives.iter().copied().filter(worth).map(move |collective| (collective, level, members))
    });
    let what: Vec<_> = what.filter(|(_, _, members)| !members.is_empty()).collect();
    let steps: usize = what.iter().map(|(_, _, members)| members.len()).sum();
    let style =
        ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} ({eta} left)").expect("a right template");
    let progress = ProgressBar::new(steps as u64).with_style(style);
    let (mut table, mut gains) = (String::new(), String::new());
    let measured: Vec<String> = levels
        .iter()
        .filter(|(_, members)| !members.is_empty())
        .map(|(level, members)| {
            let numbers: Vec<String> = members.iter().map(u32::to_string).collect();
            format!("{} {}", numbers.join(", "), noun(*level))
        })
        .collect();
    let _ = writeln!(
        table,
        "# Written by weft tune {} for {} on {} processors; use it with the setting collective-table.",
        env!("CARGO_PKG_VERSION"),
        measured.join(" and "),
        std::thread::available_parallelism().map_or(1, |n| n.get())
    );
    for (collective, level, members) in what {
        let all = candidates(collective, level, request.quick);
        let mut by_members = Vec::new();
        for &number in members {
            progress.set_message(format!("{} on {number} {}", collective.name(), noun(level)));
            let measured = measure(installation, request, collective, (level, number), &all)?;
            let built_in = Table::default().resolve(level, number);
            let choices = choose(&measured, &all, built_in.of(collective));
            for choice in choices.iter().filter(|choice| choice.gain > 1.0) {
                let what = format!("{}{}", collective.name(), name(choice.bytes));
                let (how, noun) = (value(&all[choice.candidate]), noun(level));
                let _ =
                    writeln!(gains, "{what} on {number} {noun}: {how} is {:.2} times as fast", choice.gain);
            }
            by_members.push((number, rows(&choices, &all)));
            progress.inc(1);
        }
        for row in join(&by_members) {
            let _ = writeln!(table, "{row}");
        }
    }
    progress.finish_and_clear();
    write(&request.output, &table)?;
    if gains.is_empty() {
        gains.push_str("nothing is faster than what is built in\n");
    }
    let path = request.output.display();
    let _ = writeln!(
        gains,
        "{path}: written; WEFT_COLLECTIVE_TABLE={path} or --set collective-table={path} uses it"
    );
    Ok(gains)
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_base::collectives::parse_rows;

    fn table(rows: &[Row]) -> Vec<String> {
        rows.iter().map(Row::to_string).collect()
    }

    fn steady(median: f64) -> Times {
        Times { low: median, median, high: median }
    }

    #[test]
    fn medians_and_quarters_come_from_samples_in_any_order() {
        let times = Times::of(&mut [9.0, 1.0, 4.0, 7.0, 3.0, 8.0, 2.0, 6.0]);
        assert_eq!(times, Times { low: 3.0, median: 5.0, high: 7.0 });
        let measured = read("8 0 3\n8 1 5\n8 0 1\n8 1 7\n8 0 2\n64 0 9\n", 2).unwrap();
        // Size 64 has no sample of the second candidate.
        assert_eq!(measured.keys().collect::<Vec<_>>(), [&8]);
        assert_eq!(measured[&8].iter().map(|times| times.median).collect::<Vec<_>>(), [2.0, 6.0]);
        for wrong in ["8 2 1", "8 x 1", "8 1", "hello"] {
            assert!(read(wrong, 2).unwrap_err().message.contains(wrong));
        }
    }

    #[test]
    fn what_is_built_in_stays_unless_another_is_clearly_faster() {
        let all = candidates(Collective::Bcast, Level::Ranks, true);
        assert_eq!(all.iter().map(value).collect::<Vec<_>>(), ["slots", "in-place", "schedule"]);
        let resolved = Table::default().resolve(Level::Ranks, 4);
        let measured = BTreeMap::from([
            (8, vec![steady(100.0), steady(98.0), steady(300.0)]),
            // Better in the median, but not dependably.
            (64, vec![steady(100.0), Times { low: 50.0, median: 60.0, high: 100.0 }, steady(300.0)]),
            (1024, vec![steady(200.0), steady(100.0), steady(300.0)]),
            (4096, vec![steady(200.0), steady(100.0), steady(300.0)]),
            (65536, vec![steady(900.0), steady(900.0), steady(300.0)]),
        ]);
        let choices = choose(&measured, &all, resolved.of(Collective::Bcast));
        let found: Vec<_> = choices.iter().map(|choice| (choice.candidate, choice.gain)).collect();
        assert_eq!(found, [(0, 1.0), (0, 1.0), (1, 2.0), (1, 2.0), (2, 3.0)]);
        let rows = rows(&choices, &all);
        assert_eq!(
            table(&rows),
            ["bcast: slots @-256", "bcast: in-place @257-16K", "bcast: schedule @16385-"]
        );
        assert_eq!(join(&[(2, rows.clone()), (8, rows.clone())]), rows);
        let other = vec![all[1].clone()];
        let joined = join(&[(2, other.clone()), (8, rows), (32, other)]);
        assert_eq!(joined[0].members, 0..=7);
        assert_eq!((joined[1].members.clone(), joined[4].members.clone()), (8..=31, 32..=u32::MAX));
        let text = table(&joined).join("\n");
        let again: Vec<Row> = parse_rows(&text).unwrap().into_iter().map(|(_, row)| row).collect();
        assert_eq!(again, joined);
    }

    #[test]
    fn blocks_are_varied_where_there_are_some() {
        let values: Vec<String> =
            candidates(Collective::Allreduce, Level::Ranks, false).iter().map(value).collect();
        assert_eq!(values, ["slots", "in-place block=4K", "in-place block=64K", "in-place", "schedule"]);
        assert_eq!(candidates(Collective::Gatherv, Level::Ranks, false).len(), 2);
    }
    #[test]
    fn between_node_processes_rows_say_so_and_can_be_read_back() {
        let all = candidates(Collective::Reduce, Level::Nodes, false);
        let values: Vec<String> = all.iter().map(value).collect();
        assert_eq!(values[2..5], ["binomial", "chain segment=16K", "chain segment=256K"]);
        for collective in Collective::ALL {
            let all = candidates(*collective, Level::Nodes, false);
            let built_in = Table::default().resolve(Level::Nodes, 4);
            let sizes = sizes(*collective, Level::Nodes, false);
            let slow = |bytes| (bytes, (0..all.len()).map(|i| steady(100.0 / (i + 1) as f64)).collect());
            let choices = choose(&sizes.into_iter().map(slow).collect(), &all, built_in.of(*collective));
            let text = table(&join(&[(2, rows(&choices, &all)), (4, rows(&choices, &all))])).join("\n");
            assert!(parse_rows(&text).is_ok_and(|read| !read.is_empty()), "{text}");
            assert!(text.starts_with(&format!("{}/nodes: ", collective.name())), "{text}");
        }
    }
}
