//! `weft info`: the version, the machine, and the paths that a job on it would take.

use crate::tools::install::Installation;
use std::fmt::Write;
use std::fs;

fn file(path: &str) -> String {
    fs::read_to_string(path).map_or_else(|_| "unknown".into(), |text| text.trim().to_owned())
}

fn limit(name: &str) -> String {
    let limits = file("/proc/self/limits");
    let line = limits.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()).unwrap_or("unknown").to_owned()
}

/// Describes the installation and the machine.
pub fn describe(installation: &Installation) -> String {
    let mut text = String::new();
    let mut row = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<28}{value}");
    };
    row("Weft", env!("CARGO_PKG_VERSION").into());
    row("prefix", installation.prefix.display().to_string());
    for line in weft_machine::describe().lines() {
        let (name, value) = line.split_once(": ").unwrap_or((line, ""));
        row(name, value.into());
    }
    for line in weft_fabric::describe().lines() {
        let (name, value) = line.split_once(": ").unwrap_or((line, ""));
        row(name, value.into());
    }
    row("vm.max_map_count", file("/proc/sys/vm/max_map_count"));
    row("kernel.threads-max", file("/proc/sys/kernel/threads-max"));
    row("kernel.pid_max", file("/proc/sys/kernel/pid_max"));
    row("processes per user", limit("Max processes"));
    row("open files", limit("Max open files"));
    row("stack of a rank (bytes)", limit("Max stack size"));
    text
}
