//! A device that is not the first: one of those that the process has from its start, or one that was added and goes again.

use super::NOBODY;
use crate::{Device, Node};
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use weft_sync::Lock;

/// A device that is not the first.
pub(super) enum Slot {
    /// It stays as long as the process.
    Stays(Box<dyn Device>),
    /// It was added, and is let go of, with its memory, when all of its processes are forgotten and nobody is in it.
    Goes(Lock<Option<Arc<dyn Device>>>),
}

/// The use of a device.
pub(super) enum Lent<'a> {
    Stays(&'a dyn Device),
    Goes(Arc<dyn Device>),
}

impl<'a> core::ops::Deref for Lent<'a> {
    type Target = dyn Device + 'a;

    #[inline]
    fn deref(&self) -> &Self::Target {
        match self {
            Self::Stays(device) => *device,
            Self::Goes(device) => &**device,
        }
    }
}

impl Slot {
    pub(super) fn lend(&self) -> Option<Lent<'_>> {
        match self {
            Self::Stays(device) => Some(Lent::Stays(&**device)),
            Self::Goes(device) => device.lock().clone().map(Lent::Goes),
        }
    }
}

pub(super) struct Branch {
    pub(super) device: Slot,
    /// The job's numbers of its processes.
    pub(super) nodes: Box<[Node]>,
    pub(super) is_open: AtomicBool,
    /// Those of its processes that are not forgotten.
    pub(super) kept: Lock<Vec<Node>>,
}

impl Branch {
    pub(super) fn new(device: Slot, nodes: Vec<Node>, is_open: bool) -> Self {
        let kept = nodes.iter().copied().filter(|&node| node != NOBODY).collect();
        Self { device, nodes: nodes.into(), is_open: AtomicBool::new(is_open), kept: Lock::new(kept) }
    }

    /// Tells whether it was left, because all of its processes were forgotten.
    pub(super) fn is_forgotten(&self) -> bool {
        !self.is_open.load(Ordering::Acquire) && self.kept.lock().is_empty()
    }
}
