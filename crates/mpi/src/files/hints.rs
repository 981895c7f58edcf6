//! Hints of files: what an info object may say, and what is reported.
//!
//! What nothing here looks at is ignored, as the standard has it, and not reported.

use crate::environment::memory_kinds;

/// The permissions of a file that is made, before the process's mask.
const PERMISSIONS: u32 = 0o666;

/// What a program has said of a file.
#[derive(Clone, Default)]
pub(super) struct Hints {
    pub pairs: Vec<(String, String)>,
}

impl Hints {
    /// Tells whether a hint's value means something here.
    fn is_recognised(key: &str, value: &str, opens: bool) -> bool {
        match key {
            "file_perm" => opens && u32::from_str_radix(value, 8).is_ok_and(|bits| bits <= 0o7777),
            memory_kinds::ASSERT_KEY => memory_kinds::is_recognised(value),
            _ => false,
        }
    }

    /// Takes those of an info object's pairs that mean something.
    pub fn update(&mut self, pairs: Vec<(String, String)>, opens: bool) {
        for (key, value) in pairs {
            if !Self::is_recognised(&key, value.trim_matches(' '), opens) {
                continue;
            }
            match self.pairs.iter_mut().find(|(known, _)| *known == key) {
                Some((_, old)) => *old = value,
                None => self.pairs.push((key, value)),
            }
        }
    }

    /// Returns the permissions of a file that is made.
    pub fn permissions(&self) -> u32 {
        let given = self.pairs.iter().find(|(key, _)| key == "file_perm");
        given
            .and_then(|(_, value)| u32::from_str_radix(value.trim_matches(' '), 8).ok())
            .unwrap_or(PERMISSIONS)
    }
}
