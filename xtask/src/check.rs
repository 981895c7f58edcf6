//! Runs every check that needs no built library, a result line per check as `tests/run` expects.

use crate::{Result, codegen, tidy};
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs all, or all but the lints; an error says how many failed.
pub fn run(root: &Path, with_lints: bool) -> Result {
    let mut failed = 0;
    let mut report = |name: &str, outcome: Result| match outcome {
        Ok(()) => println!("ok house/{name}"),
        Err(message) => {
            failed += 1;
            let mut lines = message.lines();
            println!("not ok house/{name}: {}", lines.next().unwrap_or_default());
            lines.for_each(|line| println!("    {line}"));
        }
    };
    report("codegen", codegen::run(root, true));
    for (rule, findings) in tidy::run(root)? {
        report(rule, summary(&findings));
    }
    report("format", cargo(root, &["fmt", "--all", "--check"]));
    if with_lints {
        let lints = ["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"];
        report("clippy", cargo(root, &lints));
    }
    if installed("deny") {
        report(
            "dependencies",
            cargo(root, &["deny", "--log-level", "error", "check", "licenses", "bans", "sources"]),
        );
        match cargo(root, &["deny", "--log-level", "error", "check", "advisories"]) {
            Err(message) if message.contains("failed to fetch advisory database") => {
                println!("skip house/advisories: the database of advisories cannot be reached");
            }
            outcome => report("advisories", outcome),
        }
    } else {
        for name in ["dependencies", "advisories"] {
            println!("skip house/{name}: cargo-deny is not installed (cargo install --locked cargo-deny)");
        }
    }
    if failed == 0 { Ok(()) } else { Err(format!("{failed} checks failed")) }
}

/// Turns findings into one outcome.
pub fn summary(findings: &[String]) -> Result {
    match findings {
        [] => Ok(()),
        [one] => Err(one.clone()),
        many => Err(format!("{} findings\n{}", many.len(), many.join("\n"))),
    }
}

fn installed(subcommand: &str) -> bool {
    let mut command = Command::new("cargo");
    command.args([subcommand, "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn cargo(root: &Path, arguments: &[&str]) -> Result {
    let output = Command::new("cargo")
        .args(arguments)
        .current_dir(root)
        .output()
        .map_err(|e| format!("cargo: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let lines: Vec<_> = text.lines().take(60).collect();
    Err(format!("cargo {}\n{}", arguments.join(" "), lines.join("\n")))
}
