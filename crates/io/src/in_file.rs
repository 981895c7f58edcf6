//! What a datatype becomes in a file whose elements have other sizes.
//!
//! Displacements that a constructor counts in elements are counted in the file's; those in bytes stay as they are, because such
//! datatypes are not portable. What the program's datatype was made of is in its [`Contents`].

use std::ops::Range;
use weft_base::Result;
use weft_base::constants::*;
use weft_datatype::{Basic, Contents, Datatype};

/// The arguments of a constructor's call.
struct Arguments<'a> {
    contents: &'a Contents,
    /// Counts and displacements, in the order of the call, of either form.
    values: Vec<i64>,
}

impl<'a> Arguments<'a> {
    fn of(contents: &'a Contents) -> Self {
        let values = match contents.large_counts.is_empty() {
            true => contents
                .integers
                .iter()
                .map(|&v| i64::from(v))
                .chain(contents.addresses.iter().copied())
                .collect(),
            false => contents.large_counts.clone(),
        };
        Self { contents, values }
    }

    fn value(&self, at: usize) -> i64 {
        self.values[at]
    }

    fn slice(&self, from: usize, length: usize) -> &[i64] {
        &self.values[from..from + length]
    }

    fn is_large(&self) -> bool {
        !self.contents.large_counts.is_empty()
    }

    fn subarray(&self, old: &Datatype) -> Result<Datatype> {
        let integers = &self.contents.integers;
        let (dimensions, order) = (integers[0] as usize, integers[integers.len() - 1]);
        let first = usize::from(!self.is_large());
        let part = |index: usize| self.slice(first + index * dimensions, dimensions);
        Datatype::subarray(part(0), part(1), part(2), order, old)
    }

    fn darray(&self, old: &Datatype) -> Result<Datatype> {
        let integers = &self.contents.integers;
        let (size, rank, dimensions) = (integers[0], integers[1], integers[2] as usize);
        let order = integers[integers.len() - 1];
        let sizes = if self.is_large() { self.slice(0, dimensions) } else { self.slice(3, dimensions) };
        let first = if self.is_large() { 3 } else { 3 + dimensions };
        let part = |index: usize| -> &[i32] {
            let range: Range<usize> = first + index * dimensions..first + (index + 1) * dimensions;
            &integers[range]
        };
        Datatype::darray(size, rank, sizes, part(0), part(1), part(2), order, old)
    }
}

fn bytes(length: u64) -> Result<Datatype> {
    let byte = Datatype::predefined(MPI_BYTE).expect("a predefined datatype");
    Datatype::contiguous(length as i64, byte)
}

/// Returns the datatype of the same data in a file, whose elements take `extent` bytes there.
///
/// # Errors
/// `MPI_ERR_COUNT` if it gets too large; what `extent` returns.
pub(crate) fn in_file(datatype: &Datatype, extent: &mut dyn FnMut(Basic) -> Result<u64>) -> Result<Datatype> {
    if let Some(basic) = datatype.as_predefined() {
        return bytes(extent(basic)?);
    }
    if let Some((value, index)) = datatype.as_unnamed_pair() {
        return bytes(extent(value)? + extent(index)?);
    }
    let contents = datatype.contents();
    let all = Arguments::of(contents);
    let olds = contents.datatypes.iter().map(|old| in_file(old, extent)).collect::<Result<Vec<_>>>()?;
    let old = olds.first();
    let one = || old.expect("a constructor with a datatype");
    let count = |at: usize| all.value(at) as usize;
    match contents.combiner {
        MPI_COMBINER_CONTIGUOUS => Datatype::contiguous(all.value(0), one()),
        MPI_COMBINER_VECTOR => Datatype::vector(all.value(0), all.value(1), all.value(2), one()),
        MPI_COMBINER_HVECTOR => Datatype::hvector(all.value(0), all.value(1), all.value(2), one()),
        MPI_COMBINER_INDEXED => {
            Datatype::indexed(all.slice(1, count(0)), all.slice(1 + count(0), count(0)), one())
        }
        MPI_COMBINER_HINDEXED => {
            Datatype::hindexed(all.slice(1, count(0)), all.slice(1 + count(0), count(0)), one())
        }
        MPI_COMBINER_INDEXED_BLOCK => Datatype::indexed_block(all.value(1), all.slice(2, count(0)), one()),
        MPI_COMBINER_HINDEXED_BLOCK => Datatype::hindexed_block(all.value(1), all.slice(2, count(0)), one()),
        MPI_COMBINER_STRUCT => {
            Datatype::structure(all.slice(1, count(0)), all.slice(1 + count(0), count(0)), &olds)
        }
        MPI_COMBINER_SUBARRAY => all.subarray(one()),
        MPI_COMBINER_DARRAY => all.darray(one()),
        MPI_COMBINER_RESIZED => Datatype::resized(all.value(0), all.value(1), one()),
        _ => Ok(one().clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long() -> Datatype {
        Datatype::predefined(MPI_LONG).unwrap().clone()
    }

    fn external(datatype: &Datatype) -> Datatype {
        in_file(datatype, &mut |basic| Ok(basic.external_size())).unwrap()
    }

    #[test]
    fn displacements_in_elements_are_scaled_and_those_in_bytes_are_not() {
        let shape = |datatype: &Datatype| (datatype.size(), datatype.lb(), datatype.extent());
        assert_eq!(shape(&external(&long())), (4, 0, 4));
        let vector = Datatype::vector(3, 2, 5, &long()).unwrap();
        assert_eq!((shape(&vector), shape(&external(&vector))), ((48, 0, 96), (24, 0, 48)));
        let indexed = Datatype::indexed(&[1, 2], &[1, 4], &long()).unwrap();
        assert_eq!(shape(&external(&indexed)), (12, 4, 20));
        let in_bytes = Datatype::hvector(2, 1, 100, &long()).unwrap();
        assert_eq!(shape(&external(&in_bytes)), (8, 0, 104));
        let part = Datatype::subarray(&[4, 6], &[2, 3], &[1, 2], MPI_ORDER_C, &long()).unwrap();
        assert_eq!(shape(&external(&part)), (24, 0, 96));
        let large = Datatype::subarray(&[4, 6], &[2, 3], &[1, 2], MPI_ORDER_C, &long()).unwrap();
        assert_eq!(shape(&external(&large.made_with_large_counts())), (24, 0, 96));
        let cyclic = [MPI_DISTRIBUTE_CYCLIC; 1];
        let spread = Datatype::darray(2, 1, &[8], &cyclic, &[1], &[2], MPI_ORDER_C, &long()).unwrap();
        assert_eq!(shape(&external(&spread)), (16, 0, 32));
        let spread = Datatype::darray(2, 1, &[8], &cyclic, &[1], &[2], MPI_ORDER_C, &long()).unwrap();
        assert_eq!(shape(&external(&spread.made_with_large_counts())), (16, 0, 32));
    }
}
