//! The main function of a node process.

use crate::handover::{self, Received};
use crate::job::{self, Held};
use crate::leaving::{flush, leave_at_once};
use crate::preload;
use weft_base::host::{NodeHooks, VERSION};
use weft_base::job::Report;
use weft_base::{finding, say};
use weft_transport::Channel;

/// Says what was sent to other hosts, if that is counted.
pub fn sent() -> Option<Report> {
    let counted = weft_base::settings::NET_COUNTS.get() != 0;
    let sent = weft_mpi::jobs::nodes::outbound().filter(|_| counted)?;
    Some(Report::Sent {
        messages: core::array::from_fn(|channel| sent.on(Channel::ALL[channel])),
        bytes: sent.bytes,
    })
}

/// Runs the ranks of the node process that `arguments[1]`, a [`Handover`](weft_base::job::Handover), describes; returns the exit code.
pub fn main(arguments: &[String], hooks: &'static NodeHooks) -> i32 {
    let Some(argument) = arguments.get(1) else {
        say!("weft-node: holds the ranks of a job; it is started by mpirun");
        return 2;
    };
    if hooks.version != VERSION {
        say!("weft-node: of another build than its library; install weft again");
        return 70;
    }
    preload::restore();
    let received = argument.parse().and_then(handover::receive);
    let Received { job, control, node } = match received {
        Ok(received) => received,
        Err(message) => {
            say!("weft-node: {message}");
            return 70;
        }
    };
    // While there is one thread this is a few instructions; later the kernel waits for all processors, some 20 ms.
    weft_sync::enable_global_barrier();
    let code = match Held::start(job, node, control, hooks) {
        Ok(job) => job.wait(),
        Err(message) => {
            control.send(&Report::Failed { message });
            leave_at_once(1)
        }
    };
    flush();
    // Whatever the code: all ranks had done with MPI, and what they have sent may still be on its way.
    weft_mpi::jobs::nodes::leave();
    finding::tell_rest();
    sent().iter().for_each(|report| control.send(report));
    control.send(&Report::Ended { code });
    job::forget();
    leave_at_once(code)
}
