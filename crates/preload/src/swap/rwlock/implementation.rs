//! Which implementation serves a read-write lock, and when that is decided.

use super::algorithm::Algorithm;
use super::tag::Tag;
use crate::bypass;
use crate::glibc::mutex::current_tid;
use crate::glibc::rwlock::RwLockLayout;
use crate::swap::decision::{self, Decision, Effect, Occasion};
use crate::swap::plan;
use crate::watch::Hook;
use unspin_locks::{Recursion, RwLockKind};

/// The implementation that serves a read-write lock.
#[derive(Clone, Copy, Debug)]
pub enum RwLockImpl {
    /// libc.
    Libc,
    /// One of the locks of `unspin-locks`.
    Lock(&'static Algorithm, Recursion),
}

/// The implementations, by the index of the tag.
static BY_TAG: [RwLockImpl; Tag::VALUES] = {
    let mut all = [RwLockImpl::Libc; Tag::VALUES];
    let mut n = 0;
    while n < RwLockKind::ALL.len() * 2 {
        let kind = RwLockKind::ALL[n / 2];
        let recursion = if n.is_multiple_of(2) { Recursion::Allowed } else { Recursion::Excluded };
        if let Some(algorithm) = Algorithm::of(kind) {
            all[Tag::new(kind, recursion).index()] = RwLockImpl::Lock(algorithm, recursion);
        }
        n += 1;
    }
    all
};

impl RwLockImpl {
    /// The implementation of this lock. It is decided now if it was not decided before.
    #[inline(always)]
    pub fn of(lock: &RwLockLayout, hook: Hook) -> &'static RwLockImpl {
        if plan::replaces_rwlocks() { RwLockImpl::choose(lock, hook) } else { &RwLockImpl::Libc }
    }

    /// The implementation of this lock, if it was decided before.
    #[inline(always)]
    pub fn known(lock: &RwLockLayout) -> Option<&'static RwLockImpl> {
        let tag = Tag::of(lock);
        tag.is_valid().then(|| &BY_TAG[tag.index()])
    }

    fn choose(lock: &RwLockLayout, hook: Hook) -> &'static RwLockImpl {
        let mut tag = Tag::of(lock);
        if !tag.is_valid() {
            tag = first_use(lock, tag, hook);
        }
        let served_by = &BY_TAG[tag.index()];
        match served_by {
            RwLockImpl::Libc => {}
            // Writers store it. It must be known now, or a lock could make a system call for it.
            RwLockImpl::Lock(..) => drop(current_tid()),
        }
        served_by
    }
}

/// Decides on a lock that has no tag.
#[cold]
fn first_use(lock: &RwLockLayout, seen: Tag, hook: Hook) -> Tag {
    // Left unchanged: processes without this library may use it too.
    if lock.is_shared() {
        return Tag::LIBC;
    }
    if bypass::exists() {
        return Tag::decide(lock, seen, Tag::LIBC).unwrap_or_else(|tag| tag);
    }
    store_decision(lock, seen, decision::decide(address(lock), Occasion::Use, hook))
}

fn address(lock: &RwLockLayout) -> usize {
    (&raw const *lock).addr()
}

/// Stores a decision in a lock that is not shared, unless another thread has stored one. Returns the tag that holds.
fn store_decision(lock: &RwLockLayout, seen: Tag, decision: Decision<RwLockKind>) -> Tag {
    let recursion = if lock.excludes_recursion() { Recursion::Excluded } else { Recursion::Allowed };
    // libc looks at the kind of its locks itself.
    let chosen = match decision.kind {
        RwLockKind::System => Tag::LIBC,
        kind => Tag::new(kind, recursion),
    };
    match Tag::decide(lock, seen, chosen) {
        Ok(tag) => {
            decision.count(Effect::Replaced);
            tag
        }
        Err(tag) => tag,
    }
}

/// To be called after libc has initialised a lock that no other thread uses yet: decides on its implementation.
pub fn decide_at_init(lock: &RwLockLayout, hook: Hook) {
    if !plan::replaces_rwlocks() || bypass::exists() {
        return;
    }
    let decision = decision::decide(address(lock), Occasion::Initialisation, hook);
    if !lock.is_shared() {
        store_decision(lock, Tag::of(lock), decision);
    } else {
        // It stays libc's and gets no tag. The user learns which rule would have applied.
        let is_libcs = decision.kind == RwLockKind::System;
        decision.count(if is_libcs { Effect::Replaced } else { Effect::StaysLibcs });
    }
}
