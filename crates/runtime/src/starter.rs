//! Who started this process: our `mpirun`, or the launcher of another MPI. It is told what becomes of the rank.
//!
//! A program that nobody started is a job of its own (`weft_mpi::process::host::Alone`).

use crate::mpirun::control::Control;
use crate::mpirun::wishes;
use weft_base::Result;
use weft_base::job::{Name, Named, Report, Spawn};
use weft_diagnose::Form;

/// Whoever started a program that is a node process of its own.
pub trait Starter: Send + Sync {
    /// Sees to it that this process ends with the job; `describe` says what the rank is doing, for those who ask.
    ///
    /// # Errors
    /// There is no thread for that.
    fn watch(&'static self, describe: fn(bool) -> Report) -> std::io::Result<()>;

    /// Passes on what has happened.
    fn report(&self, report: &Report);

    /// Ends the other ranks with this one, whose process ends next, with `code`; the reason has been reported.
    fn end_job(&self, code: i32);

    /// Notes that the rank has done with MPI: its end is in order now.
    fn finished(&self);

    /// Starts programs as a new job; returns how many processes run each.
    ///
    /// # Errors
    /// `MPI_ERR_SPAWN` with the reason why nothing runs.
    fn spawn(&self, spawn: Spawn) -> Result<Vec<u32>> {
        crate::alone::spawn(spawn)
    }

    /// Sees to names of ports, if the processes of the job do not do it themselves.
    fn name(&self, _name: Name) -> Option<Named> {
        None
    }

    /// Notes that the process is, or is no more, connected to processes of another job.
    fn met(&self, _job: u64, _is_connected: bool) {}

    /// Where and how the handler of crashes reports.
    fn crashes(&self) -> (i32, Form);
}

impl Starter for Control {
    fn watch(&'static self, describe: fn(bool) -> Report) -> std::io::Result<()> {
        // Asks to be ended with whoever started it, which need not be mpirun itself.
        weft_sys::process::end_with_parent();
        crate::mpirun::requests::serve(self, describe)
    }

    fn report(&self, report: &Report) {
        self.send(report);
    }

    /// `mpirun` ends the job when it reads the report.
    fn end_job(&self, _code: i32) {}

    /// `mpirun` learns it with the end of the process.
    fn finished(&self) {}

    fn spawn(&self, spawn: Spawn) -> Result<Vec<u32>> {
        wishes::spawn(self, spawn)
    }

    fn name(&self, name: Name) -> Option<Named> {
        Some(wishes::name(self, name))
    }

    fn met(&self, job: u64, is_connected: bool) {
        self.send(&Report::Met { job, is_connected });
    }

    fn crashes(&self) -> (i32, Form) {
        (self.fd(), Form::Records)
    }
}
