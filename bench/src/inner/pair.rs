//! An uncontended mutex, taken and released; and the clock that a meter reads at both.

use super::Company;
use super::lock::{Lock, LockKind};
use super::timing::{Effort, per_call};
use std::hint::black_box;
use std::sync::mpsc;
use unspin_sys::clock;

/// Nanoseconds per pair of pthread_mutex_lock and pthread_mutex_unlock.
///
/// In a process with only one thread, the C library omits the atomic instruction of pthread_mutex_lock, but not that of
/// pthread_mutex_trylock. The locks of such a process are not worth metering, so a second thread sleeps during the
/// measurement.
pub fn run(company: Company, effort: &Effort) -> f64 {
    let mutex = Lock::boxed(LockKind::Mutex);
    // The meter lists the modules at the first call. The sleeper makes one too, and at the same time both threads would list
    // them: in some runs and not in others.
    mutex.lock();
    mutex.unlock();
    let (end, ended) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        if company == Company::Sleeper {
            scope.spawn(move || ended.recv());
        }
        let figure = per_call(effort, || {
            mutex.lock();
            mutex.unlock();
        });
        drop(end);
        figure
    })
}

/// Nanoseconds per reading of the time-stamp counter.
pub fn ticks(effort: &Effort) -> f64 {
    per_call(effort, || {
        black_box(clock::ticks());
    })
}
