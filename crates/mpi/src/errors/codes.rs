//! The error classes and codes that a rank has added. Each call takes a time that grows with the logarithm of those in use.

use crate::errors::classes::describe;
use std::collections::BTreeMap;
use weft_base::constants::{MPI_ERR_ARG, MPI_ERR_LASTCODE, MPI_ERR_OTHER};
use weft_base::{Error, Result};
use weft_sync::Lock;

/// The error classes and codes a rank has added, and not removed.
#[derive(Default)]
pub struct ErrorCodes(Lock<Added>);

#[derive(Default)]
struct Added {
    codes: BTreeMap<i32, Code>,
    /// How many have ever been added: numbers are not used again, because the program may still hold them.
    count: i32,
}

struct Code {
    class: i32,
    text: Option<String>,
    /// How many codes a class has besides itself.
    codes: u32,
}

const FIRST: i32 = MPI_ERR_LASTCODE + 1;

fn not_added(code: i32, name: &str) -> Error {
    Error::new(
        MPI_ERR_ARG,
        format!("{name} is {code}, which the program did not add; only what it added can be changed"),
    )
}

impl ErrorCodes {
    /// Adds a code of a class, or without one a class.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` if all numbers have been used.
    pub fn add(&self, class: Option<i32>) -> Result<i32> {
        let mut added = self.0.lock();
        let all_used = || Error::new(MPI_ERR_OTHER, "all numbers of error classes and codes have been used");
        let code = FIRST.checked_add(added.count).ok_or_else(all_used)?;
        added.count += 1;
        if let Some(class) = class.and_then(|class| added.codes.get_mut(&class)) {
            class.codes += 1;
        }
        added.codes.insert(code, Code { class: class.unwrap_or(code), text: None, codes: 0 });
        Ok(code)
    }

    /// Returns the largest code in use (`MPI_LASTUSEDCODE`).
    pub fn last_used(&self) -> i32 {
        self.0.lock().codes.last_key_value().map_or(MPI_ERR_LASTCODE, |(&code, _)| code)
    }

    /// Returns the class of a code, also of a predefined one.
    pub fn class_of(&self, code: i32) -> Option<i32> {
        describe(code).map(|_| code).or_else(|| self.0.lock().codes.get(&code).map(|known| known.class))
    }

    /// Returns the string of a code that was added.
    pub fn text(&self, code: i32) -> Option<String> {
        self.0.lock().codes.get(&code)?.text.clone()
    }

    /// Sets the string of a code.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for a code that was not added.
    pub fn set_text(&self, code: i32, text: String) -> Result {
        let mut added = self.0.lock();
        let known = added.codes.get_mut(&code).ok_or_else(|| not_added(code, "errorcode"))?;
        known.text = Some(text);
        Ok(())
    }

    /// Removes the string of a code.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for a code that was not added, or has no string.
    pub fn remove_text(&self, code: i32) -> Result {
        let mut added = self.0.lock();
        let known = added.codes.get_mut(&code).ok_or_else(|| not_added(code, "errorcode"))?;
        let missing = || Error::new(MPI_ERR_ARG, format!("errorcode {code} has no string to remove"));
        known.text.take().map(drop).ok_or_else(missing)
    }

    /// Removes a class.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for a class that was not added, or that still has codes or a string.
    pub fn remove_class(&self, class: i32) -> Result {
        let mut added = self.0.lock();
        let known = added.codes.get(&class).filter(|known| known.class == class);
        let known = known.ok_or_else(|| not_added(class, "errorclass"))?;
        if known.codes > 0 {
            let text = format!("errorclass is {class}, which still has error codes; remove them first");
            return Err(Error::new(MPI_ERR_ARG, text));
        }
        added.remove(class, "errorclass")
    }

    /// Removes a code.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for a code that was not added, or still has a string.
    pub fn remove_code(&self, code: i32) -> Result {
        let mut added = self.0.lock();
        let known = added.codes.get(&code).filter(|known| known.class != code);
        let class = known.ok_or_else(|| not_added(code, "errorcode"))?.class;
        added.remove(code, "errorcode")?;
        if let Some(class) = added.codes.get_mut(&class) {
            class.codes -= 1;
        }
        Ok(())
    }
}

impl Added {
    /// Removes a class or a code, if it has no string any more: a class is a code, too.
    fn remove(&mut self, code: i32, name: &str) -> Result {
        if self.codes.get(&code).is_some_and(|known| known.text.is_some()) {
            let text = format!("{name} {code} still has a string; remove it first");
            return Err(Error::new(MPI_ERR_ARG, text));
        }
        self.codes.remove(&code);
        Ok(())
    }
}
