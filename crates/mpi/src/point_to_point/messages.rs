//! What all point-to-point calls share: the rank's way into the message engine, and checks of their arguments.
#![allow(unsafe_code)]

use crate::arguments::check;
use crate::communicators::communicator::Communicator;
use crate::jobs::nodes;
use crate::process::host;
use crate::process::{Process, Ref};
use crate::reports::claims;
use core::ffi::{c_int, c_void};
use std::sync::OnceLock;
use weft_base::abi::{self, Count};
use weft_base::constants::*;
use weft_base::handle::Kind;
use weft_base::settings::is_checking;
use weft_base::table::Table;
use weft_base::{Error, Out, Result, Subject};
use weft_datatype::Datatype;
use weft_p2p::{Buffer, Endpoint, Engine, Envelope, Limits, Matched, Mode, Parts, Scope};
use weft_sync::Lock;

/// A rank's way into the message engine.
pub struct Messages {
    /// The engine of all ranks of the process.
    pub engine: &'static Engine,
    /// The rank's endpoint.
    pub endpoint: &'static Endpoint,
    /// Messages matched by a probe and not received yet.
    pub(crate) matched: Table<Lock<Option<Matched>>>,
}

impl Messages {
    /// Connects a rank; the first one of the process creates the engine.
    pub(crate) fn connect(process: &Process) -> Self {
        static ENGINE: OnceLock<&'static Engine> = OnceLock::new();
        let engine: &'static Engine = ENGINE.get_or_init(|| {
            weft_p2p::on_unheard_error(end_job);
            match nodes::nodes() {
                Some(nodes) => {
                    if nodes.places().ranks(nodes.node()).len() == 1 && !is_checking() {
                        weft_p2p::reserve(process.main_thread);
                    }
                    Engine::spread(nodes, Limits::default())
                }
                None => Box::leak(Box::new(Engine::new(host::host().size(), Limits::default()))),
            }
        });
        let endpoint = engine.attach(process.world_rank, process.main_thread);
        Self { engine, endpoint, matched: Table::new(Kind::Message, process.world_rank) }
    }
}

impl Messages {
    /// Sends words of the library's own to rank `target` of the job. Blocks until they are on their way, which for many
    /// may be until they are received.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` when the target's node process is lost.
    pub(crate) fn send_words(&self, target: u32, envelope: Envelope, words: &[u32]) -> Result {
        let bytes = size_of_val(words) as u64;
        // SAFETY: the words live until the blocking send has returned, which only reads them.
        unsafe {
            let data = Buffer::dense(words.as_ptr().cast_mut().cast(), bytes);
            self.engine.send(self.endpoint, target, envelope, data, Mode::Standard)
        }
    }

    /// Receives words that [`Messages::send_words`] sent.
    ///
    /// # Errors
    /// `MPI_ERR_TRUNCATE` when the message is longer.
    pub(crate) fn receive_words(&self, source: u32, envelope: Envelope, words: &mut [u32]) -> Result {
        let bytes = size_of_val(words) as u64;
        // SAFETY: the words live until the blocking receive has returned; any bytes are valid words.
        let (_, result) = unsafe {
            let data = Buffer::dense(words.as_mut_ptr().cast(), bytes);
            self.engine.receive(self.endpoint, Some(source), envelope, data)
        };
        result
    }
}

/// What messages of the library's own are for: those of different purposes never meet, whatever their tags.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    /// `MPI_Comm_create_group`
    CreateGroup = 0,
    /// `MPI_Intercomm_create`
    Intercommunicator = 1,
    /// `MPI_Comm_idup`
    Duplicate = 2,
    /// `MPI_Comm_create_from_group`
    FromGroup = 3,
    /// The leaders of `MPI_Intercomm_create_from_groups`.
    Leaders = 4,
    /// A leader and its side in `MPI_Intercomm_create_from_groups`.
    Side = 5,
    // 6 is for partitioned operations, in `weft_p2p`.
}

impl Purpose {
    /// Returns the envelope of a message from rank `source` of a communicator, under a tag of the program.
    pub fn envelope(self, communicator: &weft_comm::Communicator, source: u32, tag: c_int) -> Envelope {
        // A job has less than 2^24 ranks.
        let source = (self as i32) << 24 | source as i32;
        Envelope::new(communicator.collective_context(), source, tag)
    }

    /// Returns the envelope of a message from rank `source` of the job, under a tag of the library's, where ranks have no
    /// communicator in common.
    pub fn without_communicator(self, source: u32, tag: c_int) -> Envelope {
        let source = (self as i32) << 24 | source as i32;
        Envelope::new(weft_comm::WORLD_CONTEXT * 2 + 1, source, tag)
    }
}

impl Messages {
    /// Detaches the buffer of an object that ends, if it has one, when no message uses it any more.
    pub(crate) fn give_back_buffer(&self, scope: Scope) {
        // The error is that there is none.
        let _ = self.engine.detach_buffer(self.endpoint, scope);
    }
}

impl Process {
    /// Returns the rank's way into the message engine.
    ///
    /// # Panics
    /// Before `MPI_Init`.
    #[inline]
    pub fn messages(&self) -> &Messages {
        self.messages.get().expect("connected by MPI_Init")
    }
}

/// Ends the job for an error that no call of rank `rank` can return: the standard wants it to be fatal.
#[cold]
fn end_job(rank: u32, error: Error) {
    let text = format!(
        "weft: error on {}: rank {rank} of {}: {}. The job ends because the rank has freed the receive's request, so \
         that no call can return the error.",
        host::host().name(),
        host::host().size(),
        error.message
    );
    host::host().abort(rank, error.class, &text, &[])
}

/// The rank, its messages, and the communicator of a call.
pub(crate) struct Call {
    pub process: &'static Process,
    pub messages: &'static Messages,
    pub communicator: Ref<'static, Communicator>,
}

/// The other side of a message.
#[derive(Clone, Copy)]
pub(crate) enum Peer {
    /// `MPI_PROC_NULL`
    Nobody,
    /// `MPI_ANY_SOURCE`
    Anybody,
    /// A rank of the job.
    Rank(u32),
}

impl Call {
    /// Looks up who calls, and the communicator.
    #[inline]
    pub fn new(comm: abi::Comm) -> Result<Self> {
        let process = Process::current()?;
        let communicator = process.communicator(comm)?;
        Ok(Self { process, messages: process.messages(), communicator })
    }

    /// Checks a destination.
    #[inline]
    pub fn destination(&self, rank: c_int) -> Result<Peer> {
        let peers = self.communicator.values.peers();
        match u32::try_from(rank) {
            Ok(index) if index < peers.size() => Ok(Peer::Rank(peers.world_rank(index))),
            _ if rank == MPI_PROC_NULL => Ok(Peer::Nobody),
            _ => Err(bad_rank("dest", rank, peers.size(), "MPI_PROC_NULL")),
        }
    }

    /// Checks a source.
    #[inline]
    pub fn source(&self, rank: c_int) -> Result<Peer> {
        let peers = self.communicator.values.peers();
        match u32::try_from(rank) {
            Ok(index) if index < peers.size() => Ok(Peer::Rank(peers.world_rank(index))),
            _ if rank == MPI_ANY_SOURCE => Ok(Peer::Anybody),
            _ if rank == MPI_PROC_NULL => Ok(Peer::Nobody),
            _ => Err(bad_rank("source", rank, peers.size(), "MPI_ANY_SOURCE or MPI_PROC_NULL")),
        }
    }

    /// Returns the envelope of a message this rank sends.
    #[inline]
    pub fn envelope(&self, tag: c_int) -> Result<Envelope> {
        if tag < 0 {
            return Err(bad_tag(tag, ""));
        }
        let values = &self.communicator.values;
        Ok(Envelope::new(values.point_to_point_context(), values.rank as i32, tag))
    }

    /// Returns the pattern of a receive.
    #[inline]
    pub fn pattern(&self, source: c_int, tag: c_int) -> Result<Envelope> {
        if tag < 0 && tag != MPI_ANY_TAG {
            return Err(bad_tag(tag, " or MPI_ANY_TAG"));
        }
        Ok(Envelope::new(self.communicator.values.point_to_point_context(), source, tag))
    }
}

#[cold]
fn bad_rank(name: &str, rank: c_int, size: u32, others: &str) -> Error {
    let text = format!(
        "{name} is {}; use a rank from 0 to {}, {others}",
        check::special(rank, false),
        i64::from(size) - 1
    );
    Error::new(MPI_ERR_RANK, text)
}

#[cold]
pub(crate) fn bad_tag(tag: c_int, others: &str) -> Error {
    Error::about(
        Subject::Tag,
        tag.into(),
        format!("is {}; use a tag from 0 to {}{others}", check::special(tag, true), c_int::MAX),
    )
}

/// A buffer argument with the datatype it refers to.
pub(crate) struct Data<'a> {
    datatype: Ref<'a, Datatype>,
    address: *mut u8,
    count: u64,
}

impl Data<'_> {
    /// Checks address, count and datatype of a message.
    #[inline(always)]
    pub fn new(
        process: &'static Process,
        address: *const c_void,
        count: Count,
        datatype: abi::Datatype,
        names: [&str; 2],
    ) -> Result<Self> {
        let [buffer, counter] = names;
        let count = check::count(count, counter)?;
        let handle = datatype;
        let datatype = process.datatype(handle)?;
        if !matches!(datatype, Ref::Borrowed(_)) && !datatype.is_committed() {
            return Err(not_committed(handle));
        }
        check::buffer(address, count, &datatype, buffer)?;
        if is_checking() {
            claims::compare(process.world_rank, address, count, &datatype, buffer);
        }
        if datatype.size().checked_mul(count).is_none_or(|bytes| bytes > i64::MAX as u64) {
            return Err(too_long(counter, count));
        }
        Ok(Self { datatype, address: address.cast_mut().cast(), count })
    }

    /// Returns the buffer for the engine; valid while the argument's datatype lives.
    #[inline]
    pub fn buffer(&self) -> Buffer {
        // SAFETY: the caller of the MPI procedure promises the memory; the datatype is kept by this value, and for
        // longer operations by `kept`.
        unsafe { Buffer::new(self.address, self.count, &self.datatype) }
    }

    /// Returns the datatype if the program may free it before the operation ends.
    #[inline]
    pub fn kept(&self) -> Option<Datatype> {
        match &self.datatype {
            Ref::Borrowed(_) => None,
            _ => Some((*self.datatype).clone()),
        }
    }

    /// Returns the datatype.
    pub fn datatype(&self) -> &Datatype {
        &self.datatype
    }

    /// Returns the buffer for one-sided operations.
    #[inline]
    pub fn rma(&self) -> weft_rma::Data<'_> {
        weft_rma::Data { address: self.address, count: self.count, datatype: &self.datatype }
    }

    /// Returns the buffer of a partitioned operation, of which this is one part.
    ///
    /// # Errors
    /// `MPI_ERR_COUNT` if all parts together have too many bytes.
    pub fn parts(&self, partitions: u32) -> Result<Parts> {
        let bytes = self.buffer().bytes().checked_mul(u64::from(partitions));
        let span = i128::from(self.datatype.extent()) * i128::from(self.count) * i128::from(partitions);
        if bytes.is_none_or(|bytes| bytes > i64::MAX as u64) || i64::try_from(span).is_err() {
            return Err(too_long("count", self.count));
        }
        // SAFETY: the caller of the MPI procedure promises the memory.
        Ok(unsafe { Parts::new(self.address, partitions, self.count, (*self.datatype).clone()) })
    }

    /// Says that a buffer of bytes holds what [`Data::pack`] has copied out of this one.
    pub fn describe(&self, packed: Buffer) -> Buffer {
        packed.copy_of(self.count, &self.datatype)
    }

    /// Copies the data out, without gaps.
    pub fn pack(&self) -> Box<[u8]> {
        let length = self.buffer().bytes();
        let mut packed = vec![0u8; length as usize].into_boxed_slice();
        // SAFETY: the caller of the MPI procedure promises the buffer; `packed` has room.
        unsafe {
            weft_datatype::pack(self.address, self.count, &self.datatype, 0, packed.as_mut_ptr(), length);
        }
        packed
    }
}

/// Returns the error of a datatype that cannot be used for communication yet.
#[cold]
pub(crate) fn not_committed(handle: abi::Datatype) -> Error {
    Error::handle(
        Kind::Datatype,
        handle.0,
        format!("is {:#x}, which is not committed; call MPI_Type_commit first", handle.0),
    )
}

#[cold]
fn too_long(name: &str, count: u64) -> Error {
    Error::new(MPI_ERR_COUNT, format!("{name} is {count}; so many elements have more than 2^63 bytes"))
}

/// Stores a status of a call that completes one operation: the error field stays as it is.
#[inline]
pub(crate) fn store_status(target: Out<abi::Status>, status: abi::Status) {
    store_status_at(target, 0, status);
}

/// Stores a status at `index` of a call that completes several and found no error.
#[inline]
pub(crate) fn store_status_at(target: Out<abi::Status>, index: usize, status: abi::Status) {
    if !target.is_null() {
        target.set_at(index, abi::Status { error: target.get_at(index).error, ..status });
    }
}

/// The status of operations with `MPI_PROC_NULL`.
pub(crate) const NO_PROC_STATUS: abi::Status = abi::Status { source: MPI_PROC_NULL, ..abi::Status::empty() };
