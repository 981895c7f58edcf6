//! Teams that are spread over several node processes: how they come to be, and their exchanges of plain bytes. All their
//! operations are started and waited for; see [`Team::run`].
#![allow(unsafe_code)] // Describes the caller's slices as buffers.

use crate::hier;
use crate::operation::buffer::Data;
use crate::operation::call::Call;
use crate::operation::{Buffers, Operation, Root};
use crate::team::Team;
use weft_base::Result;
use weft_base::constants::MPI_BYTE;
use weft_datatype::Datatype;

fn byte() -> &'static Datatype {
    Datatype::predefined(MPI_BYTE).expect("a predefined datatype")
}

fn readable(data: &[u8]) -> Data<'_> {
    // SAFETY: the operations below only read it, and return when they no longer use it.
    unsafe { Data::new(data.as_ptr().cast(), data.len() as u64, byte()) }
}

fn writable(data: &mut [u8]) -> Data<'_> {
    // SAFETY: the slice is the operation's alone until it returns.
    unsafe { Data::new(data.as_mut_ptr().cast_const().cast(), data.len() as u64, byte()) }
}

impl Team {
    /// Joins the ranks of a communicator that may live on several node processes: `world_rank` translates its ranks to
    /// those of the job, whose places `exchange` knows. Where all are on one node process, this is [`Team::join`].
    pub fn join_spread(
        context: u32,
        size: u32,
        rank: u32,
        world_rank: impl Fn(u32) -> u32,
        exchange: &'static hier::Exchange,
    ) -> Self {
        let nodes = exchange.nodes();
        let node_of = |rank| nodes.places().of(world_rank(rank)).node;
        if (0..size).all(|rank| node_of(rank) == nodes.node()) {
            return Self::join(context, size, rank, world_rank);
        }
        let signature = hier::signature(size, node_of);
        let layout = || hier::Layout::new(size, node_of, |node| exchange.host(node));
        let spread = hier::join(exchange, context, rank, layout, signature);
        Self::over(spread, size, rank)
    }

    pub(crate) fn spread_broadcast(&self, root: u32, data: Data<'_>) -> Result {
        let mut operation = Operation { root: Root::Rank(root), ..Operation::new(Call::Broadcast) };
        let buffer = if self.rank() == root { &mut operation.send } else { &mut operation.receive };
        *buffer = Buffers::Whole(data);
        self.run_spread(&operation)
    }

    pub(crate) fn spread_exchange<'a>(&self, call: Call, send: Buffers<'a>, receive: Buffers<'a>) -> Result {
        self.run_spread(&Operation { send, receive, ..Operation::new(call) })
    }

    pub(crate) fn spread_allgather_bytes(&self, mine: &[u8], all: &mut [u8]) -> Result {
        let (send, receive) = (Buffers::Whole(readable(mine)), Buffers::Even(writable(all), self.size()));
        self.spread_exchange(Call::Allgather, send, receive)
    }

    pub(crate) fn spread_broadcast_bytes(&self, root: u32, data: &mut [u8]) -> Result {
        self.spread_broadcast(root, writable(data))
    }
}
