//! The spin lock: the properties of all locks, and both kinds of lock in one word.

use super::planted::{access_without_lock, hold_under_a_bad_kernel, lost_wake_up, release_by_another_thread};
use super::*;
use crate::spin::as_raw::AsRaw;
use crate::spin::{FreeAs, Sleepers, SpinLock};
use crate::waiting::Park;
use unspin_sync::machine::AtomicU64;
use unspin_sync::modelled::lazy_static;

model_locks! {
    sleeping: AsRaw<Park>, CLOCK_STOPPED, [with_two with_three release_by_another_thread lost_wake_up];
    looking_twice: AsRaw<LookTwice>, CLOCK_STOPPED, [with_two with_three];
    starving: AsRaw<LookTwice>, ALL_STARVE, [with_two with_three];
}

lazy_static! {
    /// How many periods of spinning have begun.
    static ref BEGUN: AtomicU64 = AtomicU64::new(0);
}

/// Policy: the first waiter sleeps at once, so that the others can spin beside a sleeper. (Of a thread that spins loom lets the
/// owner run to its end first.)
struct FirstSleeps(LookTwice);

impl SpinPolicy for FirstSleeps {
    fn begin(memo: u32) -> FirstSleeps {
        // Relaxed: the threads of a model run one at a time.
        let is_first = BEGUN.fetch_add(1, Relaxed) == 0;
        FirstSleeps(if is_first { LookTwice { looks: 1 } } else { LookTwice::begin(memo) })
    }

    fn pause(&mut self, owner: u32) -> SpinStep {
        self.0.pause(owner)
    }

    fn lost_race(&mut self) {}

    fn end(&self, _: SpinEnd) -> u32 {
        0
    }
}

#[test]
fn spinner_takes_over_the_duty_to_wake() {
    let all = |world: &World<_>| assert_eq!(world.read(), 3);
    let first = |world: &World<_>| world.lock();
    explore_from::<AsRaw<FirstSleeps>>(first, 2, CLOCK_STOPPED, &[end_hold, hold, hold], all);
}

fn end_hold<L: RawLock>(world: &World<L>) {
    world.write();
    world.unlock();
}

/// The acquisition by the hooks: libc's lock once libc serves the lock. Returns whether the thread has it: see
/// [`SpinLock::libcs_lock`].
fn lock_by_hook<W: SpinPolicy>(world: &World<AsRaw<W>>) -> bool {
    world.lock.0.lock().is_some() || world.lock.0.libcs_lock()
}

/// The release by the hooks once code calls libc directly. `wakes` maps the sleepers that it has to wake.
fn unlock_by_hook<W: SpinPolicy>(world: &World<AsRaw<W>>, wakes: fn(Sleepers) -> Sleepers) {
    let lock = &world.lock.0;
    // SAFETY: the caller holds the lock.
    match unsafe { lock.release(FreeAs::Libcs) } {
        Some(sleepers) => SpinLock::wake(lock, wakes(sleepers)),
        None => lock.libcs_unlock(),
    }
}

fn hold_by_hook<W: SpinPolicy>(world: &World<AsRaw<W>>) {
    if lock_by_hook(world) {
        world.write();
        unlock_by_hook(world, |sleepers| sleepers);
    }
}

/// What code does that calls libc directly.
fn hold_by_libc<W: SpinPolicy>(world: &World<AsRaw<W>>) {
    if world.lock.0.libcs_lock() {
        world.write();
        world.lock.0.libcs_unlock();
    }
}

fn is_libcs<W: SpinPolicy>(world: &World<AsRaw<W>>) {
    assert_eq!(world.lock.0.lock(), None);
}

#[test]
fn code_that_calls_libc_directly_excludes_and_is_excluded() {
    explore::<AsRaw<Park>>(3, CLOCK_STOPPED, &[hold_by_hook, hold_by_libc], is_libcs);
    explore::<AsRaw<Park>>(2, CLOCK_STOPPED, &[hold_by_hook, hold_by_hook, hold_by_libc], is_libcs);
    explore::<AsRaw<LookTwice>>(2, CLOCK_STOPPED, &[hold_by_hook, hold_by_hook, hold_by_libc], is_libcs);
}

/// Two threads sleep when the lock becomes libc's; the one that is woken first has the duty to wake the other.
#[test]
fn sleepers_go_to_libcs_lock() {
    fn end<W: SpinPolicy>(world: &World<AsRaw<W>>) {
        world.write();
        unlock_by_hook(world, |sleepers| sleepers);
    }
    fn sleep_for_it<W: SpinPolicy>() {
        let first = |world: &World<AsRaw<W>>| world.lock();
        explore_from(first, 2, CLOCK_STOPPED, &[end, hold_by_hook, hold_by_hook], is_libcs);
    }
    sleep_for_it::<Park>();
    sleep_for_it::<LookTwice>();
}

/// The last release of ours wakes one of two sleepers, or leaves that to a spinner. Then libc's lock is acquired, and releases
/// wake no sleeper any more.
#[test]
fn thread_with_the_duty_wakes_the_others_when_the_lock_is_libcs() {
    fn end<W: SpinPolicy>(world: &World<AsRaw<W>>) {
        end_hold(world);
        hold_by_libc(world);
    }
    fn explore_with<W: SpinPolicy>() {
        let first = |world: &World<AsRaw<W>>| world.lock();
        explore_from(first, 2, CLOCK_STOPPED, &[end, hold_by_hook, hold_by_hook], is_libcs);
    }
    explore_with::<Park>();
    explore_with::<FirstSleeps>();
}

#[test]
#[should_panic(expected = "deadlock")]
fn planted_one_sleeper_is_woken_when_the_lock_becomes_libcs() {
    fn end(world: &World<AsRaw<Park>>) {
        world.write();
        let one = |sleepers| if sleepers == Sleepers::All { Sleepers::One } else { sleepers };
        unlock_by_hook(world, one);
    }
    /// A woken thread forgets its duty.
    fn hold_in_libc(world: &World<AsRaw<Park>>) {
        world.lock.0.sleep_once();
        hold_by_libc(world);
    }
    let first = |world: &World<_>| world.lock();
    explore_from::<AsRaw<Park>>(first, 2, CLOCK_STOPPED, &[end, hold_in_libc, hold_in_libc], is_libcs);
}

/// Why a sleep has a limit: libc's release wakes no sleeper.
#[test]
#[should_panic(expected = "deadlock")]
fn planted_release_by_libc_of_a_lock_with_sleepers() {
    fn end(world: &World<AsRaw<Park>>) {
        world.write();
        world.lock.0.libcs_unlock();
    }
    explore_from::<AsRaw<Park>>(|world| world.lock(), 2, CLOCK_STOPPED, &[end, hold_by_hook], is_libcs);
}
