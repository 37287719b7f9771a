//! The threads of a model: their ids, the locks that they hold, and the scheduling class that the model gives them.
//! Protected by a lock that the checker does not see, because no two threads share an entry.

use std::sync::Mutex;
use unspin_sync::modelled::{current, lazy_static};

#[derive(Clone, Copy, Default)]
struct Person {
    notes: usize,
    priority: u32,
}

type Known = Vec<(ThreadId, Person)>;

#[cfg(loom)]
type ThreadId = loom::thread::ThreadId;
#[cfg(shuttle)]
type ThreadId = shuttle::thread::ThreadId;

lazy_static! {
    static ref KNOWN: Mutex<Known> = Mutex::new(Vec::new());
}

/// Calls `use_it` with the index and the entry of the calling thread.
fn with<R>(use_it: impl FnOnce(usize, &mut Person) -> R) -> R {
    let me = current().id();
    let mut known = KNOWN.lock().unwrap();
    let at = known.iter().position(|(id, _)| *id == me).unwrap_or_else(|| {
        known.push((me, Person::default()));
        known.len() - 1
    });
    use_it(at, &mut known[at].1)
}

pub(in crate::rt) fn tid() -> u32 {
    with(|at, _| at as u32 + 1)
}

pub(in crate::rt) fn be_real_time(priority: u32) {
    with(|_, me| me.priority = priority);
}

pub(in crate::rt) fn real_time_priority() -> u32 {
    with(|_, me| me.priority)
}

pub(super) fn notes() -> usize {
    with(|_, me| me.notes)
}

pub(super) fn note(notes: usize) {
    with(|_, me| me.notes = notes);
}
