//! `mpirun`: starts a job, shows its reports, and ends with its exit code.

use weft_base::job::Heritage;
use weft_launcher::agents::{agent, rsh};
use weft_launcher::command_line::parse;
use weft_launcher::command_line::plan;
use weft_launcher::command_line::stop::Stop;
use weft_launcher::running::offspring::{self, Offspring};
use weft_launcher::running::supervise;

fn run(arguments: Vec<std::ffi::OsString>) -> Result<i32, Stop> {
    if let Some(commissioned) = offspring::commissioned() {
        let (plan, heritage, answer) = commissioned?;
        return supervise::run(plan, Offspring::new(heritage), answer);
    }
    let line = parse::parse(arguments)?;
    let options = offspring::options(&line);
    let plan = plan::plan(line, &[])?;
    let heritage = Heritage { options, hosts: plan.hosts.clone(), taken: plan.taken.clone() };
    supervise::run(plan, Offspring::new(heritage), None)
}

fn main() {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if arguments.iter().eq([rsh::OPTION]) {
        std::process::exit(agent::main());
    }
    std::process::exit(run(arguments).unwrap_or_else(Stop::print));
}
