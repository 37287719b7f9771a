//! Properties that keep a mutex libc's. A report that knows them proposes no replacement for the mutex.
//!
//! They are recorded when a thread has waited for the mutex: only then the report says more of it than its counts.

use crate::glibc::mutex::MutexLayout;
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
        if let Some(row) = thread.row(Object::new(kind, mutex.as_ptr()), hook) {
            thread.table().count_attempt(row);
        }
    }
}
