//! What a sandbox or an old kernel withholds.

use super::check::Check;
use unspin_launch::machine::looks;
use unspin_sys::probe::Call;
use unspin_sys::{cpu, futex, membarrier};

/// Whether waits can poll.
pub fn polling() -> Check {
    const NAME: &str = "polling";
    let support = looks::poll_support();
    let filters = match support.filters {
        Some(0) => "no seccomp filter is in force".to_owned(),
        Some(1) => "1 seccomp filter is in force".to_owned(),
        Some(count) => format!("{count} seccomp filters are in force"),
        None => "the kernel does not tell of seccomp filters".to_owned(),
    };
    let Some(reason) = support.shortcomings() else {
        return Check::ok(NAME, format!("waits can poll: {filters}"));
    };
    let costs = match support.obstacle {
        Some(_) => "no wait polls, so `--waits poll` changes nothing",
        None => "waits in these functions sleep at once under `--waits poll`",
    };
    let remedy =
        "a profile that permits these calls; of a container: docker run --security-opt seccomp=unconfined";
    Check::limited(
        NAME,
        format!("{reason} ({filters})"),
        costs,
        support.filters.ne(&Some(0)).then_some(remedy),
    )
}

/// Calls without which something is dearer.
pub fn system_calls() -> Check {
    const NAME: &str = "system calls";
    cpu::prepare();
    // A call that a filter kills for was made by a child, and is not made here.
    let may_make = |call| !looks::poll_support().refused.iter().any(|&(refused, _)| refused == call);
    // Without words it only says whether the kernel has the call.
    let waits_for_any = may_make(Call::WaitForAny) && futex::any::wait(core::iter::empty(), None).is_some();
    let barriers = may_make(Call::Membarrier)
        && membarrier::register_global_expedited()
        && membarrier::issue_global_expedited();
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
