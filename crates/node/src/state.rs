//! The libc state of one rank, and which thread belongs to it.
#![allow(unsafe_code)] // Hands out `&'static` from a pointer kept in thread-local storage.

use crate::children::Children;
use crate::environment::Environment;
use crate::exit::ExitHandlers;
use crate::identity::Program;
use crate::keys::Keys;
use crate::lock::Lock;
use crate::options::{OptionVariables, Scan};
use crate::random::Random;
use crate::shared::Shared;
use crate::streams::Streams;
use core::ffi::{c_char, c_int, c_long};
use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::AtomicI32;

/// What libc keeps per process, for one rank. Lives for ever: foreign threads of the rank may outlive it.
pub struct RankState {
    /// Handlers of `atexit` and its relatives.
    pub exit: Mutex<ExitHandlers>,
    /// `rand`, `random`, `drand48`.
    pub random: Mutex<Random>,
    /// Where `getopt` stands. The variables beside it are the program's to read and write.
    pub scan: Mutex<Scan>,
    /// `optarg`, `optind`, `opterr`, `optopt`.
    pub options: Shared<OptionVariables>,
    /// `getenv`, `setenv`.
    pub environment: Mutex<Environment>,
    /// The variable `environ`.
    pub environ: Shared<*mut *mut c_char>,
    /// Keys of thread-specific data.
    pub keys: Mutex<Keys>,
    /// The processes the rank has started.
    pub children: Mutex<Children>,
    /// `stdin`, `stdout`, `stderr`, and what 0, 1 and 2 are.
    pub streams: Streams,
    /// The program.
    pub program: Program,
    /// The process number.
    pub number: AtomicI32,
    /// `tzname`, `timezone`, `daylight`.
    pub zone: Shared<Zone>,
    /// Results that libc returns in static buffers.
    pub buffers: Shared<Buffers>,
    /// The locks of libgomp.
    pub openmp: OpenMpLocks,
}

/// Locks that libgomp has once per process.
#[derive(Default)]
pub struct OpenMpLocks {
    /// Of the unnamed `omp critical`.
    pub critical: Lock,
    /// Of atomic operations without an instruction.
    pub atomic: Lock,
}

/// What `tzset` tells of the time zone.
pub struct Zone {
    /// `tzname`
    pub names: [*mut c_char; 2],
    /// `timezone`
    pub offset: c_long,
    /// `daylight`
    pub daylight: c_int,
}

impl Default for Zone {
    fn default() -> Self {
        Self { names: [c"GMT".as_ptr().cast_mut(); 2], offset: 0, daylight: 0 }
    }
}

/// Static result buffers of libc.
pub struct Buffers {
    /// Where `strtok` goes on.
    pub token: *mut c_char,
    /// `localtime`, `gmtime`.
    pub time: libc::tm,
    /// `asctime`, `ctime`.
    pub text: [c_char; 128],
}

thread_local!(static CURRENT: Cell<Option<&'static RankState>> = const { Cell::new(None) });

/// Returns the state of the calling thread's rank, if it belongs to one.
#[inline]
pub fn current() -> Option<&'static RankState> {
    CURRENT.get()
}

/// Makes the calling thread one of a rank, or of none.
pub fn attach(state: Option<&'static RankState>) {
    CURRENT.set(state);
}

impl RankState {
    /// Creates the state a process starts with. `environment` is the rank's environment; null means the process's.
    ///
    /// # Safety
    /// `environment` is null or a null-terminated array of C strings; both live, unchanged, as long as the process.
    pub unsafe fn create(
        environment: *const *mut c_char,
        streams: Streams,
        program: Program,
    ) -> &'static RankState {
        // SAFETY: `tm` is plain data of integers and a nullable pointer, for which zeros are valid.
        let time = unsafe { core::mem::zeroed() };
        let buffers = Buffers { token: core::ptr::null_mut(), time, text: [0; 128] };
        // SAFETY: the caller's promise.
        let (environment, environ) = unsafe { Environment::create(environment) };
        let state: &'static RankState = Box::leak(Box::new(RankState {
            exit: Mutex::default(),
            random: Mutex::new(Random::default()),
            scan: Mutex::default(),
            options: Shared::new(OptionVariables::default()),
            environment: Mutex::new(environment),
            environ: Shared::new(environ),
            keys: Mutex::default(),
            children: Mutex::default(),
            streams,
            program,
            number: AtomicI32::new(0),
            zone: Shared::new(Zone::default()),
            buffers: Shared::new(buffers),
            openmp: OpenMpLocks::default(),
        }));
        state.streams.register();
        state
    }
}
