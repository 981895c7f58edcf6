//! Operations of threads on each other's memory, without the rest of MPI: values, atomicity, exclusion.
#![cfg(not(loom))]
#![allow(unsafe_code)] // Buffers of the tests.

use std::sync::Arc;
use weft_base::abi;
use weft_base::constants::*;
use weft_datatype::Datatype;
use weft_op::Op;
use weft_rma::target::{Combination, Elements, Stripes};
use weft_rma::{Data, Held, Place, Shared, Window};

fn named(handle: abi::Datatype) -> &'static Datatype {
    Datatype::predefined(handle).expect("a predefined datatype")
}

fn data<T>(values: &mut [T], datatype: &'static Datatype) -> Data<'static> {
    Data { address: values.as_mut_ptr().cast(), count: values.len() as u64, datatype }
}

fn place(rank: u32, displacement: i64, count: u64, datatype: &Datatype) -> Place<'_> {
    Place { rank, displacement, count, datatype }
}

/// Creates a window of two ranks that expose `memory` each.
fn pair(memory: &mut [Vec<u64>; 2]) -> [Window; 2] {
    let shared = Arc::new(Shared::new(0, 2, 2, false));
    for (rank, memory) in memory.iter_mut().enumerate() {
        shared.expose(rank as u32, memory.as_mut_ptr() as usize, 8 * memory.len(), 8);
    }
    [0, 1].map(|rank| Window::new(shared.clone(), rank, false))
}

#[test]
fn what_is_put_is_there_and_nothing_beside_it() {
    let mut memory = [vec![0; 4], vec![9; 4]];
    let [origin, _] = pair(&mut memory);
    let long = named(MPI_UINT64_T);
    let mut values = [1u64, 2];
    origin.lock(1, Held::Exclusive).unwrap();
    origin.access(1, false).unwrap();
    // SAFETY: both buffers are as long as the operations say.
    unsafe {
        origin.put(data(&mut values, long), place(1, 1, 2, long)).unwrap();
        let mut got = [0u64; 4];
        origin.get(data(&mut got, long), place(1, 0, 4, long)).unwrap();
        assert_eq!(got, [9, 1, 2, 9]);
        for (disp, count) in [(3, 2), (4, 1), (-1, 1), (i64::MAX, 1), (0, u64::MAX >> 4)] {
            let refused = origin.put(data(&mut values, long), place(1, disp, count, long));
            assert!(
                [MPI_ERR_RMA_RANGE, MPI_ERR_DISP].contains(&refused.unwrap_err().class),
                "{disp} {count}"
            );
        }
    }
    origin.unlock(1).unwrap();
    assert_eq!(memory[1], [9, 1, 2, 9]);
}

#[test]
fn spread_data_must_lie_within_the_memory_as_a_whole() {
    let mut memory = [vec![0; 4], vec![0; 4]];
    let [origin, _] = pair(&mut memory);
    let spread = Datatype::vector(2, 1, -3, named(MPI_UINT64_T)).unwrap();
    let mut values = [1u64, 2];
    // SAFETY: the origin's buffer has two values.
    unsafe {
        let long = named(MPI_UINT64_T);
        origin.put(data(&mut values, long), place(1, 3, 1, &spread)).unwrap();
        let refused = origin.put(data(&mut values, long), place(1, 2, 1, &spread));
        assert_eq!(refused.unwrap_err().class, MPI_ERR_RMA_RANGE);
    }
    assert_eq!(memory[1], [2, 0, 0, 1]);
}

#[test]
fn different_functions_on_one_element_lose_nothing() {
    const ROUNDS: u64 = 5000;
    for (handle, at) in [(MPI_UINT64_T, 1), (MPI_UINT64_T, 0), (MPI_INTEGER16, 1)] {
        let mut memory = [vec![0u64; 4], vec![0u64; 4]];
        let windows = pair(&mut memory);
        let (ty, op) = (named(handle), Op::predefined(MPI_SUM).unwrap());
        std::thread::scope(|scope| {
            for (index, window) in windows.iter().enumerate() {
                scope.spawn(move || {
                    let (mut one, mut former) = ([1u64, 0], [0u64; 2]);
                    let of = |address: *mut u64| Data { address: address.cast(), count: 1, datatype: ty };
                    for round in 0..ROUNDS {
                        // SAFETY: both buffers hold an element of up to 16 bytes.
                        unsafe {
                            let (one, former) = (one.as_mut_ptr(), former.as_mut_ptr());
                            let target = place(1, at, 1, ty);
                            if (round + index as u64).is_multiple_of(2) {
                                window.accumulate(Some(of(one)), Some(of(former)), target, op).unwrap();
                            } else {
                                let basic = ty.as_predefined().unwrap();
                                window.fetch_and_op(one.cast(), former.cast(), target, basic, op).unwrap();
                            }
                        }
                    }
                });
            }
        });
        assert_eq!(memory[1][at as usize], 2 * ROUNDS, "{ty:?}");
    }
}

#[test]
fn runs_may_end_within_a_pair() {
    let pair = named(MPI_SHORT_INT);
    let op = Op::predefined(MPI_MAXLOC).unwrap();
    let stripes = Stripes::default();
    // A value of two bytes and its index, four bytes from the beginning on.
    let mut memory = [5u8, 0, 0xee, 0xee, 1, 0, 0, 0];
    let input = [7u8, 0, 2, 0, 0, 0];
    let mut former = [0u8; 6];
    // SAFETY: input and result have the six bytes of the element.
    unsafe {
        let mut combination =
            Combination::new(op, Elements::of(pair), &stripes, input.as_ptr(), former.as_mut_ptr(), 6);
        combination.run(memory.as_mut_ptr(), 2);
        assert_eq!(memory[0], 5, "half of an element has come");
        combination.run(memory.as_mut_ptr().add(4), 4);
    }
    assert_eq!(memory, [7, 0, 0xee, 0xee, 2, 0, 0, 0]);
    assert_eq!(former, [5, 0, 1, 0, 0, 0]);
}

#[test]
fn what_is_replaced_may_be_of_several_types() {
    let mixed =
        Datatype::structure(&[1, 2], &[0, 8], &[named(MPI_INT).clone(), named(MPI_DOUBLE).clone()]).unwrap();
    let op = Op::predefined(MPI_REPLACE).unwrap();
    let stripes = Stripes::default();
    let mut memory = [1.5f64; 6];
    let mut input = [0u8; 40];
    for (index, byte) in input.iter_mut().enumerate() {
        *byte = index as u8;
    }
    let mut packed = [0u8; 40];
    // SAFETY: two instances of 24 bytes, of which 20 are data.
    unsafe {
        let base = memory.as_mut_ptr().cast::<u8>();
        let mut combination =
            Combination::new(op, Elements::of(&mixed), &stripes, input.as_ptr(), core::ptr::null_mut(), 40);
        weft_datatype::for_each_run(&mixed, 2, |offset, bytes| {
            combination.run(base.offset(offset as isize), bytes)
        });
        weft_datatype::pack(base, 2, &mixed, 0, packed.as_mut_ptr(), 40);
    }
    assert_eq!(packed, input);
}

#[test]
fn who_is_alone_excludes_everybody() {
    const ROUNDS: u64 = 2000;
    let mut memory = [vec![0u64; 1], vec![0u64; 1]];
    let windows = pair(&mut memory);
    let long = named(MPI_UINT64_T);
    std::thread::scope(|scope| {
        for window in &windows {
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let mut value = [0u64];
                    if round % 10 == 3 {
                        window.lock_all(true).unwrap();
                        window.unlock_all().unwrap();
                    }
                    window.lock(1, Held::Exclusive).unwrap();
                    // SAFETY: the buffer holds the value.
                    unsafe {
                        window.get(data(&mut value, long), place(1, 0, 1, long)).unwrap();
                        value[0] += 1;
                        window.put(data(&mut value, long), place(1, 0, 1, long)).unwrap();
                    }
                    window.unlock(1).unwrap();
                }
            });
        }
    });
    assert_eq!(memory[1], [2 * ROUNDS]);
}

#[test]
fn an_exclusive_lock_beside_another_does_not_wait_for_who_wants_all() {
    let mut memory = [vec![0u64; 1], vec![0u64; 1]];
    let [first, second] = pair(&mut memory);
    first.lock(0, Held::Exclusive).unwrap();
    std::thread::scope(|scope| {
        let all = scope.spawn(|| {
            second.lock_all(true).unwrap();
            second.unlock_all().unwrap();
        });
        // Whether the other thread waits already or not, this lock is given.
        first.lock(1, Held::Exclusive).unwrap();
        first.unlock(0).unwrap();
        first.unlock(1).unwrap();
        all.join().unwrap();
    });
}

#[test]
fn memory_that_is_attached_may_be_used_across_blocks() {
    let mut memory = [0u64; 4];
    let base = memory.as_mut_ptr() as i64;
    let shared = Arc::new(Shared::new(0, 1, 1, true));
    shared.expose(0, 0, 0, 1);
    let window = Window::new(shared, 0, true);
    let long = named(MPI_UINT64_T);
    let mut values = [1u64, 2];
    let mut put = |disp: i64| {
        // SAFETY: the buffer holds two values.
        unsafe { window.put(data(&mut values, long), place(0, disp, 2, long)) }
    };
    assert_eq!(put(base).unwrap_err().class, MPI_ERR_RMA_RANGE);
    assert_eq!(window.attach(base as usize, 8), None);
    assert_eq!(window.attach(base as usize + 8, 16), None);
    assert_eq!(window.attach(base as usize + 16, 8), Some((base as usize + 8, 16)));
    put(base).unwrap();
    put(base + 8).unwrap();
    assert!(put(base + 16).is_err());
    assert!(window.detach(base as usize + 8) && !window.detach(base as usize + 16));
    assert!(put(base).is_err());
    assert_eq!(memory, [1, 1, 2, 0]);
}
