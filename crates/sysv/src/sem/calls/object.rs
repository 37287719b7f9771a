//! A set as an object of the registry, and its section as one of an object.

use crate::class::Class;
use crate::engine::lock_names::Call;
use crate::engine::{Inner, Object};
use crate::participant::wakes::WakeList;
use crate::recovery::process::Process;
use crate::registry::Perm;
use crate::sem::section::{Liveness, SetSection};
use crate::sem::{Sem, Set, Space, queue, set};
use crate::store::Arena;
use crate::sync::lock::Lock;
use crate::thread::Thread;
use unspin_sys::Errno;

impl Object for Set {
    const CLASS: Class = Class::Sem;
    type Section = SetSection<'static>;

    #[inline(always)]
    fn at(arena: &Arena, at: u64) -> Option<&Set> {
        find_set(arena, at)
    }

    fn perm(&self) -> &Perm {
        &self.perm
    }

    fn lock(&self) -> &Lock {
        Set::lock(self)
    }

    #[inline(always)]
    fn section(&'static self, inner: &'static Inner, at: u64, me: u32) -> SetSection<'static> {
        SetSection::new(space(inner, at, self), me).with_liveness(inner)
    }
}

impl Liveness for Inner {
    fn is_dead(&self, index: u32) -> bool {
        Inner::is_dead(self, index)
    }
}

impl crate::engine::ObjectSection for SetSection<'static> {
    fn open(&mut self, inner: &'static Inner) {
        self.apply_dead_undo(|process| is_gone(inner, process), |index| inner.is_dead(index));
    }

    fn repair(&mut self) {
        SetSection::repair(self);
    }

    fn withdraw(&mut self, why: Errno) {
        SetSection::withdraw(self, why);
    }

    fn recover_dead(&mut self, dead: u32) {
        SetSection::recover_dead(self, dead);
    }

    fn verify_queue_link(&mut self) {
        if queue::is_in_order(&self.space, self.me) {
            let space = self.space;
            space.participant(self.me).ops().for_each(|op| self.mark_slow(op.sem()));
        } else {
            SetSection::repair(self);
        }
    }

    fn serve(&mut self) {
        SetSection::serve(self);
    }

    fn refresh_wait(&mut self, inner: &'static Inner) {
        self.recover_dead_ahead(|owner| is_gone(inner, owner));
        SetSection::fill_monitored_processes(self);
    }

    fn close(&mut self) {
        self.assign_monitors();
        self.restore_fast();
    }

    fn wakes(&self) -> &WakeList {
        &self.wakes
    }

    fn offset(&self) -> u64 {
        self.space.offset
    }
}

/// Whether the process that owns a record of adjustments is dead, or the record has no owner.
#[inline(always)]
pub(super) fn is_gone(inner: &Inner, owner: u64) -> bool {
    Process::from_word(owner).is_none_or(|process| inner.is_gone(process))
}

/// The set at an offset that the table gave. `None` for 0 and for an offset that cannot be a set, for example if the
/// header claims more semaphores than fit behind it.
#[inline(always)]
pub(crate) fn find_set(arena: &Arena, at: u64) -> Option<&Set> {
    let set = if at == 0 { None } else { arena.get::<Set>(at) }?;
    // In an overwritten arena the offset may not be a set: then it has no semaphores, or more than there is room for.
    sems_of(arena, at, set).filter(|sems| !sems.is_empty()).map(|_| set)
}

#[inline(always)]
fn sems_of<'a>(arena: &'a Arena, at: u64, set: &Set) -> Option<&'a [Sem]> {
    arena.slice(at.checked_add(size_of::<Set>() as u64)?, set.count())
}

/// A set with its semaphores and the records of all participants that may wait for it.
#[inline(always)]
pub(crate) fn space(inner: &'static Inner, at: u64, set: &'static Set) -> Space<'static> {
    let sems = sems_of(&inner.arena, at, set).unwrap_or(&[]);
    Space { set, sems, participants: inner.participants(), offset: at, arena: Some(&inner.arena) }
}

/// Number of semaphores of the set at an offset.
pub(crate) fn units_of(arena: &Arena, at: u64) -> u64 {
    find_set(arena, at).map_or(0, |set| set.count() as u64)
}

/// Marks the set at an offset as removed and ends all waits on it. Returns the set's size in bytes. The caller holds
/// the registry lock.
pub(crate) fn evict(inner: &'static Inner, thread: &Thread, at: u64) -> u64 {
    let Some(set) = find_set(&inner.arena, at) else { return 0 };
    inner.guard_found(thread, Call::Rmid, (at, set)).section().remove();
    inner.release_records(thread, &space(inner, at, set));
    bytes(set)
}

/// Size of a set in bytes.
pub(crate) fn bytes(set: &Set) -> u64 {
    set::bytes(set.count() as u32)
}
