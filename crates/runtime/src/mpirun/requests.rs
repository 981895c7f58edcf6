//! Answers what `mpirun` asks.

use crate::leaving::{flush, leave_at_once};
use crate::mpirun::control::Control;
use crate::mpirun::wishes;
use weft_base::finding;
use weft_base::job::{Report, Request};

/// Answers requests until `mpirun` is gone; then ends the process at once.
pub fn serve(
    control: &'static Control,
    mut describe: impl FnMut(bool) -> Report + Send + 'static,
) -> std::io::Result<()> {
    let serve = move || {
        for request in control.requests() {
            match request.map(wishes::answered) {
                Ok(Some(Request::DescribeRanks { in_full })) => control.send(&describe(in_full)),
                Ok(Some(Request::Census { round })) => {
                    let rest = weft_sched::rest_or_tell();
                    let rest = rest.map(|rest| (rest.mark, rest.traffic.sent, rest.traffic.received));
                    control.send(&Report::Census { round, rest });
                }
                Ok(Some(Request::End { code })) => {
                    flush();
                    finding::tell_rest();
                    leave_at_once(code)
                }
                Ok(Some(Request::NotMet { port, reason })) => weft_mpi::jobs::ports::refuse(&port, reason),
                // The book is asked for before anybody serves.
                Ok(Some(Request::Book { .. } | Request::Spawned { .. } | Request::Named { .. }) | None)
                | Err(_) => {}
            }
        }
        leave_at_once(1)
    };
    std::thread::Builder::new().name("weft-control".into()).stack_size(128 * 1024).spawn(serve).map(drop)
}
