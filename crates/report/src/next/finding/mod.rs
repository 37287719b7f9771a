//! Findings: what costs the program time at a lock or a condition, told from the figures, and what to do next.
//!
//! | cause | told by |
//! |---|---|
//! | deadlock | threads that have waited for each other in a ring for [`deadlock`](crate::deadlock)'s minimum |
//! | broadcast storm | a broadcast wakes [`storm::STORM_THREADS`] threads or more, and [`storm::STORM_IDLE`] of these wait again, having done nothing |
//! | priority inversion | [`cause::INVERTED`] of the time lost was spent behind an owner of lower priority |
//! | starved writer | a read-write lock is held by readers for [`read_write::READ_HELD`] of the time, and a writer waits [`read_write::STARVED_TIMES`] times as long as a reader holds it, and [`read_write::STARVED_S`] or longer |
//! | sleeping readers | readers hold a read-write lock for longer than all threads of the program ran or waited for a CPU: [`cause::MOSTLY`] of the time that it is held, or more |
//! | mostly written | [`cause::MOSTLY`] of the acquisitions of a read-write lock are for writing |
//! | long hold | the place with [`cause::MOSTLY`] of the hold time holds for [`cause::LONG_HOLD_S`] or longer, by the median |
//! | convoy | [`cause::CONVOY`] of the attempts sleep, and [`cause::CONVOY_TIMES`] times as long as a hold is, by the medians |
//! | split needed | the lock is held for [`cause::SATURATED`] of the time, by short holds of two or more places with [`cause::PART`] of the hold time each |
//! | saturated | the same, by one place |
//! | contended readers | a read-write lock is acquired for reading [`read_write::READS_PER_SECOND`] times a second or more often, for short holds that overlap, and hardly ever for writing |
//! | contended | none of these |
//!
//! The first line that applies is the finding of a lock. Holds are compared by their median: on a busy machine the
//! owner is preempted in some holds, which makes the mean long. Without times (level `counts`) nothing is told. Readers that
//! contend are told of also if no thread waits.
//!
//! A kind that the run's plan gave the lock is not suggested, and readers under [`read_write::BIASED`] do not contend: each writes
//! to a line of its own.
//!
//! What the figures do not distinguish:
//!
//! - One lock over independent data, and one lock over data that several places really share: both are "split
//!   needed", whose sentence says "looks like". One place that locks for many independent elements is "saturated".
//! - False sharing between a lock and the data behind it, and holds that are long for another reason. It makes holds
//!   some hundred nanoseconds longer while threads wait; but longer holds also attract more waiting threads, so the two
//!   are correlated in every program.
//! - Readers that sleep in few of their holds, in a program that computes much: the figures have no times of single threads. A
//!   thread that holds one lock for reading twice counts twice.
//! - Which threads read a lock: readers of one CPU, which share its cache line without cost, and readers of several.
//! - Priority inversion behind an owner that ended before the wait did: the kernel knows its priority no more.
//! - A thread that inherits its priority from another mutex is judged by its own.
//! - A deadlock over semaphores of which fewer tokens were given back than [`used_as_lock`](crate::used_as_lock) asks
//!   for: none is named. Tokens that another process has are not seen: it could end a deadlock that is named.

mod cause;
mod read_write;
mod replacement;
mod storm;

pub use self::cause::Cause;
use self::cause::Judged;
use self::replacement::{kind_in_use, prove, prove_run_queues, unspin_replaces};
use self::storm::{is_mutex_of, is_storm, woken_share};
use crate::figures::time;
use crate::lock::Lock;
use crate::next::{Next, WORTH_IT};
use crate::report::MeterReport;
use crate::wait::Wait;
use serde::{Serialize, Serializer};
use unspin_wire::{Level, RecordKind};

/// Maximum number of findings.
const FINDINGS_MAX: usize = 2;

/// A finding: a cause, and what to do next.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Finding {
    /// The cause.
    pub cause: Cause,
    /// The lock or the condition.
    pub name: String,
    /// Sentences; the first one names the cause.
    pub text: String,
    /// What to do next, in one or two sentences; and the command that tries a replacement, if the lock can be replaced and
    /// that could help.
    #[serde(flatten, serialize_with = "with_command")]
    pub next: Next,
}

/// In the JSON of findings the command is null if there is none.
fn with_command<S: Serializer>(next: &Next, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Both<'n> {
        next: &'n str,
        command: Option<&'n str>,
    }
    Both { next: &next.text, command: next.command.as_deref() }.serialize(serializer)
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
        let storms = storms.into_iter().filter_map(|wait| of_storm(self, wait));
        let locks = locks.into_iter().map(|lock| of_lock(self, lock));
        match worst_is_of_a_storm {
            true => findings.extend(storms.chain(locks)),
            false => findings.extend(locks.chain(storms)),
        }
        let without_waits = self.locks.iter().filter(|lock| !is_worth_it(lock));
        findings.extend(without_waits.filter_map(|lock| of_readers(self, lock)));
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
        [_] => "unlock it before it is locked again, or use a recursive mutex (PTHREAD_MUTEX_RECURSIVE).",
        _ => {
            "take these locks in the same order everywhere; where that is not possible, take the second one with a \
              try-lock, and release the first one if it fails."
        }
    };
    let name = ring.threads.first().map_or(String::new(), |thread| thread.wants.clone());
    Finding { cause: Cause::Deadlock, name, text, next: Next::new(next) }
}

fn of_storm(report: &MeterReport, wait: &Wait) -> Option<Finding> {
    let (cause, text, next) = storm::judge(report, wait)?;
    Some(Finding { cause, name: wait.row.name.clone(), text, next: Next::new(next) })
}

/// A lock for which hardly any thread waits, and whose readers cost time all the same.
fn of_readers(report: &MeterReport, lock: &Lock) -> Option<Finding> {
    let (cause, text, mut next) = read_write::contended_readers(report, lock)?;
    let command = command(report, lock, cause);
    if let Err(why) = unspin_replaces(lock) {
        next += &format!(" {why}");
    }
    Some(Finding { cause, name: lock.row.name.clone(), text, next: Next { text: next, command } })
}

/// The command that tries kinds of lock, if any could help that the lock does not have already.
fn command(report: &MeterReport, lock: &Lock, cause: Cause) -> Option<String> {
    let class = unspin_replaces(lock).ok()?;
    let has = kind_in_use(report, lock);
    let others: Vec<&str> =
        cause.kinds_to_try(class).iter().copied().filter(|kind| has != Some(kind)).collect();
    (!others.is_empty()).then(|| prove(report, lock, class, &others))
}

/// The cause of the time lost for a lock.
fn judge(report: &MeterReport, lock: &Lock) -> Judged {
    cause::inverted(lock)
        .or_else(|| read_write::judge(report, lock))
        .or_else(|| cause::told_by_holds(lock))
        .or_else(|| read_write::contended_readers(report, lock))
        .unwrap_or_else(|| cause::contended(lock))
}

fn of_lock(report: &MeterReport, lock: &Lock) -> Finding {
    let (cause, sentence, next) = judge(report, lock);
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
    let is_of_a_run_queue = lock.uses.iter().any(|one| one.kind == RecordKind::RunQueue);
    if is_of_a_run_queue {
        next = "the lock belongs to a run queue of unspin-runqueue: compare one queue for all workers with one for each."
            .into();
    }
    // Threads that take and add work look like threads that take and release a lock.
    let is_queue_or_lock = lock.uses.iter().any(|one| one.kind == RecordKind::Condition);
    let command = match unspin_replaces(lock) {
        _ if is_of_the_engine => None,
        _ if is_of_a_run_queue => Some(prove_run_queues(report)),
        Ok(class) => {
            let to_try = cause.kinds_to_try(class);
            if let Some(kind) = kind_in_use(report, lock).filter(|kind| to_try.contains(kind)) {
                let one = if to_try.len() > 1 { "one" } else { "the one" };
                next += &format!(" In this run its kind was `{kind}`, which is {one} to try for this cause.");
            }
            command(report, lock, cause)
        }
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
        next: Next { text: next, command },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finding_without_a_command_has_null_in_json() {
        let finding = Finding {
            cause: Cause::LongHold,
            name: "table".into(),
            text: "table is held long.".into(),
            next: Next::new("hold it shorter."),
        };
        let json = r#"{"cause":"long-hold","name":"table","text":"table is held long.","next":"hold it shorter.","command":null}"#;
        assert_eq!(serde_json::to_string(&finding).unwrap(), json);
    }
}
