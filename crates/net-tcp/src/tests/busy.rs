//! Connections on which threads send much.

use super::*;

/// However long the row of messages that come on one connection, and without a poll in vain.
#[test]
fn who_is_busy_with_one_peer_hears_the_others() {
    let devices = devices(3);
    let heard = notes(&devices);
    devices[2].send(0, CHANNEL, b"first", b"").expect("room");
    until(&devices, &heard, 0, 1);
    for row in [1, 5, 1000] {
        let before = heard[0].all().len();
        for number in 0..row {
            devices[1].send(0, CHANNEL, b"one of many", b"").expect("room");
            until(&devices, &heard, 0, before + number + 1);
        }
        devices[2].send(0, CHANNEL, b"of another", b"").expect("room");
        while !heard[0].all()[before..].iter().any(|text| text.contains("of another")) {
            devices[1].send(0, CHANNEL, b"one of many", b"").expect("room");
            devices[0].poll(&heard[0]);
        }
    }
}

/// Who asked a socket for something to which another thread hands much would sleep in the kernel.
#[test]
fn what_arrives_where_a_thread_sends_much_is_left_to_that_thread() {
    let devices = devices(2);
    let heard = notes(&devices);
    devices[1].send(0, CHANNEL, b"first", b"").expect("room");
    until(&devices, &heard, 0, 1);
    let link = devices[0].link(1, CHANNEL);
    let taking = link.take_up(BULK);
    devices[1].send(0, CHANNEL, b"second", b"").expect("room");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !devices[0].wants_poll() {
                devices[0].poll(&heard[0]);
            }
            assert_eq!(heard[0].all().len(), 1, "it is another's");
            // Nor does that end a sleep at once again and again: it ends by itself.
            devices[0].poll(&heard[0]);
            devices[0].sleep(Duration::from_secs(3600), &|| true);
        });
    });
    assert!(!devices[0].wants_poll(), "said once, and forgotten by who has slept");
    while heard[0].all().len() < 2 {
        devices[0].poll(&heard[0]);
    }
    drop(taking);
    devices[1].send(0, CHANNEL, b"third", b"").expect("room");
    std::thread::scope(|scope| {
        // A moment later it is anybody's again.
        scope.spawn(|| {
            while heard[0].all().len() < 3 {
                devices[0].poll(&heard[0]);
            }
        });
    });
    let _short = link.take_up(BULK - 1);
    std::thread::scope(|scope| {
        _ = scope.spawn(|| assert!(!link.is_taken(), "what is short does not take long"))
    });
}

#[test]
fn a_long_message_waits_with_its_sender_while_its_connection_is_in_use_and_a_short_one_does_not() {
    let devices = devices(2);
    let notes = notes(&devices);
    devices[0].send(1, CHANNEL, b"first", b"").expect("room");
    until(&devices, &notes, 1, 1);
    // Nobody receives until the socket takes no more; the rest of that message waits in the queue.
    let mut sent = 1;
    let refused = loop {
        match devices[0].send(1, CHANNEL, b"long", &LONG) {
            Ok(()) => sent += 1,
            Err(refusal) => break refusal,
        }
    };
    assert!(matches!(refused, Refusal::Full), "{refused:?}");
    // There is room for more, and who copies little is welcome.
    devices[0].send(1, CHANNEL, b"short", &LONG[1..]).expect("room for a copy");
    assert!(matches!(devices[0].send(1, CHANNEL, b"long", &LONG), Err(Refusal::Full)));
    until(&devices, &notes, 1, sent + 1);
    devices[0].send(1, CHANNEL, b"long", &LONG).expect("it is used no more");
    until(&devices, &notes, 1, sent + 2);
}

/// A refused sender that sleeps is woken when the connection is free, though nothing arrives.
#[test]
fn who_was_refused_while_others_sent_is_woken() {
    const EACH: usize = 3000;
    let limit = Duration::from_secs(20);
    let devices = devices(2);
    let notes = notes(&devices);
    devices[0].send(1, CHANNEL, b"first", b"").expect("room");
    until(&devices, &notes, 1, 1);
    let (arrived, late) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..EACH {
                    let mut sent = devices[0].send(1, CHANNEL, b"long", &LONG).is_ok();
                    while !sent {
                        let begin = std::time::Instant::now();
                        let again = std::cell::Cell::new(false);
                        // Once it counts as a sleeper it is woken, or finds the connection free.
                        devices[0].sleep(limit, &|| {
                            again.set(devices[0].send(1, CHANNEL, b"long", &LONG).is_ok());
                            !again.get()
                        });
                        if begin.elapsed() >= limit {
                            late.fetch_add(1, Ordering::Relaxed);
                        }
                        sent = again.get();
                        if !sent {
                            devices[0].poll(&notes[0]);
                            sent = devices[0].send(1, CHANNEL, b"long", &LONG).is_ok();
                        }
                    }
                }
            });
        }
        while arrived.load(Ordering::Relaxed) < 3 * EACH + 1 {
            devices[1].poll(&notes[1]);
            arrived.store(notes[1].count(), Ordering::Relaxed);
        }
    });
    assert_eq!(late.into_inner(), 0, "only the time has woken it");
}

#[test]
fn after_a_streak_on_one_connection_the_others_are_asked_by_the_clock() {
    use weft_sys::clock;
    let devices = devices(3);
    let notes = notes(&devices);
    for (node, count) in [(2, 1), (1, 2)] {
        devices[node].send(0, CHANNEL, b"first", b"").expect("room");
        until(&devices, &notes, 0, count);
    }
    for number in 2..50 {
        devices[1].send(0, CHANNEL, b"streak", b"").expect("room");
        until(&devices[..1], &notes, 0, 1 + number);
    }
    assert!(devices[0].has_streak());
    let (begin, mut looks, mut latest) = (clock::ticks(), 0, devices[0].last_look());
    for _ in 0..2000 {
        assert!(!devices[0].poll(&notes[0]), "nobody has sent anything");
        looks += u64::from(latest != devices[0].last_look());
        latest = devices[0].last_look();
    }
    let most = (clock::ticks() - begin) / (APART_US * clock::ticks_per_us()) + 1;
    assert!(looks <= most, "{looks} looks, at most one in {APART_US} us: {most}");
    // What comes elsewhere is seen all the same, and ends the streak.
    devices[2].send(0, CHANNEL, b"second", b"").expect("room");
    until(&devices[..1], &notes, 0, 51);
    assert_eq!(notes[0].all()[50], "second from 2");
    assert!(!devices[0].has_streak());
}
