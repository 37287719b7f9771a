//! What communication between this machine's CPUs costs. Runs on one CPU cannot show it.
//!
//! - *Transfer*: two threads on two CPUs change a word in turn, each as soon as it sees the other's change. A change and
//!   its answer are two transfers of the word's cache line.
//! - *Sleep*: rings of threads that pass a token on by futex: wake the next thread, sleep until woken. Several rings keep
//!   each CPU busy, so no CPU has to leave an idle state. The cost is CPU time, which other programs do not lengthen.
//!   All threads on one CPU yield the cost where waker and sleeper share it; neighbours on different CPUs that where they
//!   do not; threads that may run on both that of the scheduler's choice, which keeps most wake-ups on one CPU.

use super::cpu_sets::CpuSets;
use crate::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Instant;
use unspin_scaling::MachineCost;
use unspin_sys::child::Usage;
use unspin_sys::{futex, sched};

/// Changes and answers in one batch of the transfer's probe.
const CHANGES: u32 = 2000;
/// Batches. The lower quartile counts: other programs make a batch longer, never shorter.
const BATCHES: usize = 40;
/// Rings, and rounds of each ring's token.
const RINGS: usize = 4;
const ROUNDS: u32 = 1000;
/// Batches of the sleep's probe.
const SLEEP_BATCHES: usize = 5;
/// Threads of a ring.
const MEMBERS: usize = 2;

/// Measures all costs; about half a second. With one CPU all costs between CPUs are 0.
pub fn measure(cpu_sets: &CpuSets) -> Result<MachineCost, Error> {
    let failed = |e: std::io::Error| {
        Error::Environment(format!("cannot start a thread that measures the machine: {e} (ulimit -u)"))
    };
    let (one, two) = match *cpu_sets.allowed {
        [] => {
            let costs = [0.0; 4];
            return Ok(cost(costs));
        }
        [one] => {
            let here = sleep_s(&|_| vec![one]).map_err(failed)?;
            return Ok(cost([0.0, here, here, here]));
        }
        [one, two, ..] => (one, two),
    };
    let here = sleep_s(&|_| vec![one]).map_err(failed)?;
    let between = sleep_s(&|place| vec![if place % 2 == 0 { one } else { two }]).map_err(failed)?;
    let placed = sleep_s(&|_| vec![one, two]).map_err(failed)?;
    let transfer = transfer_s([one, two]).map_err(failed)?;
    Ok(cost([transfer, here, 0.5 * (here + between), placed]))
}

fn cost([transfer_s, sleep_here_s, sleep_across_s, sleep_placed_s]: [f64; 4]) -> MachineCost {
    MachineCost { transfer_s, sleep_here_s, sleep_across_s, sleep_placed_s }
}

/// Seconds of one transfer.
fn transfer_s(cpus: [usize; 2]) -> std::io::Result<f64> {
    let word = Arc::new(AtomicU32::new(0));
    let last = 2 * CHANGES * BATCHES as u32;
    let answers = Arc::clone(&word);
    let other = thread::Builder::new().spawn(move || {
        sched::stay_on(cpus[1]);
        (1..last).step_by(2).for_each(|expected| change(&answers, expected));
    })?;
    let own = thread::Builder::new().spawn(move || {
        sched::stay_on(cpus[0]);
        let mut batches: Vec<f64> = (0..BATCHES as u32)
            .map(|batch| {
                let started = Instant::now();
                for n in 0..CHANGES {
                    change(&word, 2 * (batch * CHANGES + n));
                }
                started.elapsed().as_secs_f64() / f64::from(2 * CHANGES)
            })
            .collect();
        batches.sort_by(f64::total_cmp);
        batches[BATCHES / 4]
    })?;
    let transfer = own.join().expect("it only counts");
    other.join().expect("it only counts");
    Ok(transfer)
}

/// Waits until the word has the value, and adds 1.
fn change(word: &AtomicU32, expected: u32) {
    let mut looks = 0_u32;
    // Acquire, Release: the word carries nothing but itself; the order makes a batch end after its changes.
    while word.load(Ordering::Acquire) != expected {
        std::hint::spin_loop();
        looks += 1;
        // The other thread may have lost its CPU to another program, or to this one.
        if looks.is_multiple_of(100_000) {
            sched::yield_now();
        }
    }
    word.store(expected + 1, Ordering::Release);
}

/// CPU seconds of one sleep with its wake-up. `cpus_of` has the CPUs for each place in a ring. The smallest of some
/// batches: other programs evict caches, and make a batch costlier, never cheaper.
fn sleep_s(cpus_of: &dyn Fn(usize) -> Vec<usize>) -> std::io::Result<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..SLEEP_BATCHES {
        least = least.min(sleep_batch_s(cpus_of)?);
    }
    Ok(least)
}

fn sleep_batch_s(cpus_of: &dyn Fn(usize) -> Vec<usize>) -> std::io::Result<f64> {
    let mut threads = Vec::new();
    let before = Usage::of_self();
    for ring in 0..RINGS {
        let tokens: Arc<Vec<AtomicU32>> = Arc::new((0..MEMBERS).map(|_| AtomicU32::new(0)).collect());
        for member in 0..MEMBERS {
            let (tokens, cpus) = (Arc::clone(&tokens), cpus_of(ring + member));
            threads.push(thread::Builder::new().spawn(move || {
                // A thread that cannot be bound runs where the scheduler places it, which costs something as well.
                let _ = sched::stay_on_all(&cpus);
                for round in 0..ROUNDS {
                    // The first member starts with the token.
                    if round > 0 || member > 0 {
                        take(&tokens[member]);
                    }
                    pass(&tokens[(member + 1) % MEMBERS]);
                }
            })?);
        }
    }
    for thread in threads {
        thread.join().expect("it only counts");
    }
    let cpu_s = Usage::of_self().since(&before).cpu_s();
    Ok(cpu_s / f64::from(ROUNDS) / (RINGS * MEMBERS) as f64)
}

/// Sleeps until the token is there, and takes it.
fn take(token: &AtomicU32) {
    // Acquire: pairs with the Release of `pass`.
    while token.load(Ordering::Acquire) == 0 {
        futex::private::wait(token, 0, None);
    }
    // Relaxed: the next pass comes after this thread has passed the token on.
    token.store(0, Ordering::Relaxed);
}

fn pass(token: &AtomicU32) {
    // Release: pairs with the Acquire of `take`.
    token.store(1, Ordering::Release);
    futex::private::wake(token, 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_arrives_and_costs_are_positive() {
        let cpu_sets = CpuSets::of(&[1], &[]).unwrap();
        let cost = measure(&cpu_sets).unwrap();
        assert!(cost.sleep_here_s > 0.0 && cost.sleep_across_s > 0.0, "{cost:?}");
        assert_eq!(cost.transfer_s > 0.0, cpu_sets.allowed.len() > 1, "{cost:?}");
    }
}
