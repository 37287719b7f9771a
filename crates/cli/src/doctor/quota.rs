//! The CPU time that control groups grant in each period: cgroups(7), `cpu.max` of version 2, `cpu.cfs_quota_us` of version 1.

use super::check::Check;
use unspin_observe::control_group::ControlGroup;
use unspin_sys::sched;

/// The smallest quota of the groups around this process.
pub fn quota() -> Check {
    const NAME: &str = "CPU quota";
    let cpus = sched::affinity_count() as f64;
    match ControlGroup::own().iter().filter_map(ControlGroup::quota).min_by(f64::total_cmp) {
        None => Check::ok(NAME, "none"),
        Some(quota) if quota >= cpus => Check::ok(NAME, format!("{quota:.2} CPUs, which is no limit here")),
        Some(quota) => Check::limited(
            NAME,
            format!("{quota:.2} of {cpus} CPUs"),
            "when it is used up, all threads stand still until the next period: times jump, and polling uses it up sooner",
            Some(
                "systemctl set-property UNIT CPUQuota=; of a container: docker run --cpus; of a Pod: limits.cpu",
            ),
        ),
    }
}
