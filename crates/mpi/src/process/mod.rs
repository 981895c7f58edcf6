//! The library's state of one rank (an MPI process in the standard's words).
//!
//! `recent` holds the objects that a rank's own thread used last; `host` says what the surroundings of a rank provide.
#![allow(unsafe_code)]

pub mod host;
pub(crate) mod recent;

use crate::attributes::communicator_attributes::PredefinedValues;
use crate::attributes::keyvals::Keyvals;
use crate::communicators::communicator::Communicator;
use crate::datatypes::fortran::Confirmed;
use crate::datatypes::state::DatatypeState;
use crate::environment::info::Info;
use crate::environment::memory::Blocks;
use crate::environment::sessions::Session;
use crate::errors::codes::ErrorCodes;
use crate::errors::failures::Failures;
use crate::errors::handling::{ErrorHandler, UserHandler};
use crate::point_to_point::messages::Messages;
use crate::process::recent::{Held, Recent};
use crate::reports::thread_levels::Callers;
use crate::windows::window::Window;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use weft_base::constants::*;
use weft_base::handle::Kind;
use weft_base::table::Table;
use weft_base::{Error, Result, abi};
use weft_comm::Group;
use weft_datatype::Datatype;
use weft_op::Op;
use weft_sync::Lock;

/// The phase of the world model before `MPI_Init`.
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
    /// A user's object that the rank's own thread has used before.
    Held(Held<'a, T>),
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        match self {
            Self::Borrowed(object) => object,
            Self::Owned(object) => object,
            Self::Held(object) => object,
        }
    }
}

/// The phase in the state word.
const PHASE: u32 = 3;
/// One session in the state word.
const SESSION: u32 = 4;

/// `MPI_COMM_WORLD` or `MPI_COMM_SELF`: there between `MPI_Init` and `MPI_Finalize`.
#[derive(Default)]
pub struct Predefined {
    current: AtomicPtr<Communicator>,
    /// What it was, so that tools which look for leaks find its memory.
    past: AtomicPtr<Communicator>,
}

impl Predefined {
    /// Returns the communicator, if it is valid.
    #[inline]
    pub fn get(&self) -> Option<&Communicator> {
        // SAFETY: null or what `set` leaked.
        unsafe { self.current.load(Ordering::Acquire).as_ref() }
    }

    /// Makes it valid.
    pub(crate) fn set(&self, communicator: Communicator) {
        self.current.store(Box::into_raw(Box::new(communicator)), Ordering::Release);
    }

    /// Makes it invalid. Its memory stays, because other threads may be using it.
    pub(crate) fn clear(&self) {
        let past = self.current.swap(core::ptr::null_mut(), Ordering::AcqRel);
        if !past.is_null() {
            self.past.store(past, Ordering::Relaxed);
        }
    }
}

/// What everybody may know of a file; the rest is the business of [`crate::files`].
pub(crate) struct KeptFile {
    pub error_handler: Lock<ErrorHandler>,
    /// Its ranks.
    pub group: Group,
    /// What reports call it.
    pub title: String,
    pub state: Arc<dyn core::any::Any + Send + Sync>,
}

/// One rank's state. Lives for ever once created: a thread may be in the library while the rank ends.
pub struct Process {
    /// The rank's number in the job.
    pub world_rank: u32,
    /// The job's number of ranks.
    pub world_size: u32,
    /// The rank's own thread, the one that runs its `main`.
    pub main_thread: &'static weft_sched::Thread,
    /// The phase of the world model, and above it the number of sessions that are not finalised: one word, because
    /// every call asks whether the library may be used.
    state: AtomicU32,
    /// The thread that called `MPI_Init`.
    pub(crate) initializer: OnceLock<&'static weft_sched::Thread>,
    used_sessions: AtomicBool,
    /// Checking mode has said what the rank leaves behind.
    pub(crate) is_reported: AtomicBool,
    pub(crate) world: Predefined,
    pub(crate) itself: Predefined,
    pub(crate) messages: OnceLock<Messages>,
    /// Sessions that are not finalised.
    pub sessions: Table<Session>,
    /// The error handler of file operations that have no file.
    pub(crate) default_file_handler: Lock<ErrorHandler>,
    /// Communicators the user created.
    pub communicators: Table<Communicator>,
    /// Communicators the user freed while requests refer to them, with their former handles.
    pub(crate) retired: Lock<Vec<(abi::Comm, Arc<Communicator>)>>,
    /// Communicators with processes of other jobs that the user has freed and not disconnected.
    pub(crate) freed_ties: Lock<Vec<Arc<Communicator>>>,
    /// The communicator with those who have spawned the job.
    pub(crate) parent: OnceLock<abi::Comm>,
    /// Groups the user created.
    pub groups: Table<Group>,
    /// Datatypes the user created.
    pub datatypes: Table<Datatype>,
    recent_datatypes: Recent<Datatype>,
    /// Names of datatypes, and the unnamed predefined ones.
    pub datatype_state: DatatypeState,
    /// Operations the user created.
    pub operations: Table<Op>,
    /// Error handlers the user created.
    pub error_handlers: Table<UserHandler>,
    /// How many were created so far.
    pub(crate) created_handlers: AtomicUsize,
    /// Info objects the user created.
    pub infos: Table<Info>,
    /// `MPI_INFO_ENV`
    pub(crate) environment_info: OnceLock<Arc<Info>>,
    /// Attribute keys.
    pub keyvals: Keyvals,
    /// The values of the predefined attributes of communicators.
    pub(crate) predefined_attributes: PredefinedValues,
    pub(crate) fortran: Confirmed,
    /// What `MPI_Alloc_mem` gave to the program.
    pub(crate) memory: Blocks,
    /// What active messages keep of the rank.
    pub(crate) active: OnceLock<Box<dyn core::any::Any + Send + Sync>>,
    /// Windows.
    pub windows: Table<Window>,
    recent_windows: Recent<Window>,
    /// Files.
    pub(crate) files: Table<KeptFile>,
    /// Representations of data in files that the program has defined.
    pub(crate) representations: Lock<Vec<Arc<dyn weft_io::Conversion>>>,
    /// Error classes, codes and strings the user added.
    pub error_codes: ErrorCodes,
    /// The latest errors, for `MPI_Error_string`.
    pub(crate) failures: Failures,
    /// In checking mode, the threads that are in calls.
    pub(crate) callers: Callers,
    /// What the tool information interface keeps.
    pub(crate) tools: OnceLock<Box<dyn core::any::Any + Send + Sync>>,
}

/// The only rank of a program that runs as a process of its own; threads that belong to no rank belong to it.
static SINGLETON: AtomicPtr<Process> = AtomicPtr::new(core::ptr::null_mut());

impl Process {
    /// Creates the state of the calling thread's rank and attaches it to the thread.
    pub fn create(world_rank: u32, world_size: u32) -> &'static Self {
        crate::errors::failures::report_panics();
        let main_thread = weft_sched::current();
        let process: &'static Self = Box::leak(Box::new(Self {
            world_rank,
            world_size,
            main_thread,
            state: AtomicU32::new(NOT_INITIALIZED),
            initializer: OnceLock::new(),
            used_sessions: AtomicBool::new(false),
            is_reported: AtomicBool::new(false),
            world: Predefined::default(),
            itself: Predefined::default(),
            messages: OnceLock::new(),
            sessions: Table::new(Kind::Session, world_rank),
            default_file_handler: Lock::new(ErrorHandler::RETURN),
            communicators: Table::new(Kind::Comm, world_rank),
            retired: Lock::default(),
            freed_ties: Lock::default(),
            parent: OnceLock::new(),
            groups: Table::new(Kind::Group, world_rank),
            datatypes: Table::new(Kind::Datatype, world_rank),
            recent_datatypes: Recent::default(),
            datatype_state: DatatypeState::default(),
            operations: Table::new(Kind::Op, world_rank),
            error_handlers: Table::new(Kind::Errhandler, world_rank),
            created_handlers: AtomicUsize::new(0),
            infos: Table::new(Kind::Info, world_rank),
            environment_info: OnceLock::new(),
            keyvals: Keyvals::default(),
            predefined_attributes: PredefinedValues::default(),
            fortran: Confirmed::default(),
            memory: Blocks::default(),
            active: OnceLock::new(),
            windows: Table::new(Kind::Win, world_rank),
            recent_windows: Recent::default(),
            files: Table::new(Kind::File, world_rank),
            representations: Lock::default(),
            error_codes: ErrorCodes::default(),
            failures: Failures::default(),
            callers: Callers::default(),
            tools: OnceLock::new(),
        }));
        main_thread.set_process(world_rank, (process as *const Self).cast_mut().cast());
        process
    }

    /// Returns the calling thread's rank, whatever its phase; creates the state of a program in a process of its own.
    #[inline]
    pub fn any() -> &'static Self {
        let pointer: *mut Self = weft_sched::current().process().cast();
        // SAFETY: only `create` stores this pointer, and what it points to is never freed.
        unsafe { pointer.as_ref() }.unwrap_or_else(Self::singleton)
    }

    /// Returns the calling thread's rank, if there is one yet.
    pub(crate) fn known() -> Option<&'static Self> {
        let own: *mut Self = weft_sched::current().process().cast();
        let found = if own.is_null() { SINGLETON.load(Ordering::Acquire) } else { own };
        // SAFETY: as in `any`: null, or a process, which is never freed.
        unsafe { found.as_ref() }
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
                let host = crate::process::host::host();
                let process = Self::create(host.rank(), host.size());
                SINGLETON.store((process as *const Self).cast_mut(), Ordering::Release);
                process
            }
        }
    }

    /// Returns the calling thread's rank, which must be between `MPI_Init` and `MPI_Finalize` or have a session.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` before and after.
    #[inline]
    pub fn current() -> Result<&'static Self> {
        let process = Self::any();
        if process.is_active() { Ok(process) } else { Err(process.wrong_phase()) }
    }

    /// Tells whether the world model or a session makes the library usable.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.state.load(Ordering::Acquire) & !FINALIZED != 0
    }

    /// Returns the number of sessions that are not finalised.
    pub fn live_sessions(&self) -> u32 {
        self.state.load(Ordering::Acquire) / SESSION
    }

    /// Tells whether the rank has used the library and will not any more, as far as one can know.
    pub fn has_finished(&self) -> bool {
        !self.is_active() && (self.phase() == FINALIZED || self.used_sessions.load(Ordering::Relaxed))
    }

    /// Tells whether another process of the job is lost, as far as this one knows.
    pub(crate) fn has_lost_others(&self) -> bool {
        self.messages.get().is_some_and(|messages| messages.engine.has_lost_others())
    }

    pub(crate) fn count_session(&self) {
        self.used_sessions.store(true, Ordering::Relaxed);
        self.state.fetch_add(SESSION, Ordering::AcqRel);
    }

    pub(crate) fn uncount_session(&self) {
        self.state.fetch_sub(SESSION, Ordering::AcqRel);
    }

    #[cold]
    fn wrong_phase(&self) -> Error {
        let text = match self.phase() {
            FINALIZED => "called after MPI_Finalize; only inquiry functions may be",
            _ => "called before MPI_Init; initialise MPI first",
        };
        Error::new(MPI_ERR_OTHER, text)
    }

    /// Returns the phase of the world model: [`NOT_INITIALIZED`], [`INITIALIZED`] or [`FINALIZED`].
    #[inline]
    pub fn phase(&self) -> u32 {
        self.state.load(Ordering::Acquire) & PHASE
    }

    pub(crate) fn set_phase(&self, phase: u32) {
        // Both updates always succeed; phases only grow.
        self.state.fetch_xor(self.phase() ^ phase, Ordering::AcqRel);
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

    #[cold]
    fn not_in_world_model(&self, handle: abi::Comm) -> Error {
        let when = if self.phase() == NOT_INITIALIZED { "before MPI_Init" } else { "after MPI_Finalize" };
        let name = if handle == MPI_COMM_WORLD { "MPI_COMM_WORLD" } else { "MPI_COMM_SELF" };
        Error::handle(Kind::Comm, handle.0, format!("is {name}, which is not valid {when}"))
    }

    fn created_communicator(&self, handle: abi::Comm) -> Result<Ref<'_, Communicator>> {
        if [MPI_COMM_WORLD, MPI_COMM_SELF].contains(&handle) {
            return Err(self.not_in_world_model(handle));
        }
        self.communicators.get(handle.0).map(Ref::Owned)
    }

    /// Returns a session by handle.
    ///
    /// # Errors
    /// `MPI_ERR_SESSION`
    pub fn session(&self, handle: abi::Session) -> Result<Arc<Session>> {
        self.sessions.get(handle.0)
    }

    /// Returns a window by handle.
    ///
    /// # Errors
    /// `MPI_ERR_WIN`
    #[inline]
    pub fn window(&self, handle: abi::Win) -> Result<Ref<'_, Window>> {
        self.recent(&self.recent_windows, &self.windows, handle.0)
    }

    /// Returns a file by handle.
    ///
    /// # Errors
    /// `MPI_ERR_FILE`
    pub(crate) fn file(&self, handle: abi::File) -> Result<Arc<KeptFile>> {
        self.files.get(handle.0)
    }

    /// Takes a window out of the table. What the rank's own thread remembers of it goes, too: its memory is not to stay.
    ///
    /// # Errors
    /// `MPI_ERR_WIN`
    pub(crate) fn remove_window(&self, handle: abi::Win) -> Result {
        let removed = self.windows.remove(handle.0)?;
        if core::ptr::eq(weft_sched::current(), self.main_thread) {
            // SAFETY: the cache belongs to the rank's main thread, and this is it.
            unsafe { self.recent_windows.forget(handle.0) };
        }
        drop(removed);
        Ok(())
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
        self.recent(&self.recent_datatypes, &self.datatypes, handle.0)
    }

    /// Finds an object of a table, and quickly if it is one that the rank's own thread has used recently.
    #[inline]
    fn recent<'a, T>(&self, cache: &'a Recent<T>, table: &Table<T>, handle: usize) -> Result<Ref<'a, T>> {
        // Read before the object: one that is removed meanwhile is not remembered as one that is there.
        let removals = table.removals();
        let own = core::ptr::eq(weft_sched::current(), self.main_thread);
        // SAFETY: the cache belongs to the rank's main thread, and this is it.
        if own && let Some(held) = unsafe { cache.get(handle, removals) } {
            return Ok(Ref::Held(held));
        }
        let found = table.get(handle)?;
        if own {
            // SAFETY: `own` says that this is the main thread, whose cache it is.
            unsafe { cache.put(handle, removals, &found) };
        }
        Ok(Ref::Owned(found))
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
