//! Which algorithm runs between node processes: what the table of collectives says for the level `nodes`.

use super::planner::Algorithm;
use crate::operation::Operation;
use crate::operation::call::Call;
use crate::pattern::tree::{BINOMIAL, Shape};
use crate::started::plan::Members;
use crate::team::selection::Selection;
use weft_base::collectives::Algorithm as Name;

/// The most bytes that are copied aside so that their owner need not wait for others of its node process.
pub(crate) const LIGHT_BYTES: u64 = 16 << 10;

/// The bytes of a segment where the table does not say: those of large data are under way on several levels at once.
const SEGMENT_BYTES: u64 = 128 << 10;

/// The most segments of an operation.
const SEGMENTS: u64 = 1024;

/// Returns the bytes by which the table chooses: the same at all members, 0 where not all know them.
fn common_bytes(operation: &Operation<'_>) -> u64 {
    let Operation { call, send, receive, .. } = operation;
    let first = |buffers: &crate::Buffers<'_>| match buffers {
        crate::Buffers::None => None,
        crate::Buffers::Pieces(pieces) if pieces.is_empty() => None,
        _ => Some(buffers.piece(0).bytes()),
    };
    match call {
        Call::Broadcast | Call::Gather => first(send).or_else(|| first(receive)).unwrap_or(0),
        Call::Scatter | Call::Allgather => first(receive).or_else(|| first(send)).unwrap_or(0),
        Call::Allgatherv => match receive {
            crate::Buffers::Pieces(pieces) => pieces.iter().map(|piece| piece.bytes()).max().unwrap_or(0),
            _ => first(receive).unwrap_or(0),
        },
        Call::Alltoall => receive.whole().map_or(0, |whole| whole.bytes()),
        _ if operation.operator.is_some() => first(send).or_else(|| first(receive)).unwrap_or(0),
        _ => 0,
    }
}

/// Returns the algorithm between so many node processes, and the bytes of a segment.
pub(crate) fn choose(
    selection: &Selection,
    members: Members,
    nodes: u32,
    operation: &Operation<'_>,
) -> (Algorithm, u64) {
    let bytes = common_bytes(operation);
    let call = operation.call;
    let step = call.collective().map(|collective| selection.between_nodes(nodes).of(collective).at(bytes));
    let wanted = step.map_or(0, |step| u64::from(step.segment));
    let segment = if wanted > 0 { wanted } else { SEGMENT_BYTES };
    let segment = segment.max(bytes.div_ceil(SEGMENTS).next_multiple_of(4096));
    let rooted = matches!(call, Call::Broadcast | Call::Reduce);
    let Some(step) = step.filter(|_| !members.are_two_groups() || rooted || call.is_barrier()) else {
        // Between two groups: bundles go straight to the other group, and reductions up one tree and down another.
        return (Algorithm::Pairwise, segment);
    };
    let algorithm = match step.algorithm {
        Name::Flat => Algorithm::Tree(Shape::Flat),
        Name::Binary => Algorithm::Tree(Shape::Binary),
        Name::Binomial => Algorithm::Tree(BINOMIAL),
        Name::Chain => Algorithm::Tree(Shape::Chain),
        Name::ScatterAllgather => Algorithm::ScatterAllgather,
        Name::Ring => Algorithm::Ring,
        Name::RecursiveDoubling => Algorithm::Doubling,
        Name::Rabenseifner => Algorithm::Rabenseifner,
        Name::Bruck => Algorithm::Bruck,
        Name::Dissemination => Algorithm::Dissemination,
        Name::Pairwise | Name::Counters | Name::Slots | Name::InPlace | Name::Schedule => Algorithm::Pairwise,
    };
    (algorithm, segment)
}
