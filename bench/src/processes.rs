//! Ranks that are processes, beside peers, whose ranks always are: messages of two ranks, a barrier of many, start-up,
//! and NumPy arrays through mpi4py.

use crate::plan::{HELLO, Implementation, Session};
use crate::pythons::Pythons;
use std::time::Duration;

/// What is added to the names of measurements that others make, too, with ranks that are threads.
pub const SUFFIX: &str = "-processes";
/// Ranks of the barrier, on however few cores there are.
pub const BARRIER_RANKS: u64 = 32;
/// Ranks at start-up.
pub const START_RANKS: u64 = 64;

/// The largest message of a pair, in bytes.
const LARGEST: u64 = 8 << 20;
/// How long a program may take: of ranks that outnumber the cores, some implementations take minutes for what takes others a
/// second, which then is all that is to be known. What they have measured by then counts.
const LIMIT: Duration = Duration::from_secs(12);

impl Session {
    /// Measures once, each implementation in turn.
    pub fn processes(&mut self, round: usize, everybody: &[Implementation], pythons: Option<&Pythons>) {
        let options =
            |who: &Implementation| if who.is_peer { &[][..] } else { &["--ranks-as", "processes"][..] };
        let limit = core::mem::replace(&mut self.limit, LIMIT);
        // Each size by itself, in a fraction of a second: a machine's host moves the cores about, and then everything takes
        // longer.
        for size in core::iter::successors(Some(1), |size| Some(size * 2)).take_while(|size| *size <= LARGEST)
        {
            for who in everybody {
                self.kernel(who, options(who), "", 2, round, &format!("pair_sizes 5 {size} {size}"));
            }
        }
        for who in everybody {
            self.kernel(who, options(who), SUFFIX, BARRIER_RANKS, round, "collectives 20 barrier");
        }
        for who in everybody {
            self.start(who, options(who), HELLO, SUFFIX, START_RANKS, round);
        }
        for who in everybody.iter().filter(|_| pythons.is_some()) {
            let Some(pythons) = pythons else { continue };
            let python = if who.is_peer { &pythons.peers } else { &pythons.own };
            let mut command = who.command_for(options(who), 2);
            if let Some(library) = who.library() {
                command.extend(["env".into(), format!("MPI4PY_LIBMPI={}", library.display())]);
            }
            command.extend([python.display().to_string(), "bench/kernels/arrays.py".into()]);
            self.samples_of(who, &command, "", round, &format!("{} arrays.py", who.name));
        }
        self.limit = limit;
    }
}
