//! Plays the host's role for the loader's tests: runs N copies of a program, each on a thread of its own.
//!
//! Usage: `loader_host [--redirect-getopt] [--pause] [--time] N PROGRAM [ARGUMENT...]`
//!
//! Exports `__libc_start_main`, where a copy's start code ends, and what the stub of the library asks for:
//! `host_rank` and `host_size`. Prints nothing but errors, and what the options ask for; exits with the first
//! non-zero result of a copy's `main`.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use weft_loader::{Copy, Program};

/// Names our stub library as programs need it.
const OURS: &[&str] = &["libmpi_abi.so.1"];

struct Rank {
    copy: &'static Copy,
    done: Sender<(usize, c_int)>,
}

thread_local! {
    static RANK: Cell<Option<&'static Rank>> = const { Cell::new(None) };
}
static SIZE: OnceLock<usize> = OnceLock::new();

type Main = unsafe extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;
type StartMain = unsafe extern "C" fn(
    Main,
    c_int,
    *mut *mut c_char,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut c_void,
) -> c_int;

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

#[unsafe(no_mangle)]
extern "C" fn host_rank() -> c_int {
    RANK.get().map_or(-1, |rank| rank.copy.index as c_int)
}

#[unsafe(no_mangle)]
extern "C" fn host_size() -> c_int {
    SIZE.get().map_or(0, |size| *size as c_int)
}

/// Takes over where start code ends: the host's own goes on to libc, a copy's runs its program.
///
/// # Safety
/// Called by start code only.
#[unsafe(no_mangle)]
unsafe extern "C" fn __libc_start_main(
    main: Main,
    argc: c_int,
    argv: *mut *mut c_char,
    init: *mut c_void,
    fini: *mut c_void,
    at_exit: *mut c_void,
    stack: *mut c_void,
) -> c_int {
    // Before libc has started, thread-local data of this program is there already: it is part of the static block.
    let Some(rank) = RANK.get() else {
        // SAFETY: finds libc's own function, whose type this is, and passes everything on.
        unsafe {
            let next = libc::dlsym(libc::RTLD_NEXT, c"__libc_start_main".as_ptr());
            return std::mem::transmute::<*mut c_void, StartMain>(next)(
                main, argc, argv, init, fini, at_exit, stack,
            );
        }
    };
    // SAFETY: once, on the rank's own thread, with the vectors from the initial frame.
    let code = unsafe {
        rank.copy.run_constructors(argc, argv, environ);
        let code = main(argc, argv, environ);
        rank.copy.run_destructors();
        code
    };
    let _ = rank.done.send((rank.copy.index, code));
    loop {
        std::thread::park();
    }
}

/// Loads all copies before the first one starts.
fn load(program: &Program, count: usize, redirect: bool) -> Vec<&'static Copy> {
    let mut copies = Vec::new();
    for index in 0..count {
        let copy: &'static Copy = match program.load_copy(index) {
            Ok(copy) => Box::leak(Box::new(copy)),
            Err(error) => {
                eprintln!("copy {index}: {error}");
                std::process::exit(3);
            }
        };
        if redirect {
            // Each rank starts with its own index as `optind`, which no other variable of the process holds.
            let own: &'static mut [usize; 2] = Box::leak(Box::new([1000 + index, 0]));
            // SAFETY: the variable is as large as the symbol and lives for ever; the copy does not run yet.
            unsafe { copy.redirect("optind", own.as_ptr() as usize) };
        }
        copies.push(copy);
    }
    copies
}

fn main() {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let mut option = |name: &str| words.iter().position(|w| w == name).map(|at| words.remove(at)).is_some();
    let (redirect, pause, time) = (option("--redirect-getopt"), option("--pause"), option("--time"));
    let count: usize = words.first().and_then(|w| w.parse().ok()).expect("a number of copies");
    let path = words.get(1).expect("a program");
    SIZE.set(count).expect("set once");
    let program = match Program::prepare(Path::new(path), OURS) {
        Ok(program) => program,
        Err(error) => {
            eprintln!("prepare: {error}");
            std::process::exit(2);
        }
    };
    let before = std::time::Instant::now();
    let copies = load(&program, count, redirect);
    if time {
        let maps = std::fs::read_to_string("/proc/self/maps").map_or(0, |m| m.lines().count());
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let memory = status.lines().find(|l| l.starts_with("VmRSS")).unwrap_or("").to_string();
        eprintln!("{count} copies in {:?}, {maps} mappings, {memory}", before.elapsed());
    }
    let argv: Vec<CString> =
        words[1..].iter().map(|w| CString::new(w.as_str()).expect("no zero byte")).collect();
    let mut argv: Vec<*const c_char> = argv.iter().map(|w| w.as_ptr()).collect();
    argv.push(std::ptr::null());
    let argv = argv.as_ptr() as usize;
    let (done, results) = channel();
    for copy in copies {
        let rank: &'static Rank = Box::leak(Box::new(Rank { copy, done: done.clone() }));
        let run = move || {
            RANK.set(Some(rank));
            // SAFETY: once per copy; the vectors live until the process ends, as `main` waits for all copies.
            unsafe { rank.copy.enter(argv as *const *const c_char, environ as *const *const c_char) }
        };
        std::thread::Builder::new().stack_size(1 << 18).spawn(run).expect("a thread");
    }
    let mut codes: Vec<(usize, c_int)> = (0..count).map(|_| results.recv().expect("a result")).collect();
    codes.sort_unstable();
    if pause {
        // The test closes standard input when it has looked at the process.
        println!("paused");
        let _ = std::io::stdin().read_line(&mut String::new());
    }
    std::process::exit(codes.iter().find(|(_, code)| *code != 0).map_or(0, |(_, code)| *code));
}
