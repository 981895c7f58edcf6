//! A handler that keeps what arrives, and what the checks share: data that tells whence it is, and sending with patience.

use super::Devices;
use crate::simulator::Random;
use crate::{Arriving, Channel, Handler, Node, Placement, Refusal};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What arrived at a process, whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Arrived {
    pub(super) from: Node,
    pub(super) channel: Channel,
    pub(super) header: Vec<u8>,
    pub(super) payload: Vec<u8>,
}

#[derive(Default)]
pub(super) struct Records {
    pub(super) arrived: Vec<Arrived>,
    pub(super) placing: HashMap<u64, (Arrived, u64)>,
    pub(super) tokens: u64,
    pub(super) sent: HashMap<(Node, Channel, u64), u32>,
    pub(super) lost: Vec<Node>,
}

/// Takes messages in all the ways a handler may, and keeps them.
#[derive(Default)]
pub(super) struct Recorder {
    pub(super) records: Mutex<Records>,
    /// Bytes of a payload that is not all there to make room for; all of them if not given.
    pub(super) room: Option<u64>,
}

impl Recorder {
    pub(super) fn records(&self) -> MutexGuard<'_, Records> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn count(&self) -> usize {
        self.records().arrived.len()
    }
}

impl Handler for Recorder {
    fn arrive(&self, message: Arriving<'_>) -> Placement {
        let Arriving { from, channel, header, bytes, present } = message;
        assert!(present.len() as u64 <= bytes, "more of the payload than there is");
        let mut records = self.records();
        assert!(!records.lost.contains(&from), "a message of a lost peer");
        let arrived = Arrived { from, channel, header: header.into(), payload: present.into() };
        // What is all there is taken at once or copied by the device, in turns.
        if present.len() as u64 == bytes && !records.arrived.len().is_multiple_of(3) {
            records.arrived.push(arrived);
            return Placement::Taken;
        }
        let capacity = self.room.unwrap_or(bytes).min(bytes);
        let payload = vec![0xee; capacity as usize + 1];
        records.tokens += 1;
        let token = records.tokens;
        // The memory stays where it is when the vector moves.
        let entry = records.placing.entry(token).or_insert((Arrived { payload, ..arrived }, capacity));
        Placement::Memory { address: entry.0.payload.as_mut_ptr(), capacity, token }
    }

    fn placed(&self, from: Node, channel: Channel, token: u64) {
        let mut records = self.records();
        let (mut arrived, capacity) =
            records.placing.remove(&token).expect("placed twice, or a token nobody gave");
        assert_eq!((arrived.from, arrived.channel), (from, channel), "placed for somebody else");
        assert_eq!(arrived.payload.pop(), Some(0xee), "bytes past the capacity were written");
        assert_eq!(arrived.payload.len() as u64, capacity);
        records.arrived.push(arrived);
    }

    fn sent(&self, to: Node, channel: Channel, token: u64) {
        *self.records().sent.entry((to, channel, token)).or_default() += 1;
    }

    fn lost(&self, peer: Node, _reason: &str) {
        self.records().lost.push(peer);
    }
}

/// Fills a payload so that sender, number and place show.
pub(super) fn fill(bytes: usize, from: Node, channel: Channel, number: u32) -> Vec<u8> {
    let mut random =
        Random::new(u64::from(from) << 40 | u64::from(channel.number()) << 32 | u64::from(number));
    let mut data = vec![0; bytes];
    data.chunks_mut(8).for_each(|chunk| {
        let word = (random.below(u64::MAX)).to_le_bytes();
        chunk.copy_from_slice(&word[..chunk.len()]);
    });
    data
}

pub(super) fn header(number: u32, length: usize) -> Vec<u8> {
    let mut header = fill(length.max(4), 99, Channel::COLLECTIVE, number);
    header[..4].copy_from_slice(&number.to_le_bytes());
    header
}

pub(super) fn number_of(header: &[u8]) -> u32 {
    u32::from_le_bytes(header[..4].try_into().expect("four bytes"))
}

pub(super) fn poll_all(devices: &Devices, recorders: &[Recorder]) -> bool {
    devices.iter().zip(recorders).fold(false, |moved, (device, recorder)| device.poll(recorder) | moved)
}

pub(super) fn recorders(devices: &Devices) -> Vec<Recorder> {
    devices.iter().map(|_| Recorder::default()).collect()
}

/// Sends, polling everybody while there is no room.
pub(super) fn send(
    devices: &Devices,
    recorders: &[Recorder],
    from: Node,
    to: Node,
    channel: Channel,
    head: &[u8],
    data: &[u8],
) {
    loop {
        match devices[from as usize].send(to, channel, head, data) {
            Ok(()) => return,
            Err(Refusal::Full) => _ = poll_all(devices, recorders),
            Err(lost) => panic!("{lost}"),
        }
    }
}

pub(super) fn pairs(nodes: u32) -> impl Iterator<Item = (Node, Node)> {
    (0..nodes).flat_map(move |from| (0..nodes).filter(move |&to| to != from).map(move |to| (from, to)))
}
