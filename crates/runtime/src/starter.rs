//! Who started this process: our `mpirun`, or the launcher of another MPI. It is told what becomes of the rank.
//!
//! A program that nobody started is a job of its own (`weft_mpi::host::Alone`).

use crate::control::Control;
use weft_base::job::Report;
use weft_diagnose::Form;

/// Whoever started a program that is a node process of its own.
pub trait Starter: Send + Sync {
    /// Sees to it that this process ends with the job; `describe` says what the rank is doing, for those who ask.
    ///
    /// # Errors
    /// There is no thread for that.
    fn watch(&'static self, describe: fn() -> Report) -> std::io::Result<()>;

    /// Passes on what has happened.
    fn report(&self, report: &Report);

    /// Ends the other ranks with this one, whose process ends next, with `code`; the reason has been reported.
    fn end_job(&self, code: i32);

    /// Notes that the rank has done with MPI: its end is in order now.
    fn finished(&self);

    /// Where and how the handler of crashes reports.
    fn crashes(&self) -> (i32, Form);
}

impl Starter for Control {
    fn watch(&'static self, describe: fn() -> Report) -> std::io::Result<()> {
        // Asks to be ended with whoever started it, which need not be mpirun itself.
        weft_sys::process::end_with_parent();
        self.serve(describe)
    }

    fn report(&self, report: &Report) {
        self.send(report);
    }

    /// `mpirun` ends the job when it reads the report.
    fn end_job(&self, _code: i32) {}

    /// `mpirun` learns it with the end of the process.
    fn finished(&self) {}

    fn crashes(&self) -> (i32, Form) {
        (self.fd(), Form::Records)
    }
}
