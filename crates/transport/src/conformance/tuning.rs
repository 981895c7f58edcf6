//! What only some devices do: several messages at once, answers, parts.
#![allow(unsafe_code)] // Promises memory to devices, as the layers above do.

use super::recorder::{Arrived, Recorder, fill, header, number_of, pairs, poll_all, recorders, send};
use super::{CHANNELS, Devices};
use crate::simulator::Random;
use crate::{Channel, Leaving, MOST_ANSWER, Node, Refusal};
use std::collections::HashMap;

/// Checks that of messages which are sent at once the first ones are taken, that those arrive whole and in order with others,
/// and that the rest is still its sender's, where a device sends several at once.
pub fn several_at_once(devices: &Devices) {
    let recorders = recorders(devices);
    let eager = devices[0].capabilities(1).eager;
    for channel in CHANNELS {
        let before = recorders[1].count();
        match devices[0].send_all(1, channel, &[]) {
            None => return,
            none => assert_eq!(none, Some(Ok(0))),
        }
        let lengths = [eager, 0, eager, eager - 1, 9, eager, 200];
        let data: Vec<_> =
            (0..300u32).map(|n| (header(n, 24), fill(lengths[n as usize % 7], 0, channel, n))).collect();
        let mut next = 0;
        while next < data.len() {
            if next.is_multiple_of(11) {
                let (head, payload) = &data[next];
                send(devices, &recorders, 0, 1, channel, head, payload);
                next += 1;
                continue;
            }
            // Of more than a device sends by one call some are left.
            let all = data[next..].iter().take(1 + next % 40);
            let all: Vec<_> = all.map(|(header, payload)| Leaving { header, payload }).collect();
            match devices[0].send_all(1, channel, &all) {
                Some(Ok(taken)) => {
                    assert!((1..=all.len()).contains(&taken), "{taken} of {} messages", all.len());
                    next += taken;
                }
                Some(Err(Refusal::Full)) => _ = poll_all(devices, &recorders),
                other => panic!("{other:?}"),
            }
        }
        while recorders[1].count() < before + data.len() {
            poll_all(devices, &recorders);
        }
        let records = recorders[1].records();
        assert_eq!(records.arrived.len(), before + data.len());
        for (arrived, (head, payload)) in records.arrived[before..].iter().zip(&data) {
            assert_eq!(number_of(&arrived.header), number_of(head), "order");
            assert!(arrived.header == *head && arrived.payload == *payload, "message {}", number_of(head));
        }
    }
}

/// Checks that parts of long messages, which may come in any order, arrive whole and are reported as sent exactly once each.
pub fn parts(devices: &Devices) {
    let nodes = devices.len() as u32;
    let recorders = recorders(devices);
    let lengths = [1, 70_000, (1 << 20) + 3, 300_000, 5000];
    let (mut expected, mut memory, mut tokens) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..15 {
        for (from, to) in pairs(nodes) {
            let channel = CHANNELS[number as usize / 5 % CHANNELS.len()];
            let (data, head) =
                (fill(lengths[number as usize % 5], from, channel, number), header(number, 16));
            let token = u64::from(number);
            loop {
                let device = &devices[from as usize];
                let (address, bytes) = (data.as_ptr(), data.len() as u64);
                // SAFETY: the vector is not touched until all reports have come, at the end of this function.
                match unsafe { device.start(to, channel, number, &head, address, bytes, token) } {
                    Ok(()) => break,
                    Err(Refusal::Full) => _ = poll_all(devices, &recorders),
                    Err(lost) => panic!("{lost}"),
                }
            }
            tokens.push((from, to, channel, token));
            expected.push((to, Arrived { from, channel, header: head, payload: data.clone() }));
            memory.push(data);
        }
    }
    let reports = |&(from, to, channel, token): &(Node, Node, Channel, u64)| {
        recorders[from as usize].records().sent.get(&(to, channel, token)).copied()
    };
    while recorders.iter().map(Recorder::count).sum::<usize>() < expected.len()
        || tokens.iter().any(|token| reports(token).is_none())
    {
        poll_all(devices, &recorders);
    }
    for _ in 0..100 {
        poll_all(devices, &recorders);
    }
    for (to, message) in &expected {
        let records = recorders[*to as usize].records();
        let same = records.arrived.iter().filter(|arrived| *arrived == message).count();
        assert_eq!(same, 1, "part {} from {} to {to}", number_of(&message.header), message.from);
    }
    assert!(tokens.iter().all(|token| reports(token) == Some(1)), "reported once");
}

/// Checks that answers which a device takes arrive once, whole, and in order with what is sent beside them, whatever their length, and
/// that of those it does not take nothing arrives.
pub fn answers(devices: &Devices) {
    let nodes = devices.len() as u32;
    let recorders = recorders(devices);
    let eager = devices[0].capabilities(1).eager;
    let lengths = [0, 3, 600, eager, eager + 1, 3 * eager, 99_999, MOST_ANSWER - 1, MOST_ANSWER];
    let mut expected: HashMap<(Node, Node, Channel), Vec<Arrived>> = HashMap::new();
    let mut random = Random::new(u64::from(nodes) + 11);
    let mut number = 0;
    for (from, to) in (0..40).flat_map(|_| pairs(nodes)) {
        // Whoever answers has just received; what has brought that is at one of the two, so one may be refused for ever.
        for (from, to) in [(from, to), (to, from)] {
            let channel = CHANNELS[random.below(CHANNELS.len() as u64) as usize];
            let length = lengths[random.below(lengths.len() as u64) as usize].min(MOST_ANSWER);
            let (head, data) = (header(number, 24), fill(length, from, channel, number));
            let payload = if devices[from as usize].answer(to, channel, &head, &data) {
                data
            } else {
                let short = fill(random.below(eager as u64 + 1) as usize, from, channel, number);
                send(devices, &recorders, from, to, channel, &head, &short);
                short
            };
            let list = expected.entry((from, to, channel)).or_default();
            list.push(Arrived { from, channel, header: head, payload });
            number += 1;
            if random.below(3) == 0 {
                while poll_all(devices, &recorders) {}
            }
        }
    }
    while recorders.iter().map(Recorder::count).sum::<usize>() < number as usize {
        poll_all(devices, &recorders);
    }
    for _ in 0..100 {
        poll_all(devices, &recorders);
    }
    for ((from, to, channel), expected) in expected {
        let arrived = &recorders[to as usize].records().arrived;
        let got: Vec<_> =
            arrived.iter().filter(|a| (a.from, a.channel) == (from, channel)).cloned().collect();
        let shape =
            |all: &[Arrived]| all.iter().map(|a| (number_of(&a.header), a.payload.len())).collect::<Vec<_>>();
        assert_eq!(shape(&got), shape(&expected), "order from {from} to {to} on {channel:?}");
        assert!(got == expected, "payloads or headers from {from} to {to} on {channel:?}");
    }
}
