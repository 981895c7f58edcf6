//! The constructors of the datatype chapter, except those for distributed arrays.

use crate::datatype::{Argument, Builder, Contents, Datatype};
use crate::layout::Placed;
use std::iter;
use weft_base::constants as c;
use weft_base::{Error, Result};

use Argument::{Address, Count};

pub(crate) fn not_negative(value: i64, class: i32, name: &str) -> Result<i128> {
    if value < 0 {
        return Err(Error::new(class, format!("{name} is {value}; it must not be negative")));
    }
    Ok(i128::from(value))
}

fn blocklengths_valid(blocklengths: &[i64]) -> Result {
    match blocklengths.iter().position(|&b| b < 0) {
        Some(i) => Err(Error::new(
            c::MPI_ERR_ARG,
            format!("array_of_blocklengths[{i}] is {}; it must not be negative", blocklengths[i]),
        )),
        None => Ok(()),
    }
}

fn same_length(lengths: &[usize]) -> Result {
    if lengths.windows(2).any(|w| w[0] != w[1]) {
        return Err(Error::new(c::MPI_ERR_ARG, format!("argument arrays differ in length: {lengths:?}")));
    }
    Ok(())
}

/// Returns the layout of `length` instances in a row.
pub(crate) fn block(old: &Datatype, length: i64) -> Placed {
    old.0.layout.clone().repeated(length as u64, old.extent())
}

impl Datatype {
    /// Creates the type of `count` instances in a row.
    ///
    /// # Errors
    /// `MPI_ERR_COUNT` for a negative count or a type too large for 63 bits.
    pub fn contiguous(count: i64, old: &Datatype) -> Result<Datatype> {
        let copies = not_negative(count, c::MPI_ERR_COUNT, "count")?;
        let mut builder = Builder::new();
        builder.add(old, copies, 0, (copies - 1) * i128::from(old.extent()));
        let contents =
            Contents::record(c::MPI_COMBINER_CONTIGUOUS, iter::once(Count(count)), vec![old.clone()]);
        builder.finish(contents, || block(old, count))
    }

    /// Creates the type of `count` blocks whose starts are `stride` extents of `old` apart.
    ///
    /// # Errors
    /// `MPI_ERR_COUNT` for a negative count or a type too large for 63 bits, `MPI_ERR_ARG` for a negative block
    /// length.
    pub fn vector(count: i64, blocklength: i64, stride: i64, old: &Datatype) -> Result<Datatype> {
        let arguments = [Count(count), Count(blocklength), Count(stride)];
        let contents = Contents::record(c::MPI_COMBINER_VECTOR, arguments.into_iter(), vec![old.clone()]);
        strided(count, blocklength, i128::from(stride) * i128::from(old.extent()), old, contents)
    }

    /// Creates the type of `count` blocks whose starts are `stride` bytes apart.
    ///
    /// # Errors
    /// As [`Datatype::vector`].
    pub fn hvector(count: i64, blocklength: i64, stride: i64, old: &Datatype) -> Result<Datatype> {
        let arguments = [Count(count), Count(blocklength), Address(stride)];
        let contents = Contents::record(c::MPI_COMBINER_HVECTOR, arguments.into_iter(), vec![old.clone()]);
        strided(count, blocklength, i128::from(stride), old, contents)
    }

    /// Creates the type of blocks at displacements counted in extents of `old`.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for a negative block length, `MPI_ERR_COUNT` for a type too large for 63 bits.
    pub fn indexed(blocklengths: &[i64], displacements: &[i64], old: &Datatype) -> Result<Datatype> {
        same_length(&[blocklengths.len(), displacements.len()])?;
        let arguments = iter::once(blocklengths.len() as i64)
            .chain(blocklengths.iter().copied())
            .chain(displacements.iter().copied());
        let contents = Contents::record(c::MPI_COMBINER_INDEXED, arguments.map(Count), vec![old.clone()]);
        let placed = blocklengths.iter().zip(displacements).map(|(b, d)| (*b, *d));
        blocks(blocklengths, placed, old.extent(), old, contents)
    }

    /// Creates the type of blocks at displacements in bytes.
    ///
    /// # Errors
    /// As [`Datatype::indexed`].
    pub fn hindexed(blocklengths: &[i64], displacements: &[i64], old: &Datatype) -> Result<Datatype> {
        same_length(&[blocklengths.len(), displacements.len()])?;
        let arguments = iter::once(blocklengths.len() as i64)
            .chain(blocklengths.iter().copied())
            .map(Count)
            .chain(displacements.iter().map(|d| Address(*d)));
        let contents = Contents::record(c::MPI_COMBINER_HINDEXED, arguments, vec![old.clone()]);
        let placed = blocklengths.iter().zip(displacements).map(|(b, d)| (*b, *d));
        blocks(blocklengths, placed, 1, old, contents)
    }

    /// Creates the type of blocks of one length at displacements counted in extents of `old`.
    ///
    /// # Errors
    /// As [`Datatype::indexed`].
    pub fn indexed_block(blocklength: i64, displacements: &[i64], old: &Datatype) -> Result<Datatype> {
        let arguments =
            [displacements.len() as i64, blocklength].into_iter().chain(displacements.iter().copied());
        let contents =
            Contents::record(c::MPI_COMBINER_INDEXED_BLOCK, arguments.map(Count), vec![old.clone()]);
        not_negative(blocklength, c::MPI_ERR_ARG, "blocklength")?;
        let placed = displacements.iter().map(|d| (blocklength, *d));
        blocks(&[], placed, old.extent(), old, contents)
    }

    /// Creates the type of blocks of one length at displacements in bytes.
    ///
    /// # Errors
    /// As [`Datatype::indexed`].
    pub fn hindexed_block(blocklength: i64, displacements: &[i64], old: &Datatype) -> Result<Datatype> {
        let arguments = [displacements.len() as i64, blocklength]
            .into_iter()
            .map(Count)
            .chain(displacements.iter().map(|d| Address(*d)));
        let contents = Contents::record(c::MPI_COMBINER_HINDEXED_BLOCK, arguments, vec![old.clone()]);
        not_negative(blocklength, c::MPI_ERR_ARG, "blocklength")?;
        let placed = displacements.iter().map(|d| (blocklength, *d));
        blocks(&[], placed, 1, old, contents)
    }

    /// Creates the type of blocks of different types at displacements in bytes.
    ///
    /// # Errors
    /// As [`Datatype::indexed`].
    pub fn structure(blocklengths: &[i64], displacements: &[i64], types: &[Datatype]) -> Result<Datatype> {
        same_length(&[blocklengths.len(), displacements.len(), types.len()])?;
        blocklengths_valid(blocklengths)?;
        let arguments = iter::once(blocklengths.len() as i64)
            .chain(blocklengths.iter().copied())
            .map(Count)
            .chain(displacements.iter().map(|d| Address(*d)));
        let contents = Contents::record(c::MPI_COMBINER_STRUCT, arguments, types.to_vec());
        let mut builder = Builder::new();
        for ((&length, &displacement), old) in blocklengths.iter().zip(displacements).zip(types) {
            let (length, low) = (i128::from(length), i128::from(displacement));
            builder.add(old, length, low, low + (length - 1) * i128::from(old.extent()));
        }
        builder.finish(contents, || {
            let members = blocklengths.iter().zip(displacements).zip(types);
            Placed::sequence(members.map(|((&length, &at), old)| block(old, length).moved(at)))
        })
    }

    /// Creates a type with the data of `old` and the given bounds, which may be negative.
    ///
    /// # Errors
    /// `MPI_ERR_COUNT` when the upper bound does not fit 63 bits.
    pub fn resized(lb: i64, extent: i64, old: &Datatype) -> Result<Datatype> {
        let arguments = [Address(lb), Address(extent)];
        let contents = Contents::record(c::MPI_COMBINER_RESIZED, arguments.into_iter(), vec![old.clone()]);
        let mut builder = Builder::new();
        builder.add(old, 1, 0, 0);
        builder.markers = Some((i128::from(lb), i128::from(lb) + i128::from(extent)));
        builder.finish(contents, || old.0.layout.clone())
    }
}

fn strided(
    count: i64,
    blocklength: i64,
    stride: i128,
    old: &Datatype,
    contents: Contents,
) -> Result<Datatype> {
    let copies = not_negative(count, c::MPI_ERR_COUNT, "count")?;
    let length = not_negative(blocklength, c::MPI_ERR_ARG, "blocklength")?;
    let mut builder = Builder::new();
    // A product of two strides below 2^126 and 2^63 could leave i128: such a stride is refused first.
    let stride = match i64::try_from(stride) {
        Ok(stride) => stride,
        Err(_) if copies <= 1 || length == 0 => 0,
        Err(_) => return Err(crate::datatype::too_large("stride")),
    };
    let within = (length - 1).max(0) * i128::from(old.extent());
    let across = (copies - 1).max(0) * i128::from(stride);
    let corners = [0, within, across, within + across];
    let (low, high) = corners.iter().fold((0, 0), |(l, h): (i128, i128), v| (l.min(*v), h.max(*v)));
    builder.add(old, copies * length, low, high);
    // Only what is there has been checked to fit: of no blocks, each may have any length.
    builder.finish(contents, || match count {
        0 => Placed::empty(),
        _ => block(old, blocklength).repeated(count as u64, stride),
    })
}

fn blocks(
    blocklengths: &[i64],
    placed: impl Iterator<Item = (i64, i64)> + Clone,
    unit: i64,
    old: &Datatype,
    contents: Contents,
) -> Result<Datatype> {
    blocklengths_valid(blocklengths)?;
    let mut builder = Builder::new();
    for (length, displacement) in placed.clone() {
        let (length, low) = (i128::from(length), i128::from(displacement) * i128::from(unit));
        builder.add(old, length, low, low + (length - 1) * i128::from(old.extent()));
    }
    builder.finish(contents, || {
        Placed::sequence(placed.map(|(length, d)| block(old, length).moved(d.wrapping_mul(unit))))
    })
}
