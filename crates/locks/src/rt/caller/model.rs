//! The threads of a model: their ids, the locks that they hold, and the scheduling class that the model gives them.
//! Protected by a lock that the checker does not see, because no two threads share an entry.

use std::sync::Mutex;
use unspin_sync::modelled::{current, lazy_static};

#[derive(Clone, Copy, Default)]
struct ThreadState {
    status: usize,
    priority: u32,
}

type ThreadStates = Vec<(ThreadId, ThreadState)>;

#[cfg(loom)]
type ThreadId = loom::thread::ThreadId;
#[cfg(shuttle)]
type ThreadId = shuttle::thread::ThreadId;

lazy_static! {
    static ref THREADS: Mutex<ThreadStates> = Mutex::new(Vec::new());
}

/// Calls `f` with the index and the entry of the calling thread.
fn with<R>(f: impl FnOnce(usize, &mut ThreadState) -> R) -> R {
    let me = current().id();
    let mut threads = THREADS.lock().unwrap();
    let at = threads.iter().position(|(id, _)| *id == me).unwrap_or_else(|| {
        threads.push((me, ThreadState::default()));
        threads.len() - 1
    });
    f(at, &mut threads[at].1)
}

pub(in crate::rt) fn tid() -> u32 {
    with(|at, _| at as u32 + 1)
}

#[cfg(all(test, loom))]
pub(in crate::rt) fn be_real_time(priority: u32) {
    with(|_, me| me.priority = priority);
}

pub(in crate::rt) fn real_time_priority() -> u32 {
    with(|_, me| me.priority)
}

pub(super) fn status() -> usize {
    with(|_, me| me.status)
}

pub(super) fn set_status(status: usize) {
    with(|_, me| me.status = status);
}
