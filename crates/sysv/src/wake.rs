//! Waking those whose operations were performed, once the lock is released.

use crate::engine::Inner;
use crate::participant::{Waiter, status};
use crate::sem::{Wakes, confirm};
use crate::sweep;
use crate::thread::Thread;
use unspin_sync::atomic::Ordering::{Acquire, Relaxed};
use unspin_sys::futex;
use unspin_sys::process::Life;

/// Wakes a waiter; returns how many slept.
pub(crate) fn wake_only(waiter: &Waiter) -> u32 {
    futex::wake(crate::lock::futex_word(&waiter.status), 1)
}

/// Wakes everybody in the list, and makes sure that nobody was granted an operation after his death: a sleeper
/// whom the kernel woke was alive; of anybody else it is asked.
pub(crate) fn wake_all(inner: &'static Inner, thread: &Thread, wakes: &Wakes, set: u64) {
    let people = inner.people();
    for wake in wakes.iter() {
        let Some(waiter) = people.get(wake.index as usize).map(|person| &person.waiter) else { continue };
        let woken = wake_only(waiter);
        // Relaxed: if the waiter has moved on to another wait, this one was acknowledged.
        if waiter.ticket.load(Relaxed) as u32 != wake.ticket || waiter.status.load(Acquire) != status::GRANTED
        {
            continue;
        }
        if woken > 0 { confirm(waiter) } else { verify(inner, thread, wake.index as usize, waiter) }
    }
    if wakes.overflowed() {
        for (index, person) in people.iter().enumerate() {
            let waiter = &person.waiter;
            // Acquire: partner of the swap in `Section::finish`. Relaxed: ordered by it.
            if waiter.status.load(Acquire) == status::GRANTED && waiter.set.load(Relaxed) == set {
                verify(inner, thread, index, waiter);
            }
        }
    }
}

/// Confirms a grant if the waiter is alive, and has it taken back if not.
#[cold]
fn verify(inner: &'static Inner, thread: &Thread, index: usize, waiter: &Waiter) {
    let registry = inner.rcu().registry();
    match registry.participant(index).map(|who| registry.life(who)) {
        Some(Life::Alive) => confirm(waiter),
        _ => sweep::sweep_condemned(inner, thread),
    }
}

/// As [`wake_all`], without looking whether they were alive: their grants stay to be confirmed, or to be taken back
/// by the sweep that finds them dead.
pub(crate) fn wake_all_unverified(inner: &Inner, wakes: &Wakes) {
    let people = inner.people();
    wakes.iter().filter_map(|wake| people.get(wake.index as usize)).for_each(|person| {
        wake_only(&person.waiter);
    });
}
