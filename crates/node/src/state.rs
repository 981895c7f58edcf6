//! The libc state of one rank, and which thread belongs to it.
#![allow(unsafe_code)] // Hands out `&'static` from a pointer kept in thread-local storage, and addresses of its variables.

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
use core::ffi::{c_char, c_int, c_long, c_void};
use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};
use weft_base::host::Variable;

/// What libc keeps per process, for one rank. Lives for ever: foreign threads of the rank may outlive it.
pub struct RankState {
    /// Handlers of `atexit` and its relatives.
    pub exit: Mutex<ExitHandlers>,
    /// `rand`, `random`, `drand48`.
    pub random: Mutex<Random>,
    /// Where `getopt` stands. The variables beside it are the program's to read and write.
    pub scan: Mutex<Scan>,
    /// `optarg`, `optind`, `opterr`, `optopt`, but for those that the program keeps by itself.
    options: Shared<OptionVariables>,
    /// `getenv`, `setenv`.
    pub environment: Mutex<Environment>,
    /// The variable `environ`, unless the program keeps it by itself.
    environ: Shared<*mut *mut c_char>,
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
    /// `tzname`, `timezone`, `daylight`, but for those that the program keeps by itself.
    zone: Shared<Zone>,
    /// Results that libc returns in static buffers.
    pub buffers: Shared<Buffers>,
    /// The locks of libgomp.
    pub openmp: OpenMpLocks,
    /// Where the program keeps variables by itself, by their numbers; null for the others.
    moved: [AtomicPtr<c_void>; VARIABLES],
}

/// How many variables there are.
const VARIABLES: usize = Variable::ErrorOutput as usize + 1;

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
            moved: Default::default(),
        }));
        state.streams.register();
        state
    }

    /// Returns the address of a variable.
    pub fn variable(&self, variable: Variable) -> *mut c_void {
        let moved = self.moved[variable as usize].load(Ordering::Relaxed);
        if !moved.is_null() {
            return moved;
        }
        let (options, zone) = (self.options.get(), self.zone.get());
        // SAFETY: fields of the rank's own variables are addressed, not read.
        unsafe {
            match variable {
                Variable::OptionArgument => (&raw mut (*options).argument).cast(),
                Variable::OptionIndex => (&raw mut (*options).index).cast(),
                Variable::OptionErrors => (&raw mut (*options).errors).cast(),
                Variable::OptionCharacter => (&raw mut (*options).character).cast(),
                Variable::Environment => self.environ.get().cast(),
                Variable::ProgramName => (&raw mut (*self.program.names.get())[0]).cast(),
                Variable::ShortProgramName => (&raw mut (*self.program.names.get())[1]).cast(),
                Variable::ZoneNames => (&raw mut (*zone).names).cast(),
                Variable::ZoneOffset => (&raw mut (*zone).offset).cast(),
                Variable::ZoneDaylight => (&raw mut (*zone).daylight).cast(),
                Variable::Input => self.streams.variable(0).cast(),
                Variable::Output => self.streams.variable(1).cast(),
                Variable::ErrorOutput => self.streams.variable(2).cast(),
            }
        }
    }

    /// Returns the address of the variable `environ`.
    pub fn environ(&self) -> *mut *mut *mut c_char {
        self.variable(Variable::Environment).cast()
    }

    /// Says that the program keeps a variable by itself, and sets it.
    ///
    /// # Safety
    /// `place` is the variable of this rank's copy, which does not run yet.
    pub unsafe fn move_variable(&self, variable: Variable, place: *mut c_void) {
        let size = match variable {
            Variable::OptionIndex
            | Variable::OptionErrors
            | Variable::OptionCharacter
            | Variable::ZoneDaylight => size_of::<c_int>(),
            Variable::ZoneNames => size_of::<[*mut c_char; 2]>(),
            // SAFETY: the caller's promise.
            Variable::Input => return unsafe { self.streams.move_variable(0, place.cast()) },
            // SAFETY: the caller's promise.
            Variable::Output => return unsafe { self.streams.move_variable(1, place.cast()) },
            // SAFETY: the caller's promise.
            Variable::ErrorOutput => return unsafe { self.streams.move_variable(2, place.cast()) },
            _ => size_of::<usize>(),
        };
        // SAFETY: the rank's variable and the program's, which is of the same type; a second name of one place changes nothing.
        unsafe { core::ptr::copy(self.variable(variable).cast::<u8>(), place.cast(), size) };
        self.moved[variable as usize].store(place, Ordering::Relaxed);
    }

    /// Calls a function with the variables of `getopt`.
    ///
    /// # Safety
    /// Nobody else uses them meanwhile.
    pub unsafe fn with_options<R>(&self, call: impl FnOnce(&mut OptionVariables) -> R) -> R {
        let place = |variable| self.variable(variable);
        let (argument, index) = (place(Variable::OptionArgument), place(Variable::OptionIndex));
        let (errors, character) = (place(Variable::OptionErrors), place(Variable::OptionCharacter));
        // SAFETY: the rank's variables, wherever they are; the caller's promise.
        unsafe {
            let mut all = OptionVariables {
                argument: *argument.cast(),
                index: *index.cast(),
                errors: *errors.cast(),
                character: *character.cast(),
            };
            let result = call(&mut all);
            *argument.cast() = all.argument;
            *index.cast() = all.index;
            *errors.cast() = all.errors;
            *character.cast() = all.character;
            result
        }
    }

    /// Sets the variables of the time zone.
    ///
    /// # Safety
    /// Nobody else uses them meanwhile.
    pub unsafe fn set_zone(&self, zone: Zone) {
        // SAFETY: the rank's variables, wherever they are; the caller's promise.
        unsafe {
            *self.variable(Variable::ZoneNames).cast() = zone.names;
            *self.variable(Variable::ZoneOffset).cast() = zone.offset;
            *self.variable(Variable::ZoneDaylight).cast() = zone.daylight;
        }
    }
}
