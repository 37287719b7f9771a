//! More threads than the models have, in random schedules of shuttle: no thread sleeps for ever. (Shuttle does not
//! simulate weak memory; the models do.)

use crate::host::model::STEP;
use crate::park::model::FORGETS;
use crate::spin::as_raw::AsRaw;
use crate::waiting::{Park, SpinEnd, SpinPolicy, SpinStep};
use crate::{LockKind, LockVisitor, RawLock, Stealing, Until, WaitingMode};
use core::time::Duration;
use unspin_sync::machine::{AtomicU64, Ordering::Relaxed};
use unspin_sync::sync::Arc;
use unspin_sync::{hint, thread};

const SCHEDULES: usize = 20_000;
const THREADS: u64 = 5;
const ROUNDS: u64 = 3;

/// Acquires in one of the available ways; returns whether it succeeded.
fn acquire<L: RawLock>(lock: &L, way: u64) -> bool {
    let node = &mut L::Node::default();
    match way % 4 {
        0 => lock.try_lock(),
        1 => lock.lock_until(node, Until::after(Duration::ZERO)).is_some(),
        _ => {
            lock.lock(node);
            true
        }
    }
}

/// All threads at once, in all ways. `step` is how far each read of the clock advances it.
fn crowd<L: RawLock>(step: u64) {
    STEP.store(step, Relaxed);
    let lock = Arc::new((L::new(), AtomicU64::new(0)));
    let threads: Vec<_> = (0..THREADS)
        .map(|number| {
            let lock = lock.clone();
            thread::spawn(move || {
                for round in 0..ROUNDS {
                    if acquire(&lock.0, number + round) {
                        // Relaxed: threads take turns here, and the lock orders elsewhere.
                        assert_eq!(lock.1.fetch_add(1, Relaxed), 0, "two owners");
                        thread::yield_now();
                        lock.1.fetch_sub(1, Relaxed);
                        // SAFETY: acquired above.
                        unsafe { lock.0.unlock() };
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(!lock.0.is_locked(), "somebody holds it for ever");
}

/// Policy: reads the lock some times, and then sleeps.
#[derive(Debug)]
pub(crate) struct LookTimes(u32);

impl SpinPolicy for LookTimes {
    fn begin(_: u32) -> LookTimes {
        LookTimes(0)
    }

    fn pause(&mut self, _: u32) -> SpinStep {
        self.0 += 1;
        if self.0 > 3 {
            return SpinStep::Sleep;
        }
        hint::spin_loop();
        SpinStep::Recheck
    }

    fn lost_race(&mut self) {}

    fn end(&self, _: SpinEnd) -> u32 {
        0
    }
}

struct CpuPressure;

impl LockVisitor for CpuPressure {
    type Output = ();

    fn visit<L: RawLock>(self) {
        shuttle::check_random(|| crowd::<L>(0), SCHEDULES);
        shuttle::check_pct(|| crowd::<L>(0), SCHEDULES, 3);
    }
}

/// Locks that sleep without a look at a clock. A waiter that spins first is tested below; priority inheritance in `rt`.
#[test]
fn no_thread_sleeps_for_ever() {
    let sleeps = |kind: &LockKind| kind.waiting_mode() == WaitingMode::Sleep && !kind.inherits_priority();
    let tested = LockKind::ALL.into_iter().filter(sleeps).filter_map(|kind| kind.visit(CpuPressure));
    assert!(tested.count() >= 2);
}

#[test]
fn no_thread_sleeps_for_ever_beside_spinners() {
    CpuPressure.visit::<Stealing<LookTimes>>();
}

#[test]
fn no_thread_sleeps_for_ever_when_all_starve() {
    const ALL_STARVE: u64 = 1 << 24;
    shuttle::check_random(|| crowd::<Stealing<LookTimes>>(ALL_STARVE), SCHEDULES);
}

#[test]
fn no_thread_sleeps_for_ever_at_a_spin_lock() {
    CpuPressure.visit::<AsRaw<Park>>();
    CpuPressure.visit::<AsRaw<LookTimes>>();
}

/// Planted bug: the kernel wakes no thread.
#[test]
#[should_panic(expected = "deadlock")]
fn planted_lost_wake_up() {
    let forgetful = || {
        FORGETS.store(true, Relaxed);
        crowd::<crate::Steal>(0);
    };
    shuttle::check_random(forgetful, SCHEDULES);
}
