//! Which implementation serves a mutex, and when that is decided.

use super::algorithm::Algorithm;
use super::decision::{self, Decision, Effect, Occasion};
use super::plan;
use super::tag::{MutexKind, Tag, Type};
use crate::bypass;
use crate::glibc::mutex::{self, MutexLayout};
use crate::watch::Hook;
use unspin_locks::LockKind;

/// The implementation that serves a mutex.
#[derive(Clone, Copy, Debug)]
pub enum MutexImpl {
    /// libc.
    Libc,
    /// libc, with priority inheritance that the program has not requested.
    Inheriting(Type),
    /// One of the locks of `unspin-locks`.
    Lock(&'static Algorithm, Type),
}

/// The implementations, by the index of the tag.
static BY_TAG: [MutexImpl; Tag::VALUES] = {
    let mut all = [MutexImpl::Libc; Tag::VALUES];
    let mut n = 0;
    while n < LockKind::ALL.len() * Type::ALL.len() {
        let (kind, of) = (LockKind::ALL[n / Type::ALL.len()], Type::ALL[n % Type::ALL.len()]);
        all[Tag::new(kind, of).index()] = match Algorithm::of(kind) {
            Some(algorithm) => MutexImpl::Lock(algorithm, of),
            None if matches!(kind, LockKind::Pi) => MutexImpl::Inheriting(of),
            None => MutexImpl::Libc,
        };
        n += 1;
    }
    all
};

impl MutexImpl {
    /// The implementation of this mutex. It is decided now if it was not decided before.
    #[inline(always)]
    pub fn of(mutex: &MutexLayout, hook: Hook) -> &'static MutexImpl {
        if plan::is_off() { &MutexImpl::Libc } else { MutexImpl::choose(mutex, hook) }
    }

    /// The implementation of this mutex, if it was decided before.
    #[inline(always)]
    pub fn known(mutex: &MutexLayout) -> Option<&'static MutexImpl> {
        let tag = Tag::of(mutex);
        tag.is_valid().then(|| &BY_TAG[tag.index()])
    }

    fn choose(mutex: &MutexLayout, hook: Hook) -> &'static MutexImpl {
        let mut tag = Tag::of(mutex);
        if !tag.is_valid() {
            tag = first_use(mutex, tag, hook);
        }
        let served_by = &BY_TAG[tag.index()];
        match served_by {
            MutexImpl::Libc => {}
            // Done here, not at the decision: every thread that sees the tag must see the mutex inherit.
            MutexImpl::Inheriting(_) => mutex.make_inheriting(),
            // Some locks store their owner's thread id. It must be known now, or they would make a system call for it.
            MutexImpl::Lock(..) => drop(mutex::current_tid()),
        }
        served_by
    }
}

/// Whether the mutex raises its owner's priority to that of a real-time thread that waits.
pub fn raises_priority(mutex: &MutexLayout) -> bool {
    mutex.raises_priority() || Tag::of(mutex).kind().is_some_and(LockKind::inherits_priority)
}

/// Decides on a mutex that has no tag.
#[cold]
fn first_use(mutex: &MutexLayout, seen: Tag, hook: Hook) -> Tag {
    // A mutex that is not to be replaced is left unchanged: libc may use its sixteen bits.
    if MutexKind::of(mutex) == MutexKind::Other || !plan::is_on() {
        return Tag::LIBC;
    }
    if bypass::exists() {
        return Tag::decide(mutex, seen, Tag::LIBC).unwrap_or_else(|tag| tag);
    }
    let decision = decision::decide(mutex.as_ptr() as usize, Occasion::Use, hook);
    store_decision(mutex, seen, decision)
}

/// Stores a decision in a mutex of ours, unless another thread has stored one. Returns the tag that holds.
fn store_decision(mutex: &MutexLayout, seen: Tag, decision: Decision<LockKind>) -> Tag {
    let kind = MutexKind::of(mutex);
    match Tag::decide(mutex, seen, kind.tag(decision.kind)) {
        Ok(tag) => {
            decision.count(effect(kind, decision));
            tag
        }
        Err(tag) => tag,
    }
}

fn effect(kind: MutexKind, decision: Decision<LockKind>) -> Effect {
    if kind.stays_libcs(decision.kind) { Effect::StaysLibcs } else { Effect::Replaced }
}

/// To be called after libc has initialised a mutex that no other thread uses yet: decides on its implementation.
pub fn decide_at_init(mutex: &MutexLayout, hook: Hook) {
    let Some(plan) = plan::get().filter(|_| !bypass::exists()) else { return };
    let kind = MutexKind::of(mutex);
    if kind != MutexKind::Other {
        let decision = decision::decide(mutex.as_ptr() as usize, Occasion::Initialisation, hook);
        store_decision(mutex, Tag::of(mutex), decision);
    } else if plan.is_counted() {
        // It stays libc's and gets no tag. The user learns which rule would have applied.
        let decision = decision::decide(mutex.as_ptr() as usize, Occasion::Initialisation, hook);
        decision.count(effect(kind, decision));
    }
}

/// To be called after a mutex was destroyed. If a thread uses it nevertheless, the call goes to libc, which refuses it.
pub fn forget(mutex: &MutexLayout) {
    if Tag::of(mutex).is_valid() {
        Tag::forget(mutex);
    }
}
