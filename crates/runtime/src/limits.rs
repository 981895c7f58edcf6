//! Limits of the system that a job with many ranks may meet, checked before they are met.

use std::fs;

fn number(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Returns how many memory mappings this process has.
pub fn mappings() -> u64 {
    fs::read_to_string("/proc/self/maps").map_or(0, |text| text.lines().count() as u64)
}

/// Returns a line of `/proc/self/status`, as a number.
fn status(name: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Returns the limit of `/proc/self/limits` with this name; `None` if there is none.
fn resource(name: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/self/limits").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Returns the smallest limit of processes and threads that the control groups of this process set, and its file.
fn group_limit() -> Option<(u64, String)> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mut smallest: Option<(u64, String)> = None;
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let root = match controllers {
            "" => "/sys/fs/cgroup".to_owned(),
            list if list.split(',').any(|one| one == "pids") => "/sys/fs/cgroup/pids".into(),
            _ => continue,
        };
        let mut path = path.trim_end_matches('/');
        loop {
            let file = format!("{root}{path}/pids.max");
            if let Some(limit) = number(&file) {
                let used = number(&format!("{root}{path}/pids.current")).unwrap_or(0);
                let free = limit.saturating_sub(used);
                if smallest.as_ref().is_none_or(|(least, _)| free < *least) {
                    smallest = Some((free, format!("{file} is {limit}, {used} in use")));
                }
            }
            match path.rfind('/') {
                Some(at) => path = &path[..at],
                None => break,
            }
        }
    }
    smallest
}

/// Checks that the system permits a thread per rank.
///
/// # Errors
/// Names the limit, its value, and how to lift it.
pub fn check_threads(ranks: u32, _kernel_scheduler: bool) -> Result<(), String> {
    // Workers, the monitor, control, and spare workers.
    let needed = u64::from(ranks) + 64;
    let fail = |what: String, remedy: &str| {
        Err(format!("{ranks} ranks need about {needed} kernel threads, but {what}; {remedy}"))
    };
    if let Some(limit) = number("/proc/sys/kernel/threads-max").filter(|limit| *limit < needed) {
        let remedy = format!("raise it: sysctl kernel.threads-max={}", needed * 2);
        return fail(format!("kernel.threads-max is {limit}"), &remedy);
    }
    if let Some(limit) = number("/proc/sys/kernel/pid_max").filter(|limit| *limit < needed + 300) {
        let remedy = format!("raise it: sysctl kernel.pid_max={}", (needed * 2).min(4_194_304));
        return fail(format!("kernel.pid_max is {limit}"), &remedy);
    }
    // Root may exceed the limit of its user.
    let is_root = status("Uid") == Some(0);
    if let Some(limit) = resource("Max processes").filter(|limit| *limit < needed && !is_root) {
        return fail(format!("the limit of processes per user is {limit}"), "raise it: ulimit -u");
    }
    if let Some((free, text)) = group_limit().filter(|(free, _)| *free < needed) {
        return fail(
            format!("the control group permits {free} more ({text})"),
            "raise its limit, or the container's",
        );
    }
    Ok(())
}

/// Mappings kept for what ranks and the library take while they run: heaps, workers, and the copy that is being loaded.
const SPARE_MAPPINGS: u64 = 1000;

/// Checks that the system permits the mappings of all ranks' copies and threads. `blocks` lists numbers of ranks that are
/// still to be loaded, and how many mappings each of them takes.
///
/// # Errors
/// Names the limit, its value, and how to lift it.
pub fn check_mappings(blocks: &[(u32, u64)]) -> Result<(), String> {
    let limit = number("/proc/sys/vm/max_map_count").unwrap_or(u64::MAX);
    let other = mappings() + SPARE_MAPPINGS;
    let needed = other + blocks.iter().map(|(ranks, each)| u64::from(*ranks) * each).sum::<u64>();
    if needed <= limit {
        return Ok(());
    }
    let ranks: u64 = blocks.iter().map(|(ranks, _)| u64::from(*ranks)).sum();
    let most = blocks.iter().map(|(_, each)| *each).max().unwrap_or(1).max(1);
    Err(format!(
        "{ranks} ranks need {needed} memory mappings ({most} each), but vm.max_map_count is {limit}, enough for {} ranks; \
         raise it: sysctl vm.max_map_count={}",
        limit.saturating_sub(other) / most,
        needed * 2
    ))
}

/// Adds to a failure what the system's limits say about it.
pub fn explain(message: &str) -> String {
    let maps = (mappings(), number("/proc/sys/vm/max_map_count").unwrap_or(u64::MAX));
    let threads = status("Threads").unwrap_or(0);
    let mut text = format!("{message} ({threads} threads, {} memory mappings in use)", maps.0);
    if maps.0 * 100 >= maps.1 * 98 {
        text +=
            &format!("; vm.max_map_count is {}: raise it: sysctl vm.max_map_count={}", maps.1, maps.1 * 4);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_too_low_is_named_with_its_remedy() {
        let message = check_mappings(&[(1, 2), (u32::MAX, 6)]).unwrap_err();
        assert!(message.starts_with("4294967296 ranks") && message.contains("(6 each)"), "{message}");
        assert!(message.contains("vm.max_map_count") && message.contains("sysctl"), "{message}");
        let message = check_threads(u32::MAX - 1, false).unwrap_err();
        assert!(message.contains("kernel.threads-max"), "{message}");
        check_threads(1, false).unwrap();
        check_mappings(&[(1, 6)]).unwrap();
    }
}
