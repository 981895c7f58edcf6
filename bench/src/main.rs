//! Measures Weft beside the floors of the machine and, if asked, beside other MPI implementations.
//!
//! Run from the repository's root by `make bench`. Rounds interleave everything that is compared; what is judged is
//! the median of the rounds' ratios. The table goes to standard output, all figures to `build/bench/*.json`.

mod bars;
mod command;
mod files;
mod fortran;
mod one_sided;
mod plan;
mod plot;
mod processes;
mod pythons;
mod report;
mod statistics;

use clap::{Parser, ValueEnum};
use plan::{Implementation, Part, Session, WEFT};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Measures floors, latency, bandwidth, collectives, start-up time and memory.
#[derive(Parser)]
#[command(name = "weft-bench")]
struct Options {
    /// Folder with bin/mpicc and bin/mpirun
    #[arg(long, default_value = "build")]
    build: PathBuf,
    /// Folders with mpicc and mpirun of other implementations, as FOLDER or NAME=FOLDER; also from PEERS
    #[arg(long, env = "PEERS", value_delimiter = ' ')]
    peers: Vec<String>,
    /// How often everything is measured
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// At most 64 ranks in collectives and 1000 at start-up
    #[arg(long)]
    quick: bool,
    /// Seconds one program may take
    #[arg(long, default_value_t = 60)]
    limit_s: u64,
    /// Measure these parts only, and the floors
    #[arg(long, value_delimiter = ',')]
    only: Vec<Part>,
    /// Measure the peers and the floors only
    #[arg(long)]
    without_weft: bool,
}

fn prepare(options: &Options, out: &Path) -> Result<Vec<Implementation>, String> {
    let mut everybody = Vec::new();
    if !options.without_weft {
        everybody.push(Implementation::prepare(WEFT, &options.build.join("bin"), out, false)?);
    }
    for (index, peer) in options.peers.iter().filter(|peer| !peer.is_empty()).enumerate() {
        let number = format!("peer{}", index + 1);
        let (name, folder) = peer.split_once('=').unwrap_or((&number, peer));
        everybody.push(Implementation::prepare(name, Path::new(folder), out, true)?);
    }
    Ok(everybody)
}

fn run(options: &Options) -> Result<(), String> {
    let out = options.build.join("bench");
    let floors = plan::prepare_floors(&out)?;
    let everybody = prepare(options, &out)?;
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    if load.split(' ').next().and_then(|one| one.parse::<f64>().ok()).is_some_and(|one| one > 0.5) {
        eprintln!("weft-bench: the machine is busy (load {}); figures will scatter", load.trim_end());
    }
    let parts = if options.only.is_empty() { Part::value_variants() } else { &options.only };
    let is_whole = options.only.is_empty();
    let with_python = parts.contains(&Part::Processes);
    let pythons = with_python.then(|| pythons::Pythons::prepare(&options.build.join("bin"), &out));
    if let Some(Err(reason)) = &pythons {
        eprintln!("weft-bench: nothing is measured with Python: {reason}");
    }
    let pythons = pythons.and_then(Result::ok);
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let file = out.join(format!("{seconds}.json"));
    let mut session = Session::new(Duration::from_secs(options.limit_s));
    for round in 0..options.rounds {
        eprintln!("round {} of {}", round + 1, options.rounds);
        // The floors of collectives are long.
        let is_floor_needed = parts.contains(&Part::Sizes);
        session.floors(round, if is_floor_needed { &floors } else { &floors[..1] });
        session.round(round, &everybody, parts, pythons.as_ref(), options.quick, &out);
        // Whoever ends a long run keeps the rounds before.
        let text = serde_json::to_string_pretty(&report::json(&session, round + 1, is_whole))
            .map_err(|error| error.to_string())?;
        std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    report::print(&session, is_whole);
    println!("all figures: {}", file.display());
    for example in ["gauss", "cannon"] {
        if let Some(picture) = plot::speed_up(&session.samples, example, &out)? {
            println!("speed-up of {example}: {}", picture.display());
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("weft-bench: {message}");
            ExitCode::FAILURE
        }
    }
}
