//! Which epochs of a window a rank is in, and which calls fit them: pure.
//!
//! A rank is in at most one kind of access epoch of a window: between fences, to a group it has started, with locks on some
//! ranks, or with a lock on all. A fence opens an epoch only for those who then use it: until then anything else may begin.
//! Whether it is in an exposure epoch, which a post has begun, is another matter.

use weft_base::constants::MPI_ERR_RMA_SYNC;
use weft_base::{Error, Result};

/// How a rank holds a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Held {
    /// With others.
    Shared,
    /// Alone.
    Exclusive,
    /// The program says that nobody holds another that conflicts: nothing was locked.
    Unchecked,
}

/// The access epoch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
enum Access {
    #[default]
    None,
    /// After a fence that may be followed by operations, and whether it was.
    Fence { used: bool },
    /// Of a group's ranks, ascending.
    Started(Vec<u32>),
    /// By locks on these ranks.
    Locks(Locks),
    /// By a lock on all.
    LockAll(Held),
}

/// Which ranks are locked, and how; ascending.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Locks(Vec<(u32, Held)>);

impl Locks {
    fn find(&self, target: u32) -> core::result::Result<usize, usize> {
        self.0.binary_search_by_key(&target, |lock| lock.0)
    }

    fn has(&self, target: u32) -> bool {
        self.find(target).is_ok()
    }

    fn has_exclusive(&self, counts: impl Fn(u32) -> bool) -> bool {
        self.0.iter().any(|lock| lock.1 == Held::Exclusive && counts(lock.0))
    }
}

/// The epochs of one rank and window.
#[derive(Clone, Default, Debug)]
pub struct Epochs {
    access: Access,
    /// Room of former locks.
    room: Locks,
    /// To how many origins memory is exposed by a post.
    exposed: Option<u64>,
}

/// What operations may be directed at, in one word: that of most calls is enough to tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Summary {
    /// More has to be looked at.
    Unclear,
    /// Any rank, in an epoch between fences that is in use.
    Fence,
    /// Any rank, by a lock on all.
    LockAll,
    /// One rank, by a lock.
    Lock(u32),
}

impl Summary {
    const KIND: u64 = 32;

    /// Packs it.
    pub const fn word(self) -> u64 {
        match self {
            Self::Unclear => 0,
            Self::Fence => 1 << Self::KIND,
            Self::LockAll => 2 << Self::KIND,
            Self::Lock(rank) => 3 << Self::KIND | rank as u64,
        }
    }
}

#[cold]
fn wrong(text: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(MPI_ERR_RMA_SYNC, text)
}

impl Epochs {
    /// Says what the rank is in, for errors.
    fn now(&self) -> String {
        match &self.access {
            Access::None => "in no access epoch of win".into(),
            Access::Fence { .. } => "between two fences of win".into(),
            Access::Started(_) => "in an access epoch of win that MPI_Win_start has begun".into(),
            Access::Locks(held) => {
                let ranks: Vec<_> = held.0.iter().map(|lock| lock.0).collect();
                match &ranks[..] {
                    [one] => format!("in an access epoch of win that MPI_Win_lock has begun for rank {one}"),
                    many => format!("in access epochs of win that MPI_Win_lock has begun for ranks {many:?}"),
                }
            }
            Access::LockAll(_) => "in an access epoch of win that MPI_Win_lock_all has begun".into(),
        }
    }

    #[cold]
    fn refuse(&self, needs: &str) -> Error {
        wrong(format!("win: the call needs {needs}; the rank is {}", self.now()))
    }

    /// Returns what the next operations may be directed at.
    pub fn summary(&self) -> Summary {
        match &self.access {
            Access::Fence { used: true } => Summary::Fence,
            Access::LockAll(_) => Summary::LockAll,
            Access::Locks(held) => match held.0[..] {
                [(only, _)] => Summary::Lock(only),
                _ => Summary::Unclear,
            },
            _ => Summary::Unclear,
        }
    }

    /// Notes an operation directed at rank `target`; those with a request need a lock.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`
    pub fn access(&mut self, target: u32, has_request: bool) -> Result {
        match &mut self.access {
            Access::LockAll(_) => Ok(()),
            Access::Locks(held) if held.has(target) => Ok(()),
            Access::Fence { used } if !has_request => {
                *used = true;
                Ok(())
            }
            Access::Started(group) if !has_request && group.binary_search(&target).is_ok() => Ok(()),
            _ if has_request => Err(self.refuse(&format!(
                "a lock on rank {target} (MPI_Win_lock or MPI_Win_lock_all), as all operations with requests do"
            ))),
            _ => Err(self.refuse(&format!(
                "an access epoch for rank {target} (MPI_Win_fence, MPI_Win_start, MPI_Win_lock or MPI_Win_lock_all)"
            ))),
        }
    }

    /// Tells whether the rank has locked all.
    pub fn holds_all(&self) -> bool {
        self.access == Access::LockAll(Held::Shared)
    }

    /// Refuses to begin an access epoch in another one.
    fn idle(&self, call: &str) -> Result {
        match self.access {
            Access::None | Access::Fence { used: false } => Ok(()),
            _ => Err(self.refuse(&format!("that no other access epoch is open when {call} begins one"))),
        }
    }

    /// Goes from one fence to the next; returns whether there were operations since the last one.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC` in an epoch that something else has begun.
    pub fn fence(&mut self, succeeds: bool) -> Result<bool> {
        if self.exposed.is_some() {
            return Err(wrong(
                "win: the rank's memory is exposed by MPI_Win_post; end that with MPI_Win_wait before MPI_Win_fence",
            ));
        }
        let used = match self.access {
            Access::None => false,
            Access::Fence { used } => used,
            _ => return Err(self.refuse("that no epoch is open that something else than a fence has begun")),
        };
        self.access = if succeeds { Access::Fence { used: false } } else { Access::None };
        Ok(used)
    }

    /// Begins an access epoch to the ranks of a group.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`
    pub fn start(&mut self, mut group: Vec<u32>) -> Result {
        self.idle("MPI_Win_start")?;
        group.sort_unstable();
        self.access = Access::Started(group);
        Ok(())
    }

    /// Ends it; returns the ranks.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`
    pub fn complete(&mut self) -> Result<Vec<u32>> {
        match &mut self.access {
            Access::Started(group) => {
                let group = core::mem::take(group);
                self.access = Access::None;
                Ok(group)
            }
            _ => Err(self.refuse("an access epoch that MPI_Win_start has begun")),
        }
    }

    /// Begins an exposure epoch to so many origins.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`
    pub fn post(&mut self, origins: u64) -> Result {
        if self.exposed.is_some() {
            return Err(wrong(
                "win: the rank's memory is exposed already; end that with MPI_Win_wait before another MPI_Win_post",
            ));
        }
        if self.access == (Access::Fence { used: true }) {
            return Err(self.refuse("that no epoch between fences is in use"));
        }
        self.exposed = Some(origins);
        Ok(())
    }

    /// Returns to how many origins memory is exposed.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`
    pub fn exposed(&self) -> Result<u64> {
        self.exposed.ok_or_else(|| wrong("win: the rank's memory is not exposed; MPI_Win_post exposes it"))
    }

    /// Ends the exposure epoch.
    pub fn unexpose(&mut self) {
        self.exposed = None;
    }

    /// Begins an access epoch by a lock on a rank; returns whether it is the first lock that is held exclusively of those on ranks
    /// that `counts` is true of, as it is of the target.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`
    #[inline]
    pub fn lock(&mut self, target: u32, held: Held, counts: impl Fn(u32) -> bool) -> Result<bool> {
        if let Access::Locks(locks) = &mut self.access {
            let is_first = held == Held::Exclusive && !locks.has_exclusive(counts);
            if let Err(place) = locks.find(target) {
                locks.0.insert(place, (target, held));
                return Ok(is_first);
            }
            return Err(wrong(format!(
                "rank is {target}, whose memory of win the rank has locked already; unlock it first"
            )));
        }
        self.idle("MPI_Win_lock")?;
        let mut locks = core::mem::take(&mut self.room);
        locks.0.push((target, held));
        self.access = Access::Locks(locks);
        Ok(held == Held::Exclusive)
    }

    /// Ends it; returns how the rank holds the lock, and whether it holds no other one exclusively of those on ranks that `counts` is
    /// true of.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`
    #[inline]
    pub fn unlock(&mut self, target: u32, counts: impl Fn(u32) -> bool) -> Result<(Held, bool)> {
        let Access::Locks(locks) = &mut self.access else {
            return Err(self.refuse(&format!("a lock on rank {target} by MPI_Win_lock")));
        };
        let Ok(place) = locks.find(target) else {
            return Err(self.refuse(&format!("a lock on rank {target} by MPI_Win_lock")));
        };
        let (_, held) = locks.0.remove(place);
        let is_last = held == Held::Exclusive && !locks.has_exclusive(counts);
        if locks.0.is_empty() {
            self.room = core::mem::take(locks);
            self.access = Access::None;
        }
        Ok((held, is_last))
    }

    /// Begins an access epoch by a lock on all ranks.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`
    pub fn lock_all(&mut self, held: Held) -> Result {
        self.idle("MPI_Win_lock_all")?;
        self.access = Access::LockAll(held);
        Ok(())
    }

    /// Ends it; returns how the lock was held.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`
    pub fn unlock_all(&mut self) -> Result<Held> {
        match self.access {
            Access::LockAll(held) => {
                self.access = Access::None;
                Ok(held)
            }
            _ => Err(self.refuse("a lock on all ranks by MPI_Win_lock_all")),
        }
    }

    /// Checks that operations may be flushed: those at a rank, or at all.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`
    pub fn flush(&self, target: Option<u32>) -> Result {
        match (&self.access, target) {
            (Access::LockAll(_), _) | (Access::Locks(_), None) => Ok(()),
            (Access::Locks(held), Some(target)) if held.has(target) => Ok(()),
            (_, Some(target)) => {
                Err(self.refuse(&format!("a lock on rank {target} (MPI_Win_lock or MPI_Win_lock_all)")))
            }
            (_, None) => Err(self.refuse("a lock (MPI_Win_lock or MPI_Win_lock_all)")),
        }
    }

    /// Checks that the window may be freed.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`
    pub fn free(&self) -> Result {
        if self.exposed.is_some() {
            return Err(wrong(
                "win: the rank's memory is exposed by MPI_Win_post; end that with MPI_Win_wait before MPI_Win_free",
            ));
        }
        match self.access {
            Access::None | Access::Fence { .. } => Ok(()),
            _ => Err(self.refuse("that no epoch is open")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(_: u32) -> bool {
        true
    }

    fn sync<T: std::fmt::Debug>(result: Result<T>) -> String {
        let error = result.unwrap_err();
        assert_eq!(error.class, MPI_ERR_RMA_SYNC);
        error.message.clone().into_owned()
    }

    #[test]
    fn operations_need_an_epoch_and_those_with_requests_a_lock() {
        let mut epochs = Epochs::default();
        assert!(sync(epochs.access(1, false)).contains("in no access epoch"));
        epochs.fence(true).unwrap();
        assert!(sync(epochs.access(1, true)).contains("between two fences"));
        epochs.access(1, false).unwrap();
        assert_eq!(epochs.summary(), Summary::Fence);
        assert!(epochs.fence(false).unwrap() && epochs.access(1, false).is_err());
    }

    #[test]
    fn after_a_fence_that_nobody_uses_anything_may_begin() {
        let mut epochs = Epochs::default();
        epochs.fence(true).unwrap();
        epochs.lock(2, Held::Shared, all).unwrap();
        assert!(sync(epochs.fence(true)).contains("MPI_Win_lock has begun for rank 2"));
        epochs.unlock(2, all).unwrap();
        assert!(!epochs.fence(true).unwrap());
        epochs.access(0, false).unwrap();
        assert!(epochs.lock_all(Held::Shared).is_err() && epochs.start(vec![1]).is_err());
        assert!(epochs.post(1).is_err() && epochs.lock(1, Held::Shared, all).is_err());
    }

    #[test]
    fn a_group_that_was_started_is_what_operations_may_go_to() {
        let mut epochs = Epochs::default();
        epochs.start(vec![5, 2]).unwrap();
        epochs.access(2, false).unwrap();
        assert!(epochs.access(3, false).is_err() && epochs.access(2, true).is_err());
        assert!(epochs.lock(2, Held::Shared, all).is_err() && epochs.flush(None).is_err());
        assert_eq!(epochs.complete().unwrap(), [2, 5]);
        assert!(epochs.complete().is_err());
    }

    #[test]
    fn exposure_goes_beside_access() {
        let mut epochs = Epochs::default();
        epochs.post(3).unwrap();
        epochs.start(vec![0]).unwrap();
        assert!(epochs.post(1).is_err() && epochs.free().is_err());
        assert_eq!(epochs.exposed().unwrap(), 3);
        epochs.complete().unwrap();
        assert!(epochs.fence(true).is_err());
        epochs.unexpose();
        assert!(epochs.exposed().is_err());
        epochs.free().unwrap();
    }

    #[test]
    fn locks_on_several_ranks_are_one_epoch_each() {
        let mut epochs = Epochs::default();
        assert!(!epochs.lock(1, Held::Shared, all).unwrap());
        assert_eq!(epochs.summary(), Summary::Lock(1));
        assert!(epochs.lock(2, Held::Exclusive, all).unwrap(), "the first exclusive one");
        assert_eq!(epochs.summary(), Summary::Unclear);
        assert!(!epochs.lock(3, Held::Exclusive, all).unwrap() && epochs.lock(3, Held::Shared, all).is_err());
        epochs.access(3, true).unwrap();
        epochs.flush(Some(3)).unwrap();
        epochs.flush(None).unwrap();
        assert!(
            epochs.flush(Some(4)).is_err() && epochs.unlock(4, all).is_err() && epochs.unlock_all().is_err()
        );
        assert_eq!(epochs.unlock(2, all).unwrap(), (Held::Exclusive, false));
        assert_eq!(epochs.unlock(3, all).unwrap(), (Held::Exclusive, true));
        assert_eq!(epochs.unlock(1, all).unwrap(), (Held::Shared, false));
        assert!(epochs.flush(None).is_err());
    }

    #[test]
    fn locks_on_some_ranks_are_counted_by_themselves() {
        let (mut epochs, odd) = (Epochs::default(), |rank: u32| rank % 2 == 1);
        assert!(epochs.lock(1, Held::Exclusive, odd).unwrap());
        assert!(epochs.lock(2, Held::Exclusive, |rank| !odd(rank)).unwrap(), "the first one on an even rank");
        assert!(!epochs.lock(3, Held::Exclusive, odd).unwrap());
        assert_eq!(epochs.unlock(2, |rank| !odd(rank)).unwrap(), (Held::Exclusive, true));
        assert_eq!(epochs.unlock(1, odd).unwrap(), (Held::Exclusive, false));
        assert_eq!(epochs.unlock(3, odd).unwrap(), (Held::Exclusive, true));
    }

    #[test]
    fn summaries_of_different_epochs_differ() {
        let all =
            [Summary::Unclear, Summary::Fence, Summary::LockAll, Summary::Lock(0), Summary::Lock(u32::MAX)];
        for (i, one) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|other| other.word() != one.word()));
        }
    }
}
