//! A crash in words, in one of two forms.

use crate::frames;
use crate::signals;
use crate::writer::Line;
use core::ffi::c_int;
use core::fmt::Write;

/// What is known of a crash.
pub(crate) struct Crash {
    pub rank: Option<u32>,
    pub signal: c_int,
    pub code: c_int,
    pub address: usize,
    /// Lowest address and size of the stack that overflowed, if that was it.
    pub stack: Option<(usize, usize)>,
    pub counter: usize,
    pub pointer: usize,
}

/// Writes a crash as [`weft_base::job::Report`]s.
pub(crate) fn records(fd: i32, crash: &Crash) {
    let Crash { signal, code, address, .. } = crash;
    let mut line = Line::new();
    let _ = line.write_str("{\"Crash\":{\"rank\":");
    let _ = match crash.rank {
        Some(rank) => write!(line, "{rank}"),
        None => line.write_str("null"),
    };
    let _ = write!(line, ",\"signal\":{signal},\"code\":{code},\"address\":{address},\"stack\":");
    let _ = match crash.stack {
        Some((low, size)) => write!(line, "[{low},{size}]"),
        None => line.write_str("null"),
    };
    let _ = line.write_str("}}");
    line.send(fd);
    frames::walk(crash.counter, crash.pointer, |address| {
        frames::locate(address, |file, offset| {
            let mut line = Line::new();
            let _ = write!(line, "{{\"StackFrame\":{{\"address\":{address},\"offset\":{offset},\"file\":\"");
            line.text(file);
            let _ = line.write_str("\"}}");
            line.send(fd);
        });
    });
    let mut line = Line::new();
    let _ = line.write_str("\"CrashEnd\"");
    line.send(fd);
}

/// Writes a crash as text, where nobody gathers reports. Names of functions would have to be read from files, which a signal
/// handler cannot do; so it says what `addr2line` needs.
pub(crate) fn text(fd: i32, crash: &Crash) {
    let mut line = Line::new();
    let _ = match crash.rank {
        Some(rank) => write!(line, "weft: rank {rank}: "),
        None => line.write_str("weft: a thread that belongs to no rank: "),
    };
    let name = signals::name(crash.signal).unwrap_or("signal");
    let _ = match (crash.stack, crash.code > 0 && crash.signal != libc::SIGABRT) {
        (Some((_, size)), _) => {
            write!(line, "stack overflow: its stack has {} KiB; raise it with ulimit -s; ", size / 1024)
        }
        (None, true) => write!(line, "at address {:#x}: ", crash.address),
        (None, false) => Ok(()),
    };
    let _ = write!(line, "{name} (signal {})", crash.signal);
    let cause = signals::cause(crash.signal, crash.code);
    if !cause.is_empty() {
        let _ = write!(line, ": {cause}");
    }
    line.send(fd);
    let mut number = 0;
    frames::walk(crash.counter, crash.pointer, |address| {
        frames::locate(address, |file, offset| {
            let mut line = Line::new();
            let _ = write!(line, "  #{number} ");
            line.text(file);
            let _ = write!(line, " {offset:#x}");
            line.send(fd);
        });
        number += 1;
    });
    let mut line = Line::new();
    let _ = line.write_str("  (addr2line -Cfie FILE ADDRESS tells function and line)");
    line.send(fd);
}
