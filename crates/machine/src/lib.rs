//! What this machine offers: cores, caches, memory nodes, the container's limits.

pub mod interfaces;
pub mod resources;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Returns how many cores this process may keep busy: those of its affinity mask, but no more than the processor time
/// its control group grants, rounded up.
pub fn usable_cores() -> usize {
    let allowed = allowed_cores().len().max(1);
    cpu_quota().map_or(allowed, |quota| allowed.min(quota.ceil().max(1.0) as usize))
}

/// Returns the numbers of the cores this process may run on.
pub fn allowed_cores() -> Vec<usize> {
    weft_sys::cpu::affinity().unwrap_or_default()
}

/// Returns the processor time per time that the control groups of this process grant, or none if unlimited.
pub fn cpu_quota() -> Option<f64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|l| l.strip_prefix("0::")).unwrap_or("/");
    // A limit may be set at any level above; inside a container the path may start at its own root.
    let mut quota: Option<f64> = None;
    let mut at = Some(Path::new(path));
    while let Some(level) = at {
        let inside = level.strip_prefix("/").unwrap_or(level);
        if let Some(q) = quota_in(&Path::new("/sys/fs/cgroup").join(inside)) {
            quota = Some(quota.map_or(q, |old| old.min(q)));
        }
        at = level.parent();
    }
    quota
}

fn quota_in(group: &Path) -> Option<f64> {
    parse_quota(&fs::read_to_string(group.join("cpu.max")).ok()?)
}

/// Parses the text of `cpu.max`: "200000 100000" is 2 cores, "max 100000" no limit.
fn parse_quota(text: &str) -> Option<f64> {
    let mut words = text.split_whitespace();
    let quota: f64 = words.next()?.parse().ok()?;
    let period: f64 = words.next()?.parse().ok()?;
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

/// A cache, as core `core` sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// 1, 2, 3.
    pub level: u32,
    /// Size in bytes.
    pub size: usize,
    /// The cores that share it.
    pub shared_by: Vec<usize>,
}

/// Returns the data caches of a core, innermost first.
pub fn caches(core: usize) -> Vec<Cache> {
    let mut caches = Vec::new();
    for index in 0..8 {
        let directory = format!("/sys/devices/system/cpu/cpu{core}/cache/index{index}");
        let read = |name: &str| fs::read_to_string(format!("{directory}/{name}")).ok();
        let (Some(kind), Some(level), Some(size)) = (read("type"), read("level"), read("size")) else {
            break;
        };
        if kind.trim() == "Instruction" {
            continue;
        }
        caches.push(Cache {
            level: level.trim().parse().unwrap_or(0),
            size: parse_size(size.trim()),
            shared_by: read("shared_cpu_list").map(|l| parse_list(&l)).unwrap_or_default(),
        });
    }
    caches
}

/// Returns the cores of each memory node.
pub fn memory_nodes() -> Vec<Vec<usize>> {
    (0..1024)
        .map_while(|n| fs::read_to_string(format!("/sys/devices/system/node/node{n}/cpulist")).ok())
        .map(|l| parse_list(&l))
        .collect()
}

/// Parses a size such as "32K".
fn parse_size(text: &str) -> usize {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match text[digits.len()..].chars().next() {
        Some('K') => 1 << 10,
        Some('M') => 1 << 20,
        Some('G') => 1 << 30,
        _ => 1,
    };
    digits.parse::<usize>().unwrap_or(0).saturating_mul(unit)
}

/// Parses a list of numbers and ranges such as "0-3,8".
fn parse_list(text: &str) -> Vec<usize> {
    let mut numbers = Vec::new();
    for part in text.trim().split(',').filter(|p| !p.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) {
            numbers.extend(first..=last.min(first.saturating_add(1 << 16)));
        }
    }
    numbers
}

/// Describes the machine in a few lines for `weft info`.
pub fn describe() -> String {
    let allowed = allowed_cores();
    let mut text = String::new();
    let _ = write!(text, "cores: {} usable of {} allowed", usable_cores(), allowed.len());
    if let Some(quota) = cpu_quota() {
        let _ = write!(text, " (control group grants {quota})");
    }
    text.push('\n');
    for cache in allowed.first().map(|&c| caches(c)).unwrap_or_default() {
        let shared = cache.shared_by.len().max(1);
        let _ = writeln!(text, "cache L{}: {} KiB, shared by {shared}", cache.level, cache.size >> 10);
    }
    let _ = writeln!(text, "memory nodes: {}", memory_nodes().len().max(1));
    let switch =
        if weft_sys::cpu::can_switch_thread_pointer() { "user-level" } else { "kernel threads only" };
    let _ = writeln!(text, "rank switching: {switch}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        assert_eq!(parse_list("0-3,8\n"), [0, 1, 2, 3, 8]);
        assert_eq!(parse_list(""), [0usize; 0]);
        assert_eq!(parse_list("x,5"), [5]);
    }

    #[test]
    fn sizes() {
        assert_eq!(parse_size("32K"), 32 << 10);
        assert_eq!(parse_size("8M"), 8 << 20);
        assert_eq!(parse_size("64"), 64);
        assert_eq!(parse_size("?"), 0);
    }

    #[test]
    fn quotas() {
        assert_eq!(parse_quota("200000 100000\n"), Some(2.0));
        assert_eq!(parse_quota("max 100000\n"), None);
        assert_eq!(parse_quota(""), None);
    }

    #[test]
    fn this_machine() {
        assert!(usable_cores() >= 1);
        assert!(!describe().is_empty());
    }
}
