//! What calls procedures of `mpi_f08` with buffers that a program has replaced: `crates/fortran/modules/mpi_f08ts.F90`.
//!
//! The module's interfaces of these procedures are `BIND(C)`, so that compilers pass the standard's descriptors and copy
//! nothing. A procedure that replaces `MPI_Send_f08ts` as the standard shows is not `BIND(C)`, and a compiler may have another
//! descriptor for it. So only Fortran can call the procedure: what is generated here. The launcher compiles it.

use super::argument::{has_choice, has_large};
use super::declarations::Declaration;
use super::modules::{
    HEAD, broken, declared_f08, interface_body, lines, procedures, specific, sync_reg_buffer,
};
use crate::api::{Api, Fortran};
use std::collections::BTreeMap;

/// Generates the procedures in families, each behind a line with its name: a program links those families that it calls.
pub fn calls(api: &Api) -> String {
    let mut families: BTreeMap<String, String> = BTreeMap::new();
    let names: Vec<_> = procedures(api).map(|procedure| procedure.name.as_str()).collect();
    families.insert("mpi_f_sync_reg".into(), call("MPI_F_sync_reg_f08ts", &[sync_reg_buffer()]));
    for procedure in procedures(api).filter(|p| p.fortran == Fortran::All && has_choice(p)) {
        let forms: &[bool] = if has_large(procedure) { &[false, true] } else { &[false] };
        for &large in forms {
            let text = call(&specific(procedure, large), &declared_f08(procedure, large));
            *families.entry(family(&procedure.name, &names)).or_default() += &text;
        }
    }
    let mut text = format!("{HEAD}! What calls procedures of module mpi_f08 that a program has replaced.\n");
    for (family, calls) in families {
        text += &format!("! family {family}\n{calls}");
    }
    text
}

/// Returns the name of the blocking form of a procedure, if there is one.
fn family(name: &str, names: &[&str]) -> String {
    let short = name.trim_end_matches("_init").trim_end_matches("_begin").trim_end_matches("_end");
    let blocking = |from: &str, to: &str| {
        let mut rest = short.strip_prefix(from)?.chars();
        let first = rest.next()?;
        let first = if to == "MPI_" { first.to_ascii_uppercase() } else { first };
        let other = format!("{to}{first}{}", rest.as_str());
        names.contains(&other.as_str()).then_some(other)
    };
    blocking("MPI_I", "MPI_")
        .or_else(|| blocking("MPI_File_i", "MPI_File_"))
        .unwrap_or_else(|| short.to_owned())
        .to_lowercase()
}

fn call(specific: &str, declarations: &[Declaration]) -> String {
    let arguments: Vec<_> = declarations.iter().map(|d| d.name.clone()).collect();
    let name = format!("weft_replaced_{}", specific.to_lowercase());
    let mut text = broken(&format!("subroutine {name}({}) bind(c)", arguments.join(", ")));
    text += "  use weft_mpi_types\n  implicit none\n";
    text += &lines(declarations, "  ");
    text += &format!("  interface\n{}  end interface\n", interface_body(specific, None, declarations, &[]));
    text += &broken(&format!("  call {specific}({})", arguments.join(", ")));
    text + "end subroutine\n"
}
