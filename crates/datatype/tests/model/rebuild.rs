//! Makes a type again from what its envelope and contents say.

use weft_base::Result;
use weft_base::constants as c;
use weft_datatype::{Contents, Datatype};

/// The arguments of a recorded call in the order of the call, whichever arrays they are in.
struct Arguments<'a> {
    contents: &'a Contents,
    ints: usize,
    addresses: usize,
    large: usize,
}

impl Arguments<'_> {
    fn int(&mut self) -> i32 {
        self.ints += 1;
        self.contents.integers[self.ints - 1]
    }

    /// Reads a count: one of the integers, or of the large counts if the call had such.
    fn count(&mut self) -> i64 {
        if self.contents.large_counts.is_empty() {
            return i64::from(self.int());
        }
        self.large += 1;
        self.contents.large_counts[self.large - 1]
    }

    fn address(&mut self) -> i64 {
        if !self.contents.large_counts.is_empty() {
            return self.count();
        }
        self.addresses += 1;
        self.contents.addresses[self.addresses - 1]
    }

    fn counts(&mut self, n: usize) -> Vec<i64> {
        (0..n).map(|_| self.count()).collect()
    }

    fn addresses(&mut self, n: usize) -> Vec<i64> {
        (0..n).map(|_| self.address()).collect()
    }

    fn ints(&mut self, n: usize) -> Vec<i32> {
        (0..n).map(|_| self.int()).collect()
    }
}

/// Repeats the constructor call of a derived type; nothing for a predefined one.
pub fn rebuild(ty: &Datatype) -> Option<Result<Datatype>> {
    let contents = ty.contents();
    let mut a = Arguments { contents, ints: 0, addresses: 0, large: 0 };
    let old = contents.datatypes.first();
    Some(match contents.combiner {
        c::MPI_COMBINER_DUP => old?.dup(),
        c::MPI_COMBINER_CONTIGUOUS => Datatype::contiguous(a.count(), old?),
        c::MPI_COMBINER_VECTOR => Datatype::vector(a.count(), a.count(), a.count(), old?),
        c::MPI_COMBINER_HVECTOR => Datatype::hvector(a.count(), a.count(), a.address(), old?),
        c::MPI_COMBINER_INDEXED => {
            let n = a.count() as usize;
            Datatype::indexed(&a.counts(n), &a.counts(n), old?)
        }
        c::MPI_COMBINER_HINDEXED => {
            let n = a.count() as usize;
            Datatype::hindexed(&a.counts(n), &a.addresses(n), old?)
        }
        c::MPI_COMBINER_INDEXED_BLOCK => {
            let (n, length) = (a.count() as usize, a.count());
            Datatype::indexed_block(length, &a.counts(n), old?)
        }
        c::MPI_COMBINER_HINDEXED_BLOCK => {
            let (n, length) = (a.count() as usize, a.count());
            Datatype::hindexed_block(length, &a.addresses(n), old?)
        }
        c::MPI_COMBINER_STRUCT => {
            let n = a.count() as usize;
            Datatype::structure(&a.counts(n), &a.addresses(n), &contents.datatypes)
        }
        c::MPI_COMBINER_RESIZED => Datatype::resized(a.address(), a.address(), old?),
        c::MPI_COMBINER_SUBARRAY => {
            let n = a.int() as usize;
            let (sizes, subsizes, starts) = (a.counts(n), a.counts(n), a.counts(n));
            Datatype::subarray(&sizes, &subsizes, &starts, a.int(), old?)
        }
        c::MPI_COMBINER_DARRAY => {
            let (size, rank, n) = (a.int(), a.int(), a.int() as usize);
            let gsizes = a.counts(n);
            let (distributions, arguments, grid) = (a.ints(n), a.ints(n), a.ints(n));
            Datatype::darray(size, rank, &gsizes, &distributions, &arguments, &grid, a.int(), old?)
        }
        _ => return None,
    })
}
