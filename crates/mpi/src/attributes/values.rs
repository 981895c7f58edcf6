//! Values of attributes, and what holds them.
//!
//! A program in C sets an address, one in Fortran an integer. C sees the address of a word that holds the integer; Fortran
//! sees an address as an integer.

use crate::arguments::callbacks::{self, from_callback};
use crate::arguments::check;
use crate::attributes::keyvals::{Keyval, Language};
use core::ffi::{c_int, c_void};
use std::sync::Arc;
use weft_base::{Error, Out, Result, Subject};
use weft_sync::Lock;

/// A value, as it was set.
#[derive(Clone)]
pub enum Value {
    /// By C.
    Address(usize),
    /// By Fortran, as an integer of the size of an address.
    Word(Arc<isize>),
    /// By Fortran's `MPI_ATTR_PUT`.
    Integer(Arc<c_int>),
}

impl Value {
    /// Returns what C gets.
    pub(crate) fn address(&self) -> usize {
        match self {
            Self::Address(address) => *address,
            Self::Word(word) => Arc::as_ptr(word) as usize,
            Self::Integer(integer) => Arc::as_ptr(integer) as usize,
        }
    }

    /// Returns what Fortran gets.
    pub(crate) fn word(&self) -> isize {
        match self {
            Self::Address(address) => *address as isize,
            Self::Word(word) => **word,
            Self::Integer(integer) => **integer as isize,
        }
    }

    fn seen_by(&self, language: Language) -> usize {
        match language {
            Language::C => self.address(),
            Language::Words | Language::Integers => self.word() as usize,
        }
    }

    fn made_by(language: Language, value: usize) -> Self {
        match language {
            Language::C => Self::Address(value),
            Language::Words => Self::Word(Arc::new(value as isize)),
            Language::Integers => Self::Integer(Arc::new(value as c_int)),
        }
    }
}

/// The attributes of one object, in the order in which they were first set.
#[derive(Default)]
pub struct Attributes(Lock<Vec<(Arc<Keyval>, Value)>>);

impl Attributes {
    /// Tells whether nothing is cached.
    pub fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// Returns the value of a key.
    pub(crate) fn value(&self, keyval: c_int) -> Option<Value> {
        self.0.lock().iter().find(|(key, _)| key.number == keyval).map(|(_, value)| value.clone())
    }

    /// Copies what wants to be copied, running the copy functions on the old object with handle `object`.
    ///
    /// # Errors
    /// The code of the first copy function that fails.
    pub fn copy_to(&self, object: usize, target: &Self) -> Result {
        let entries = self.0.lock().clone();
        for (key, value) in entries {
            let copied = match key.copy {
                0 => None,
                1 => Some(value),
                function => {
                    let seen = value.seen_by(key.language);
                    let (code, copied) =
                        callbacks::copy_attribute(function, object, key.number, key.extra_state, seen);
                    from_callback(code, "an attribute's copy function")?;
                    copied.map(|copied| Value::made_by(key.language, copied))
                }
            };
            if let Some(copied) = copied {
                target.0.lock().push((key, copied));
            }
        }
        Ok(())
    }

    fn run_delete(key: &Keyval, value: &Value, object: usize) -> Result {
        if key.delete == 0 {
            return Ok(());
        }
        let seen = value.seen_by(key.language);
        let code = callbacks::delete_attribute(key.delete, object, key.number, seen, key.extra_state);
        from_callback(code, "an attribute's delete function")
    }

    /// Stores the value of a key; the delete function runs on a value it replaces.
    ///
    /// # Errors
    /// The delete function's code.
    pub fn set(&self, key: Arc<Keyval>, value: Value, object: usize) -> Result {
        let old = self.value(key.number);
        if let Some(old) = old {
            Self::run_delete(&key, &old, object)?;
        }
        let mut entries = self.0.lock();
        entries.retain(|(k, _)| k.number != key.number);
        entries.push((key, value));
        Ok(())
    }

    /// Looks a key's value up: `value` is the address of a pointer variable.
    ///
    /// # Errors
    /// `MPI_ERR_ARG`
    pub fn get(&self, key: &Keyval, value: *mut c_void, flag: Out<c_int>) -> Result {
        let found = self.value(key.number).map(|value| value.address() as *mut c_void);
        answer(found, value, flag)
    }

    /// Deletes the value of a key.
    ///
    /// # Errors
    /// `MPI_ERR_KEYVAL` when there is none, else the delete function's code.
    pub fn delete(&self, key: &Keyval, object: usize) -> Result {
        let Some(value) = self.value(key.number) else {
            let text = format!("is {}; the object has no attribute with this key", key.number);
            return Err(Error::about(Subject::Keyval, key.number.into(), text));
        };
        Self::run_delete(key, &value, object)?;
        self.0.lock().retain(|(k, _)| k.number != key.number);
        Ok(())
    }

    /// Deletes all attributes, the last set first, running the delete functions; also what these set meanwhile.
    ///
    /// # Errors
    /// The code of the first delete function that fails; its attribute and those set before stay.
    pub fn delete_all(&self, object: usize) -> Result {
        loop {
            let Some((key, value)) = self.0.lock().last().cloned() else { return Ok(()) };
            Self::run_delete(&key, &value, object)?;
            self.0.lock().retain(|(k, _)| k.number != key.number);
        }
    }

    /// Deletes all attributes as [`Attributes::delete_all`] does, but goes on where delete functions fail: for objects
    /// that end in any case.
    ///
    /// # Errors
    /// The code of the first delete function that fails.
    pub fn delete_at_end(&self, object: usize) -> Result {
        let mut result = Ok(());
        loop {
            let last = self.0.lock().pop();
            let Some((key, value)) = last else { return result };
            let outcome = Self::run_delete(&key, &value, object);
            result = result.and(outcome);
        }
    }
}

/// Stores what an inquiry for an attribute found.
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn answer(found: Option<*mut c_void>, value: *mut c_void, flag: Out<c_int>) -> Result {
    let value = check::pointer_output(value, "attribute_val")?;
    check::output(flag, "flag")?;
    if let Some(found) = found {
        value.set(found);
    }
    flag.set(c_int::from(found.is_some()));
    Ok(())
}
