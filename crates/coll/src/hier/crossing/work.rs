//! Who does which step.

use super::{Crossing, State, Wake};
use crate::hier::perform::Outcome;
use core::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use weft_sched::Thread;

/// Which steps a thread does in the name of a member.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Zeal {
    /// Those that others wait for; all until the member's part is over.
    Own,
    /// All that can be done.
    All,
    /// All but those that apply the operator.
    AllButFolds,
}

impl Crossing {
    /// Does what can be done, for members that are elsewhere. Only a thread of a member's rank runs the user's function that
    /// the member has given; if the caller is none, they are told, and do it where they wait.
    pub fn help(self: &Arc<Self>) {
        let state = self.state.lock();
        let helps = state.run.is_some() && state.failed.is_none();
        let Some(member) = self.first_here(&state).filter(|_| helps) else { return };
        drop(state);
        if self.threads[self.place(member)].get().is_none() {
            self.work(member, None, Zeal::All);
        } else if let Some(member) = self.own_member() {
            self.work(member, None, Zeal::All);
        } else {
            self.work(member, None, Zeal::AllButFolds);
            let state = self.state.lock();
            if state.failed.is_some() || !self.leaves_work(&state) {
                return;
            }
            drop(state);
            for (place, thread) in self.threads.iter().enumerate() {
                if let Some(thread) = thread.get() {
                    let (crossing, member) = (self.clone(), self.members[place]);
                    thread.give_errand(move || _ = crossing.work(member, None, Zeal::All));
                }
            }
        }
    }

    /// Returns the member that has arrived, has a user's operator, and whose rank the calling thread belongs to.
    pub(super) fn own_member(&self) -> Option<u32> {
        let rank = weft_sched::known().map(Thread::rank).filter(|&rank| rank != weft_sched::NO_RANK)?;
        let is_own = |thread: &OnceLock<&'static Thread>| thread.get().is_some_and(|t| t.rank() == rank);
        self.threads.iter().position(is_own).map(|place| self.members[place])
    }

    /// Returns a member that has arrived and takes part.
    pub(super) fn first_here(&self, state: &State) -> Option<u32> {
        let under = state.run.as_ref()?;
        self.members.iter().copied().find(|&member| under.run.has_arrived(member))
    }

    /// Does what can be done. Returns whether the member's part is over then; if not, `waiter` is woken when there is more
    /// to do.
    pub(super) fn work(self: &Arc<Self>, member: u32, waiter: Option<&'static Thread>, zeal: Zeal) -> bool {
        let mut wake = Wake::default();
        let mut state = self.state.lock();
        loop {
            let over = self.is_over(&state, member);
            let mut step = None;
            if state.failed.is_none()
                && let Some(under) = &mut state.run
            {
                let all = !over || zeal != Zeal::Own || under.choice.is_light;
                step = under.run.take(&under.program, member, all, zeal != Zeal::AllButFolds);
            }
            let Some(step) = step else {
                let place = self.place(member);
                if over {
                    // Who helps does the steps in the name of a member that may be waiting on another thread.
                    let waiting = state.waiters[place].take();
                    wake.0.extend(waiting.filter(|&thread| !is_current(thread)));
                } else if waiter.is_some() {
                    // One who only looks does not take the place of one who waits.
                    state.waiters[place] = waiter;
                }
                if over && self.leaves_work(&state) {
                    wake.all(&mut state);
                }
                self.close_if_finished(state);
                wake.now();
                return over;
            };
            let under = state.run.as_mut().expect("the step is of it");
            let (program, choice, call) = (under.program.clone(), under.choice.clone(), under.call);
            let parcel = under.inbox.iter().position(|(s, _)| *s == step);
            let parcel = parcel.map(|place| under.inbox.swap_remove(place).1);
            state.busy += 1;
            drop(state);
            let mut errors = Vec::new();
            let outcome = self.perform(&program, step, call, &choice, member, parcel, &mut errors);
            let (failed, is_over) = match outcome {
                Outcome::Cells(data) => {
                    self.set_cells(program.action(step).outputs(), data);
                    (None, true)
                }
                Outcome::Nothing => (None, true),
                Outcome::Later => (None, false),
                Outcome::Failed(error) => (Some(error), true),
            };
            state = self.state.lock();
            state.busy -= 1;
            self.changes.fetch_add(1, Ordering::Release);
            if !errors.is_empty() {
                self.troubled.store(true, Ordering::Release);
                state.errors.extend(errors);
            }
            if let Some(error) = failed {
                self.fail(state, error, true);
                state = self.state.lock();
                continue;
            }
            if state.failed.is_some() {
                wake.all(&mut state);
                continue;
            }
            if !is_over {
                continue;
            }
            let under = state.run.as_mut().expect("it stays");
            let freed = under.run.finish(&program, step);
            let freed: Vec<u32> = freed.into_iter().filter(|&m| under.run.is_over(m)).collect();
            if !choice.is_light && self.leaves_work(&state) {
                wake.all(&mut state);
            }
            for other in freed {
                let place = self.place(other);
                wake.0.extend(state.waiters[place].take().filter(|&thread| !is_current(thread)));
            }
            if !wake.0.is_empty() {
                drop(state);
                core::mem::take(&mut wake).now();
                state = self.state.lock();
            }
        }
    }

    pub(super) fn leaves_work(&self, state: &State) -> bool {
        state.run.as_ref().is_some_and(|under| under.run.has_ready())
    }
}

fn is_current(thread: &'static Thread) -> bool {
    weft_sched::known().is_some_and(|known| core::ptr::eq(known, thread))
}
