//! `weft`: looks at programs and at the installation.

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use std::path::PathBuf;
use weft_base::collectives::Collective;
use weft_base::say;
use weft_base::settings::FILES_HELP;
use weft_launcher::command_line::settings;
use weft_launcher::command_line::stop::Stop;
use weft_launcher::tools::check;
use weft_launcher::tools::info;
use weft_launcher::tools::install::Installation;
use weft_launcher::tools::pages;
use weft_launcher::tools::tune;

fn command() -> Command {
    Command::new("weft")
        .about("Looks at programs and at the installation of Weft")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("check")
                .about("Tells whether the ranks of a program can be threads, why not, and what to do")
                .after_help("Exit code: 0 threads, 1 processes, 3 the file cannot be run")
                .arg(Arg::new("PROGRAM").required(true).value_parser(value_parser!(PathBuf))),
        )
        .subcommand(
            Command::new("tune")
                .about("Measures the algorithms of collectives on this machine and writes a table of the fastest")
                .arg(
                    Arg::new("np")
                        .short('n')
                        .value_name("RANKS,…")
                        .value_delimiter(',')
                        .default_value("2,8,32")
                        .help("Numbers of ranks to measure with"),
                )
                .arg(
                    Arg::new("nodes")
                        .long("nodes")
                        .value_name("NODES,…")
                        .value_delimiter(',')
                        .help("Numbers of node processes of one rank to measure with [default: none]"),
                )
                .arg(
                    Arg::new("collectives")
                        .long("collectives")
                        .value_name("NAME,…")
                        .value_delimiter(',')
                        .help("Collectives to measure [default: all]"),
                )
                .arg(
                    Arg::new("output")
                        .long("output")
                        .value_name("FILE")
                        .value_parser(value_parser!(PathBuf))
                        .default_value("weft-collectives.table")
                        .help("The file to write"),
                )
                .arg(
                    Arg::new("quick")
                        .long("quick")
                        .action(ArgAction::SetTrue)
                        .help("Measure few sizes, a few times each"),
                )
                .after_help("Leave the machine alone meanwhile. Use the table with the setting collective-table."),
        )
        .subcommand(
            Command::new("info")
                .about("Prints version, machine, limits and the ways that messages take")
                .arg(
                    Arg::new("settings")
                        .long("settings")
                        .action(ArgAction::SetTrue)
                        .help("Print every setting, its value and where that is from"),
                )
                .arg(
                    Arg::new("collectives").long("collectives").action(ArgAction::SetTrue).help(
                        "Print which algorithms collectives take, and where each row of the table is from",
                    ),
                )
                .after_help(format!("Settings are looked for in the environment and in files: {FILES_HELP}")),
        )
}

/// Prints what is found out about the installation; returns the exit code.
fn show(describe: impl FnOnce(&Installation) -> Result<String, Stop>) -> i32 {
    let described =
        Installation::find().map_err(|message| Stop::new(1, message)).and_then(|found| describe(&found));
    match described {
        Ok(text) => {
            print!("{text}");
            0
        }
        Err(stop) => stop.print(),
    }
}

/// Returns what `weft tune` is asked for.
fn tuning(arguments: &ArgMatches) -> Result<tune::Request, Stop> {
    let list = |name: &str| -> Vec<String> {
        let words = arguments.get_many::<String>(name).into_iter().flatten();
        words.map(|word| word.trim().to_owned()).collect()
    };
    let wrong = |why: String| Stop { message: format!("weft tune: {why}\n"), code: weft_launcher::USAGE };
    let numbers = |name: &str, option: &str| {
        let number = |word: &String| match word.parse::<u32>() {
            Ok(number) if number > 1 => Ok(number),
            _ => Err(wrong(format!("{option} {word}: not a number of at least 2"))),
        };
        let mut numbers = list(name).iter().map(number).collect::<Result<Vec<_>, _>>()?;
        numbers.sort_unstable();
        numbers.dedup();
        Ok(numbers)
    };
    let nodes = numbers("nodes", "--nodes")?;
    // Who asks for node processes alone wants those alone.
    let only_nodes = !nodes.is_empty() && arguments.value_source("np") != Some(ValueSource::CommandLine);
    let ranks = if only_nodes { Vec::new() } else { numbers("np", "-n")? };
    let find = |word: &String| {
        Collective::find(word).ok_or_else(|| {
            let all: Vec<_> = Collective::ALL.iter().map(|collective| collective.name()).collect();
            wrong(format!("--collectives {word}: no such collective; possible are {}", all.join(", ")))
        })
    };
    let mut collectives = list("collectives").iter().map(find).collect::<Result<Vec<_>, _>>()?;
    if collectives.is_empty() {
        collectives = Collective::ALL.to_vec();
    }
    let output = arguments.get_one::<PathBuf>("output").cloned().expect("it has a default");
    Ok(tune::Request { ranks, nodes, collectives, quick: arguments.get_flag("quick"), output })
}

/// Names the directory that the build has man pages, completions and the files for pkg-config written to.
const WRITE_PAGES: &str = "write-pages";

fn main() {
    let directory = Arg::new("PREFIX").required(true).value_parser(value_parser!(PathBuf));
    let for_the_build = Command::new(WRITE_PAGES).hide(true).arg(directory);
    let code = match command().subcommand(for_the_build).get_matches().subcommand() {
        Some((WRITE_PAGES, arguments)) => {
            let prefix = arguments.get_one::<PathBuf>("PREFIX").expect("required");
            match pages::write(prefix, command()) {
                Ok(()) => 0,
                Err(message) => {
                    say!("weft: {message}");
                    1
                }
            }
        }
        Some(("tune", arguments)) => show(|installation| tune::tune(installation, &tuning(arguments)?)),
        Some(("check", arguments)) => {
            check::check(arguments.get_one::<PathBuf>("PROGRAM").expect("required"))
        }
        Some((_, arguments)) if arguments.get_flag("settings") => show(settings::describe),
        Some((_, arguments)) if arguments.get_flag("collectives") => show(settings::describe_collectives),
        _ => show(info::describe),
    };
    std::process::exit(code)
}
