//! What is measured: the implementations, the programs, and the order in which rounds interleave them.

use crate::command::{self, Outcome};
use crate::pythons::Pythons;
use crate::statistics::Samples;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The name under which floors are kept.
pub const MACHINE: &str = "machine";
/// The name of our own implementation.
pub const WEFT: &str = "weft";

/// Ranks of the collective measurements and of the start-up measurements.
pub const COLLECTIVE_RANKS: [u64; 5] = [2, 8, 32, 128, 1024];
/// Ranks of the start-up measurements.
pub const START_RANKS: [u64; 6] = [2, 32, 256, 1000, 2048, 4096];
/// Peers start processes, which on a small machine get in each other's way: with more ranks than this, one run takes minutes
/// or does not end.
const PEER_COLLECTIVE_RANKS: u64 = 32;
const PEER_START_RANKS: u64 = 256;
const PEER_EXAMPLE_RANKS: u64 = 64;

/// Ranks of the measurements of collectives of several sizes.
pub const SIZED_COLLECTIVE_RANKS: [u64; 4] = [2, 8, 32, 128];
/// Ranks of the example programs' speed-up curves.
pub const EXAMPLE_RANKS: [u64; 4] = [2, 4, 16, 64];

/// The measurements of collectives of several sizes, one operation each.
const SIZED_ONE_BY_ONE: [&str; 6] = [
    "collective_sizes 5 barrier",
    "collective_sizes 5 bcast",
    "collective_sizes 5 reduce",
    "collective_sizes 5 allreduce",
    "collective_sizes 5 allgather",
    "collective_sizes 5 alltoall",
];

/// What can be measured by itself.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Part {
    /// Latency and bandwidth of two ranks
    Pairs,
    /// Derived datatypes beside loops, several threads of a rank
    Datatypes,
    /// Collectives of a few bytes, up to 1024 ranks
    Collectives,
    /// Collectives of several sizes beside the floors of copies, and with ranks that come late
    Sizes,
    /// The example programs' speed-up
    Examples,
    /// Start-up and memory
    Start,
    /// Ranks that are processes, from C and from Python
    Processes,
    /// Calls, start-up and memory of a Fortran program beside C
    Fortran,
    /// One-sided operations
    Rma,
    /// Collective operations on files
    Files,
}

/// The program of start-up measurements.
pub const HELLO: &[&str] = &["hello"];

const KERNELS: [&str; 10] = [
    "latency",
    "bandwidth",
    "threads",
    "collectives",
    "collective_sizes",
    "skew",
    "datatypes",
    "pair_sizes",
    "one_sided",
    "files",
];

/// One MPI implementation with its programs.
pub struct Implementation {
    /// How it is called in the report.
    pub name: String,
    mpirun: Vec<String>,
    /// Its options where each rank can have a core, and where there are more ranks than cores.
    bound: Vec<String>,
    crowded: Vec<String>,
    programs: PathBuf,
    bin: PathBuf,
    /// Whether it is another one than ours.
    pub is_peer: bool,
}

impl Implementation {
    /// Compiles the kernels and hello with an implementation's own wrapper. `bin` is its folder with `mpicc` and
    /// `mpirun`.
    ///
    /// # Errors
    /// What could not be compiled.
    pub fn prepare(name: &str, bin: &Path, out: &Path, is_peer: bool) -> Result<Self, String> {
        let surroundings = surroundings(bin, is_peer);
        let programs = out.join(name);
        std::fs::create_dir_all(&programs).map_err(|error| format!("{}: {error}", programs.display()))?;
        let example = |name: &str, file: &str| (PathBuf::from("examples").join(file), programs.join(name));
        let examples =
            [example("hello", "hello.c"), example("gauss", "gauss.c"), example("cannon", "cannon.cpp")];
        let kernels =
            KERNELS.map(|kernel| (format!("bench/kernels/{kernel}.c").into(), programs.join(kernel)));
        for (source, program) in kernels.into_iter().chain(examples) {
            let wrapper =
                if source.extension().is_some_and(|kind| kind == "cpp") { "mpicxx" } else { "mpicc" };
            compile(&surroundings, &bin.join(wrapper), &source, &program)?;
        }
        let mut mpirun = surroundings;
        mpirun.push(bin.join("mpirun").display().to_string());
        let (mut bound, mut crowded) = (String::new(), String::new());
        if is_peer {
            let ask: Vec<String> = mpirun.iter().cloned().chain(["--version".into()]).collect();
            let version = command::run(&ask, Duration::from_secs(20), false);
            if version.output.contains("Open MPI") {
                bound = "--allow-run-as-root --bind-to core".into();
                crowded = "--allow-run-as-root --map-by slot:OVERSUBSCRIBE --bind-to none".into();
            } else if version.output.contains("HYDRA") {
                bound = "-bind-to core".into();
            }
        }
        let words = |flags: String| flags.split_whitespace().map(String::from).collect();
        let (bound, crowded) = (words(bound), words(crowded));
        let bin = bin.to_path_buf();
        Ok(Implementation { name: name.into(), mpirun, bound, crowded, programs, bin, is_peer })
    }

    /// Returns the shared library that mpi4py is to use, of a peer.
    pub fn library(&self) -> Option<PathBuf> {
        let folder = self.bin.parent().filter(|_| self.is_peer)?.join("lib");
        ["libmpi.so.12", "libmpi.so.40"].iter().map(|name| folder.join(name)).find(|path| path.exists())
    }

    /// Returns what the command line of a job begins with, up to the program.
    pub fn command_for(&self, options: &[&str], ranks: u64) -> Vec<String> {
        let fits = ranks <= usable_cores().len() as u64;
        let own = if fits { &self.bound } else { &self.crowded };
        let options = options.iter().map(|option| option.to_string());
        let tail = ["-n".into(), ranks.to_string()];
        self.mpirun.iter().chain(own).cloned().chain(options).chain(tail).collect()
    }

    fn command(&self, options: &[&str], ranks: u64, program: &str) -> Vec<String> {
        let mut command = self.command_for(options, ranks);
        command.push(self.programs.join(program).display().to_string());
        command
    }

    /// Returns the command that has ranks say hello: a program and its arguments.
    fn hello(&self, options: &[&str], ranks: u64, hello: &[&str]) -> Vec<String> {
        let mut command = self.command(options, ranks, hello[0]);
        command.extend(hello[1..].iter().map(|word| word.to_string()));
        command
    }

    /// Compiles a kernel in Fortran.
    ///
    /// # Errors
    /// What could not be compiled.
    pub fn prepare_fortran(&self, kernel: &str) -> Result<(), String> {
        let source = PathBuf::from(format!("bench/kernels/{kernel}.f90"));
        compile(&[], &self.bin.join("mpifort"), &source, &self.programs.join(kernel))
    }

    /// Tells whether a measurement with so many ranks is worth its time.
    fn takes_part(&self, ranks: u64, most_of_peers: u64) -> bool {
        !self.is_peer || ranks <= most_of_peers
    }
}

/// Returns what commands of an implementation begin with, so that they find what they need: Intel MPI as it comes from a
/// package is told where it is, and not to look for a network.
fn surroundings(bin: &Path, is_peer: bool) -> Vec<String> {
    let (true, true, Some(root)) = (is_peer, bin.join("impi_info").exists(), bin.parent()) else {
        return Vec::new();
    };
    let path = std::env::var("PATH").unwrap_or_default();
    vec![
        "env".into(),
        format!("PATH={}:{path}", bin.display()),
        format!("I_MPI_ROOT={}", root.display()),
        "I_MPI_FABRICS=shm".into(),
    ]
}

/// Compiles one C file when it, a header beside it or the compiler is newer than its program.
fn compile(surroundings: &[String], compiler: &Path, source: &Path, program: &Path) -> Result<(), String> {
    let time = |path: &Path| path.metadata().and_then(|data| data.modified()).ok();
    let files = source.parent().and_then(|folder| folder.read_dir().ok()).into_iter().flatten().flatten();
    let headers =
        files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|kind| kind == "h"));
    let mut needed = headers.chain([source.to_path_buf(), compiler.to_path_buf()]);
    if needed.all(|file| time(program) > time(&file)) {
        return Ok(());
    }
    // The copy loops that datatypes are judged against are to be as fast as a compiler makes them.
    let level = if ["datatypes.c", "collective_floors.c"].iter().any(|name| source.ends_with(name)) {
        "-O3"
    } else {
        "-O2"
    };
    let mut command = surroundings.to_vec();
    command.extend([compiler.display().to_string(), level.into(), "-pthread".into(), "-o".into()]);
    command.extend([program, source].map(|path| path.display().to_string()));
    command.push("-lm".into());
    let outcome = command::run(&command, Duration::from_secs(120), false);
    if outcome.success { Ok(()) } else { Err(format!("{}: {}", source.display(), outcome.reason)) }
}

/// The measuring session: samples so far, and what failed and is not tried again.
pub struct Session {
    /// Everything measured.
    pub samples: Samples,
    /// What failed, and why.
    pub failures: BTreeMap<String, String>,
    /// How long a program may take.
    pub limit: Duration,
}

impl Session {
    /// Starts a session whose programs may take at most `limit` each.
    pub fn new(limit: Duration) -> Self {
        Session { samples: Samples::default(), failures: BTreeMap::new(), limit }
    }

    /// Runs a command unless it failed before; hands out its outcome only if it succeeded.
    fn attempt(&mut self, label: String, command: &[String], watch_memory: bool) -> Option<Outcome> {
        if self.failures.contains_key(&label) {
            return None;
        }
        let outcome = command::run(command, self.limit, watch_memory);
        if outcome.success {
            return Some(outcome);
        }
        self.failures.insert(label, outcome.reason);
        None
    }

    /// Adds the lines `sample NAME SIZE NANOSECONDS` of a kernel's output.
    fn collect(&mut self, who: &str, suffix: &str, round: usize, output: &str) {
        for line in output.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if let ["sample", what, size, value] = words[..]
                && let (Ok(size), Ok(value)) = (size.parse(), value.parse())
            {
                self.samples.add(who, &format!("{what}{suffix}"), size, round, value);
            }
        }
    }

    /// Runs a kernel on so many ranks; its arguments follow its name.
    pub fn kernel(
        &mut self,
        who: &Implementation,
        options: &[&str],
        suffix: &str,
        ranks: u64,
        round: usize,
        program: &str,
    ) {
        let label = format!("{} {program}{suffix} on {ranks} ranks", who.name);
        let mut words = program.split(' ');
        let mut command = who.command(options, ranks, words.next().unwrap_or_default());
        command.extend(words.map(String::from));
        self.samples_of(who, &command, suffix, round, &label);
    }

    /// Runs a command that prints samples.
    pub fn samples_of(
        &mut self,
        who: &Implementation,
        command: &[String],
        suffix: &str,
        round: usize,
        label: &str,
    ) {
        if self.failures.contains_key(label) {
            return;
        }
        let outcome = command::run(command, self.limit, false);
        // One that did not come to its end in time has measured something, too.
        self.collect(&who.name, suffix, round, &outcome.output);
        if !outcome.success {
            self.failures.insert(label.into(), outcome.reason);
        }
    }

    /// Measures the floors once.
    pub fn floors(&mut self, round: usize, floors: &[PathBuf]) {
        let cores = usable_cores();
        for program in floors {
            let program = program.display().to_string();
            let other = cores[cores.len().min(2) - 1];
            let command = [program.clone(), cores[0].to_string(), other.to_string()];
            if let Some(outcome) = self.attempt(program, &command, false) {
                self.collect(MACHINE, "", round, &outcome.output);
            }
        }
    }

    /// Measures some parts once, each implementation in turn.
    pub fn round(
        &mut self,
        round: usize,
        everybody: &[Implementation],
        parts: &[Part],
        pythons: Option<&Pythons>,
        quick: bool,
        out: &Path,
    ) {
        for part in parts {
            match part {
                Part::Pairs => self.pairs(round, everybody),
                Part::Datatypes => {
                    for who in everybody.iter().filter(|who| !who.is_peer) {
                        self.kernel(who, &[], "", 2, round, "datatypes");
                        // Of the peers, some take seconds for what takes milliseconds.
                        self.kernel(who, &[], "", 2, round, "threads");
                    }
                }
                Part::Collectives => {
                    for ranks in up_to(&COLLECTIVE_RANKS, if quick { 64 } else { u64::MAX }) {
                        for who in everybody.iter().filter(|who| who.takes_part(ranks, PEER_COLLECTIVE_RANKS))
                        {
                            self.kernel(who, &[], "", ranks, round, "collectives");
                        }
                    }
                }
                Part::Sizes => self.sizes(round, everybody, if quick { 64 } else { u64::MAX }),
                Part::Examples => {
                    for ranks in EXAMPLE_RANKS {
                        for who in everybody.iter().filter(|who| who.takes_part(ranks, PEER_EXAMPLE_RANKS)) {
                            self.example(who, "gauss", "512", ranks, round);
                            let side = ranks.isqrt();
                            self.example(who, "cannon", &(384 / side).to_string(), ranks, round);
                        }
                    }
                }
                Part::Start => {
                    for ranks in up_to(&START_RANKS, if quick { 1000 } else { u64::MAX }) {
                        for who in everybody.iter().filter(|who| who.takes_part(ranks, PEER_START_RANKS)) {
                            self.start(who, &[], HELLO, "", ranks, round);
                            if round == 0 {
                                self.memory(who, HELLO, "", ranks, round);
                            }
                        }
                    }
                }
                Part::Processes => self.processes(round, everybody, pythons),
                Part::Fortran => self.fortran(round, everybody),
                Part::Rma => self.one_sided(round, everybody),
                Part::Files => self.files(round, everybody, out),
            }
        }
    }

    /// Measures messages of two ranks.
    fn pairs(&mut self, round: usize, everybody: &[Implementation]) {
        for kernel in ["latency", "bandwidth"] {
            for who in everybody {
                self.kernel(who, &[], "", 2, round, kernel);
            }
            for who in everybody.iter().filter(|who| !who.is_peer && kernel == "latency") {
                self.kernel(who, &["--workers", "1"], "-one-worker", 2, round, kernel);
            }
        }
    }

    /// Measures collectives of several sizes.
    fn sizes(&mut self, round: usize, everybody: &[Implementation], largest: u64) {
        for ranks in up_to(&SIZED_COLLECTIVE_RANKS, largest) {
            // Where each rank has a core, all is over within seconds, and where the cores lie counts: each operation in
            // turn. With more ranks starting them takes longest.
            let kernels: &[&str] =
                if ranks <= usable_cores().len() as u64 { &SIZED_ONE_BY_ONE } else { &["collective_sizes"] };
            for kernel in kernels {
                for who in everybody {
                    self.kernel(who, &[], "", ranks, round, kernel);
                }
            }
        }
        for who in everybody.iter().filter(|who| !who.is_peer) {
            self.kernel(who, &[], "", 32, round, "skew");
        }
    }

    /// Runs an example that says `… N s, serial M s: right`, and keeps both times.
    fn example(&mut self, who: &Implementation, name: &str, argument: &str, ranks: u64, round: usize) {
        let mut command = who.command(&[], ranks, name);
        command.push(argument.into());
        let label = format!("{} {name} on {ranks} ranks", who.name);
        let Some(outcome) = self.attempt(label.clone(), &command, false) else { return };
        match example_times(&outcome.output) {
            Some([parallel, serial]) => {
                self.samples.add(&who.name, name, ranks, round, parallel * 1e9);
                self.samples.add(&who.name, &format!("{name}-serial"), ranks, round, serial * 1e9);
            }
            None => {
                self.failures.insert(label, format!("unexpected output: {}", outcome.output.trim_end()));
            }
        }
    }

    /// Measures start, run and end of hello.
    pub fn start(
        &mut self,
        who: &Implementation,
        options: &[&str],
        hello: &[&str],
        suffix: &str,
        ranks: u64,
        round: usize,
    ) {
        let command = who.hello(options, ranks, hello);
        let label = format!("{} hello{suffix} on {ranks} ranks", who.name);
        if let Some(outcome) = self.attempt(label.clone(), &command, false) {
            self.samples.add(
                &who.name,
                &format!("start{suffix}"),
                ranks,
                round,
                outcome.elapsed.as_secs_f64() * 1e9,
            );
            let lines =
                outcome.output.lines().filter(|line| line.starts_with("Hello from rank")).count() as u64;
            if lines != ranks {
                self.failures.insert(label, format!("{lines} ranks said hello"));
            }
        }
    }

    /// Measures the memory of hello.
    pub fn memory(&mut self, who: &Implementation, hello: &[&str], suffix: &str, ranks: u64, round: usize) {
        let label = format!("{} hello{suffix} on {ranks} ranks, memory", who.name);
        if let Some(outcome) = self.attempt(label, &who.hello(&[], ranks, hello), true) {
            self.samples.add(&who.name, &format!("memory{suffix}"), ranks, round, outcome.memory as f64);
        }
    }
}

/// Lists those of some numbers of ranks that are not larger than `largest`.
fn up_to(ranks: &[u64], largest: u64) -> impl Iterator<Item = u64> {
    ranks.iter().copied().filter(move |ranks| *ranks <= largest)
}

/// Reads the seconds of the parallel and the serial run out of an example's verdict.
fn example_times(output: &str) -> Option<[f64; 2]> {
    let line = output.lines().find(|line| line.ends_with(": right"))?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let seconds = words.windows(2).filter(|pair| pair[1].trim_end_matches([',', ':']) == "s");
    seconds.map(|pair| pair[0].parse().ok()).collect::<Option<Vec<f64>>>()?.try_into().ok()
}

/// Compiles the programs of floors with the system's compiler.
///
/// # Errors
/// What the compiler said.
pub fn prepare_floors(out: &Path) -> Result<Vec<PathBuf>, String> {
    std::fs::create_dir_all(out).map_err(|error| format!("{}: {error}", out.display()))?;
    let prepare = |name: &str| {
        let program = out.join(name);
        compile(&[], Path::new("cc"), &PathBuf::from(format!("bench/kernels/{name}.c")), &program)
            .map(|()| program)
    };
    ["floors", "collective_floors"].map(prepare).into_iter().collect()
}

/// Lists the cores this process may use, from the kernel's own list.
fn usable_cores() -> Vec<usize> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or("0").trim();
    let ends = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    let cores: Vec<usize> = list.split(',').filter_map(ends).flatten().collect();
    if cores.is_empty() { vec![0] } else { cores }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_from_an_examples_verdict() {
        let gauss =
            "gauss: 512 unknowns, 4 ranks 0.0321 s, serial 0.0400 s, largest difference 1.0e-14: right\n";
        let cannon = "cannon: 384 x 384 on 2 x 2 ranks, 0.5000 s, serial 1.2500 s: right\n";
        assert_eq!(example_times(gauss), Some([0.0321, 0.04]));
        assert_eq!(example_times(cannon), Some([0.5, 1.25]));
        assert_eq!(example_times(&cannon.replace("right", "WRONG")), None);
    }
}
