//! Long lists are kept once in the process, however many ranks make the same type: that saves memory, and whether two
//! ranks' layouts are the same is one comparison of addresses instead of one of all entries.

use crate::layout::Layout;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, Weak};

/// Lists of so many entries are shared.
pub(crate) const LISTED: usize = 64;

type Known = HashMap<u64, Vec<Weak<Layout>>>;

/// Layouts by their hash, and how many there were when the dead ones were last removed.
static KNOWN: LazyLock<Mutex<(Known, usize)>> = LazyLock::new(Mutex::default);

fn known() -> MutexGuard<'static, (Known, usize)> {
    KNOWN.lock().unwrap_or_else(|e| e.into_inner())
}

/// Returns an equal layout that somebody made before, or the one given, which others will find.
pub(crate) fn find(layout: Arc<Layout>) -> Arc<Layout> {
    let candidates: Vec<Arc<Layout>> =
        known().0.get(&layout.hash).into_iter().flatten().filter_map(Weak::upgrade).collect();
    // Lists may be long: they are compared without the lock. That two ranks add the same layout is no harm.
    if let Some(same) = candidates.into_iter().find(|candidate| **candidate == *layout) {
        return same;
    }
    let mut guard = known();
    let (layouts, alive) = &mut *guard;
    layouts.entry(layout.hash).or_default().push(Arc::downgrade(&layout));
    if layouts.len() > 2 * *alive + 64 {
        layouts.retain(|_, entries| {
            entries.retain(|entry| entry.strong_count() > 0);
            !entries.is_empty()
        });
        *alive = layouts.len();
    }
    layout
}

#[cfg(test)]
mod tests {
    use crate::layout::Placed;
    use std::sync::Arc;

    fn scattered(step: i64) -> Placed {
        Placed::sequence((0..100).map(|i| Placed::run(i * i * step, 4)))
    }

    #[test]
    fn equal_long_lists_are_one_object_while_they_live() {
        let (first, second, other) = (scattered(8), scattered(8), scattered(16));
        assert!(Arc::ptr_eq(&first.layout, &second.layout));
        assert!(!Arc::ptr_eq(&first.layout, &other.layout) && first != other);
        for step in 17..1000 {
            scattered(step);
        }
        assert!(Arc::ptr_eq(&first.layout, &scattered(8).layout));
        assert!(super::known().0.len() < 600, "dead layouts stay in the table");
    }
}
