//! Nonblocking operations of little data: who has started one and does something else delays nobody.
#![allow(unsafe_code)] // States that the test's buffers are valid.

use std::sync::Barrier;
use weft_base::constants::{MPI_ERR_OTHER, MPI_INT64_T, MPI_SUM};
use weft_coll::{Buffers, Call, Data, Operation, Operator, Root, Team};
use weft_datatype::Datatype;
use weft_op::Op;

const SIZE: u32 = 5;

fn with_ranks(context: u32, body: impl Fn(&Team) + Sync) {
    std::thread::scope(|scope| {
        for rank in 0..SIZE {
            let body = &body;
            scope.spawn(move || {
                weft_sched::current().set_process(rank, core::ptr::null_mut());
                body(&Team::join_at(context, SIZE, rank, |r| (r % 2) as usize));
            });
        }
    });
}

fn data(values: &mut [i64]) -> Data<'_> {
    let datatype = Datatype::predefined(MPI_INT64_T).expect("a predefined type");
    // SAFETY: the tests keep their vectors until the operations are over.
    unsafe { Data::new(values.as_ptr().cast(), values.len() as u64, datatype) }
}

fn sum() -> Operator<'static> {
    Operator { op: Op::predefined(MPI_SUM).expect("a predefined operation"), handle: MPI_INT64_T }
}

#[test]
fn a_rank_that_does_something_else_delays_nobody() {
    const TURNS: i64 = 30;
    let others_are_done = Barrier::new(SIZE as usize);
    with_ranks(1 << 28, |team| {
        let me = i64::from(team.rank());
        // All are in flight at once; rank 3 asks for none of its results before the others have theirs.
        let mut sent: Vec<[i64; 2]> = (0..TURNS).map(|turn| [me + turn, me]).collect();
        let mut sums = vec![[0; 2]; TURNS as usize];
        let mut told: Vec<[i64; 2]> =
            (0..TURNS).map(|turn| [if me == turn % 5 { turn } else { -1 }; 2]).collect();
        let mut all = vec![[0; 10]; TURNS as usize];
        let mut pending = Vec::new();
        for turn in 0..TURNS as usize {
            let send = Buffers::Whole(data(&mut sent[turn]));
            let receive = Buffers::Whole(data(&mut sums[turn]));
            let reduce = Operation {
                send: send.clone(),
                receive,
                operator: Some(sum()),
                ..Operation::new(Call::Allreduce)
            };
            pending.push(team.start(&reduce));
            let root = turn as u32 % 5;
            let mut tell = Operation { root: Root::Rank(root), ..Operation::new(Call::Broadcast) };
            let place = Buffers::Whole(data(&mut told[turn]));
            if team.rank() == root {
                tell.send = place
            } else {
                tell.receive = place
            }
            pending.push(team.start(&tell));
            let receive = Buffers::Even(data(&mut all[turn]), SIZE);
            pending.push(team.start(&Operation { send, receive, ..Operation::new(Call::Allgather) }));
            pending.push(team.start(&Operation::new(Call::Barrier)));
        }
        if team.rank() == 3 {
            others_are_done.wait();
        }
        for (number, one) in pending.iter().enumerate() {
            if number % 3 == 0 {
                while !one.advance(None) {
                    std::thread::yield_now();
                }
            }
            one.wait().unwrap();
        }
        if team.rank() != 3 {
            others_are_done.wait();
        }
        for turn in 0..TURNS {
            let i = turn as usize;
            assert_eq!(sums[i], [10 + 5 * turn, 10], "turn {turn}");
            assert_eq!(told[i], [turn; 2], "turn {turn}");
            let right: Vec<i64> = (0..5).flat_map(|rank| [rank + turn, rank]).collect();
            assert_eq!(all[i].to_vec(), right, "turn {turn}");
        }
    });
}

#[test]
fn different_operations_are_noticed_and_the_next_ones_are_right() {
    with_ranks((1 << 28) + 1, |team| {
        for turn in 0..20 {
            let (mut value, mut result) = ([i64::from(turn)], [0]);
            let mut operation = Operation::new(Call::Barrier);
            if team.rank() != turn % SIZE {
                operation = Operation {
                    send: Buffers::Whole(data(&mut value)),
                    receive: Buffers::Whole(data(&mut result)),
                    operator: Some(sum()),
                    ..Operation::new(Call::Allreduce)
                };
            }
            assert_eq!(team.start(&operation).wait().unwrap_err().class, MPI_ERR_OTHER, "turn {turn}");
            let right = Operation {
                send: Buffers::Whole(data(&mut value)),
                receive: Buffers::Whole(data(&mut result)),
                operator: Some(sum()),
                ..Operation::new(Call::Allreduce)
            };
            team.start(&right).wait().unwrap();
            assert_eq!(result, [i64::from(SIZE * turn)], "turn {turn}");
        }
    });
}

#[test]
fn what_a_rank_has_left_behind_counts_for_those_who_join_later() {
    let join = |rank| Team::join_at((1 << 28) + 7, 2, rank, |_| 0);
    let (mut values, mut sums) = ([[20], [22]], [0]);
    let [mine, theirs] = &mut values;
    let reduce = Operation { root: Root::Rank(1), operator: Some(sum()), ..Operation::new(Call::Reduce) };
    let first = join(0);
    let pending = first.start(&Operation { send: Buffers::Whole(data(mine)), ..reduce.clone() });
    assert!(pending.advance(None), "it waits for nobody");
    drop((pending, first));
    let second = join(1);
    let (send, receive) = (Buffers::Whole(data(theirs)), Buffers::Whole(data(&mut sums)));
    let pending = second.start(&Operation { send, receive, ..reduce });
    assert!(pending.advance(None), "all have come");
    pending.result().unwrap();
    assert_eq!(sums, [42]);
}
