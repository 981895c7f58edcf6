//! The data of a file that a rank sees: from a displacement on, instances of a filetype one behind the other.

use crate::representation::Representation;
use weft_base::constants::*;
use weft_base::{Error, Result};
use weft_datatype::{Datatype, for_each_run};

/// A run of data in an instance of the filetype.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Where it begins, from the instance's first byte of data on.
    offset: u64,
    length: u64,
    /// How much data of the instance is before it.
    before: u64,
}

/// A rank's view of a file.
pub struct View {
    displacement: u64,
    etype: Datatype,
    filetype: Datatype,
    representation: Representation,
    /// Bytes of an etype in the file.
    unit: u64,
    /// What instances of the filetype have in the file: data, distance, and where the data of the first begins.
    size: u64,
    extent: u64,
    first: u64,
    runs: Box<[Run]>,
    /// Whether runs of what is only read overlap.
    overlaps: bool,
    /// Whether only its first instance can be used, as others would overlap it or go backwards.
    is_once: bool,
}

#[cold]
fn refused(what: &str) -> Error {
    Error::new(MPI_ERR_TYPE, format!("filetype {what}"))
}

impl View {
    /// Makes a view. A file that `is_writable` allows no overlaps.
    ///
    /// # Errors
    /// `MPI_ERR_TYPE` for datatypes of which no view can be made; what the representation's functions return.
    pub fn new(
        displacement: u64,
        etype: Datatype,
        filetype: Datatype,
        representation: Representation,
        is_writable: bool,
    ) -> Result<Self> {
        let unit = representation.in_file(&etype)?.size();
        let in_file = representation.in_file(&filetype)?.into_owned();
        if unit == 0 {
            return Err(Error::new(MPI_ERR_TYPE, "etype has no data; pass a datatype that has some"));
        }
        let size = in_file.size();
        if size % unit != 0 {
            let text = format!("has {size} bytes in the file, which is no multiple of the etype's {unit}");
            return Err(refused(&text));
        }
        let mut view = Self {
            displacement,
            etype,
            filetype,
            representation,
            unit,
            size,
            extent: u64::try_from(in_file.extent()).unwrap_or(0),
            first: 0,
            runs: Box::default(),
            overlaps: false,
            is_once: false,
        };
        view.find_runs(&in_file, is_writable)?;
        Ok(view)
    }

    fn find_runs(&mut self, filetype: &Datatype, is_writable: bool) -> Result {
        let mut runs: Vec<Run> = Vec::new();
        let (mut first, mut before, mut wrong) = (None, 0, None);
        for_each_run(filetype, 1, |displacement, length| {
            let first = *first.get_or_insert(displacement);
            if displacement < 0 {
                wrong = Some("begins before its displacement; negative displacements are not allowed");
            }
            let Ok(offset) = u64::try_from(displacement - first) else {
                wrong = Some("goes backwards; displacements must not decrease");
                return;
            };
            match runs.last_mut() {
                Some(last) if offset == last.offset + last.length => last.length += length,
                Some(last) if offset < last.offset => {
                    wrong = Some("goes backwards; displacements must not decrease");
                }
                Some(last) if is_writable && offset < last.offset + last.length => {
                    wrong = Some("overlaps itself, which is not allowed where the file may be written");
                }
                _ => runs.push(Run { offset, length, before }),
            }
            before += length;
        });
        // Libraries above MPI make filetypes of which they use one instance, and do not care for the extent.
        let length = runs.last().map_or(0, |last| last.offset + last.length);
        let reach = runs.last().map_or(0, |last| if is_writable { length } else { last.offset });
        if self.size > 0 && (self.extent < reach || self.extent == 0) {
            self.is_once = true;
            self.extent = length;
        }
        if let Some(what) = wrong {
            return Err(refused(what));
        }
        let meets = |pair: &[Run]| pair[1].offset < pair[0].offset + pair[0].length;
        self.overlaps = runs.windows(2).any(meets) || length > self.extent;
        self.first = first.unwrap_or(0) as u64;
        self.runs = runs.into();
        Ok(())
    }

    /// Returns where it begins.
    pub fn displacement(&self) -> u64 {
        self.displacement
    }

    /// Returns the etype.
    pub fn etype(&self) -> &Datatype {
        &self.etype
    }

    /// Returns the filetype.
    pub fn filetype(&self) -> &Datatype {
        &self.filetype
    }

    /// Returns the representation.
    pub fn representation(&self) -> &Representation {
        &self.representation
    }

    /// Returns the bytes of an etype in the file.
    pub fn unit(&self) -> u64 {
        self.unit
    }

    /// Returns the position in the file of a byte of data, if there is one.
    pub fn offset(&self, position: u64) -> Option<u64> {
        let mut pieces = self.pieces(position, 1)?;
        pieces.next().map(|(offset, _)| offset)
    }

    /// Returns how far behind the last byte of an operation's data its other bytes may lie: runs of what is only read may overlap.
    pub(crate) fn overhang(&self) -> u64 {
        self.runs.iter().map(|run| run.length - 1).max().unwrap_or(0)
    }

    /// Tells whether it has bytes of the file several times, as what is only read may.
    pub(crate) fn overlaps(&self) -> bool {
        self.overlaps
    }

    /// Returns how many bytes its pieces of the file have on average.
    pub(crate) fn usual_piece(&self) -> u64 {
        self.size / self.runs.len().max(1) as u64
    }

    /// Tells whether an operation that ends behind this byte of data would need a second instance where there can be only one.
    pub(crate) fn is_exhausted(&self, end: u64) -> bool {
        self.is_once && end > self.size
    }

    /// Returns how many bytes of data lie before a position of the file.
    pub fn bytes_before(&self, offset: u64) -> u64 {
        let Some(within) = offset.checked_sub(self.displacement + self.first).filter(|_| self.size > 0)
        else {
            return 0;
        };
        let (instances, rest) = (within / self.extent, within % self.extent);
        let index = self.runs.partition_point(|run| run.offset <= rest);
        let run = self.runs[index - 1];
        let before = instances * self.size + run.before + run.length.min(rest - run.offset);
        if self.is_once { before.min(self.size) } else { before }
    }

    /// Cuts data into pieces of the file: offsets and lengths, in order; neighbours are one piece. Nothing if the view has no data,
    /// if the pieces go beyond what a file can have, or beyond the only instance of a filetype whose instances would overlap.
    pub fn pieces(&self, position: u64, length: u64) -> Option<Pieces<'_>> {
        let end = position.checked_add(length)?;
        if self.size == 0 {
            return (length == 0).then_some(Pieces { view: self, instance: 0, run: 0, within: 0, left: 0 });
        }
        if self.is_exhausted(end) {
            return None;
        }
        let instances = u128::from(end / self.size) + 1;
        let last =
            instances * u128::from(self.extent) + u128::from(self.displacement) + u128::from(self.first);
        if last > i64::MAX as u128 && length > 0 {
            // Only what is read or written has to fit.
            let reached = self.place(end.saturating_sub(1))?;
            i64::try_from(reached + 1).ok()?;
        }
        let (instance, rest) = (position / self.size, position % self.size);
        let run = self.runs.partition_point(|run| run.before <= rest) - 1;
        Some(Pieces { view: self, instance, run, within: rest - self.runs[run].before, left: length })
    }

    /// Returns the position in the file of a byte of data, in arithmetic that cannot overflow.
    fn place(&self, position: u64) -> Option<u64> {
        let (instance, rest) = (position / self.size, position % self.size);
        let run = self.runs[self.runs.partition_point(|run| run.before <= rest) - 1];
        let within = u128::from(run.offset) + u128::from(rest - run.before);
        let place = u128::from(instance) * u128::from(self.extent)
            + u128::from(self.displacement)
            + u128::from(self.first)
            + within;
        u64::try_from(place).ok().filter(|&place| place < i64::MAX as u64)
    }
}

/// Pieces of a file, in order.
pub struct Pieces<'a> {
    view: &'a View,
    instance: u64,
    run: usize,
    within: u64,
    left: u64,
}

impl Pieces<'_> {
    /// Returns the next piece of one run.
    fn part(&mut self) -> Option<(u64, u64)> {
        if self.left == 0 {
            return None;
        }
        let view = self.view;
        let run = view.runs[self.run];
        let start = view.displacement + view.first + self.instance * view.extent + run.offset + self.within;
        let length = (run.length - self.within).min(self.left);
        self.left -= length;
        self.within += length;
        if self.within == run.length {
            self.within = 0;
            self.run += 1;
        }
        if self.run == view.runs.len() {
            self.run = 0;
            self.instance += 1;
        }
        Some((start, length))
    }

    /// Tells where the next piece begins.
    fn next_start(&self) -> Option<u64> {
        let view = self.view;
        (self.left > 0).then(|| {
            let run = view.runs[self.run];
            view.displacement + view.first + self.instance * view.extent + run.offset + self.within
        })
    }

    /// Returns everything left as one piece, where the filetype has no holes.
    fn rest(&mut self) -> Option<(u64, u64)> {
        let start = self.next_start()?;
        let length = core::mem::take(&mut self.left);
        Some((start, length))
    }
}

impl Iterator for Pieces<'_> {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        if self.view.runs.len() == 1 && self.view.runs[0].length == self.view.extent {
            return self.rest();
        }
        let (start, mut length) = self.part()?;
        while self.next_start() == Some(start + length) {
            length += self.part()?.1;
        }
        Some((start, length))
    }
}

#[cfg(test)]
mod tests;
