//! Whatever a launcher says is a reply or refused; a process mapping says the host of every rank or is refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weft_pmi::text::{LENGTH_BYTES, LONGEST, Reply, message_length};
use weft_pmi::{environment, mapping};

fuzz_target!(|bytes: &[u8]| {
    for reply in [Reply::from_line(bytes), Reply::from_message(bytes)].into_iter().flatten() {
        let _ = (reply.number("rc"), reply.need("value"));
        if let Some(value) = reply.get("value") {
            let _ = mapping::parse(value, 64);
        }
        let _ = reply.succeed();
    }
    if let Some((head, _)) = bytes.split_first_chunk::<LENGTH_BYTES>()
        && let Ok(length) = message_length(head)
    {
        assert!(length <= LONGEST);
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        for size in [0, 1, 7, 300] {
            for text in [text, &format!("(vector,{text})")] {
                if let Ok(hosts) = mapping::parse(text, size) {
                    assert_eq!(hosts.len(), size as usize);
                    assert!(hosts.iter().all(|&host| host < size));
                }
            }
        }
        let _ = environment::find(|name| name.ends_with("FD").then(|| text.to_owned()));
    }
});
