//! The latest errors of a rank: what `MPI_Error_string` adds to the meaning of a class.
//!
//! The codes that calls return are the classes themselves, so a program may compare them with `MPI_ERR_…`. The story
//! behind a code, which no class can tell, is kept here until a few later errors have pushed it out.

use crate::communicators::Communicator;
use crate::process::Process;
use std::collections::VecDeque;
use weft_base::Error;
use weft_sync::Lock;

/// How many errors a rank remembers.
const REMEMBERED: usize = 32;

/// The latest errors of a rank, oldest first.
#[derive(Default)]
pub(crate) struct Failures(Lock<VecDeque<Failure>>);

struct Failure {
    code: i32,
    /// The thread whose call failed.
    thread: usize,
    story: String,
}

fn current_thread() -> usize {
    core::ptr::from_ref(weft_sched::current()).addr()
}

impl Failures {
    /// Remembers an error.
    #[cold]
    pub fn record(&self, code: i32, story: String) {
        let failure = Failure { code, thread: current_thread(), story };
        let mut failures = self.0.lock();
        if failures.len() == REMEMBERED {
            failures.pop_front();
        }
        failures.push_back(failure);
    }

    /// Returns the story of the latest error with this code: the calling thread's, or else any thread's.
    pub fn latest(&self, code: i32) -> Option<String> {
        let (failures, thread) = (self.0.lock(), current_thread());
        let mut found = failures.iter().rev().filter(|failure| failure.code == code);
        let latest = found.clone().next();
        found.find(|failure| failure.thread == thread).or(latest).map(|failure| failure.story.clone())
    }
}

/// Tells an error: which call on which object (by its title), of which rank, failed why.
pub(crate) fn story(process: &Process, call: &str, title: Option<&str>, error: &Error) -> String {
    let on = title.map(|title| format!(" on {title}")).unwrap_or_default();
    format!("{call}{on}, rank {} of {}: {}", process.world_rank, process.world_size, error.message)
}

/// Returns how reports call a communicator: its name or, without one, its size.
pub(crate) fn title(communicator: &Communicator) -> String {
    let name = communicator.name();
    if !name.is_empty() {
        return name;
    }
    match &communicator.values.remote {
        None => format!("a communicator of {} ranks", communicator.values.size()),
        Some(remote) => {
            format!("an intercommunicator of {} and {} ranks", communicator.values.size(), remote.size())
        }
    }
}

/// Shortens a text to `room` bytes, ending it with an ellipsis if it was longer.
pub(crate) fn shorten(text: &mut String, room: usize) {
    if text.len() > room {
        let mut end = room.saturating_sub(3);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str("...");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_error_of_a_code_is_told_and_old_ones_are_forgotten() {
        let failures = Failures::default();
        assert_eq!(failures.latest(2), None);
        failures.record(2, "first".into());
        failures.record(5, "other".into());
        failures.record(2, "second".into());
        assert_eq!(failures.latest(2).as_deref(), Some("second"));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert_eq!(
                    failures.latest(5).as_deref(),
                    Some("other"),
                    "another thread's, for want of its own"
                );
                failures.record(2, "a thread's".into());
                assert_eq!(failures.latest(2).as_deref(), Some("a thread's"));
            });
        });
        assert_eq!(failures.latest(2).as_deref(), Some("second"), "each thread sees its own");
        for _ in 0..REMEMBERED {
            failures.record(7, "new".into());
        }
        assert_eq!(failures.latest(2), None);
    }

    #[test]
    fn a_long_text_is_cut_at_a_character() {
        let mut text = "aé".repeat(10);
        shorten(&mut text, 12);
        assert!(text.len() <= 12 && text.ends_with("..."));
        let mut short = String::from("short");
        shorten(&mut short, 5);
        assert_eq!(short, "short");
    }
}
