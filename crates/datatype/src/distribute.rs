//! Sub-arrays and distributed arrays.

use crate::construct::not_negative;
use crate::datatype::{Argument, Builder, Contents, Datatype, too_large};
use crate::layout::Placed;
use Argument::{Count, Int};
use weft_base::constants as c;
use weft_base::{Error, Result};

fn positive(value: i64, name: &str, index: usize) -> Result {
    if value < 1 {
        return Err(Error::new(c::MPI_ERR_ARG, format!("{name}[{index}] is {value}; it must be positive")));
    }
    Ok(())
}

fn order_is_c(order: i32) -> Result<bool> {
    match order {
        c::MPI_ORDER_C => Ok(true),
        c::MPI_ORDER_FORTRAN => Ok(false),
        _ => Err(Error::new(
            c::MPI_ERR_ARG,
            format!("order is {order}; it must be MPI_ORDER_C or MPI_ORDER_FORTRAN"),
        )),
    }
}

fn dimensions(ndims: usize) -> Result {
    if ndims == 0 {
        return Err(Error::new(c::MPI_ERR_ARG, "ndims is 0; it must be positive"));
    }
    Ok(())
}

/// Checks that an array of `sizes` elements fits memory; returns its extent in bytes.
fn array_extent(sizes: &[i64], old: &Datatype) -> Result<i64> {
    let elements = sizes.iter().try_fold(1i64, |n, s| n.checked_mul(*s));
    let elements = elements.ok_or_else(|| too_large("number of elements"))?;
    elements.checked_mul(old.size() as i64).ok_or_else(|| too_large("size"))?;
    elements.checked_mul(old.extent()).ok_or_else(|| too_large("extent"))
}

/// A part of an array under construction, dimension by dimension from the fastest.
struct Part {
    layout: Placed,
    /// Elements in it.
    copies: i64,
    /// First and last displacement of an element.
    low: i64,
    high: i64,
    /// Extent of the whole array in the dimensions so far.
    extent: i64,
}

impl Part {
    fn new(old: &Datatype) -> Self {
        Self { layout: old.0.layout.clone(), copies: 1, low: 0, high: 0, extent: old.extent() }
    }

    /// Adds a dimension of `size` entries of which blocks of `length` are taken: `whole` blocks from index `start` on,
    /// `step` indices apart, then one of `rest` entries.
    fn dimension(self, size: i64, start: i64, length: i64, whole: i64, step: i64, rest: i64) -> Self {
        let ex = self.extent;
        let taken = length * whole + rest;
        if taken == 0 {
            return Self { layout: Placed::empty(), copies: 0, low: 0, high: 0, extent: ex * size };
        }
        let block = self.layout.clone().repeated(length as u64, ex);
        // `step` is a distance within the array only if it is taken; else it may be anything.
        let behind = start.wrapping_add(whole.wrapping_mul(step));
        let blocks = block.repeated(whole as u64, step.wrapping_mul(ex)).moved(start * ex);
        let tail = self.layout.repeated(rest as u64, ex).moved(behind.wrapping_mul(ex));
        let last = if rest > 0 { behind + rest - 1 } else { behind.wrapping_sub(step) + length - 1 };
        let (first, last) = (start * ex, last * ex);
        Self {
            layout: Placed::sequence([blocks, tail]),
            copies: self.copies * taken,
            low: self.low + first.min(last),
            high: self.high + first.max(last),
            extent: ex * size,
        }
    }

    fn finish(self, old: &Datatype, contents: Contents) -> Result<Datatype> {
        let mut builder = Builder::new();
        builder.add(old, i128::from(self.copies), i128::from(self.low), i128::from(self.high));
        builder.markers = Some((0, i128::from(self.extent)));
        builder.finish(contents, || self.layout)
    }
}

impl Datatype {
    /// Creates the type of a sub-array of an array, with the extent of the whole array.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for an empty or impossible sub-array, `MPI_ERR_COUNT` for an array too large for 63 bits.
    pub fn subarray(
        sizes: &[i64],
        subsizes: &[i64],
        starts: &[i64],
        order: i32,
        old: &Datatype,
    ) -> Result<Datatype> {
        dimensions(sizes.len())?;
        if sizes.len() != subsizes.len() || sizes.len() != starts.len() {
            return Err(Error::new(c::MPI_ERR_ARG, "the arrays of a sub-array differ in length"));
        }
        for i in 0..sizes.len() {
            positive(sizes[i], "array_of_sizes", i)?;
            positive(subsizes[i], "array_of_subsizes", i)?;
            not_negative(starts[i], c::MPI_ERR_ARG, &format!("array_of_starts[{i}]"))?;
            let (size, part) = (sizes[i], subsizes[i]);
            if part > size {
                let message =
                    format!("array_of_subsizes[{i}] is {part}, more than array_of_sizes[{i}], {size}");
                return Err(Error::new(c::MPI_ERR_ARG, message));
            }
            if starts[i] > size - part {
                let message = format!(
                    "array_of_starts[{i}] is {}; {part} elements from there on leave the {size}",
                    starts[i]
                );
                return Err(Error::new(c::MPI_ERR_ARG, message));
            }
        }
        let c_order = order_is_c(order)?;
        array_extent(sizes, old)?;
        let arguments = std::iter::once(Int(sizes.len() as i32))
            .chain([sizes, subsizes, starts].into_iter().flatten().map(|v| Count(*v)))
            .chain(std::iter::once(Int(order)));
        let contents = Contents::record(c::MPI_COMBINER_SUBARRAY, arguments, vec![old.clone()]);
        let mut part = Part::new(old);
        for i in 0..sizes.len() {
            let i = if c_order { sizes.len() - 1 - i } else { i };
            part = part.dimension(sizes[i], starts[i], subsizes[i], 1, 0, 0);
        }
        part.finish(old, contents)
    }

    /// Creates the type of the elements that process `rank` of `size` owns in a distributed array. The arguments are
    /// those of `MPI_Type_create_darray`.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for arguments that describe no distribution, `MPI_ERR_COUNT` for an array too large for 63 bits.
    #[allow(clippy::too_many_arguments)]
    pub fn darray(
        size: i32,
        rank: i32,
        gsizes: &[i64],
        distribs: &[i32],
        dargs: &[i32],
        psizes: &[i32],
        order: i32,
        old: &Datatype,
    ) -> Result<Datatype> {
        let ndims = gsizes.len();
        dimensions(ndims)?;
        if [distribs.len(), dargs.len(), psizes.len()] != [ndims; 3] {
            return Err(Error::new(c::MPI_ERR_ARG, "the arrays of a distributed array differ in length"));
        }
        if size < 1 {
            return Err(Error::new(c::MPI_ERR_ARG, format!("size is {size}; it must be positive")));
        }
        if !(0..size).contains(&rank) {
            let message = format!("rank is {rank}; with size {size}, ranks are 0 to {}", size - 1);
            return Err(Error::new(c::MPI_ERR_ARG, message));
        }
        for i in 0..ndims {
            positive(gsizes[i], "array_of_gsizes", i)?;
            positive(i64::from(psizes[i]), "array_of_psizes", i)?;
        }
        let grid = psizes.iter().try_fold(1i64, |n, p| n.checked_mul(i64::from(*p)));
        if grid != Some(i64::from(size)) {
            let message = format!("size is {size}, but array_of_psizes has the product of {psizes:?}");
            return Err(Error::new(c::MPI_ERR_ARG, message));
        }
        let c_order = order_is_c(order)?;
        array_extent(gsizes, old)?;
        let ints = |values: &'_ [i32]| values.iter().map(|v| Int(*v)).collect::<Vec<_>>();
        let arguments: Vec<Argument> = [Int(size), Int(rank), Int(ndims as i32)]
            .into_iter()
            .chain(gsizes.iter().map(|g| Count(*g)))
            .chain(ints(distribs))
            .chain(ints(dargs))
            .chain(ints(psizes))
            .chain([Int(order)])
            .collect();
        let contents = Contents::record(c::MPI_COMBINER_DARRAY, arguments.into_iter(), vec![old.clone()]);
        let coordinates = grid_coordinates(rank, psizes);
        let mut part = Part::new(old);
        for i in 0..ndims {
            let i = if c_order { ndims - 1 - i } else { i };
            let darg = distribution_argument(gsizes[i], distribs[i], dargs[i], psizes[i], i)?;
            part = cyclic(part, darg, gsizes[i], coordinates[i], i64::from(psizes[i]));
        }
        part.finish(old, contents)
    }
}

/// Returns the place of a rank in a row-major process grid.
fn grid_coordinates(rank: i32, psizes: &[i32]) -> Vec<i64> {
    let mut rest = rank;
    let mut coordinates: Vec<i64> = psizes
        .iter()
        .rev()
        .map(|p| {
            let coordinate = rest % p;
            rest /= p;
            i64::from(coordinate)
        })
        .collect();
    coordinates.reverse();
    coordinates
}

/// Returns the block length of the cyclic distribution that a dimension's distribution amounts to.
fn distribution_argument(gsize: i64, distribution: i32, darg: i32, psize: i32, i: usize) -> Result<i64> {
    let psize = i64::from(psize);
    let default = darg == c::MPI_DISTRIBUTE_DFLT_DARG;
    let bad = |message: String| Err(Error::new(c::MPI_ERR_ARG, message));
    match distribution {
        c::MPI_DISTRIBUTE_NONE if psize != 1 => bad(format!(
            "array_of_psizes[{i}] is {psize}, but a dimension with MPI_DISTRIBUTE_NONE has one process"
        )),
        c::MPI_DISTRIBUTE_NONE => Ok(gsize),
        c::MPI_DISTRIBUTE_BLOCK if default => Ok((gsize - 1) / psize + 1),
        c::MPI_DISTRIBUTE_CYCLIC if default => Ok(1),
        c::MPI_DISTRIBUTE_BLOCK | c::MPI_DISTRIBUTE_CYCLIC if darg < 1 => {
            bad(format!("array_of_dargs[{i}] is {darg}; it must be positive or MPI_DISTRIBUTE_DFLT_DARG"))
        }
        c::MPI_DISTRIBUTE_BLOCK if i64::from(darg) * psize < gsize => bad(format!(
            "array_of_dargs[{i}] is {darg}: {psize} blocks of that length do not cover {gsize} elements"
        )),
        c::MPI_DISTRIBUTE_BLOCK | c::MPI_DISTRIBUTE_CYCLIC => Ok(i64::from(darg)),
        _ => bad(format!("array_of_distribs[{i}] is {distribution}; it must be an MPI_DISTRIBUTE_ constant")),
    }
}

/// Takes the blocks that process `r` of `psize` owns in a dimension dealt out in blocks of `darg`.
fn cyclic(part: Part, darg: i64, gsize: i64, r: i64, psize: i64) -> Part {
    let darg = darg.min(gsize);
    let blocks = (gsize - 1) / darg + 1;
    let mine = blocks / psize + i64::from(r < blocks % psize);
    // Only the last block of all can be short; it may be mine.
    let rest = gsize - (blocks - 1) * darg;
    let short = mine > 0 && (blocks - 1) % psize == r && rest < darg;
    let whole = mine - i64::from(short);
    let (start, step) = (r.wrapping_mul(darg), psize.wrapping_mul(darg));
    part.dimension(gsize, start, darg, whole, step, if short { rest } else { 0 })
}
