//! What a Fortran program costs beside one in C: calls of `mpi_f08`, start-up and memory.

use crate::plan::{Implementation, Session};

/// The kernel, and how it says hello.
const KERNEL: &str = "fortran";
const HELLO: &[&str] = &[KERNEL, "hello"];
/// Ranks of the start-up measurement.
pub const RANKS: u64 = 1000;
/// What the names of Fortran's measurements end with.
pub const SUFFIX: &str = "-fortran";

impl Session {
    /// Measures once; of our own implementation only.
    pub fn fortran(&mut self, round: usize, everybody: &[Implementation]) {
        for who in everybody.iter().filter(|who| !who.is_peer) {
            if let Err(reason) = who.prepare_fortran(KERNEL) {
                self.failures.insert(format!("{} {KERNEL}", who.name), reason);
                continue;
            }
            self.kernel(who, &[], "", 1, round, KERNEL);
            self.start(who, &[], HELLO, SUFFIX, RANKS, round);
            if round == 0 {
                self.memory(who, HELLO, SUFFIX, RANKS, round);
            }
        }
    }
}
