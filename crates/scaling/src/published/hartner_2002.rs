//! Bill Hartner, "Re: PATCH: updated ipc lock patch [PERFORMANCE RESULTS]", linux-kernel, 31 October 2002.
//!
//! `semopbench -g 64 -s 16 -n 16384` on 8 CPUs (Pentium III, 700 MHz), 2.5.44-mm2 without and with the RCU patch.

use super::check::Check;
use crate::lock_chain::{LockChain, WaitingCost};

/// CPUs of the machine.
pub const CPUS: u32 = 8;
/// `-g`: tokens, and so the processes that can run at the same time.
pub const GROUPS: u32 = 64;
/// `-s`.
pub const SEMAPHORES: u32 = 16;
/// `-n`.
pub const REPETITIONS: u32 = 16_384;
/// Seconds of both runs of 2.5.44-mm2.
pub const BEFORE_S: [f64; 2] = [515.1, 515.4];
/// Seconds of both runs with the patch.
pub const AFTER_S: [f64; 2] = [46.7, 46.7];
/// Share of the 8 CPUs in `.text.lock.sem`, the spin for the IPC lock, before; after it is gone.
pub const SPIN_CPU: f64 = 0.70;

/// Times that a token was passed on.
pub const fn hand_offs() -> f64 {
    GROUPS as f64 * SEMAPHORES as f64 * REPETITIONS as f64
}

/// What the model says. With the patch no lock is contended: a hand-off takes all of its CPU time, `after`. Without it
/// the lock is saturated, and a hand-off takes one lock's hold and hand-over, `before`.
pub fn checks() -> Vec<Check> {
    let mean = |runs: [f64; 2]| 0.5 * (runs[0] + runs[1]);
    let cpu_s = f64::from(CPUS) * mean(AFTER_S) / hand_offs();
    let lock_s = mean(BEFORE_S) / hand_offs();
    let seconds = |cpus: u32, think_s: f64, hold_s: f64| {
        let waiting = WaitingCost::Spin { hand_over_s: 0.0, per_waiter_s: 0.0 };
        LockChain { threads: GROUPS, cpus, think_s, hold_s, waiting }.state()
    };
    // All CPU time that the patched kernel needs may be under the lock: the worst that a lock without cost can do.
    let all_held = seconds(CPUS, 0.0, cpu_s);
    let saturated = seconds(CPUS, cpu_s, lock_s);
    let check = |figure, given, published, predicted| Check {
        report: "Hartner 2002",
        figure,
        given,
        published,
        predicted,
    };
    vec![
        check(
            "seconds with the patch",
            "before, and the share that spun; the rest stays as it is",
            mean(AFTER_S),
            mean(BEFORE_S) * (1.0 - SPIN_CPU),
        ),
        check(
            "seconds before",
            "after; all of it held under one lock, no hand-over",
            mean(BEFORE_S),
            hand_offs() / all_held.throughput,
        ),
        check(
            "spinning before, % of 8 CPUs",
            "before, after; the lock is saturated",
            100.0 * SPIN_CPU,
            100.0 * saturated.waiting / f64::from(CPUS),
        ),
    ]
}
