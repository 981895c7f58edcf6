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
    /// Returns the operation that is complete when it is sent.
    pub fn operation(&self) -> Option<(Reference, Envelope)> {
        match self {
            Self::Eager { operation, envelope, .. } => Some((*operation, *envelope)),
            Self::Described { operation, .. } => *operation,
            Self::Header(_) | Self::Stream(_) => None,
        }
    }
}

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
    /// Returns what comes first.
    pub fn first(&self) -> Option<Post> {
        self.backlog.posts.lock().front().cloned()
    }

    /// Notes how far the first has got; returns whether that is further than before.
    pub fn put_back(&self, post: Post) -> bool {
        let mut posts = self.backlog.posts.lock();
        let Some(first) = posts.front_mut() else { return false };
        let moved = matches!((&*first, &post), (Post::Stream(a), Post::Stream(b)) if a.offset != b.offset);
        *first = post;
        moved
    }

    /// Takes the first out, which is sent.
    pub fn pop(&self) {
        self.backlog.posts.lock().pop_front();
        self.backlog.length.fetch_sub(1, Ordering::Release);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.backlog.is_busy.store(false, Ordering::Release);
    }
}
