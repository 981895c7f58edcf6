//! The compiler wrappers; which one is told by the name under which it was called.

use std::path::Path;
use weft_base::say;
use weft_launcher::tools::install::Installation;
use weft_launcher::tools::wrapper::{Language, Wrapper};

fn main() {
    let mut arguments = std::env::args_os();
    let called = arguments.next().unwrap_or_default();
    let name = Path::new(&called).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let run = Installation::find()
        .and_then(|installation| Wrapper::new(Language::of(&name), arguments.collect(), installation).run());
    std::process::exit(run.unwrap_or_else(|message| {
        say!("{name}: {message}");
        1
    }));
}
