//! Hints of communicators (chapter 7): the info keys the library knows, and their values.
//!
//! An unknown key, or a value that makes no sense, is ignored, as the standard has it: the program sees by
//! `MPI_Comm_get_info` what is in effect.

use crate::arguments::check;
use crate::communicators::communicator::Communicator;
use crate::environment::info::{self, Info};
use crate::environment::memory_kinds;
use crate::process::Process;
use std::sync::Arc;
use weft_base::{Out, Result, abi};

/// The hints that are true or false, and false by default.
const ASSERTIONS: [&str; 5] = [
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
    "mpi_assert_strict_persistent_collective_ordering",
];

/// The hints of one communicator, but for those that choose algorithms, which belong to its team: all ranks must have
/// the same of them (`weft_coll::Team::hint`).
#[derive(Clone, Debug, Default)]
pub struct Hints {
    assertions: [bool; ASSERTIONS.len()],
    /// The value of `mpi_assert_memory_alloc_kinds`, if it was set.
    memory_kinds: Option<String>,
}

impl Hints {
    /// Takes over what is understood; the rest stays as it was.
    pub fn update(&mut self, pairs: &[(String, String)]) {
        for (key, value) in pairs {
            if let Some(which) = ASSERTIONS.iter().position(|known| known == key) {
                match value.trim_matches(' ') {
                    "true" => self.assertions[which] = true,
                    "false" => self.assertions[which] = false,
                    _ => {}
                }
            } else if key == memory_kinds::ASSERT_KEY && memory_kinds::is_recognised(value) {
                self.memory_kinds = Some(value.clone());
            }
        }
    }

    /// Returns all hints, those with default values included.
    pub fn pairs(&self) -> Vec<(String, String)> {
        let assertions = ASSERTIONS.iter().zip(self.assertions);
        let mut pairs: Vec<_> = assertions.map(|(key, on)| (key.to_string(), on.to_string())).collect();
        pairs.extend(self.memory_kinds.clone().map(|kinds| (memory_kinds::ASSERT_KEY.to_string(), kinds)));
        pairs
    }
}

impl Communicator {
    /// Takes over what is understood of the hints that the program gives with a call that all ranks make.
    pub(crate) fn hint(&self, pairs: &[(String, String)]) {
        self.hints.lock().update(pairs);
        self.team.hint(pairs);
    }
}

/// `MPI_Comm_set_info`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_INFO`
pub fn comm_set_info(comm: abi::Comm, info: abi::Info) -> Result {
    let process = Process::current()?;
    let communicator = process.communicator(comm)?;
    communicator.hint(&info::optional(info)?);
    Ok(())
}

/// `MPI_Comm_get_info`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_ARG`
pub fn comm_get_info(comm: abi::Comm, info_used: Out<abi::Info>) -> Result {
    check::output(info_used, "info_used")?;
    let process = Process::current()?;
    let communicator = process.communicator(comm)?;
    let mut pairs = communicator.hints.lock().pairs();
    pairs.extend_from_slice(communicator.team.hints());
    let kinds = memory_kinds::of_origin(process, communicator.values.group.origin());
    pairs.push((memory_kinds::KEY.into(), kinds));
    info_used.set(abi::Info(process.infos.insert(Arc::new(Info::new(pairs)))));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(key: &str, value: &str) -> (String, String) {
        (key.into(), value.into())
    }

    #[test]
    fn what_is_not_understood_changes_nothing() {
        let mut hints = Hints::default();
        hints.update(&[pair("mpi_assert_no_any_tag", "true"), pair("colour", "red")]);
        hints.update(&[pair("mpi_assert_no_any_tag", "perhaps"), pair("mpi_assert_exact_length", "true")]);
        let pairs = hints.pairs();
        assert_eq!(pairs.len(), ASSERTIONS.len());
        assert_eq!(pairs[0], pair("mpi_assert_no_any_tag", "true"));
        assert_eq!(pairs[1], pair("mpi_assert_no_any_source", "false"));
        assert_eq!(pairs[2], pair("mpi_assert_exact_length", "true"));
        hints.update(&[pair("mpi_assert_no_any_tag", "false")]);
        assert_eq!(hints.pairs()[0].1, "false");
    }
}
