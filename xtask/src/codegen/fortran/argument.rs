//! What a parameter of an MPI procedure is for Fortran.

use crate::api::{Parameter, Procedure};
use crate::codegen::constants::handle_kind;

/// How a Fortran argument becomes an argument of the C function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role<'a> {
    /// A buffer of any type and rank.
    Choice,
    /// A number that C takes by value.
    Number,
    /// A number or an array of numbers that C takes by address, or words that C knows by address only.
    Numbers,
    /// As `Numbers`, where an address may mean something of its own.
    Special,
    /// A truth value that C takes by value.
    Logical,
    /// Truth values that C takes by address.
    Logicals,
    /// A handle that C takes by value; its kind.
    Handle(&'a str),
    /// A handle that C stores.
    HandleOut(&'a str),
    /// A handle that C reads and may change.
    HandleInOut(&'a str),
    /// An array of handles that C reads.
    Handles(&'a str),
    /// An array of handles that C reads and may change.
    HandlesInOut(&'a str),
    /// An array of handles that C stores.
    HandlesOut(&'a str),
    /// A status that C reads.
    Status,
    /// A status that C stores or changes.
    StatusOut,
    /// An array of statuses.
    Statuses,
    /// A text that C reads.
    Text,
    /// A text that C stores.
    TextOut,
    /// An array of texts; how many dimensions it has.
    Texts(u8),
    /// An address that C stores.
    Address,
    /// The number of an element of an array, from one.
    Index,
    /// Such numbers.
    Indices,
    /// A procedure of the user.
    Function,
    /// A word of the user, for such a procedure.
    Word,
}

/// Procedures that say which elements of an array of requests are complete.
fn tells_indices(procedure: &Procedure) -> bool {
    let name = procedure.name.as_str();
    name.ends_with("any") || name.ends_with("some")
}

impl<'a> Role<'a> {
    /// Finds the role of a parameter in a form of a procedure; none where Fortran lacks it.
    pub fn of(procedure: &Procedure, parameter: &'a Parameter, large: bool) -> Option<Self> {
        let c = parameter.c_type(large).filter(|c| parameter.fortran && *c != "...")?;
        let is_in = parameter.direction.as_deref().unwrap_or("in") == "in";
        let base = c.trim_start_matches("const ").trim_end_matches(" *").trim_end_matches(" []");
        let (array, pointer) = (c.ends_with(" []"), c.ends_with(" *"));
        if let Some(kind) = handle_kind(base) {
            return Some(match (array, pointer, parameter.direction.as_deref().unwrap_or("in")) {
                (true, _, "in") => Self::Handles(kind),
                (true, _, "out") => Self::HandlesOut(kind),
                (true, ..) => Self::HandlesInOut(kind),
                (_, true, "out") => Self::HandleOut(kind),
                (_, true, _) => Self::HandleInOut(kind),
                _ => Self::Handle(kind),
            });
        }
        Some(match parameter.kind.as_str() {
            "BUFFER" => Self::Choice,
            "C_BUFFER" | "C_BUFFER2" => Self::Address,
            "STATUS" | "F08_STATUS" if is_in => Self::Status,
            "STATUS" if array => Self::Statuses,
            "STATUS" | "F08_STATUS" => Self::StatusOut,
            "STRING" if is_in => Self::Text,
            "STRING" => Self::TextOut,
            "STRING_ARRAY" => Self::Texts(1),
            "STRING_2DARRAY" => Self::Texts(2),
            "FUNCTION" | "POLYFUNCTION" => Self::Function,
            "LOGICAL" if array || pointer => Self::Logicals,
            "LOGICAL" => Self::Logical,
            "LOGICAL_VOID" => Self::Logicals,
            "WEIGHT" => Self::Special,
            "ERROR_CODE" if array => Self::Special,
            "INDEX" if !is_in && array && tells_indices(procedure) => Self::Indices,
            "INDEX" if !is_in && tells_indices(procedure) => Self::Index,
            "EXTRA_STATE" | "EXTRA_STATE2" | "ATTRIBUTE_VAL" | "ATTRIBUTE_VAL_10" => Self::Word,
            _ if array || pointer || c.ends_with("[3]") => Self::Numbers,
            _ => Self::Number,
        })
    }
}

/// Returns the type of a number in C without what is around it.
pub fn number(parameter: &Parameter, large: bool) -> &str {
    let c = parameter.c_type(large).unwrap_or_default().trim_start_matches("const ");
    c.split(' ').next().unwrap_or_default()
}

/// Tells whether a procedure has a buffer of any type and rank, so that its name in module `mpi_f08` says so.
pub fn has_choice(procedure: &Procedure) -> bool {
    procedure.parameters.iter().any(|p| p.kind == "BUFFER")
}

/// Tells whether module `mpi_f08` has the large-count form of a procedure: where both forms have the same types for Fortran,
/// there is only one.
pub fn has_large(procedure: &Procedure) -> bool {
    procedure.large
        && procedure.parameters.iter().any(|parameter| kinds(parameter, false) != kinds(parameter, true))
}

/// Returns what tells the types of two forms of a parameter apart.
fn kinds(parameter: &Parameter, large: bool) -> Option<&str> {
    parameter.c_type(large).map(|_| match number(parameter, large) {
        "MPI_Aint" | "MPI_Offset" => "MPI_Count",
        other => other,
    })
}
