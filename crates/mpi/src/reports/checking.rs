//! Checking mode, at the end of a rank: what it has created and not freed, and what it leaves behind.

use crate::process::{INITIALIZED, Process};
use core::cell::RefCell;
use core::sync::atomic::Ordering;
use weft_base::finding::{self, Finding};
use weft_base::settings::is_checking;
use weft_base::site::{self, Site};
use weft_base::table::Table;
use weft_datatype::Datatype;
use weft_op::Op;

/// Reports the communicators, windows, files and groups that come from a session, or from the world model (0), and were never freed.
pub(crate) fn report_derived(process: &Process, origin: usize) {
    if is_checking() {
        let rank = process.world_rank;
        let names = RefCell::new(Vec::new());
        let sites = process.communicators.sites(|_, communicator| {
            let values = &communicator.values;
            let is_left = values.group.origin() == origin;
            is_left.then(|| names.borrow_mut().push(finding::communicator(rank, values.context)));
            is_left
        });
        for (name, site) in names.into_inner().iter().zip(sites) {
            Finding::new(rank, "a communicator was never freed").on(name).call("created", site).report();
        }
        table(rank, &process.windows, |_, window| window.group.origin() == origin);
        table(rank, &process.files, |_, file| file.group.origin() == origin);
        table(rank, &process.groups, |_, group| group.origin() == origin);
    }
}

/// Reports, at a rank's end, the sessions that it has not finalized; and what only a use that is over by now can have left
/// behind: that of sessions without the world model, or beyond it; and what may be freed after all.
/// A rank that gave up because another process is lost is not blamed for what it left.
pub fn report_at_end(process: &Process) {
    if is_checking() && !process.has_lost_others() {
        let rank = process.world_rank;
        for site in process.sessions.sites(|_, _| true) {
            left(rank, "a session was never finalized", site);
        }
        if process.phase() != INITIALIZED && process.has_finished() {
            report_rest(process);
            // These may be created and freed after MPI_Finalize, too.
            table(rank, &process.infos, |_, _| true);
            table(rank, &process.error_handlers, |_, handler| handler.is_held());
        }
    }
}

/// Reports a reduction with an operation that the standard does not define for the datatype.
#[cold]
pub(crate) fn report_operation(process: &Process, op: &Op, datatype: &Datatype) {
    if let Some(message) = op.beyond_the_standard(datatype) {
        Finding::new(process.world_rank, message).call("reduced", site::current()).report();
    }
}

/// Reports everything that a rank should have freed, completed or received. To be called when all ranks have come to
/// their end, so that no message is under way any more.
pub(crate) fn report_left(process: &Process) {
    if !is_checking() {
        return;
    }
    report_derived(process, 0);
    // What a session still uses may be freed before its end.
    if process.sessions.live().is_empty() {
        report_rest(process);
    }
}

/// Reports what belongs to no communicator's origin, once.
fn report_rest(process: &Process) {
    if process.is_reported.swap(true, Ordering::Relaxed) {
        return;
    }
    let messages = process.messages();
    // What lies in rings and in memory of other processes was sent, too.
    while messages.engine.progress(messages.endpoint) {}
    messages.endpoint.report_left();
    let rank = process.world_rank;
    let unnamed: Vec<_> = process.datatype_state.unnamed_handles();
    table(rank, &process.datatypes, |handle, _| !unnamed.contains(&handle));
    table(rank, &process.operations, |_, _| true);
    for site in process.messages().matched.sites(|_, _| true) {
        left(rank, "a message matched by a probe was never received", site);
    }
    for (kind, site) in process.keyvals.left() {
        left(rank, &format!("an attribute key for {kind} was never freed"), site);
    }
}

fn table<T>(rank: u32, table: &Table<T>, wanted: impl Fn(usize, &T) -> bool) {
    for site in table.sites(wanted) {
        left(rank, &format!("{} was never freed", table.kind().noun()), site);
    }
}

fn left(rank: u32, message: &str, site: Option<&'static Site>) {
    Finding::new(rank, message).call("created", site).report();
}
