//! A connection on which messages come in a row is set apart, and asked before all others.

use super::*;

/// Devices, of which the first has its connection to the second set apart, because messages came on it in a row.
fn with_one_apart(nodes: u32) -> (Vec<TcpDevice>, Vec<Notes>) {
    let (listeners, mut book) = listeners(nodes);
    // Elsewhere than on this machine, whose cores they might outnumber.
    book.iter_mut().for_each(|card| card.machine = None);
    let devices = joined(listeners, &book);
    let heard = notes(&devices);
    for number in 1..10 * ROW as usize {
        devices[1].send(0, CHANNEL, b"one of many", b"").expect("room");
        until(&devices, &heard, 0, number);
    }
    assert!(devices[0].has_apart(), "after a row of {}", heard[0].count());
    (devices, heard)
}

#[test]
fn no_connection_is_set_apart_where_processes_outnumber_the_cores() {
    let (listeners, mut book) = listeners(2);
    for machine in book.iter_mut().filter_map(|card| card.machine.as_mut()) {
        machine.workers = 1 << 20;
    }
    let devices = joined(listeners, &book);
    let heard = notes(&devices);
    for number in 1..10 * ROW as usize {
        devices[1].send(0, CHANNEL, b"one of many", b"").expect("room");
        until(&devices, &heard, 0, number);
        assert!(!devices[0].has_apart());
    }
}

#[test]
fn who_sleeps_hears_of_the_connection_that_was_set_apart() {
    let (devices, heard) = with_one_apart(2);
    let before = heard[0].count();
    let is_asleep = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            let has_apart = Cell::new(false);
            while heard[0].count() == before && !has_apart.get() {
                devices[0].sleep(Duration::from_secs(3600), &|| {
                    has_apart.set(devices[0].has_apart());
                    is_asleep.store(true, Ordering::SeqCst);
                    !has_apart.get()
                });
                devices[0].poll(&heard[0]);
            }
            has_apart.get()
        });
        while !is_asleep.load(Ordering::SeqCst) {
            std::hint::spin_loop();
        }
        devices[1].send(0, CHANNEL, b"wake up", b"").expect("room");
        assert!(!sleeper.join().unwrap(), "it would sleep for an hour");
    });
}

#[test]
fn what_rests_with_the_kernel_is_seen_on_a_connection_that_is_set_apart() {
    let (devices, heard) = with_one_apart(2);
    assert!(devices[0].rest().is_some());
    for _ in 0..10 * ROW {
        devices[1].send(0, CHANNEL, b"again", b"").expect("room");
        until(&devices, &heard, 0, heard[0].count() + 1);
    }
    assert!(devices[0].has_apart());
    devices[1].send(0, CHANNEL, b"not heard yet", b"").expect("room");
    assert!(devices[0].rest().is_none());
}

#[test]
fn a_connection_that_is_set_apart_goes_on_when_there_is_room_again() {
    let (devices, heard) = with_one_apart(2);
    let mut sent = 0;
    while devices[0].send(1, CHANNEL, b"long", &LONG).is_ok() {
        sent += 1;
    }
    assert!(!devices[0].has_apart(), "the kernel would not tell of room");
    until(&devices, &heard, 1, sent);
}

#[test]
fn another_connection_takes_the_place_of_the_one_that_is_set_apart() {
    let (devices, heard) = with_one_apart(3);
    let before = heard[0].count();
    devices[2].send(0, CHANNEL, b"of another", b"").expect("room");
    until(&devices, &heard, 0, before + 1);
    assert!(!devices[0].has_apart());
    devices[1].send(0, CHANNEL, b"after it", b"").expect("room");
    until(&devices, &heard, 0, before + 2);
}

/// Then polls do not look there, and the kernel must tell that something has come.
#[test]
fn a_connection_that_is_set_apart_may_be_taken_up_by_who_sends_much() {
    let (devices, heard) = with_one_apart(2);
    let before = heard[0].count();
    let _taking = devices[0].link(1, CHANNEL).take_up(BULK);
    devices[1].send(0, CHANNEL, b"for who sends", b"").expect("room");
    std::thread::scope(|scope| {
        scope.spawn(|| devices[0].poll(&heard[0]));
    });
    assert_eq!(heard[0].count(), before, "it is another's");
    assert!(!devices[0].has_apart());
    until(&devices, &heard, 0, before + 1);
}

#[test]
fn a_connection_that_is_set_apart_may_break() {
    let (devices, heard) = with_one_apart(2);
    let before = heard[0].count();
    devices[1].sever(0);
    until(&devices, &heard, 0, before + 1);
    assert!(heard[0].all()[before].starts_with("lost 1"), "{:?}", heard[0].all()[before]);
    assert!(!devices[0].has_apart());
}
