use super::*;

/// All that may be known of a receiver.
#[derive(Clone, Copy, Debug)]
struct Known {
    receiver: Receiver<()>,
    has_ring: bool,
    invites_offers: bool,
    has_room: bool,
    eager: u64,
    takes_answers: bool,
    has_credit: bool,
}

impl State for Known {
    type Ring = ();
    type Receive = ();

    fn ring(&self) -> Option<()> {
        self.has_ring.then_some(())
    }
    fn invites_offers(&self) -> bool {
        self.invites_offers
    }
    fn has_room(&self) -> bool {
        self.has_room
    }
    fn eager(&self) -> u64 {
        self.eager
    }
    fn takes_answers(&self) -> bool {
        self.takes_answers
    }
    fn takes_credit(&self, _bytes: u64) -> bool {
        self.has_credit
    }
    fn receiver(&self) -> Receiver<()> {
        self.receiver
    }
}

const LIMITS: Limits =
    Limits { eager: 4096, unexpected: 1 << 20, rings: 16, spins: 100, share_from: 48 << 10 };

/// Everything is as a message would have it.
const GOOD: Known = Known {
    receiver: Receiver::Here,
    has_ring: true,
    invites_offers: true,
    has_room: true,
    eager: 64 << 10,
    takes_answers: true,
    has_credit: true,
};

const fn sent(bytes: u64) -> Message {
    Message { bytes, dense: true, mode: Mode::Standard, call: Call::Waits }
}

fn gaps(bytes: u64) -> Message {
    Message { dense: false, ..sent(bytes) }
}

fn ssend(bytes: u64) -> Message {
    Message { mode: Mode::Synchronous, ..sent(bytes) }
}

fn tried(bytes: u64) -> Message {
    Message { call: Call::Tries, ..sent(bytes) }
}

fn started(bytes: u64) -> Message {
    Message { call: Call::Starts, ..sent(bytes) }
}

fn way(message: Message, known: Known) -> Way {
    choose(&message, &LIMITS, known)
}

#[test]
fn before_the_lock_a_ring_carries_what_is_short_and_offers_what_is_of_medium_length() {
    let no_ring = Known { has_ring: false, ..GOOD };
    let busy = Known { invites_offers: false, ..GOOD };
    for (message, known, expected) in [
        (sent(0), GOOD, Way::Ring(())),
        (sent(40), GOOD, Way::Ring(())),
        (sent(40), busy, Way::Ring(())),
        (tried(40), GOOD, Way::Ring(())),
        (sent(41), GOOD, Way::Ring(())),
        (sent(1024), GOOD, Way::Ring(())),
        (tried(512), GOOD, Way::Ring(())),
        (tried(513), GOOD, Way::Lock),
        (sent(1025), GOOD, Way::Lock),
        (sent(40), no_ring, Way::Lock),
        (gaps(8), GOOD, Way::Lock),
        (ssend(8), GOOD, Way::Lock),
        (started(8), GOOD, Way::Lock),
        (sent(4096), GOOD, Way::Lock),
        (sent(4097), GOOD, Way::Offer(())),
        (ssend(4097), GOOD, Way::Offer(())),
        (sent((160 << 10) - 1), GOOD, Way::Offer(())),
        (sent(160 << 10), GOOD, Way::Lock),
        (gaps((48 << 10) - 1), GOOD, Way::Offer(())),
        (gaps(48 << 10), GOOD, Way::Lock),
        (sent(4097), no_ring, Way::Lock),
        (sent(4097), busy, Way::Lock),
        (tried(4097), GOOD, Way::Lock),
        (started(4097), GOOD, Way::Lock),
    ] {
        assert_eq!(way(message, known), expected, "{message:?} {known:?}");
    }
}

#[test]
fn what_is_not_eager_goes_through_no_ring_in_several_slots() {
    for (eager, bytes, expected) in [
        (0, 40, Way::Ring(())),
        (0, 41, Way::Offer(())),
        (100, 100, Way::Ring(())),
        (100, 101, Way::Offer(())),
    ] {
        let limits = Limits { eager, ..LIMITS };
        assert_eq!(choose(&sent(bytes), &limits, GOOD), expected, "{eager} {bytes}");
    }
}

#[test]
fn under_the_lock_a_posted_receive_goes_first_and_copies_are_bounded() {
    let posted = Known { receiver: Receiver::Posted(()), ..GOOD };
    let missing = Known { receiver: Receiver::Missing, ..GOOD };
    let full = Known { has_room: false, ..missing };
    for (message, known, expected) in [
        (sent(0), posted, Way::Direct(())),
        (ssend(8), posted, Way::Direct(())),
        (started(1 << 30), posted, Way::Direct(())),
        (tried(4096), missing, Way::Copy),
        (started(4096), missing, Way::Copy),
        (gaps(4096), missing, Way::Copy),
        (tried(4097), missing, Way::Later),
        (started(4097), missing, Way::Reference),
        (tried(8), full, Way::Later),
        (started(8), full, Way::Reference),
        (Message { call: Call::Tries, ..ssend(8) }, missing, Way::Later),
        (Message { call: Call::Starts, ..ssend(8) }, missing, Way::Reference),
    ] {
        assert_eq!(way(message, known), expected, "{message:?} {known:?}");
    }
}

#[test]
fn between_node_processes_credit_and_the_device_decide() {
    let apart = Known { receiver: Receiver::Apart, ..GOOD };
    let broke = Known { has_credit: false, ..apart };
    let plain = Known { takes_answers: false, ..apart };
    let longest = 64 << 10;
    for (message, known, expected) in [
        (sent(0), apart, Way::Eager),
        (tried(longest), apart, Way::Eager),
        (started(longest), apart, Way::Eager),
        (gaps(longest), apart, Way::Eager),
        (sent(longest), broke, Way::Later),
        (started(8), broke, Way::Request),
        (sent(longest + 1), apart, Way::Answer),
        (sent(512 << 10), apart, Way::Answer),
        (sent((512 << 10) + 1), apart, Way::Later),
        (sent(longest + 1), plain, Way::Later),
        (sent(longest + 1), broke, Way::Later),
        (gaps(longest + 1), apart, Way::Later),
        (tried(longest + 1), apart, Way::Later),
        (started(longest + 1), apart, Way::Request),
        (ssend(8), apart, Way::Later),
        (Message { call: Call::Starts, ..ssend(8) }, apart, Way::Request),
    ] {
        assert_eq!(way(message, known), expected, "{message:?} {known:?}");
    }
}

#[test]
fn both_sides_copy_what_is_long_and_can_be_divided() {
    let share = 48 << 10;
    for (bytes, is_divisible, expected) in [
        (0, true, Hands::One),
        (share - 1, true, Hands::One),
        (share, true, Hands::Both),
        (share, false, Hands::One),
    ] {
        assert_eq!(hands(bytes, share, || is_divisible), expected, "{bytes} {is_divisible}");
    }
    for (bytes, is_block, is_free, expected) in [
        ((24 << 10) - 1, true, true, Hands::One),
        (24 << 10, true, true, Hands::Invited),
        (24 << 10, false, true, Hands::One),
        (24 << 10, true, false, Hands::One),
        (share, true, true, Hands::Invited),
        (share, true, false, Hands::Both),
        (share, false, true, Hands::Both),
    ] {
        assert_eq!(hands_of_offer(bytes, share, is_block, is_free), expected, "{bytes} {is_block} {is_free}");
    }
}

fn carriers() -> Vec<Carrier> {
    let segment = Carrier {
        between: Between::Processes,
        nodes: "2 to 8".into(),
        eager: 64 << 10,
        answers: true,
        reads: "where the kernel lets it",
    };
    let tcp =
        Carrier { between: Between::Hosts, nodes: String::new(), eager: 32 << 10, answers: false, reads: "" };
    vec![segment, tcp]
}

/// The table says neither more nor less than what is chosen: for each state and length there is a row, and each row's first and
/// last length goes its way in some state.
#[test]
fn the_table_agrees_with_the_choice() {
    for limits in [
        LIMITS,
        Limits { eager: 0, ..LIMITS },
        Limits { eager: 1 << 20, ..LIMITS },
        Limits { rings: 0, share_from: 8 << 10, ..LIMITS },
        Limits { eager: 1000, unexpected: 0, share_from: 1 << 30, ..LIMITS },
    ] {
        let rows = table(&limits, &carriers());
        let mut lengths: Vec<u64> =
            rows.iter().flat_map(|row| [Some(row.from), row.to, row.to.map(|to| to + 1)]).flatten().collect();
        lengths.extend([1, 8, 41, 5000, 1 << 40]);
        let mut used = vec![[false; 2]; rows.len()];
        for &bytes in &lengths {
            for bits in 0..1u32 << 8 {
                let bit = |n: u32| bits >> n & 1 == 1;
                let mode = if bit(0) { Mode::Synchronous } else { Mode::Standard };
                let call = match (bit(6), bit(7)) {
                    (false, false) => Call::Waits,
                    (true, false) => Call::Tries,
                    _ => Call::Starts,
                };
                for (between, receiver) in [
                    (Between::Threads, Receiver::Here),
                    (Between::Threads, Receiver::Posted(())),
                    (Between::Threads, Receiver::Missing),
                    (Between::Processes, Receiver::Apart),
                    (Between::Hosts, Receiver::Apart),
                ] {
                    let carrier = carriers().into_iter().find(|carrier| carrier.between == between);
                    let most = carrier.as_ref().map_or(0, |carrier| carrier.eager);
                    let known = Known {
                        receiver,
                        has_ring: bit(1) && limits.rings > 0,
                        invites_offers: bit(2),
                        has_room: bit(3) && limits.unexpected > 0,
                        eager: limits.eager_apart(most),
                        takes_answers: carrier.is_some_and(|carrier| carrier.answers)
                            && takes_answers(&limits, most),
                        has_credit: bit(4),
                    };
                    let message = Message { bytes, dense: bit(5), mode, call };
                    let way = choose(&message, &limits, known);
                    if matches!(way, Way::Lock | Way::Later) {
                        continue;
                    }
                    let mut found = false;
                    for (row, used) in rows.iter().zip(&mut used) {
                        let fits = row.from <= bytes && row.to.is_none_or(|to| bytes <= to);
                        if row.between == between && row.way == way && fits {
                            found = true;
                            used[0] |= bytes == row.from;
                            used[1] |= row.to.is_none_or(|to| bytes == to);
                        }
                    }
                    assert!(found, "no row for {message:?} {known:?}: {way:?}");
                }
            }
        }
        for (row, used) in rows.iter().zip(used) {
            assert_eq!(used, [true, true], "{row:?} with {limits:?}");
        }
    }
}
