//! Hints of files: what an info object may say, and what is reported.
//!
//! What nothing here looks at is ignored, as the standard has it, and not reported. What all ranks must agree on is what the first
//! rank says ([`Tuning`]).

use crate::environment::memory_kinds;
use weft_base::Result;
use weft_coll::Team;
use weft_io::Direction;

/// The permissions of a file that is made, before the process's mask.
const PERMISSIONS: u32 = 0o666;
/// The bytes of the windows in which collective operations go through their parts of a file.
const BUFFER: u64 = 4 << 20;
/// At multiples of how many bytes parts begin, at least.
const ALIGNMENT: u64 = 64 << 10;

/// Whether ranks read or write for each other in collective operations.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// Where that is of use.
    #[default]
    Chosen,
    /// Always, if it is possible.
    Merged,
    /// Never.
    Apart,
}

impl Way {
    const NAMES: [(Self, &str); 3] =
        [(Self::Chosen, "automatic"), (Self::Merged, "enable"), (Self::Apart, "disable")];

    fn of(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|(_, known)| name.eq_ignore_ascii_case(known)).map(|(way, _)| way)
    }

    fn name(self) -> &'static str {
        Self::NAMES[self as usize].1
    }
}

/// How collective operations are carried out: the same at all ranks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tuning {
    /// How many ranks work for all, if the program says it.
    pub nodes: Option<u64>,
    pub buffer: u64,
    write: Way,
    read: Way,
    /// The bytes of a stripe, if the program says it; those of a block of the file system.
    unit: Option<u64>,
    block: u64,
}

impl Default for Tuning {
    fn default() -> Self {
        Self { nodes: None, buffer: BUFFER, write: Way::Chosen, read: Way::Chosen, unit: None, block: 1 }
    }
}

impl Tuning {
    /// Returns whether ranks work for each other.
    pub fn way(&self, direction: Direction) -> Way {
        if direction == Direction::Write { self.write } else { self.read }
    }

    /// Returns at multiples of how many bytes parts of the file begin.
    pub fn alignment(&self) -> u64 {
        self.unit.unwrap_or_else(|| ALIGNMENT.max(self.block).next_multiple_of(self.block))
    }

    /// Takes a hint, if it is one of these and its value means something.
    fn take(&mut self, key: &str, value: &str) -> bool {
        let number = || value.parse::<u64>().ok().filter(|&number| number > 0 && number <= i64::MAX as u64);
        let set = |place: &mut Way, way: Option<Way>| way.map(|way| *place = way).is_some();
        match key {
            "cb_nodes" => number().map(|number| self.nodes = Some(number)).is_some(),
            "cb_buffer_size" => number().map(|number| self.buffer = number).is_some(),
            "striping_unit" => number().map(|number| self.unit = Some(number)).is_some(),
            "romio_cb_write" => set(&mut self.write, Way::of(value)),
            "romio_cb_read" => set(&mut self.read, Way::of(value)),
            "collective_buffering" => {
                let way = match value.to_ascii_lowercase().as_str() {
                    "true" => Some(Way::Merged),
                    "false" => Some(Way::Apart),
                    _ => None,
                };
                set(&mut self.write, way) && set(&mut self.read, way)
            }
            _ => false,
        }
    }

    /// Takes over what the first rank has, and the block that it has found.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` if a rank is lost or in another call.
    pub fn agree(&mut self, team: &Team, block: u64) -> Result {
        let ways = self.write as u64 | (self.read as u64) << 2;
        let mine = [self.nodes.unwrap_or(0), self.buffer, ways, self.unit.unwrap_or(0), block];
        let mut words = mine.map(u64::to_ne_bytes);
        team.broadcast_bytes(0, words.as_flattened_mut())?;
        let [nodes, buffer, ways, unit, block] = words.map(u64::from_ne_bytes);
        let some = |number: u64| Some(number).filter(|&number| number > 0);
        let way = |bits: u64| Way::NAMES[(bits & 3).min(2) as usize].0;
        *self = Self {
            nodes: some(nodes),
            buffer,
            write: way(ways),
            read: way(ways >> 2),
            unit: some(unit),
            block: block.max(1),
        };
        Ok(())
    }

    /// Returns what is reported: how many ranks work, and the rest.
    fn pairs(&self, nodes: usize) -> Vec<(String, String)> {
        let ways = [self.write, self.read];
        let buffering = match ways {
            [Way::Apart, Way::Apart] => "false",
            _ => "true",
        };
        let mut pairs = vec![
            ("cb_nodes", nodes.to_string()),
            ("cb_buffer_size", self.buffer.to_string()),
            ("collective_buffering", buffering.to_owned()),
            ("romio_cb_read", self.read.name().to_owned()),
            ("romio_cb_write", self.write.name().to_owned()),
        ];
        pairs.extend(self.unit.map(|unit| ("striping_unit", unit.to_string())));
        pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

/// What a program has said of a file.
#[derive(Clone, Default)]
pub(super) struct Hints {
    pairs: Vec<(String, String)>,
    pub tuning: Tuning,
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
            let text = value.trim_matches(' ');
            if self.tuning.take(&key, text) || !Self::is_recognised(&key, text, opens) {
                continue;
            }
            match self.pairs.iter_mut().find(|(known, _)| *known == key) {
                Some((_, old)) => *old = value,
                None => self.pairs.push((key, value)),
            }
        }
    }

    /// Returns what is reported, where so many ranks work for all in collective operations.
    pub fn reported(&self, nodes: usize) -> Vec<(String, String)> {
        let mut all = self.tuning.pairs(nodes);
        all.extend(self.pairs.iter().cloned());
        all
    }

    /// Returns the permissions of a file that is made.
    pub fn permissions(&self) -> u32 {
        let given = self.pairs.iter().find(|(key, _)| key == "file_perm");
        given
            .and_then(|(_, value)| u32::from_str_radix(value.trim_matches(' '), 8).ok())
            .unwrap_or(PERMISSIONS)
    }
}
