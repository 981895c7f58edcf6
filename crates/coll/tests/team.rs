//! Teams with plain threads as ranks, against what each operation must give.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use weft_coll::Team;

/// Ends the test program when a rank fails: the others would wait for it for ever.
struct EndAll;

impl Drop for EndAll {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

/// Runs `body` as each of `size` ranks of a new communicator.
fn with_ranks(size: u32, body: impl Fn(&Team) + Sync) {
    static CONTEXT: AtomicU32 = AtomicU32::new(1);
    let context = CONTEXT.fetch_add(1, Ordering::Relaxed);
    std::thread::scope(|scope| {
        for rank in 0..size {
            let body = &body;
            scope.spawn(move || {
                let _guard = EndAll;
                weft_sched::current().set_process(rank, core::ptr::null_mut());
                body(&Team::join(context, size, rank, |r| r));
            });
        }
    });
}

#[test]
fn nobody_leaves_a_barrier_before_all_have_come() {
    for size in [1, 2, 3, 5, 8, 17] {
        let arrived = AtomicUsize::new(0);
        with_ranks(size, |team| {
            for turn in 1..200 {
                arrived.fetch_add(1, Ordering::Relaxed);
                team.barrier().unwrap();
                assert!(arrived.load(Ordering::Relaxed) >= turn * size as usize);
            }
        });
    }
}

#[test]
fn allgather_and_broadcast_of_bytes_keep_rank_order() {
    for size in [1, 2, 3, 4, 7, 17] {
        with_ranks(size, |team| {
            for length in [0, 1, 8, 100, 256, 5000] {
                let mine = vec![team.rank() as u8 + 1; length];
                let mut all = vec![0; length * size as usize];
                team.allgather_bytes(&mine, &mut all).unwrap();
                let right: Vec<u8> = (0..size).flat_map(|r| vec![r as u8 + 1; length]).collect();
                assert_eq!(all, right);
                for root in 0..size {
                    let mut data = vec![if team.rank() == root { root as u8 + 7 } else { 0 }; length * 20];
                    team.broadcast_bytes(root, &mut data).unwrap();
                    assert_eq!(data, vec![root as u8 + 7; length * 20]);
                }
            }
        });
    }
}

#[test]
fn ranks_in_different_calls_are_told_so() {
    with_ranks(4, |team| {
        let result = if team.rank() == 2 { team.broadcast_bytes(0, &mut [0; 8]) } else { team.barrier() };
        let error = result.unwrap_err();
        assert_eq!(error.class, weft_base::constants::MPI_ERR_OTHER);
        assert!(error.message.contains("MPI_Barrier"), "{error}");
        // The communicator goes on.
        team.barrier().unwrap();
    });
}
