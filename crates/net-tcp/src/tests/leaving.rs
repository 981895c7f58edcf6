//! Who ends, here or at the other side; also while threads still send.
#![allow(unsafe_code)] // As the module above.

use super::*;
use crate::link::Item;
use rustix::io::Errno;

/// Two devices, the first of which has sent `first`; the second is in the middle of sending to it.
fn one_in_the_middle_of_sending() -> (Vec<TcpDevice>, Vec<Notes>) {
    let devices = devices(2);
    let notes = notes(&devices);
    devices[0].send(1, CHANNEL, b"first", b"").expect("room");
    until(&devices, &notes, 1, 1);
    devices[1].link(0, CHANNEL).out.lock().busy = true;
    (devices, notes)
}

/// Lets the first of two devices end, and the other one hear of it; returns that one.
fn ends(devices: &mut Vec<TcpDevice>, notes: &Notes) -> TcpDevice {
    devices[0].leave();
    drop(devices.remove(0));
    while !devices[0].link(0, CHANNEL).incoming.lock().closed {
        devices[0].poll(notes);
    }
    devices.remove(0)
}

/// A thread that sends may not get round to it before the peer has ended, and others queue behind it.
#[test]
fn what_nobody_waits_for_may_be_queued_when_a_process_ends() {
    let (mut devices, notes) = one_in_the_middle_of_sending();
    devices[1].send(0, CHANNEL, b"credit", b"").expect("room in the queue");
    let last = ends(&mut devices, &notes[1]);
    last.settle(0, CHANNEL, last.link(0, CHANNEL), (1, 0), Err(Errno::PIPE));
    last.poll(&notes[1]);
    assert_eq!(notes[1].all(), ["first from 0"]);
    let refused = last.send(0, CHANNEL, b"late", b"");
    assert!(matches!(&refused, Err(Refusal::Lost { reason }) if reason.contains("has ended")), "{refused:?}");
}

/// What a thread is sending is in no queue.
#[test]
fn who_ends_waits_for_threads_that_are_sending() {
    let mut devices = devices(2);
    let notes = notes(&devices);
    devices[0].send(1, CHANNEL, b"first", b"").expect("room");
    until(&devices, &notes, 1, 1);
    let link = devices[0].link(1, CHANNEL);
    link.out.lock().busy = true;
    std::thread::scope(|scope| {
        let leaving = scope.spawn(|| devices[0].leave());
        while !link.out.lock().says_end {
            std::thread::yield_now();
        }
        let items = link.out.lock().batch();
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(50) && !link.incoming.lock().closed {
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut out = link.out.lock();
        out.put_back(items.into_iter());
        out.busy = false;
        drop(out);
        leaving.join().expect("it leaves");
    });
    drop(devices.remove(0));
    while !devices[0].link(0, CHANNEL).incoming.lock().closed {
        devices[0].poll(&notes[1]);
    }
    assert_eq!(notes[1].all(), ["first from 0"]);
}

/// Another thread may still hear something, and answer.
#[test]
fn nothing_is_sent_after_the_end() {
    let devices = devices(2);
    let notes = notes(&devices);
    devices[0].send(1, CHANNEL, b"first", b"").expect("room");
    until(&devices, &notes, 1, 1);
    devices[0].link(1, CHANNEL).out.lock().say_end();
    let refused = devices[0].send(1, CHANNEL, b"answer", b"");
    assert!(matches!(&refused, Err(Refusal::Lost { reason }) if reason.contains("has ended")), "{refused:?}");
    // SAFETY: the data is a constant.
    let refused = unsafe { devices[0].start(1, CHANNEL, 0, b"long", LONG.as_ptr(), LONG.len() as u64, 7) };
    assert!(matches!(refused, Err(Refusal::Lost { .. })), "{refused:?}");
    devices[0].leave();
    assert!(matches!(devices[0].send(1, CHANNEL, b"later", b""), Err(Refusal::Lost { .. })));
    while !devices[1].link(0, CHANNEL).incoming.lock().closed {
        devices[1].poll(&notes[1]);
    }
    assert_eq!(notes[1].all(), ["first from 0"]);
}

/// Its sender waits for a word.
#[test]
fn a_long_message_to_a_process_that_has_ended_is_a_loss() {
    for is_queued in [true, false] {
        let (mut devices, notes) = one_in_the_middle_of_sending();
        let long = || Item::memory(CHANNEL, b"long", LONG.as_ptr(), LONG.len() as u64, 7);
        if is_queued {
            devices[1].link(0, CHANNEL).out.lock().put_first(long());
        }
        let last = ends(&mut devices, &notes[1]);
        let rest = (!is_queued).then(long);
        last.settle(0, CHANNEL, last.link(0, CHANNEL), (1, 0), Ok(rest));
        last.poll(&notes[1]);
        assert!(notes[1].all().last().unwrap().starts_with("lost 0: "), "{:?}", notes[1].all());
    }
}

#[test]
fn the_end_of_a_process_is_no_loss_and_what_it_has_sent_arrives() {
    let mut devices = devices(2);
    let notes = notes(&devices);
    devices[0].send(1, CHANNEL, b"first", b"").expect("room");
    until(&devices, &notes, 1, 1);
    for _ in 0..100 {
        devices[0].send(1, CHANNEL, b"last", &[7; 1000]).expect("room");
    }
    // It answers meanwhile, which nobody receives.
    devices[1].send(0, CHANNEL, b"answer", b"").expect("room");
    devices[0].leave();
    drop(devices.remove(0));
    for _ in 0..300 {
        devices[0].poll(&notes[1]);
    }
    assert_eq!(notes[1].all().len(), 101);
    let refused = devices[0].send(0, CHANNEL, b"late", b"");
    assert!(matches!(&refused, Err(Refusal::Lost { reason }) if reason.contains("has ended")), "{refused:?}");
}

#[test]
fn who_connects_while_a_process_ends_is_told_so() {
    let devices = devices(3);
    let notes = notes(&devices);
    // It cannot end before the last one has answered.
    devices[0].send(2, CHANNEL, b"last", b"").expect("room");
    devices[1].send(0, CHANNEL, b"too late", b"").expect("room");
    std::thread::scope(|scope| {
        let leaving = scope.spawn(|| devices[0].leave());
        let refusal = loop {
            devices[1].poll(&notes[1]);
            match devices[1].send(0, CHANNEL, b"later", b"") {
                Err(Refusal::Lost { reason }) => break reason,
                _ => std::thread::yield_now(),
            }
        };
        assert!(refusal.contains("has ended"), "{refusal}");
        while !leaving.is_finished() {
            devices[2].poll(&notes[2]);
        }
    });
    assert_eq!((notes[1].all().len(), notes[2].all().len()), (0, 1));
}

/// A handshake that is over while a process waits for its last messages to go.
#[test]
fn a_process_ends_after_it_has_said_so_on_connections_settled_meanwhile() {
    let devices = devices(3);
    let notes = notes(&devices);
    // It cannot end before the last one has answered.
    devices[0].send(2, CHANNEL, b"last", b"").expect("room");
    let (link, held) = (devices[0].link(1, CHANNEL), devices[0].link(2, CHANNEL));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let socket = listener.accept().unwrap().0;
    socket.set_nonblocking(true).unwrap();
    let socket = OwnedFd::from(socket);
    epoll::add(devices[0].epoll(), &socket, devices[0].half_data(0), epoll::EventFlags::empty()).unwrap();
    std::thread::scope(|scope| {
        let leaving = scope.spawn(|| devices[0].leave());
        while !held.out.lock().says_end {
            std::thread::yield_now();
        }
        link.out.lock().stage = Stage::Settled;
        while devices[2].send(0, CHANNEL, b"later", b"").is_ok() {
            devices[2].poll(&notes[2]);
        }
        while !link.out.lock().says_end {
            assert!(!leaving.is_finished(), "it has ended, and the peer does not know");
            std::thread::yield_now();
        }
        devices[0].open(Connection { from: 1, to: 0, lane: CHANNEL.into() }, socket);
        let mut said = [0; HEAD];
        peer.read_exact(&mut said).unwrap();
        assert_eq!(said, Head { kind: Kind::End, channel: Channel::new(0), header: 0, bytes: 0 }.encode());
    });
}

/// Another thread still polls then, and the process may be gone at any time.
#[test]
fn nobody_is_let_in_after_the_end_and_who_knocks_is_told_so() {
    let devices = devices(2);
    let notes = notes(&devices);
    devices[0].leave();
    devices[1].send(0, CHANNEL, b"too late", b"").expect("room");
    let refusal = loop {
        devices.iter().zip(&notes).for_each(|(device, notes)| _ = device.poll(notes));
        if let Err(refusal) = devices[1].send(0, CHANNEL, b"later", b"") {
            break refusal.to_string();
        }
    };
    assert!(refusal.contains("has ended"), "{refusal}");
    assert!(devices[0].link(1, CHANNEL).socket.get().is_none(), "it is connected");
    assert!(notes.iter().all(|notes| notes.all().is_empty()), "{:?}", notes[1].all());
}

#[test]
fn the_end_of_a_process_without_a_word_is_a_loss() {
    let mut devices = devices(2);
    let notes = notes(&devices);
    devices[0].send(1, CHANNEL, b"first", b"").expect("room");
    until(&devices, &notes, 1, 1);
    drop(devices.remove(0));
    until(&devices, &notes[1..], 0, 2);
    let said = &notes[1].all()[1];
    assert!(said.starts_with("lost 0: node process 0 (at 127.0.0.1:"), "{said}");
}
