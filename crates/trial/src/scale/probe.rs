//! What communication between this machine's CPUs costs. Runs on one CPU cannot show it.
//!
//! - *Transfer*: two threads on two CPUs change a word in turn, each as soon as it sees the other's change. A change and
//!   its answer are two transfers of the word's cache line.
//! - *Sleep*: rings of threads that pass a token on by futex: wake the next thread, sleep until woken. Several rings keep
//!   each CPU busy, so no CPU has to leave an idle state. The cost is CPU time, which other programs do not lengthen.
//!   All threads on one CPU yield the cost where waker and sleeper share it; neighbours on different CPUs that where they
//!   do not; threads that may run on both that of the scheduler's choice, which keeps most wake-ups on one CPU.
//!
//! On a busy machine the two threads rarely run at the same time. So each part ends after [`TIME_MAX`] with what it has.

use super::cpu_sets::CpuSets;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{Builder, ScopedJoinHandle, scope};
use std::time::{Duration, Instant};
use unspin_launch::error::Error;
use unspin_scaling::MachineCost;
use unspin_sys::child::Usage;
use unspin_sys::{futex, sched};

/// Changes and answers in one batch of the transfer's probe: some ten microseconds, in which the two threads mostly keep their CPUs.
const CHANGES: u32 = 200;
/// Batches. The lower quartile counts: other programs make a batch longer, never shorter.
const BATCHES: usize = 400;
/// Rings, and rounds of each ring's token.
const RINGS: usize = 4;
const ROUNDS: u32 = 1000;
/// Batches of the sleep's probe.
const SLEEP_BATCHES: usize = 5;
/// Threads of a ring.
const MEMBERS: usize = 2;

/// The time of each of the four parts, which takes a tenth of a second on a quiet machine.
const TIME_MAX: Duration = Duration::from_secs(3);
/// How often the thread that waits for the rings looks whether the time is over. They sleep without a timeout, which costs time.
const LOOK: Duration = Duration::from_millis(5);

/// When a part of the probe ends, whatever it has.
#[derive(Clone, Copy)]
struct End<'s> {
    at: Instant,
    /// Set by ^C.
    interrupted: &'s AtomicBool,
}

impl End<'_> {
    fn has_come(&self) -> bool {
        // Relaxed: nothing belongs to it.
        self.interrupted.load(Ordering::Relaxed) || Instant::now() >= self.at
    }
}

/// Measures all costs; about half a second, some seconds on a busy machine. With one CPU all costs between CPUs are 0. None if ^C
/// came, which sets `interrupted`.
pub fn measure(cpu_sets: &CpuSets, interrupted: &AtomicBool) -> Result<Option<MachineCost>, Error> {
    let cost = measure_until_interrupt(cpu_sets, interrupted);
    // Relaxed: as above.
    if interrupted.load(Ordering::Relaxed) { Ok(None) } else { cost.map(Some) }
}

fn measure_until_interrupt(cpu_sets: &CpuSets, interrupted: &AtomicBool) -> Result<MachineCost, Error> {
    let end = || End { at: Instant::now() + TIME_MAX, interrupted };
    let failed = |e: std::io::Error| Error::no_thread(&e);
    let (one, two) = match *cpu_sets.allowed {
        [] => {
            let costs = [0.0; 4];
            return Ok(cost(costs));
        }
        [one] => {
            let here = sleep_s(end(), &|_| vec![one]).map_err(failed)?;
            return Ok(cost([0.0, here, here, here]));
        }
        [one, two, ..] => (one, two),
    };
    let here = sleep_s(end(), &|_| vec![one]).map_err(failed)?;
    let between = sleep_s(end(), &|place| vec![if place % 2 == 0 { one } else { two }]).map_err(failed)?;
    let placed = sleep_s(end(), &|_| vec![one, two]).map_err(failed)?;
    let transfer = transfer_s(end(), [one, two]).map_err(failed)?.ok_or_else(|| {
        Error::Unjudged(
            "other programs keep the CPUs so busy that the costs between them cannot be measured: scale on a quiet machine".into(),
        )
    })?;
    Ok(cost([transfer, here, 0.5 * (here + between), placed]))
}

fn cost([transfer_s, sleep_here_s, sleep_across_s, sleep_placed_s]: [f64; 4]) -> MachineCost {
    MachineCost { transfer_s, sleep_here_s, sleep_across_s, sleep_placed_s }
}

/// Seconds of one transfer; none if no batch was complete at the end.
fn transfer_s(end: End<'_>, cpus: [usize; 2]) -> std::io::Result<Option<f64>> {
    let word = AtomicU32::new(0);
    let last = 2 * CHANGES * BATCHES as u32;
    scope(|threads| {
        let other = Builder::new().spawn_scoped(threads, || {
            sched::stay_on(cpus[1]);
            // Until the end has come.
            (1..last).step_by(2).all(|expected| change(&word, expected, end));
        })?;
        let own = Builder::new().spawn_scoped(threads, || {
            sched::stay_on(cpus[0]);
            let mut batches = Vec::with_capacity(BATCHES);
            for batch in 0..BATCHES as u32 {
                let started = Instant::now();
                if !(0..CHANGES).all(|n| change(&word, 2 * (batch * CHANGES + n), end)) {
                    break;
                }
                batches.push(started.elapsed().as_secs_f64() / f64::from(2 * CHANGES));
            }
            batches.sort_by(f64::total_cmp);
            batches.get(batches.len() / 4).copied()
        })?;
        let transfer = own.join().expect("it only counts");
        other.join().expect("it only counts");
        Ok(transfer)
    })
}

/// Waits until the word has the value, and adds 1. Returns whether the value came before the end.
fn change(word: &AtomicU32, expected: u32, end: End<'_>) -> bool {
    let mut looks = 0_u32;
    // Acquire, Release: the word carries nothing but itself; the order makes a batch end after its changes.
    while word.load(Ordering::Acquire) != expected {
        std::hint::spin_loop();
        looks += 1;
        // The other thread may have lost its CPU to another program, or to this one.
        if looks.is_multiple_of(100_000) {
            if end.has_come() {
                return false;
            }
            sched::yield_now();
        }
    }
    word.store(expected + 1, Ordering::Release);
    true
}

/// CPU seconds of one sleep with its wake-up. `cpus_of` has the CPUs for each place in a ring. The smallest of some
/// batches: other programs evict caches, and make a batch costlier, never cheaper.
fn sleep_s(end: End<'_>, cpus_of: &dyn Fn(usize) -> Vec<usize>) -> std::io::Result<f64> {
    let mut least = sleep_batch_s(end, cpus_of)?;
    for _ in 1..SLEEP_BATCHES {
        if end.has_come() {
            break;
        }
        least = least.min(sleep_batch_s(end, cpus_of)?);
    }
    Ok(least)
}

fn sleep_batch_s(end: End<'_>, cpus_of: &dyn Fn(usize) -> Vec<usize>) -> std::io::Result<f64> {
    let before = Usage::of_self();
    let rings: [[AtomicU32; MEMBERS]; RINGS] = Default::default();
    let passes: u32 = scope(|scope| {
        let mut threads: Vec<ScopedJoinHandle<'_, u32>> = Vec::new();
        for (ring, tokens) in rings.iter().enumerate() {
            for member in 0..MEMBERS {
                let cpus = cpus_of(ring + member);
                threads.push(Builder::new().spawn_scoped(scope, move || {
                    // A thread that cannot be bound runs where the scheduler places it, which costs something as well.
                    let _ = sched::stay_on_all(&cpus);
                    for round in 0..ROUNDS {
                        // The first member starts with the token.
                        if (round > 0 || member > 0) && !take(&tokens[member]) {
                            return round;
                        }
                        pass(&tokens[(member + 1) % MEMBERS]);
                    }
                    ROUNDS
                })?);
            }
        }
        while !threads.iter().all(ScopedJoinHandle::is_finished) {
            sched::sleep(LOOK);
            if end.has_come() {
                // Again and again: a thread that is about to take or pass a token overwrites it.
                rings.iter().flatten().for_each(stop);
            }
        }
        let passes = threads.into_iter().map(|thread| thread.join().expect("it only counts"));
        Ok::<u32, std::io::Error>(passes.sum())
    })?;
    let cpu_s = Usage::of_self().since(&before).cpu_s();
    Ok(cpu_s / f64::from(passes.max(1)))
}

/// In place of a token: the thread shall end.
const STOP: u32 = 2;

/// Sleeps until the token is there, and takes it. Returns whether it came.
fn take(token: &AtomicU32) -> bool {
    loop {
        // Acquire: pairs with the Release of `pass`.
        match token.load(Ordering::Acquire) {
            0 => drop(futex::private::wait(token, 0, None)),
            STOP => return false,
            _ => break,
        }
    }
    // Relaxed: the next pass comes after this thread has passed the token on.
    token.store(0, Ordering::Relaxed);
    true
}

fn pass(token: &AtomicU32) {
    // Release: pairs with the Acquire of `take`.
    token.store(1, Ordering::Release);
    futex::private::wake(token, 1);
}

fn stop(token: &AtomicU32) {
    // Release: as in `pass`.
    token.store(STOP, Ordering::Release);
    futex::private::wake(token, 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_arrives_and_costs_are_positive() {
        let cpu_sets = CpuSets::of(&[1], &[]).unwrap();
        let cost = measure(&cpu_sets, &AtomicBool::new(false)).unwrap().unwrap();
        assert!(cost.sleep_here_s > 0.0 && cost.sleep_across_s > 0.0, "{cost:?}");
        assert_eq!(cost.transfer_s > 0.0, cpu_sets.allowed.len() > 1, "{cost:?}");
    }

    #[test]
    fn interrupt_ends_the_probe() {
        let cpu_sets = CpuSets::of(&[1], &[]).unwrap();
        assert_eq!(measure(&cpu_sets, &AtomicBool::new(true)).unwrap(), None);
    }
}
