//! `weft info`: the version, the machine, and the ways that messages would take on it.

use crate::command_line::{settings, stop::Stop};
use crate::tools::install::Installation;
use std::fmt::Write;
use std::fs;
use weft_base::settings::NET_EAGER;
use weft_fabric::Sizes;
use weft_p2p::way::{self, Between, Carrier, Limits, Row};

fn file(path: &str) -> String {
    fs::read_to_string(path).map_or_else(|_| "unknown".into(), |text| text.trim().to_owned())
}

fn limit(name: &str) -> String {
    let limits = file("/proc/self/limits");
    let line = limits.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()).unwrap_or("unknown").to_owned()
}

/// Describes the installation, the machine, and the ways of messages under the settings that hold.
///
/// # Errors
/// As [`settings::settle`].
pub fn describe(installation: &Installation) -> Result<String, Stop> {
    let settings = settings::settle(installation, Vec::new())?;
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
    let rows =
        way::table(&Limits::of(|setting| settings.number(setting)), &carriers(settings.number(&NET_EAGER)));
    text.push_str(&show_ways(&rows));
    Ok(text)
}

/// Lists what carries messages between node processes, where hosts take `net_eager` bytes at once.
fn carriers(net_eager: u64) -> Vec<Carrier> {
    let carrier = |Sizes { is_on_host, nodes, eager, answers, reads }| {
        let between = if is_on_host { Between::Processes } else { Between::Hosts };
        Carrier { between, nodes, eager, answers, reads }
    };
    weft_fabric::sizes(net_eager).into_iter().map(carrier).collect()
}

/// Writes the ways as a table: of those that may go a length the first that is possible is taken.
fn show_ways(rows: &[Row]) -> String {
    let mut text = String::from(
        "\nWays of a message by its bytes; the first that is possible is taken (docs/book/src/ways.md)\n",
    );
    let mut title = String::new();
    for row in rows {
        let who = match row.between {
            Between::Threads => "ranks that are threads of a process".into(),
            Between::Processes => {
                format!("ranks of different processes of a host, which has {} of them", row.nodes)
            }
            Between::Hosts => "ranks of different hosts".into(),
        };
        if who != title {
            let _ = writeln!(text, "  {who}");
            title = who;
        }
        let bytes = match row.to {
            Some(to) => format!("{} to {to}", row.from),
            None => "any number".into(),
        };
        let _ = writeln!(text, "    {:<11}{bytes:<20}{}", row.way.name(), row.when);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_of_ranks_has_a_title_and_every_way_a_line() {
        let limits = Limits { eager: 4096, unexpected: 1 << 20, rings: 16, spins: 0, share_from: 48 << 10 };
        let rows = way::table(&limits, &carriers(64 << 10));
        let text = show_ways(&rows);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.iter().filter(|line| line.starts_with("    ")).count(), rows.len());
        assert_eq!(
            lines.iter().filter(|line| line.starts_with("  ") && !line.starts_with("    ")).count(),
            1 + carriers(64 << 10).len()
        );
        let has = |parts: [&str; 2]| lines.iter().any(|line| parts.iter().all(|part| line.contains(part)));
        assert!(has(["ring", "0 to 1024"]) && has(["answer", "65537 to 524288"]), "{text}");
    }
}
