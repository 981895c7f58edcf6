//! Where the data of an operation lies, at its origin and at its target.

use crate::shared::{Control, Segment};
use crate::window::Window;
use weft_base::constants::{MPI_ERR_DISP, MPI_ERR_RMA_RANGE};
use weft_base::{Error, Result};
use weft_datatype::Datatype;

/// A buffer of the origin.
#[derive(Clone, Copy)]
pub struct Data<'a> {
    /// Where it lies.
    pub address: *mut u8,
    /// How many instances there are of the datatype.
    pub count: u64,
    /// Their type.
    pub datatype: &'a Datatype,
}

impl Data<'_> {
    /// Returns how many bytes of data there are.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.count * self.datatype.size()
    }
}

/// What an operation is directed at.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The rank in the window.
    pub rank: u32,
    /// The displacement, in units of the target.
    pub displacement: i64,
    /// How many instances there are of the datatype.
    pub count: u64,
    /// Where the data lies from there.
    pub datatype: &'a Datatype,
}

impl Place<'_> {
    /// Returns how many bytes of data there are.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.count * self.datatype.size()
    }

    /// Returns the first byte of the data and the end of the last one, from the displacement on.
    #[inline]
    fn span(&self) -> Option<(i64, i64)> {
        let last = i64::try_from(self.count).ok()? - 1;
        let (first_byte, length) = (self.datatype.true_lb(), self.datatype.true_extent());
        let reach = self.datatype.extent().checked_mul(last)?;
        let first = first_byte.checked_add(reach.min(0))?;
        Some((first, first_byte.checked_add(length)?.checked_add(reach.max(0))?))
    }
}

impl Window {
    /// Returns the address of a place at a rank, in its process, all of whose data lies in memory that the rank exposes.
    ///
    /// # Errors
    /// `MPI_ERR_DISP`, `MPI_ERR_RMA_RANGE`
    #[inline]
    pub(crate) fn locate(
        &self,
        segment: &Segment,
        control: Option<&Control>,
        place: &Place<'_>,
    ) -> Result<*mut u8> {
        if self.is_dynamic {
            // Of another process's rank it is looked at there.
            let here = |control| locate_attached(control, place);
            return control.map_or(Ok(place.displacement as usize as *mut u8), here);
        }
        let offset = place.displacement.checked_mul(segment.unit).filter(|&offset| offset >= 0);
        let bytes = place.bytes();
        if let Some(offset) = offset {
            let fits = if bytes == 0 {
                true
            } else if place.datatype.is_dense() {
                (offset as u64).checked_add(bytes).is_some_and(|end| end <= segment.size as u64)
            } else {
                let span = place
                    .span()
                    .and_then(|(first, end)| Some((offset.checked_add(first)?, offset.checked_add(end)?)));
                span.is_some_and(|(first, end)| first >= 0 && end <= segment.size as i64)
            };
            if fits {
                return Ok((segment.base as *mut u8).wrapping_add(offset as usize));
            }
        }
        Err(outside(segment, place))
    }
}

#[cold]
fn outside(segment: &Segment, place: &Place<'_>) -> Error {
    let Place { rank, displacement, .. } = place;
    if *displacement < 0 {
        let text = format!("target_disp is {displacement}; it must not be negative");
        return Error::new(MPI_ERR_DISP, text);
    }
    let (size, unit) = (segment.size, segment.unit);
    let offset = i128::from(*displacement) * i128::from(unit);
    let text = match place.span() {
        Some((first, end)) => format!(
            "target_disp is {displacement}, in units of {unit} bytes; the data would be bytes {} to {} of the {size} that rank \
             {rank} exposes",
            offset + i128::from(first),
            offset + i128::from(end) - 1,
        ),
        None => format!(
            "target_disp is {displacement}, in units of {unit} bytes; the data does not fit into the {size} bytes that rank \
             {rank} exposes"
        ),
    };
    Error::new(MPI_ERR_RMA_RANGE, text)
}

/// Finds a place by its address in memory that was attached, in one block or in several without gaps.
fn locate_attached(control: &Control, place: &Place<'_>) -> Result<*mut u8> {
    let address = place.displacement as usize as *mut u8;
    if place.bytes() == 0 {
        return Ok(address);
    }
    let span = place.span().and_then(|(first, end)| {
        let from = place.displacement.checked_add(first)?;
        let to = place.displacement.checked_add(end)?;
        (from > 0).then_some((from as usize, to as usize))
    });
    let is_attached = span.is_some_and(|(mut from, to)| {
        let attached = control.attached.lock();
        while from < to {
            let block = attached.iter().find(|&&(base, size)| from >= base && from - base < size);
            let Some((base, size)) = block else { return false };
            from = base + size;
        }
        true
    });
    if is_attached { Ok(address) } else { Err(not_attached(place)) }
}

#[cold]
fn not_attached(place: &Place<'_>) -> Error {
    let Place { rank, displacement, .. } = place;
    let text = format!(
        "target_disp is {displacement:#x}; the data of {} bytes there is not all in memory that rank {rank} has attached",
        place.bytes()
    );
    Error::new(MPI_ERR_RMA_RANGE, text)
}
