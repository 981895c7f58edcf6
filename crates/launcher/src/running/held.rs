//! Reports that wait for what explains them. When a process ends, those that it was connected to notice, and end the job with
//! a report of their own, which may arrive before what the process itself, or its host, has to say.

use std::time::{Duration, Instant};
use weft_base::constants::MPI_ERR_PROC_ABORTED;
use weft_base::job::Report;

/// How long the report of a rank that gave up waits for its cause: another process may have died, which its peers, or its
/// host, may know first.
const CAUSE: Duration = Duration::from_millis(250);
/// How long reports wait that all tell of a process that others have lost: its own host knows more, and will say so.
const CAUSE_OF_LOSS: Duration = Duration::from_secs(1);

/// Reports, each with the number of its node process, of which none ends the job yet.
#[derive(Default)]
pub struct Held {
    reports: Vec<(u32, Report)>,
    until: Option<Instant>,
}

/// Tells whether a report says that another process is gone.
fn has_lost(report: &Report) -> bool {
    matches!(report, Report::Abort { code: MPI_ERR_PROC_ABORTED, .. })
}

impl Held {
    /// Tells whether a report may be the consequence of another; in a job of one node process, only of another job's end.
    pub fn concerns(report: &Report, is_spread: bool) -> bool {
        has_lost(report) || is_spread && matches!(report, Report::Abort { .. } | Report::RankFailed { .. })
    }

    /// Keeps a report.
    pub fn hold(&mut self, number: u32, report: Report, now: Instant) {
        let at = now + if has_lost(&report) { CAUSE_OF_LOSS } else { CAUSE };
        self.until = Some(self.until.map_or(at, |until| until.min(at)));
        self.reports.push((number, report));
    }

    /// Notes that a cause has become known: whoever waited for one need not any more.
    pub fn hurry(&mut self, now: Instant) {
        self.until = self.until.map(|_| now);
    }

    /// Tells whether none waits.
    pub fn is_empty(&self) -> bool {
        self.reports.is_empty()
    }

    /// Returns when to take them.
    pub fn deadline(&self) -> Option<Instant> {
        self.until
    }

    /// Returns the reports, causes before consequences, if they have waited long enough or there is nothing to wait for.
    pub fn take(&mut self, now: Instant, is_explained: bool) -> Vec<(u32, Report)> {
        if !self.until.is_some_and(|until| until <= now || is_explained) {
            return Vec::new();
        }
        self.until = None;
        let mut reports = std::mem::take(&mut self.reports);
        reports.sort_by_key(|(_, report)| has_lost(report));
        reports
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn abort(code: i32) -> Report {
        Report::Abort { rank: Some(0), code, message: String::new(), stack: Vec::new() }
    }

    fn codes(taken: Vec<(u32, Report)>) -> Vec<(u32, i32)> {
        let code = |(number, report)| match report {
            Report::Abort { code, .. } => (number, code),
            _ => (number, -1),
        };
        taken.into_iter().map(code).collect()
    }

    #[test]
    fn a_cause_comes_before_its_consequences() {
        let now = Instant::now();
        let mut held = Held::default();
        assert!(held.take(now, true).is_empty());
        held.hold(1, abort(MPI_ERR_PROC_ABORTED), now);
        held.hold(2, abort(MPI_ERR_PROC_ABORTED), now);
        // Whoever has aborted is heard late, and yet first.
        let late = now + Duration::from_millis(900);
        assert!(held.take(late, false).is_empty());
        held.hold(0, abort(9), late);
        held.hold(3, abort(8), late);
        assert_eq!(held.deadline(), Some(now + CAUSE_OF_LOSS));
        assert_eq!(
            codes(held.take(now + CAUSE_OF_LOSS, false)),
            [(0, 9), (3, 8), (1, MPI_ERR_PROC_ABORTED), (2, MPI_ERR_PROC_ABORTED)]
        );
        assert!(held.is_empty() && held.deadline().is_none());
    }

    #[test]
    fn no_report_waits_longer_than_it_must() {
        let now = Instant::now();
        let mut held = Held::default();
        held.hold(0, abort(MPI_ERR_PROC_ABORTED), now);
        assert_eq!(held.deadline(), Some(now + CAUSE_OF_LOSS));
        held.hold(1, abort(9), now);
        assert_eq!(held.deadline(), Some(now + CAUSE));
        assert!(held.take(now, false).is_empty());
        assert_eq!(codes(held.take(now, true)), [(1, 9), (0, MPI_ERR_PROC_ABORTED)]);
        held.hurry(now);
        held.hold(0, abort(MPI_ERR_PROC_ABORTED), now);
        assert!(held.take(now, false).is_empty());
        held.hurry(now);
        assert_eq!(codes(held.take(now, false)), [(0, MPI_ERR_PROC_ABORTED)]);
    }

    #[test]
    fn what_no_other_process_explains_is_not_held() {
        assert!(Held::concerns(&abort(MPI_ERR_PROC_ABORTED), false));
        assert!(Held::concerns(&abort(9), true));
        assert!(!Held::concerns(&abort(9), false));
        assert!(!Held::concerns(&Report::Rests, true));
    }
}
