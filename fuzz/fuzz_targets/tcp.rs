//! Whatever arrives on a connection between hosts is part of a handshake or a frame, or refused: nobody gets in without the
//! secret, and no frame is longer than what has arrived.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weft_handshake::{Acceptor, CHALLENGE, Dialler, HELLO, PROOF};
use weft_net_tcp::Connection;
use weft_net_tcp::frame::take;
use weft_transport::{Channel, MAX_HEADER};

const SECRET: [u8; 32] = [7; 32];

fuzz_target!(|input: &[u8]| {
    let mut rest = input;
    while let Ok(Some(frame)) = take(&mut rest, 4096) {
        assert!(frame.header.len() <= MAX_HEADER && frame.present.len() <= input.len());
        assert!(frame.present.len() as u64 <= frame.bytes);
    }
    if let Some((hello, rest)) = input.split_first_chunk::<HELLO>()
        && let Ok((acceptor, _)) = Acceptor::new(&SECRET, Connection::expected(1, 5), hello, [2; 32])
        && let Some(proof) = rest.first_chunk::<PROOF>()
    {
        assert!(acceptor.check(&SECRET, proof).is_err());
    }
    if let Some(challenge) = input.first_chunk::<CHALLENGE>() {
        let connection = Connection { from: 3, to: 1, lane: Channel::COLLECTIVE.into() };
        assert!(Dialler::new(connection.claim(), [1; 32]).0.prove(&SECRET, challenge).is_err());
    }
});
