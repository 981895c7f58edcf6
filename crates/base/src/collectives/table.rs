//! The table, and what remains of it for a known number of members.

use super::names::{Algorithm, COLLECTIVES, Collective, Level};
use super::row::{Row, parse_rows};
use crate::settings::{self, Source};
use core::ops::RangeInclusive;
use std::path::Path;
use std::sync::OnceLock;

/// The rows that hold where nobody says otherwise.
const BUILT_IN: &str = include_str!("built_in.txt");

/// What is to be done for a size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// See [`Row::segment`].
    pub segment: u32,
    /// See [`Row::block`].
    pub block: u32,
}

/// The steps of one collective by size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Thresholds {
    /// The largest size, in bytes, for which `small` holds.
    pub up_to: u64,
    /// What holds for the smallest sizes.
    pub small: Step,
    /// What holds for larger ones: each with the largest size it holds for, ascending; the last is for all sizes.
    pub larger: Box<[(u64, Step)]>,
}

impl Thresholds {
    /// Returns what is to be done with `bytes` bytes.
    #[inline]
    pub fn at(&self, bytes: u64) -> Step {
        if bytes <= self.up_to { self.small } else { self.above(bytes) }
    }

    fn above(&self, bytes: u64) -> Step {
        let found = self.larger.iter().find(|(up_to, _)| bytes <= *up_to);
        found.map_or(self.small, |(_, step)| *step)
    }

    /// Lists all sizes' steps, each with the largest size it holds for.
    pub fn all(&self) -> impl Iterator<Item = (u64, Step)> {
        core::iter::once((self.up_to, self.small)).chain(self.larger.iter().copied())
    }
}

/// The table for a number of members at one level.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resolved {
    collectives: [Thresholds; COLLECTIVES],
    /// The numbers of members for which the same holds.
    pub members: RangeInclusive<u32>,
}

impl Resolved {
    /// Returns a collective's steps.
    #[inline]
    pub fn of(&self, collective: Collective) -> &Thresholds {
        &self.collectives[collective as usize]
    }
}

/// A row and where it is from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The row.
    pub row: Row,
    /// Where it was found.
    pub source: Source,
}

/// Rows, of which a later one goes before an earlier one. At least one row holds for any collective, level, number of
/// members and bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table(Vec<Entry>);

impl Default for Table {
    fn default() -> Self {
        let rows = parse_rows(BUILT_IN).expect("the rows that are built in are right, by a test");
        Self(rows.into_iter().map(|(_, row)| Entry { row, source: Source::Default }).collect())
    }
}

impl Table {
    /// Returns the table with the rows of a file and those of the setting `collectives`, either of which may be absent.
    ///
    /// # Errors
    /// Says what is wrong where.
    pub fn new(file: Option<&Path>, rows: Option<(&str, Source)>) -> Result<Self, String> {
        let mut table = Self::default();
        if let Some(path) = file {
            let source = |line| Source::File(path.to_owned(), line);
            table
                .0
                .extend(read_file(path)?.into_iter().map(|(line, row)| Entry { row, source: source(line) }));
        }
        if let Some((text, source)) = rows {
            let rows = parse_rows(text).map_err(|(_, why)| format!("{source}: {why}"))?;
            table.extend(rows.into_iter().map(|(_, row)| row), &source);
        }
        Ok(table)
    }

    /// Adds rows that go before all others.
    pub fn extend(&mut self, rows: impl IntoIterator<Item = Row>, source: &Source) {
        self.0.extend(rows.into_iter().map(|row| Entry { row, source: source.clone() }));
    }

    /// Returns the rows of which later ones leave something, those that go before others last.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        let hidden =
            |(index, entry): &(usize, &Entry)| self.0[index + 1..].iter().any(|l| l.row.hides(&entry.row));
        self.0.iter().enumerate().filter(move |entry| !hidden(entry)).map(|(_, entry)| entry)
    }

    /// Writes the rows that are not built in, as the setting `collectives` takes them.
    pub fn changes(&self) -> String {
        let changed = self.0.iter().filter(|entry| entry.source != Source::Default);
        changed.map(|entry| entry.row.to_string()).collect::<Vec<_>>().join("; ")
    }

    /// Returns what holds for a number of members at a level.
    pub fn resolve(&self, level: Level, members: u32) -> Resolved {
        let mut same = 0..=u32::MAX;
        for row in self.0.iter().map(|entry| &entry.row).filter(|row| row.level == level) {
            let (low, high) = (*row.members.start(), *row.members.end());
            same = if members < low {
                *same.start()..=(*same.end()).min(low - 1)
            } else if members > high {
                (*same.start()).max(high + 1)..=*same.end()
            } else {
                (*same.start()).max(low)..=(*same.end()).min(high)
            };
        }
        let collectives = core::array::from_fn(|i| self.thresholds(Collective::ALL[i], level, members));
        Resolved { collectives, members: same }
    }

    fn thresholds(&self, collective: Collective, level: Level, members: u32) -> Thresholds {
        let rows = self.0.iter().map(|entry| &entry.row);
        let rows: Vec<&Row> = rows
            .filter(|row| {
                row.collective == collective && row.level == level && row.members.contains(&members)
            })
            .collect();
        // What holds changes only where a row begins, and after its end.
        let ends = rows.iter().flat_map(|row| [row.bytes.start().checked_sub(1), Some(*row.bytes.end())]);
        let mut ends: Vec<u64> = ends.flatten().chain([u64::MAX]).collect();
        ends.sort_unstable();
        ends.dedup();
        let mut steps: Vec<(u64, Step)> = Vec::new();
        for end in ends {
            let row = rows.iter().rev().find(|row| row.bytes.contains(&end));
            let row = row.expect("a row that is built in holds everywhere, by a test");
            let step = Step { algorithm: row.algorithm, segment: row.segment, block: row.block };
            match steps.last_mut() {
                Some(last) if last.1 == step => last.0 = end,
                _ => steps.push((end, step)),
            }
        }
        let (up_to, small) = steps[0];
        Thresholds { up_to, small, larger: steps[1..].into() }
    }
}

/// Reads a file of rows.
///
/// # Errors
/// The file, the line, what is wrong and what is possible.
pub fn read_file(path: &Path) -> Result<Vec<(usize, Row)>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    parse_rows(&text).map_err(|(line, why)| format!("{}:{line}: {why}", path.display()))
}

/// Returns the table of this process: what is built in, and the settings. They hold from the first call on.
pub fn current() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let file = settings::COLLECTIVE_TABLE.text().map(Path::new);
        let rows =
            settings::COLLECTIVES.text().map(|text| (text, Source::Option("--set collectives".into())));
        // What is wrong has been reported where the settings were read.
        Table::new(file, rows).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &str) -> Table {
        Table::new(None, Some((rows, Source::Environment))).unwrap()
    }

    #[test]
    fn what_is_built_in_covers_everything() {
        let table = Table::default();
        for level in Level::ALL {
            for members in [0, 1, 2, 3, 16, 17, 1000, u32::MAX] {
                let resolved = table.resolve(level, members);
                for &collective in Collective::ALL {
                    let steps = resolved.of(collective);
                    assert_eq!(steps.all().last().unwrap().0, u64::MAX, "{collective:?}");
                    for (_, step) in steps.all() {
                        assert!(Algorithm::of(collective, level).contains(&step.algorithm));
                    }
                }
            }
        }
    }

    #[test]
    fn thresholds_say_what_the_last_matching_row_says() {
        let table = table(
            "bcast: schedule @100-200 ranks=4-8; bcast: in-place @150- ranks=8-; bcast: slots @0; \
             all: in-place @7 ranks=5; bcast: schedule @170-180",
        );
        for members in [1, 3, 4, 5, 7, 8, 9, 100] {
            let resolved = table.resolve(Level::Ranks, members);
            assert!(resolved.members.contains(&members));
            for bytes in (0..300).chain([8191, 8192, 8193, u64::MAX]) {
                let matches = |row: &&Row| {
                    row.collective == Collective::Bcast
                        && row.level == Level::Ranks
                        && row.members.contains(&members)
                        && row.bytes.contains(&bytes)
                };
                let row = table.0.iter().map(|entry| &entry.row).rfind(matches).unwrap();
                let step = resolved.of(Collective::Bcast).at(bytes);
                assert_eq!(step.algorithm, row.algorithm, "{members} members, {bytes} bytes");
            }
            let again = table.resolve(Level::Ranks, *resolved.members.end());
            assert_eq!(again, resolved);
            assert_eq!(table.resolve(Level::Ranks, *resolved.members.start()), resolved);
        }
    }

    #[test]
    fn hidden_rows_are_not_listed_and_changes_can_be_read_again() {
        let changed = table("bcast: slots @-1K; bcast: in-place; bcast: slots @-64");
        let listed: Vec<String> = changed
            .entries()
            .filter(|entry| (entry.row.collective, entry.row.level) == (Collective::Bcast, Level::Ranks))
            .map(|entry| format!("{} ({})", entry.row, entry.source))
            .collect();
        assert_eq!(listed, ["bcast: in-place (environment)", "bcast: slots @-64 (environment)"]);
        assert_eq!(table(&changed.changes()), changed);
        assert_eq!(Table::default().changes(), "");
    }

    #[test]
    fn a_bad_file_is_named_with_the_line() {
        let path = std::env::temp_dir().join(format!("weft-table-{}", std::process::id()));
        std::fs::write(&path, "# mine\nbcast: in-place\nreduce: fast\n").unwrap();
        let why = Table::new(Some(&path), None).unwrap_err();
        std::fs::write(&path, "# mine\nbcast: in-place\n").unwrap();
        let right = Table::new(Some(&path), None);
        std::fs::remove_file(&path).unwrap();
        assert!(why.contains(":3: \"fast\" is no algorithm of reduce"), "{why}");
        assert_eq!(right.unwrap().changes(), "bcast: in-place");
        assert!(Table::new(Some(&path), None).unwrap_err().contains("No such file"));
    }
}
