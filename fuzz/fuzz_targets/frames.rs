//! Whatever a peer sends as a header is a frame, which is written as it was read, or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weft_post::header::Frame;

fuzz_target!(|header: &[u8]| {
    if let Ok((frame, credit)) = Frame::decode(header) {
        let mut encoded = frame.encode();
        encoded.set_credit(credit);
        assert_eq!(encoded.bytes(), header);
    }
});
