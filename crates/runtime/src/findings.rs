//! Checking mode: findings on their way to `mpirun`, which knows names and source lines.

use crate::control::Control;
use std::sync::OnceLock;
use weft_base::finding::{self, Finding};
use weft_base::job::{Place, Report};
use weft_base::settings::is_checking;
use weft_base::site::{self, Site};
use weft_sched::Thread;

static CONTROL: OnceLock<&'static Control> = OnceLock::new();

/// Sends findings to `mpirun` from now on.
pub fn install(control: &'static Control) {
    let _ = CONTROL.set(control);
    finding::install(send);
    site::locate_by(locate);
}

fn send(finding: &Finding) {
    let calls = finding.calls.iter().map(|(role, site)| (role.clone(), place(*site))).collect();
    if let Some(control) = CONTROL.get() {
        control.send(&Report::Finding { rank: finding.rank, message: finding.message.clone(), calls });
    }
}

fn place(site: Option<&'static Site>) -> Place {
    let nowhere = || Place { call: String::new(), offset: 0, file: String::new() };
    site.map_or_else(nowhere, |site| site.place().clone())
}

fn locate(address: usize) -> Option<(String, u64)> {
    let mut found = None;
    weft_diagnose::locate(address, |file, offset| {
        found = Some((String::from_utf8_lossy(file).into_owned(), offset as u64));
    });
    found
}

/// Returns where in the program a rank's thread is, in checking mode.
pub fn place_of(thread: &'static Thread) -> Option<Place> {
    if !is_checking() {
        return None;
    }
    Site::of_call(thread.call_address()).map(|site| place(Some(site)))
}
