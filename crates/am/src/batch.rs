//! Several told messages in one: each is a word that says how long it is, its words, and its data, which is filled up to whole words.

use weft_post::MOST_WORDS;

/// A message that is told.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// What its service understands: at most seven words, one of which may be 0 where there is nothing to say.
    pub words: &'a [u64],
    /// Its data.
    pub data: &'a [u8],
}

/// How many bits of the first word say what of the message: its first word, how many others it has, the bytes of its data.
const FIRST: u32 = 32;
const COUNT: u32 = 8;

/// The longest data of a message in a batch.
pub const LONGEST: usize = 1 << (64 - FIRST - COUNT - 1);

/// Returns how long a message becomes.
pub fn length(words: usize, bytes: usize) -> usize {
    8 * (1 + words) + bytes.next_multiple_of(8)
}

/// Adds a message of the first word `first`.
///
/// # Panics
/// If it has too many words, or its data is too long.
pub fn add(batch: &mut Vec<u8>, first: u32, words: &[u64], data: &[u8]) {
    assert!(words.len() <= MOST_WORDS && data.len() <= LONGEST, "a message that fits");
    let head = u64::from(first) | (words.len() as u64) << FIRST | (data.len() as u64) << (FIRST + COUNT);
    batch.extend_from_slice(&head.to_le_bytes());
    words.iter().for_each(|word| batch.extend_from_slice(&word.to_le_bytes()));
    batch.extend_from_slice(data);
    batch.resize(batch.len().next_multiple_of(8), 0);
}

/// Passes each message with its first word to `hear`, until that fails. Returns nothing if there is something else.
pub fn each<E>(
    mut batch: &[u8],
    mut hear: impl FnMut(u32, Message<'_>) -> Result<(), E>,
) -> Option<Result<(), E>> {
    let long = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    while !batch.is_empty() {
        let (head, rest) = batch.split_at_checked(8)?;
        let head = long(head);
        let (count, bytes) = ((head >> FIRST) as u8 as usize, (head >> (FIRST + COUNT)) as usize);
        let (written, rest) = rest.split_at_checked(8 * count)?;
        let (data, _) = rest.split_at_checked(bytes)?;
        batch = rest.get(bytes.next_multiple_of(8)..)?;
        let mut words = [0; MOST_WORDS];
        let words = words.get_mut(..count)?;
        words.iter_mut().zip(written.chunks_exact(8)).for_each(|(word, bytes)| *word = long(bytes));
        if let Err(error) = hear(head as u32, Message { words, data }) {
            return Some(Err(error));
        }
    }
    Some(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_added() {
        let messages: [(u32, &[u64], &[u8]); 4] = [
            (7, &[], b""),
            (u32::MAX, &[1, u64::MAX], b"abc"),
            (0, &[0; MOST_WORDS], b"12345678"),
            (9, &[5], b"x"),
        ];
        let mut batch = Vec::new();
        for (number, &(first, words, data)) in messages.iter().enumerate() {
            let before = batch.len();
            add(&mut batch, first, words, data);
            assert_eq!(batch.len() - before, length(words.len(), data.len()), "message {number}");
        }
        let mut heard = Vec::new();
        let end = each(&batch, |first, Message { words, data }| {
            heard.push((first, words.to_vec(), data.to_vec()));
            Ok::<(), ()>(())
        });
        assert_eq!(end, Some(Ok(())));
        assert!(heard.iter().zip(messages).all(|(a, b)| (a.0, &a.1[..], &a.2[..]) == b) && heard.len() == 4);
        let mut calls = 0;
        let stop = each(&batch, |_, _| {
            calls += 1;
            if calls == 2 { Err("enough") } else { Ok(()) }
        });
        assert_eq!((stop, calls), (Some(Err("enough")), 2));
    }

    #[test]
    fn what_is_no_batch_is_refused() {
        let mut batch = Vec::new();
        add(&mut batch, 7, &[1, 2], b"data of a message");
        for length in (1..batch.len()).filter(|length| *length != batch.len()) {
            assert_eq!(each(&batch[..length], |_, _| Ok::<(), ()>(())), None, "{length} bytes");
        }
        let too_many_words = (8u64 << FIRST).to_le_bytes();
        let much = [&too_many_words[..], &[0; 64]].concat();
        assert_eq!(each(&much, |_, _| Ok::<(), ()>(())), None);
    }
}
