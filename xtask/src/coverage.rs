//! Which conformance programs call which procedure, for readers who look for a procedure's tests.

use crate::Result;
use crate::api::Api;
use crate::tidy::{callers, files};
use std::path::Path;

/// Lists the procedures of a chapter (of all, if none is given) with the programs that call them.
pub fn print(root: &Path, chapter: Option<u32>) -> Result {
    let api = Api::load(root)?;
    let callers = callers(&files(root)?);
    let wanted = |number: u32| chapter.is_none_or(|wanted| wanted == number);
    for part in api.chapters.iter().filter(|part| wanted(part.chapter)) {
        println!("{}. {}", part.chapter, part.title);
        for name in &part.procedures {
            let programs = callers.get(name).map(|set| set.iter().cloned().collect::<Vec<_>>().join(" "));
            let state = if api.done.contains_key(name) { "" } else { "(not done) " };
            println!("  {name}: {state}{}", programs.unwrap_or_else(|| "-".into()));
        }
    }
    Ok(())
}
