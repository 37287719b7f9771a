//! Several equal locks: each thread uses one of them, chosen at random, at each step.
//!
//! Decomposition: for one lock, the time at the other locks is think time. Approximate, because the threads at the other
//! locks are not independent of those at this one; `tests/suite/simulation.rs` states the error.

use crate::lock_chain::{LockChain, LockState};

/// Rounds of the fixed point.
const ITERATIONS: usize = 100;

/// The state of one of `locks` equal locks. `each` has the think time between two acquisitions of any lock.
///
/// # Panics
/// If there is no lock.
pub fn state_of_each(each: &LockChain, locks: u32) -> LockState {
    assert!(locks > 0, "a set has locks");
    let locks = f64::from(locks);
    let chain = |wait_s: f64| LockChain {
        // Between two visits to this lock a thread thinks `locks` times and visits another lock `locks - 1` times.
        think_s: locks * each.think_s + (locks - 1.0) * (each.hold_s + wait_s),
        ..*each
    };
    let mut wait_s = 0.0;
    let mut state = chain(wait_s).state();
    for _ in 0..ITERATIONS {
        let next = state.contention * state.wait_mean_s();
        if (next - wait_s).abs() <= 1e-12 * each.hold_s {
            break;
        }
        wait_s = 0.5 * (wait_s + next);
        state = chain(wait_s).state();
    }
    state
}
