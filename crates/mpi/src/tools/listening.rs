//! Registrations for events: what a tool has registered for which, and the instance that is told now.

use crate::arguments::callbacks;
use crate::process::Process;
use core::ffi::c_int;
use std::sync::Arc;
use weft_base::constants::*;
use weft_base::tools::events::{Event, Instance};
use weft_base::tools::ranks;
use weft_base::tools::watch::{self, Sight};
use weft_base::{Error, Result};
use weft_sync::Lock;

/// The levels of safety that a callback may be required to have, from the lowest on.
const LEVELS: [c_int; 4] = [
    MPI_T_CB_REQUIRE_NONE,
    MPI_T_CB_REQUIRE_MPI_RESTRICTED,
    MPI_T_CB_REQUIRE_THREAD_SAFE,
    MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE,
];

/// Returns a level's place among them.
///
/// # Errors
/// `MPI_T_ERR_INVALID`
pub(super) fn level(cb_safety: c_int) -> Result<usize> {
    LEVELS.iter().position(|&level| level == cb_safety).ok_or_else(|| {
        let text = format!("cb_safety is {cb_safety}; use an MPI_T_CB_REQUIRE_… constant");
        Error::new(MPI_T_ERR_INVALID, text)
    })
}

/// A function of the tool's, and what it is called with.
#[derive(Clone, Copy)]
pub(super) struct Callback {
    pub function: usize,
    pub user_data: usize,
}

/// A registration. When nobody uses it any more after it was freed, the tool's function for that is called.
pub(super) struct Registration {
    /// Its handle, as a number.
    pub number: usize,
    pub event: Event,
    process: &'static Process,
    object: Option<u64>,
    /// By level of safety.
    callbacks: Lock<[Option<Callback>; LEVELS.len()]>,
    dropped: Lock<Option<usize>>,
    last: Lock<Option<Callback>>,
}

impl Registration {
    pub fn new(number: usize, event: Event, process: &'static Process, object: Option<u64>) -> Self {
        Self {
            number,
            event,
            process,
            object,
            callbacks: Lock::default(),
            dropped: Lock::default(),
            last: Lock::default(),
        }
    }

    /// Registers a callback of a level, or removes what was registered.
    pub fn register(&self, level: usize, callback: Option<Callback>) {
        let mut callbacks = self.callbacks.lock();
        let was_listening = callbacks.iter().any(Option::is_some);
        callbacks[level] = callback;
        let is_listening = callbacks.iter().any(Option::is_some);
        if is_listening && !was_listening {
            self.told().listen(self.number as u64, self.event, self.object);
            watch::begin(Sight::Events(self.event));
        } else if was_listening && !is_listening {
            self.leave();
        }
    }

    fn told(&self) -> &'static weft_base::tools::events::Told {
        &ranks::of(self.process.world_rank).told
    }

    fn leave(&self) {
        watch::end(Sight::Events(self.event));
        self.told().leave(self.number as u64);
    }

    /// Ends it; `last` is called when nobody uses it any more.
    pub fn end(&self, last: Option<Callback>) {
        for level in 0..LEVELS.len() {
            self.register(level, None);
        }
        *self.last.lock() = last;
    }

    /// Registers who is told of what was dropped from now on.
    pub fn set_dropped(&self, function: Option<usize>) {
        let mut dropped = self.dropped.lock();
        if dropped.is_none() {
            self.told().forget_dropped(self.number as u64);
        }
        *dropped = function;
    }

    /// Returns the callback of the lowest level that fits, and what it must comply with.
    fn callback(&self) -> Option<(Callback, c_int)> {
        // Delivered at the end of calls: whatever may be called between calls may be called by the tool.
        let needed = usize::from(!self.process.is_active());
        let callback = self.callbacks.lock()[needed..].iter().flatten().next().copied()?;
        Some((callback, LEVELS[needed]))
    }

    /// Tells what happened, if a callback fits; else it is dropped.
    pub fn tell(&self, handle: usize) {
        if let Some((callback, safety)) = self.callback() {
            callbacks::tool_event(callback.function, handle, self.number, safety, callback.user_data);
        }
    }

    /// Tells that so much was dropped of a source.
    pub fn tell_dropped(&self, count: u64, source: c_int) {
        let (Some(function), Some((callback, safety))) = (*self.dropped.lock(), self.callback()) else {
            return;
        };
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        callbacks::tool_dropped(function, count, self.number, source, safety, callback.user_data);
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if self.callbacks.lock().iter().any(Option::is_some) {
            self.leave();
        }
        if let Some(last) = *self.last.lock() {
            let safety = LEVELS[usize::from(!self.process.is_active())];
            callbacks::tool_event_freed(last.function, self.number, safety, last.user_data);
        }
    }
}

/// The instance that is told now, and the word that stands for it.
pub(super) type Current = Lock<Option<(usize, Instance)>>;

/// Says that no registration is used any more.
pub(super) fn end_all(registrations: impl Iterator<Item = Arc<Registration>>) {
    registrations.for_each(|registration| registration.end(None));
}
