//! The table of `mpirun`'s options, from which help, pages, and the spellings of other launchers follow.
//!
//! Other MPIs write long options with one dash (`-np`) or two (`--np`). Options are therefore brought to one form by
//! the table before `clap` reads them, up to the program's name; the rest of a block is the program's.

use clap::{Arg, ArgAction, Command, ValueHint};
use std::ffi::OsString;

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
    flag("abi", &[], &["mpich|openmpi|none|auto"], "Whose MPI the program was built for, where its file does not say; none leaves it its own [default: auto]"),
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

pub(super) fn command() -> Command {
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
pub(super) fn normalise(arguments: &[OsString]) -> (Vec<OsString>, &[OsString]) {
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
