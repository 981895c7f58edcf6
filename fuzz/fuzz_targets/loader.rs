//! Feeds arbitrary bytes to the loader as a program's file: `cargo +nightly fuzz run loader`.
//!
//! Start from a corpus of small programs, for example `build/examples/*`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = weft_loader::check_bytes(bytes);
});
