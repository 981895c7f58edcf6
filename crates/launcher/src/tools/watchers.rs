//! Tools that watch a program while it runs and must be told what is the library's own: the thread sanitizer and valgrind.

use crate::tools::install::Installation;
use object::{Object, ObjectSymbol};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::Path;

/// Where the thread sanitizer looks for options.
const THREAD_SANITIZER: &str = "TSAN_OPTIONS";

/// Where valgrind does.
const VALGRIND: &str = "VALGRIND_OPTS";

/// Tells whether a program calls the thread sanitizer's library, which may be linked into it.
fn has_thread_sanitizer(program: &Path) -> bool {
    let Ok(file) = File::open(program) else { return false };
    let cache = object::ReadCache::new(file);
    let Ok(file) = object::File::parse(&cache) else { return false };
    file.dynamic_symbols().any(|symbol| symbol.name() == Ok("__tsan_init"))
}

/// Adds an option that names a file to a variable that may hold others; it stays as it is if it names one already.
fn add(environment: &mut BTreeMap<OsString, OsString>, name: &str, option: &str, file: &Path) {
    let mut value = environment.get(OsStr::new(name)).cloned().unwrap_or_default();
    let is_said = value.to_string_lossy().contains(option) && name == THREAD_SANITIZER;
    if is_said || !file.exists() {
        return;
    }
    if !value.is_empty() {
        value.push(" ");
    }
    value.push(option);
    value.push(file);
    environment.insert(name.into(), value);
}

/// Tells the tools that watch a program, if it has some, which findings would be about the library.
pub fn instruct(installation: &Installation, program: &Path, environment: &mut BTreeMap<OsString, OsString>) {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    if name.starts_with("valgrind") {
        let file = installation.lib.join("weft/valgrind.supp");
        add(environment, VALGRIND, "--suppressions=", &file);
    } else if has_thread_sanitizer(program) {
        let file = installation.lib.join("weft/thread-sanitizer.supp");
        add(environment, THREAD_SANITIZER, "suppressions=", &file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_joins_others_and_gives_way_to_the_users_own() {
        let file = std::env::current_exe().unwrap();
        let after = |name: &str, before: Option<&str>| {
            let mut environment = BTreeMap::new();
            environment.extend(before.map(|value| (name.into(), value.into())));
            add(&mut environment, name, "suppressions=", &file);
            environment.remove(OsStr::new(name)).unwrap_or_default().to_string_lossy().into_owned()
        };
        let added = format!("suppressions={}", file.display());
        assert_eq!(after(THREAD_SANITIZER, None), added);
        assert_eq!(after(THREAD_SANITIZER, Some("exitcode=3")), format!("exitcode=3 {added}"));
        assert_eq!(after(THREAD_SANITIZER, Some("suppressions=mine")), "suppressions=mine");
        assert_eq!(after(VALGRIND, Some("--suppressions=mine")), format!("--suppressions=mine {added}"));
    }
}
