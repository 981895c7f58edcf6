//! Peers that are not there, strangers, and peers that do not keep to the protocol.

use super::*;

#[test]
fn a_peer_that_is_not_there_is_lost() {
    let (listeners, book) = listeners(2);
    let mut listeners = listeners.into_iter();
    let device = listeners.next().unwrap().join(0, book, SECRET).unwrap();
    drop(listeners);
    device.send(1, CHANNEL, b"hello", b"").expect("room");
    let notes = [Notes::default()];
    until(&[device], &notes, 0, 1);
    assert!(notes[0].all()[0].contains("cannot be reached at 127.0.0.1:"), "{:?}", notes[0].all());
}

/// Strangers who do not know the secret, say anything, or nothing.
#[test]
fn strangers_are_refused_and_do_not_disturb() {
    let devices = devices(2);
    let address = devices[0].addresses_of(0)[0];
    let notes = notes(&devices);
    let mut silent = Vec::new();
    for number in 0..300u32 {
        let connection = Connection { from: 1, to: 0, lane: Lane::of_part(CHANNEL, number / 4) };
        let mut stranger = TcpStream::connect(address).expect("a listener");
        let (dialler, hello) = Dialler::new(connection.claim(), [number as u8; 32]);
        match number % 4 {
            0 => stranger.write_all(b"GET / HTTP/1.1\r\nHost: example.org\r\nAccept: */*\r\n\r\n").unwrap(),
            1 => stranger.write_all(&hello[..20]).unwrap(),
            2 => {
                stranger.write_all(&hello).unwrap();
                let mut challenge = [0; CHALLENGE];
                stranger.set_nonblocking(true).unwrap();
                let mut have = 0;
                while have < CHALLENGE {
                    devices[0].poll(&notes[0]);
                    have += stranger.read(&mut challenge[have..]).unwrap_or(0);
                }
                // It cannot check the challenge, and guesses.
                assert!(dialler.prove(&[0; 32], &challenge).is_err());
                stranger.write_all(&[number as u8; 32]).unwrap();
            }
            _ => {}
        }
        devices[0].poll(&notes[0]);
        silent.push(stranger);
    }
    is_undisturbed(&devices);
    assert!(devices[0].refused() >= 150, "{} were refused", devices[0].refused());
    assert!(notes[0].all().is_empty(), "{:?}", notes[0].all());
}

/// A peer whose kernel takes connections, and that never says a word; others do not wait for it.
#[test]
fn a_silent_peer_holds_nobody_up() {
    let (listeners, mut book) = listeners(3);
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    book[1].addresses = vec![silent.local_addr().unwrap()];
    let devices: Vec<_> = joined(listeners, &book).into_iter().filter(|device| device.node() != 1).collect();
    for channel in Channel::ALL {
        devices[0].send(1, channel, b"nobody hears", &[7; 1000]).expect("room");
    }
    // It has called, too, and let its hello be answered.
    let mut caller = TcpStream::connect(devices[0].addresses_of(0)[0]).expect("a listener");
    let (_, hello) = Dialler::new(Connection { from: 1, to: 0, lane: CHANNEL.into() }.claim(), [1; 32]);
    caller.write_all(&hello).unwrap();
    let notes = notes(&devices);
    for round in 1..=20 {
        devices[0].send(2, CHANNEL, b"there", &[7; 1000]).expect("room");
        until(&devices, &notes, 1, round);
        devices[1].send(0, CHANNEL, b"back", &[7; 1000]).expect("room");
        until(&devices, &notes, 0, round);
    }
    assert!(notes.iter().all(|notes| notes.all().len() == 20), "{:?}", notes[0].all());
    drop((silent, caller));
}

/// What a peer that knows the secret and does not keep to the protocol has sent.
fn after_handshake(lane: Lane, bytes: &[u8]) -> Vec<String> {
    let devices = devices(3);
    let notes = notes(&devices);
    let address = devices[0].addresses_of(0)[0];
    let connection = Connection { from: 1, to: 0, lane };
    let mut peer = TcpStream::connect(address).expect("a listener");
    peer.set_nonblocking(true).unwrap();
    let hear = |peer: &mut TcpStream, length: usize| {
        let (mut heard, mut have) = (vec![0; length], 0);
        while have < length {
            devices[0].poll(&notes[0]);
            have += peer.read(&mut heard[have..]).unwrap_or(0);
        }
        heard
    };
    let (dialler, hello) = Dialler::new(connection.claim(), [1; 32]);
    peer.write_all(&hello).unwrap();
    let challenge = hear(&mut peer, CHALLENGE);
    let proof = dialler.prove(&SECRET, challenge.as_slice().try_into().unwrap()).unwrap();
    peer.write_all(&proof).unwrap();
    assert_eq!(hear(&mut peer, 1), [1]);
    // The same again is worth nothing: the challenge is another.
    let mut replay = TcpStream::connect(address).expect("a listener");
    replay.write_all(&[&hello[..], &proof].concat()).unwrap();
    let before = devices[0].refused();
    while devices[0].refused() == before {
        devices[0].poll(&notes[0]);
    }
    peer.write_all(bytes).unwrap();
    drop(peer);
    until(&devices, &notes, 0, 1);
    for _ in 0..50 {
        devices[0].poll(&notes[0]);
    }
    let said = notes[0].all();
    let others: Vec<_> = devices.into_iter().filter(|device| device.node() != 1).collect();
    others[0].send(2, CHANNEL, b"still here", b"").expect("room");
    until(&others, &[Notes::default(), Notes::default()], 1, 1);
    said
}

#[test]
fn a_peer_that_talks_nonsense_is_lost_and_nobody_else() {
    let head = |kind, header, bytes| Head { kind, channel: Channel::new(0), header, bytes }.encode();
    let malformed = [
        [9; HEAD],
        head(Kind::Short, 65, 0),
        head(Kind::Short, 0, 1 << 19),
        head(Kind::Short, 0, u64::MAX),
        head(Kind::Long, 0, u64::MAX),
        head(Kind::End, 3, 0),
    ];
    for lane in [CHANNEL.into(), Lane::of_part(CHANNEL, 1), Lane::of_part(CHANNEL, 7)] {
        for bytes in malformed {
            let said = after_handshake(lane, &[&bytes[..], &[1; 200]].concat());
            assert!(said.len() == 1 && said[0].contains("malformed"), "{bytes:?}: {said:?}");
        }
        let truncated = [&head(Kind::Short, 2, 100)[..], &[1; 50]].concat();
        let said = after_handshake(lane, &truncated);
        assert!(said.len() == 1 && said[0].starts_with("lost 1"), "{said:?}");
        let more = [&head(Kind::End, 0, 0)[..], &head(Kind::Short, 0, 0)].concat();
        let said = after_handshake(lane, &more);
        assert!(said.len() == 1 && said[0].contains("after its end"), "{said:?}");
    }
}
