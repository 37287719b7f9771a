//! The causes that only read-write locks have.

use super::cause::{Cause, Judged, MOSTLY, with_place};
use super::replacement::{BIASED, kind_in_use};
use crate::figures::{Percent, number, time};
use crate::lock::{Lock, LockUse};
use crate::report::MeterReport;
use unspin_wire::RecordKind;

/// The minimum share of the time that readers hold a lock whose writers starve.
const READ_HELD: f64 = 0.6;
/// A starved writer waits this many times as long as a reader holds the lock.
const STARVED_TIMES: f64 = 10.0;
/// The minimum mean wait of a starved writer: some time slices of the scheduler.
const STARVED_S: f64 = 5e-3;
/// The minimum number of acquisitions for reading a second. With its release each takes the lock's cache line from another CPU
/// twice, some 100 ns: 5 % of one CPU's time.
const READS_PER_SECOND: f64 = 5e5;
/// The maximum share of the acquisitions that are for writing where readers contend: a kind with a bias towards readers pays
/// for each.
const FEW_WRITES: f64 = 0.01;
/// The maximum mean hold of readers that contend: of a longer one the cache line's transfers are a small part.
const SHORT_HOLD_S: f64 = 2e-6;
/// The minimum quotient of all readers' holds and the time in which there was a reader. One thread alone has 1, and its cache line
/// stays where it is. Where readers come and go at the same time the meter loses some of that time, so the quotient is no number
/// of readers.
const OVERLAP: f64 = 1.1;

/// The cause of the time that threads waited, if it is one of read-write locks.
pub(super) fn judge(report: &MeterReport, lock: &Lock) -> Option<Judged> {
    let writes = lock.use_as(RecordKind::Write)?;
    let reads = lock.use_as(RecordKind::Read);
    reads
        .and_then(|reads| {
            starved_writer(lock, reads, writes).or_else(|| sleeping_readers(report, lock, reads))
        })
        .or_else(|| mostly_written(lock, writes))
}

fn acquired(one: &LockUse) -> f64 {
    one.row.attempts.saturating_sub(one.row.rejected) as f64
}

/// Share of the acquisitions that are for writing.
fn written(lock: &Lock, writes: &LockUse) -> f64 {
    acquired(writes) / lock.row.attempts.saturating_sub(lock.row.rejected).max(1) as f64
}

fn starved_writer(lock: &Lock, reads: &LockUse, writes: &LockUse) -> Option<Judged> {
    let util = reads.row.util / lock.locks.max(1) as f64;
    let wait = writes.row.wait_mean;
    let is_starved = util >= READ_HELD
        && wait >= STARVED_S
        && wait >= STARVED_TIMES * reads.row.hold_mean
        && writes.row.lost >= MOSTLY * lock.row.lost;
    is_starved.then(|| {
        let sentence = format!(
            "Writers of {} starve: readers hold it for {} of the time and overlap, so a writer waits {} on average, and {} \
             at most, although a reader holds it for {} only.",
            lock.row.name,
            Percent::ThreeDigits.of(util),
            time(wait),
            time(writes.row.wait_max),
            time(reads.row.hold_mean)
        );
        let next = "let writers go first: by another kind of lock, by PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP, if no \
                    thread locks twice for reading; or let readers take a copy of what they need.";
        (Cause::StarvedWriter, sentence, next.into())
    })
}

/// Readers hold the lock for longer than the program's threads ran or waited for a CPU, so they slept during the rest.
fn sleeping_readers(report: &MeterReport, lock: &Lock, reads: &LockUse) -> Option<Judged> {
    if reads.row.implied > 0 || report.blocked.unknown > 0 {
        return None;
    }
    let awake = report.cpu_seconds? + report.blocked.runnable;
    // A thread may hold all locks of the row at once: then each second counts once for each.
    let held = reads.row.hold / lock.locks.max(1) as f64;
    let asleep = held - awake;
    if held <= 0.0 || asleep < MOSTLY * held {
        return None;
    }
    let holder = reads.callers.iter().max_by(|a, b| a.row.hold.total_cmp(&b.row.hold))?;
    let sentence = format!(
        "Readers of {} sleep while they hold it: they hold it for {} altogether, and for {} of that or more they neither \
         ran nor waited for a CPU. Most of it is held by {}, for {} on average and {} at most.",
        lock.row.name,
        time(held),
        Percent::ThreeDigits.of(asleep / held),
        with_place(&holder.row.name, holder.place.as_deref()),
        time(holder.row.hold_mean),
        time(holder.row.hold_max),
    );
    let next = "release it there before the thread reads, sends, sleeps or waits: copy what is needed first. No kind of \
                lock helps, as a writer waits until the readers' waits are over.";
    Some((Cause::SleepingReaders, sentence, next.into()))
}

fn mostly_written(lock: &Lock, writes: &LockUse) -> Option<Judged> {
    let share = written(lock, writes);
    (share >= MOSTLY).then(|| {
        let sentence = format!(
            "{} is a read-write lock that is mostly written: {} of its acquisitions are for writing.",
            lock.row.name,
            Percent::ThreeDigits.of(share)
        );
        let next = "use a mutex: it costs less. Or try a kind of read-write lock that lets writers go first.";
        (Cause::MostlyWritten, sentence, next.into())
    })
}

/// Readers that enter and leave often, several at once, and hardly ever wait. What they lose is in no column: each of them
/// writes to the count of readers, whose cache line moves from CPU to CPU.
pub(super) fn contended_readers(report: &MeterReport, lock: &Lock) -> Option<Judged> {
    let reads = lock.use_as(RecordKind::Read)?;
    let each = |sum: f64| sum / lock.locks.max(1) as f64 / report.seconds;
    let per_second = each(acquired(reads));
    let is_hardly_written =
        lock.use_as(RecordKind::Write).is_none_or(|writes| written(lock, writes) <= FEW_WRITES);
    let overlap = reads.row.hold / (reads.row.util * report.seconds);
    let threads = report.processes.iter().fold(0_u64, |sum, process| sum.saturating_add(process.threads));
    let is_contended = report.cpus > 1
        && kind_in_use(report, lock) != Some(BIASED)
        && threads > 1
        && is_hardly_written
        && per_second >= READS_PER_SECOND
        && reads.row.timed > 0
        && reads.row.hold_mean <= SHORT_HOLD_S
        && overlap.is_finite()
        && overlap >= OVERLAP;
    is_contended.then(|| {
        let writers = match lock.use_as(RecordKind::Write).map_or(0.0, |writes| written(lock, writes)) {
            0.0 => "none of them for writing".into(),
            share => format!("{} of them for writing", Percent::ThreeDigits.of(share)),
        };
        let (lines, lock_or_each) = match lock.locks {
            0 | 1 => ("the cache line of its counter", "it".into()),
            locks => ("the cache lines of their counters", format!("each of the {locks} locks")),
        };
        let sentence = format!(
            "Readers of {} fight for {lines}: {} million times a second one of the program's {threads} threads acquires or \
             releases {lock_or_each}, {writers}, and writes to its line; the holds overlap, and last {} on average. No column \
             has what that costs, as they do not wait.",
            lock.row.name,
            number(2.0 * per_second / 1e6),
            time(reads.row.hold_mean),
        );
        let next = "try a kind whose readers write to no line that they share; or lock it less often, as by a copy for each \
                    thread.";
        (Cause::ContendedReaders, sentence, next.into())
    })
}
