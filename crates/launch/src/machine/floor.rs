//! The machine's floor: what its system calls, locked instructions, clock and wake-ups cost, which no lock and no engine can change.
//!
//! A figure is from the world that these costs describe. Where system calls are cheap and locked instructions are dear, an engine
//! in user space gains less.

use serde::Serialize;
use std::fmt;
use std::hint::black_box;
use std::os::unix::process::parent_id;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread::{Builder, scope};
use std::time::Instant;
use unspin_sys::{clock, futex, sched};

/// The costs, each the median of some batches.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Floor {
    /// A system call that does nothing: getppid(2), in nanoseconds.
    pub null_call_ns: f64,
    /// A `lock cmpxchg` of a word that only this CPU uses, in nanoseconds.
    pub locked_ns: f64,
    /// A reading of the time-stamp counter, in nanoseconds.
    pub clock_ns: f64,
    /// FUTEX_WAKE of another thread and FUTEX_WAIT, both threads on one CPU, in nanoseconds; none if no thread can be started.
    pub hand_off_here_ns: Option<f64>,
    /// The same with the threads on two CPUs, each of which goes idle meanwhile; none with only one CPU.
    pub hand_off_across_ns: Option<f64>,
}

/// Batches of each part. Other programs make some of them longer.
const BATCHES: usize = 15;
/// Calls in a batch: some 50 us, below a time slice and above the cost of its two readings of the clock.
const CALLS: u32 = 500;
const INSTRUCTIONS: u32 = 5_000;
/// Hand-offs each way in a batch: one takes 2 to 60 us.
const ROUNDS: u32 = 10;

impl Floor {
    /// Measures all of them, in some 20 ms on a quiet machine.
    pub fn measure() -> Floor {
        let word = AtomicU64::new(0);
        let word = black_box(&word);
        let mut last = 0;
        let cpus = sched::allowed_cpus();
        Floor {
            null_call_ns: per_call(CALLS, || {
                black_box(parent_id());
            }),
            locked_ns: per_call(INSTRUCTIONS, || {
                last = match word.compare_exchange(last, last + 1, Ordering::SeqCst, Ordering::SeqCst) {
                    Ok(before) => before + 1,
                    Err(now) => now,
                };
            }),
            clock_ns: per_call(INSTRUCTIONS, || {
                black_box(clock::ticks());
            }),
            hand_off_here_ns: cpus.first().and_then(|&cpu| hand_off_ns([cpu, cpu])),
            hand_off_across_ns: cpus.first_chunk().and_then(|&cpus| hand_off_ns(cpus)),
        }
    }
}

impl fmt::Display for Floor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Floor { null_call_ns, locked_ns, clock_ns, .. } = self;
        write!(
            f,
            "null system call {null_call_ns:.0} ns, locked instruction {locked_ns:.1} ns, reading of the clock {clock_ns:.1} ns"
        )?;
        let us = |ns: Option<f64>| ns.map(|ns| format!("{:.1} us", ns / 1e3));
        match (us(self.hand_off_here_ns), us(self.hand_off_across_ns)) {
            (None, _) => Ok(()),
            (Some(here), None) => write!(f, ", FUTEX_WAKE and FUTEX_WAIT {here} on one CPU"),
            (Some(here), Some(across)) => {
                write!(f, ", FUTEX_WAKE and FUTEX_WAIT {here} on one CPU, {across} between two")
            }
        }
    }
}

fn per_call(calls: u32, mut call: impl FnMut()) -> f64 {
    median(|| {
        let started = Instant::now();
        (0..calls).for_each(|_| call());
        started.elapsed().as_nanos() as f64 / f64::from(calls)
    })
}

fn median(batch: impl FnMut() -> f64) -> f64 {
    let mut times: Vec<f64> = std::iter::repeat_with(batch).take(BATCHES).collect();
    times.sort_by(f64::total_cmp);
    times[BATCHES / 2]
}

/// Nanoseconds of a hand-off between two threads on these CPUs. Both are new threads, so that the caller keeps its CPUs.
fn hand_off_ns([one, other]: [usize; 2]) -> Option<f64> {
    let words = [AtomicU32::new(0), AtomicU32::new(0)];
    let [here, there] = &words;
    let lead = || {
        sched::stay_on(one);
        scope(|threads| {
            let answers = move || {
                sched::stay_on(other);
                (0..BATCHES as u32 * ROUNDS).for_each(|_| {
                    await_token(there);
                    post(here);
                });
            };
            // The other thread waits for as many posts as are made here.
            Builder::new().spawn_scoped(threads, answers).ok()?;
            Some(median(|| {
                per_hand_off(|| {
                    post(there);
                    await_token(here);
                })
            }))
        })
    };
    scope(|threads| Builder::new().spawn_scoped(threads, lead).ok()?.join().ok()?)
}

/// A round has two hand-offs.
fn per_hand_off(mut round: impl FnMut()) -> f64 {
    let started = Instant::now();
    (0..ROUNDS).for_each(|_| round());
    started.elapsed().as_nanos() as f64 / f64::from(2 * ROUNDS)
}

fn post(word: &AtomicU32) {
    // Release: pairs with the Acquire in `await_token`; nothing but the word is handed over.
    word.store(1, Ordering::Release);
    futex::wake(word, 1);
}

fn await_token(word: &AtomicU32) {
    // Acquire: pairs with the Release in `post`.
    while word.load(Ordering::Acquire) == 0 {
        futex::wait(word, 0, None);
    }
    // Relaxed: the other thread stores the next token only after it has got the one that this thread passes on.
    word.store(0, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cost_is_measured_and_said() {
        let floor = Floor::measure();
        assert!(floor.null_call_ns > 0.0 && floor.locked_ns > 0.0 && floor.clock_ns > 0.0, "{floor:?}");
        assert!(floor.hand_off_here_ns.is_some_and(|ns| ns > 0.0), "{floor:?}");
        assert_eq!(floor.hand_off_across_ns.is_some(), sched::allowed_cpus().len() > 1, "{floor:?}");
        println!("{floor}");
    }

    #[test]
    fn costs_that_could_not_be_measured_are_left_out() {
        let floor = Floor {
            null_call_ns: 110.4,
            locked_ns: 6.1,
            clock_ns: 10.0,
            hand_off_here_ns: None,
            hand_off_across_ns: None,
        };
        let costs = "null system call 110 ns, locked instruction 6.1 ns, reading of the clock 10.0 ns";
        assert_eq!(floor.to_string(), costs);
        let floor = Floor { hand_off_here_ns: Some(2_140.0), ..floor };
        assert_eq!(floor.to_string(), format!("{costs}, FUTEX_WAKE and FUTEX_WAIT 2.1 us on one CPU"));
    }
}
