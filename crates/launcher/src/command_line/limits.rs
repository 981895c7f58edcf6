//! Refuses at once what no system of this kind can start. What only this machine's state decides is found later.

use std::fs;

/// What the kernel can number at most, wherever.
const MOST_THREADS: u64 = 1 << 22;
/// A thread's stack and its guard.
const LEAST_MAPPINGS: u64 = 2;

fn number(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Checks that so many ranks can exist, on this host (if it takes part) and so many others.
///
/// # Errors
/// Names the limit, its value, and what to do.
pub fn check_ranks(ranks: u64, is_here: bool, others: u64, as_threads: bool) -> Result<(), String> {
    let afar = others.saturating_mul(MOST_THREADS);
    if ranks <= afar {
        return Ok(());
    }
    let what = if as_threads { "threads" } else { "processes" };
    if !is_here {
        let hosts = if others == 1 { "host" } else { "hosts" };
        return Err(format!(
            "{ranks} ranks: {others} {hosts} can have {afar} {what} at most; start fewer ranks or give more hosts"
        ));
    }
    let here = ranks - afar;
    let most = |path| number(path).unwrap_or(MOST_THREADS);
    let mut limits = vec![
        ("kernel.pid_max", most("/proc/sys/kernel/pid_max"), 1),
        ("kernel.threads-max", most("/proc/sys/kernel/threads-max"), 1),
    ];
    if as_threads {
        let mappings = number("/proc/sys/vm/max_map_count").unwrap_or(u64::MAX);
        limits.push(("vm.max_map_count", mappings, LEAST_MAPPINGS));
    }
    for (name, limit, each) in limits {
        let needed = here * each;
        if needed <= limit {
            continue;
        }
        let can_be_raised = name == "vm.max_map_count" || needed < MOST_THREADS;
        let remedy = if can_be_raised {
            // As much again for what ranks do.
            let wanted = if each == 1 { (needed * 2).min(MOST_THREADS) } else { needed * 3 };
            format!("start fewer, or raise it: sysctl {name}={wanted}")
        } else {
            "start fewer, or give more hosts".into()
        };
        return Err(format!(
            "{ranks} ranks are {ranks} {what}, but {name} is {limit}, enough for fewer than {} ranks here; {remedy}",
            limit / each + 1
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_refused() {
        assert!(check_ranks(4, true, 0, true).is_ok());
        assert!(check_ranks(5_000_000, true, 0, false).is_err_and(|why| why.contains("kernel.pid_max")));
        assert!(check_ranks(5_000_000, false, 2, true).is_ok());
        let why = check_ranks(100_000_000, false, 2, true).expect_err("too many");
        assert!(why.contains("2 hosts can have 8388608 threads"), "{why}");
    }
}
