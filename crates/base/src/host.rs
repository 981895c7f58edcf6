//! The two tables of functions through which the executable that holds ranks (`weft-node`) and the library it loads
//! know each other. Both sides are built together; [`VERSION`] catches a mixed installation.
#![allow(unsafe_code)] // Tells that a table of constants may be shared.

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::AtomicU32;

/// The version of both tables.
pub const VERSION: u32 = 2;

/// What the library offers the executable's replacements of libc functions.
#[repr(C)]
pub struct LibraryHooks {
    /// [`VERSION`] of the library.
    pub version: u32,
    /// Says that the calling thread of control creates a kernel thread now, and returns it for
    /// [`LibraryHooks::inherit`]. If none is made after all, the job's deadlocks go unnoticed, no more.
    pub announce_thread: extern "C" fn() -> *const c_void,
    /// Makes the calling kernel thread, new and unknown to the library, a thread of the rank of `creator`, and
    /// frees it from the processor its creator is bound to.
    pub inherit: unsafe extern "C" fn(creator: *const c_void),
    /// Tells whether an address lies in a copy of a program or library that only one rank uses.
    pub is_private: extern "C" fn(address: *const c_void) -> bool,
    /// Keeps what the calling rank has opened at this address until the rank ends, whatever it closes.
    pub keep_loaded: extern "C" fn(address: *const c_void),
    /// Runs the destructors of the calling rank's copies of the program and its libraries.
    pub run_destructors: extern "C" fn(),
    /// Ends the calling rank with an exit code.
    pub end_rank: extern "C" fn(code: c_int, how: RankEnd) -> !,
    /// Waits, as the library's own functions do, until a word has another value than `value` and whoever changed it has
    /// called [`LibraryHooks::wake`].
    pub wait: extern "C" fn(word: &AtomicU32, value: u32),
    /// Ends the waits for a word that has been changed.
    pub wake: extern "C" fn(word: &AtomicU32),
}

/// How a rank ended.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RankEnd {
    /// `main` returned, or `exit`.
    Exit,
    /// `_exit`, `_Exit` or `quick_exit`: no handlers, nothing flushed.
    Immediate,
}

/// Names the variables of libc that a rank has of its own.
#[repr(u32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variable {
    /// `optarg`
    OptionArgument,
    /// `optind`
    OptionIndex,
    /// `opterr`
    OptionErrors,
    /// `optopt`
    OptionCharacter,
    /// `environ`, `__environ`, `_environ`
    Environment,
    /// `program_invocation_name`, `__progname_full`
    ProgramName,
    /// `program_invocation_short_name`, `__progname`
    ShortProgramName,
    /// `tzname`
    ZoneNames,
    /// `timezone`
    ZoneOffset,
    /// `daylight`
    ZoneDaylight,
    /// `stdin`
    Input,
    /// `stdout`
    Output,
    /// `stderr`
    ErrorOutput,
}

impl Variable {
    /// All names under which programs refer to such variables.
    pub const NAMES: [(&'static str, Variable); 20] = [
        ("optarg", Variable::OptionArgument),
        ("optind", Variable::OptionIndex),
        ("opterr", Variable::OptionErrors),
        ("optopt", Variable::OptionCharacter),
        ("environ", Variable::Environment),
        ("__environ", Variable::Environment),
        ("_environ", Variable::Environment),
        ("program_invocation_name", Variable::ProgramName),
        ("__progname_full", Variable::ProgramName),
        ("program_invocation_short_name", Variable::ShortProgramName),
        ("__progname", Variable::ShortProgramName),
        ("tzname", Variable::ZoneNames),
        ("__tzname", Variable::ZoneNames),
        ("timezone", Variable::ZoneOffset),
        ("__timezone", Variable::ZoneOffset),
        ("daylight", Variable::ZoneDaylight),
        ("__daylight", Variable::ZoneDaylight),
        ("stdin", Variable::Input),
        ("stdout", Variable::Output),
        ("stderr", Variable::ErrorOutput),
    ];
}

/// What a rank is when it starts: its descriptors 0, 1 and 2, and its program.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Beginning {
    /// Whether it is rank 0, which alone has standard input.
    pub is_first: bool,
    /// The descriptors of its standard output and error; those of the process, or others of which it becomes the owner.
    pub output: [c_int; 2],
    /// The program's file, which lives as long as the process.
    pub program: *const c_char,
    /// The arguments with a zero byte after each, which live as long as the process.
    pub command_line: *const u8,
    /// How many bytes they are.
    pub command_line_length: usize,
    /// The first argument in the rank's own array, or null.
    pub name: *mut c_char,
}

/// A function that ranks get instead of libc's.
#[repr(C)]
pub struct Function {
    /// The name.
    pub name: *const c_char,
    /// The function.
    pub function: *const c_void,
}

// SAFETY: constants.
unsafe impl Sync for Function {}

/// What the executable offers the library.
#[repr(C)]
pub struct NodeHooks {
    /// [`VERSION`] of the executable.
    pub version: u32,
    /// Creates what libc keeps per process for one rank. `environment` is the rank's environment, a null-terminated
    /// array of strings that lives as long as the process, or null for the process's own.
    pub create_rank:
        unsafe extern "C" fn(environment: *const *const c_char, beginning: Beginning) -> *const c_void,
    /// Makes the calling thread one of the rank with the given state (from `create_rank`), or of no rank if null.
    /// What the thread registers and reads from then on is the rank's.
    pub attach: unsafe extern "C" fn(state: *const c_void),
    /// Returns the address of the rank's own variable.
    pub variable: unsafe extern "C" fn(state: *const c_void, variable: Variable) -> *mut c_void,
    /// Says that the rank's program keeps a variable by itself, at this address, and sets it.
    pub move_variable: unsafe extern "C" fn(state: *const c_void, variable: Variable, address: *mut c_void),
    /// Returns the functions that the rank's copies get, and how many they are.
    pub functions: extern "C" fn(count: *mut usize) -> *const Function,
    /// Writes out what ranks have printed, when the job ends before them.
    pub flush: extern "C" fn(),
}

/// The symbol under which the library exports `extern "C" fn() -> *const LibraryHooks`.
pub const HOOKS_SYMBOL: &core::ffi::CStr = c"weft_host_hooks";

/// The symbol under which the library exports [`NodeMain`].
pub const MAIN_SYMBOL: &core::ffi::CStr = c"weft_node_main";

/// Runs the ranks a node process holds and returns its exit code.
pub type NodeMain =
    unsafe extern "C" fn(argc: c_int, argv: *const *const c_char, hooks: *const NodeHooks) -> c_int;
