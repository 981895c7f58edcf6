//! What signals are called, and what their codes mean.

/// Returns a signal's name, if it is one that ends programs.
pub fn name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGSYS => "SIGSYS",
        _ => return None,
    })
}

/// Says what a signal's code means; empty if it says nothing.
pub fn cause(signal: i32, code: i32) -> &'static str {
    match (signal, code) {
        (_, code) if code <= 0 => "sent by a process or by the program itself",
        (libc::SIGSEGV, 1) => "no memory at this address",
        (libc::SIGSEGV, 2) => "memory at this address may not be accessed so",
        (libc::SIGSEGV, 128) => "not an address at all",
        (libc::SIGBUS, 1) => "misaligned address",
        (libc::SIGBUS, 2) => "nothing behind this address, such as a file cut short",
        (libc::SIGFPE, 1) => "integer divided by zero",
        (libc::SIGFPE, 2) => "integer overflow",
        (libc::SIGFPE, 3) => "floating-point number divided by zero",
        (libc::SIGFPE, 4) => "floating-point overflow",
        (libc::SIGFPE, 7) => "invalid floating-point operation",
        (libc::SIGILL, 1 | 2) => "not an instruction of this processor",
        _ => "",
    }
}
