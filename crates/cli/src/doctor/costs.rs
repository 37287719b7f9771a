//! What the machine's own operations cost: measured, in some 50 ms.

use super::check::Check;
use unspin_launch::machine::floor::Floor;
use unspin_launch::machine::wakeup;
use unspin_report::figures::time;

/// What the operations cost that locks are made of.
pub fn operations() -> Check {
    Check::ok("operations", Floor::measure().to_string())
}

/// What a wake-up costs.
pub fn wake_ups() -> Check {
    const NAME: &str = "wake-ups";
    match wakeup::cost() {
        Ok(cost) if cost.is_measured() => {
            let [futex, epoll] = [cost.futex_ns, cost.epoll_ns].map(|ns| time(ns as f64 * 1e-9));
            Check::ok(NAME, format!("one costs {futex} (futex), {epoll} (epoll)"))
        }
        Ok(cost) => Check::limited(
            NAME,
            format!("the machine is too busy to measure one; {} are assumed", time(cost.ns() as f64 * 1e-9)),
            "waits that poll do so for that long, whatever a wake-up costs",
            Some("measure on a quiet machine, or state the cost: export UNSPIN_WAKEUP_NS=25000"),
        ),
        Err(error) => Check::limited(
            NAME,
            error.to_string(),
            "commands that measure refuse to start",
            Some("unset UNSPIN_WAKEUP_NS"),
        ),
    }
}
