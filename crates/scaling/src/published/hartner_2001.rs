//! Bill Hartner, "VolanoMark 2.1.2: SGI Lockmeter Data for 2.4.4 and 2.4.4+MQ Scheduler Kernel", IBM, 2001.
//!
//! VolanoMark 10/100 on 8 CPUs. The report has no throughput, only rows of locks.

use super::check::Check;
use crate::lock_chain::{LockChain, LockState, WaitingCost};
use crate::lock_set;

/// CPUs of the machine.
pub const CPUS: u32 = 8;

/// A row of Lockmeter's table. Shares are fractions of 1, times are microseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PublishedRow {
    /// Lock or caller.
    pub name: &'static str,
    /// UTIL.
    pub util: f64,
    /// CON.
    pub con: f64,
    /// Mean hold.
    pub hold_us: f64,
    /// Mean wait of the attempts that waited.
    pub wait_us: f64,
    /// Share of all CPUs that spun.
    pub spin_cpu: f64,
    /// TOTAL.
    pub attempts: u64,
}

/// `runqueue_lock` of 2.4.4.
pub const RUNQUEUE_LOCK: PublishedRow = PublishedRow {
    name: "runqueue_lock",
    util: 0.763,
    con: 0.892,
    hold_us: 8.8,
    wait_us: 49.0,
    spin_cpu: 0.474,
    attempts: 2_392_438,
};
/// `*TOTAL*` of 2.4.4. Its utilisation is the sum over all locks.
pub const TOTAL: PublishedRow = PublishedRow {
    name: "*TOTAL*",
    util: f64::NAN,
    con: 0.153,
    hold_us: 5.9,
    wait_us: 47.0,
    spin_cpu: 0.477,
    attempts: 14_686_011,
};

/// The eight `runqueue_lock`s of 2.4.4 with the multi-queue scheduler, by caller. UTIL is the sum over the locks.
pub const MQ_CALLERS: [PublishedRow; 13] = [
    row("__wake_up+0x8c", 0.088, 0.079, 3.8, 3.4, 0.0008, 281_511),
    row("deliver_signal+0xa8", 0.0001, 0.065, 0.5, 4.0, 0.0, 1255),
    row("process_timeout+0x48", 0.0, 0.1, 4.6, 1.9, 0.0, 30),
    row("schedule+0x130", 0.358, 0.026, 2.8, 3.7, 0.0016, 1_583_541),
    row("schedule+0x530", 0.0075, 0.241, 1.7, 0.0, 0.0, 52_363),
    row("schedule+0xc14", 0.028, 0.0, 0.2, 0.0, 0.0, 1_490_370),
    row("schedule+0xc9c", 0.0002, 0.304, 3.8, 3.7, 0.0, 602),
    row("schedule+0xcf0", 0.0, 0.857, 1.2, 4.1, 0.0, 7),
    row("schedule+0xe4c", 0.0001, 0.0012, 2.1, 1.6, 0.0, 818),
    row("schedule_tail+0x24", 0.0, 0.0, 0.3, 0.0, 0.0, 812),
    row("schedule_tail+0xa4", 0.0, 0.0, 4.3, 0.0, 0.0, 6),
    row("setscheduler+0x104", 0.0001, 0.0025, 1.3, 7.7, 0.0, 804),
    row("wake_up_process+0x54", 0.066, 0.074, 2.2, 3.5, 0.001, 355_900),
];
/// Mean utilisation of one of the eight locks, as the report states it.
pub const MQ_UTIL_EACH: f64 = 0.0685;
/// Share of all CPUs that spun for the eight locks.
pub const MQ_SPIN_CPU: f64 = 0.0034;

/// CPUs used by the run-queue lock or locks, before and after.
pub const CPUS_USED: [f64; 2] = [4.56, 0.58];

const fn row(
    name: &'static str,
    util: f64,
    con: f64,
    hold_us: f64,
    wait_us: f64,
    spin_cpu: f64,
    attempts: u64,
) -> PublishedRow {
    PublishedRow { name, util, con, hold_us, wait_us, spin_cpu, attempts }
}

/// Seconds metered with 2.4.4, from attempts, mean hold and utilisation.
pub fn seconds() -> f64 {
    RUNQUEUE_LOCK.attempts as f64 * RUNQUEUE_LOCK.hold_us * 1e-6 / RUNQUEUE_LOCK.util
}

/// Time of one CPU between a release and its next attempt with 2.4.4, in seconds: a CPU's whole time for each
/// acquisition, less the hold and the mean wait.
pub fn think_s() -> f64 {
    let lock = &RUNQUEUE_LOCK;
    f64::from(CPUS) * seconds() / lock.attempts as f64 - (lock.hold_us + lock.con * lock.wait_us) * 1e-6
}

/// The lock of 2.4.4 on some CPUs, with this hand-over in seconds.
pub fn runqueue_lock(cpus: u32, hand_over_s: f64) -> LockState {
    let waiting = WaitingCost::Spin { hand_over_s, per_waiter_s: 0.0 };
    let chain =
        LockChain { threads: cpus, cpus, think_s: think_s(), hold_s: RUNQUEUE_LOCK.hold_us * 1e-6, waiting };
    chain.state()
}

/// The hand-over that makes the model's utilisation the published one, in seconds: by bisection.
pub fn hand_over_s() -> f64 {
    let (mut low, mut high) = (0.0, 1e-4);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if runqueue_lock(CPUS, middle).utilisation > RUNQUEUE_LOCK.util {
            low = middle
        } else {
            high = middle
        }
    }
    0.5 * (low + high)
}

/// One of the eight locks of the multi-queue scheduler, if each CPU chose one of them at random.
pub fn mq_lock() -> LockState {
    let attempts = MQ_CALLERS.iter().map(|row| row.attempts).sum::<u64>() as f64;
    let hold_s =
        MQ_CALLERS.iter().map(|row| row.attempts as f64 * row.hold_us).sum::<f64>() * 1e-6 / attempts;
    // Utilisation of all eight = acquisitions a second × hold.
    let between_s = f64::from(CPUS) * hold_s / (8.0 * MQ_UTIL_EACH);
    let waiting = WaitingCost::Spin { hand_over_s: 0.0, per_waiter_s: 0.0 };
    let chain = LockChain { threads: CPUS, cpus: CPUS, think_s: between_s - hold_s, hold_s, waiting };
    lock_set::state_of_each(&chain, 8)
}

/// Mean contention of the eight locks: the callers' figures, weighted by their attempts.
pub fn mq_contention() -> f64 {
    let attempts = MQ_CALLERS.iter().map(|row| row.attempts).sum::<u64>() as f64;
    MQ_CALLERS.iter().map(|row| row.attempts as f64 * row.con).sum::<f64>() / attempts
}

/// What the model says. Of CON and mean wait each alone is a prediction. Their product is not: think comes from it.
pub fn checks() -> Vec<Check> {
    const REPORT: &str = "Hartner 2001";
    let (without, with, mq) = (runqueue_lock(CPUS, 0.0), runqueue_lock(CPUS, hand_over_s()), mq_lock());
    let check =
        |figure, given, published, predicted| Check { report: REPORT, figure, given, published, predicted };
    let spin = |state: &LockState| 100.0 * state.waiting / f64::from(CPUS);
    let lock = &RUNQUEUE_LOCK;
    const HOLD: &str = "hold, think; no hand-over";
    const UTIL: &str = "hold, think; hand-over fitted to UTIL";
    const MQ: &str = "UTIL, mean hold; CPUs choose a lock at random";
    vec![
        check("2.4.4 UTIL, %", HOLD, 100.0 * lock.util, 100.0 * without.utilisation),
        check("2.4.4 CON, %", UTIL, 100.0 * lock.con, 100.0 * with.contention),
        check("2.4.4 mean wait, us", UTIL, lock.wait_us, 1e6 * with.wait_mean_s()),
        check("MQ CON, %", MQ, 100.0 * mq_contention(), 100.0 * mq.contention),
        check("MQ spinning, % of 8 CPUs", MQ, 100.0 * MQ_SPIN_CPU, 8.0 * spin(&mq)),
    ]
}
