//! What a sandbox or an old kernel withholds.

use super::check::Check;
use std::fs;
use unspin_sys::{cpu, futex, membarrier};

/// The looks of this module.
pub fn checks() -> Vec<Check> {
    vec![filters(), system_calls()]
}

fn filters() -> Check {
    const NAME: &str = "seccomp filters";
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    match (field(&status, "Seccomp"), field(&status, "Seccomp_filters")) {
        (Some(0), _) => Check::ok(NAME, "none: waits can poll"),
        (mode, count) => {
            let found = match (mode, count) {
                (Some(_), Some(1)) => "1 filter is in force".to_owned(),
                (Some(_), Some(count)) => format!("{count} filters are in force"),
                (Some(mode), None) => format!("a filter is in force (mode {mode})"),
                (None, _) => "/proc does not tell whether there are any".to_owned(),
            };
            let costs = "no wait polls under a filter, so `--waits poll` changes nothing";
            let remedy =
                "run outside of the sandbox; of a container: docker run --security-opt seccomp=unconfined";
            Check::limited(NAME, found, costs, Some(remedy))
        }
    }
}

/// A number of a status file of `/proc`.
fn field(status: &str, name: &str) -> Option<u64> {
    let mut lines = status.lines();
    lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok())
}

fn system_calls() -> Check {
    const NAME: &str = "system calls";
    cpu::prepare();
    // Without words it only says whether the kernel has the call.
    let waits_for_any = futex::any::wait(core::iter::empty(), None).is_some();
    let barriers = membarrier::register_global_expedited() && membarrier::issue_global_expedited();
    let calls = [
        ("membarrier", barriers, "readers of the engine rcu issue fences"),
        (
            "rseq",
            cpu::get() != 0,
            "recording and the lock rw-biased ask for the CPU's number by a system call or do without it",
        ),
        (
            "futex_waitv",
            waits_for_any,
            "a waiter in an arena learns of a process that has died by a look at intervals",
        ),
    ];
    let missing: Vec<&str> = calls.iter().filter(|(_, works, _)| !works).map(|&(name, _, _)| name).collect();
    if missing.is_empty() {
        return Check::ok(NAME, "membarrier, rseq and futex_waitv work");
    }
    let costs: Vec<&str> = calls.iter().filter(|(_, works, _)| !works).map(|&(_, _, costs)| costs).collect();
    let found = format!("{} cannot be used: this kernel, glibc or a filter lacks it", missing.join(" and "));
    Check::limited(
        NAME,
        found,
        &costs.join("; "),
        Some("Linux 5.16 and glibc 2.35, and a sandbox that permits the calls"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_status_file_are_told_apart() {
        let status = "Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t3\n";
        assert_eq!((field(status, "Seccomp"), field(status, "Seccomp_filters")), (Some(2), Some(3)));
        assert_eq!(field("Name:\tx\n", "Seccomp"), None);
    }
}
