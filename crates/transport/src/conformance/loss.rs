//! A connection that breaks.
#![allow(unsafe_code)] // Promises memory to devices, as the layers above do.

use super::Devices;
use super::recorder::{fill, header, number_of, pairs, poll_all, recorders, send};
use crate::{Channel, Node, Refusal};

/// Checks what happens when `cut` breaks the connection of two processes: both hear of it once, nothing is sent or placed
/// afterwards, and what came before is in order and whole. Other connections go on.
///
/// # Panics
/// If a device does not do what it must.
pub fn loss(devices: &Devices, a: Node, b: Node, cut: impl FnOnce()) {
    let recorders = recorders(devices);
    let channel = Channel::POINT_TO_POINT;
    let long = fill(300_000, a, channel, 7);
    let mut sent = 0;
    for number in 0..20u32 {
        // SAFETY: the memory outlives the devices' use of it, which ends with the loss at the latest.
        let result = unsafe {
            if number % 5 == 4 {
                devices[a as usize].start(
                    b,
                    channel,
                    0,
                    &header(number, 8),
                    long.as_ptr(),
                    300_000,
                    u64::from(number),
                )
            } else {
                devices[a as usize].send(b, channel, &header(number, 8), &long[..100])
            }
        };
        if result.is_err() {
            break;
        }
        sent += 1;
        if number % 7 == 0 {
            poll_all(devices, &recorders);
        }
    }
    cut();
    let (first, second) = (&recorders[a as usize], &recorders[b as usize]);
    // A peer that is gone may be noticed only by who sends to it.
    let mut refused = [false; 2];
    while first.records().lost.is_empty() || second.records().lost.is_empty() || refused != [true; 2] {
        poll_all(devices, &recorders);
        for (side, from, to) in [(0, a, b), (1, b, a)] {
            let result = devices[from as usize].send(to, Channel::COLLECTIVE, &header(9, 4), b"");
            refused[side] |= matches!(result, Err(Refusal::Lost { .. }));
        }
    }
    let before = second.count();
    for _ in 0..100 {
        poll_all(devices, &recorders);
    }
    assert_eq!(second.count(), before, "messages after the loss");
    assert_eq!((&first.records().lost, &second.records().lost), (&vec![b], &vec![a]), "reported once");
    let records = second.records();
    let arrived = records.arrived.iter().filter(|arrived| arrived.channel == channel);
    for (number, arrived) in arrived.enumerate() {
        assert!(number < sent, "more than was sent");
        assert_eq!(number_of(&arrived.header), number as u32, "order before the loss");
        let length = if number % 5 == 4 { 300_000 } else { 100 };
        assert!(arrived.payload == long[..length], "payload before the loss");
    }
    assert!(first.records().sent.values().all(|&reports| reports == 1));
    drop(records);
    let others: Vec<_> =
        pairs(devices.len() as u32).filter(|&(x, y)| [x, y] != [a, b] && [y, x] != [a, b]).collect();
    for &(from, to) in &others {
        let before = recorders[to as usize].count();
        send(devices, &recorders, from, to, channel, &header(1, 4), b"still here");
        while recorders[to as usize].count() == before {
            poll_all(devices, &recorders);
        }
    }
}
