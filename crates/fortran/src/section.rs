//! Buffers of module `mpi_f08`: descriptors of arrays (ISO/IEC TS 29113), which may be sections with gaps.
//!
//! A buffer without gaps is an address. For a section, the call gets a datatype that describes where the elements lie, which
//! is freed when the call has returned: what C has started keeps it. So nothing is copied here. Where a datatype cannot say
//! it, because the section's gaps are not regular and the call puts several blocks into it, or because an operation is to
//! combine the elements, a blocking call works on a copy, and a nonblocking one is refused.
//!
//! Unsafe because it reads descriptors and what they describe.
#![allow(unsafe_code)]

use crate::c;
use crate::convert::buffer_of;
use crate::texts::Text;
use core::ffi::{c_char, c_int, c_void};
use weft_base::constants::{MPI_COMBINER_CONTIGUOUS, MPI_COMBINER_DUP, MPI_DATATYPE_NULL, MPI_ERR_BUFFER};

/// The most dimensions that an array has.
const MOST: usize = 15;

/// A dimension of an array.
#[repr(C)]
#[derive(Clone, Copy)]
struct Dimension {
    lower_bound: isize,
    extent: isize,
    /// Bytes from one element to the next one.
    stride: isize,
}

/// A descriptor (`CFI_cdesc_t`), as far as compilers agree on it.
#[repr(C)]
pub(crate) struct Descriptor {
    base: *mut c_void,
    element: usize,
    version: c_int,
    rank: u8,
    others: [u8; 3],
    /// As many as `rank` says.
    dimensions: [Dimension; 0],
}

impl Descriptor {
    /// Reads a text, which is described, too, where other arguments are.
    ///
    /// # Safety
    /// `described` is a descriptor of a text.
    pub(crate) unsafe fn text(described: *const Self) -> Text {
        // SAFETY: the caller's promise; an element of a text is as long as the text.
        unsafe { Text::trimmed((*described).base.cast(), (*described).element) }
    }

    /// Tells whether the elements lie one behind the other.
    #[inline(always)]
    fn is_contiguous(&self) -> bool {
        self.rank == 0 || self.is_without_gaps()
    }

    fn is_without_gaps(&self) -> bool {
        let mut expected = self.element as isize;
        for dimension in self.dimensions() {
            // An array of assumed size has a last extent below zero, and its stride tells nothing about gaps behind it.
            if dimension.extent == 0 {
                return true;
            }
            if dimension.extent != 1 && dimension.stride != expected {
                return false;
            }
            expected *= dimension.extent;
        }
        true
    }

    fn dimensions(&self) -> &[Dimension] {
        // SAFETY: a descriptor has as many dimensions as its rank says.
        unsafe { core::slice::from_raw_parts(self.dimensions.as_ptr(), usize::from(self.rank)) }
    }

    /// Returns the dimensions without those that make no gap of their own: extents and strides, in the order of elements.
    fn shape(&self) -> Shape {
        let mut shape = Shape { extents: [1; MOST], strides: [self.element as isize; MOST], rank: 0 };
        for dimension in self.dimensions().iter().filter(|dimension| dimension.extent != 1) {
            let last = shape.rank.wrapping_sub(1);
            if shape.rank > 0 && dimension.stride == shape.strides[last] * shape.extents[last] as isize {
                shape.extents[last] *= dimension.extent as i64;
            } else {
                shape.extents[shape.rank] = dimension.extent as i64;
                shape.strides[shape.rank] = dimension.stride;
                shape.rank += 1;
            }
        }
        shape
    }
}

/// A section's extents and strides.
struct Shape {
    extents: [i64; MOST],
    strides: [isize; MOST],
    rank: usize,
}

impl Shape {
    fn elements(&self) -> i64 {
        self.extents[..self.rank].iter().product()
    }

    /// Calls with the offset of each element in turn.
    fn each(&self, mut visit: impl FnMut(isize)) {
        let mut at = [0i64; MOST];
        for _ in 0..self.elements() {
            visit((0..self.rank).map(|d| at[d] as isize * self.strides[d]).sum());
            for (place, &extent) in at.iter_mut().zip(&self.extents[..self.rank]) {
                *place += 1;
                if *place < extent {
                    break;
                }
                *place = 0;
            }
        }
    }
}

/// What a call does with a buffer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// The call reads it and is done with it.
    Read,
    /// The call stores into it, or changes it, and is done with it.
    Change,
    /// The call starts something that goes on using it.
    Keep,
}

/// A buffer as C takes it.
pub(crate) struct Section {
    address: *mut c_void,
    count: i64,
    datatype: usize,
    state: State,
}

enum State {
    /// No gaps.
    Plain,
    /// The datatype is made for this call.
    Made,
    /// The call works on a copy, which belongs to the described section.
    Copied { of: *const Descriptor, memory: Vec<u64>, back: bool },
    /// The call cannot be carried out.
    Refused,
}

impl Section {
    #[inline(always)]
    fn plain(described: &Descriptor, count: i64, datatype: usize) -> Self {
        Self { address: buffer_of(described.base), count, datatype, state: State::Plain }
    }

    /// Describes a buffer of `count` elements of a datatype.
    ///
    /// # Safety
    /// `described` is a descriptor of an array that lives as long as the call, as for the others.
    #[inline(always)]
    pub(crate) unsafe fn single(described: *const Descriptor, count: i64, datatype: usize, how: Use) -> Self {
        // SAFETY: the caller's promise.
        let section = unsafe { &*described };
        if section.is_contiguous() {
            return Self::plain(section, count, datatype);
        }
        Self::made(section, count, datatype).unwrap_or_else(|| Self::copied(section, count, datatype, how))
    }

    /// Describes a buffer into which a call puts several blocks, of any counts, at places that it counts in elements.
    ///
    /// # Safety
    /// As of [`Section::single`].
    pub(crate) unsafe fn blocks(described: *const Descriptor, count: i64, datatype: usize, how: Use) -> Self {
        // SAFETY: the promise of this function's caller.
        let section = unsafe { &*described };
        if section.is_contiguous() {
            return Self::plain(section, count, datatype);
        }
        Self::spaced(section, count, datatype).unwrap_or_else(|| Self::copied(section, count, datatype, how))
    }

    /// Describes a buffer whose elements are taken as they lie: to be combined, or as bytes.
    ///
    /// # Safety
    /// As of the functions above.
    pub(crate) unsafe fn whole(described: *const Descriptor, count: i64, datatype: usize, how: Use) -> Self {
        // SAFETY: promised, as this function's page says.
        let section = unsafe { &*described };
        if section.is_contiguous() {
            return Self::plain(section, count, datatype);
        }
        Self::copied(section, count, datatype, how)
    }

    /// Takes a buffer's first address only.
    ///
    /// # Safety
    /// `described` is a descriptor.
    pub(crate) unsafe fn start(described: *const Descriptor) -> Self {
        // SAFETY: it is a descriptor.
        Self::plain(unsafe { &*described }, 0, 0)
    }

    #[cold]
    fn copied(section: &Descriptor, count: i64, datatype: usize, how: Use) -> Self {
        let refused = Self { address: core::ptr::null_mut(), count, datatype, state: State::Refused };
        if how == Use::Keep {
            return refused;
        }
        let shape = section.shape();
        let bytes = shape.elements() as usize * section.element;
        let mut memory = vec![0u64; bytes.div_ceil(8)];
        let mut target: *mut u8 = memory.as_mut_ptr().cast();
        shape.each(|offset| {
            // SAFETY: copies an element of the section to its place in memory for as many as there are.
            unsafe {
                let source = section.base.cast::<u8>().wrapping_offset(offset);
                core::ptr::copy_nonoverlapping(source, target, section.element);
                target = target.add(section.element);
            }
        });
        let address = memory.as_mut_ptr().cast();
        Self {
            address,
            count,
            datatype,
            state: State::Copied { of: section, memory, back: how == Use::Change },
        }
    }

    /// Makes a datatype for all that a call moves.
    #[cold]
    fn made(section: &Descriptor, count: i64, datatype: usize) -> Option<Self> {
        let shape = section.shape();
        let (mut count, mut datatype) = (count, datatype);
        if count < 0 {
            // The call says so.
            return Some(Self::plain(section, count, datatype));
        }
        let mut extent = extent_of(datatype)?;
        let element = section.element as i64;
        while extent > element {
            let (inner, times) = opened(datatype)?;
            count = count.checked_mul(times)?;
            datatype = inner;
            extent = extent_of(datatype)?;
        }
        if extent == 0 || element % extent != 0 {
            return None;
        }
        let per_element = element / extent;
        let (full, rest) = (count / per_element, count % per_element);
        if count == 0 || full + i64::from(rest > 0) > shape.elements() {
            // The call finds nothing, or more than the array holds, which nothing can be done about here.
            return if count == 0 { Some(Self::plain(section, count, datatype)) } else { None };
        }
        let mut types = Types::default();
        // Most calls are about one datatype per element, and sections that one datatype describes: so no other one is made.
        let one = match per_element {
            1 => datatype,
            _ => types.add(|new| contiguous(per_element, datatype, new))?,
        };
        let mut parts = Vec::new();
        shape.parts(full, one, &mut types, &mut parts)?;
        if rest > 0 {
            parts.push((shape.offset_of(full), types.add(|new| contiguous(rest, datatype, new))?));
        }
        let made = match parts.as_slice() {
            [(0, part)] => *part,
            _ => types.add(|new| joined(&parts, new))?,
        };
        types.keep(made)?;
        Some(Self { address: section.base, count: 1, datatype: made, state: State::Made })
    }

    /// Makes a datatype for one element, as far from the next one as the section's elements are.
    #[cold]
    fn spaced(section: &Descriptor, count: i64, datatype: usize) -> Option<Self> {
        let shape = section.shape();
        if shape.rank != 1 || extent_of(datatype)? != section.element as i64 {
            return None;
        }
        let mut types = Types::default();
        // SAFETY: C stores a datatype.
        let made =
            types.add(|new| unsafe { c::PMPI_Type_create_resized(datatype, 0, shape.strides[0], new) })?;
        types.keep(made)?;
        Some(Self { address: section.base, count, datatype: made, state: State::Made })
    }

    /// Returns the address for C.
    #[inline(always)]
    pub(crate) fn address(&self) -> *mut c_void {
        self.address
    }

    /// Returns the count for C.
    #[inline(always)]
    pub(crate) fn count(&self) -> i64 {
        self.count
    }

    /// Returns the count for a form of C that takes an `int`.
    #[inline(always)]
    pub(crate) fn count_int(&self) -> c_int {
        self.count as c_int
    }

    /// Returns the datatype for C.
    #[inline(always)]
    pub(crate) fn datatype(&self) -> usize {
        self.datatype
    }

    /// Tells whether the buffer is `MPI_IN_PLACE`.
    pub(crate) fn is_in_place(&self) -> bool {
        self.address as usize == 1
    }

    /// Tells whether the call cannot be carried out.
    #[inline(always)]
    pub(crate) fn is_refused(&self) -> bool {
        matches!(self.state, State::Refused)
    }
}

/// Raises the error of a call whose buffer is refused, and returns its code.
#[cold]
pub(crate) fn refuse(call: &core::ffi::CStr) -> c_int {
    let text = c"a buffer is a section of an array with gaps, which this call cannot use: pass an array without gaps";
    // SAFETY: texts with an end.
    unsafe { weft_fortran_error(MPI_ERR_BUFFER, call.as_ptr(), text.as_ptr()) }
}

unsafe extern "C" {
    fn weft_fortran_error(class: c_int, call: *const c_char, text: *const c_char) -> c_int;
}

impl Drop for Section {
    #[inline(always)]
    fn drop(&mut self) {
        if !matches!(self.state, State::Plain) {
            self.end();
        }
    }
}

impl Section {
    #[cold]
    fn end(&mut self) {
        match &self.state {
            State::Plain | State::Refused => {}
            State::Made => {
                // SAFETY: the datatype was made for this call, which has returned.
                unsafe { c::PMPI_Type_free(&mut self.datatype) };
            }
            State::Copied { of, memory, back } => {
                if *back {
                    // SAFETY: the descriptor lives as long as the call.
                    let section = unsafe { &**of };
                    let mut source: *const u8 = memory.as_ptr().cast();
                    section.shape().each(|offset| {
                        // SAFETY: copies each element back to where it came from.
                        unsafe {
                            let target = section.base.cast::<u8>().wrapping_offset(offset);
                            core::ptr::copy_nonoverlapping(source, target, section.element);
                            source = source.add(section.element);
                        }
                    });
                }
            }
        }
    }
}

impl Shape {
    /// Returns where an element lies.
    fn offset_of(&self, mut element: i64) -> isize {
        let mut offset = 0;
        for d in 0..self.rank {
            offset += (element % self.extents[d]) as isize * self.strides[d];
            element /= self.extents[d];
        }
        offset
    }

    /// Lists datatypes, with their offsets, which together are the first `count` elements: whole blocks of the slowest
    /// dimension first, then what is left of the faster ones.
    fn parts(
        &self,
        count: i64,
        one: usize,
        types: &mut Types,
        parts: &mut Vec<(isize, usize)>,
    ) -> Option<()> {
        let mut blocks = vec![one];
        for d in 0..self.rank.saturating_sub(1) {
            let inner = *blocks.last()?;
            let (extent, stride) = (self.extents[d], self.strides[d]);
            // SAFETY: C stores a datatype.
            blocks.push(
                types.add(|new| unsafe {
                    c::PMPI_Type_create_hvector_c(extent, 1, stride as i64, inner, new)
                })?,
            );
        }
        let mut done = 0;
        for d in (0..self.rank).rev() {
            let size: i64 = self.extents[..d].iter().product();
            let number = (count - done) / size;
            if number > 0 {
                let (stride, inner) = (self.strides[d], blocks[d]);
                // SAFETY: stores a datatype in a variable.
                let part = types.add(|new| unsafe {
                    c::PMPI_Type_create_hvector_c(number, 1, stride as i64, inner, new)
                })?;
                parts.push((self.offset_of(done), part));
                done += number * size;
            }
        }
        Some(())
    }
}

/// Returns the extent of a datatype whose data lie within it.
fn extent_of(datatype: usize) -> Option<i64> {
    let (mut low, mut extent, mut true_low, mut true_extent) = (0, 0, 0, 0);
    if datatype == 0 || datatype == MPI_DATATYPE_NULL.0 {
        return None;
    }
    // SAFETY: C stores into variables.
    let code = unsafe {
        match c::PMPI_Type_get_extent_c(datatype, &mut low, &mut extent) {
            0 => c::PMPI_Type_get_true_extent_c(datatype, &mut true_low, &mut true_extent),
            code => code,
        }
    };
    (code == 0 && low == 0 && true_low >= 0 && true_low + true_extent <= extent).then_some(extent)
}

/// Returns of which datatype, and of how many, another one is made, if it is that of neighbours without gaps.
fn opened(datatype: usize) -> Option<(usize, i64)> {
    let (mut integers, mut addresses, mut counts, mut datatypes, mut combiner) = (0, 0, 0, 0, 0);
    // SAFETY: C stores into variables and, below, no more than one element into each array.
    unsafe {
        let code = c::PMPI_Type_get_envelope_c(
            datatype,
            &mut integers,
            &mut addresses,
            &mut counts,
            &mut datatypes,
            &mut combiner,
        );
        if code != 0 || ![MPI_COMBINER_DUP, MPI_COMBINER_CONTIGUOUS].contains(&combiner) {
            return None;
        }
        let (mut integer, mut address, mut count, mut inner) = (1, 0, 0, 0);
        let code = c::PMPI_Type_get_contents_c(
            datatype,
            integers,
            addresses,
            counts,
            datatypes,
            &mut integer,
            &mut address,
            &mut count,
            &mut inner,
        );
        if code != 0 {
            return None;
        }
        let times = if combiner == MPI_COMBINER_DUP {
            1
        } else if counts > 0 {
            count
        } else {
            integer.into()
        };
        Some((inner, times))
    }
}

/// Datatypes made on the way to one; all but that one are freed.
#[derive(Default)]
struct Types(Vec<usize>);

impl Types {
    fn add(&mut self, make: impl FnOnce(&mut usize) -> c_int) -> Option<usize> {
        let mut new = 0;
        if make(&mut new) != 0 {
            return None;
        }
        self.0.push(new);
        Some(new)
    }

    /// Makes the datatype ready for use, and lets it live on.
    fn keep(&mut self, datatype: usize) -> Option<()> {
        let mut handle = datatype;
        // SAFETY: C reads a variable.
        let code = unsafe { c::PMPI_Type_commit(&mut handle) };
        if code != 0 {
            return None;
        }
        self.0.retain(|&other| other != datatype);
        Some(())
    }
}

impl Drop for Types {
    fn drop(&mut self) {
        for datatype in &mut self.0 {
            // SAFETY: each was made here, and what is made of it does not need it.
            unsafe { c::PMPI_Type_free(datatype) };
        }
    }
}

fn contiguous(count: i64, datatype: usize, new: &mut usize) -> c_int {
    // SAFETY: C stores into a variable.
    unsafe { c::PMPI_Type_contiguous_c(count, datatype, new) }
}

/// Makes one datatype of several at their offsets.
fn joined(parts: &[(isize, usize)], new: &mut usize) -> c_int {
    let lengths = vec![1i64; parts.len()];
    let offsets: Vec<i64> = parts.iter().map(|(offset, _)| *offset as i64).collect();
    let types: Vec<usize> = parts.iter().map(|(_, datatype)| *datatype).collect();
    // SAFETY: three arrays of the same length, which C only reads.
    unsafe {
        c::PMPI_Type_create_struct_c(
            parts.len() as i64,
            lengths.as_ptr().cast_mut(),
            offsets.as_ptr().cast_mut(),
            types.as_ptr().cast_mut(),
            new,
        )
    }
}
