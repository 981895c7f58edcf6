//! Processes that have nothing to do: they sleep, are woken, and say what rests in their devices.
#![allow(unsafe_code)] // Promises memory to devices, as the layers above do.

use super::recorder::{Recorder, fill, header, pairs, poll_all, recorders};
use super::{CHANNELS, Devices};
use crate::Channel;
use crate::simulator::Random;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Long enough that a wake-up that was lost hangs the test.
const FOR_EVER: Duration = Duration::from_secs(3600);

/// Checks that a process that sleeps is woken by what arrives.
pub fn sleep_and_arrivals(devices: &Devices) {
    const MESSAGES: usize = 300;
    let recorders = recorders(devices);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = Random::new(3);
            for number in 0..MESSAGES as u32 {
                for _ in 0..random.below(3000) {
                    core::hint::spin_loop();
                }
                while devices[0].send(1, Channel::COLLECTIVE, &header(number, 4), b"wake").is_err() {
                    devices[0].poll(&recorders[0]);
                }
                if number % 50 == 0 {
                    std::thread::yield_now();
                }
            }
            // A device may need its polls to get messages out.
            while recorders[1].count() < MESSAGES {
                devices[0].poll(&recorders[0]);
                std::thread::yield_now();
            }
        });
        while recorders[1].count() < MESSAGES {
            while devices[1].poll(&recorders[1]) {}
            devices[1].sleep(FOR_EVER, &|| recorders[1].count() < MESSAGES);
        }
    });
}

/// Checks that a process that sleeps is woken, however early the call comes, and that it asks before it sleeps.
pub fn sleep_and_wake(devices: &Devices) {
    let recorders = recorders(devices);
    devices[0].sleep(FOR_EVER, &|| false);
    let (asked, told) = (AtomicBool::new(false), AtomicBool::new(false));
    for round in 0..100u32 {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..(round * 37) % 1500 {
                    core::hint::spin_loop();
                }
                told.store(true, Ordering::SeqCst);
                devices[0].wake();
            });
            while !told.load(Ordering::SeqCst) {
                let is_idle = || {
                    asked.store(true, Ordering::Relaxed);
                    !told.load(Ordering::SeqCst)
                };
                devices[0].sleep(FOR_EVER, &is_idle);
                while devices[0].poll(&recorders[0]) {}
            }
        });
        told.store(false, Ordering::SeqCst);
    }
    assert!(asked.load(Ordering::Relaxed), "nobody asked whether to sleep");
}

/// Checks of a device that says what rests in it that no message is ever forgotten: as long as one has not arrived, somebody
/// does not rest or more has been sent than received; once all have, all rest and both are equal.
pub fn rest_and_traffic(devices: &Devices) {
    let all_rest = || {
        let rests: Option<Vec<_>> = devices.iter().map(|device| device.rest()).collect();
        rests.is_some_and(|rests| {
            rests.iter().map(|rest| rest.sent).sum::<u64>()
                == rests.iter().map(|rest| rest.received).sum::<u64>()
        })
    };
    if devices.iter().all(|device| device.rest().is_none()) {
        return;
    }
    assert!(all_rest(), "nothing was sent");
    let nodes = devices.len() as u32;
    let recorders = recorders(devices);
    let pairs: Vec<_> = pairs(nodes).collect();
    let (data, mut random, mut sent) = (fill(70_000, 0, Channel::COLLECTIVE, 0), Random::new(7), 0);
    for number in 0..400u32 {
        if random.below(3) == 0 {
            let node = random.below(u64::from(nodes)) as usize;
            devices[node].poll(&recorders[node]);
        } else {
            let (from, to) = pairs[random.below(pairs.len() as u64) as usize];
            let channel = CHANNELS[random.below(CHANNELS.len() as u64) as usize];
            let (device, head) = (&devices[from as usize], header(number, 8));
            let accepted = if random.below(2) == 0 {
                device.send(to, channel, &head, &data[..random.below(200) as usize])
            } else {
                let bytes = random.below(data.len() as u64);
                // SAFETY: the memory stays until the end, when all that was started has arrived.
                unsafe { device.start(to, channel, 0, &head, data.as_ptr(), bytes, u64::from(number)) }
            };
            sent += usize::from(accepted.is_ok());
        }
        let arrived = recorders.iter().map(Recorder::count).sum::<usize>();
        assert!(arrived == sent || !all_rest(), "{} of {sent} messages are forgotten", sent - arrived);
    }
    while recorders.iter().map(Recorder::count).sum::<usize>() < sent {
        assert!(!all_rest(), "a message is forgotten");
        poll_all(devices, &recorders);
    }
    for _ in 0..10_000 {
        if !poll_all(devices, &recorders) && all_rest() {
            return;
        }
    }
    panic!(
        "all has arrived, and they do not rest: {:?}",
        devices.iter().map(|d| d.rest()).collect::<Vec<_>>()
    );
}
