//! Ending many requests in one call: those that own nothing the short way, all others the general one, in order.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)] // The tests are callers that promise their buffers.

use weft_base::abi::{self, Status};
use weft_base::constants::*;
use weft_datatype::Datatype;
use weft_p2p::{
    Buffer, COMPLETED_COLLECTIVE, Completion, Ended, Endpoint, Engine, Envelope, Limits, Mode, Persistent,
};

struct Rank {
    engine: &'static Engine,
    me: &'static Endpoint,
}

fn envelope(tag: i32) -> Envelope {
    Envelope::new(2, 0, tag)
}

fn buffer(data: &mut [u8]) -> Buffer {
    unsafe { Buffer::dense(data.as_mut_ptr(), data.len() as u64) }
}

impl Rank {
    fn new() -> Self {
        let engine: &'static Engine = Box::leak(Box::new(Engine::new(1, Limits::default())));
        Self { engine, me: engine.attach(0, weft_sched::current()) }
    }

    fn isend(&self, tag: i32, data: &mut [u8], mode: Mode) -> abi::Request {
        unsafe { self.engine.isend(self.me, 0, envelope(tag), buffer(data), None, mode, MPI_COMM_WORLD) }
    }

    fn irecv(&self, tag: i32, data: &mut [u8], datatype: Option<Datatype>) -> abi::Request {
        unsafe { self.engine.irecv(self.me, envelope(tag), buffer(data), datatype, MPI_COMM_SELF) }
    }

    fn end_all(&self, requests: &[abi::Request]) -> (Vec<Completion>, weft_base::Result) {
        let mut ended = Vec::new();
        let result = self.engine.end_all(
            self.me,
            requests.len(),
            |i| requests[i],
            |i, how| {
                assert_eq!(i, ended.len(), "in order");
                ended.push(match how {
                    Ended::Otherwise(completion) => completion,
                    Ended::Well { source, tag, bytes } => Completion {
                        status: Status { source, tag, ..Status::of(bytes, false) },
                        is_empty: false,
                        ..Completion::empty(MPI_REQUEST_NULL)
                    },
                });
            },
        );
        (ended, result)
    }
}

#[test]
fn requests_of_all_kinds_end_in_order() {
    let rank = Rank::new();
    let (mut data, mut more, mut less, mut typed, mut again) = ([7; 4], [0; 8], [0; 2], [0; 4], [0; 4]);
    let kept = Datatype::predefined(MPI_BYTE).expect("a predefined type").clone();
    let recipe = Persistent::Receive { pattern: envelope(5) };
    let persistent =
        unsafe { rank.engine.persistent(rank.me, recipe, buffer(&mut again), None, MPI_COMM_WORLD) };
    rank.engine.start(rank.me, persistent).unwrap();
    let receives = [
        rank.irecv(1, &mut more, None),
        rank.irecv(2, &mut less, None),
        rank.irecv(3, &mut typed, Some(kept)),
    ];
    // Nobody receives it yet, so it has a request that stays.
    let synchronous = rank.isend(4, &mut data.clone(), Mode::Synchronous);
    let eager = rank.isend(1, &mut data, Mode::Standard);
    for tag in [2, 3, 5] {
        rank.isend(tag, &mut data, Mode::Standard);
    }
    let (_, received) = unsafe { rank.engine.receive(rank.me, Some(0), envelope(4), buffer(&mut [0; 4])) };
    received.unwrap();

    let [first, cut, derived] = receives;
    let all = [eager, first, MPI_REQUEST_NULL, cut, synchronous, COMPLETED_COLLECTIVE, derived, persistent];
    let (ended, result) = rank.end_all(&all);
    result.unwrap();
    let tags: Vec<_> = ended.iter().map(|completion| completion.status.tag).collect();
    assert_eq!(tags, [MPI_ANY_TAG, 1, MPI_ANY_TAG, 2, MPI_ANY_TAG, MPI_ANY_TAG, 3, 5]);
    let bytes: Vec<_> = ended.iter().map(|completion| completion.status.bytes()).collect();
    assert_eq!(bytes, [0, 4, 0, 2, 0, 0, 4, 4]);
    let classes: Vec<_> = ended.iter().map(|completion| completion.error.as_ref().map(|e| e.class)).collect();
    assert_eq!(classes, [None, None, None, Some(MPI_ERR_TRUNCATE), None, None, None, None]);
    let empty: Vec<_> = ended.iter().map(|completion| completion.is_empty).collect();
    assert_eq!(empty, [false, false, true, false, false, false, false, false]);
    assert_eq!(ended[3].comm, MPI_COMM_SELF);
    for (index, completion) in ended.iter().enumerate() {
        let after = if index == 7 { persistent } else { MPI_REQUEST_NULL };
        assert_eq!(completion.handle, after, "request {index}");
    }
    assert_eq!((more[..4].to_vec(), less.to_vec(), typed, again), (vec![7; 4], vec![7; 2], [7; 4], [7; 4]));
    assert_eq!(rank.me.requests().live(), 1, "the persistent one is left");
}

#[test]
fn a_request_ends_once_and_its_handle_never_comes_back() {
    let rank = Rank::new();
    let (mut data, mut place) = ([1; 8], [0; 8]);
    let mut handles = Vec::new();
    for _ in 0..100 {
        let request = rank.irecv(1, &mut place, None);
        assert!(!handles.contains(&request), "a handle of a request that has ended");
        handles.push(request);
        rank.isend(1, &mut data, Mode::Standard);
        let (ended, result) = rank.end_all(&[request, request]);
        assert_eq!(ended.len(), 1);
        assert_eq!(result.unwrap_err().class, MPI_ERR_REQUEST);
        assert_eq!(rank.engine.wait_for_all(rank.me, 1, |_| request).unwrap_err().class, MPI_ERR_REQUEST);
        assert_eq!(rank.me.requests().live(), 0);
    }
}

#[test]
fn no_request_ends_if_one_is_none() {
    let rank = Rank::new();
    let (mut data, mut place) = ([1; 8], [0; 8]);
    let request = rank.irecv(1, &mut place, None);
    rank.isend(1, &mut data, Mode::Standard);
    let (ended, result) = rank.end_all(&[request, abi::Request(77)]);
    assert_eq!((ended.len(), result.unwrap_err().class), (0, MPI_ERR_REQUEST));
    assert_eq!(rank.end_all(&[request]).0.len(), 1, "it is still there");
}

#[test]
fn a_request_that_the_program_frees_is_free_again_when_its_message_has_come() {
    let rank = Rank::new();
    let (mut data, mut place) = ([3; 8], [0; 8]);
    let request = rank.irecv(1, &mut place, None);
    rank.me.requests().free(request).unwrap();
    assert_eq!(rank.me.requests().live(), 1, "its message may still come");
    assert_eq!(rank.end_all(&[request]).1.unwrap_err().class, MPI_ERR_REQUEST);
    rank.isend(1, &mut data, Mode::Standard);
    assert_eq!((place, rank.me.requests().live()), ([3; 8], 0));
}
