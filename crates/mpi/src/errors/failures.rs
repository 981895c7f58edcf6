//! The latest errors of a rank: what `MPI_Error_string` adds to the meaning of a class.
//!
//! The codes that calls return are the classes themselves, so a program may compare them with `MPI_ERR_…`. The story
//! behind a code, which no class can tell, is kept here until a few later errors have pushed it out.

use crate::communicators::communicator::Communicator;
use crate::process::Process;
use std::collections::VecDeque;
use std::io::Write;
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

/// Makes a panic of the library say which rank was in which call. The panic then aborts the process, for none may leave
/// a function that C calls; the report of that crash shows the way to it.
pub(crate) fn report_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            let thread = weft_sched::current();
            let who = match thread.rank() {
                weft_sched::NO_RANK => "a thread of no rank".to_string(),
                rank => format!("rank {rank}, in or after its call of {}", thread.call()),
            };
            let _ = writeln!(std::io::stderr(), "weft: internal error in {who}: {panic}; please report it");
        }));
    });
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

    const PANICS: &str = "WEFT_TEST_PANICS";

    fn panic_in_a_call() {
        report_panics();
        weft_sched::current().set_process(3, core::ptr::null_mut());
        weft_sched::current().set_call(&"MPI_Barrier");
        panic!("a broken promise");
    }

    #[test]
    fn a_panic_names_the_call() {
        // In a process of its own: this test again.
        if std::env::var_os(PANICS).is_some() {
            panic_in_a_call();
        }
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child
            .args(["--exact", "errors::failures::tests::a_panic_names_the_call", "--nocapture"])
            .env(PANICS, "1");
        let output = child.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success());
        assert!(text.contains("weft: internal error in rank 3") && text.contains("MPI_Barrier"), "{text}");
        assert!(text.contains("a broken promise") && text.contains("please report"), "{text}");
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
