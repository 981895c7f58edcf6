//! Which algorithm a collective operation takes: the names, and the table that chooses by level, number of members and
//! size.
//!
//! A [`Row`] says: for this collective, at this level, among so many members, for so many bytes, take this algorithm.
//! A [`Table`] is a list of rows of which a later one goes before an earlier one: those that are built in, then those of
//! a file (setting `collective-table`), then those of the setting `collectives`, then the hints of a communicator.
//! [`Resolved`] is what remains for a known number of members: thresholds, which operations ask on their fast path.
//!
//! Everything here is pure but [`current`], the table of the process.

mod names;
mod row;
mod table;

pub use names::{Algorithm, Collective, Level};
pub use row::{Row, parse_rows, parse_tail};
pub use table::{Entry, Resolved, Step, Table, Thresholds, current, read_file};

/// The prefix of the info keys that choose algorithms.
const KEY_PREFIX: &str = "weft_";
/// What ends such a key.
const KEY_SUFFIX: &str = "_algorithm";

/// Returns the collective and level that an info key chooses the algorithm of: `weft_bcast_algorithm`,
/// `weft_bcast_nodes_algorithm`.
pub fn of_key(key: &str) -> Option<(Collective, Level)> {
    let name = key.strip_prefix(KEY_PREFIX)?.strip_suffix(KEY_SUFFIX)?;
    match name.strip_suffix("_nodes") {
        Some(name) => Some((Collective::find(name)?, Level::Nodes)),
        None => Some((Collective::find(name)?, Level::Ranks)),
    }
}

/// Returns the info key that chooses the algorithm of a collective at a level.
pub fn key_of(collective: Collective, level: Level) -> String {
    let level = if level == Level::Nodes { "_nodes" } else { "" };
    format!("{KEY_PREFIX}{}{level}{KEY_SUFFIX}", collective.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_name_collective_and_level() {
        for &collective in Collective::ALL {
            for level in Level::ALL {
                assert_eq!(of_key(&key_of(collective, level)), Some((collective, level)));
            }
        }
        assert_eq!(of_key("weft_bcast_algorithm"), Some((Collective::Bcast, Level::Ranks)));
        for key in ["weft_bcast", "bcast_algorithm", "weft_send_algorithm", "weft__algorithm"] {
            assert_eq!(of_key(key), None);
        }
    }
}
