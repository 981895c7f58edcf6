//! Lists of displacements and lengths, in 32 bits where they fit: a kernel reads them once for every block it moves.

/// A displacement in a list.
pub trait Offset: Copy {
    /// Returns it in bytes.
    fn bytes(self) -> isize;
}

impl Offset for i32 {
    #[inline(always)]
    fn bytes(self) -> isize {
        self as isize
    }
}

impl Offset for i64 {
    #[inline(always)]
    fn bytes(self) -> isize {
        self as isize
    }
}

/// Displacements of blocks.
#[derive(Debug, PartialEq, Hash)]
pub enum Offsets {
    /// All fit 32 bits.
    Short(Box<[i32]>),
    /// Some do not.
    Long(Box<[i64]>),
}

/// A part of [`Offsets`].
#[derive(Clone, Copy)]
pub enum OffsetsPart<'a> {
    /// As [`Offsets::Short`].
    Short(&'a [i32]),
    /// As [`Offsets::Long`].
    Long(&'a [i64]),
}

impl<'a> OffsetsPart<'a> {
    /// Returns how many there are.
    #[inline(always)]
    pub fn len(self) -> usize {
        match self {
            Self::Short(offsets) => offsets.len(),
            Self::Long(offsets) => offsets.len(),
        }
    }

    /// Returns one.
    ///
    /// # Panics
    /// If there is none at `index`.
    #[inline(always)]
    pub fn get(self, index: usize) -> i64 {
        match self {
            Self::Short(offsets) => i64::from(offsets[index]),
            Self::Long(offsets) => offsets[index],
        }
    }

    /// Returns the first `count` and the rest.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn split(self, count: usize) -> (Self, Self) {
        match self {
            Self::Short(offsets) => {
                let (first, rest): (&'a [i32], &'a [i32]) = offsets.split_at(count);
                (Self::Short(first), Self::Short(rest))
            }
            Self::Long(offsets) => {
                let (first, rest) = offsets.split_at(count);
                (Self::Long(first), Self::Long(rest))
            }
        }
    }
}

impl Offsets {
    /// Collects displacements.
    pub fn new(offsets: impl Iterator<Item = i64> + Clone) -> Self {
        if offsets.clone().all(|o| i32::try_from(o).is_ok()) {
            Self::Short(offsets.map(|o| o as i32).collect())
        } else {
            Self::Long(offsets.collect())
        }
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Short(offsets) => offsets.len(),
            Self::Long(offsets) => offsets.len(),
        }
    }

    /// Returns one.
    ///
    /// # Panics
    /// If there is none at `index`.
    pub fn get(&self, index: usize) -> i64 {
        match self {
            Self::Short(offsets) => i64::from(offsets[index]),
            Self::Long(offsets) => offsets[index],
        }
    }

    /// Returns `count` of them from `first` on.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn part(&self, first: usize, count: usize) -> OffsetsPart<'_> {
        match self {
            Self::Short(offsets) => OffsetsPart::Short(&offsets[first..first + count]),
            Self::Long(offsets) => OffsetsPart::Long(&offsets[first..first + count]),
        }
    }

    /// Lists them.
    pub fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        (0..self.len()).map(|i| self.get(i))
    }
}

/// For each of a list of parts, how many data bytes there are up to its end.
#[derive(Debug, PartialEq, Hash)]
pub enum Ends {
    /// All fit 32 bits.
    Short(Box<[u32]>),
    /// Some do not.
    Long(Box<[u64]>),
}

impl Ends {
    /// Adds up the lengths of the parts.
    pub fn new(lengths: impl Iterator<Item = u64> + Clone) -> Self {
        let total: u64 = lengths.clone().sum();
        if u32::try_from(total).is_ok() {
            let mut end = 0;
            let ends = lengths.map(|length| {
                end += length as u32;
                end
            });
            Self::Short(ends.collect())
        } else {
            let mut end = 0;
            let ends = lengths.map(|length| {
                end += length;
                end
            });
            Self::Long(ends.collect())
        }
    }

    /// Returns the end of a part.
    ///
    /// # Panics
    /// If there is none at `index`.
    #[inline(always)]
    pub fn get(&self, index: usize) -> u64 {
        match self {
            Self::Short(ends) => u64::from(ends[index]),
            Self::Long(ends) => ends[index],
        }
    }

    /// Returns the number of data bytes before a part.
    #[inline(always)]
    pub fn start(&self, index: usize) -> u64 {
        if index == 0 { 0 } else { self.get(index - 1) }
    }

    /// Returns the number of data bytes of a part.
    #[inline(always)]
    pub fn length(&self, index: usize) -> u64 {
        self.get(index) - self.start(index)
    }

    /// Returns the part that data byte `position` is in; the number of parts if there is none.
    pub fn find(&self, position: u64) -> usize {
        match self {
            Self::Short(ends) => ends.partition_point(|end| u64::from(*end) <= position),
            Self::Long(ends) => ends.partition_point(|end| *end <= position),
        }
    }
}
