//! Runs the ranks of a job that one node process holds: from the job description to the exit code.
//!
//! - `node`, `job`: a process whose ranks are threads. It checks the system's `limits`, prepares the program once, starts the
//!   workers, and for each rank loads a copy and starts a thread that enters the copy at its ELF entry point. When the last
//!   rank has ended the process reports exit codes over a pipe and leaves.
//! - `attach`: a program that is a node process of its own, with one rank. `starter` says who started the program, `mpirun`
//!   or another launcher; `pmi` is what `mpirun` would do, `handover` what `mpirun` hands over: a number, the job description, a
//!   socket, and the segment of shared memory. Under another launcher the lowest rank of a host makes the segment.
//! - `mpirun`: what passes to and from it. `findings`, `threads`: reports on ranks that wait. `alone`: a program that nobody started.
//! - `leaving`: how the process ends. `preload`: tools that come between a program and MPI.

mod alone;
pub mod attach;
mod environment;
mod findings;
mod handover;
pub mod hooks;
mod job;
mod leaving;
mod limits;
mod mpirun;
pub mod node;
mod personal;
mod pmi;
mod preload;
mod ranks;
mod starter;
mod threads;
mod words;
