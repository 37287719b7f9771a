//! Properties that keep a mutex or a read-write lock libc's. A report that knows them proposes no replacement for the lock.
//!
//! They are recorded when a thread has waited for the lock: only then the report says more of a mutex than its counts. Of a
//! read-write lock it also says that readers fight for its cache line, for which no thread waits. So its property is
//! recorded at its initialisation too.

use crate::glibc::mutex::MutexLayout;
use crate::glibc::rwlock::RwLockLayout;
use crate::swap::mutex_impl::MutexImpl;
use crate::watch::{Hook, Object, Thread};
use unspin_wire::RecordKind;

/// Records the properties of a mutex for which a thread has waited, if it has any.
#[inline(always)]
pub fn note(thread: &'static Thread, mutex: &MutexLayout, hook: Hook) {
    if mutex.is_special() {
        record(thread, mutex, hook);
    }
}

#[cold]
#[inline(never)]
fn record(thread: &'static Thread, mutex: &MutexLayout, hook: Hook) {
    // The plan has replaced it, or has made it inherit priorities.
    if matches!(MutexImpl::known(mutex), Some(MutexImpl::Inheriting(_) | MutexImpl::Lock(..))) {
        return;
    }
    let properties = [
        (mutex.is_shared(), RecordKind::Shared),
        (mutex.is_robust(), RecordKind::Robust),
        (mutex.inherits(), RecordKind::Inheriting),
        (mutex.has_ceiling(), RecordKind::Ceiling),
    ];
    for (_, kind) in properties.into_iter().filter(|(has, _)| *has) {
        count(thread, Object::new(kind, mutex.as_ptr()), hook);
    }
}

/// Records that a read-write lock that was initialised is shared between processes, if it is.
#[inline(always)]
pub fn note_rwlock_init(lock: &RwLockLayout, hook: Hook) {
    if lock.is_shared()
        && let Some(thread) = Thread::current()
    {
        record_rwlock(thread, lock, hook);
    }
}

/// Records that a read-write lock for which a thread has waited is shared between processes, if it is.
#[inline(always)]
pub fn note_rwlock(thread: &'static Thread, lock: &RwLockLayout, hook: Hook) {
    if lock.is_shared() {
        record_rwlock(thread, lock, hook);
    }
}

#[cold]
#[inline(never)]
fn record_rwlock(thread: &'static Thread, lock: &RwLockLayout, hook: Hook) {
    count(thread, Object::new(RecordKind::SharedRwLock, lock), hook);
}

fn count(thread: &'static Thread, object: Object, hook: Hook) {
    if let Some(row) = thread.row(object, hook) {
        thread.table().count_attempt(row);
    }
}
