//! The handler of fatal signals.
//!
//! The first crash of a process wins; threads that crash later wait for the end. After its report the handler puts the
//! default action back and returns, so the instruction crashes again and the process ends with the signal (and the
//! core file, if the user wants one, shows the crash and not the handler).
#![allow(unsafe_code)] // Signal handlers and alternate stacks.

use crate::frames;
use crate::report::{self, Crash};
use core::ffi::{c_int, c_void};
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

const SIGNALS: [c_int; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT, libc::SIGTRAP, libc::SIGSYS];

/// Room for the handler: the unwinder's tables of registers are what takes it.
const ALTERNATE_STACK: usize = 128 * 1024;

/// How a crash is reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// As [`weft_base::job::Report`]s, for `mpirun`.
    Records,
    /// As text, for people.
    Text,
}

/// What the handler asks of its surroundings. All must be safe in a signal handler.
#[derive(Clone, Copy)]
pub struct Setup {
    /// Where reports go.
    pub fd: i32,
    /// And how.
    pub form: Form,
    /// Returns the calling thread's rank.
    pub rank: fn() -> Option<u32>,
    /// Returns lowest address and size of the calling thread's stack if `address`, where the stack pointer is
    /// `stack_pointer`, shows that it overflowed.
    pub overflowed: fn(address: usize, stack_pointer: usize) -> Option<(usize, usize)>,
}

static SETUP: OnceLock<Setup> = OnceLock::new();
static CRASHED: AtomicBool = AtomicBool::new(false);

/// Installs the handlers, and an alternate stack for the calling thread. A program that installs its own, before or
/// after, keeps them.
///
/// # Errors
/// The system refused the memory of the stack.
pub fn install(setup: Setup) -> io::Result<()> {
    frames::prepare();
    let _ = SETUP.set(setup);
    install_alternate_stack()?;
    // SAFETY: the handler keeps to what a handler may do; the structure is filled before use.
    unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&mut action.sa_mask);
        // A crash inside the handler ends the process at once.
        for signal in SIGNALS {
            libc::sigaddset(&mut action.sa_mask, signal);
        }
        for signal in SIGNALS {
            let mut present: libc::sigaction = core::mem::zeroed();
            libc::sigaction(signal, core::ptr::null(), &mut present);
            if present.sa_sigaction == libc::SIG_DFL {
                libc::sigaction(signal, &action, core::ptr::null_mut());
            }
        }
    }
    Ok(())
}

/// Gives the calling kernel thread a stack for the handler, unless it has one. It is kept until the process ends.
///
/// # Errors
/// The system refused the memory.
pub fn install_alternate_stack() -> io::Result<()> {
    // SAFETY: a new private mapping, and structures filled before use.
    unsafe {
        let mut present: libc::stack_t = core::mem::zeroed();
        libc::sigaltstack(core::ptr::null(), &mut present);
        if present.ss_flags & libc::SS_DISABLE == 0 && present.ss_size >= ALTERNATE_STACK {
            return Ok(());
        }
        let (protection, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
        );
        let memory = libc::mmap(core::ptr::null_mut(), ALTERNATE_STACK, protection, flags, -1, 0);
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let stack = libc::stack_t { ss_sp: memory, ss_flags: 0, ss_size: ALTERNATE_STACK };
        if libc::sigaltstack(&stack, core::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

#[cfg(target_arch = "x86_64")]
fn registers(context: &libc::ucontext_t) -> (usize, usize) {
    let registers = &context.uc_mcontext.gregs;
    (registers[libc::REG_RIP as usize] as usize, registers[libc::REG_RSP as usize] as usize)
}

#[cfg(target_arch = "aarch64")]
fn registers(context: &libc::ucontext_t) -> (usize, usize) {
    (context.uc_mcontext.pc as usize, context.uc_mcontext.sp as usize)
}

extern "C" fn handle(signal: c_int, information: *mut libc::siginfo_t, context: *mut c_void) {
    if CRASHED.swap(true, Ordering::AcqRel) {
        loop {
            // SAFETY: waits for the process's end, which the first crash brings.
            unsafe { libc::pause() };
        }
    }
    // SAFETY: the kernel passes both.
    let (code, address, (program_counter, stack_pointer)) = unsafe {
        let information = &*information;
        (information.si_code, information.si_addr() as usize, registers(&*context.cast::<libc::ucontext_t>()))
    };
    if let Some(setup) = SETUP.get() {
        let from_kernel = code > 0 && (signal == libc::SIGSEGV || signal == libc::SIGBUS);
        let crash = Crash {
            rank: (setup.rank)(),
            signal,
            code,
            address,
            stack: from_kernel.then(|| (setup.overflowed)(address, stack_pointer)).flatten(),
            counter: program_counter,
            pointer: stack_pointer,
        };
        match setup.form {
            Form::Records => report::records(setup.fd, &crash),
            Form::Text => report::text(setup.fd, &crash),
        }
    }
    // SAFETY: restores the default action; signals itself if the crash will not come again by itself.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        if code <= 0 && signal != libc::SIGABRT {
            libc::raise(signal);
        }
    }
}
