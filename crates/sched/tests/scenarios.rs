//! Whole schedulers at work, each in a process of its own: this program starts itself with a scenario's name.
#![allow(unsafe_code)] // Looks at what makes a thread's identity through the C library.

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering::*};
use std::sync::{Barrier, Mutex, OnceLock};

use weft_sched::{Config, Scheduler, Thread, WaitSet, current, park, thread_of, wait_until, yield_now};

/// A child that hangs is ended by the kernel after this time.
const HANG_S: u32 = 60;
const VARIABLE: &str = "WEFT_SCHED_SCENARIO";

type Body = fn(u32, u32);

/// The scenarios: what each rank of so many runs.
const SCENARIOS: &[(&str, Body)] = &[
    ("ring", ring),
    ("random", random),
    ("owed", owed),
    ("barriers", barriers),
    ("identity", identity),
    ("spin", spin),
    ("read", blocking_read),
    ("all_spin", all_spin),
    ("foreign", foreign),
    ("yield", polling),
    ("sleepers", sleepers),
    ("deadlock", deadlock),
    ("deadlock_of_threads", deadlock_of_threads),
    ("stacks", stacks),
    ("created", created),
    ("walked", walked),
];

#[test]
fn child() {
    let Ok(text) = std::env::var(VARIABLE) else { return };
    let words: Vec<&str> = text.split(' ').collect();
    let (ranks, workers): (u32, usize) = (words[1].parse().unwrap(), words[2].parse().unwrap());
    let scheduler = if words[3] == "kernel" { Scheduler::Kernel } else { Scheduler::Auto };
    let body = SCENARIOS.iter().find(|s| s.0 == words[0]).expect("a scenario").1;
    // SAFETY: no preconditions.
    unsafe { libc::alarm(HANG_S) };
    weft_sched::start(Config { ranks, workers, scheduler, ..Config::default() }).unwrap();
    weft_sched::on_deadlock(|| std::process::exit(42));
    weft_sched::expect_events(true);
    for rank in 0..ranks {
        weft_sched::spawn_rank(rank, Box::new(move || body(rank, ranks))).unwrap();
    }
    // `sleepers` are woken by a thread that belongs to no rank.
    if words[0] != "sleepers" {
        weft_sched::expect_events(false);
    }
    weft_sched::wait_for_ranks();
    for rank in 0..ranks {
        assert_eq!(thread_of(rank).unwrap().life(), weft_sched::Life::Ended);
    }
    println!("all ranks ended");
    std::process::exit(0);
}

fn run(scenario: &str, ranks: u32, workers: usize, kind: &str) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env(VARIABLE, format!("{scenario} {ranks} {workers} {kind}"))
        .output()
        .unwrap()
}

fn passes(scenario: &str, ranks: u32, workers: usize, kind: &str) {
    let output = run(scenario, ranks, workers, kind);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("all ranks ended"),
        "{scenario} with {ranks} ranks on {workers} {kind} workers: {:?} (signal {:?})\n{text}\n{}",
        output.status,
        output.status.signal(),
        String::from_utf8_lossy(&output.stderr)
    );
}

fn passes_everywhere(scenario: &str, ranks: u32) {
    for workers in [1, 2, 4] {
        passes(scenario, ranks, workers, "user");
    }
    passes(scenario, ranks.min(64), 0, "kernel");
}

// --- a ring ---------------------------------------------------------------------------------------------------------

#[test]
fn a_token_goes_round_a_ring() {
    passes_everywhere("ring", 2);
    passes_everywhere("ring", 300);
}

fn ring(rank: u32, ranks: u32) {
    static AT: AtomicU64 = AtomicU64::new(0);
    let rounds = 20_000 / u64::from(ranks);
    let next = thread_of((rank + 1) % ranks).unwrap();
    for round in 0..rounds {
        let mine = round * u64::from(ranks) + u64::from(rank);
        while AT.load(Acquire) != mine {
            park();
        }
        AT.store(mine + 1, Release);
        next.unpark();
    }
}

// --- wake-ups from everywhere -----------------------------------------------------------------------------------------

#[test]
fn no_wake_up_is_lost_among_random_pairs() {
    passes_everywhere("random", 8);
    passes_everywhere("random", 500);
}

fn random(rank: u32, ranks: u32) {
    static RECEIVED: [AtomicU64; 512] = [const { AtomicU64::new(0) }; 512];
    static SENT: [AtomicU64; 512] = [const { AtomicU64::new(0) }; 512];
    static SENDERS: AtomicU32 = AtomicU32::new(0);
    let seed = 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(u64::from(rank) + 1);
    let mut state = seed;
    let messages = 40_000 / ranks;
    for _ in 0..messages {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let target = (state >> 33) as u32 % ranks;
        SENT[target as usize].fetch_add(1, Relaxed);
        RECEIVED[target as usize].fetch_add(1, Release);
        thread_of(target).unwrap().unpark();
        match state >> 20 & 3 {
            0 => drop(yield_now()),
            1 => {
                // Wait for something of one's own, if anything is on its way.
                let before = RECEIVED[rank as usize].load(Acquire);
                if before == 0 && SENDERS.load(Acquire) == 0 {
                    yield_now();
                }
            }
            _ => {}
        }
    }
    if SENDERS.fetch_add(1, AcqRel) + 1 == ranks {
        for r in 0..ranks {
            thread_of(r).unwrap().unpark();
        }
    }
    wait_until(|| SENDERS.load(Acquire) == ranks);
    assert_eq!(
        SENT[rank as usize].load(Relaxed),
        RECEIVED[rank as usize].load(Acquire),
        "rank {rank}, seed {seed:#x}"
    );
}

// --- many wait for one ------------------------------------------------------------------------------------------------

// --- waits that one other party ends ----------------------------------------------------------------------------------

#[test]
fn a_rank_that_is_owed_its_resumption_gets_it_once() {
    for workers in [1, 2, 4] {
        passes("owed", 2, workers, "user");
        passes("owed", 256, workers, "user");
    }
}

/// In each round two ranks meet at a place: who comes first suspends, who comes second resumes it.
fn owed(rank: u32, ranks: u32) {
    static PLACES: [[AtomicU32; 256]; 8] = [const { [const { AtomicU32::new(0) }; 256] }; 8];
    static ROUND: [AtomicU32; 256] = [const { AtomicU32::new(0) }; 256];
    assert!(ranks.is_power_of_two() && current().can_suspend());
    for round in 0..100_000 / ranks {
        let bit = round % ranks.trailing_zeros();
        let partner = rank ^ 1 << bit;
        ROUND[rank as usize].store(round, Relaxed);
        match PLACES[bit as usize][rank.min(partner) as usize].swap(rank + 1, AcqRel) {
            0 => {
                weft_sched::suspend();
                // Nobody comes back early: the partner was there in this round.
                assert!(ROUND[partner as usize].load(Relaxed) >= round, "rank {rank}");
            }
            other => {
                assert_eq!(other, partner + 1);
                PLACES[bit as usize][rank.min(partner) as usize].store(0, Relaxed);
                thread_of(partner).unwrap().resume();
            }
        }
        if (rank + round).is_multiple_of(7) {
            yield_now();
        }
    }
}

#[test]
fn nobody_leaves_a_barrier_early_or_never() {
    passes_everywhere("barriers", 2);
    passes_everywhere("barriers", 32);
    passes_everywhere("barriers", 500);
}

fn barrier(set: &WaitSet, ranks: u32, arrived: &AtomicU32, generation: &AtomicU64, round: u64) {
    if arrived.fetch_add(1, AcqRel) + 1 == ranks {
        arrived.store(0, Relaxed);
        generation.store(round, Release);
        set.wake_all();
    } else {
        set.wait(|| generation.load(Acquire) >= round);
    }
}

fn the_set() -> &'static WaitSet {
    static SET: std::sync::OnceLock<WaitSet> = std::sync::OnceLock::new();
    SET.get_or_init(WaitSet::new)
}

fn barriers(rank: u32, ranks: u32) {
    static ARRIVED: AtomicU32 = AtomicU32::new(0);
    static GENERATION: AtomicU64 = AtomicU64::new(0);
    static COUNTS: [AtomicU64; 512] = [const { AtomicU64::new(0) }; 512];
    let rounds = (100_000 / u64::from(ranks)).min(2000);
    for round in 1..=rounds {
        COUNTS[rank as usize].store(round, Relaxed);
        barrier(the_set(), ranks, &ARRIVED, &GENERATION, round);
        let other = (u64::from(rank) * 31 + round * 7) % u64::from(ranks);
        let seen = COUNTS[other as usize].load(Relaxed);
        assert!(seen == round || seen == round + 1, "rank {other} is at {seen} when {rank} leaves {round}");
        // Stored wake-ups must neither end a wait nor get lost.
        if round % 5 == 0 {
            thread_of(other as u32).unwrap().unpark();
        }
    }
}

// --- identity ---------------------------------------------------------------------------------------------------------

#[test]
fn a_rank_keeps_its_identity_on_any_worker() {
    passes_everywhere("identity", 4);
    passes_everywhere("identity", 200);
}

fn identity(rank: u32, ranks: u32) {
    thread_local!(static MINE: std::cell::Cell<u32> = const { std::cell::Cell::new(0) });
    static STOLEN: AtomicUsize = AtomicUsize::new(0);
    MINE.set(rank + 1);
    let me = current();
    // SAFETY: plain calls of the C library.
    let myself = unsafe { libc::pthread_self() };
    let mut mutex = libc::PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    let lock = &raw mut mutex;
    let control = set_rounding(rank);
    let mut worker = weft_sys::process::kernel_thread_id();
    for round in 0..200u32 {
        // SAFETY: the mutex lives in this frame; errno is the calling thread's.
        unsafe {
            assert_eq!(libc::pthread_mutex_lock(lock), 0);
            *libc::__errno_location() = (rank + round) as i32;
        }
        if (rank + round).is_multiple_of(16) {
            // Long enough for an idle worker to take others away.
            let end = weft_sys::clock::now_ns() + 50_000;
            while weft_sys::clock::now_ns() < end {}
        }
        // SAFETY: errno of whatever thread the rank runs on now.
        unsafe { *libc::__errno_location() = (rank + round) as i32 };
        thread_of((rank + 1) % ranks).unwrap().unpark();
        yield_now();
        // SAFETY: errno is the rank's own, and the mutex in this frame is locked by this rank.
        unsafe {
            assert_eq!(*libc::__errno_location(), (rank + round) as i32);
            assert_eq!(libc::pthread_self(), myself);
            assert_eq!(libc::pthread_mutex_lock(lock), libc::EDEADLK, "the mutex is this thread's");
            assert_eq!(libc::pthread_mutex_unlock(lock), 0);
        }
        assert_eq!(MINE.get(), rank + 1);
        assert_eq!(rounding(), control);
        assert!(core::ptr::eq(current(), me) && current().rank() == rank);
        let here = weft_sys::process::kernel_thread_id();
        if here != worker {
            STOLEN.fetch_add(1, Relaxed);
            worker = here;
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn set_rounding(rank: u32) -> u32 {
    let mode = 0x1f80u32 | (rank % 4) << 13;
    // SAFETY: changes only how results are rounded, and this rank computes none.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &mode) };
    rounding()
}
#[cfg(target_arch = "x86_64")]
fn rounding() -> u32 {
    let mut mode = 0u32;
    // SAFETY: writes to `mode`.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &mut mode) };
    mode & 0x6000
}
#[cfg(not(target_arch = "x86_64"))]
fn set_rounding(_: u32) -> u32 {
    0
}
#[cfg(not(target_arch = "x86_64"))]
fn rounding() -> u32 {
    0
}

// --- ranks that do not let others run -----------------------------------------------------------------------------------

#[test]
fn a_rank_that_spins_on_memory_does_not_stop_the_others() {
    passes("spin", 2, 1, "user");
    passes("spin", 50, 2, "user");
    passes("spin", 2, 0, "kernel");
}

fn spin(rank: u32, ranks: u32) {
    static FLAG: AtomicU32 = AtomicU32::new(0);
    if rank == 0 {
        while FLAG.load(Acquire) != ranks - 1 {
            std::hint::spin_loop();
        }
        return;
    }
    for _ in 0..20 {
        yield_now();
    }
    FLAG.fetch_add(1, AcqRel);
}

#[test]
fn a_rank_that_blocks_in_the_kernel_does_not_stop_the_others() {
    passes("read", 2, 1, "user");
    passes("read", 40, 2, "user");
}

fn blocking_read(rank: u32, ranks: u32) {
    static PIPES: Mutex<Vec<(std::io::PipeReader, std::io::PipeWriter)>> = Mutex::new(Vec::new());
    static DONE: AtomicU32 = AtomicU32::new(0);
    if rank.is_multiple_of(2) {
        let (mut reader, writer) = std::io::pipe().unwrap();
        PIPES.lock().unwrap().push((reader.try_clone().unwrap(), writer));
        assert_eq!(reader.read(&mut [0; 1]).unwrap(), 1);
        DONE.fetch_add(1, AcqRel);
        return;
    }
    loop {
        let pipe = PIPES.lock().unwrap().pop();
        if let Some((_, mut writer)) = pipe {
            writer.write_all(b"x").unwrap();
            break;
        }
        yield_now();
    }
    let _ = ranks;
}

#[test]
fn ranks_that_all_spin_for_each_other_end() {
    passes("all_spin", 8, 1, "user");
    passes("all_spin", 8, 2, "user");
}

fn all_spin(_: u32, ranks: u32) {
    static ARRIVED: AtomicU32 = AtomicU32::new(0);
    ARRIVED.fetch_add(1, AcqRel);
    while ARRIVED.load(Acquire) < ranks {
        std::hint::spin_loop();
    }
}

// --- the rest -----------------------------------------------------------------------------------------------------------

#[test]
fn foreign_threads_belong_to_the_rank_that_made_them() {
    passes_everywhere("foreign", 8);
}

fn foreign(rank: u32, _: u32) {
    let me = current();
    let state = Box::leak(Box::new(AtomicI64::new(0)));
    me.set_process(rank, core::ptr::from_mut(state).cast());
    let state: &'static AtomicI64 = state;
    weft_sched::announce(me);
    let child = std::thread::spawn(move || {
        weft_sched::inherit(me);
        weft_sched::withdraw(me);
        let child = current();
        assert_eq!((child.rank(), child.process()), (me.rank(), me.process()));
        for round in 0..500 {
            state.store(child_address(child, round), Release);
            me.unpark();
            while state.load(Acquire) != -round - 1 {
                park();
            }
        }
    });
    for round in 0..500 {
        let mut address = 0;
        wait_until(|| {
            address = state.load(Acquire);
            address > 0
        });
        // SAFETY: the child sent its record's address, and records live for ever.
        let child: &'static weft_sched::Thread = unsafe { &*(address as usize as *const weft_sched::Thread) };
        state.store(-round - 1, Release);
        child.unpark();
    }
    child.join().unwrap();
}

fn child_address(thread: &'static weft_sched::Thread, _: i64) -> i64 {
    core::ptr::from_ref(thread) as usize as i64
}

#[test]
fn polling_ranks_let_others_run() {
    passes_everywhere("yield", 100);
}

fn polling(rank: u32, ranks: u32) {
    static AT: AtomicU32 = AtomicU32::new(0);
    // The last rank starts the chain, so everybody polls at first.
    while AT.load(Acquire) != ranks - 1 - rank {
        yield_now();
    }
    AT.fetch_add(1, AcqRel);
}

#[test]
fn workers_that_sleep_wake_up() {
    passes_everywhere("sleepers", 16);
}

/// Long pauses, so that all workers fall asleep and are woken by a foreign thread.
fn sleepers(rank: u32, ranks: u32) {
    static ROUND: AtomicU32 = AtomicU32::new(0);
    static SLEEP: AtomicBool = AtomicBool::new(false);
    if rank == 0 && !SLEEP.swap(true, AcqRel) {
        std::thread::spawn(move || {
            for round in 1..=30 {
                // Until all are parked; then a little longer, so that the workers have gone to sleep at times.
                while !(0..ranks).all(|r| thread_of(r).unwrap().is_parked()) {
                    std::thread::yield_now();
                }
                let end = weft_sys::clock::now_ns() + 10_000 * round;
                while weft_sys::clock::now_ns() < end {}
                ROUND.store(round as u32, Release);
                for r in 0..ranks {
                    thread_of(r).unwrap().unpark();
                }
            }
        });
    }
    for round in 1..=30 {
        while ROUND.load(Acquire) < round {
            park();
        }
    }
}

#[test]
fn a_deadlock_is_reported() {
    for scenario in ["deadlock", "deadlock_of_threads"] {
        for (workers, scheduler) in [(1, "user"), (2, "user"), (0, "kernel")] {
            let output = run(scenario, 20, workers, scheduler);
            assert_eq!(output.status.code(), Some(42), "{scenario}, {scheduler}: {output:?}");
        }
    }
}

fn deadlock(rank: u32, _: u32) {
    // Rank 3 ends; all others wait for what never comes.
    wait_until(|| rank == 3);
}

#[test]
fn ranks_that_are_being_created_are_no_deadlock() {
    for _ in 0..300 {
        passes("created", 2, 1, "user");
    }
}

fn created(_: u32, _: u32) {
    yield_now();
}

#[test]
fn the_stack_of_a_rank_that_waits_is_walked() {
    for workers in [1, 2] {
        passes("walked", 2, workers, "user");
    }
    passes("walked", 2, 0, "kernel");
}

/// Rank 0 notes the addresses on its stack and waits; rank 1 finds those of its callers there.
fn walked(rank: u32, _: u32) {
    static ADDRESSES: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    static DONE: AtomicBool = AtomicBool::new(false);
    if rank == 0 {
        let mut own = Vec::new();
        weft_sys::caller::walk(&mut |address| {
            own.push(address);
            true
        });
        *ADDRESSES.lock().unwrap() = own;
        return wait_until(|| DONE.load(Acquire));
    }
    let first = thread_of(0).unwrap();
    loop {
        let own = ADDRESSES.lock().unwrap().clone();
        let mut seen = Vec::new();
        let mut note = |address| {
            seen.push(address);
            true
        };
        // SAFETY: only this rank wakes the first, below.
        unsafe { first.walk(&mut note) };
        // The innermost ones are those of the two walks themselves, and of this function, which is at another line.
        let callers = own.iter().rev().zip(seen.iter().rev()).take_while(|(one, other)| one == other).count();
        if callers >= 3 && callers + 6 >= own.len() {
            break;
        }
        assert!(seen.is_empty() || own.is_empty(), "{own:x?} and {seen:x?}");
        yield_now();
    }
    DONE.store(true, Release);
    first.unpark();
}

fn deadlock_of_threads(rank: u32, ranks: u32) {
    // Each rank's thread wakes the next one's, in a ring, and then waits for what never comes.
    static ROUND: AtomicU32 = AtomicU32::new(0);
    static THREADS: [OnceLock<&'static Thread>; 64] = [const { OnceLock::new() }; 64];
    static BARRIER: OnceLock<Barrier> = OnceLock::new();
    let me = current();
    weft_sched::announce(me);
    let thread = std::thread::spawn(move || {
        weft_sched::inherit(me);
        weft_sched::withdraw(me);
        THREADS[rank as usize].get_or_init(current);
        BARRIER.get_or_init(|| Barrier::new(ranks as usize)).wait();
        for round in 0..20 {
            wait_until(|| ROUND.load(Acquire) == round * ranks + rank);
            ROUND.fetch_add(1, AcqRel);
            THREADS[((rank + 1) % ranks) as usize].get().unwrap().unpark();
        }
        wait_until(|| false);
    });
    wait_until(|| false);
    drop(thread);
}

#[test]
fn stacks_are_known_and_guarded() {
    passes("stacks", 40, 2, "user");
    passes("stacks", 40, 0, "kernel");
}

fn stacks(rank: u32, ranks: u32) {
    let here = &raw const rank as usize;
    for other in 0..ranks {
        let stack = thread_of(other).unwrap().stack();
        assert_eq!(stack.contains(&here), other == rank, "rank {rank}'s frame in the stack of {other}");
    }
    let mut readable = 0u8;
    let mut io = [libc::iovec { iov_base: (&raw mut readable).cast(), iov_len: 1 }];
    for (offset, expected) in [(0usize, -1isize), (4096, -1), (1 << 20, 1)] {
        let at = current().stack().start + offset;
        let from = [libc::iovec { iov_base: at as *mut _, iov_len: 1 }];
        // SAFETY: the kernel copies one byte into `readable`, or fails if the address is guarded.
        let read = unsafe { libc::process_vm_readv(libc::getpid(), io.as_mut_ptr(), 1, from.as_ptr(), 1, 0) };
        assert_eq!(read, expected, "at offset {offset}");
    }
}

#[test]
fn a_limit_that_is_hit_is_named() {
    let output = Command::new("sh")
        .args([
            "-c",
            "ulimit -v 4000000; exec \"$0\" --exact child --nocapture",
            std::env::current_exe().unwrap().to_str().unwrap(),
        ])
        .env(VARIABLE, "ring 10000 1 user")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(text.contains("stacks of 10000 ranks") && text.contains("ulimit"), "{text}");
}
