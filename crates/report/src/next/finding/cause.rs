//! The cause of the time lost for a lock, told from its figures.

use super::replacement::{BIASED, Replaceable, unspin_replaces};
use crate::figures::{Percent, time};
use crate::lock::{Caller, Lock};
use crate::times::Times;
use serde::Serialize;

/// The minimum share of the time lost that is spent behind owners of lower priority.
const INVERTED: f64 = 0.5;
/// More than half.
pub(super) const MOSTLY: f64 = 0.5;
/// A hold from which on the cost of handing over a lock (5 µs to 50 µs) does not matter.
const LONG_HOLD_S: f64 = 100e-6;
/// A hold from which on shortening it helps as much as another kind of lock.
const HAND_OVER_S: f64 = 5e-6;
/// A lock that is held for this share of the time passes from owner to owner without a gap.
const SATURATED: f64 = 0.8;
/// The minimum share of the hold time of a place that is named as one of several.
const PART: f64 = 0.15;
/// The minimum share of the attempts at a convoy's lock that sleep.
const CONVOY: f64 = 0.3;
/// A thread of a convoy sleeps this many times as long as the lock is held.
const CONVOY_TIMES: f64 = 10.0;
/// Maximum number of places that a finding names.
const PLACES_MAX: usize = 4;

/// What costs the time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Threads wait for each other in a ring.
    Deadlock,
    /// Broadcasts wake threads that find nothing to do.
    BroadcastStorm,
    /// Threads wait behind owners of lower priority.
    PriorityInversion,
    /// Writers wait for readers that overlap.
    StarvedWriter,
    /// A read-write lock is used as a mutex.
    MostlyWritten,
    /// Readers wait for something else while they hold a read-write lock.
    SleepingReaders,
    /// Readers that do not wait write to one cache line, the read-write lock's.
    ContendedReaders,
    /// One place holds the lock long.
    LongHold,
    /// Several places hold the lock in turn, all the time.
    SplitNeeded,
    /// One place holds the lock again and again, all the time.
    Saturated,
    /// Threads sleep much longer than the lock is held.
    Convoy,
    /// Threads wait, for none of these reasons.
    Contended,
}

impl Cause {
    /// The kinds of lock that could help a lock of this class, the likeliest first; empty if none could.
    pub(super) fn kinds_to_try(self, class: Replaceable) -> &'static [&'static str] {
        use Cause::{
            Contended, ContendedReaders, Convoy, MostlyWritten, PriorityInversion, Saturated, SplitNeeded,
            StarvedWriter,
        };
        match (self, class) {
            (Convoy | Contended | Saturated | SplitNeeded, Replaceable::Mutex | Replaceable::Spin) => {
                &["adaptive"]
            }
            (Convoy | Contended | Saturated | SplitNeeded, Replaceable::InheritingMutex) => &["rt-adaptive"],
            (PriorityInversion, Replaceable::Mutex) => &["pi"],
            (ContendedReaders, Replaceable::RwLock) => &[BIASED],
            (StarvedWriter | MostlyWritten, Replaceable::RwLock) => &["rw-writer"],
            // Which is faster depends on the writes, on the length of the holds and on the threads.
            (Convoy | Contended | Saturated | SplitNeeded, Replaceable::RwLock) => &[BIASED, "rw-writer"],
            _ => &[],
        }
    }
}

/// A cause, the sentences that name it, and what to do next.
pub(super) type Judged = (Cause, String, String);

/// The causes that the holds tell, unless they are estimates of level `auto`: one long hold among those chosen at random would decide.
pub(super) fn told_by_holds(lock: &Lock) -> Option<Judged> {
    match lock.row.implied {
        0 => long_hold(lock).or_else(|| convoy(lock)).or_else(|| saturated(lock)),
        _ => None,
    }
}

/// Whether most of the time was lost behind owners of lower priority.
pub(super) fn inverted(lock: &Lock) -> Option<Judged> {
    let inverted = lock.inverted.filter(|inverted| inverted.seconds >= INVERTED * lock.row.lost)?;
    let sentence = format!(
        "Priority inversion: threads waited for {} while a thread of lower priority held it, {} of the {} that were lost \
         for it, and {} at most.",
        lock.row.name,
        time(inverted.seconds),
        time(lock.row.lost),
        time(inverted.max)
    );
    let next = "give the threads that share it one priority, or let the owner inherit that of the waiting thread \
                (PTHREAD_PRIO_INHERIT): this helps real-time threads, and no nice values.";
    Some((Cause::PriorityInversion, sentence, next.into()))
}

/// The callers, longest hold time first, each with its share of the lock's.
fn holders(lock: &Lock) -> Vec<(&Caller, f64)> {
    let all = lock.row.hold.max(f64::MIN_POSITIVE);
    let mut holders: Vec<(&Caller, f64)> =
        lock.callers().map(|(_, caller)| (caller, caller.row.hold / all)).collect();
    holders.sort_by(|a, b| b.1.total_cmp(&a.1));
    holders
}

fn long_hold(lock: &Lock) -> Option<Judged> {
    let holders = holders(lock);
    let &(caller, share) = holders.first().filter(|(_, share)| *share >= MOSTLY)?;
    let hold = at_least(&caller.holds).filter(|&hold| hold >= LONG_HOLD_S)?;
    // The last range of the distribution has no end, so its lower end says little.
    let half = match caller.holds.quantile(0.5) {
        Some(_) => format!(" on average (half of the holds: {} or longer)", time(hold)),
        None => " on average".into(),
    };
    let sentence = format!(
        "{} is held long: {} holds it for {}{half}, which is {} of the time that it is held.",
        lock.row.name,
        with_place(&caller.row.name, caller.place.as_deref()),
        time(caller.row.hold_mean),
        Percent::Column.of(share).trim(),
    );
    let next = "hold it shorter there: move input, output, sleep and long computations out of the critical section. No \
                kind of lock helps, as a hold takes longer than any hand-over.";
    Some((Cause::LongHold, sentence, next.into()))
}

/// What to do about short holds that fill the time.
const SATURATED_NEXT: &str = "lock it less often (do more in one hold, or collect work for each thread), or split it, as by \
                              a hash of the key";

fn saturated(lock: &Lock) -> Option<Judged> {
    let util = lock.util_each();
    if util < SATURATED {
        return None;
    }
    let holders = holders(lock);
    let parts: Vec<&Caller> =
        holders.iter().filter(|(_, share)| *share >= PART).map(|(caller, _)| *caller).collect();
    let name = &lock.row.name;
    let held = Percent::ThreeDigits.of(util.min(1.0));
    if parts.len() > 1 {
        let places: Vec<String> =
            parts.iter().take(PLACES_MAX).map(|caller| caller.row.name.clone()).collect();
        let sentence = format!(
            "{name} looks like one lock over several data: {} places hold it for a short time each ({}), and together \
             for {held} of the time.",
            parts.len(),
            places.join(", "),
        );
        let next = "split it: if these places use different data, give each its own lock. If they use the same data, hold \
                    it shorter or lock it less often.";
        return Some((Cause::SplitNeeded, sentence, next.into()));
    }
    let Some((caller, share)) = holders.first().filter(|_| !parts.is_empty()) else {
        let sentence = format!("{name} is saturated: it is held for {held} of the time, by many places.");
        return Some((Cause::Saturated, sentence, format!("{SATURATED_NEXT}.")));
    };
    let sentence = format!(
        "{name} is saturated: {} holds it for {} each time, {} of the {held} of the time in which it is held.",
        with_place(&caller.row.name, caller.place.as_deref()),
        time(caller.row.hold_mean),
        Percent::Column.of(*share).trim(),
    );
    let next = match caller.row.hold_mean >= HAND_OVER_S {
        true => format!("hold it shorter there: compute before the lock is taken. Or {SATURATED_NEXT}."),
        false => format!("{SATURATED_NEXT}."),
    };
    Some((Cause::Saturated, sentence, next))
}

fn convoy(lock: &Lock) -> Option<Judged> {
    let row = &lock.row;
    let slept = row.share(row.slept);
    let (hold, wait) = (at_least(&lock.holds)?, at_least(&lock.waits)?);
    // The lower end of the shortest range is 0.
    let hold = hold.max(50e-9);
    (slept >= CONVOY && wait >= CONVOY_TIMES * hold).then(|| {
        // Some holds are long, as where the owner was preempted.
        let exceptions = match row.hold_mean >= CONVOY_TIMES * hold {
            true => format!(" Some holds take longer: {} on average, {} at most.", time(row.hold_mean), time(row.hold_max)),
            false => String::new(),
        };
        let sentence = format!(
            "A convoy forms at {}: {} of the attempts sleep, most of them for {} or longer, although most holds take about \
             {}.{exceptions}",
            row.name,
            Percent::ThreeDigits.of(slept),
            time(wait),
            time(hold),
        );
        let next = "lock it less often, or use a lock whose waiters spin before they sleep.";
        (Cause::Convoy, sentence, next.to_owned())
    })
}

/// The cause if there is no other.
pub(super) fn contended(lock: &Lock) -> Judged {
    let row = &lock.row;
    let sentence = format!(
        "Threads wait for {}: {} of the attempts do not get it at once, and wait {} on average, for holds of {}.",
        row.name,
        Percent::ThreeDigits.of(row.con),
        time(row.wait_mean),
        time(row.hold_mean)
    );
    if row.implied > 0 {
        let next =
            "meter it at `--level full`: at level `auto` its holds are estimates, which tell no cause.";
        return (Cause::Contended, sentence, next.into());
    }
    let holders = holders(lock);
    let longest = holders.first().map_or(String::new(), |(caller, share)| {
        let place = with_place(&caller.row.name, caller.place.as_deref());
        format!(" ({place} has {} of the hold time)", Percent::Column.of(*share).trim())
    });
    let another = if unspin_replaces(lock).is_ok() { ", or try another kind of lock" } else { "" };
    let next = format!("hold it shorter{longest} or lock it less often{another}.");
    (Cause::Contended, sentence, next)
}

/// A time that half of the times reach, in seconds: the lower end of the range that contains the median.
fn at_least(times: &Times) -> Option<f64> {
    let half = times.count().div_ceil(2);
    let mut below = 0u64;
    times.ranges().iter().find_map(|range| {
        below = below.saturating_add(range.count);
        (below >= half).then_some(range.from)
    })
}

/// `push+0x1c (queue.c:101)`
pub(super) fn with_place(name: &str, place: Option<&str>) -> String {
    match place {
        Some(place) => format!("{name} ({place})"),
        None => name.to_owned(),
    }
}
