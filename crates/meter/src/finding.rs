//! Findings: what costs the program time at a lock or a condition, told from the figures, and what to do next.
//!
//! | cause | told by |
//! |---|---|
//! | deadlock | threads that have waited for each other in a ring for [`deadlock`](crate::deadlock)'s minimum |
//! | broadcast storm | a broadcast wakes [`STORM_THREADS`] threads or more, and [`STORM_IDLE`] of these wait again, having done nothing |
//! | priority inversion | [`INVERTED`] of the time lost was spent behind an owner of lower priority |
//! | starved writer | a read-write lock is held by readers for [`READ_HELD`] of the time, and a writer waits [`STARVED_TIMES`] times as long as a reader holds it, and [`STARVED_S`] or longer |
//! | mostly written | [`MOSTLY`] of the acquisitions of a read-write lock are for writing |
//! | long hold | the place with [`MOSTLY`] of the hold time holds for [`LONG_HOLD_S`] or longer, by the median |
//! | convoy | [`CONVOY`] of the attempts sleep, and [`CONVOY_TIMES`] times as long as a hold is, by the medians |
//! | split needed | the lock is held for [`SATURATED`] of the time, by short holds of two or more places with [`PART`] of the hold time each |
//! | saturated | the same, by one place |
//! | contended | none of these |
//!
//! The first line that applies is the finding of a lock. Holds are compared by their median: on a busy machine the
//! owner is preempted in some holds, which makes the mean long. Without times (level `counts`) nothing is told.
//!
//! What the figures do not distinguish:
//!
//! - One lock over independent data, and one lock over data that several places really share: both are "split
//!   needed", whose sentence says "looks like". One place that locks for many independent elements is "saturated".
//! - False sharing between a lock and the data behind it, and holds that are long for another reason. It makes holds
//!   some hundred nanoseconds longer while threads wait; but longer holds also attract more waiting threads, so the two
//!   are correlated in every program.
//! - Priority inversion behind an owner that ended before the wait did: the kernel knows its priority no more.
//! - A thread that inherits its priority from another mutex is judged by its own.
//! - A deadlock over semaphores of which fewer tokens were given back than [`used_as_lock`](crate::used_as_lock) asks
//!   for: none is named. Tokens that another process has are not seen: it could end a deadlock that is named.

use crate::figures::{number, percent, spoken_percent, time};
use crate::kind::RecordKind;
use crate::lock::{Caller, Lock, LockUse, MutexProperty};
use crate::report::MeterReport;
use crate::shell;
use crate::times::Times;
use crate::wait::Wait;
use crate::wakes::Wakes;
use crate::wakeup::WakeUpCost;
use crate::{command, level::Level};
use serde::Serialize;

/// The minimum ceiling of a lock with a finding: smaller gains are lost in the noise of a proof.
pub(crate) const WORTH_IT: f64 = 1.05;
/// The minimum cost of a storm, in wake-ups in vain, as a share of the metered time.
const STORM_WORTH: f64 = 0.01;
/// A storm wakes this many threads with a call, on average.
const STORM_THREADS: f64 = 1.5;
/// The minimum share of a storm's woken threads that wait again.
const STORM_IDLE: f64 = 0.5;
/// The minimum number of threads that a storm wakes in vain.
const STORM_MIN: u64 = 50;
/// The minimum share of the time lost that is spent behind owners of lower priority.
const INVERTED: f64 = 0.5;
/// The minimum share of the time that readers hold a lock whose writers starve.
const READ_HELD: f64 = 0.6;
/// A starved writer waits this many times as long as a reader holds the lock.
const STARVED_TIMES: f64 = 10.0;
/// The minimum mean wait of a starved writer: some time slices of the scheduler.
const STARVED_S: f64 = 5e-3;
/// More than half.
const MOSTLY: f64 = 0.5;
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
/// Maximum number of findings, and of places that one names.
const FINDINGS_MAX: usize = 2;
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

/// A finding: a cause, and what to do next.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Finding {
    /// The cause.
    pub cause: Cause,
    /// The lock or the condition.
    pub name: String,
    /// Sentences; the first one names the cause.
    pub text: String,
    /// What to do next, in one or two sentences.
    pub next: String,
    /// The command that tries a replacement, if the lock can be replaced and that could help.
    pub command: Option<String>,
}

impl MeterReport {
    /// The findings, the most important first; empty if no lock and no condition is worth the time.
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings: Vec<Finding> = self.deadlocks.iter().map(deadlock).collect();
        // The threads of a deadlock hold their locks to the end, and others wait for them: that has no other cause.
        if self.level == Level::Counts || !findings.is_empty() {
            return findings;
        }
        let storms: Vec<&Wait> = self.waits.iter().filter(|wait| is_storm(self, wait)).collect();
        let mut locks: Vec<&Lock> = self.locks.iter().filter(|lock| is_worth_it(lock)).collect();
        // A storm's threads wait for the mutex too, and the storm is the cause.
        let worst_is_of_a_storm =
            locks.first().is_none_or(|worst| storms.iter().any(|wait| is_mutex_of(worst, wait)));
        locks.retain(|lock| !storms.iter().any(|wait| is_mutex_of(lock, wait)));
        let storms = storms.into_iter().filter_map(|wait| storm(self, wait));
        let locks = locks.into_iter().map(|lock| of_lock(self, lock));
        match worst_is_of_a_storm {
            true => findings.extend(storms.chain(locks)),
            false => findings.extend(locks.chain(storms)),
        }
        findings.truncate(FINDINGS_MAX);
        findings
    }
}

fn is_worth_it(lock: &Lock) -> bool {
    lock.row.lost > 0.0 && lock.row.ceiling >= WORTH_IT
}

fn deadlock(ring: &crate::Deadlock) -> Finding {
    let mut text = ring.headline();
    for thread in &ring.threads {
        text += &format!(
            " Thread {} holds {}, taken by {}, and waits for {} in {}, for {}.",
            thread.tid,
            thread.holds,
            thread.taken_at,
            thread.wants,
            thread.waits_at,
            time(thread.waited)
        );
    }
    let next = match &ring.threads[..] {
        [_] => "unlock it before it is locked again, or use a recursive mutex (PTHREAD_MUTEX_RECURSIVE).".into(),
        _ => "take these locks in the same order everywhere; where that is not possible, take the second one with a \
              try-lock, and release the first one if it fails."
            .into(),
    };
    let name = ring.threads.first().map_or(String::new(), |thread| thread.wants.clone());
    Finding { cause: Cause::Deadlock, name, text, next, command: None }
}

/// Whether the broadcasts of a condition wake many threads in vain.
fn is_storm(report: &MeterReport, wait: &Wait) -> bool {
    let Some(wakes) = &wait.wakes else { return false };
    let woken = wakes.by_broadcast;
    let cost = report.wake_up.unwrap_or(WakeUpCost::ASSUMED).seconds(RecordKind::Condition);
    woken.waited_again >= STORM_MIN
        && woken.waited_again as f64 * cost >= STORM_WORTH * report.seconds
        && wakes.per_broadcast() >= STORM_THREADS
        && woken.share_that_waited_again() >= STORM_IDLE
}

/// Whether the waits for a condition end by locking this mutex: a call site is in both rows.
fn is_mutex_of(lock: &Lock, wait: &Wait) -> bool {
    let reacquired = lock.use_as(RecordKind::Reacquired);
    reacquired.is_some_and(|one| {
        one.callers.iter().any(|caller| {
            wait.callers
                .iter()
                .any(|waiter| waiter.row.name == caller.row.name && waiter.place == caller.place)
        })
    })
}

fn storm(report: &MeterReport, wait: &Wait) -> Option<Finding> {
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
        spoken_percent(woken.share_that_waited_again()),
    );
    if let Some(mutex) = report.locks.iter().find(|lock| is_mutex_of(lock, wait)) {
        text += &woken_share(mutex).unwrap_or_default();
    }
    let next = "wake one thread only (pthread_cond_signal, notify_one) instead of all. That is right if each change lets \
                at most one thread go on, and if every thread that waits here can handle it; otherwise use one \
                condition for each thing that is waited for.";
    Some(Finding {
        cause: Cause::BroadcastStorm,
        name: wait.row.name.clone(),
        text,
        next: next.into(),
        command: None,
    })
}

/// ` 96 % of the time lost for queue_lock is lost by threads that were just woken from a condition.`
fn woken_share(mutex: &Lock) -> Option<String> {
    let after = mutex.use_as(RecordKind::Reacquired)?;
    let share = after.row.lost / mutex.row.lost;
    (mutex.row.lost > 0.0 && share >= MOSTLY).then(|| {
        format!(
            " {} of the time lost for {} is lost by threads that were just woken from a condition.",
            spoken_percent(share),
            mutex.row.name
        )
    })
}

fn of_lock(report: &MeterReport, lock: &Lock) -> Finding {
    let (cause, sentence, next) = judge(lock);
    let figures = match lock.row.spin > 0.0 {
        true => lock.headline(report.cpus),
        false if report.is_disturbed() => lock.sleepers_without_bound(),
        false => lock.sleepers(),
    };
    let woken = woken_share(lock).unwrap_or_default();
    let mut next = next;
    let is_of_the_engine = lock.uses.iter().any(|one| one.kind == RecordKind::Engine);
    if is_of_the_engine {
        next =
            "the lock belongs to unspin's System V engine, not to the program: compare the engines (--sysv)."
                .into();
    }
    // Threads that take and add work look like threads that take and release a lock.
    let is_queue_or_lock = lock.uses.iter().any(|one| one.kind == RecordKind::Condition);
    let command = match unspin_replaces(lock) {
        _ if is_of_the_engine => None,
        Ok(()) => kind_to_try(cause, lock.property).map(|kind| prove(report, lock, kind)),
        Err(why) => {
            next += &format!(" {why}");
            if is_queue_or_lock {
                next += " If it is a queue of work and no lock, its threads wait for work, and lose nothing.";
            }
            None
        }
    };
    Finding {
        cause,
        name: lock.row.name.clone(),
        text: format!("{sentence} {figures}{woken}"),
        next,
        command,
    }
}

/// Whether the lock is a mutex that can be replaced; otherwise the sentence that says why not.
fn unspin_replaces(lock: &Lock) -> Result<(), String> {
    let kind = match lock.uses.first().map(|one| one.kind) {
        Some(RecordKind::Mutex | RecordKind::Reacquired) | None => {
            let property = lock.property.filter(|property| *property != MutexProperty::Inheriting);
            return property.map_or(Ok(()), |kept| Err(format!("unspin replaces no {}.", kept.mutexes())));
        }
        Some(RecordKind::Read | RecordKind::Write) => "read-write locks",
        Some(RecordKind::Spin) => "spin locks",
        Some(RecordKind::Semaphore) => "semaphores",
        Some(RecordKind::Condition) => "conditions that are used as locks",
        Some(_) => "locks of this kind",
    };
    Err(format!("unspin replaces no {kind}, only mutexes."))
}

/// The kind of lock that could help a mutex with this property, if one could.
fn kind_to_try(cause: Cause, property: Option<MutexProperty>) -> Option<&'static str> {
    match (cause, property) {
        (Cause::Convoy | Cause::Contended | Cause::Saturated | Cause::SplitNeeded, None) => Some("adaptive"),
        // Only these kinds replace a mutex that inherits priorities.
        (Cause::Convoy | Cause::Contended | Cause::Saturated | Cause::SplitNeeded, Some(_)) => {
            Some("rt-adaptive")
        }
        (Cause::PriorityInversion, None) => Some("pi"),
        _ => None,
    }
}

/// `unspin prove --mutex adaptive@cache_lock -- ./server -t2`
fn prove(report: &MeterReport, lock: &Lock, kind: &str) -> String {
    let name = &lock.row.name;
    let is_ambiguous = report.locks.iter().filter(|other| other.row.name == *name).count() > 1;
    // Without a name, as `mutex 0x7f12`, it can be replaced only together with all others.
    let has_name = !name.starts_with("mutex 0x");
    let file = lock.module.as_ref().map_or(String::new(), |module| format!(" in {module}"));
    let choice = match &lock.origin {
        _ if !has_name => kind.to_owned(),
        Some(origin) if is_ambiguous => format!("{kind}@{name}, {origin}{file}"),
        _ => format!("{kind}@{name}{file}"),
    };
    format!("unspin prove --mutex {} -- {}", shell::quoted(&choice), command::of(report))
}

/// The cause, the sentence that names it, and what to do next.
fn judge(lock: &Lock) -> (Cause, String, String) {
    inverted(lock)
        .or_else(|| read_write(lock))
        .or_else(|| long_hold(lock))
        .or_else(|| convoy(lock))
        .or_else(|| saturated(lock))
        .unwrap_or_else(|| contended(lock))
}

type Judged = (Cause, String, String);

fn inverted(lock: &Lock) -> Option<Judged> {
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

fn read_write(lock: &Lock) -> Option<Judged> {
    let writes = lock.use_as(RecordKind::Write)?;
    let name = &lock.row.name;
    if let Some(reads) = lock.use_as(RecordKind::Read) {
        let util = reads.row.util / lock.locks.max(1) as f64;
        let wait = writes.row.wait_mean;
        if util >= READ_HELD
            && wait >= STARVED_S
            && wait >= STARVED_TIMES * reads.row.hold_mean
            && writes.row.lost >= MOSTLY * lock.row.lost
        {
            let sentence = format!(
                "Writers of {name} starve: readers hold it for {} of the time and overlap, so a writer waits {} on average, \
                 and {} at most, although a reader holds it for {} only.",
                spoken_percent(util),
                time(wait),
                time(writes.row.wait_max),
                time(reads.row.hold_mean)
            );
            let next = "let writers go first (PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP, if no thread locks twice for \
                        reading), or let readers take a copy of what they need.";
            return Some((Cause::StarvedWriter, sentence, next.into()));
        }
    }
    let acquired = |one: &LockUse| (one.row.attempts - one.row.rejected) as f64;
    let share = acquired(writes) / (lock.row.attempts - lock.row.rejected).max(1) as f64;
    (share >= MOSTLY).then(|| {
        let sentence = format!(
            "{name} is a read-write lock that is mostly written: {} of its acquisitions are for writing.",
            spoken_percent(share)
        );
        let next = "use a mutex: it costs less, and unspin can try other kinds of mutexes in its place.";
        (Cause::MostlyWritten, sentence, next.into())
    })
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
        percent(share).trim(),
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
    let held = spoken_percent(util.min(1.0));
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
        percent(*share).trim(),
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
            spoken_percent(slept),
            time(wait),
            time(hold),
        );
        let next = "lock it less often, or use a lock whose waiters spin before they sleep.";
        (Cause::Convoy, sentence, next.to_owned())
    })
}

fn contended(lock: &Lock) -> Judged {
    let row = &lock.row;
    let sentence = format!(
        "Threads wait for {}: {} of the attempts do not get it at once, and wait {} on average, for holds of {}.",
        row.name,
        spoken_percent(row.con),
        time(row.wait_mean),
        time(row.hold_mean)
    );
    let holders = holders(lock);
    let longest = holders.first().map_or(String::new(), |(caller, share)| {
        let place = with_place(&caller.row.name, caller.place.as_deref());
        format!(" ({place} has {} of the hold time)", percent(*share).trim())
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
fn with_place(name: &str, place: Option<&str>) -> String {
    match place {
        Some(place) => format!("{name} ({place})"),
        None => name.to_owned(),
    }
}
