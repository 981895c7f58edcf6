//! `weft info`: the version, the machine, and the paths that a job on it would take.

use crate::install::Installation;
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

/// Tells whether the kernel lets programs change the thread pointer by an instruction (bit 1 of AT_HWCAP2).
fn has_fsgsbase() -> bool {
    let vector = fs::read("/proc/self/auxv").unwrap_or_default();
    let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_ne_bytes);
    vector.chunks_exact(16).any(|pair| word(&pair[..8]) == 26 && word(&pair[8..]) & 2 != 0)
}

/// Describes the installation and the machine.
pub fn describe(installation: &Installation) -> String {
    let mut text = String::new();
    let mut row = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<28}{value}");
    };
    row("Weft", env!("CARGO_PKG_VERSION").into());
    row("prefix", installation.prefix.display().to_string());
    let usable = std::thread::available_parallelism().map_or(1, usize::from);
    row("usable processors", usable.to_string());
    let direct = cfg!(target_arch = "aarch64") || has_fsgsbase();
    row("scheduler", if direct { "user-level (switches in user space)" } else { "kernel threads" }.into());
    if cfg!(target_arch = "x86_64") {
        row("FSGSBASE", if has_fsgsbase() { "yes" } else { "no: ranks run on kernel threads" }.into());
    }
    row("vm.max_map_count", file("/proc/sys/vm/max_map_count"));
    row("kernel.threads-max", file("/proc/sys/kernel/threads-max"));
    row("kernel.pid_max", file("/proc/sys/kernel/pid_max"));
    row("processes per user", limit("Max processes"));
    row("open files", limit("Max open files"));
    row("stack of a rank (bytes)", limit("Max stack size"));
    let settings: Vec<_> = std::env::vars().filter(|(name, _)| name.starts_with("WEFT_")).collect();
    for (name, value) in settings {
        row(&name, value);
    }
    text
}
