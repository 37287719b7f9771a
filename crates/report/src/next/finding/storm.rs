//! Broadcasts that wake threads in vain.

use super::cause::{Cause, Judged, MOSTLY, with_place};
use crate::figures::{Percent, number};
use crate::lock::Lock;
use crate::report::MeterReport;
use crate::wait::Wait;
use crate::wakes::Wakes;
use unspin_wire::{RecordKind, WakeUpCost};

/// The minimum cost of a storm, in wake-ups in vain, as a share of the metered time.
const STORM_WORTH: f64 = 0.01;
/// A storm wakes this many threads with a call, on average.
const STORM_THREADS: f64 = 1.5;
/// The minimum share of a storm's woken threads that wait again.
const STORM_IDLE: f64 = 0.5;
/// The minimum number of threads that a storm wakes in vain.
const STORM_MIN: u64 = 50;

/// Whether the broadcasts of a condition wake many threads in vain.
pub(super) fn is_storm(report: &MeterReport, wait: &Wait) -> bool {
    let Some(wakes) = &wait.wakes else { return false };
    let woken = wakes.by_broadcast;
    let cost = report.wake_up.unwrap_or(WakeUpCost::ASSUMED).seconds(RecordKind::Condition);
    woken.waited_again >= STORM_MIN
        && woken.waited_again as f64 * cost >= STORM_WORTH * report.seconds
        && wakes.per_broadcast() >= STORM_THREADS
        && woken.share_that_waited_again() >= STORM_IDLE
}

/// Whether the waits for a condition end by locking this mutex: a call site is in both rows.
pub(super) fn is_mutex_of(lock: &Lock, wait: &Wait) -> bool {
    let reacquired = lock.use_as(RecordKind::Reacquired);
    reacquired.is_some_and(|one| {
        one.callers.iter().any(|caller| {
            wait.callers
                .iter()
                .any(|waiter| waiter.row.name == caller.row.name && waiter.place == caller.place)
        })
    })
}

/// The cause, the sentences that name it, and what to do next.
pub(super) fn judge(report: &MeterReport, wait: &Wait) -> Option<Judged> {
    let wakes: &Wakes = wait.wakes.as_ref()?;
    let woken = wakes.by_broadcast;
    let at = wakes.broadcaster().map_or(String::new(), |waker| {
        format!(" Most broadcasts are at {}.", with_place(&waker.name, waker.place.as_deref()))
    });
    let mut text = format!(
        "Broadcasts for the condition {} wake {} threads each, and {} of the woken threads find nothing to do and wait \
         again.{at}",
        wait.row.name,
        number(wakes.per_broadcast()),
        Percent::ThreeDigits.of(woken.share_that_waited_again()),
    );
    if let Some(mutex) = report.locks.iter().find(|lock| is_mutex_of(lock, wait)) {
        text += &woken_share(mutex).unwrap_or_default();
    }
    let next = "wake one thread only (pthread_cond_signal, notify_one) instead of all. That is right if each change lets \
                at most one thread go on, and if every thread that waits here can handle it; otherwise use one \
                condition for each thing that is waited for.";
    Some((Cause::BroadcastStorm, text, next.into()))
}

/// ` 96 % of the time lost for queue_lock is lost by threads that were just woken from a condition.`
pub(super) fn woken_share(mutex: &Lock) -> Option<String> {
    let after = mutex.use_as(RecordKind::Reacquired)?;
    let share = after.row.lost / mutex.row.lost;
    (mutex.row.lost > 0.0 && share >= MOSTLY).then(|| {
        format!(
            " {} of the time lost for {} is lost by threads that were just woken from a condition.",
            Percent::ThreeDigits.of(share),
            mutex.row.name
        )
    })
}
