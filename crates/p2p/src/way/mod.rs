//! Which way a message takes: a table of bounds, and one function that chooses.
//!
//! [`choose`] looks at what is sent ([`Message`]), at the bounds of the job ([`Limits`]) and at what is known of the receiver
//! ([`State`]), and returns a [`Way`]. It changes nothing and reads nothing else, so [`table`] and the tests ask it as the engine
//! does. The engine asks up to twice: before it has the lock of the receiver, and under that lock; between node processes once.
//! Each state is a type of its own, so what cannot happen there costs nothing.
//!
//! | way | between | data is copied |
//! | --- | --- | --- |
//! | [`Way::Ring`] | ranks of a node process on different workers | twice: into slots and out of them |
//! | [`Way::Offer`] | the same | once, by the receiver; from [`HELPED_FROM`] on the sender copies the tail |
//! | [`Way::Direct`] | ranks of a node process | once, by the sender; of a long message by both |
//! | [`Way::Copy`] | the same | twice: into memory of the library and out of it |
//! | [`Way::Reference`] | the same | once, by the receiver; of a long message by both |
//! | [`Way::Eager`], [`Way::Answer`] | node processes | as the device does it |
//! | [`Way::Request`] | the same | read by the receiver, or streamed by the sender into the receiver's buffer |

use weft_base::settings::{self, Bytes, Setting};
use weft_local::{LONGEST, PAYLOAD};
use weft_transport::MOST_ANSWER;

/// Bounds of the protocols, the same for all ranks of a job.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The longest message, in bytes, that is copied when no receive is posted for it.
    pub eager: u64,
    /// How many bytes of unexpected messages a rank keeps before senders must wait.
    pub unexpected: u64,
    /// How many rings may lead to one rank.
    pub rings: usize,
    /// How many times a waiting thread looks before it parks, where spinning is sensible.
    pub spins: u32,
    /// From which length on, in bytes, both sides copy a message.
    pub share_from: u64,
}

/// The settings of the job.
impl Default for Limits {
    fn default() -> Self {
        Self::of(Setting::get)
    }
}

impl Limits {
    /// Makes the bounds of what the settings are.
    pub fn of(value: impl Fn(&'static Setting) -> u64) -> Self {
        // What goes through a ring is not checked.
        let rings = if value(&settings::CHECK) != 0 { 0 } else { value(&settings::RINGS) };
        Self {
            eager: value(&settings::EAGER),
            unexpected: value(&settings::UNEXPECTED),
            rings: rings as usize,
            spins: value(&settings::SPINS) as u32,
            share_from: value(&settings::SHARE_FROM),
        }
    }
}

/// The longest message that goes through a ring in one slot.
pub const SLOT: u64 = PAYLOAD as u64;

/// The longest message that goes through a ring in several slots, if it is eager.
pub const SLOTS: u64 = LONGEST as u64;

/// The longest such message of a send that does not wait. A stream of longer ones mostly finds receives posted, and then one
/// copy under the lock is quicker than two: of 512 bytes a message takes 280 ns by the ring and 359 by the lock, of 1 KiB 368 and 300.
pub const SLOTS_UNAWAITED: u64 = 512;

/// The length of one block from which it is not offered: up to there two parts fixed in advance, and no lock, are quicker
/// than pieces that both sides take as they come.
pub const BLOCKS_BELOW: u64 = 160 << 10;

/// The shortest offer whose sender is invited to help; of 16 KiB, unchanged, help costs more than it saves.
pub const HELPED_FROM: u64 = 24 << 10;

/// How many times longer than between ranks of a node process a message may be that goes eagerly, if its device takes it. To
/// ask first costs two messages: between hosts each of them costs both sides what copying 20 KiB does. Through the segment of a
/// host 64 KiB take 2.0 us eagerly and 2.7 us when asked for, a stream of them 1.6 and 3.0 us a message; if nobody waits for
/// them, which costs a copy more, 2.7 and 2.9. With 256 KiB that copy would be too dear: 7.5 and 6.5 us.
pub const APART: u64 = 16;

/// The longest message that goes as an answer.
pub const ANSWERED: u64 = MOST_ANSWER as u64;

impl Limits {
    /// Returns the longest message that goes eagerly to another node process whose device takes `most` bytes at once.
    #[inline]
    pub fn eager_apart(&self, most: u64) -> u64 {
        self.eager.saturating_mul(APART).min(most)
    }

    /// Returns the longest message that goes through a ring.
    #[inline]
    pub fn ringed(&self) -> u64 {
        SLOTS.min(self.eager).max(SLOT)
    }

    /// Returns from which length on a message that is one block, or not, is not offered.
    #[inline]
    pub fn offered_below(&self, dense: bool) -> u64 {
        if dense { BLOCKS_BELOW.max(self.share_from) } else { self.share_from }
    }
}

/// The mode of a send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// `MPI_Send`; also `MPI_Rsend`, whose promise needs no use to be kept, and `MPI_Bsend`, of the copy it has made.
    Standard,
    /// `MPI_Ssend`: complete only when the receive has started.
    Synchronous,
}

/// What becomes of a message whose data cannot leave the sender's buffer at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// The calling thread would wait for its end (`MPI_Send`), and may offer the data meanwhile.
    Waits,
    /// There is no operation yet that could outlive the call; the caller makes one and asks again.
    Tries,
    /// It is an operation that completes later.
    Starts,
}

/// What is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// The length.
    pub bytes: u64,
    /// Whether the data is one block in the sender's memory.
    pub dense: bool,
    /// The mode.
    pub mode: Mode,
    /// What the caller can do.
    pub call: Call,
}

impl Message {
    /// Tells whether it would fit a ring.
    #[inline(always)]
    fn fits_ring(&self, limits: &Limits) -> bool {
        self.dense
            && self.is_of_ring_length(limits)
            && (self.bytes <= SLOTS_UNAWAITED || self.call == Call::Waits)
    }

    /// Tells whether its length is one that goes through a ring.
    #[inline(always)]
    fn is_of_ring_length(&self, limits: &Limits) -> bool {
        // One comparison for the shortest.
        self.bytes <= SLOT || self.bytes <= limits.ringed()
    }

    /// Tells whether its length is one of those that are offered.
    #[inline(always)]
    fn is_of_offered_length(&self, limits: &Limits) -> bool {
        self.bytes > limits.eager && self.bytes < limits.offered_below(self.dense)
    }

    /// Tells whether a ring is of use for it or for others as long: whoever sends many such, gets one.
    #[inline(always)]
    pub fn is_worth_ring(&self, limits: &Limits) -> bool {
        self.is_of_ring_length(limits) || self.is_of_offered_length(limits)
    }

    /// Tells whether it may be complete without an operation, so that it is worth to try that first.
    #[inline(always)]
    pub fn may_end_at_once(&self, limits: &Limits, is_here: impl FnOnce() -> bool) -> bool {
        self.mode == Mode::Standard && (self.bytes <= limits.eager || !is_here())
    }
}

/// Where the receiver is, and what is known of the receive for a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Receiver<R> {
    /// In this node process; the lock of its endpoint tells more.
    Here,
    /// In this node process, with a posted receive, which has left matching for this message.
    Posted(R),
    /// In this node process, without one.
    Missing,
    /// In another node process.
    Apart,
}

/// What is known of the receiver and of what leads there. Each question is asked once at most, and only if the answer matters.
/// Where a kind of receiver makes a question senseless, the answer is the one given here.
pub trait State {
    /// What leads to the receiver.
    type Ring;
    /// A posted receive.
    type Receive;

    /// Returns the ring that leads there, if there is one and nobody sleeps at its end: who sleeps is better served by the
    /// lock, which hands over the data and wakes the sleeper.
    fn ring(&self) -> Option<Self::Ring> {
        None
    }

    /// Tells whether the sender may look for a while whether its offer is taken, and no receive seems to be posted: the lock
    /// would serve that at once.
    fn invites_offers(&self) -> bool {
        false
    }

    /// Tells whether the receiver has room for messages that nobody receives yet.
    fn has_room(&self) -> bool {
        false
    }

    /// Returns the longest message that goes eagerly to the node process of the receiver.
    fn eager(&self) -> u64 {
        0
    }

    /// Tells whether longer ones may go there as answers.
    fn takes_answers(&self) -> bool {
        false
    }

    /// Takes credit for so many bytes, if there is enough.
    fn takes_credit(&self, _bytes: u64) -> bool {
        false
    }

    /// Tells where the receiver is.
    fn receiver(&self) -> Receiver<Self::Receive>;
}

/// How a message gets to its receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way<Ring = (), R = ()> {
    /// Through the private ring of the pair, envelope and data in one cache line.
    Ring(Ring),
    /// The private ring says where the data is, and the sender looks whether the receiver has taken it.
    Offer(Ring),
    /// The lock of the receiver tells more.
    Lock,
    /// From buffer to buffer, by the sender.
    Direct(R),
    /// In memory of the library, until a receive asks for it.
    Copy,
    /// The receiver finds where the data is, when it posts its receive, and copies it.
    Reference,
    /// Header and data at once, with credit for memory of the receiver.
    Eager,
    /// As `Eager`, though it is longer, in the memory that has brought the message that this one answers.
    Answer,
    /// The envelope alone; the receiver reads the data, or asks for it.
    Request,
    /// None, without an operation that outlives the call.
    Later,
}

/// Chooses the way of a message; see the module's page.
#[inline(always)]
pub fn choose<S: State>(message: &Message, limits: &Limits, state: S) -> Way<S::Ring, S::Receive> {
    let is_standard = message.mode == Mode::Standard;
    match state.receiver() {
        Receiver::Here if message.fits_ring(limits) && is_standard => match state.ring() {
            Some(ring) if message.call != Call::Starts => Way::Ring(ring),
            _ => Way::Lock,
        },
        Receiver::Here if message.call == Call::Waits && message.is_of_offered_length(limits) => {
            match state.ring() {
                Some(ring) if state.invites_offers() => Way::Offer(ring),
                _ => Way::Lock,
            }
        }
        Receiver::Here => Way::Lock,
        Receiver::Posted(receive) => Way::Direct(receive),
        Receiver::Missing if is_standard && message.bytes <= limits.eager && state.has_room() => Way::Copy,
        Receiver::Missing => {
            if message.call == Call::Starts {
                Way::Reference
            } else {
                Way::Later
            }
        }
        Receiver::Apart => {
            let is_short = message.bytes <= state.eager();
            let may_answer = || {
                message.call == Call::Waits
                    && message.dense
                    && message.bytes <= ANSWERED
                    && state.takes_answers()
            };
            if is_standard && (is_short || may_answer()) && state.takes_credit(message.bytes) {
                if is_short { Way::Eager } else { Way::Answer }
            } else if message.call == Call::Starts {
                Way::Request
            } else {
                Way::Later
            }
        }
    }
}

/// Who copies the data of a message once both buffers are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hands {
    /// Who has matched it.
    One,
    /// That side, and the other one if it waits for the message: piece by piece, from both ends.
    Both,
    /// The receiver; the tail is the sender's if that looks in time.
    Invited,
}

/// Chooses who copies `bytes` bytes; `is_divisible` tells whether parts of them can be copied by themselves.
#[inline(always)]
pub fn hands(bytes: u64, share_from: u64, is_divisible: impl FnOnce() -> bool) -> Hands {
    if bytes >= share_from && is_divisible() { Hands::Both } else { Hands::One }
}

/// As [`hands`], for an offer that a ring has brought: `is_block` tells whether both sides are one block with room for all of
/// it, and `is_sender_free` whether its sender does nothing but look.
#[inline(always)]
pub fn hands_of_offer(bytes: u64, share_from: u64, is_block: bool, is_sender_free: bool) -> Hands {
    if is_sender_free && is_block && bytes >= HELPED_FROM {
        return Hands::Invited;
    }
    hands(bytes, share_from, || true)
}

/// Two ranks, as the table has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Between {
    /// Ranks of one node process, which are threads.
    Threads,
    /// Node processes of one host.
    Processes,
    /// Node processes of different hosts.
    Hosts,
}

/// What a device does between two node processes.
#[derive(Clone, Debug)]
pub struct Carrier {
    /// Where it is.
    pub between: Between,
    /// Which numbers of node processes it does that for, in words; empty for all.
    pub nodes: String,
    /// The longest payload that it takes at once.
    pub eager: u64,
    /// Whether it takes answers.
    pub answers: bool,
    /// Whether it can read a peer's memory, in words; empty if never.
    pub reads: &'static str,
}

/// A row of the table: a way, the lengths that can go it, and when they do.
#[derive(Clone, Debug)]
pub struct Row {
    /// Who.
    pub between: Between,
    /// For which numbers of node processes, in words; empty for all.
    pub nodes: String,
    /// The way.
    pub way: Way,
    /// The shortest message, in bytes.
    pub from: u64,
    /// The longest; none if there is no bound.
    pub to: Option<u64>,
    /// When a message of such a length goes this way, and how it is copied.
    pub when: String,
}

impl Way {
    /// Returns the name of the way.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ring(()) => "ring",
            Self::Offer(()) => "offer",
            Self::Lock => "lock",
            Self::Direct(()) => "direct",
            Self::Copy => "copy",
            Self::Reference => "reference",
            Self::Eager => "eager",
            Self::Answer => "answer",
            Self::Request => "request",
            Self::Later => "later",
        }
    }
}

/// Lists the ways under these bounds, in the order in which they are tried.
pub fn table(limits: &Limits, carriers: &[Carrier]) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |way, from: u64, to: Option<u64>, when: String| {
        if to.is_none_or(|to| from <= to) {
            rows.push(Row { between: Between::Threads, nodes: String::new(), way, from, to, when });
        }
    };
    let share = Bytes(limits.share_from);
    if limits.rings > 0 {
        let when = format!(
            "one block, to a rank on another worker to which much is sent; above {SLOTS_UNAWAITED} only MPI_Send and the like"
        );
        add(Way::Ring(()), 0, Some(limits.ringed()), when);
        for (dense, what) in [(true, "one block"), (false, "with gaps")] {
            let helped = Bytes(HELPED_FROM.max(limits.eager + 1));
            let hands = match dense {
                true => format!("; from {helped} on the sender copies the tail"),
                false => String::new(),
            };
            let when =
                format!("{what}, MPI_Send and the like, where a ring leads and no receive is posted{hands}");
            add(Way::Offer(()), limits.eager + 1, Some(limits.offered_below(dense) - 1), when);
        }
    }
    let both = format!("; from {share} on both sides copy");
    add(Way::Direct(()), 0, None, format!("a receive is posted{both}"));
    if limits.unexpected > 0 {
        let room = Bytes(limits.unexpected);
        let when =
            format!("no receive is posted, and of the receiver's {room} for such messages some are left");
        add(Way::Copy, 0, Some(limits.eager), when);
    }
    add(Way::Reference, 0, None, format!("otherwise; the receiver copies{both}"));
    for carrier in carriers {
        let mut add = |way, from, to: Option<u64>, when: String| {
            if to.is_none_or(|to| from <= to) {
                let (between, nodes) = (carrier.between, carrier.nodes.clone());
                rows.push(Row { between, nodes, way, from, to, when });
            }
        };
        let eager = limits.eager_apart(carrier.eager);
        add(Way::Eager, 0, Some(eager), "there is credit for memory of the receiver".into());
        if carrier.answers && takes_answers(limits, carrier.eager) {
            let when = "one block, MPI_Send and the like, after a message from there";
            add(Way::Answer, eager + 1, Some(ANSWERED), when.into());
        }
        let how = match carrier.reads {
            "" => "the receiver asks for the data".into(),
            reads => format!("the receiver reads the data {reads}, else asks for them"),
        };
        add(Way::Request, 0, None, format!("otherwise; {how}"));
    }
    rows
}

/// Tells whether a node process takes answers whose device takes `most` bytes at once: not if less was wished for.
#[inline]
pub fn takes_answers(limits: &Limits, most: u64) -> bool {
    limits.eager.saturating_mul(APART) >= most
}

#[cfg(test)]
mod tests;
