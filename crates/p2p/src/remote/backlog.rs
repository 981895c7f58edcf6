//! What waits for room in a device, by peer, in order.

use super::frame::Encoded;
use crate::endpoint::Reference;
use crate::matching::Envelope;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use weft_sync::Lock;

/// Data of a send that was asked for.
#[derive(Clone, Copy)]
pub(super) struct Stream {
    /// The send.
    pub send: u64,
    /// The receive at the peer.
    pub receive: u64,
    /// How much of the data is wanted.
    pub bytes: u64,
    /// Whether it must come in pieces.
    pub pieces: bool,
    /// How much is sent.
    pub offset: u64,
}

/// Something to be sent.
#[derive(Clone)]
pub(super) enum Post {
    /// A header without data.
    Header(Encoded),
    /// A short message whose data is still the sender's.
    Eager { header: Encoded, operation: Reference, envelope: Envelope },
    /// A short message, or the request of a long one, with what checking mode says of it in front; the short one's operation is
    /// complete when it is sent.
    Described { header: Encoded, payload: Arc<[u8]>, operation: Option<(Reference, Envelope)> },
    /// A long one.
    Stream(Stream),
}

impl Post {
    /// Returns the length of a short message that can be sent from where it is.
    fn bytes_in_place(&self) -> Option<u64> {
        match self {
            Self::Eager { operation, .. } => {
                let data = operation.get().buffer();
                data.dense.then_some(data.bytes)
            }
            _ => None,
        }
    }

    /// Returns the operation that is complete when it is sent.
    pub fn operation(&self) -> Option<(Reference, Envelope)> {
        match self {
            Self::Eager { operation, envelope, .. } => Some((*operation, *envelope)),
            Self::Described { operation, .. } => *operation,
            Self::Header(_) | Self::Stream(_) => None,
        }
    }
}

/// How many short messages are sent at once, and how many bytes of them: so that a call of the kernel does not take longer than
/// what others may have to wait for.
const AT_ONCE: usize = 16;
const BYTES_AT_ONCE: u64 = 1 << 20;

/// What waits to be sent to a peer.
#[derive(Default)]
pub(super) struct Backlog {
    /// How many posts wait, or are being sent. Zero only when those before are handed to the device, so who finds it so
    /// overtakes nothing.
    length: AtomicUsize,
    posts: Lock<VecDeque<Post>>,
    is_busy: AtomicBool,
}

impl Backlog {
    /// Tells whether everything before is sent.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length.load(Ordering::Acquire) == 0
    }

    /// Adds something.
    pub fn push(&self, post: Post) {
        let mut posts = self.posts.lock();
        self.length.fetch_add(1, Ordering::SeqCst);
        posts.push_back(post);
    }

    /// Becomes the one who sends, if nobody else is.
    pub fn turn(&self) -> Option<Turn<'_>> {
        let free = !self.is_busy.swap(true, Ordering::Acquire);
        free.then(|| Turn { backlog: self })
    }
}

/// The right to send what waits.
pub(super) struct Turn<'a> {
    backlog: &'a Backlog,
}

impl Turn<'_> {
    /// Clones what comes first, if anything, into `posts`, with what follows it as far as all of that are short messages, which
    /// a device may send at once.
    pub fn next(&self, posts: &mut Vec<Post>) {
        let waiting = self.backlog.posts.lock();
        posts.clear();
        posts.extend(waiting.front().cloned());
        let Some(mut bytes) = waiting.front().and_then(Post::bytes_in_place) else { return };
        for post in waiting.iter().take(AT_ONCE).skip(1) {
            let Some(more) = post.bytes_in_place() else { return };
            bytes += more;
            if bytes > BYTES_AT_ONCE {
                return;
            }
            posts.push(post.clone());
        }
    }

    /// Notes how far the first has got; returns whether that is further than before.
    pub fn put_back(&self, post: Post) -> bool {
        let mut posts = self.backlog.posts.lock();
        let Some(first) = posts.front_mut() else { return false };
        let moved = matches!((&*first, &post), (Post::Stream(a), Post::Stream(b)) if a.offset != b.offset);
        *first = post;
        moved
    }

    /// Takes the first out, which is sent or never will be.
    pub fn pop(&self) -> Option<Post> {
        let first = self.backlog.posts.lock().pop_front();
        if first.is_some() {
            self.backlog.length.fetch_sub(1, Ordering::Release);
        }
        first
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.backlog.is_busy.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::Frame;
    use super::*;
    use crate::operation::{Buffer, Operation};

    #[test]
    #[allow(unsafe_code)]
    fn what_goes_at_once_is_short_and_in_place() {
        let data = vec![0u8; 100_000];
        // SAFETY: the data stays until the end.
        let operation = |bytes| Operation::new(unsafe { Buffer::dense(data.as_ptr().cast_mut(), bytes) });
        let (long, short) = (operation(100_000), operation(10));
        let envelope = Envelope::new(0, 0, 0);
        let header = Frame::Credit.encode();
        let eager = |operation: &Operation| Post::Eager { header, operation: operation.into(), envelope };
        let backlog = Backlog::default();
        let turn = backlog.turn().expect("nobody else is there");
        assert!(backlog.turn().is_none());
        let mut posts = Vec::new();
        let mut counts = |pushed: Vec<Post>| {
            pushed.into_iter().for_each(|post| backlog.push(post));
            let mut counts = Vec::new();
            while !backlog.is_empty() {
                turn.next(&mut posts);
                counts.push(posts.len());
                posts.drain(..).for_each(|_| _ = turn.pop().expect("it waits"));
            }
            turn.next(&mut posts);
            assert!(posts.is_empty() && turn.pop().is_none());
            counts
        };
        assert_eq!(counts((0..40).map(|_| eager(&short)).collect()), [16, 16, 8]);
        assert_eq!(counts((0..12).map(|_| eager(&long)).collect()), [10, 2], "no more than a call may take");
        assert_eq!(counts(vec![Post::Header(header), eager(&short), eager(&long)]), [1, 2]);
        assert_eq!(
            counts(vec![eager(&short), eager(&short), Post::Header(header), eager(&short)]),
            [2, 1, 1]
        );
    }
}
