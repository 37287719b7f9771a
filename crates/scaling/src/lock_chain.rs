//! One contended lock as a Markov chain.
//!
//! N threads alternate between *think* (work outside the lock) and *hold*. A thread that finds the lock taken waits. If
//! threads wait when the owner releases the lock, a *hand-over* precedes the next hold: the transfer of cache lines, or
//! a wake-up. It is not part of the hold that a lock meter measures. Lockmeter's row of 2001 needs it: 8.8 us of hold
//! at a utilisation of 76 % while 89 % of the attempts wait.
//!
//! The state is the number of threads at the lock, and whether the lock is being handed over or held. With exponential
//! times the chain is exact. It is solved level by level from the empty lock, by positive terms only:
//!
//! - *cut between k−1 and k*: what arrives at level k−1 equals what is released at level k, which gives the probability
//!   of "held at k";
//! - *balance of "handed over at k"*: what arrives there is what was being handed over at k−1 and what is released at
//!   k+1, which by the next cut is what arrives at k.
//!
//! The hand-over may take longer the more threads wait: in a ticket spin lock all waiters read the word that the owner
//! writes (Boyd-Wickizer et al. 2012). CPUs are shared equally by the threads that can run.

use serde::{Deserialize, Serialize};

/// What waiting for the lock costs, and whom.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "waiting")]
pub enum WaitingCost {
    /// A waiter keeps its CPU.
    Spin {
        /// Time between a release and the next waiter's hold, in seconds.
        hand_over_s: f64,
        /// The cost of each further waiter, in seconds.
        per_waiter_s: f64,
    },
    /// A waiter sleeps, and a running thread may take the lock before it.
    Barging {
        /// CPU time of one sleep and its wake-up, in seconds, for waiter and waker together.
        sleep_cpu_s: f64,
    },
    /// A waiter sleeps, and the lock is reserved for it.
    HandOff {
        /// Time between a release and the woken waiter's hold, in seconds.
        hand_over_s: f64,
    },
}

/// A lock and the threads that use it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LockChain {
    /// Threads that use the lock.
    pub threads: u32,
    /// CPUs.
    pub cpus: u32,
    /// CPU time between a release and the thread's next attempt, in seconds.
    pub think_s: f64,
    /// CPU time in which the lock is held, in seconds.
    pub hold_s: f64,
    /// What waiting costs.
    pub waiting: WaitingCost,
}

/// The stationary state of a [`LockChain`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LockState {
    /// Acquisitions a second.
    pub throughput: f64,
    /// Share of the time in which the lock is held.
    pub utilisation: f64,
    /// Share of the attempts that find the lock taken or being handed over.
    pub contention: f64,
    /// Mean number of threads that wait.
    pub waiting: f64,
}

/// The mean number of sleeps changes by less than this at the end of the iteration.
const TOLERANCE: f64 = 1e-10;
/// Iterations of the fixed points of [`WaitingCost::Barging`]. Each halves the error.
const ITERATIONS: usize = 200;

impl LockChain {
    /// The stationary state.
    ///
    /// ```
    /// use unspin_scaling::{LockChain, WaitingCost};
    /// let waiting = WaitingCost::Spin { hand_over_s: 0.0, per_waiter_s: 0.0 };
    /// let lock = LockChain { threads: 2, cpus: 2, think_s: 1e-6, hold_s: 1e-6, waiting };
    /// // The machine repairman M/M/1//2: utilisation 4/5.
    /// assert!((lock.state().utilisation - 0.8).abs() < 1e-12);
    /// ```
    ///
    /// # Panics
    /// If there is no thread or no CPU, or a time is negative or not finite, or think and hold are both 0.
    pub fn state(&self) -> LockState {
        assert!(self.threads > 0 && self.cpus > 0, "{self:?}");
        assert!(self.think_s >= 0.0 && self.hold_s >= 0.0 && self.think_s + self.hold_s > 0.0, "{self:?}");
        if self.hold_s == 0.0 {
            return self.without_holds();
        }
        let WaitingCost::Barging { sleep_cpu_s } = self.waiting else { return self.solve(self.think_s) };
        if self.threads > self.cpus {
            return self.overtaken(sleep_cpu_s);
        }
        // A waiter and its waker spend CPU time outside the lock, and a woken waiter may find the lock taken again.
        let mut sleeps = 0.0;
        let mut state = self.solve(self.think_s);
        for _ in 0..ITERATIONS {
            let contention = state.contention.min(1.0 - 1.0 / f64::from(self.threads + 1));
            let next = 0.5 * sleeps + 0.5 * contention / (1.0 - contention);
            let is_settled = (next - sleeps).abs() < TOLERANCE;
            sleeps = next;
            state = self.solve(self.think_s + sleeps * sleep_cpu_s);
            if is_settled {
                break;
            }
        }
        state
    }

    /// Waiters sleep, and other threads use their CPUs. A thread that finds the lock taken costs its CPU a sleep, and
    /// the CPU goes on with another thread. So only the threads on the other CPUs can hold the lock, a share (P − 1)/P
    /// of its utilisation. A woken thread may find the lock taken again; with contention p it sleeps p/(1 − p) times
    /// for each acquisition. The throughput is the fixed point of P/(think + hold + sleeps), which falls with
    /// contention and so with itself: found by bisection. Approximate.
    fn overtaken(&self, sleep_cpu_s: f64) -> LockState {
        let cpus = f64::from(self.cpus);
        let contention = |throughput: f64| throughput * self.hold_s * (cpus - 1.0) / cpus;
        let sleeps_s = |throughput: f64| {
            let p = contention(throughput);
            sleep_cpu_s * p / (1.0 - p)
        };
        let (mut low, mut high) = (0.0, 1.0 / self.hold_s);
        for _ in 0..ITERATIONS {
            let middle = 0.5 * (low + high);
            let possible = cpus / (self.think_s + self.hold_s + sleeps_s(middle));
            if possible > middle { low = middle } else { high = middle }
        }
        let throughput = 0.5 * (low + high);
        LockState {
            throughput,
            utilisation: throughput * self.hold_s,
            contention: contention(throughput),
            waiting: throughput * sleeps_s(throughput),
        }
    }

    /// No lock is ever held: only the CPUs limit.
    fn without_holds(&self) -> LockState {
        let running = f64::from(self.threads.min(self.cpus));
        LockState { throughput: running / self.think_s, utilisation: 0.0, contention: 0.0, waiting: 0.0 }
    }

    fn solve(&self, think_s: f64) -> LockState {
        // A spinning waiter keeps its CPU, so threads beyond the CPUs take no part.
        let spins = matches!(self.waiting, WaitingCost::Spin { .. });
        let threads = if spins { self.threads.min(self.cpus) } else { self.threads } as usize;
        // Treat a think time of 0 as a very short one: all threads but one are always at the lock.
        let think_s = think_s.max(1e-6 * self.hold_s);
        let arrivals = |at_lock: usize, running: usize| {
            let thinking = threads - at_lock;
            thinking as f64 * self.cpu_share(thinking + running, spins) / think_s
        };
        let (mut handing, mut held) = (0.0, 0.0);
        // The empty lock has weight 1.
        let (mut weight, mut released, mut in_use) = (1.0, 0.0, 0.0);
        let (mut found_taken, mut waiting) = (0.0, 0.0);
        for k in 1..=threads {
            // Arrivals from level k - 1.
            let from_handing = if k > 1 { arrivals(k - 1, 0) * handing } else { 0.0 };
            let from_held = if k > 1 { arrivals(k - 1, 1) * held } else { arrivals(0, 0) };
            let release = self.cpu_share(threads - k + 1, spins) / self.hold_s;
            let now_held = (from_handing + from_held) / release;
            let hand_over_s = self.hand_over_s(k);
            // Balance of "handed over at k" (h = 1/hand_over_s): h·π = arrivals into it + what the cut above releases.
            let upward = arrivals(k, 1) * now_held;
            let now_handing = hand_over_s * (from_handing + upward);
            (handing, held) = (now_handing, now_held);
            weight += handing + held;
            released += held * release;
            in_use += held;
            found_taken += arrivals(k, 0) * handing + arrivals(k, 1) * held;
            waiting += k as f64 * handing + (k - 1) as f64 * held;
            if weight > 1e200 {
                let scale = 1.0 / weight;
                for value in [
                    &mut handing,
                    &mut held,
                    &mut weight,
                    &mut released,
                    &mut in_use,
                    &mut found_taken,
                    &mut waiting,
                ] {
                    *value *= scale;
                }
            }
        }
        LockState {
            throughput: released / weight,
            utilisation: in_use / weight,
            contention: found_taken / released,
            waiting: waiting / weight,
        }
    }

    /// The share of a CPU that each of `running` threads has.
    fn cpu_share(&self, running: usize, spins: bool) -> f64 {
        if spins || running <= self.cpus as usize { 1.0 } else { f64::from(self.cpus) / running as f64 }
    }

    /// Mean time of a hand-over while `waiters` threads wait.
    fn hand_over_s(&self, waiters: usize) -> f64 {
        match self.waiting {
            WaitingCost::Spin { hand_over_s, per_waiter_s } => {
                hand_over_s + per_waiter_s * (waiters - 1) as f64
            }
            WaitingCost::Barging { .. } => 0.0,
            WaitingCost::HandOff { hand_over_s } => hand_over_s,
        }
    }
}

impl LockState {
    /// Mean wait of the attempts that waited, in seconds, by Little's law; hand-overs included.
    pub fn wait_mean_s(&self) -> f64 {
        let waits = self.throughput * self.contention;
        if waits > 0.0 { self.waiting / waits } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn barging(cpus: u32, sleep_cpu_s: f64) -> f64 {
        let waiting = WaitingCost::Barging { sleep_cpu_s };
        LockChain { threads: 64, cpus, think_s: 1e-6, hold_s: 1e-6, waiting }.state().throughput
    }

    #[test]
    fn sleeps_that_cost_nothing_leave_the_cpus_and_the_lock_as_bounds() {
        assert!((barging(1, 0.0) / 0.5e6 - 1.0).abs() < 1e-9);
        assert!((barging(2, 0.0) / 1e6 - 1.0).abs() < 1e-9, "the lock is held all the time");
        assert!((barging(8, 0.0) / 1e6 - 1.0).abs() < 1e-9);
        assert!((barging(1, 5e-6) / 0.5e6 - 1.0).abs() < 1e-9, "one CPU never finds the lock taken");
    }

    #[test]
    fn costly_sleeps_make_two_cpus_as_fast_as_one() {
        // By hand: about 0.53 a us.
        let throughput = barging(2, 5e-6) * 1e-6;
        let p = 0.5 * throughput;
        assert!((throughput - 2.0 / (2.0 + 5.0 * p / (1.0 - p))).abs() < 1e-9, "{throughput}");
        assert!((0.5..0.55).contains(&throughput), "{throughput}");
    }
}
