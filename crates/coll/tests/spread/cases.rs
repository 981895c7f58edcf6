//! Operations with random arguments, and what they must give.

use core::ffi::{c_int, c_void};
use core::ops::Range;
use std::sync::OnceLock;
use weft_base::abi;
use weft_base::constants::*;
use weft_coll::{Buffers, Call, Data, NOBODY, Neighbors, Operation, Operator, Pending, Root, Team};
use weft_datatype::Datatype;
use weft_op::Op;
use weft_transport::simulator::Random;

/// The members of a communicator.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub size: u32,
    /// The first member of the second group; 0 for one group.
    pub split: u32,
}

impl Shape {
    fn side(&self, member: u32) -> u32 {
        u32::from(self.split > 0 && member >= self.split)
    }

    fn range(&self, side: u32) -> Range<u32> {
        match (self.split, side) {
            (0, _) => 0..self.size,
            (split, 0) => 0..split,
            (split, _) => split..self.size,
        }
    }

    fn group(&self, member: u32) -> Range<u32> {
        self.range(self.side(member))
    }

    fn peers(&self, member: u32) -> Range<u32> {
        self.range(1 - self.side(member))
    }

    fn rank(&self, member: u32) -> u32 {
        member - self.group(member).start
    }
}

/// Elements: so many words of data in so many words of memory.
pub struct Element {
    datatype: Datatype,
    width: usize,
    stride: usize,
}

fn elements() -> &'static [Element; 3] {
    static ELEMENTS: OnceLock<[Element; 3]> = OnceLock::new();
    ELEMENTS.get_or_init(|| {
        let long = Datatype::predefined(MPI_INT64_T).unwrap();
        let pair = Datatype::contiguous(2, long).unwrap();
        let gaps = Datatype::resized(0, 24, &pair).unwrap();
        gaps.commit();
        pair.commit();
        [
            Element { datatype: long.clone(), width: 1, stride: 1 },
            Element { datatype: pair, width: 2, stride: 2 },
            Element { datatype: gaps, width: 2, stride: 3 },
        ]
    })
}

/// What is in the gaps, and in buffers before they are written.
const BLANK: i64 = -7;

/// `(a, b) op (c, d) = (a c, a d + b)`: associative, not commutative.
fn composed(a: [i64; 2], b: [i64; 2]) -> [i64; 2] {
    [a[0].wrapping_mul(b[0]), a[0].wrapping_mul(b[1]).wrapping_add(a[1])]
}

unsafe fn compose<const STRIDE: usize>(input: *mut c_void, inout: *mut c_void, length: *mut c_int) {
    // SAFETY: the library passes a length, and as many elements on both sides.
    unsafe {
        for i in 0..*length as usize {
            let a = input.cast::<i64>().add(STRIDE * i).cast::<[i64; 2]>().read();
            let b = inout.cast::<i64>().add(STRIDE * i).cast::<[i64; 2]>();
            b.write(composed(a, b.read()));
        }
    }
}

unsafe extern "C" fn compose_pairs(a: *mut c_void, b: *mut c_void, n: *mut c_int, _: *mut abi::Datatype) {
    // SAFETY: by the library's contract.
    unsafe { compose::<2>(a, b, n) }
}

unsafe extern "C" fn compose_with_gaps(a: *mut c_void, b: *mut c_void, n: *mut c_int, _: *mut abi::Datatype) {
    // SAFETY: by the library's contract.
    unsafe { compose::<3>(a, b, n) }
}

fn operators() -> &'static [Op; 3] {
    static OPERATORS: OnceLock<[Op; 3]> = OnceLock::new();
    OPERATORS.get_or_init(|| {
        // SAFETY: functions of that type.
        let user = |function: *const c_void| unsafe { Op::user(function, false, false) }.unwrap();
        [
            Op::predefined(MPI_SUM).unwrap().clone(),
            user(compose_pairs as *const c_void),
            user(compose_with_gaps as *const c_void),
        ]
    })
}

const CALLS: [Call; 22] = [
    Call::Barrier,
    Call::Broadcast,
    Call::Gather,
    Call::Gatherv,
    Call::Scatter,
    Call::Scatterv,
    Call::Allgather,
    Call::Allgatherv,
    Call::Alltoall,
    Call::Alltoallv,
    Call::Alltoallw,
    Call::Reduce,
    Call::Allreduce,
    Call::ReduceScatter,
    Call::ReduceScatterBlock,
    Call::Scan,
    Call::Exscan,
    Call::NeighborAllgather,
    Call::NeighborAllgatherv,
    Call::NeighborAlltoall,
    Call::NeighborAlltoallv,
    Call::NeighborAlltoallw,
];

/// An operation with its arguments.
#[derive(Clone, Debug)]
pub struct Case {
    pub call: Call,
    pub shape: Shape,
    pub root: u32,
    /// Elements in the largest piece.
    pub count: usize,
    /// Which elements are sent, received.
    pub kinds: [usize; 2],
    pub in_place: bool,
    /// By member: to whom it sends, in a neighborhood operation on a graph; both neighbors on a grid.
    pub edges: Option<Vec<Vec<u32>>>,
    pub grid: bool,
    pub salt: u64,
}

/// A member's buffers.
pub struct Memory {
    send: Vec<i64>,
    receive: Vec<i64>,
}

fn is_neighborhood(call: Call) -> bool {
    call as u8 >= Call::NeighborAllgather as u8
}

fn is_reduction(call: Call) -> bool {
    (Call::Reduce as u8..=Call::Exscan as u8).contains(&(call as u8))
}

fn has_root(call: Call) -> bool {
    matches!(
        call,
        Call::Broadcast | Call::Gather | Call::Gatherv | Call::Scatter | Call::Scatterv | Call::Reduce
    )
}

fn is_varied(call: Call) -> bool {
    matches!(
        call,
        Call::Gatherv
            | Call::Scatterv
            | Call::Allgatherv
            | Call::Alltoallv
            | Call::Alltoallw
            | Call::NeighborAllgatherv
            | Call::NeighborAlltoallv
            | Call::NeighborAlltoallw
    )
}

impl Case {
    pub fn some(shape: Shape, may_be_large: bool, random: &mut Random) -> Self {
        loop {
            let call = CALLS[random.below(CALLS.len() as u64) as usize];
            if shape.split > 0 && (matches!(call, Call::Scan | Call::Exscan) || is_neighborhood(call)) {
                continue;
            }
            return Self::new(call, shape, may_be_large, random);
        }
    }

    pub fn new(call: Call, shape: Shape, may_be_large: bool, random: &mut Random) -> Self {
        let counts = [0, 1, 2, 7, 60, 300, 700];
        let mut count = counts[random.below(counts.len() as u64) as usize];
        let everything = matches!(call, Call::Broadcast | Call::Reduce | Call::Allreduce | Call::Scan);
        if everything && may_be_large && random.below(6) == 0 {
            count = 20_000 + random.below(30_000) as usize;
        }
        let kind = random.below(3) as usize;
        // Pairs go to pairs, single words only to single words.
        let other = if is_reduction(call) || kind == 0 { kind } else { 1 + random.below(2) as usize };
        let grid = random.below(2) == 0;
        let edges = is_neighborhood(call).then(|| {
            let size = u64::from(shape.size);
            let some = |random: &mut Random| random.below(size) as u32;
            (0..shape.size)
                .map(|member| match grid {
                    // A row of ranks, open or closed.
                    true => vec![(member + shape.size - 1) % shape.size, (member + 1) % shape.size],
                    false => (0..random.below(5)).map(|_| some(random)).collect(),
                })
                .collect()
        });
        let may_be_in_place = shape.split == 0
            && !is_neighborhood(call)
            && !matches!(call, Call::Barrier | Call::Broadcast)
            && kind == other;
        Self {
            call,
            shape,
            root: random.below(u64::from(shape.size)) as u32,
            count,
            kinds: [kind, other],
            in_place: may_be_in_place && random.below(2) == 0,
            edges,
            grid,
            salt: random.below(1 << 60),
        }
    }

    fn element(&self, side: usize) -> &'static Element {
        &elements()[self.kinds[side]]
    }

    /// Returns the elements that a member has for another.
    fn length(&self, from: u32, to: u32) -> usize {
        let differs = u64::from(from) * 7 + self.salt % 5;
        match self.call {
            Call::Alltoallv | Call::Alltoallw | Call::NeighborAlltoallv | Call::NeighborAlltoallw => {
                let differs = differs as usize + to as usize * 3;
                // In place both directions have the same length.
                let differs = if self.in_place { from.abs_diff(to) as usize } else { differs };
                differs % 4 * self.count / 3
            }
            call if is_varied(call) => {
                let other = if call == Call::Scatterv { to } else { from };
                (other as usize + self.salt as usize % 5) % 3 * self.count / 2
            }
            _ => self.count,
        }
    }

    /// Returns the words that a member has for another, over their edge number `edge`.
    fn words(&self, from: u32, to: u32, edge: usize, length: usize) -> Vec<i64> {
        let to = match self.call {
            Call::Scatter | Call::Scatterv | Call::Alltoall | Call::Alltoallv | Call::Alltoallw => to,
            Call::NeighborAlltoall | Call::NeighborAlltoallv | Call::NeighborAlltoallw => {
                to + edge as u32 * 1000
            }
            _ => 0,
        };
        let mut random = Random::new(self.salt ^ u64::from(from) << 20 ^ u64::from(to));
        (0..length * self.element(0).width).map(|_| random.below(1000) as i64).collect()
    }

    fn neighbors(&self, member: u32) -> Neighbors {
        let edges = self.edges.as_ref().expect("a neighborhood operation");
        if self.grid {
            let closed = self.salt.is_multiple_of(2);
            let (first, last) = (member == 0, member == self.shape.size - 1);
            let open = |at_edge: bool, other: u32| if at_edge && !closed { NOBODY } else { other };
            let both = &edges[member as usize];
            let both = vec![open(first, both[0]), open(last, both[1])];
            return Neighbors { sources: both.clone(), destinations: both, grid: true };
        }
        let from = |source: &u32| edges[*source as usize].iter().filter(|&&to| to == member).count();
        let sources = (0..self.shape.size).flat_map(|source| vec![source; from(&source)]).collect();
        Neighbors { sources, destinations: edges[member as usize].clone(), grid: false }
    }

    /// Returns whom a member has pieces for, or from, in the order of the pieces, with the edge between them.
    fn pieces(&self, member: u32, side: usize) -> Vec<(u32, usize)> {
        if !is_neighborhood(self.call) {
            return self.shape.peers(member).map(|peer| (peer, 0)).collect();
        }
        let neighbors = self.neighbors(member);
        let list = if side == 0 { neighbors.destinations } else { neighbors.sources };
        let edge = |index: usize| match self.grid {
            true if side == 0 => index ^ 1,
            true => index,
            false => list[..index].iter().filter(|&&other| other == list[index]).count(),
        };
        (0..list.len()).map(|index| (list[index], edge(index))).collect()
    }

    fn is_root(&self, member: u32) -> bool {
        member == self.root
    }

    /// Returns whether a member takes part in the data.
    fn takes_part(&self, member: u32) -> bool {
        !has_root(self.call)
            || self.shape.split == 0
            || self.is_root(member)
            || self.shape.peers(self.root).contains(&member)
    }

    /// Returns the lengths of the pieces that a member sends, with their words.
    fn sent(&self, member: u32) -> Vec<Vec<i64>> {
        let far = self.shape.peers(self.root).contains(&member);
        match self.call {
            Call::Barrier => vec![],
            Call::Broadcast if self.is_root(member) => vec![self.words(member, 0, 0, self.count)],
            Call::Broadcast => vec![],
            Call::Gather | Call::Gatherv if far => {
                vec![self.words(member, 0, 0, self.length(member, self.root))]
            }
            Call::Scatter | Call::Scatterv if !self.is_root(member) => vec![],
            Call::Gather | Call::Gatherv => vec![],
            Call::Reduce if !far => vec![],
            Call::ReduceScatter => vec![self.words(member, 0, 0, self.count * 2)],
            Call::ReduceScatterBlock => {
                let blocks = self.shape.group(member).len();
                let blocks = if self.shape.split > 0 { self.lcm() } else { blocks };
                vec![self.words(member, 0, 0, self.count / 8 * blocks)]
            }
            call if is_reduction(call) => vec![self.words(member, 0, 0, self.count)],
            Call::Allgather | Call::Allgatherv | Call::NeighborAllgather | Call::NeighborAllgatherv => {
                vec![self.words(member, 0, 0, self.length(member, 0))]
            }
            _ => {
                let pieces = self.pieces(member, 0);
                let words = |(peer, edge)| match peer {
                    NOBODY => vec![],
                    _ => self.words(member, peer, edge, self.length(member, peer)),
                };
                pieces.into_iter().map(words).collect()
            }
        }
    }

    /// Returns a number of blocks that both groups can divide among themselves.
    fn lcm(&self) -> usize {
        let (a, b) = (self.shape.split as usize, (self.shape.size - self.shape.split) as usize);
        (1..).map(|i| i * a).find(|n| n % b == 0).unwrap()
    }

    fn reduced(&self, members: Range<u32>) -> Option<Vec<i64>> {
        let all = members.map(|member| self.sent(member).remove(0));
        all.reduce(|a, b| match self.kinds[0] {
            0 => a.iter().zip(&b).map(|(a, b)| a + b).collect(),
            _ => {
                let pairs = a.chunks(2).zip(b.chunks(2));
                pairs.flat_map(|(a, b)| composed([a[0], a[1]], [b[0], b[1]])).collect()
            }
        })
    }

    /// Returns the elements of the result that a member receives in a reduce-scatter.
    fn mine(&self, member: u32) -> Range<u64> {
        let rank = u64::from(self.shape.rank(member));
        let size = self.shape.group(member).len() as u64;
        match self.call {
            Call::ReduceScatterBlock => {
                let blocks = if self.shape.split > 0 { self.lcm() } else { size as usize };
                let each = (self.count / 8 * blocks) as u64 / size;
                rank * each..(rank + 1) * each
            }
            Call::ReduceScatter => {
                // Uneven: the first third of the ranks gets nothing.
                let total = 2 * self.count as u64;
                let bound = |rank: u64| if rank * 3 <= size { 0 } else { total * rank / size };
                bound(rank)..bound(rank + 1)
            }
            _ => 0..0,
        }
    }

    /// Returns the pieces that a member receives; nothing where its buffer stays as it is.
    fn received(&self, member: u32) -> Vec<Option<Vec<i64>>> {
        let far = self.shape.peers(self.root).contains(&member);
        let from = |peer: u32, edge| Some(self.words(peer, member, edge, self.length(peer, member)));
        let width = self.element(0).width;
        match self.call {
            Call::Barrier => vec![],
            Call::Broadcast | Call::Scatter | Call::Scatterv => {
                let receives = far && !(self.call == Call::Broadcast && self.is_root(member));
                if receives { vec![from(self.root, 0)] } else { vec![] }
            }
            Call::Gather | Call::Gatherv if !self.is_root(member) => vec![],
            Call::Reduce if !self.is_root(member) => vec![],
            Call::Reduce | Call::Allreduce => vec![self.reduced(self.shape.peers(member))],
            Call::Scan => vec![self.reduced(0..member + 1)],
            Call::Exscan => vec![self.reduced(0..member)],
            Call::ReduceScatter | Call::ReduceScatterBlock => {
                let all = self.reduced(self.shape.peers(member)).unwrap();
                let mine = self.mine(member);
                vec![Some(all[mine.start as usize * width..mine.end as usize * width].to_vec())]
            }
            _ => {
                let pieces = self.pieces(member, 1).into_iter();
                pieces
                    .map(|(peer, edge)| if peer == NOBODY { Some(vec![]) } else { from(peer, edge) })
                    .collect()
            }
        }
    }

    /// Returns whether a member's contribution is where it receives.
    fn is_in_place(&self, member: u32) -> bool {
        self.in_place && (!has_root(self.call) || self.is_root(member))
    }

    /// Returns a member's buffers before the operation, or after it.
    fn memory(&self, member: u32, after: bool) -> Memory {
        let lay = |words: &[i64], element: &Element| -> Vec<i64> {
            let elements = words.chunks(element.width);
            let mut memory = Vec::with_capacity(words.len() / element.width * element.stride);
            for words in elements {
                memory.extend(words);
                memory.resize(memory.len() + element.stride - element.width, BLANK);
            }
            memory
        };
        let sent = self.sent(member);
        let received = self.received(member);
        let mut receive = Vec::new();
        let blank = |words: &[i64]| vec![BLANK; words.len()];
        let in_place = self.is_in_place(member);
        if in_place && is_reduction(self.call) {
            // The result replaces the contribution, from the start.
            receive = lay(&sent[0], self.element(0));
            if after && let Some(Some(words)) = received.first() {
                let result = lay(words, self.element(0));
                receive[..result.len()].copy_from_slice(&result);
            }
        } else if in_place && matches!(self.call, Call::Scatter | Call::Scatterv) {
            // The root's part stays where it is.
        } else {
            for (index, words) in received.iter().enumerate() {
                let Some(words) = words else {
                    let words = self.sent(member).concat();
                    receive.extend(lay(&blank(&words), self.element(1)));
                    continue;
                };
                let own = index as u32 == self.shape.rank(member);
                let before = match self.call {
                    Call::Alltoall | Call::Alltoallv | Call::Alltoallw if in_place => sent[index].clone(),
                    _ if in_place && own => words.clone(),
                    _ => blank(words),
                };
                receive.extend(lay(if after { words } else { &before }, self.element(1)));
            }
        }
        let send = if in_place && !matches!(self.call, Call::Scatter | Call::Scatterv) {
            Vec::new()
        } else {
            sent.iter().flat_map(|words| lay(words, self.element(0))).collect()
        };
        Memory { send, receive }
    }

    pub fn buffers(&self) -> Vec<Memory> {
        (0..self.shape.size).map(|member| self.memory(member, false)).collect()
    }

    /// Makes a member's buffers, where they are, what they were before the operation.
    pub fn restore(&self, member: u32, memory: &mut Memory) {
        let before = self.memory(member, false);
        memory.send.copy_from_slice(&before.send);
        memory.receive.copy_from_slice(&before.receive);
    }

    /// Starts the member's part.
    pub fn start(&self, team: &Team, member: u32, memory: &mut Memory) -> Pending {
        team.start(&self.operation(member, memory))
    }

    /// Describes the member's part.
    pub fn operation(&self, member: u32, memory: &mut Memory) -> Operation<'static> {
        let describe = |memory: &mut Vec<i64>, side: usize, lengths: &[usize]| {
            let element = self.element(side);
            let mut first = 0;
            let pieces = lengths.iter().map(|&length| {
                // SAFETY: within the memory, which lives until the operation is over.
                let data = unsafe {
                    let address = memory.as_mut_ptr().add(first * element.stride);
                    Data::new(address.cast_const().cast(), length as u64, &element.datatype)
                };
                first += length;
                data
            });
            let pieces: Vec<Data<'static>> = pieces.collect();
            // SAFETY: the pieces end at `first`, so the memory reaches that far.
            let whole = unsafe {
                Data::new(memory.as_mut_ptr().cast_const().cast(), first as u64, &element.datatype)
            };
            (whole, pieces)
        };
        let mut operation = Operation::new(self.call);
        if self.call == Call::Barrier {
            return operation;
        }
        let width = self.element(0).width;
        let sent: Vec<usize> = self.sent(member).iter().map(|words| words.len() / width).collect();
        let received = self.received(member);
        let in_place = self.is_in_place(member);
        let lengths: Vec<usize> = match (self.call, in_place) {
            (call, true)
                if is_reduction(call) && call != Call::ReduceScatter && call != Call::ReduceScatterBlock =>
            {
                sent.clone()
            }
            (Call::Exscan, _) => sent.clone(),
            _ => received.iter().flatten().map(|words| words.len() / width).collect(),
        };
        let (send, send_pieces) = describe(&mut memory.send, 0, &sent);
        let (receive, receive_pieces) = describe(&mut memory.receive, 1, &lengths);
        let even = |whole, pieces: &[_]| Buffers::Even(whole, pieces.len() as u32);
        let single = matches!(
            self.call,
            Call::Broadcast
                | Call::Gather
                | Call::Gatherv
                | Call::Allgather
                | Call::Allgatherv
                | Call::NeighborAllgather
                | Call::NeighborAllgatherv
        ) || is_reduction(self.call);
        operation.send = match () {
            () if sent.is_empty() || in_place && !matches!(self.call, Call::Scatter | Call::Scatterv) => {
                Buffers::None
            }
            () if single => Buffers::Whole(send),
            () if is_varied(self.call) || is_neighborhood(self.call) => Buffers::Pieces(send_pieces),
            () => even(send, &send_pieces),
        };
        let one =
            matches!(self.call, Call::Broadcast | Call::Scatter | Call::Scatterv) || is_reduction(self.call);
        operation.receive = match () {
            () if received.is_empty() || in_place && matches!(self.call, Call::Scatter | Call::Scatterv) => {
                Buffers::None
            }
            () if self.call == Call::Exscan && member == 0 && !in_place => Buffers::None,
            () if one => Buffers::Whole(receive),
            () if is_varied(self.call) || is_neighborhood(self.call) => Buffers::Pieces(receive_pieces),
            () => even(receive, &receive_pieces),
        };
        if in_place && is_reduction(self.call) {
            // As the layer above describes it: both are one buffer.
            operation.send = Buffers::Whole(describe(&mut memory.receive, 0, &sent).0);
        }
        if is_reduction(self.call) {
            operation.operator = Some(Operator { op: &operators()[self.kinds[0]], handle: MPI_INT64_T });
            operation.mine = self.mine(member);
        }
        if is_neighborhood(self.call) {
            operation.neighbors = Some(self.neighbors(member));
        }
        if has_root(self.call) {
            let root = self.shape.rank(self.root);
            operation.root = match self.shape.split {
                0 => Root::Rank(root),
                _ if self.is_root(member) => Root::Here,
                _ if self.takes_part(member) => Root::Rank(root),
                _ => Root::Elsewhere,
            };
        }
        operation
    }

    /// Checks a member's buffers after the operation.
    pub fn check(&self, member: u32, memory: &Memory, what: impl Fn() -> String) {
        let right = self.memory(member, true);
        for (side, (is, right)) in
            [(&memory.send, &right.send), (&memory.receive, &right.receive)].iter().enumerate()
        {
            if is != right {
                let place = is.iter().zip(right.iter()).position(|(a, b)| a != b);
                panic!(
                    "{}: buffer {side} differs at {place:?} of {}: {:?}",
                    what(),
                    right.len(),
                    place.map(|place| (is[place], right[place]))
                );
            }
        }
    }
}
