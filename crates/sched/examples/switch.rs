//! Prints what switching, parking and waiting together cost here: `switch [ranks of the wait set]`.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

use weft_sched::{Config, WaitSet, current, park, thread_of, wait_until, yield_now};

const ROUNDS: u64 = 1_000_000;

fn time(name: &str, operations: u64, ranks: u32, workers: usize, body: fn(u32)) {
    // One scheduler per process: measure in a child.
    if std::env::args().nth(1).as_deref() == Some(name) {
        weft_sched::start(Config { ranks, workers, ..Config::default() }).unwrap();
        static BEGIN: AtomicU64 = AtomicU64::new(0);
        static READY: AtomicU32 = AtomicU32::new(0);
        for rank in 0..ranks {
            weft_sched::spawn_rank(
                rank,
                Box::new(move || {
                    READY.fetch_add(1, SeqCst);
                    while READY.load(SeqCst) < ranks {
                        yield_now();
                    }
                    BEGIN.fetch_max(if rank == 0 { weft_sys::clock::now_ns() } else { 0 }, SeqCst);
                    body(rank);
                }),
            )
            .unwrap();
        }
        weft_sched::wait_for_ranks();
        let ns = weft_sys::clock::now_ns() - BEGIN.load(SeqCst);
        println!("{name:32} {:9.1} ns", ns as f64 / operations as f64);
        std::process::exit(0);
    }
    if std::env::args().nth(1).is_none() {
        let me = std::env::current_exe().unwrap();
        std::process::Command::new(me).arg(name).status().unwrap();
    }
}

static BALL: AtomicU64 = AtomicU64::new(0);

fn ping_pong(rank: u32) {
    let peer = thread_of(1 - rank).unwrap();
    for i in 0..ROUNDS {
        let mine = 2 * i + u64::from(rank);
        while BALL.load(Acquire) != mine {
            park();
        }
        BALL.store(mine + 1, Release);
        peer.unpark();
    }
}

fn handoff(rank: u32) {
    let peer = thread_of(1 - rank).unwrap();
    for i in 0..ROUNDS {
        let mine = 2 * i + u64::from(rank);
        wait_until(|| BALL.load(Acquire) == mine);
        BALL.store(mine + 1, Release);
        peer.unpark();
    }
}

fn raw_handoff(rank: u32) {
    for i in 0..ROUNDS {
        let mine = 2 * i + u64::from(rank);
        while BALL.load(Acquire) != mine {}
        BALL.store(mine + 1, Release);
    }
}

fn barrier(ranks: u32, rounds: u64) {
    use std::sync::OnceLock;
    static SET: OnceLock<WaitSet> = OnceLock::new();
    static ARRIVED: AtomicU32 = AtomicU32::new(0);
    static GENERATION: AtomicU64 = AtomicU64::new(0);
    let set = SET.get_or_init(WaitSet::new);
    for round in 1..=rounds {
        if ARRIVED.fetch_add(1, AcqRel) + 1 == ranks {
            ARRIVED.store(0, Relaxed);
            GENERATION.store(round, Release);
            set.wake_all();
        } else {
            set.wait(|| GENERATION.load(Acquire) >= round);
        }
    }
}

/// Creation and end of ranks that do nothing.
fn spawn(name: &str, ranks: u32) {
    if std::env::args().nth(1).as_deref() == Some(name) {
        let begin = weft_sys::clock::now_ns();
        weft_sched::start(Config { ranks, ..Config::default() }).unwrap();
        for rank in 0..ranks {
            weft_sched::spawn_rank(rank, Box::new(|| {})).unwrap();
        }
        let spawned = weft_sys::clock::now_ns();
        weft_sched::wait_for_ranks();
        let ended = weft_sys::clock::now_ns();
        let text = std::fs::read_to_string("/proc/self/status").unwrap();
        let memory = text.lines().find(|l| l.starts_with("VmRSS")).unwrap_or("");
        let tables = text.lines().find(|l| l.starts_with("VmPTE")).unwrap_or("");
        println!(
            "{name:32} {:9.1} ms, ended {:.1} ms, {memory}, {tables}",
            (spawned - begin) as f64 / 1e6,
            (ended - begin) as f64 / 1e6
        );
        std::process::exit(0);
    }
    if std::env::args().nth(1).is_none() {
        let me = std::env::current_exe().unwrap();
        let begin = weft_sys::clock::now_ns();
        std::process::Command::new(me).arg(name).status().unwrap();
        println!("{:32} {:9.1} ms", "  whole process", (weft_sys::clock::now_ns() - begin) as f64 / 1e6);
    }
}

fn main() {
    spawn("create 1000 ranks", 1000);
    spawn("create 10000 ranks", 10_000);
    time("current", ROUNDS, 1, 1, |_| {
        for _ in 0..ROUNDS {
            std::hint::black_box(current());
        }
    });
    time("yield to one other", 2 * ROUNDS, 2, 1, |_| {
        for _ in 0..ROUNDS {
            yield_now();
        }
    });
    time("unpark, park and switch", 2 * ROUNDS, 2, 1, ping_pong);
    time("unpark, park across workers", 2 * ROUNDS, 2, 2, ping_pong);
    time("wait_until across workers", 2 * ROUNDS, 2, 2, handoff);
    time("cache line handoff", 2 * ROUNDS, 2, 2, raw_handoff);
    time("wait set per rank, 32 on 1", 32 * 10_000, 32, 1, |_| barrier(32, 10_000));
    time("wait set per rank, 32 on 2", 32 * 10_000, 32, 2, |_| barrier(32, 10_000));
    time("wait set per rank, 1024 on 1", 1024 * 1000, 1024, 1, |_| barrier(1024, 1000));
    time("wait set per rank, 1024 on 2", 1024 * 1000, 1024, 2, |_| barrier(1024, 1000));
}
