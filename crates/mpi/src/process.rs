//! The library's state of one rank (an MPI process in the standard's words).
#![allow(unsafe_code)]

use crate::attributes::PredefinedValues;
use crate::communicators::Communicator;
use crate::datatypes::DatatypeState;
use crate::errors::{ErrorCodes, UserHandler};
use crate::failures::Failures;
use crate::info::Info;
use crate::keyvals::Keyvals;
use crate::messages::Messages;
use std::ops::Deref;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use weft_base::constants::*;
use weft_base::handle::Kind;
use weft_base::table::Table;
use weft_base::{Error, Result, abi};
use weft_comm::Group;
use weft_datatype::Datatype;
use weft_op::Op;

/// Before `MPI_Init`.
pub const NOT_INITIALIZED: u32 = 0;
/// Between `MPI_Init` and `MPI_Finalize`.
pub const INITIALIZED: u32 = 1;
/// After `MPI_Finalize`.
pub const FINALIZED: u32 = 2;

/// An object by handle: borrowed when it is predefined, so that the short-message path counts no references.
pub enum Ref<'a, T> {
    /// A predefined object.
    Borrowed(&'a T),
    /// A user's object, kept alive while it is in use.
    Owned(Arc<T>),
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        match self {
            Self::Borrowed(object) => object,
            Self::Owned(object) => object,
        }
    }
}

/// One rank's state. Lives for ever once created: a thread may be in the library while the rank ends.
pub struct Process {
    /// The rank's number in the job.
    pub world_rank: u32,
    /// The job's number of ranks.
    pub world_size: u32,
    /// The rank's own thread, the one that runs its `main`.
    pub main_thread: &'static weft_sched::Thread,
    phase: AtomicU32,
    pub(crate) world: OnceLock<Communicator>,
    pub(crate) itself: OnceLock<Communicator>,
    pub(crate) messages: OnceLock<Messages>,
    /// Communicators the user created.
    pub communicators: Table<Communicator>,
    /// Groups the user created.
    pub groups: Table<Group>,
    /// Datatypes the user created.
    pub datatypes: Table<Datatype>,
    /// Names of datatypes, and the unnamed predefined ones.
    pub datatype_state: DatatypeState,
    /// Operations the user created.
    pub operations: Table<Op>,
    /// Error handlers the user created.
    pub error_handlers: Table<UserHandler>,
    /// Info objects the user created.
    pub infos: Table<Info>,
    /// Attribute keys.
    pub keyvals: Keyvals,
    /// The values of the predefined attributes of communicators.
    pub(crate) predefined_attributes: PredefinedValues,
    /// Error classes, codes and strings the user added.
    pub error_codes: ErrorCodes,
    /// The latest errors, for `MPI_Error_string`.
    pub(crate) failures: Failures,
}

/// The only process of a program that was started alone; threads that belong to no rank belong to it.
static SINGLETON: AtomicPtr<Process> = AtomicPtr::new(core::ptr::null_mut());

impl Process {
    /// Creates the state of the calling thread's rank and attaches it to the thread.
    pub fn create(world_rank: u32, world_size: u32) -> &'static Self {
        let main_thread = weft_sched::current();
        let process: &'static Self = Box::leak(Box::new(Self {
            world_rank,
            world_size,
            main_thread,
            phase: AtomicU32::new(NOT_INITIALIZED),
            world: OnceLock::new(),
            itself: OnceLock::new(),
            messages: OnceLock::new(),
            communicators: Table::new(Kind::Comm, world_rank),
            groups: Table::new(Kind::Group, world_rank),
            datatypes: Table::new(Kind::Datatype, world_rank),
            datatype_state: DatatypeState::default(),
            operations: Table::new(Kind::Op, world_rank),
            error_handlers: Table::new(Kind::Errhandler, world_rank),
            infos: Table::new(Kind::Info, world_rank),
            keyvals: Keyvals::default(),
            predefined_attributes: PredefinedValues::default(),
            error_codes: ErrorCodes::default(),
            failures: Failures::default(),
        }));
        main_thread.set_process(world_rank, (process as *const Self).cast_mut().cast());
        process
    }

    /// Returns the calling thread's rank, whatever its phase; creates the state of a program started alone.
    #[inline]
    pub fn any() -> &'static Self {
        let pointer: *mut Self = weft_sched::current().process().cast();
        // SAFETY: only `create` stores this pointer, and what it points to is never freed.
        unsafe { pointer.as_ref() }.unwrap_or_else(Self::singleton)
    }

    #[cold]
    fn singleton() -> &'static Self {
        static CREATE: std::sync::Mutex<()> = std::sync::Mutex::new(());
        let _guard = CREATE.lock().unwrap_or_else(|e| e.into_inner());
        // SAFETY: null or a leaked process, stored below.
        match unsafe { SINGLETON.load(Ordering::Acquire).as_ref() } {
            Some(process) => {
                let pointer = (process as *const Self).cast_mut();
                weft_sched::current().set_process(process.world_rank, pointer.cast());
                process
            }
            None => {
                let process = Self::create(0, 1);
                SINGLETON.store((process as *const Self).cast_mut(), Ordering::Release);
                process
            }
        }
    }

    /// Returns the calling thread's rank, which must be between `MPI_Init` and `MPI_Finalize`.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` before and after.
    #[inline]
    pub fn current() -> Result<&'static Self> {
        let process = Self::any();
        if process.phase() == INITIALIZED { Ok(process) } else { Err(process.wrong_phase()) }
    }

    #[cold]
    fn wrong_phase(&self) -> Error {
        let text = match self.phase() {
            FINALIZED => "called after MPI_Finalize; only inquiry functions may be",
            _ => "called before MPI_Init; initialise MPI first",
        };
        Error::new(MPI_ERR_OTHER, text)
    }

    /// Returns [`NOT_INITIALIZED`], [`INITIALIZED`] or [`FINALIZED`].
    #[inline]
    pub fn phase(&self) -> u32 {
        self.phase.load(Ordering::Acquire)
    }

    pub(crate) fn set_phase(&self, phase: u32) {
        self.phase.store(phase, Ordering::Release);
    }

    /// Returns a communicator by handle.
    ///
    /// # Errors
    /// `MPI_ERR_COMM`
    #[inline]
    pub fn communicator(&self, handle: abi::Comm) -> Result<Ref<'_, Communicator>> {
        let predefined = match handle {
            MPI_COMM_WORLD => self.world.get(),
            MPI_COMM_SELF => self.itself.get(),
            _ => None,
        };
        match predefined {
            Some(communicator) => Ok(Ref::Borrowed(communicator)),
            None => self.created_communicator(handle),
        }
    }

    fn created_communicator(&self, handle: abi::Comm) -> Result<Ref<'_, Communicator>> {
        self.communicators.get(handle.0).map(Ref::Owned)
    }

    /// Returns a datatype by handle.
    ///
    /// # Errors
    /// `MPI_ERR_TYPE`
    #[inline]
    pub fn datatype(&self, handle: abi::Datatype) -> Result<Ref<'_, Datatype>> {
        match Datatype::predefined(handle) {
            Some(datatype) => Ok(Ref::Borrowed(datatype)),
            None => self.created_datatype(handle),
        }
    }

    fn created_datatype(&self, handle: abi::Datatype) -> Result<Ref<'_, Datatype>> {
        self.datatypes.get(handle.0).map(Ref::Owned)
    }

    /// Returns an operation by handle.
    ///
    /// # Errors
    /// `MPI_ERR_OP`
    #[inline]
    pub fn operation(&self, handle: abi::Op) -> Result<Ref<'_, Op>> {
        match Op::predefined(handle) {
            Some(op) => Ok(Ref::Borrowed(op)),
            None => self.operations.get(handle.0).map(Ref::Owned),
        }
    }

    /// Returns a group by handle.
    ///
    /// # Errors
    /// `MPI_ERR_GROUP`
    pub fn group(&self, handle: abi::Group) -> Result<Ref<'_, Group>> {
        match handle {
            MPI_GROUP_EMPTY => Ok(Ref::Owned(Arc::new(Group::empty()))),
            _ => self.groups.get(handle.0).map(Ref::Owned),
        }
    }
}
