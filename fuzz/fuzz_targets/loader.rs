//! Feeds arbitrary bytes to the loader as a program's file: `cargo +nightly fuzz run loader`.
//!
//! Start from a corpus of small programs, for example `build/examples/*`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Err(message) = weft_loader::check_bytes(bytes) {
        // A file may be wrong in many ways; a template made from it may not.
        assert!(!message.contains("leaves") && !message.contains("past the file"), "{message}");
    }
});
