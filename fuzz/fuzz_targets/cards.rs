//! A card from anybody is within its bounds and is written as it was read, or it is refused with a short reason.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weft_fabric::{Card, LONGEST, MOST_DEVICES, MOST_WORDS};

fuzz_target!(|input: &str| {
    match Card::read(input) {
        Ok(mut card) => {
            assert!(input.len() <= LONGEST && card.to_string() == input);
            assert!(card.devices().count() <= MOST_DEVICES);
            let words = |name| card.words(name).is_some_and(|words| words.len() <= MOST_WORDS);
            assert!(card.devices().all(words));
            card.shorten(input.len() / 2);
            assert!(Card::read(&card.to_string()).as_ref() == Ok(&card));
        }
        Err(reason) => assert!(!reason.is_empty() && reason.len() < 400),
    }
});
