//! `mpirun`: starts a job, shows its reports, and ends with its exit code.

use weft_launcher::{flags, plan, spawn, supervise};

fn main() {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let code = match flags::parse(arguments).and_then(plan::plan) {
        Ok(plan) => spawn::start(&plan).and_then(|nodes| supervise::supervise(nodes, &plan)),
        Err(stop) => Err(stop),
    };
    std::process::exit(code.unwrap_or_else(|stop| stop.print()));
}
