//! Runs the ranks of a job that one node process holds: from the job description to the exit code.

mod alone;
pub mod attach;
mod control;
mod environment;
mod findings;
mod handover;
pub mod hooks;
mod job;
mod limits;
pub mod node;
mod personal;
mod pmi;
mod ranks;
mod starter;
mod threads;
mod wishes;
mod words;
