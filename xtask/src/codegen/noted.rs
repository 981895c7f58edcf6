//! Which of their arguments the exported functions note for reports.

use crate::api::Procedure;

#[path = "../../../crates/base/src/noted.rs"]
#[allow(dead_code)] // The reader's half.
mod rule;

use rule::Form;

/// Returns the expression that begins a call.
pub fn begin(procedure: &Procedure, name: &str) -> String {
    let words = words(procedure, rule::form(name));
    match words.is_empty() {
        true => format!("entry::begin(&\"{name}\")"),
        false => format!("entry::begin_with(&\"{name}\", [{}])", words.join(", ")),
    }
}

fn words(procedure: &Procedure, form: Form) -> Vec<String> {
    let named = |names: &[&str]| {
        let found = names.iter().find_map(|name| procedure.parameters.iter().find(|p| p.name == *name));
        found.map(|parameter| parameter.rust_name())
    };
    let number =
        |names: &[&str]| named(names).map_or_else(|| "u64::MAX".into(), |name| format!("{name} as u64"));
    let handle =
        |names: &[&str]| named(names).map_or_else(|| "u64::MAX".into(), |name| format!("{name}.0 as u64"));
    let peer = |peer: &[&str], tag: &[&str]| {
        let (peer, tag) = (named(peer).unwrap_or_default(), named(tag).unwrap_or_default());
        format!("entry::pair({peer}, {tag})")
    };
    let comm = || handle(&["comm", "local_comm", "intercomm", "comm_old"]);
    match form {
        Form::Nothing => Vec::new(),
        Form::Communicator => vec![comm()],
        Form::Probe => vec![comm(), peer(&["source"], &["tag"])],
        Form::Message { .. } => {
            vec![comm(), peer(&["dest", "source"], &["tag"]), number(&["count"]), handle(&["datatype"])]
        }
        Form::Exchange => vec![
            comm(),
            peer(&["source"], &["recvtag"]),
            number(&["recvcount", "count"]),
            handle(&["recvtype", "datatype"]),
            peer(&["dest"], &["sendtag"]),
            number(&["sendcount", "count"]),
            handle(&["sendtype", "datatype"]),
        ],
        Form::Requests => {
            let address = named(&["request", "array_of_requests"]).unwrap_or_default();
            let count =
                named(&["count", "incount"]).map_or_else(|| "1".into(), |name| format!("{name} as u64"));
            vec![format!("{address}.addr() as u64"), count]
        }
        Form::Window => vec![handle(&["win"]), number(&["rank"])],
        Form::Collective => {
            // What the receive says is there even where the send is in place; but for a root's.
            let sends = procedure.name == "MPI_Gather" || procedure.name == "MPI_Reduce";
            let (count, kind) = if sends { ("sendcount", "sendtype") } else { ("recvcount", "recvtype") };
            let mut words =
                vec![comm(), number(&["root"]), number(&["count", count]), handle(&["datatype", kind])];
            while words.last().is_some_and(|word| word == "u64::MAX") && procedure.name == "MPI_Barrier" {
                words.pop();
            }
            words
        }
    }
}
