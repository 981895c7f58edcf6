//! Attribute keys (chapter 7): copy and delete functions with a number, for one kind of object each.

use crate::arguments::check;
use core::ffi::{c_int, c_void};
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use weft_base::constants::*;
use weft_base::site::{self, Site};
use weft_base::{Error, Out, Result, Subject, abi};
use weft_sync::Lock;

const FIRST_KEYVAL: c_int = 1000;

/// The kinds of objects that carry attributes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `MPI_Comm_…_attr`
    Communicator,
    /// `MPI_Type_…_attr`
    Datatype,
    /// `MPI_Win_…_attr`
    Window,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Communicator => "communicators",
            Self::Datatype => "datatypes",
            Self::Window => "windows",
        }
    }
}

/// For whom a key's functions are, and so which values they see and make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// Addresses.
    C,
    /// Words: Fortran's integers of the size of an address.
    Words,
    /// Fortran's integers (`MPI_KEYVAL_CREATE`).
    Integers,
}

/// An attribute key.
pub struct Keyval {
    pub(crate) number: c_int,
    kind: Kind,
    /// 0 for none, 1 for "copy as it is" (the ABI's values), else a user's function.
    pub(crate) copy: usize,
    /// 0 for none, else a user's function.
    pub(crate) delete: usize,
    pub(crate) extra_state: usize,
    pub(crate) language: Language,
    /// The call that created it, in checking mode.
    site: Option<&'static Site>,
}

/// A key by number. One that the program has freed goes on as long as attributes use it: they may still be read and
/// deleted.
enum Entry {
    Live(Arc<Keyval>),
    Freed(Weak<Keyval>),
}

impl Entry {
    fn is_needed(&self) -> bool {
        match self {
            Self::Live(_) => true,
            Self::Freed(key) => key.strong_count() > 0,
        }
    }
}

#[derive(Default)]
struct Table {
    entries: HashMap<c_int, Entry>,
    /// Keys created so far; no number is given out twice.
    created: c_int,
    /// The number of entries at which those that nothing uses any more are dropped.
    purge_at: usize,
}

/// The attribute keys of a rank.
#[derive(Default)]
pub struct Keyvals(Lock<Table>);

impl Keyvals {
    /// Creates a key for objects of one kind and stores its number in `keyval`, an argument called `name`.
    ///
    /// # Errors
    /// `MPI_ERR_ARG`
    pub fn create(
        &self,
        kind: Kind,
        [copy, delete]: [abi::Callback; 2],
        extra_state: *mut c_void,
        keyval: Out<c_int>,
        name: &str,
    ) -> Result {
        check::output(keyval, name)?;
        keyval.set(self.add(kind, [copy as usize, delete as usize], extra_state as usize, Language::C));
        Ok(())
    }

    /// Creates a key whose functions are of `language`, and returns its number.
    pub(crate) fn add(
        &self,
        kind: Kind,
        [copy, delete]: [usize; 2],
        extra_state: usize,
        language: Language,
    ) -> c_int {
        let mut table = self.0.lock();
        if table.entries.len() >= table.purge_at {
            table.entries.retain(|_, entry| entry.is_needed());
            table.purge_at = 2 * table.entries.len() + 32;
        }
        let number = FIRST_KEYVAL + table.created;
        table.created += 1;
        let site = site::current();
        let key = Keyval { number, kind, copy, delete, extra_state, language, site };
        table.entries.insert(number, Entry::Live(Arc::new(key)));
        number
    }

    /// Returns the key of a number, to be set on an object.
    ///
    /// # Errors
    /// `MPI_ERR_KEYVAL` for a number that is no key, or a key of objects of another kind.
    pub fn get(&self, kind: Kind, keyval: c_int) -> Result<Arc<Keyval>> {
        self.find(kind, keyval, false)
    }

    /// Returns the key of a number that may be on an object already: also one that was freed while attributes use it.
    ///
    /// # Errors
    /// As [`Keyvals::get`].
    pub fn get_in_use(&self, kind: Kind, keyval: c_int) -> Result<Arc<Keyval>> {
        self.find(kind, keyval, true)
    }

    fn find(&self, kind: Kind, keyval: c_int, in_use: bool) -> Result<Arc<Keyval>> {
        let key = match self.0.lock().entries.get(&keyval) {
            Some(Entry::Live(key)) => Some(key.clone()),
            Some(Entry::Freed(key)) if in_use => key.upgrade(),
            _ => None,
        };
        let key = key.ok_or_else(|| bad_keyval(keyval))?;
        if key.kind != kind {
            let text = format!("is {keyval}, a key for {}, not for {}", key.kind.name(), kind.name());
            return Err(Error::about(Subject::Keyval, keyval.into(), text));
        }
        Ok(key)
    }

    /// Frees the key that `keyval` (called `name`) holds; attributes that use it stay.
    ///
    /// # Errors
    /// `MPI_ERR_KEYVAL`, `MPI_ERR_ARG`
    pub fn free(&self, kind: Kind, keyval: Out<c_int>, name: &str) -> Result {
        check::output(keyval, name)?;
        self.remove(kind, keyval.get_at(0))?;
        keyval.set(MPI_KEYVAL_INVALID);
        Ok(())
    }

    /// Lists the keys that the program has not freed: what for, and the call that created them.
    pub(crate) fn left(&self) -> Vec<(&'static str, Option<&'static Site>)> {
        let table = self.0.lock();
        let live = table.entries.values().filter_map(|entry| match entry {
            Entry::Live(key) => Some((key.kind.name(), key.site)),
            Entry::Freed(_) => None,
        });
        live.collect()
    }

    fn remove(&self, kind: Kind, keyval: c_int) -> Result {
        let key = self.get(kind, keyval)?;
        self.0.lock().entries.insert(keyval, Entry::Freed(Arc::downgrade(&key)));
        Ok(())
    }
}

#[cold]
fn bad_keyval(keyval: c_int) -> Error {
    let what = match keyval {
        MPI_KEYVAL_INVALID => "is MPI_KEYVAL_INVALID; create a key first".to_string(),
        MPI_TAG_UB..=MPI_UNIVERSE_SIZE | MPI_WIN_BASE..=MPI_WIN_MODEL => {
            format!("is {}, a predefined attribute; it cannot be changed", predefined_name(keyval))
        }
        _ => format!("is {keyval}, which is not a key of the program (freed already?)"),
    };
    Error::about(Subject::Keyval, keyval.into(), what)
}

fn predefined_name(keyval: c_int) -> &'static str {
    match keyval {
        MPI_TAG_UB => "MPI_TAG_UB",
        MPI_IO => "MPI_IO",
        MPI_HOST => "MPI_HOST",
        MPI_WTIME_IS_GLOBAL => "MPI_WTIME_IS_GLOBAL",
        MPI_APPNUM => "MPI_APPNUM",
        MPI_LASTUSEDCODE => "MPI_LASTUSEDCODE",
        MPI_UNIVERSE_SIZE => "MPI_UNIVERSE_SIZE",
        MPI_WIN_BASE => "MPI_WIN_BASE",
        MPI_WIN_DISP_UNIT => "MPI_WIN_DISP_UNIT",
        MPI_WIN_SIZE => "MPI_WIN_SIZE",
        MPI_WIN_CREATE_FLAVOR => "MPI_WIN_CREATE_FLAVOR",
        MPI_WIN_MODEL => "MPI_WIN_MODEL",
        _ => "the key of",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::values::{Attributes, Value};

    const KIND: Kind = Kind::Communicator;

    #[test]
    fn a_freed_key_lives_as_long_as_attributes_use_it() {
        let (keyvals, attributes) = (Keyvals::default(), Attributes::default());
        let keyval = keyvals.add(KIND, [1, 0], 0, Language::C);
        attributes.set(keyvals.get(KIND, keyval).unwrap(), Value::Address(0), 0).unwrap();
        keyvals.remove(KIND, keyval).unwrap();
        assert!(keyvals.get(KIND, keyval).is_err() && keyvals.remove(KIND, keyval).is_err());
        let key = keyvals.get_in_use(KIND, keyval).unwrap();
        attributes.delete(&key, 0).unwrap();
        drop(key);
        assert!(keyvals.get_in_use(KIND, keyval).is_err());
    }

    #[test]
    fn keys_that_nothing_uses_are_forgotten() {
        let (keyvals, attributes) = (Keyvals::default(), Attributes::default());
        for round in 0..1000 {
            let keyval = keyvals.add(KIND, [1, 0], 0, Language::C);
            if round % 100 == 0 {
                attributes.set(keyvals.get(KIND, keyval).unwrap(), Value::Address(0), 0).unwrap();
            }
            keyvals.remove(KIND, keyval).unwrap();
            assert!(keyvals.0.lock().entries.len() < 64);
        }
        assert!(keyvals.get_in_use(KIND, FIRST_KEYVAL + 900).is_ok());
    }
}
