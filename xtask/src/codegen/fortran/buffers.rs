//! What a call does with a buffer, so far as it matters for sections of arrays.

use crate::api::{Parameter, Procedure};

/// How a section with gaps can be passed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A datatype describes it as a whole.
    Single,
    /// The call puts several blocks into it.
    Blocks,
    /// The call takes the elements as they lie.
    Whole,
    /// The call wants an address only.
    Start,
}

impl Shape {
    /// Returns the function of `Section` that makes it.
    pub fn function(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Blocks => "blocks",
            Self::Whole => "whole",
            Self::Start => "start",
        }
    }
}

/// Finds count and datatype of a buffer: the next ones behind it and behind buffers that share them.
pub fn counted<'a>(
    procedure: &'a Procedure,
    buffer: &Parameter,
) -> Option<(Option<&'a Parameter>, &'a Parameter)> {
    let at = procedure.parameters.iter().position(|p| p.name == buffer.name)?;
    let mut behind = procedure.parameters[at + 1..].iter().skip_while(|p| p.kind == "BUFFER");
    let count = behind.next().filter(|p| p.kind.contains("NUM_ELEM"))?;
    let datatype = behind.find(|p| !p.kind.contains("DISPLACEMENT"))?;
    (datatype.c.as_deref() == Some("MPI_Datatype")).then_some((Some(count), datatype))
}

/// Tells how a section with gaps can be passed.
pub fn shape(procedure: &Procedure, buffer: &Parameter) -> Shape {
    let name = procedure.name.to_lowercase();
    if name.ends_with("_end") || ["mpi_get_address", "mpi_free_mem"].contains(&name.as_str()) {
        return Shape::Start;
    }
    let one_sided = procedure.parameters.iter().any(|p| p.kind == "WINDOW");
    let combines = procedure.parameters.iter().any(|p| p.kind == "OPERATION") && !one_sided;
    if combines || counted(procedure, buffer).is_none() {
        return Shape::Whole;
    }
    let receives = buffer.name.starts_with("recv");
    let many = match (name.contains("alltoall"), name.contains("gather"), name.contains("scatter")) {
        (true, ..) => true,
        (_, true, _) => receives,
        (.., true) => !receives,
        _ => false,
    };
    // An array of counts is one of blocks.
    let counts = counted(procedure, buffer).and_then(|(count, _)| count);
    if many || counts.is_some_and(|c| c.c.as_deref().unwrap_or_default().contains('[')) {
        Shape::Blocks
    } else {
        Shape::Single
    }
}

/// Returns the variant of `Use`.
pub fn usage(procedure: &Procedure, buffer: &Parameter) -> &'static str {
    match (buffer.asynchronous || procedure.name.ends_with("_init"), buffer.direction.as_deref()) {
        (true, _) => "Keep",
        (_, Some("out" | "inout")) => "Change",
        _ => "Read",
    }
}
