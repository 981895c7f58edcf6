//! What a node process tells others so that they can reach it.
//!
//! A card is a line of text that every launcher can carry: `weft1`, and for each device that the node process offers, a plus
//! sign, the device's name, and the device's words, each after a comma. The number is that of the format; a card of another
//! format is refused. What comes from others is read by [`Card::read`] only, which bounds everything.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How a card begins. Another number stands for another format.
const FORMAT: &str = "weft1";
/// The longest card, in bytes.
pub const LONGEST: usize = 16 << 10;
/// How many devices a card names at most.
pub const MOST_DEVICES: usize = 16;
/// How many words a device has at most.
pub const MOST_WORDS: usize = 256;
/// The longest name of a device, in bytes.
const LONGEST_NAME: usize = 32;

/// What others need to reach a node process, by device.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug, Default)]
#[serde(into = "String", try_from = "String")]
pub struct Card {
    parts: Vec<(String, Vec<String>)>,
}

/// Tells whether a device can have this name.
pub(crate) fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(fits)
}

fn is_word(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_graphic() && byte != b',' && byte != b'+')
}

/// Shortens what is quoted in a report.
fn quoted(text: &str) -> String {
    const MOST: usize = 40;
    let start: String = text.chars().take(MOST).collect();
    let rest = if start.len() < text.len() { "…" } else { "" };
    format!("{start:?}{rest}")
}

impl Card {
    /// Makes a card of what devices say. What goes beyond a card's bounds is left out, from the end of each device's words.
    ///
    /// # Panics
    /// If a name or a word has characters that it must not have, or there are too many devices.
    pub(crate) fn of(parts: Vec<(&str, Vec<String>)>) -> Self {
        assert!(parts.len() <= MOST_DEVICES, "{} devices in a card", parts.len());
        let take = |(name, mut words): (&str, Vec<String>)| {
            let is_sound = is_name(name) && words.iter().all(|word| is_word(word));
            assert!(is_sound, "the device {name:?} says {words:?}, which no card can carry");
            words.truncate(MOST_WORDS);
            (name.to_owned(), words)
        };
        let mut card = Self { parts: parts.into_iter().map(take).collect() };
        card.shorten(LONGEST);
        card
    }

    /// Tells whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns the words of a device; nothing if the node process does not offer it.
    pub fn words(&self, device: &str) -> Option<&[String]> {
        self.parts.iter().find(|(name, _)| name == device).map(|(_, words)| &words[..])
    }

    /// Returns the names of the devices that the node process offers.
    pub fn devices(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|(name, _)| name.as_str())
    }

    /// Leaves last words out, of whoever has most, until the text has at most so many bytes or each device has one word: who
    /// has very many addresses is found by the first ones.
    pub fn shorten(&mut self, bytes: usize) {
        let mut length = self.to_string().len();
        while length > bytes {
            let longest = self.parts.iter_mut().max_by_key(|(_, words)| words.len());
            let Some((_, words)) = longest.filter(|(_, words)| words.len() > 1) else { return };
            length -= words.pop().map_or(0, |word| word.len() + 1);
        }
    }

    /// Reads a card.
    ///
    /// # Errors
    /// Says what is wrong, and where.
    pub fn read(text: &str) -> Result<Self, String> {
        if text.len() > LONGEST {
            return Err(format!("a card of {} bytes; at most {LONGEST} are read", text.len()));
        }
        let mut pieces = text.split('+');
        let format = pieces.next().unwrap_or_default();
        if format != FORMAT {
            let (begins, own) = (quoted(format), env!("CARGO_PKG_VERSION"));
            return Err(format!(
                "a card begins with {begins}, not with {FORMAT}; all processes must use Weft {own}"
            ));
        }
        let mut card = Self::default();
        for piece in pieces {
            let mut words = piece.split(',');
            let name = words.next().unwrap_or_default();
            if !is_name(name) {
                return Err(format!("a card names a device {}, which is no name", quoted(name)));
            }
            if card.words(name).is_some() {
                return Err(format!("a card names the device {name} twice"));
            }
            if card.parts.len() == MOST_DEVICES {
                return Err(format!("a card names more than {MOST_DEVICES} devices"));
            }
            let words: Vec<String> = words.take(MOST_WORDS + 1).map(str::to_owned).collect();
            if words.len() > MOST_WORDS {
                return Err(format!("a card has more than {MOST_WORDS} words of the device {name}"));
            }
            if let Some(wrong) = words.iter().find(|word| !is_word(word)) {
                return Err(format!("a card has a word {} of the device {name}", quoted(wrong)));
            }
            card.parts.push((name.to_owned(), words));
        }
        Ok(card)
    }
}

impl fmt::Display for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(FORMAT)?;
        for (name, words) in &self.parts {
            write!(f, "+{name}")?;
            words.iter().try_for_each(|word| write!(f, ",{word}"))?;
        }
        Ok(())
    }
}

impl From<Card> for String {
    fn from(card: Card) -> Self {
        card.to_string()
    }
}

impl TryFrom<String> for Card {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::read(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cards() -> impl Strategy<Value = Card> {
        let word = "[!-*.-~-]{1,40}";
        let words = proptest::collection::vec(word, 0..6);
        proptest::collection::btree_map("[a-z0-9-]{1,32}", words, 0..6usize)
            .prop_map(|parts| Card { parts: parts.into_iter().collect() })
    }

    proptest! {
        #[test]
        fn a_card_is_read_as_it_was_written(card in cards()) {
            let text = card.to_string();
            prop_assert_eq!(Card::read(&text), Ok(card.clone()));
            prop_assert!(text.bytes().all(|byte| byte.is_ascii_graphic()));
            let json = serde_json::to_string(&card).unwrap();
            prop_assert_eq!(serde_json::from_str::<Card>(&json).unwrap(), card);
        }

        #[test]
        fn what_is_read_is_within_bounds(text in "weft1(\\+[a-z ,+é]{0,40}){0,20}|.{0,80}") {
            if let Ok(card) = Card::read(&text) {
                prop_assert_eq!(card.to_string(), text);
                prop_assert!(card.devices().count() <= MOST_DEVICES);
            }
        }

        #[test]
        fn a_shortened_card_keeps_first_words(card in cards(), bytes in 5..400usize) {
            let mut short = card.clone();
            short.shorten(bytes);
            let is_least = short.parts.iter().all(|(_, words)| words.len() < 2);
            prop_assert!(short.to_string().len() <= bytes || is_least);
            for ((name, words), (whole, all)) in short.parts.iter().zip(&card.parts) {
                prop_assert_eq!(name, whole);
                prop_assert!(all.starts_with(words) && (words.is_empty() == all.is_empty()));
            }
        }
    }

    #[test]
    fn what_is_no_card_is_refused_with_what_is_wrong() {
        let many = format!("weft1{}", "+a".repeat(2));
        let words = format!("weft1+tcp{}", ",w".repeat(MOST_WORDS + 1));
        let devices: String = (0..=MOST_DEVICES).map(|number| format!("+d{number}")).collect();
        let devices = format!("weft1{devices}");
        let long = format!("weft1+tcp,{}", "w".repeat(LONGEST));
        let cases = [
            ("", "begins with \"\""),
            ("weft2+tcp", "begins with \"weft2\""),
            ("weft1 +tcp", "begins with \"weft1 \""),
            ("weft1+", "a device \"\""),
            ("weft1+TCP", "a device \"TCP\""),
            ("weft1+tcp,", "a word \"\" of the device tcp"),
            ("weft1+tcp,a b", "a word \"a b\" of the device tcp"),
            ("weft1+tcp,ä", "a word \"ä\" of the device tcp"),
            (&many, "the device a twice"),
            (&words, "more than 256 words of the device tcp"),
            (&devices, "more than 16 devices"),
            (&long, "a card of 16394 bytes"),
        ];
        for (text, wrong) in cases {
            let error = Card::read(text).unwrap_err();
            assert!(error.contains(wrong), "{error}");
            let error = serde_json::from_str::<Card>(&format!("{text:?}"));
            assert!(text.contains('ä') || error.is_err(), "{text}");
        }
        // A report stays short, however long the nonsense is.
        assert!(Card::read(&"é".repeat(4000)).unwrap_err().len() < 300);
    }

    #[test]
    fn a_card_is_made_within_bounds() {
        let words: Vec<String> = (0..5000).map(|number| format!("10.0.0.1:{number}")).collect();
        let card = Card::of(vec![("tcp", words.clone()), ("segment", Vec::new())]);
        assert_eq!(Card::read(&card.to_string()), Ok(card.clone()));
        assert!(words.starts_with(card.words("tcp").unwrap()));
        assert_eq!(card.words("segment"), Some(&[][..]));
        assert_eq!(card.words("other"), None);
    }
}
