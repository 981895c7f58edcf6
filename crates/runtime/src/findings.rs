//! Checking mode: findings on their way to `mpirun`, which knows names and source lines.
#![allow(unsafe_code)] // Walks the stack of a thread, of which the caller knows that it waits.

use crate::mpirun::control::Control;
use std::sync::OnceLock;
use weft_base::finding::{self, Finding};
use weft_base::job::{Claim, Report, StackFrame};
use weft_base::settings::is_checking;
use weft_base::site::Place;
use weft_base::site::{self, Site};
use weft_sched::Thread;
use weft_sys::caller;

static CONTROL: OnceLock<&'static Control> = OnceLock::new();

/// Sends findings to `mpirun` from now on.
pub fn install(control: &'static Control) {
    let _ = CONTROL.set(control);
    finding::install(send);
    site::locate_by(locate);
}

fn send(finding: &Finding, times: u64) {
    let calls = finding.calls.iter().map(|(role, site)| (role.clone(), place(*site))).collect();
    let claim = finding.claim.as_ref().map(|claim| {
        let (file, offset) = locate(claim.buffer).unwrap_or_default();
        Box::new(Claim {
            datatype: claim.datatype.into(),
            is_floating: claim.is_floating,
            size: claim.size,
            file,
            offset,
            frame: claim.frame,
            words: claim.words.clone(),
        })
    });
    if let Some(control) = CONTROL.get() {
        let (rank, message) = (finding.rank, finding.message.clone());
        control.send(&Report::Finding { rank, message, calls, times, claim });
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

/// Returns the calls of a stack, of which there are the addresses, as `mpirun` can be told.
pub fn frames(stack: &[usize]) -> Vec<StackFrame> {
    let frame = |&address: &usize| {
        let (file, offset) = locate(address).unwrap_or_default();
        StackFrame { address: address as u64, offset, file }
    };
    stack.iter().map(frame).collect()
}

/// Returns where in the program a thread is, in checking mode.
pub fn place_of(thread: &Thread) -> Option<Place> {
    if !is_checking() {
        return None;
    }
    Site::of_call(thread.call_address()).map(|site| place(Some(site)))
}

/// Returns where in the program a waiting thread is: finds the innermost call into the library on its stack.
///
/// # Safety
/// Nothing wakes the thread before this returns.
pub unsafe fn place_on_stack(thread: &Thread) -> Option<Place> {
    let mut found = None;
    // SAFETY: the caller's promise.
    unsafe {
        thread.walk(&mut |address| {
            found = caller::is_program(address).then_some(address);
            found.is_none()
        });
    }
    let (file, offset) = locate(found?)?;
    Some(Place { call: thread.call().into(), offset, file })
}
