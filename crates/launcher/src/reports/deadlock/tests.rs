use super::*;
use weft_base::waiting::{Communicator, Key, Message, Peer, Request, Unmatched};

const WORLD: Key = Key { context: 0, first: 0 };

fn communicators(size: u32) -> Vec<Communicator> {
    let world = Communicator {
        key: WORLD,
        name: "MPI_COMM_WORLD".into(),
        size,
        remote: None,
        members: Some(vec![(0, 1, size)]),
    };
    let half = Communicator {
        key: Key { context: 4, first: 0 },
        name: String::new(),
        size: 2,
        remote: None,
        members: Some(vec![(0, 2, 2)]),
    };
    vec![world, half]
}

fn message(peer: u32, tag: i32) -> Message {
    let peer = Peer::Rank { local: peer, world: peer };
    Message { comm: WORLD, peer, tag: Some(tag), data: Some((1, "MPI_INT".into())) }
}

fn state(rank: u32, size: u32, call: Waiting, unmatched: Unmatched) -> RankState {
    let knowledge = Knowledge { calls: vec![call], unmatched, communicators: communicators(size) };
    RankState { waits: Some(Box::new(knowledge)), ..RankState::plain(rank, "waits in a call") }
}

fn receive(peer: u32, tag: i32) -> Waiting {
    let wants = vec![Want::Receive(message(peer, tag))];
    Waiting { call: "MPI_Recv".into(), wants, ..Waiting::default() }
}

fn together(call: &str, comm: Key) -> Waiting {
    let wants = vec![Want::Collective { comm, call: call.into(), root: None, data: None }];
    Waiting { call: call.into(), wants, ..Waiting::default() }
}

fn text(ranks: &[RankState]) -> String {
    describe(ranks, &mut |_| String::new())
}

#[test]
fn a_message_with_another_tag_and_the_cycle_are_named() {
    let has = Unmatched { messages: vec![message(0, 8)], ..Unmatched::default() };
    let ranks = [state(0, 2, receive(1, 7), Unmatched::default()), state(1, 2, receive(0, 7), has)];
    assert_eq!(
        text(&ranks),
        "  rank 0: waits in MPI_Recv: from rank 1 with tag 7 on MPI_COMM_WORLD (2 ranks), 1 MPI_INT\n  \
         rank 1: waits in MPI_Recv: from rank 0 with tag 7 on MPI_COMM_WORLD (2 ranks), 1 MPI_INT\n  \
         rank 1 has a message from rank 0 with tag 8; it waits for tag 7\n  \
         cycle: rank 0 waits for rank 1, which waits for rank 0\n"
    );
}

#[test]
fn who_has_not_come_to_a_collective_is_named_with_what_it_does() {
    let half = Key { context: 4, first: 0 };
    let nothing = Unmatched::default;
    let ranks = [
        state(0, 4, together("MPI_Barrier", half), nothing()),
        state(1, 4, together("MPI_Bcast", WORLD), nothing()),
        state(2, 4, receive(3, 1), nothing()),
        RankState::plain(3, "has ended"),
    ];
    assert_eq!(
        text(&ranks),
        "  rank 0: waits in MPI_Barrier: on communicator A (ranks 0, 2)\n  \
         rank 1: waits in MPI_Bcast: on MPI_COMM_WORLD (4 ranks)\n  \
         rank 2: waits in MPI_Recv: from rank 3 with tag 1 on MPI_COMM_WORLD (4 ranks), 1 MPI_INT\n  \
         rank 3: has ended\n  \
         MPI_COMM_WORLD (4 ranks): rank 1 is in MPI_Bcast; not there: rank 0 (waits in MPI_Barrier on communicator A), \
         rank 2 (waits in MPI_Recv), rank 3 (has ended)\n  \
         communicator A (ranks 0, 2): rank 0 is in MPI_Barrier; not there: rank 2 (waits in MPI_Recv)\n  \
         rank 2 waits for a message from rank 3, which has ended\n"
    );
}

#[test]
fn requests_are_listed_with_what_made_them() {
    let one = |peer| Request {
        made_by: "MPI_Irecv".into(),
        want: Want::Receive(message(peer, 3)),
        note: String::new(),
    };
    let call = Waiting {
        call: "MPI_Waitany".into(),
        requests: (1..8).map(one).collect(),
        more_requests: 5,
        any_request: true,
        ..Waiting::default()
    };
    let said = text(&[state(0, 9, call, Unmatched::default())]);
    assert!(
        said.starts_with("  rank 0: waits in MPI_Waitany: for one of MPI_Irecv from rank 1 with tag 3 on "),
        "{said}"
    );
    assert!(said.ends_with("; and 8 more\n"), "{said}");
}

#[test]
fn ten_thousand_ranks_in_a_ring_take_few_lines() {
    let size = 10_000;
    let one = |rank| state(rank, size, receive((rank + 1) % size, 0), Unmatched::default());
    let ranks: Vec<RankState> = (0..size).map(one).collect();
    let said = text(&ranks);
    assert!(said.lines().count() == 2 && said.len() < 1000, "{said}");
    assert!(said.starts_with("  ranks 0-9999: waits in MPI_Recv: from ranks 1, 2, 3, "), "{said}");
    assert!(said.contains("which waits for … (10000 ranks in all), which waits for rank 0\n"), "{said}");
}

#[test]
fn ten_thousand_ranks_in_different_calls_take_few_lines() {
    let size = 10_000;
    let has = |rank| Unmatched { messages: vec![message(rank, 1)], ..Unmatched::default() };
    let one = |rank| state(rank, size, receive((rank * 7 + 3) % size, rank as i32), has(rank));
    let ranks: Vec<RankState> = (0..size).map(one).collect();
    assert!(text(&ranks).lines().count() < 3 * LINES);
}
