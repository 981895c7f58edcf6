//! One row of the table, as text and as a value.

use super::names::{Algorithm, Collective, Level};
use crate::settings::{Bytes, bytes};
use core::fmt;
use core::ops::RangeInclusive;

/// Which algorithm a collective takes at a level, among a number of members, for a number of bytes.
///
/// Written `bcast: slots @-8K`, `allreduce: in-place @2K-64K ranks=8- segment=4K`, `bcast/nodes: binomial nodes=16-`:
/// `@` begins the range of bytes, both ends belong to a range, an end left out is open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The collective.
    pub collective: Collective,
    /// Between whom.
    pub level: Level,
    /// For how many members.
    pub members: RangeInclusive<u32>,
    /// For how many bytes; what counts as a collective's bytes is in `docs/book/src/collectives.md`.
    pub bytes: RangeInclusive<u64>,
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The smallest part of the data that is moved or reduced at a time, in bytes; 0 if the algorithm has none.
    pub segment: u32,
    /// How much of a segment is reduced over all members at a time, in bytes; 0 if the algorithm has none.
    pub block: u32,
}

impl Row {
    /// Returns a row for all members and bytes.
    pub fn new(collective: Collective, level: Level, algorithm: Algorithm) -> Self {
        let (segment, block) = algorithm.parameters(collective, level);
        Self { collective, level, members: 0..=u32::MAX, bytes: 0..=u64::MAX, algorithm, segment, block }
    }

    /// Tells whether this row, as the later one, leaves nothing of another.
    pub(super) fn hides(&self, other: &Self) -> bool {
        fn contains<T: PartialOrd>(outer: &RangeInclusive<T>, inner: &RangeInclusive<T>) -> bool {
            outer.start() <= inner.start() && inner.end() <= outer.end()
        }
        (self.collective, self.level) == (other.collective, other.level)
            && contains(&self.members, &other.members)
            && contains(&self.bytes, &other.bytes)
    }
}

/// Writes a range's ends; an open one is left out.
fn ends<T: PartialEq>(range: &RangeInclusive<T>, low: T, high: T, show: impl Fn(&T) -> String) -> String {
    let end = |value: &T, open: T| if *value == open { String::new() } else { show(value) };
    if range.start() == range.end() {
        return show(range.start());
    }
    format!("{}-{}", end(range.start(), low), end(range.end(), high))
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.collective.name())?;
        if self.level != Level::Ranks {
            write!(f, "/{}", self.level.name())?;
        }
        write!(f, ": {}", self.algorithm.name())?;
        if self.bytes != (0..=u64::MAX) {
            write!(f, " @{}", ends(&self.bytes, 0, u64::MAX, |&b| Bytes(b).to_string()))?;
        }
        if self.members != (0..=u32::MAX) {
            write!(f, " {}={}", self.level.name(), ends(&self.members, 0, u32::MAX, u32::to_string))?;
        }
        let (segment, block) = self.algorithm.parameters(self.collective, self.level);
        for (name, value, default) in [("segment", self.segment, segment), ("block", self.block, block)] {
            if value != default {
                write!(f, " {name}={}", Bytes(value.into()))?;
            }
        }
        Ok(())
    }
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

fn range<T: Copy + PartialOrd>(
    text: &str,
    all: RangeInclusive<T>,
    read: impl Fn(&str) -> Option<T>,
) -> Result<RangeInclusive<T>, String> {
    let wrong = || format!("{text:?} is no range; write LOW-HIGH, LOW- or -HIGH");
    let end = |text: &str, open: T| if text.is_empty() { Some(open) } else { read(text) };
    let (low, high) = match text.split_once('-') {
        Some((low, high)) if !(low.is_empty() && high.is_empty()) => {
            (end(low, *all.start()), end(high, *all.end()))
        }
        Some(_) => (None, None),
        None => (read(text), read(text)),
    };
    let (low, high) = low.zip(high).ok_or_else(wrong)?;
    if low > high {
        return Err(format!("range {text:?} begins above its end"));
    }
    Ok(low..=high)
}

/// Reads what follows the colon of a row of one collective and level.
///
/// # Errors
/// Says what is wrong, and what is possible.
pub fn parse_tail(collective: Collective, level: Level, text: &str) -> Result<Row, String> {
    let spaced = text.replace('@', " @");
    let mut words = spaced.split_whitespace();
    let name = words.next().unwrap_or_default();
    let possible = Algorithm::of(collective, level);
    let found = Algorithm::find(name).filter(|algorithm| possible.contains(algorithm));
    let algorithm = found.ok_or_else(|| {
        let possible = names(possible.iter().map(|algorithm| algorithm.name()));
        let (collective, level) = (collective.name(), level.name());
        format!("{name:?} is no algorithm of {collective} at level {level}; possible are {possible}")
    })?;
    let mut row = Row::new(collective, level, algorithm);
    for word in words {
        if let Some(sizes) = word.strip_prefix('@') {
            row.bytes = range(sizes, 0..=u64::MAX, bytes)?;
            continue;
        }
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let parameter = |old: u32| -> Result<u32, String> {
            if old == 0 {
                return Err(format!("{} of {} has no {key}", algorithm.name(), collective.name()));
            }
            let possible = || format!("{value:?} is no {key}; possible is bytes from 64 to 1G");
            bytes(value).filter(|b| (64..=1 << 30).contains(b)).map(|b| b as u32).ok_or_else(possible)
        };
        match key {
            "segment" => row.segment = parameter(row.segment)?,
            "block" => row.block = parameter(row.block)?,
            _ if key == level.name() => {
                row.members = range(value, 0..=u32::MAX, |text| text.parse().ok())?;
            }
            _ => {
                let level = level.name();
                return Err(format!(
                    "{word:?} is not understood; possible are @BYTES, {level}=RANGE, segment=BYTES, block=BYTES"
                ));
            }
        }
    }
    if algorithm.is_common()
        && level == Level::Ranks
        && !collective.has_common_size()
        && row.bytes != (0..=u64::MAX)
    {
        return Err(format!(
            "{} of {} cannot depend on bytes, which not every rank knows; leave @ out",
            algorithm.name(),
            collective.name()
        ));
    }
    Ok(row)
}

/// Reads rows, divided by semicolons or line ends; what follows `#` on a line is a comment. `all` stands for every
/// collective that has the algorithm. Returns each row with its line's number.
///
/// # Errors
/// The line's number, what is wrong there, and what is possible.
pub fn parse_rows(text: &str) -> Result<Vec<(usize, Row)>, (usize, String)> {
    let mut rows = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        for part in line.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            let parsed = parse_row(part).map_err(|why| (index + 1, why))?;
            rows.extend(parsed.into_iter().map(|row| (index + 1, row)));
        }
    }
    Ok(rows)
}

fn parse_row(text: &str) -> Result<Vec<Row>, String> {
    let (head, tail) = text
        .split_once(':')
        .ok_or_else(|| format!("{text:?} is no row; write COLLECTIVE: ALGORITHM @BYTES"))?;
    let (name, level) = head.trim().split_once('/').unwrap_or((head.trim(), "ranks"));
    let (name, level_name) = (name.trim(), level.trim());
    let level = Level::find(level_name).ok_or_else(|| {
        format!("{level_name:?} is no level; possible are {}", names(Level::ALL.iter().map(|l| l.name())))
    })?;
    if name != "all" {
        let collective = Collective::find(name).ok_or_else(|| {
            let possible = names(Collective::ALL.iter().map(|collective| collective.name()));
            format!("{name:?} is no collective; possible are all, {possible}")
        })?;
        return Ok(vec![parse_tail(collective, level, tail)?]);
    }
    let all: Vec<_> = Collective::ALL.iter().map(|&collective| parse_tail(collective, level, tail)).collect();
    if all.iter().all(Result::is_err) {
        let algorithm = tail.split_whitespace().next().unwrap_or_default();
        let first = all.into_iter().find_map(Result::err).unwrap_or_default();
        return Err(format!("no collective takes {algorithm:?} so: {first}"));
    }
    Ok(all.into_iter().filter_map(Result::ok).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Row {
        let rows = parse_rows(text).unwrap();
        assert_eq!(rows.len(), 1, "{text}");
        rows[0].1.clone()
    }

    #[test]
    fn rows_are_read_as_they_are_written() {
        for text in [
            "bcast: slots",
            "bcast: in-place @1K-",
            "bcast: slots @-8K ranks=2-16",
            "allreduce: in-place @2049-64K ranks=8- segment=4K block=32K",
            "bcast/nodes: chain @1M- nodes=3 segment=128K",
            "gatherv: schedule ranks=-4",
        ] {
            assert_eq!(one(text).to_string(), text);
        }
        assert_eq!(one(" bcast :in-place@1K- # why").to_string(), "bcast: in-place @1K-");
        assert_eq!(one("scan: slots@64").bytes, 64..=64);
        let two = parse_rows("bcast:slots;\n\n# nothing\nscan: in-place").unwrap();
        assert_eq!(two.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 4]);
    }

    #[test]
    fn all_stands_for_those_that_have_the_algorithm() {
        let of = |text| parse_rows(text).unwrap().len();
        assert_eq!(of("all: schedule"), Collective::ALL.len());
        assert_eq!(of("all: slots"), Collective::ALL.len() - 3);
        assert_eq!(of("all/nodes: pairwise"), 5);
        // Four collectives cannot let a schedule depend on bytes.
        assert_eq!(of("all: schedule @1K-"), Collective::ALL.len() - 4);
    }

    #[test]
    fn mistakes_say_line_and_what_is_possible() {
        for (text, line, part) in [
            ("bcast slots", 1, "write COLLECTIVE: ALGORITHM"),
            ("bcast: slots\nbcats: slots", 2, "\"bcats\" is no collective; possible are all, barrier, bcast"),
            (
                "bcast: ring",
                1,
                "is no algorithm of bcast at level ranks; possible are slots, in-place, schedule",
            ),
            ("bcast/core: slots", 1, "\"core\" is no level; possible are ranks, nodes"),
            ("bcast/nodes: slots", 1, "possible are flat, binary"),
            ("bcast:", 1, "\"\" is no algorithm"),
            ("bcast: slots @8K-1K", 1, "begins above its end"),
            ("bcast: slots @-", 1, "write LOW-HIGH"),
            ("bcast: slots @1Q-", 1, "write LOW-HIGH"),
            ("bcast: slots nodes=3", 1, "possible are @BYTES, ranks=RANGE"),
            ("bcast: slots segment=1K", 1, "slots of bcast has no segment"),
            ("reduce: in-place segment=1", 1, "bytes from 64 to 1G"),
            ("alltoallv: schedule @1K-", 1, "which not every rank knows"),
            ("all: ring", 1, "no collective takes \"ring\""),
        ] {
            let (at, why) = parse_rows(text).unwrap_err();
            assert_eq!(at, line, "{text}");
            assert!(why.contains(part), "{text}: {why}");
        }
    }
}
