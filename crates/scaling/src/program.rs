//! A program on P CPUs.

use crate::lock_chain::{LockChain, LockState, WaitingCost};
use crate::lock_set;
use serde::{Deserialize, Serialize};

/// How a thread waits for the contended lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitStyle {
    /// It keeps its CPU.
    Spin,
    /// It sleeps, and running threads may take the lock before it: libc's mutex.
    Barging,
    /// It sleeps, and the lock is reserved for it: strict order.
    HandOff,
}

/// Costs of the machine. They are measured by a probe, without the program.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct MachineCost {
    /// Time until a store by one CPU is seen by another that reads in a loop, in seconds.
    pub transfer_s: f64,
    /// CPU time of one sleep and wake-up where waker and sleeper share a CPU, in seconds.
    pub sleep_here_s: f64,
    /// The cost of a sleep on two busy CPUs if waker and sleeper share a CPU as often as not, in seconds.
    pub sleep_across_s: f64,
    /// The cost of a sleep on two busy CPUs if the scheduler places the threads, in seconds.
    pub sleep_placed_s: f64,
}

/// What runs on one CPU tell about a program under one configuration.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct ProgramProfile {
    /// Threads that may run at the same time.
    pub threads: u32,
    /// How they wait for the contended lock.
    pub style: WaitStyle,
    /// Number of equal locks.
    pub locks: u32,
    /// Acquisitions of these locks for each unit of the throughput. 0 if there is no contended lock.
    pub acquisitions: f64,
    /// Mean hold, in seconds.
    pub hold_s: f64,
    /// Sleeps of threads for each unit of the throughput (voluntary context switches).
    pub sleeps: f64,
    /// The share of one CPU that the program uses, in 0..=1. In the rest of the time it waits for something other than
    /// locks and CPUs, or other programs have the CPU. That time does not count as time between two acquisitions.
    pub busy: f64,
}

/// A model of a program: its profile, its speed on one CPU, and costs that appear on several.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct ProgramModel {
    /// The profile.
    pub profile: ProgramProfile,
    /// Throughput on one CPU.
    pub one: f64,
    /// The cost of a contended acquisition, in seconds: a hand-over ([`WaitStyle::Spin`], [`WaitStyle::HandOff`]) or the
    /// CPU time of a sleep and its wake-up ([`WaitStyle::Barging`]). Without a lock: CPU time that a unit of the
    /// throughput costs more on two CPUs.
    pub cost_s: f64,
    /// CPU time that a sleep costs more on two CPUs than on one, in seconds.
    pub remote_s: f64,
    /// Time by which each further waiter lengthens the hand-over of a spin lock, in seconds.
    pub per_waiter_s: f64,
}

/// A think is at least this share of the time between two acquisitions on one CPU: the hold is measured with its
/// clock readings.
const THINK_MIN: f64 = 0.02;
/// Cache lines that move when a spin lock is handed over: the lock word to the waiter that reads it, and again when the
/// waiter has to write it.
const TRANSFERS: f64 = 2.0;

impl ProgramModel {
    /// The model that knows the program from one CPU and the rest from the machine.
    pub fn from_one_cpu(profile: ProgramProfile, one: f64, machine: &MachineCost) -> ProgramModel {
        let cost_s = match (profile.has_lock(), profile.style) {
            (false, _) => 0.0,
            (true, WaitStyle::Spin) => TRANSFERS * machine.transfer_s,
            (true, WaitStyle::Barging | WaitStyle::HandOff) => machine.sleep_across_s,
        };
        ProgramModel {
            profile,
            one,
            cost_s,
            remote_s: (machine.sleep_placed_s - machine.sleep_here_s).max(0.0),
            per_waiter_s: 0.5 * machine.transfer_s,
        }
    }

    /// Throughput on `cpus` CPUs, in the unit of `one`. On one CPU it is `one`, which holds what waiting costs there.
    pub fn throughput(&self, cpus: u32) -> f64 {
        if cpus <= 1 {
            return self.one;
        }
        match self.lock(cpus) {
            Some(state) => {
                let busy_throughput =
                    state.throughput * f64::from(self.profile.locks) / self.profile.acquisitions;
                self.profile.busy * busy_throughput
            }
            None => {
                let more = self.remote_share(cpus) * (self.profile.sleeps * self.remote_s + self.cost_s);
                f64::from(cpus.min(self.profile.threads)) / (1.0 / self.one + more)
            }
        }
    }

    /// The state of one of the contended locks on `cpus` CPUs; none if there is no such lock.
    pub fn lock(&self, cpus: u32) -> Option<LockState> {
        let ProgramProfile { threads, style, locks, acquisitions, hold_s, sleeps, busy } = self.profile;
        if !self.profile.has_lock() {
            return None;
        }
        let between_s = busy / (self.one * acquisitions);
        let hold_s = hold_s.min((1.0 - THINK_MIN) * between_s);
        let remote_s = self.remote_share(cpus) * self.remote_s * sleeps / acquisitions;
        let waiting = match style {
            WaitStyle::Spin => {
                WaitingCost::Spin { hand_over_s: self.cost_s, per_waiter_s: self.per_waiter_s }
            }
            WaitStyle::Barging => WaitingCost::Barging { sleep_cpu_s: self.cost_s },
            WaitStyle::HandOff => WaitingCost::HandOff { hand_over_s: self.cost_s },
        };
        let chain = LockChain { threads, cpus, think_s: between_s - hold_s + remote_s, hold_s, waiting };
        Some(lock_set::state_of_each(&chain, locks))
    }

    /// The share of wake-ups that reach another CPU, (P − 1)/P if threads are spread evenly; in units of its value for
    /// two CPUs, at which the machine's cost was measured.
    fn remote_share(&self, cpus: u32) -> f64 {
        let share = |cpus: f64| (cpus - 1.0) / cpus;
        share(f64::from(cpus)) / share(2.0)
    }
}

impl ProgramProfile {
    /// Whether there is a lock to contend for.
    pub fn has_lock(&self) -> bool {
        self.acquisitions > 0.0 && self.hold_s > 0.0 && self.threads > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: MachineCost =
        MachineCost { transfer_s: 1e-7, sleep_here_s: 2e-6, sleep_across_s: 6e-6, sleep_placed_s: 5e-6 };
    const PROFILE: ProgramProfile = ProgramProfile {
        threads: 8,
        style: WaitStyle::Spin,
        locks: 1,
        acquisitions: 1.0,
        hold_s: 1e-6,
        sleeps: 0.0,
        busy: 1.0,
    };

    #[test]
    fn saturated_lock_bounds_the_throughput() {
        let model = ProgramModel::from_one_cpu(PROFILE, 1e5, &MACHINE);
        assert_eq!(model.throughput(1), 1e5);
        let two = model.throughput(2) / 1e5;
        assert!((1.8..2.0).contains(&two), "{two}");
        assert!(model.throughput(64) < 1.0 / 1e-6, "a lock serves at most 1/hold");
    }

    /// The lock is held for all of the CPU time, which is a tenth of the time.
    #[test]
    fn idle_time_is_no_time_outside_the_lock() {
        let profile = ProgramProfile { hold_s: 0.98e-6, busy: 0.1, ..PROFILE };
        let model = ProgramModel::from_one_cpu(profile, 1e5, &MACHINE);
        let gain = model.throughput(8) / model.throughput(1);
        assert!(gain < 1.1, "{gain}");
    }

    #[test]
    fn readers_without_lock_scale_with_the_cpus_up_to_the_threads() {
        let model =
            ProgramModel::from_one_cpu(ProgramProfile { acquisitions: 0.0, ..PROFILE }, 1e5, &MACHINE);
        for (cpus, expected) in [(2, 2e5), (4, 4e5), (8, 8e5), (16, 8e5)] {
            assert!((model.throughput(cpus) - expected).abs() < 1e-3, "{cpus}");
        }
    }

    #[test]
    fn wake_ups_of_other_cpus_cost_cpu_time() {
        let profile = ProgramProfile { acquisitions: 0.0, sleeps: 1.0, ..PROFILE };
        let model = ProgramModel::from_one_cpu(profile, 1e5, &MACHINE);
        // 10 us on one CPU, 13 us on two.
        assert!((model.throughput(2) - 2.0 / 13e-6).abs() < 1e-6);
    }
}
