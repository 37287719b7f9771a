//! The calls that wake the waiters of a condition, and what the woken threads found.

use crate::figures::{Percent, count};
use crate::serial;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use unspin_wire::{Counts, RecordKind};

/// Wake-ups of a condition.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Wakes {
    /// Threads that signals have woken, and what they found.
    pub by_signal: WokenThreads,
    /// Threads that broadcasts have woken, and what they found.
    pub by_broadcast: WokenThreads,
    /// The calls that wake, most calls first.
    pub wakers: Vec<Waker>,
}

/// Threads that were woken from a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct WokenThreads {
    /// Waits that ended.
    pub woken: u64,
    /// Of these, the threads that found nothing to do: they waited again at the same place, and had neither unlocked the
    /// mutex nor woken another thread in between.
    pub waited_again: u64,
}

/// A place in the program that signals or broadcasts.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Waker {
    /// [`RecordKind::Signal`] or [`RecordKind::Broadcast`].
    #[serde(with = "serial::RecordKind")]
    pub kind: RecordKind,
    /// The name of the function.
    pub name: String,
    /// Where it is: `pool.c:88`.
    pub place: Option<String>,
    /// Calls.
    pub calls: u64,
    /// Calls that found a waiting thread.
    pub awaited: u64,
}

/// Counts of rows of class [`Detail`](crate::Class::Detail), by kind, name and place of the caller.
pub(crate) type Details = BTreeMap<(RecordKind, String, Option<String>), Counts>;

impl Wakes {
    /// None if nothing was recorded.
    pub(crate) fn of(details: &Details) -> Option<Wakes> {
        let woken = |wanted: RecordKind| {
            let rows = details.iter().filter(|((kind, ..), _)| *kind == wanted).map(|(_, counts)| counts);
            rows.fold(WokenThreads::default(), |sum, counts| WokenThreads {
                woken: sum.woken.saturating_add(counts.attempts()),
                waited_again: sum.waited_again.saturating_add(counts.rejected),
            })
        };
        let calls = details.iter().filter(|((kind, ..), _)| is_call(*kind));
        let mut wakers: Vec<Waker> = calls
            .map(|((kind, name, place), counts)| Waker {
                kind: *kind,
                name: name.clone(),
                place: place.clone(),
                calls: counts.attempts(),
                awaited: counts.slept,
            })
            .collect();
        wakers.sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.name.cmp(&b.name)));
        let wakes = Wakes {
            by_signal: woken(RecordKind::WokenBySignal),
            by_broadcast: woken(RecordKind::WokenByBroadcast),
            wakers,
        };
        (wakes != Wakes::default()).then_some(wakes)
    }

    /// Calls of this kind, and those of them that found a waiting thread.
    pub fn calls(&self, kind: RecordKind) -> (u64, u64) {
        let of_kind = self.wakers.iter().filter(|waker| waker.kind == kind);
        of_kind.fold((0, 0), |(calls, awaited): (u64, u64), waker| {
            (calls.saturating_add(waker.calls), awaited.saturating_add(waker.awaited))
        })
    }

    /// The place that broadcasts most.
    pub fn broadcaster(&self) -> Option<&Waker> {
        self.wakers.iter().find(|waker| waker.kind == RecordKind::Broadcast)
    }

    /// Threads that one broadcast has woken on average, of the broadcasts that found a waiting thread.
    pub fn per_broadcast(&self) -> f64 {
        let (_, awaited) = self.calls(RecordKind::Broadcast);
        if awaited == 0 { 0.0 } else { self.by_broadcast.woken as f64 / awaited as f64 }
    }

    /// Lines for the table: the places that wake, and the threads that were woken.
    pub(crate) fn lines(&self, places: usize) -> Vec<String> {
        let waker = |waker: &Waker| {
            let place = waker.place.as_deref().map_or(String::new(), |place| format!("  {place}"));
            let (one, many) = match waker.kind {
                RecordKind::Broadcast => ("broadcast", "broadcasts"),
                _ => ("signal", "signals"),
            };
            format!(
                "{} {}, {} while a thread waited: {}{place}",
                count(waker.calls),
                if waker.calls == 1 { one } else { many },
                count(waker.awaited),
                waker.name,
            )
        };
        let mut lines: Vec<String> = self.wakers.iter().take(places).map(waker).collect();
        if let Some(more @ 1..) = self.wakers.len().checked_sub(places) {
            lines.push(format!("and {more} more places that wake"));
        }
        for (threads, calls) in [(self.by_signal, "signals"), (self.by_broadcast, "broadcasts")] {
            if threads.woken > 0 {
                let waits = if threads.woken == 1 { "wait" } else { "waits" };
                lines.push(format!(
                    "{} {waits} ended by {calls}; {} found nothing to do and waited again",
                    count(threads.woken),
                    Percent::Column.of(threads.share_that_waited_again()).trim(),
                ));
            }
        }
        lines
    }
}

impl WokenThreads {
    /// The share of the woken threads that waited again.
    pub fn share_that_waited_again(&self) -> f64 {
        if self.woken == 0 { 0.0 } else { self.waited_again as f64 / self.woken as f64 }
    }
}

fn is_call(kind: RecordKind) -> bool {
    matches!(kind, RecordKind::Signal | RecordKind::Broadcast)
}
