//! `weft`: looks at programs and at the installation.

use clap::{Arg, ArgAction, Command, value_parser};
use std::path::PathBuf;
use weft_base::settings::FILES_HELP;
use weft_launcher::flags::Stop;
use weft_launcher::install::Installation;
use weft_launcher::{check, info, settings};

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
            Command::new("info")
                .about("Prints version, machine, limits and the paths a job would take")
                .arg(
                    Arg::new("settings")
                        .long("settings")
                        .action(ArgAction::SetTrue)
                        .help("Print every setting, its value and where that is from"),
                )
                .after_help(format!("Settings are looked for in the environment and in files: {FILES_HELP}")),
        )
}

fn main() {
    let code = match command().get_matches().subcommand() {
        Some(("check", arguments)) => {
            check::check(arguments.get_one::<PathBuf>("PROGRAM").expect("required"))
        }
        Some((_, arguments)) if arguments.get_flag("settings") => {
            match Installation::find()
                .map_err(|message| Stop::new(1, message))
                .and_then(|i| settings::describe(&i))
            {
                Ok(text) => {
                    print!("{text}");
                    0
                }
                Err(stop) => stop.print(),
            }
        }
        _ => match Installation::find() {
            Ok(installation) => {
                print!("{}", info::describe(&installation));
                0
            }
            Err(message) => {
                eprintln!("weft: {message}");
                1
            }
        },
    };
    std::process::exit(code)
}
