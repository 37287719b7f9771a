//! Threads of a model: their ids, what they hold, and the class that a model gives them. Behind a lock that the checker does
//! not see, since none of it is shared by two threads.

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

/// Shows the calling thread's entry and its place among all.
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
