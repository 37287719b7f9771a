//! An uncontended lock, taken and released; and the clock that a meter reads at both.

use super::Company;
use super::lock::{Lock, LockKind};
use super::rwlock::{ReadWrite, RwLock, WriterPreference};
use super::timing::{Effort, per_call};
use clap::ValueEnum;
use std::hint::black_box;
use std::sync::mpsc;
use unspin_sys::clock;

/// A lock of the C library, and how it is taken.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Paired {
    /// pthread_mutex_lock and pthread_mutex_unlock
    Mutex,
    /// pthread_rwlock_rdlock and pthread_rwlock_unlock
    Read,
    /// pthread_rwlock_wrlock and pthread_rwlock_unlock
    Write,
    /// pthread_spin_lock and pthread_spin_unlock
    Spin,
}

/// Nanoseconds per pair of calls.
///
/// In a process with only one thread, the C library omits the atomic instruction of pthread_mutex_lock, but not that of
/// pthread_mutex_trylock. The locks of such a process are not worth metering, so a second thread sleeps during the
/// measurement.
pub fn run(lock: Paired, company: Company, effort: &Effort) -> f64 {
    match lock {
        Paired::Mutex => exclusive(LockKind::Mutex, company, effort),
        Paired::Spin => exclusive(LockKind::Spin, company, effort),
        Paired::Read => {
            let lock = RwLock::new(WriterPreference::None);
            in_company(company, effort, || lock.read(|| ()))
        }
        Paired::Write => {
            let lock = RwLock::new(WriterPreference::None);
            in_company(company, effort, || lock.write(|| ()))
        }
    }
}

#[inline(always)]
fn exclusive(kind: LockKind, company: Company, effort: &Effort) -> f64 {
    let lock = Lock::boxed(kind);
    in_company(company, effort, || {
        lock.lock();
        lock.unlock();
    })
}

#[inline(always)]
fn in_company(company: Company, effort: &Effort, mut pair: impl FnMut()) -> f64 {
    // The meter lists the modules at the first call. The sleeper makes one too, and at the same time both threads would list
    // them: in some runs and not in others.
    pair();
    let (end, ended) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        if company == Company::Sleeper {
            scope.spawn(move || ended.recv());
        }
        let figure = per_call(effort, pair);
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
