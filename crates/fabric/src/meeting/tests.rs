//! Meetings within one process: of real devices, and of simulated ones.

use super::*;
use std::sync::Mutex;
use weft_transport::simulator::{Conditions, Network};
use weft_transport::{Arriving, Channel, Handler, Placement};

const SECRET: [u8; 32] = [7; 32];

fn on(hosts: &[u64]) -> Vec<Member> {
    hosts.iter().map(|&host| Member { host, ranks: 1 }).collect()
}

/// Notes who has sent what.
#[derive(Default)]
struct Notes(Mutex<Vec<(Node, Vec<u8>)>>);

impl Handler for Notes {
    fn arrive(&self, message: Arriving<'_>) -> Placement {
        self.0.lock().unwrap().push((message.from, message.header.to_vec()));
        Placement::Taken
    }
    fn placed(&self, _from: Node, _channel: Channel, _token: u64) {}
    fn sent(&self, _to: Node, _channel: Channel, _token: u64) {}
    fn lost(&self, peer: Node, reason: &str) {
        panic!("{peer} is lost: {reason}");
    }
}

/// Lets all send a message to each other, and compares what they get.
fn talk(routes: &[Routes]) {
    let count = routes.len();
    for (from, device) in routes.iter().enumerate() {
        for to in (0..count).filter(|&to| to != from) {
            let header = [from as u8, to as u8];
            device.send(to as Node, Channel::POINT_TO_POINT, &header, &[]).expect("room");
        }
    }
    let notes: Vec<Notes> = routes.iter().map(|_| Notes::default()).collect();
    while notes.iter().any(|notes| notes.0.lock().unwrap().len() + 1 < count) {
        routes.iter().zip(&notes).for_each(|(device, notes)| _ = device.poll(notes));
    }
    for (to, notes) in notes.into_iter().enumerate() {
        let mut heard = notes.0.into_inner().unwrap();
        heard.sort();
        let others = (0..count).filter(|&from| from != to);
        let expected: Vec<_> = others.map(|from| (from as Node, vec![from as u8, to as u8])).collect();
        assert_eq!(heard, expected);
    }
}

/// Lets all join, whose cards travel as text.
fn join(meetings: Vec<Meeting>) -> Vec<Result<Joined>> {
    let mut offers: Vec<Offer> =
        meetings.into_iter().map(|meeting| meeting.offer(None).expect("an offer")).collect();
    let cards: Vec<String> = offers.iter().map(|offer| offer.card().to_string()).collect();
    let mut card_of =
        |node: Node| Card::read(&cards[node as usize]).map_err(|what| Error::new(MPI_ERR_INTERN, what));
    offers.iter_mut().map(|offer| offer.join(&mut card_of, Some(&SECRET))).collect()
}

fn job(hosts: &[u64]) -> Vec<Meeting> {
    (0..hosts.len() as Node).map(|own| Meeting::of_job(own, on(hosts))).collect()
}

#[test]
fn the_node_processes_of_a_job_reach_each_other() {
    for hosts in [&[1, 1, 1][..], &[1, 2], &[1, 2, 1, 3, 2]] {
        let routes: Vec<Routes> = join(job(hosts))
            .into_iter()
            .map(|joined| joined.expect("devices").into_routes().expect("others"))
            .collect();
        talk(&routes);
    }
}

#[test]
fn who_is_alone_needs_nothing() {
    let meeting = Meeting::of_job(0, on(&[1]));
    assert!(!meeting.needs_secret());
    let mut offer = meeting.offer(None).expect("an offer");
    assert!(offer.card().is_empty() && !offer.asks());
    let joined = offer.join(&mut |node| panic!("{node} is asked for"), None).expect("nothing to do");
    assert!(joined.into_routes().is_none());
}

#[test]
fn what_a_launcher_has_prepared_needs_no_cards() {
    let memory = crate::prepare(2).expect("memory").expect("a device that inherits");
    let routes = job(&[1, 1]).into_iter().map(|meeting| {
        let mut offer = meeting.offer(Some(memory.try_clone().expect("a descriptor"))).expect("an offer");
        assert!(!offer.asks());
        let joined = offer.join(&mut |node| panic!("{node} is asked for"), None);
        joined.expect("a device").into_routes().expect("another")
    });
    talk(&routes.collect::<Vec<_>>());
}

#[test]
fn two_sides_reach_whom_they_miss() {
    // The second left one and the second right one are one process.
    let sides = || [on(&[7, 8]), on(&[7, 8, 9])];
    let missing = || vec![vec![true, false, true], vec![false, false, true]];
    let meetings: Vec<Meeting> = (0..5).map(|own| Meeting::of_sides(own, sides(), missing())).collect();
    assert!(meetings[1].needs_secret());
    let members: Vec<Vec<(&str, Vec<Node>)>> = join(meetings)
        .into_iter()
        .map(|joined| {
            let ways = joined.expect("devices").into_ways();
            ways.map(|(device, others)| (device.name(), others.iter().map(|&(_, member)| member).collect()))
                .collect()
        })
        .collect();
    assert_eq!(members[0], [("segment", vec![2]), ("tcp", vec![4])]);
    assert_eq!(members[1], [("tcp", vec![4])]);
    assert_eq!(members[2], [("segment", vec![0])]);
    assert_eq!(members[3], []);
    assert_eq!(members[4], [("tcp", vec![0, 1])]);
}

#[test]
fn the_circle_is_who_needs_the_device_for_somebody() {
    let missing = vec![vec![false; 3], vec![true, false, true]];
    let meeting = |own| Meeting::of_sides(own, [on(&[7, 8]), on(&[8, 9, 8])], missing.clone());
    for own in [1, 2, 4] {
        assert_eq!(meeting(own).circle(DEVICES[0]), [1, 2, 4]);
    }
    assert!(!meeting(0).needs_secret());
}

#[test]
fn what_others_say_wrongly_is_an_error_that_says_so() {
    let failure = |hosts: &[u64], card: &str, secret: Option<&[u8; 32]>| {
        let own = hosts.len() as Node - 1;
        let mut offer = Meeting::of_job(own, on(hosts)).offer(None).expect("an offer");
        let mut card_of = |_| Ok(Card::read(card).expect("a card"));
        offer.join(&mut card_of, secret).err().expect("an error").message.to_string()
    };
    let says = |error: String, what: &str| assert!(error.contains(what), "{error}");
    says(failure(&[1, 2], "weft1+segment", Some(&SECRET)), "node process 0 has no device in common");
    says(failure(&[1, 2], "weft1+segment", Some(&SECRET)), "offers \"segment\", this one \"tcp\"");
    says(failure(&[1, 2], "weft1+tcp,nowhere", Some(&SECRET)), "node process 0: \"nowhere\"");
    says(failure(&[1, 2], "weft1+tcp,10.0.0.1:7", None), "no secret");
    says(failure(&[1, 1], "weft1+segment,door", None), "[\"door\"] is not a door and a ticket");
    says(failure(&[1, 1], "weft1+segment,weft-no-door,00", None), "is not to be found");
    says(failure(&[1, 1], "weft1+tcp", None), "offers \"tcp\", this one \"segment\"");
    says(failure(&[1, 1, 1], "weft1+tcp", None), "has not said how to get it");
}

/// Opens devices of a simulated network, which joins all, in node processes whose number is one of `has`.
struct Simulated {
    name: &'static str,
    has: &'static [Node],
    network: Network,
}

struct Simulation {
    opener: &'static Simulated,
    own: Node,
    others: Vec<Node>,
}

impl Opener for &'static Simulated {
    fn name(&self) -> &'static str {
        self.name
    }
    fn purpose(&self) -> &'static str {
        "tests"
    }
    fn joins(&self, _one: &Member, _other: &Member) -> bool {
        true
    }
    fn offer(
        &self,
        party: &Party<'_>,
        _inherited: &mut Option<OwnedFd>,
    ) -> Result<Option<Box<dyn weft_transport::Offer>>> {
        let offer = || Simulation { opener: self, own: party.own, others: party.partners.to_vec() };
        Ok(self.has.contains(&party.own).then(|| Box::new(offer()) as Box<dyn weft_transport::Offer>))
    }
}

impl weft_transport::Offer for Simulation {
    fn asks(&self) -> Vec<Node> {
        self.others.clone()
    }
    fn open(
        &mut self,
        party: &Party<'_>,
        words: &[(Node, Vec<String>)],
        _secret: Option<&[u8; 32]>,
    ) -> Result<(Box<dyn Device>, Vec<Node>)> {
        assert!(words.iter().map(|(node, _)| node).eq(party.partners));
        Ok((self.opener.network.device(self.own), (0..party.members.len() as Node).collect()))
    }
}

#[test]
fn the_first_device_that_both_have_is_the_way() {
    let simulated = |name, has| -> &'static dyn Opener {
        let network = Network::new(4, Conditions::calm(1));
        let opener: &'static Simulated = Box::leak(Box::new(Simulated { name, has, network }));
        Box::leak(Box::new(opener))
    };
    let devices: &'static [&'static dyn Opener] =
        Box::leak(Box::new([simulated("fast", &[0, 2, 3]), simulated("plain", &[0, 1, 2, 3])]));
    let meetings = || job(&[1, 2, 3, 4]).into_iter().map(|meeting| Meeting { devices, ..meeting });
    let routes: Vec<Routes> =
        join(meetings().collect()).into_iter().map(|joined| joined.unwrap().into_routes().unwrap()).collect();
    assert_eq!(routes.iter().map(Routes::devices).collect::<Vec<_>>(), [2, 1, 2, 2]);
    talk(&routes);
    let ways: Vec<_> = join(meetings().collect()).remove(0).unwrap().into_ways().collect();
    assert_eq!(ways[0].1, [(2, 2), (3, 3)]);
    assert_eq!(ways[1].1, [(1, 1)]);
}
