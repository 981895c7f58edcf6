//! The arguments of collective operations as values.
//!
//! A call is described once, by one of the types that implement [`Arguments`]; its blocking, nonblocking and persistent
//! forms run the description, and checking mode shows it to the other ranks. An [`Argument`] is one side's buffer with the
//! counts, displacements and datatypes that go with it, whatever their shape.
#![allow(unsafe_code)] // States that buffers are what the caller of the MPI function promises.

use crate::arguments::check;
use crate::collectives::checks::{Caller, Shown};
use crate::collectives::forms::Form;
use crate::communicators::communicator::Communicator;
use crate::point_to_point::messages::not_committed;
use crate::process::{Process, Ref};
use crate::reports::claims;
use core::ffi::c_void;
use weft_base::abi::{self, Count};
use weft_base::constants::*;
use weft_base::settings::is_checking;
use weft_base::{Counts, Error, In, Named, Result};
use weft_coll::{Buffers, Data};
use weft_datatype::Datatype;

/// A description of a call.
pub(crate) trait Arguments {
    /// Checks the arguments and does, starts or prepares the operation.
    ///
    /// # Errors
    /// As the procedures say.
    fn run(&self, form: Form) -> Result;

    /// Returns the communicator.
    fn comm(&self) -> abi::Comm;

    /// Says to the other ranks what the caller gives, as far as it makes sense.
    fn show(&self, caller: &Caller, shown: &mut Shown);
}

/// How much of what is in a buffer.
#[derive(Clone, Copy)]
pub(crate) enum Elements {
    /// So many elements, for each peer if the buffer is divided.
    Block(Count, abi::Datatype),
    /// For each peer so many, at displacements in elements.
    Pieces(Counts, Counts, abi::Datatype),
    /// For each peer so many of its own datatype, at displacements in bytes.
    Typed(Counts, Counts, In<abi::Datatype>),
}

/// The names of a buffer argument and of the arrays that say how many elements of which types are where in it.
type Names = [&'static str; 4];

/// One side's buffer.
#[derive(Clone, Copy)]
pub(crate) struct Argument {
    pub buffer: *const c_void,
    pub elements: Elements,
    names: Names,
}

/// A type argument, kept alive for the call.
pub(crate) type Type<'a> = Ref<'a, Datatype>;

/// The datatypes of an argument.
pub(crate) enum Types {
    One(Type<'static>),
    Each(Vec<Type<'static>>),
}

impl Argument {
    /// Describes what a rank sends.
    #[inline]
    pub fn send(buffer: *const c_void, elements: Elements) -> Self {
        // The displacements have another name where only one side has some.
        Self { buffer, elements, names: ["sendbuf", "sendcounts", "sdispls", "sendtypes"] }
    }

    /// Describes what a rank receives.
    #[inline]
    pub fn receive(buffer: *mut c_void, elements: Elements) -> Self {
        Self { buffer, elements, names: ["recvbuf", "recvcounts", "rdispls", "recvtypes"] }
    }

    /// Names the displacements as procedures do in which one side alone has some.
    #[inline]
    pub fn displs(mut self) -> Self {
        self.names[2] = "displs";
        self
    }

    /// Tells whether the buffer is `MPI_IN_PLACE`.
    #[inline]
    pub fn is_in_place(&self) -> bool {
        is_in_place(self.buffer)
    }

    /// Finds the datatypes.
    ///
    /// # Errors
    /// `MPI_ERR_TYPE`, `MPI_ERR_ARG`
    #[inline]
    pub fn types(&self, process: &'static Process, peers: u32) -> Result<Types> {
        match self.elements {
            Elements::Block(_, handle) | Elements::Pieces(_, _, handle) => {
                datatype(process, handle).map(Types::One)
            }
            Elements::Typed(_, _, handles) => {
                datatypes(process, handles, peers, self.names[3]).map(Types::Each)
            }
        }
    }

    /// Describes the buffer; a block is divided among `parts` peers, if that is given.
    ///
    /// # Errors
    /// `MPI_ERR_COUNT`, `MPI_ERR_BUFFER`, `MPI_ERR_ARG`
    #[inline]
    pub fn buffers<'a>(&self, types: &'a Types, peers: u32, divided: bool) -> Result<Buffers<'a>> {
        let (buffer, names) = (self.buffer, self.names);
        Ok(match (self.elements, types) {
            (Elements::Block(count, _), Types::One(datatype)) if divided => {
                Buffers::Even(parts(buffer, count, peers, datatype, names[0])?, peers)
            }
            (Elements::Block(count, _), Types::One(datatype)) => {
                Buffers::Whole(data(buffer, count, datatype, names[0])?)
            }
            (Elements::Pieces(counts, displacements, _), Types::One(datatype)) => {
                Buffers::Pieces(pieces(buffer, counts, displacements, peers, datatype, names)?)
            }
            (Elements::Typed(counts, displacements, _), Types::Each(types)) => {
                Buffers::Pieces(typed_pieces(buffer, counts, displacements, types, names)?)
            }
            _ => unreachable!("the types are those of the elements"),
        })
    }
}

pub(crate) fn is_in_place(buffer: *const c_void) -> bool {
    buffer.addr() == MPI_IN_PLACE
}

/// Returns the rank's state and a communicator.
pub(crate) fn enter(comm: abi::Comm) -> Result<(&'static Process, Ref<'static, Communicator>)> {
    let process = Process::current()?;
    Ok((process, process.communicator(comm)?))
}

/// Refuses data in place on an intercommunicator, where no rank receives what it contributes.
pub(crate) fn refuse_in_place(communicator: &Communicator, buffer: *const c_void) -> Result {
    if is_in_place(buffer) && communicator.values.remote.is_some() {
        let text = "MPI_IN_PLACE is not defined on an intercommunicator; pass a buffer";
        return Err(Error::new(MPI_ERR_BUFFER, text));
    }
    Ok(())
}

/// Returns the number of ranks that the caller exchanges data with.
pub(crate) fn peers(communicator: &Communicator) -> u32 {
    communicator.values.peers().size()
}

/// Returns a datatype that may be used in communication.
pub(crate) fn datatype(process: &'static Process, handle: abi::Datatype) -> Result<Type<'static>> {
    let datatype = process.datatype(handle)?;
    if !datatype.is_committed() {
        return Err(not_committed(handle));
    }
    Ok(datatype)
}

/// Describes `count` elements at `buffer`.
pub(crate) fn data<'a>(
    buffer: *const c_void,
    count: Count,
    datatype: &'a Datatype,
    name: &str,
) -> Result<Data<'a>> {
    let count = check::count(count, "count")?;
    check::buffer(buffer, count, datatype, name)?;
    if is_in_place(buffer) {
        return Err(Error::new(
            MPI_ERR_BUFFER,
            format!("{name} is MPI_IN_PLACE, which this call does not allow there"),
        ));
    }
    if is_checking() {
        claims::compare(Process::any().world_rank, buffer, count, datatype, name);
    }
    // SAFETY: the caller of the MPI function promises such a buffer until the operation is complete.
    Ok(unsafe { Data::new(buffer, count, datatype) })
}

/// Describes a buffer of `parts` times `count` elements.
pub(crate) fn parts<'a>(
    buffer: *const c_void,
    count: Count,
    parts: u32,
    datatype: &'a Datatype,
    name: &str,
) -> Result<Data<'a>> {
    let count = check::count(count, "count")?;
    let whole = Count::try_from(count).ok().and_then(|count| count.checked_mul(i64::from(parts)));
    let whole = whole.ok_or_else(|| {
        Error::new(
            MPI_ERR_COUNT,
            format!("{count} elements in {name} for each of {parts} ranks are more than fit memory"),
        )
    })?;
    data(buffer, whole, datatype, name)
}

/// Describes a buffer's parts of different lengths at displacements in elements.
fn pieces<'a>(
    buffer: *const c_void,
    counts: Counts,
    displacements: Counts,
    size: u32,
    datatype: &'a Datatype,
    names: Names,
) -> Result<Vec<Data<'a>>> {
    arrays(counts, displacements, size, names)?;
    (0..size as usize)
        .map(|rank| {
            let offset = displacements.get(rank).wrapping_mul(datatype.extent());
            piece(buffer, offset, counts.get(rank), datatype, names[0]).named_at(names[1], rank)
        })
        .collect()
}

/// Describes `count` elements `offset` bytes after `buffer`.
fn piece<'a>(
    buffer: *const c_void,
    offset: i64,
    count: Count,
    datatype: &'a Datatype,
    name: &str,
) -> Result<Data<'a>> {
    let at = if is_in_place(buffer) { buffer } else { buffer.wrapping_byte_offset(offset as isize) };
    // A null buffer and the displacement of an empty piece may make any address, even that of MPI_IN_PLACE.
    if count == 0 && !is_in_place(buffer) {
        // SAFETY: there is nothing.
        return Ok(unsafe { Data::new(at, 0, datatype) });
    }
    // With MPI_BOTTOM, displacement and datatype make the address together: only where the data begins tells.
    if buffer.is_null() && !check::is_low(at.wrapping_byte_offset(datatype.true_lb() as isize)) {
        let count = check::count(count, "count")?;
        // SAFETY: as in `data`.
        return Ok(unsafe { Data::new(at, count, datatype) });
    }
    data(at, count, datatype, name)
}

fn arrays(counts: Counts, displacements: Counts, size: u32, names: Names) -> Result {
    check::array(counts.is_null(), size as usize, names[1])?;
    check::array(displacements.is_null(), size as usize, names[2])
}

/// Refuses buffers that share memory.
#[inline]
pub(crate) fn distinct(send: &Data<'_>, receive: &Data<'_>) -> Result {
    if send.overlaps(receive) { Err(aliased(send.is_at(receive))) } else { Ok(()) }
}

#[cold]
fn aliased(same: bool) -> Error {
    let how = if same { "are the same" } else { "overlap" };
    let text = format!(
        "sendbuf and recvbuf {how}; pass separate buffers, or MPI_IN_PLACE for the one that only repeats the other"
    );
    Error::new(MPI_ERR_BUFFER, text)
}

/// The datatypes of a call with one for each rank.
fn datatypes(
    process: &'static Process,
    handles: In<abi::Datatype>,
    size: u32,
    name: &str,
) -> Result<Vec<Type<'static>>> {
    check::array(handles.is_null(), size as usize, name)?;
    (0..size as usize).map(|rank| datatype(process, handles.get(rank)).named_at(name, rank)).collect()
}

/// Describes a buffer's parts of different datatypes at displacements in bytes.
fn typed_pieces<'a>(
    buffer: *const c_void,
    counts: Counts,
    displacements: Counts,
    types: &'a [Type<'static>],
    names: Names,
) -> Result<Vec<Data<'a>>> {
    arrays(counts, displacements, types.len() as u32, names)?;
    let each = types.iter().enumerate();
    each.map(|(rank, datatype)| {
        piece(buffer, displacements.get(rank), counts.get(rank), datatype, names[0]).named_at(names[1], rank)
    })
    .collect()
}
