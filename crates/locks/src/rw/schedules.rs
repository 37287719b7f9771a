//! More threads than the models have, in random schedules of shuttle: no thread sleeps for ever. (Shuttle does not
//! simulate weak memory; the models do.)

use super::order::{Order, Policy, policies};
use super::{Phased, RawRwLock, Recursion};
use crate::Until;
use crate::host::model::STEP;
use crate::park::model::FORGETS;
use crate::schedules::LookTimes;
use crate::waiting::Park;
use core::time::Duration;
use unspin_sync::machine::{AtomicU64, Ordering::Relaxed};
use unspin_sync::sync::Arc;
use unspin_sync::thread;

const THREADS: u32 = 5;
const ROUNDS: u32 = 3;
const SCHEDULES: usize = 1_000;
/// Every thread that has slept has waited long.
const ALL_STARVE: u64 = 1 << 24;

policies! {
    Fair: Phases, false, Park;
    Writer: WritersFirst, false, Park;
    WriterLooking: WritersFirst, false, LookTimes;
    Biased: WritersFirst, true, Park;
    BiasedLooking: WritersFirst, true, LookTimes;
}

/// A writer adds this to the number of threads inside, a reader 1.
const WRITER: u64 = 1 << 32;

fn use_once<P: Policy>(lock: &Phased<P>, inside: &AtomicU64, way: u32) {
    let past = Some(Until::after(Duration::ZERO));
    let writes = way % 3 == 0;
    let is_in = match (writes, way % 4) {
        (true, 0) => lock.try_write(),
        (true, 1) => lock.write(past).is_some(),
        (true, _) => lock.write(None).is_some(),
        (false, 0) => lock.try_read(Recursion::Allowed).is_ok(),
        (false, 1) => lock.read(Recursion::Excluded, past).is_ok(),
        (false, _) => lock.read(Recursion::Allowed, None).is_ok(),
    };
    if !is_in {
        return;
    }
    let mine = if writes { WRITER } else { 1 };
    // Relaxed: threads take turns here, and the lock orders elsewhere.
    let others = inside.fetch_add(mine, Relaxed);
    assert!(others == 0 || !writes && others < WRITER, "a writer is not alone");
    thread::yield_now();
    inside.fetch_sub(mine, Relaxed);
    // SAFETY: acquired above.
    unsafe { if writes { lock.unlock_write() } else { lock.unlock_read() } }
}

fn crowd<P: Policy>(step: u64) {
    STEP.store(step, Relaxed);
    let shared = Arc::new((Phased::<P>::new(), AtomicU64::new(0)));
    let threads: Vec<_> = (0..THREADS)
        .map(|number| {
            let shared = shared.clone();
            thread::spawn(move || {
                (0..ROUNDS).for_each(|round| use_once(&shared.0, &shared.1, number * 5 + round * 7))
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(shared.0.try_write(), "a thread holds it for ever");
}

fn check<P: Policy>() {
    for step in [0, ALL_STARVE] {
        shuttle::check_random(move || crowd::<P>(step), SCHEDULES);
        shuttle::check_pct(move || crowd::<P>(step), SCHEDULES, 3);
    }
}

#[test]
fn no_thread_sleeps_for_ever() {
    check::<Fair>();
    check::<Writer>();
    check::<WriterLooking>();
    check::<Biased>();
    check::<BiasedLooking>();
}

/// Two readers hold one lock each and want the other one, while writers wait for both.
fn cross<P: Policy>() {
    let locks = Arc::new([Phased::<P>::new(), Phased::<P>::new()]);
    // Sets the bias of a lock that has one: the first read only prepares for it.
    for lock in locks.iter().chain(locks.iter()) {
        lock.read(Recursion::Allowed, None).unwrap();
        // SAFETY: acquired above.
        unsafe { lock.unlock_read() };
    }
    let threads = (0..4).map(|number| {
        let locks = locks.clone();
        thread::spawn(move || {
            let [first, second] = [&locks[number % 2], &locks[1 - number % 2]];
            if number < 2 {
                first.read(Recursion::Allowed, None).unwrap();
                thread::yield_now();
                second.read(Recursion::Allowed, None).unwrap();
                // SAFETY: acquired above.
                unsafe {
                    second.unlock_read();
                    first.unlock_read();
                }
            } else {
                first.write(None).unwrap();
                // SAFETY: acquired in the line before.
                unsafe { first.unlock_write() };
            }
        })
    });
    threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn readers_of_two_locks_do_not_wait_for_each_other() {
    shuttle::check_random(cross::<Fair>, SCHEDULES);
    shuttle::check_random(cross::<Writer>, SCHEDULES);
    shuttle::check_random(cross::<Biased>, SCHEDULES);
    shuttle::check_pct(cross::<Biased>, SCHEDULES, 3);
}

/// Planted bug: the kernel wakes no thread.
#[test]
#[should_panic(expected = "deadlock")]
fn planted_lost_wake_up() {
    let forgetful = || {
        // Relaxed: the threads of a model run one at a time.
        FORGETS.store(true, Relaxed);
        crowd::<Writer>(0);
    };
    shuttle::check_random(forgetful, SCHEDULES);
}
