//! Declarations of arguments, for module `mpi` and for `mpi_f08`.

use super::argument::{Role, number};
use crate::api::{Parameter, Procedure};

/// A dummy argument.
pub struct Declaration {
    pub name: String,
    /// Type and attributes.
    pub of: String,
    /// Dimensions, in parentheses.
    pub dimensions: String,
}

impl Declaration {
    /// Returns the declaration as a line of Fortran.
    pub fn line(&self) -> String {
        format!("{} :: {}{}", self.of, self.name, self.dimensions)
    }
}

/// Names of arguments that Fortran takes for something else where they stand beside declarations.
fn safe(name: &str) -> String {
    name.to_lowercase()
}

fn integer(kind: &str) -> String {
    match kind {
        "MPI_Aint" => "integer(kind=MPI_ADDRESS_KIND)".into(),
        "MPI_Count" => "integer(kind=MPI_COUNT_KIND)".into(),
        "MPI_Offset" => "integer(kind=MPI_OFFSET_KIND)".into(),
        _ => "integer".into(),
    }
}

/// Declares an argument for module `mpi_f08`; none where Fortran lacks it.
pub fn f08(procedure: &Procedure, parameter: &Parameter, large: bool) -> Option<Declaration> {
    let role = Role::of(procedure, parameter, large)?;
    let c = parameter.c_type(large)?;
    let direction = parameter.direction.as_deref().unwrap_or("in");
    let intent = match (parameter.f08_intent, direction) {
        (false, _) => "",
        (_, "out") => ", intent(out)",
        (_, "inout") => ", intent(inout)",
        _ => ", intent(in)",
    };
    let length = parameter.length.as_deref().map(str::to_lowercase).filter(|length| !length.is_empty());
    let array = || format!("({})", length.clone().unwrap_or("*".into()));
    let (of, intent, dimensions) = match role {
        Role::Choice => {
            let intent = if c.starts_with("const") && parameter.f08_intent { ", intent(in)" } else { "" };
            ("type(*), dimension(..)".into(), intent, String::new())
        }
        Role::Number => (integer(number(parameter, large)), ", intent(in)", String::new()),
        Role::Numbers if c.ends_with("[3]") => ("integer".into(), intent, "(3, n)".into()),
        Role::Numbers | Role::Special if c.ends_with("[]") => {
            (integer(number(parameter, large)), intent, array())
        }
        Role::Numbers | Role::Special if parameter.kind == "F90_STATUS" => {
            ("integer".into(), intent, "(MPI_STATUS_SIZE)".into())
        }
        Role::Numbers | Role::Special => (integer(number(parameter, large)), intent, String::new()),
        Role::Logical => ("logical".into(), ", intent(in)", String::new()),
        Role::Logicals if c.ends_with("[]") => ("logical".into(), intent, array()),
        Role::Logicals => ("logical".into(), intent, String::new()),
        Role::Handle(kind) => (format!("type(MPI_{kind})"), ", intent(in)", String::new()),
        Role::HandleOut(kind) | Role::HandleInOut(kind) => {
            (format!("type(MPI_{kind})"), intent, String::new())
        }
        Role::Handles(kind) | Role::HandlesInOut(kind) | Role::HandlesOut(kind) => {
            (format!("type(MPI_{kind})"), intent, array())
        }
        Role::Status => ("type(MPI_Status)".into(), ", intent(in)", String::new()),
        Role::StatusOut if parameter.kind == "F08_STATUS" || direction == "inout" => {
            ("type(MPI_Status)".into(), intent, String::new())
        }
        Role::StatusOut => ("type(MPI_Status)".into(), "", String::new()),
        Role::Statuses => ("type(MPI_Status)".into(), "", "(*)".into()),
        Role::Text => ("character(len=*)".into(), ", intent(in)", String::new()),
        Role::TextOut => {
            let length = parameter.length.as_deref().unwrap_or("*");
            (format!("character(len={length})"), ", intent(out)", String::new())
        }
        Role::Texts(1) => ("character(len=*)".into(), ", intent(in)", "(*)".into()),
        Role::Texts(_) => ("character(len=*)".into(), ", intent(in)", "(count, *)".into()),
        Role::Address => ("type(c_ptr)".into(), ", intent(out)", String::new()),
        Role::Index => ("integer".into(), intent, String::new()),
        Role::Indices => ("integer".into(), intent, array()),
        Role::Function => {
            let form = if large && parameter.kind == "POLYFUNCTION" { "_c" } else { "" };
            let interface = parameter.function.as_deref().unwrap_or("MPI_User_function");
            (format!("procedure({interface}{form})"), "", String::new())
        }
        Role::Word => ("integer(kind=MPI_ADDRESS_KIND)".into(), intent, String::new()),
    };
    let asynchronous = if parameter.asynchronous { ", asynchronous" } else { "" };
    Some(Declaration { name: safe(&parameter.name), of: format!("{of}{intent}{asynchronous}"), dimensions })
}

/// Declares an argument for module `mpi`; none where Fortran lacks it. `pointer` says that an address is a `C_PTR`.
pub fn old(procedure: &Procedure, parameter: &Parameter, pointer: bool) -> Option<Declaration> {
    let role = Role::of(procedure, parameter, false)?;
    let c = parameter.c_type(false)?;
    let array = if c.ends_with("[]") { "(*)" } else { "" };
    let old = parameter.kind.ends_with(|c: char| c.is_ascii_digit());
    let (of, dimensions) = match role {
        Role::Choice => ("type(*), dimension(*)".into(), ""),
        // What is detached is not told.
        Role::Address if old => ("type(*), dimension(*)".into(), ""),
        Role::Address if pointer => ("type(c_ptr)".into(), ""),
        Role::Address => ("integer(kind=MPI_ADDRESS_KIND)".into(), ""),
        Role::Numbers if c.ends_with("[3]") => ("integer".into(), "(3, *)"),
        Role::Numbers if parameter.kind == "F90_STATUS" => ("integer".into(), "(MPI_STATUS_SIZE)"),
        Role::Number | Role::Numbers | Role::Special => (integer(number(parameter, false)), array),
        Role::Logical | Role::Logicals => ("logical".into(), array),
        Role::Handle(_)
        | Role::HandleOut(_)
        | Role::HandleInOut(_)
        | Role::Handles(_)
        | Role::HandlesInOut(_)
        | Role::HandlesOut(_)
        | Role::Index
        | Role::Indices => ("integer".into(), array),
        Role::Status | Role::StatusOut if parameter.kind == "F08_STATUS" => ("type(MPI_Status)".into(), ""),
        Role::Status | Role::StatusOut => ("integer".into(), "(MPI_STATUS_SIZE)"),
        Role::Statuses => ("integer".into(), "(MPI_STATUS_SIZE, *)"),
        Role::Text | Role::TextOut => ("character(len=*)".into(), ""),
        Role::Texts(1) => ("character(len=*)".into(), "(*)"),
        Role::Texts(_) => ("character(len=*)".into(), "(count, *)"),
        Role::Function => ("external".into(), ""),
        Role::Word if old => ("integer".into(), ""),
        Role::Word => ("integer(kind=MPI_ADDRESS_KIND)".into(), ""),
    };
    Some(Declaration { name: safe(&parameter.name), of, dimensions: dimensions.into() })
}
