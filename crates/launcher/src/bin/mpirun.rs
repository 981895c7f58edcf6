//! `mpirun`: starts a job, shows its reports, and ends with its exit code.

use weft_launcher::{agent, flags, plan, supervise};

fn main() {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if arguments.iter().eq([agent::OPTION]) {
        std::process::exit(agent::main());
    }
    let code = flags::parse(arguments).and_then(plan::plan).and_then(supervise::run);
    std::process::exit(code.unwrap_or_else(|stop| stop.print()));
}
