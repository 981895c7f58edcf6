//! Every operation with plain threads as ranks against a serial model: random sizes, counts and roots, in place or not,
//! commutative or not, in random order of arrival. `WEFT_TEST_SEED` repeats a run.
#![allow(unsafe_code)] // States that the test's buffers are valid.

use core::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use weft_base::abi;
use weft_base::constants::*;
use weft_coll::{Call, Data, Operator, Team};
use weft_datatype::Datatype;
use weft_op::Op;
use weft_sched::Thread;
use weft_trials::{rounds, seed};

/// A small generator, so that a seed repeats a run.
#[derive(Clone)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// Ends the test program when a rank fails: the others would wait for it for ever.
struct EndAll;

impl Drop for EndAll {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

/// Runs `body` as each rank of a communicator whose rank `r` is at home on worker `home(r)`.
fn with_ranks(size: u32, home: fn(u32) -> usize, body: impl Fn(&Team) + Sync) {
    static CONTEXT: AtomicU32 = AtomicU32::new(1);
    let context = CONTEXT.fetch_add(1, Ordering::Relaxed);
    std::thread::scope(|scope| {
        for rank in 0..size {
            let body = &body;
            scope.spawn(move || {
                let _guard = EndAll;
                weft_sched::current().set_process(rank, core::ptr::null_mut());
                body(&Team::join_at(context, size, rank, home));
            });
        }
    });
}

/// Lets ranks arrive in random order.
fn dawdle(random: &mut Random) {
    for _ in 0..random.below(4) {
        std::thread::yield_now();
    }
}

fn long() -> &'static Datatype {
    Datatype::predefined(MPI_INT64_T).unwrap()
}

fn read<'a>(values: &'a [i64], datatype: &'a Datatype) -> Data<'a> {
    let count = (values.len() * 8) as u64 / datatype.size().max(1);
    // SAFETY: the slice holds as many elements, and outlives the operation in these tests.
    unsafe { Data::new(values.as_ptr().cast(), count, datatype) }
}

fn write<'a>(values: &'a mut [i64], datatype: &'a Datatype) -> Data<'a> {
    read(values, datatype)
}

/// What rank `rank` contributes.
fn values(rank: u32, count: usize, salt: u64) -> Vec<i64> {
    let mut random = Random(salt ^ u64::from(rank) << 32);
    (0..count).map(|_| random.below(1 << 20) as i64).collect()
}

/// `(a, b) op (c, d) = (a c, a d + b)`, composition of affine functions: associative, not commutative.
unsafe extern "C" fn compose(
    input: *mut c_void,
    inout: *mut c_void,
    length: *mut c_int,
    _: *mut abi::Datatype,
) {
    // SAFETY: the library passes a length.
    let length = unsafe { *length } as usize;
    for i in 0..length {
        // SAFETY: the library passes `length` pairs on both sides.
        let (a, b) = unsafe { (*input.cast::<[i64; 2]>().add(i), &mut *inout.cast::<[i64; 2]>().add(i)) };
        *b = composed(a, *b);
    }
}

fn composed(a: [i64; 2], b: [i64; 2]) -> [i64; 2] {
    [a[0].wrapping_mul(b[0]), a[0].wrapping_mul(b[1]).wrapping_add(a[1])]
}

struct Kind {
    op: Op,
    datatype: Datatype,
    reduce: fn(&[i64], &[i64]) -> Vec<i64>,
}

fn kinds() -> Vec<Kind> {
    let pair = Datatype::contiguous(2, long()).unwrap();
    pair.commit();
    // SAFETY: a function of that type.
    let user = unsafe { Op::user(compose as *const c_void, false, false) }.unwrap();
    vec![
        Kind {
            op: Op::predefined(MPI_SUM).unwrap().clone(),
            datatype: long().clone(),
            reduce: |a, b| a.iter().zip(b).map(|(a, b)| a + b).collect(),
        },
        Kind {
            op: user,
            datatype: pair,
            reduce: |a, b| {
                let pairs = a.chunks(2).zip(b.chunks(2));
                pairs.flat_map(|(a, b)| composed([a[0], a[1]], [b[0], b[1]])).collect()
            },
        },
    ]
}

/// Counts around the limits of slots and blocks, of pairs.
fn some_count(random: &mut Random) -> usize {
    let limits = [0, 2, 4, 16, 32, 130, 256, 258, 1000, 3000, 20000];
    limits[random.below(limits.len() as u64) as usize]
}

const HOMES: [fn(u32) -> usize; 3] = [|_| 0, |r| (r / 6) as usize, |r| (r % 2) as usize];

#[test]
fn reductions_agree_with_the_serial_model() {
    let mut random = Random(seed());
    for turn in 0..rounds(60) as usize {
        let size = 1 + random.below(17) as u32;
        let salt = random.next();
        with_ranks(size, HOMES[turn % 3], |team| {
            let mut random = Random(salt);
            let mut mine = Random(salt ^ u64::from(team.rank()));
            for _ in 0..6 {
                let kind = &kinds()[random.below(2) as usize];
                let each = some_count(&mut random) / 2;
                let (root, salt) = (random.below(u64::from(size)) as u32, random.next());
                let in_place = random.below(2) == 0;
                let operation = random.below(6);
                let count =
                    if operation >= 4 { each / 8 * 2 * size as usize } else { each.next_multiple_of(2) };
                let all: Vec<_> = (0..size).map(|r| values(r, count, salt)).collect();
                let prefix = |n: u32| {
                    let upto = all[..n as usize].iter().cloned();
                    upto.reduce(|a, b| (kind.reduce)(&a, &b)).unwrap()
                };
                let operator = Operator { op: &kind.op, handle: MPI_INT64_T };
                let send = all[team.rank() as usize].clone();
                let mut receive = if in_place { send.clone() } else { vec![-1; count] };
                let (from, to) = {
                    let to = write(&mut receive, &kind.datatype);
                    (if in_place { to } else { read(&send, &kind.datatype) }, to)
                };
                dawdle(&mut mine);
                let what = format!(
                    "operation {operation}, size {size}, count {count}, root {root}, in place {in_place}, rank {}",
                    team.rank()
                );
                match operation {
                    0 => {
                        team.allreduce(from, to, operator).unwrap();
                        assert_eq!(receive, prefix(size), "{what}");
                    }
                    1 => {
                        let is_root = team.rank() == root;
                        team.reduce(root, from, is_root.then_some(to), operator).unwrap();
                        if is_root {
                            assert_eq!(receive, prefix(size), "{what}");
                        }
                    }
                    2 => {
                        team.scan(from, to, operator).unwrap();
                        assert_eq!(receive, prefix(team.rank() + 1), "{what}");
                    }
                    3 => {
                        let before = if in_place { send.clone() } else { vec![-1; count] };
                        team.exscan(from, to, operator).unwrap();
                        let right = if team.rank() == 0 { before } else { prefix(team.rank()) };
                        assert_eq!(receive, right, "{what}");
                    }
                    _ => {
                        // Equal parts, or all but a little to one rank.
                        let elements = from.count();
                        let share = elements / u64::from(size);
                        let bounds = |r: u32| match operation {
                            4 => u64::from(r) * share,
                            _ if r <= root => 0,
                            _ => elements,
                        };
                        let range = bounds(team.rank())..bounds(team.rank() + 1);
                        let width = (kind.datatype.size() / 8) as usize;
                        let right =
                            prefix(size)[range.start as usize * width..range.end as usize * width].to_vec();
                        let call = Call::ReduceScatter;
                        team.reduce_scatter(call, from, range, to, operator).unwrap();
                        assert_eq!(receive[..right.len()], right, "{what}");
                    }
                }
                assert!(in_place || send == all[team.rank() as usize], "{what}: the send buffer changed");
            }
        });
    }
}

/// Sums of integers with a gap of eight bytes after each.
unsafe extern "C" fn add_with_gaps(
    input: *mut c_void,
    inout: *mut c_void,
    length: *mut c_int,
    _: *mut abi::Datatype,
) {
    // SAFETY: the library passes a length.
    for i in 0..unsafe { *length } as usize {
        // SAFETY: the library passes `length` elements on both sides.
        unsafe { (*inout.cast::<[i64; 2]>().add(i))[0] += (*input.cast::<[i64; 2]>().add(i))[0] };
    }
}

#[test]
fn in_place_with_gaps_each_rank_contributes_what_it_had() {
    let datatype = Datatype::resized(0, 16, long()).unwrap();
    datatype.commit();
    // SAFETY: a function of that type.
    let op = unsafe { Op::user(add_with_gaps as *const c_void, true, false) }.unwrap();
    for size in [2, 3, 5] {
        with_ranks(
            size,
            |r| (r % 2) as usize,
            |team| {
                for each in [1, 2, 7, 12, 40, 100, 600, 3000] {
                    let (rank, size, each) = (u64::from(team.rank()), u64::from(size), each as u64);
                    // The last ranks' parts begin within the first's, where the results go.
                    let parts: Vec<u64> = (0..size).map(|r| if r == 0 { 1 } else { each }).collect();
                    let total: u64 = parts.iter().sum();
                    let first: u64 = parts[..rank as usize].iter().sum();
                    let mut all: Vec<[i64; 2]> = (0..total).map(|i| [(i * 100 + rank) as i64, -7]).collect();
                    // SAFETY: the vector holds as many elements, and outlives the operation.
                    let data = unsafe { Data::new(all.as_mut_ptr().cast(), total, &datatype) };
                    let operator = Operator { op: &op, handle: MPI_INT64_T };
                    let mine = first..first + parts[rank as usize];
                    team.reduce_scatter(Call::ReduceScatter, data, mine.clone(), data, operator).unwrap();
                    let right = |i: u64| [(i * 100 * size + size * (size - 1) / 2) as i64, -7];
                    let right: Vec<[i64; 2]> = mine.map(right).collect();
                    assert_eq!(all[..right.len()], right, "rank {rank} of {size}, parts of {each}");
                }
            },
        );
    }
}

#[test]
fn data_moves_as_in_the_serial_model() {
    let mut random = Random(seed());
    for turn in 0..rounds(60) as usize {
        let size = 1 + random.below(17) as u32;
        let salt = random.next();
        with_ranks(size, HOMES[turn % 3], |team| {
            let mut random = Random(salt);
            let mut mine = Random(salt ^ u64::from(team.rank()));
            let (me, n) = (team.rank(), size as usize);
            for _ in 0..8 {
                let count = some_count(&mut random) / 4;
                let (root, salt) = (random.below(u64::from(size)) as u32, random.next());
                let (operation, in_place) = (random.below(9), random.below(2) == 0);
                let what = format!(
                    "operation {operation}, size {size}, count {count}, root {root}, in place {in_place}"
                );
                dawdle(&mut mine);
                // Lengths and places of the variants with different parts: the parts stand in reverse order.
                let lengths: Vec<usize> = (0..size).map(|r| count * (r as usize % 3)).collect();
                let total: usize = lengths.iter().sum();
                let start = |r: u32| lengths[r as usize + 1..].iter().sum::<usize>();
                let varied = |buffer: &[i64], r: u32| {
                    let part = &buffer[start(r)..start(r) + lengths[r as usize]];
                    // SAFETY: within the buffer, which outlives the operation.
                    unsafe { Data::new(part.as_ptr().cast(), part.len() as u64, long()) }
                };
                let even = |buffer: &[i64], r: u32| {
                    let part = &buffer[r as usize * count..(r as usize + 1) * count];
                    // SAFETY: rank `r`'s part of an even division lies within the buffer.
                    unsafe { Data::new(part.as_ptr().cast(), part.len() as u64, long()) }
                };
                let concatenated = |n: usize| (0..size).flat_map(|r| values(r, n, salt)).collect::<Vec<_>>();
                let vary =
                    || (0..size).rev().flat_map(|r| values(r, lengths[r as usize], salt)).collect::<Vec<_>>();
                match operation {
                    0 => {
                        let right = values(root, count, salt);
                        let mut data = if me == root { right.clone() } else { vec![0; count] };
                        team.broadcast(root, write(&mut data, long())).unwrap();
                        assert_eq!(data, right, "{what}");
                    }
                    1 => {
                        let send = values(me, count, salt);
                        let mut all = vec![-1; count * n];
                        if in_place && me == root {
                            all[me as usize * count..][..count].copy_from_slice(&send);
                        }
                        let from = (!in_place || me != root).then(|| read(&send, long()));
                        team.gather(Call::Gather, root, from, |r| even(&all, r)).unwrap();
                        let right = if me == root { concatenated(count) } else { vec![-1; count * n] };
                        assert_eq!(std::hint::black_box(&all), &right, "{what}");
                    }
                    2 => {
                        let send = values(me, lengths[me as usize], salt);
                        let all = vec![-1; total];
                        team.gather(Call::Gatherv, root, Some(read(&send, long())), |r| varied(&all, r))
                            .unwrap();
                        let right = if me == root { vary() } else { vec![-1; total] };
                        assert_eq!(std::hint::black_box(&all), &right, "{what}");
                    }
                    3 => {
                        let all = concatenated(count);
                        let mut receive = vec![-1; count];
                        let to = (!in_place || me != root).then(|| write(&mut receive, long()));
                        team.scatter(Call::Scatter, root, &|r| even(&all, r), to).unwrap();
                        let right = if to.is_some() { values(me, count, salt) } else { vec![-1; count] };
                        assert_eq!(std::hint::black_box(&receive), &right, "{what}");
                    }
                    4 => {
                        let all = vary();
                        let mut receive = vec![-1; lengths[me as usize]];
                        let to = Some(write(&mut receive, long()));
                        team.scatter(Call::Scatterv, root, &|r| varied(&all, r), to).unwrap();
                        assert_eq!(receive, values(me, lengths[me as usize], salt), "{what}");
                    }
                    5 => {
                        let send = values(me, count, salt);
                        let mut all = vec![-1; count * n];
                        all[me as usize * count..][..count].copy_from_slice(&send);
                        let to = write(&mut all, long());
                        team.allgather((!in_place).then(|| read(&send, long())), to).unwrap();
                        assert_eq!(all, concatenated(count), "{what}");
                    }
                    6 => {
                        let send = values(me, lengths[me as usize], salt);
                        let mut all = vec![-1; total];
                        all[start(me)..][..send.len()].copy_from_slice(&send);
                        let from = (!in_place).then(|| read(&send, long()));
                        team.allgatherv(from, |r| varied(&all, r)).unwrap();
                        assert_eq!(std::hint::black_box(&all), &vary(), "{what}");
                    }
                    7 => {
                        let count = count / 4;
                        let send = values(me, count * n, salt);
                        let mut receive = if in_place { send.clone() } else { vec![-1; count * n] };
                        if in_place {
                            let part = |r: u32| {
                                let part = &receive[r as usize * count..][..count];
                                // SAFETY: a part of the receive buffer, which lives as long as the operation.
                                unsafe { Data::new(part.as_ptr().cast(), part.len() as u64, long()) }
                            };
                            team.alltoall_in_place(Call::Alltoall, &part).unwrap();
                        } else {
                            team.alltoall(read(&send, long()), write(&mut receive, long())).unwrap();
                        }
                        let part = |r| values(r, count * n, salt)[me as usize * count..][..count].to_vec();
                        let right: Vec<_> = (0..size).flat_map(part).collect();
                        assert_eq!(std::hint::black_box(&receive), &right, "{what}");
                    }
                    _ => {
                        // Rank r sends s elements to rank s: parts differ in length along the row only.
                        let send = values(me, total, salt);
                        let receive = vec![-1; lengths[me as usize] * n];
                        let own = lengths[me as usize];
                        let to = |r: u32| {
                            let part = &receive[r as usize * own..][..own];
                            // SAFETY: the receive buffer has `own` elements for each rank.
                            unsafe { Data::new(part.as_ptr().cast(), part.len() as u64, long()) }
                        };
                        team.alltoallw(Call::Alltoallv, &|r| varied(&send, r), &to).unwrap();
                        let part = |r| values(r, total, salt)[start(me)..][..own].to_vec();
                        let right: Vec<_> = (0..size).flat_map(part).collect();
                        assert_eq!(std::hint::black_box(&receive), &right, "{what}");
                    }
                }
            }
        });
    }
}

#[test]
fn a_root_runs_ahead_of_late_ranks() {
    // The others join after the root has finished: its data waits for them, small data in slots or lines, large aside.
    for (context, size, count) in
        [(1 << 30, 3, 1), ((1 << 30) + 1, 7, 1), ((1 << 30) + 2, 3, 9000), ((1 << 30) + 3, 7, 9000)]
    {
        let body = |team: &Team, turns: usize| {
            for turn in 0..turns {
                let mut data = vec![if team.rank() == 0 { turn as i64 } else { -1 }; count];
                team.broadcast(0, write(&mut data, long())).unwrap();
                assert!(data.iter().all(|&x| x == turn as i64), "turn {turn} of {size} ranks");
            }
        };
        body(&Team::join(context, size, 0, |r| r), 3);
        std::thread::scope(|scope| {
            for rank in 1..size {
                scope.spawn(move || body(&Team::join(context, size, rank, |r| r), 3));
            }
        });
    }
}

#[test]
fn a_root_of_large_data_learns_of_other_calls_when_all_have_come() {
    for size in [3, 7] {
        with_ranks(size, HOMES[0], |team| {
            let mut data = vec![i64::from(team.rank()); 9000];
            let result =
                if team.rank() == 2 { team.barrier() } else { team.broadcast(0, write(&mut data, long())) };
            match (team.rank(), result.map_err(|e| e.class)) {
                (2, result) => assert_eq!(result, Err(MPI_ERR_OTHER)),
                // The root may have gone on before rank 2 came, and the others have what they wanted.
                (_, Ok(())) => assert!(data.iter().all(|&x| x == 0)),
                (_, Err(class)) => assert_eq!(class, MPI_ERR_OTHER),
            }
            // Who has gone on is told now; then all begin anew.
            let _ = team.barrier();
            team.barrier().unwrap();
        });
    }
}

#[test]
fn who_sleeps_for_a_root_in_another_call_is_woken() {
    for size in [3, 7] {
        let readers: Vec<OnceLock<&Thread>> = (1..size).map(|_| OnceLock::new()).collect();
        with_ranks(size, HOMES[0], |team| {
            let mut data = [1, 2];
            let result = if team.rank() == 0 {
                while !readers.iter().all(|reader| reader.get().is_some_and(|thread| thread.is_parked())) {
                    std::thread::yield_now();
                }
                team.barrier()
            } else {
                let _ = readers[team.rank() as usize - 1].set(weft_sched::current());
                team.broadcast(0, write(&mut data, long()))
            };
            assert_eq!(result.map_err(|e| e.class), Err(MPI_ERR_OTHER));
        });
    }
}

#[test]
fn a_root_that_publishes_in_another_call_is_noticed() {
    with_ranks(3, HOMES[0], |team| {
        let mut data = [5, 6, 7];
        let all = data;
        let result = if team.rank() == 0 {
            let part = |r: u32| read(&all[r as usize..r as usize + 1], long());
            team.scatter(Call::Scatter, 0, &part, Some(write(&mut data[..1], long())))
        } else {
            team.broadcast(0, write(&mut data, long()))
        };
        // The root waits for nobody and cannot know before the next operation.
        assert_eq!(result.map_err(|e| e.class), if team.rank() == 0 { Ok(()) } else { Err(MPI_ERR_OTHER) });
        assert_eq!(team.barrier().map_err(|e| e.class), Err(MPI_ERR_OTHER));
        team.barrier().unwrap();
    });
}

#[test]
fn broadcasts_with_different_roots_are_noticed_in_the_next_operation_that_waits() {
    for size in [2, 3, 7] {
        with_ranks(size, HOMES[0], |team| {
            let mut data = [i64::from(team.rank())];
            let _ = team.broadcast(team.rank() % 2, write(&mut data, long()));
            let error = team.barrier().expect_err("the roots differ");
            let text = error.to_string();
            assert!(
                text.contains("MPI_Bcast with root 0") && text.contains("MPI_Bcast with root 1"),
                "{text}"
            );
            team.barrier().unwrap();
        });
    }
}
