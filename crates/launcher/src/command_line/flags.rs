//! `mpirun`'s command line: one table of options, from which help, parsing and the spellings of other launchers follow.
//!
//! Other MPIs write long options with one dash (`-np`) or two (`--np`). Options are therefore brought to one form by
//! the table before `clap` reads them, up to the program's name; the rest of a block is the program's.

use crate::command_line::option_files;
use crate::hosts::placement::Policy;
use clap::{Arg, ArgAction, Command, ValueHint};
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;
use weft_base::say;

/// Ends the launcher before a job runs: a message and the exit code.
#[derive(Debug)]
pub struct Stop {
    /// What to print; to standard output if the code is 0.
    pub message: String,
    /// The exit code.
    pub code: i32,
}

impl Stop {
    /// Makes a failure out of a message that names the value and the remedy.
    pub fn new(code: i32, message: impl Display) -> Self {
        Self { message: format!("mpirun: {message}\n"), code }
    }

    /// Makes a failure of the way in which a command was called.
    pub fn usage(message: impl Display) -> Self {
        Self::new(crate::USAGE, message)
    }

    /// Prints the message and returns the exit code.
    pub fn print(self) -> i32 {
        if self.code == 0 {
            print!("{}", self.message)
        } else {
            say::write(format_args!("{}", self.message));
        }
        self.code
    }
}

/// One option.
struct Flag {
    name: &'static str,
    spellings: &'static [&'static str],
    values: &'static [&'static str],
    help: &'static str,
}

const fn flag(
    name: &'static str,
    spellings: &'static [&'static str],
    values: &'static [&'static str],
    help: &'static str,
) -> Flag {
    Flag { name, spellings, values, help }
}

/// The options that do something. `clap` shows the first one-letter spelling in the help.
#[rustfmt::skip]
const FLAGS: &[Flag] = &[
    flag("np", &["n", "c"], &["N"], "Run N ranks of the program [default: one per usable processor]"),
    flag("x", &[], &["NAME[=VALUE]"], "Set or pass on an environment variable for the ranks of this program"),
    flag("env", &[], &["NAME", "VALUE"], "Set an environment variable for the ranks of this program"),
    flag("genv", &[], &["NAME", "VALUE"], "Set an environment variable for all ranks"),
    flag("genvall", &["envall"], &[], "Pass on the whole environment [default]"),
    flag("genvnone", &["envnone"], &[], "Pass on nothing of the environment but PATH, HOME and WEFT_ variables"),
    flag("genvlist", &["envlist"], &["NAME,…"], "Pass on these environment variables only"),
    flag("soft", &[], &["SET"], "Allowed numbers of ranks, like 2:10:2,7; the largest of them up to that of -n is taken"),
    flag("arch", &[], &["NAME"], "The architecture the program is for, which must be this machine's"),
    flag("path", &[], &["DIRECTORY:…"], "Look for the program here before PATH"),
    flag("file", &[], &["FILE"], "Read further options from FILE; those on the command line go before"),
    flag("configfile", &[], &["FILE"], "Read options and programs from FILE, a program on each line, instead of the command line"),
    flag("wdir", &["wd"], &["DIRECTORY"], "Run the ranks in DIRECTORY"),
    flag("bind-to", &[], &["core|none"], "Bind each worker to a processor, or none [default: core if the job uses all of them]"),
    flag("workers", &[], &["N"], "Run the ranks on N processors [default: all usable ones]"),
    flag("scheduler", &[], &["user|kernel"], "Who switches between ranks [default: user]"),
    flag("ranks-as", &[], &["threads|processes|auto"], "What a rank is [default: auto, threads where nobody can tell]"),
    flag("ranks-per-process", &[], &["K"], "Run K ranks as threads in each of several processes"),
    flag("set", &[], &["NAME=VALUE"], "Change a setting; weft info --settings lists them"),
    flag("hosts", &["host", "H"], &["NAME[:SLOTS],…"], "Run on these hosts; node[01-16] stands for sixteen [default: those the scheduler has given, or this one]"),
    flag("hostfile", &["f", "machinefile", "machine", "default-hostfile"], &["FILE"], "Run on the hosts of FILE: on each line host, host:SLOTS or host slots=N max_slots=M"),
    flag("ppn", &["perhost", "npernode", "N"], &["N"], "Run N ranks on a host, then N on the next one [default: the slots of each]"),
    flag("map-by", &[], &["slot|node|ppr:N:node"], "Neighbouring ranks on a host, or one rank for each host in turn [default: slot]"),
    flag("rr", &["bynode"], &[], "Likewise, one rank for each host in turn"),
    flag("nooversubscribe", &[], &[], "Refuse more ranks than slots"),
    flag("rankfile", &["rf"], &["FILE"], "Run each rank where FILE says: rank N=HOST slot=PROCESSORS"),
    flag("launcher", &["bootstrap"], &["ssh|slurm|fork"], "How processes are started on other hosts [default: ssh, or slurm within a Slurm job]"),
    flag("launcher-exec", &["bootstrap-exec"], &["COMMAND"], "The command that takes the place of ssh"),
    flag("check", &[], &[], "Look for mistakes in the use of MPI and report them; --check=error also fails the job"),
    flag("initial-errhandler", &[], &["NAME"], "Error handler of MPI_COMM_WORLD, MPI_COMM_SELF and of errors outside the world model: mpi_errors_are_fatal [default], mpi_errors_abort or mpi_errors_return"),
    flag("memory-alloc-kinds", &[], &["KIND,…"], "Ask for support of these memory allocation kinds"),
    flag("tag-output", &["l", "prepend-rank"], &[], "Begin each line of output with its rank, [2]"),
    flag("timestamp-output", &[], &[], "Begin each line of output with the time"),
    flag("output-filename", &[], &["NAME"], "Write the output of each rank to NAME.RANK; %r in NAME is the rank, %h the host"),
    flag("outfile-pattern", &[], &["NAME"], "Likewise, standard output only"),
    flag("errfile-pattern", &[], &["NAME"], "Likewise, standard error only"),
    flag("timeout", &[], &["SECONDS"], "Report what the ranks are doing and end the job after SECONDS, with exit code 124"),
    flag("verbose", &["v"], &[], "Say what is being done"),
    flag("version", &["V"], &[], "Print the version"),
    flag("help", &["h"], &[], "Print this help"),
];

/// Options of other launchers that change nothing here.
#[rustfmt::skip]
const IGNORED: &[Flag] = &[
    flag("oversubscribe", &["map-by-core", "use-hwthread-cpus", "bind-to-core", "byslot"], &[], ""),
    flag("allow-run-as-root", &[], &[], ""),
    flag("report-bindings", &["display-map", "display-allocation", "print-rank-map", "print-all-exitcodes"], &[], ""),
    flag("quiet", &["q", "disable-auto-cleanup", "enable-recovery", "nolocal"], &[], ""),
    flag("rank-by", &["output", "display", "prepend-pattern", "stdin", "s"], &["X"], ""),
    flag("npersocket", &["tune"], &["X"], ""),
    flag("iface", &["rmk", "topolib", "usize", "max-slots", "personality", "localhost"], &["X"], ""),
    flag("mca", &["gmca", "pmixmca", "prtemca", "omca"], &["NAME", "VALUE"], ""),
];

/// One program of the command line.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// `-n`
    pub ranks: Option<u32>,
    /// `-x` and `-env`; a variable without value is passed on.
    pub environment: Vec<(OsString, Option<OsString>)>,
    /// The program as given.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// `-path`
    pub search: Option<OsString>,
    /// `-wdir`
    pub directory: Option<PathBuf>,
    /// `-hosts` and `-hostfile`; what an earlier program has if this one has none.
    pub hosts: Option<HostsFrom>,
    /// `-initial-errhandler` and `-memory-alloc-kinds`, by their info keys.
    pub info: Vec<(String, String)>,
}

/// Where the names of hosts are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostsFrom {
    /// On the command line.
    List(String),
    /// In a file.
    File(PathBuf),
}

/// How ranks are placed on hosts, and how those are reached.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Placing {
    /// `-ppn`, `--map-by`, `-rr`, `--nooversubscribe`
    pub policy: Policy,
    /// `-rankfile`
    pub rank_file: Option<PathBuf>,
    /// `--launcher`
    pub launcher: Option<OsString>,
    /// `--launcher-exec`
    pub launcher_exec: Option<OsString>,
}

/// Which variables of `mpirun`'s environment the ranks get.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Inherit {
    /// All.
    #[default]
    All,
    /// These, and what no program can do without.
    Only(Vec<OsString>),
}

/// `--ranks-as`
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum RanksAs {
    /// As the program permits.
    #[default]
    Auto,
    /// Threads, whatever the loader advises against.
    Threads,
    /// Processes.
    Processes,
}

/// What becomes of the output of ranks that are processes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Output {
    /// `--tag-output`
    pub tag: bool,
    /// `--timestamp-output`
    pub timestamp: bool,
    /// `--output-filename` or `--outfile-pattern`
    pub out_file: Option<String>,
    /// `--output-filename` or `--errfile-pattern`
    pub error_file: Option<String>,
}

/// The command line.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CommandLine {
    /// The programs.
    pub blocks: Vec<Block>,
    /// `-genv`
    pub environment: Vec<(OsString, OsString)>,
    /// `-genvall`, `-genvnone`, `-genvlist`
    pub inherit: Inherit,
    /// Changed settings: name, value, and the option that changes it.
    pub settings: Vec<(String, String, String)>,
    /// `--ranks-as`
    pub ranks_as: RanksAs,
    /// `--ranks-per-process`
    pub ranks_per_process: Option<u32>,
    /// Where ranks run.
    pub placing: Placing,
    /// `--tag-output` and what else concerns the ranks' output.
    pub output: Output,
    /// `--timeout`
    pub timeout: Option<Duration>,
    /// `-v`
    pub verbose: bool,
}

impl CommandLine {
    fn change(&mut self, name: &str, value: String, option: &str) {
        self.settings.push((name.into(), value, option.into()));
    }
}

/// Returns the command line without its options.
fn bare() -> Command {
    Command::new("mpirun")
        .about("Runs an MPI program: its ranks are threads of one process, or processes")
        .override_usage("mpirun [OPTIONS] PROGRAM [ARGUMENT]… [: [OPTIONS] PROGRAM [ARGUMENT]…]…")
        .after_help(
            "Exit code: that of the first rank that failed, 128 + the signal's number, or MPI_Abort's code.\n\
             Standard input belongs to rank 0, or to the process of all ranks, where only rank 0 should read it.\n\
             Settings: --set, then WEFT_NAME in the environment, then files; weft info --settings explains all.\n\
             --check reports mistakes and leaves the exit code alone; with --check=error a job that would end\n\
             with 0 ends with 123 if there was a report.\n\
             Several hosts: the installation and the program must be at the same places on all of them. Without -hosts or\n\
             -hostfile, HYDRA_HOST_FILE and the variables of Slurm, PBS and LSF say which there are; HYDRA_LAUNCHER,\n\
             HYDRA_LAUNCHER_EXEC and HYDRA_LAUNCHER_EXTRA_ARGS how they are reached. More ranks than slots go round again.\n\
             Long options may have one dash or two; a value follows after a blank or =.\n\
             Harmless options of other launchers (--oversubscribe, --mca X Y, …) are accepted.",
        )
        .disable_help_flag(true)
        .disable_version_flag(true)
        .no_binary_name(true)
        .args_override_self(true)
}

/// Makes `clap`'s form of an option.
fn argument(flag: &Flag, hidden: bool) -> Arg {
    let short = flag.spellings.first().filter(|text| text.len() == 1 && !hidden);
    let mut arg = Arg::new(flag.name).long(flag.name).help(flag.help).hide(hidden);
    if flag.name == "check" {
        let value = arg.num_args(0..=1).require_equals(true).default_missing_value("report");
        return value.value_name("error").value_parser(clap::value_parser!(OsString));
    }
    if let Some(short) = short.and_then(|text| text.chars().next()) {
        arg = arg.short(short);
    }
    if flag.values.is_empty() {
        return arg.action(ArgAction::Count);
    }
    arg.action(ArgAction::Append)
        .num_args(flag.values.len())
        .value_names(flag.values)
        .allow_hyphen_values(true)
        .value_parser(clap::value_parser!(OsString))
}

fn command() -> Command {
    let flags = FLAGS.iter().map(|flag| argument(flag, false));
    bare().args(flags).args(IGNORED.iter().map(|flag| argument(flag, true)))
}

/// Returns the command line for manual pages and completions: with all spellings of the options that do something, and
/// with the program.
pub fn described() -> Command {
    let with_spellings = |flag: &Flag| {
        let arg = argument(flag, false);
        let own = arg.get_short();
        let (short, long): (Vec<&str>, Vec<&str>) = flag.spellings.iter().partition(|text| text.len() == 1);
        let short = short.iter().filter_map(|text| text.chars().next()).filter(|letter| Some(*letter) != own);
        let arg = arg.visible_short_aliases(short.collect::<Vec<_>>()).visible_aliases(long);
        match flag.name {
            "hostfile" | "rankfile" | "file" | "configfile" | "output-filename" => {
                arg.value_hint(ValueHint::FilePath)
            }
            "wdir" | "path" => arg.value_hint(ValueHint::DirPath),
            "launcher-exec" => arg.value_hint(ValueHint::CommandName),
            _ => arg,
        }
    };
    let program = Arg::new("PROGRAM").value_hint(ValueHint::CommandName).help("The program to run");
    let arguments = Arg::new("ARGUMENT").num_args(0..).trailing_var_arg(true).value_hint(ValueHint::FilePath);
    bare().version(env!("CARGO_PKG_VERSION")).args(FLAGS.iter().map(with_spellings)).arg(program).arg(
        arguments.help("The program's arguments; after a colon a further program with options of its own"),
    )
}

/// Finds an option by what follows its dashes.
fn find(word: &str) -> Option<&'static Flag> {
    let matches = |flag: &&Flag| flag.name == word || flag.spellings.contains(&word);
    FLAGS.iter().find(matches).or_else(|| IGNORED.iter().find(matches))
}

/// Brings the options before the program to `--name value…`; returns them and the rest.
fn normalise(arguments: &[OsString]) -> (Vec<OsString>, &[OsString]) {
    let mut options = Vec::new();
    let mut at = 0;
    while at < arguments.len() {
        let text = arguments[at].to_string_lossy().into_owned();
        if !text.starts_with('-') || text == "-" {
            break;
        }
        at += 1;
        if text == "--" {
            break;
        }
        let (word, value) = match text.trim_start_matches('-').split_once('=') {
            Some((word, value)) => (word.to_owned(), Some(value.to_owned())),
            None => (text.trim_start_matches('-').to_owned(), None),
        };
        let Some(flag) = find(&word) else {
            options.push(arguments[at - 1].clone());
            continue;
        };
        if let (true, Some(value)) = (flag.values.is_empty(), &value) {
            options.push(format!("--{}={value}", flag.name).into());
            continue;
        }
        options.push(format!("--{}", flag.name).into());
        let given = usize::from(value.is_some());
        options.extend(value.map(OsString::from));
        let following = flag.values.len().saturating_sub(given).min(arguments.len() - at);
        options.extend_from_slice(&arguments[at..at + following]);
        at += following;
    }
    (options, &arguments[at..])
}

fn number(name: &str, value: &OsStr) -> Result<u32, Stop> {
    let text = value.to_string_lossy();
    match text.parse::<u32>() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(Stop::usage(format!("{name} {text}: not a number of at least 1"))),
    }
}

fn choice<T>(name: &str, value: &OsStr, choices: &[(&str, T)]) -> Result<T, Stop>
where
    T: Copy,
{
    let text = value.to_string_lossy();
    let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
    choices.iter().find(|(name, _)| *name == text).map(|(_, value)| *value).ok_or_else(|| {
        Stop::usage(format!("--{name} {text}: no such choice; possible are {}", names.join(", ")))
    })
}

/// Returns the largest number of ranks of a set, a list of Fortran's triplets, that is at most `most`; without `most`
/// there are to be as many as usable processors.
fn soft(set: &str, most: Option<u32>) -> Result<u32, Stop> {
    let most = most.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get() as u32));
    let wrong = |triplet: &str, why: &str| Stop::usage(format!("-soft {set}: {triplet:?} {why}"));
    let mut best = None;
    for triplet in set.split(',') {
        let numbers: Result<Vec<i64>, _> = triplet.split(':').map(|number| number.trim().parse()).collect();
        let (first, last, stride) = match numbers.as_deref() {
            Ok(&[only]) => (only, only, 1),
            Ok(&[first, last]) => (first, last, 1),
            Ok(&[first, last, stride]) => (first, last, stride),
            _ => return Err(wrong(triplet, "is no number, FIRST:LAST or FIRST:LAST:STRIDE")),
        };
        if stride == 0 || first != last && (last > first) != (stride > 0) {
            return Err(wrong(triplet, "does not lead from its first to its last number"));
        }
        // The set as an ascending one, wide enough for any bounds; what is above `most` does not count.
        let (first, last, stride) = (i128::from(first), i128::from(last), i128::from(stride));
        let steps = (last - first) / stride;
        let (low, stride) = if stride > 0 { (first, stride) } else { (first + stride * steps, -stride) };
        let room = i128::from(most) - low;
        let found = (room >= 0).then(|| low + stride * (room / stride).min(steps)).filter(|found| *found > 0);
        best = best.max(found);
    }
    best.map(|best| best as u32)
        .ok_or_else(|| Stop::usage(format!("-soft {set}: has no number from 1 to {most}, that of -n")))
}

/// Checks that an architecture is this machine's.
fn check_architecture(name: &str) -> Result<(), Stop> {
    let own = std::env::consts::ARCH;
    let other_names: &[&str] = match own {
        "x86_64" => &["x86-64", "amd64"],
        "aarch64" => &["arm64"],
        _ => &[],
    };
    if [own].iter().chain(other_names).any(|known| known.eq_ignore_ascii_case(name)) {
        return Ok(());
    }
    Err(Stop::usage(format!("-arch {name}: there is no such host; this one is {own}")))
}

/// Reads the options that say where ranks run.
fn placing(line: &mut Placing, last: &dyn Fn(&str) -> Option<OsString>) -> Result<(), Stop> {
    if let Some(value) = last("ppn") {
        line.policy.per_host = Some(number("-ppn", &value)?);
    }
    if let Some(value) = last("map-by") {
        let text = value.to_string_lossy().to_lowercase();
        let mut words = text.split(':');
        let places = [
            "slot", "core", "hwthread", "socket", "package", "numa", "l1cache", "l2cache", "l3cache",
            "board", "",
        ];
        match words.next().unwrap_or_default() {
            "node" | "host" => line.policy.round_robin = true,
            "ppr" => {
                let count = number("--map-by ppr", OsStr::new(words.next().unwrap_or_default()))?;
                if words.next().is_some_and(|place| ["node", "host"].contains(&place)) {
                    line.policy.per_host = Some(count);
                }
            }
            // What a rank may be placed by elsewhere is in a host.
            place if places.contains(&place) => {}
            _ => {
                return Err(Stop::usage(format!("--map-by {text}: not known; use slot, node or ppr:N:node")));
            }
        }
        line.policy.strict |= words.any(|word| word == "nooversubscribe");
    }
    line.rank_file = last("rankfile").map(PathBuf::from).or(line.rank_file.take());
    line.launcher = last("launcher").or(line.launcher.take());
    line.launcher_exec = last("launcher-exec").or(line.launcher_exec.take());
    Ok(())
}

/// Makes the info pairs of options that programs can ask for in `MPI_INFO_ENV`.
fn launch_info(handler: Option<&OsString>, kinds: Option<&OsString>) -> Result<Vec<(String, String)>, Stop> {
    let mut info = Vec::new();
    if let Some(value) = handler {
        let names = ["mpi_errors_are_fatal", "mpi_errors_abort", "mpi_errors_return"];
        let name = choice("initial-errhandler", value, &names.map(|name| (name, name)))?;
        info.push(("mpi_initial_errhandler".into(), name.into()));
    }
    info.extend(kinds.map(|list| ("mpi_memory_alloc_kinds".into(), list.to_string_lossy().into_owned())));
    Ok(info)
}

/// Reads one block's options into `line` and returns its program.
fn parse_block(line: &mut CommandLine, arguments: &[OsString]) -> Result<Block, Stop> {
    let (mut options, rest) = normalise(arguments);
    if let Some(place) = options.iter().rposition(|option| option == "--file") {
        let file = options.get(place + 1).cloned().unwrap_or_default();
        let words = option_files::options(Path::new(&file))?;
        let (more, rest) = normalise(&words);
        if let Some(word) = rest.first() {
            let (file, word) = (file.to_string_lossy(), word.to_string_lossy());
            return Err(Stop::usage(format!(
                "-file {file}: {word:?} is no option; -configfile names programs"
            )));
        }
        // Of an option that is given twice the last one holds.
        options.splice(0..0, more);
    }
    let matches = command().try_get_matches_from(options).map_err(|error| {
        let text = error.render().to_string();
        Stop::usage(text.trim_end().trim_start_matches("error: "))
    })?;
    let present = |name: &str| matches.get_count(name) > 0;
    let last = |name: &str| matches.get_many::<OsString>(name).and_then(|mut values| values.next_back());
    let pairs = |name: &str| -> Vec<(OsString, OsString)> {
        let occurrences = matches.get_occurrences::<OsString>(name).into_iter().flatten();
        occurrences
            .map(|mut pair| (pair.next().cloned(), pair.next().cloned()))
            .filter_map(|(a, b)| a.zip(b))
            .collect()
    };
    if present("help") {
        return Err(Stop { message: command().render_help().to_string(), code: 0 });
    }
    if present("version") {
        return Err(Stop { message: format!("mpirun (Weft) {}\n", env!("CARGO_PKG_VERSION")), code: 0 });
    }
    if let Some(value) = last("workers") {
        line.change("workers", number("--workers", value)?.to_string(), "--workers");
    }
    if let Some(value) = last("scheduler") {
        let word = choice("scheduler", value, &[("user", "user"), ("kernel", "kernel")])?;
        line.change("scheduler", word.into(), "--scheduler");
    }
    if let Some(value) = last("ranks-as") {
        let choices =
            [("auto", RanksAs::Auto), ("threads", RanksAs::Threads), ("processes", RanksAs::Processes)];
        line.ranks_as = choice("ranks-as", value, &choices)?;
    }
    if let Some(value) = last("ranks-per-process") {
        line.ranks_per_process = Some(number("--ranks-per-process", value)?);
    }
    if let Some(value) = last("bind-to") {
        // What a rank may be bound to elsewhere is never smaller than a processor.
        let places =
            ["core", "hwthread", "socket", "numa", "l1cache", "l2cache", "l3cache", "package", "user"];
        let choices: Vec<_> = places.iter().map(|name| (*name, "core")).chain([("none", "none")]).collect();
        line.change("bind-to", choice("bind-to", value, &choices)?.into(), "--bind-to");
    }
    if let Some(value) = last("check") {
        line.change("check", value.to_string_lossy().into_owned(), "--check");
    }
    for item in matches.get_many::<OsString>("set").into_iter().flatten() {
        let text = item.to_string_lossy();
        let Some((name, value)) = text.split_once('=') else {
            return Err(Stop::usage(format!("--set {text}: no value; write --set NAME=VALUE")));
        };
        line.change(name, value.into(), "--set");
    }
    if let Some(value) = last("timeout") {
        let text = value.to_string_lossy();
        let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds > 0.0 && *seconds < 1e9);
        let wrong = || Stop::usage(format!("--timeout {text}: not a number of seconds above 0"));
        line.timeout = Some(Duration::from_secs_f64(seconds.ok_or_else(wrong)?));
    }
    placing(&mut line.placing, &|name| last(name).cloned())?;
    line.placing.policy.round_robin |= present("rr");
    line.placing.policy.strict |= present("nooversubscribe");
    let hosts = match (last("hosts"), last("hostfile")) {
        (Some(_), Some(_)) => return Err(Stop::usage("-hosts and -hostfile: give one of them")),
        (Some(list), None) => Some(HostsFrom::List(list.to_string_lossy().into_owned())),
        (None, Some(file)) => Some(HostsFrom::File(file.into())),
        (None, None) => line.blocks.last().and_then(|block| block.hosts.clone()),
    };
    line.verbose |= present("verbose");
    line.output.tag |= present("tag-output");
    line.output.timestamp |= present("timestamp-output");
    let name = |option: &str| last(option).map(|value| value.to_string_lossy().into_owned());
    line.output.out_file =
        name("outfile-pattern").or(name("output-filename")).or(line.output.out_file.take());
    line.output.error_file =
        name("errfile-pattern").or(name("output-filename")).or(line.output.error_file.take());
    line.environment.extend(pairs("genv"));
    if present("genvnone") {
        line.inherit = Inherit::Only(Vec::new());
    }
    if let Some(list) = last("genvlist") {
        let list = list.to_string_lossy();
        line.inherit =
            Inherit::Only(list.split(',').filter(|name| !name.is_empty()).map(Into::into).collect());
    }
    let mut environment = Vec::new();
    for item in matches.get_many::<OsString>("x").into_iter().flatten() {
        let text = item.to_string_lossy();
        environment.push(match text.split_once('=') {
            Some((name, value)) => (name.into(), Some(value.into())),
            None => (item.clone(), None),
        });
    }
    environment.extend(pairs("env").into_iter().map(|(name, value)| (name, Some(value))));
    if let Some((name, _)) =
        environment.iter().find(|(name, _)| name.is_empty() || name.to_string_lossy().contains('='))
    {
        let text = name.to_string_lossy();
        return Err(Stop::usage(format!(
            "environment variable {text:?}: no name for a variable; write NAME=VALUE"
        )));
    }
    if last("configfile").is_some() {
        return Err(Stop::usage("-configfile: takes the place of the whole command line; give nothing else"));
    }
    let mut ranks = last("np").map(|value| number("-n", value)).transpose()?;
    if let Some(set) = last("soft") {
        ranks = Some(soft(&set.to_string_lossy(), ranks)?);
    }
    if let Some(name) = last("arch") {
        check_architecture(&name.to_string_lossy())?;
    }
    let Some((program, arguments)) = rest.split_first() else {
        return Err(Stop::usage(
            "no program given; write mpirun -n 4 ./a.out (mpirun -h explains the options)",
        ));
    };
    let directory = last("wdir").map(PathBuf::from);
    let info = launch_info(last("initial-errhandler"), last("memory-alloc-kinds"))?;
    let (program, arguments, search) = (program.clone(), arguments.to_vec(), last("path").cloned());
    Ok(Block { ranks, environment, program, arguments, search, directory, hosts, info })
}

/// Reads the command line.
///
/// # Errors
/// Help and version texts, and what is wrong.
pub fn parse(arguments: Vec<OsString>) -> Result<CommandLine, Stop> {
    let mut line = CommandLine::default();
    let file = match arguments.as_slice() {
        [option, file] if ["-configfile", "--configfile"].iter().any(|name| option == name) => {
            Some(file.clone())
        }
        [only] => only.to_string_lossy().trim_start_matches('-').strip_prefix("configfile=").map(Into::into),
        _ => None,
    };
    let arguments = match file {
        Some(file) => option_files::programs(Path::new(&file))?,
        None => arguments,
    };
    for block in arguments.split(|argument| argument == ":") {
        let block = parse_block(&mut line, block)?;
        line.blocks.push(block);
    }
    if let [first, rest @ ..] = line.blocks.as_mut_slice() {
        let several = !rest.is_empty();
        if let Some(block) = [first].into_iter().chain(rest).find(|block| several && block.ranks.is_none()) {
            let program = block.program.to_string_lossy();
            return Err(Stop::usage(format!(
                "{program}: no number of ranks; give each program its own with -n N"
            )));
        }
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Result<CommandLine, Stop> {
        parse(text.split(' ').map(OsString::from).collect())
    }

    #[test]
    fn spellings_of_other_launchers_are_understood() {
        for text in [
            "-n 4 ./a.out -n 5",
            "-np 4 ./a.out -n 5",
            "--np 4 ./a.out -n 5",
            "-c 4 --oversubscribe --allow-run-as-root ./a.out -n 5",
            "--mca btl self,vader --map-by core -n 4 --report-bindings ./a.out -n 5",
            "-ppn 4 -hosts localhost -n 4 -genvall ./a.out -n 5",
            "-np=4 ./a.out -n 5",
        ] {
            let line = line(text).unwrap();
            assert_eq!(line.blocks[0].ranks, Some(4), "{text}");
            assert_eq!(line.blocks[0].program, "./a.out", "{text}");
            assert_eq!(line.blocks[0].arguments, ["-n", "5"], "{text}");
        }
    }

    #[test]
    fn programs_are_separated_by_colons() {
        let line = line("-n 2 -x A=1 -genv G 7 a x : -n 3 -env B -2 b --timeout 3").unwrap();
        assert_eq!(line.blocks.len(), 2);
        assert_eq!(line.blocks[0].environment, [("A".into(), Some("1".into()))]);
        assert_eq!(line.blocks[1].environment, [("B".into(), Some("-2".into()))]);
        assert_eq!(line.environment, [("G".into(), "7".into())]);
        assert_eq!(line.blocks[1].arguments, ["--timeout", "3"]);
        assert_eq!(line.timeout, None);
    }

    #[test]
    fn settings_are_gathered_with_the_option_that_changes_them() {
        let line = line("-n 1 --check=error --workers 2 --set eager=8K -set=rings=0 a --check").unwrap();
        let entry = |name: &str, value: &str, option: &str| (name.into(), value.into(), option.into());
        assert_eq!(
            line.settings,
            [
                entry("workers", "2", "--workers"),
                entry("check", "error", "--check"),
                entry("eager", "8K", "--set"),
                entry("rings", "0", "--set"),
            ]
        );
        assert_eq!(
            super::tests::line("--check -n 1 a").unwrap().settings,
            [entry("check", "report", "--check")]
        );
    }

    #[test]
    fn ranks_are_placed_as_other_launchers_spell_it() {
        let placed = |text: &str| line(&format!("{text} a")).unwrap().placing.policy;
        let turns = Policy { round_robin: true, ..Policy::default() };
        let two = Policy { per_host: Some(2), ..Policy::default() };
        for (text, policy) in [
            ("-rr", turns),
            ("-bynode", turns),
            ("--map-by node", turns),
            ("--map-by node:NOOVERSUBSCRIBE", Policy { strict: true, ..turns }),
            ("--map-by ppr:2:node", two),
            ("-ppn 2", two),
            ("-perhost 2", two),
            ("-N 2", two),
            ("--map-by core:PE=2", Policy::default()),
            ("-nooversubscribe", Policy { strict: true, ..Policy::default() }),
        ] {
            assert_eq!(placed(text), policy, "{text}");
        }
        let line = line("-H a,b -n 1 x : -n 1 y : -f hosts -n 1 z").unwrap();
        let hosts: Vec<_> = line.blocks.into_iter().map(|block| block.hosts.unwrap()).collect();
        let list = HostsFrom::List("a,b".into());
        assert_eq!(hosts, [list.clone(), list, HostsFrom::File("hosts".into())]);
    }

    #[test]
    fn what_programs_may_ask_for_is_kept_per_program() {
        let line =
            line("-n 1 -initial-errhandler mpi_errors_abort a : -n 1 --memory-alloc-kinds=system b").unwrap();
        let pair = |key: &str, value: &str| [(key.to_owned(), value.to_owned())];
        assert_eq!(line.blocks[0].info, pair("mpi_initial_errhandler", "mpi_errors_abort"));
        assert_eq!(line.blocks[1].info, pair("mpi_memory_alloc_kinds", "system"));
    }

    #[test]
    fn soft_takes_the_largest_allowed_number() {
        for (set, most, ranks) in [
            ("0:100", 7, 7),
            ("2:10:2,7", 7, 7),
            ("2:10:2,7", 6, 6),
            ("2:10:2,7", 9, 8),
            ("2:10:2,7", 100, 10),
            ("1,2,4,8,16", 15, 8),
            ("10:2:-4", 9, 6),
            ("10:2:-4", 5, 2),
            ("-5:5:5", 4, 0),
            ("3", 3, 3),
            ("9223372036854775807,2", 8, 2),
            ("-9223372036854775808:9223372036854775807,3", 8, 8),
        ] {
            let got = soft(set, Some(most)).ok();
            assert_eq!(got, (ranks > 0).then_some(ranks), "{set} up to {most}");
        }
        let own = std::env::consts::ARCH;
        let blocks = line(&format!("-soft 1 -arch {own} -path /a:/b a : -n 9 -soft 2:6:3 b")).unwrap().blocks;
        assert_eq!((blocks[0].ranks, blocks[1].ranks), (Some(1), Some(5)));
        assert_eq!(blocks[0].search, Some("/a:/b".into()));
    }

    #[test]
    fn mistakes_name_the_value() {
        for (text, part) in [
            ("-n 0 a", "-n 0"),
            ("-n x a", "-n x"),
            ("-n -3 a", "-n -3"),
            ("-n 4", "no program"),
            ("--workers 0 a", "--workers 0"),
            ("--scheduler fast a", "user, kernel"),
            ("--timeout soon a", "--timeout soon"),
            ("--set eager a", "write --set NAME=VALUE"),
            ("-initial-errhandler none a", "mpi_errors_return"),
            ("-hosts a -f b c", "give one of them"),
            ("--map-by moon a", "--map-by moon"),
            ("--map-by ppr:x:node a", "--map-by ppr x"),
            ("-ppn 0 a", "-ppn 0"),
            ("--nonsense a", "--nonsense"),
            ("-n 4 -soft 2:x a", "\"2:x\" is no number"),
            ("-n 4 -soft 4:2:1 a", "does not lead"),
            ("-n 4 -soft 0,-3,5:9 a", "no number from 1 to 4"),
            ("-n 4 -arch power9 a", "-arch power9"),
            ("-n 1 -configfile x a", "give nothing else"),
            ("-configfile /absent/file", "/absent/file"),
            ("-n 1 -file /absent/file a", "/absent/file"),
            ("-n 1 a : b", "b: no number of ranks"),
            ("-n 1 a :", "no program"),
        ] {
            let stop = line(text).unwrap_err();
            assert!(stop.message.contains(part), "{text}: {}", stop.message);
            assert_eq!(stop.code, 2);
        }
        assert_eq!(line("-h").unwrap_err().code, 0);
        assert!(line("--version").unwrap_err().message.contains("Weft"));
    }
}
