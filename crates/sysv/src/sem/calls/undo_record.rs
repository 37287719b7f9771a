//! Finding the calling process's record of adjustments for a set, or making one.

use super::object::{find_set, space};
use crate::class::Class;
use crate::engine::Inner;
use crate::engine::lock_names::Call;
use crate::participant::MAX_PROCESSES;
use crate::recovery::process::Process;
use crate::registry;
use crate::sem::undo_records::{self, UndoRecord};
use crate::sem::{Set, SetSection, Space};
use crate::store::deferred_free;
use crate::store::heap;
use crate::thread::Thread;
use unspin_sys::Errno;

/// The process's record for the set of a section.
pub(super) fn find<'a>(section: &SetSection<'a>, process: Process) -> Option<UndoRecord<'a>> {
    section.space.records().find(|record| record.owner() == process.word())
}

impl Inner {
    /// Makes sure that the process has a record for the set of `id`: the record of a dead process whose adjustments
    /// were applied, or a new one. `EINVAL` without the set, `EIDRM` if it is removed meanwhile, `ENOMEM` without
    /// memory.
    pub fn make_record(
        &'static self,
        thread: &'static Thread,
        id: i32,
        process: Process,
    ) -> Result<(), Errno> {
        self.with_registry(thread, Class::Sem, Call::Semop, |_| {
            let set = self.find(id)?;
            // The registry lock keeps the set from being removed.
            if self.reuse_record(thread, set, process) {
                return Ok(());
            }
            let me = thread.record();
            let at = heap::allocate(&self.arena, me, undo_records::bytes(set.1.count()))?;
            let mut guard = self.guard_found(thread, Call::Semop, set);
            let space = guard.section().space;
            if let Some(record) = space.record(at) {
                record.assign(process.word(), thread.pid());
                space.add_record(&record);
            }
            drop(guard);
            heap::publish(me);
            Ok(())
        })
    }

    fn reuse_record(&'static self, thread: &Thread, set: (u64, &'static Set), process: Process) -> bool {
        let mut guard = self.guard_found(thread, Call::Semop, set);
        let section = guard.section();
        // The section has applied the adjustments of dead processes, so active records belong to living ones.
        let is_vacant = |record: &UndoRecord<'_>| {
            let owner = Process::from_word(record.owner());
            !record.is_active() && owner.is_none_or(|owner| self.is_gone(owner))
        };
        let found = find(section, process);
        let Some(record) = found.or_else(|| section.space.records().find(is_vacant)) else { return false };
        if record.owner() != process.word() {
            // The dead process's threads may have been granted operations after their death.
            section.undo(&record);
            record.assign(process.word(), thread.pid());
            guard.serve();
        }
        true
    }

    /// Retires the records of a removed set. The caller holds the registry lock.
    pub fn release_records(&'static self, thread: &Thread, space: &Space<'_>) {
        for _ in 0..MAX_PROCESSES {
            let Some(record) = space.records().next() else { break };
            heap::unpublish(thread.record(), record.at);
            space.shift_record(&record);
            let bytes = heap::size(&self.arena, record.at);
            deferred_free::retire(&self.arena, &self.rcu(), thread.record(), record.at, bytes);
        }
    }

    /// Whether a heap payload is a record of some set. The caller holds the registry lock.
    pub fn is_record(&'static self, payload: u64) -> bool {
        registry::objects(&self.arena, Class::Sem).any(|at| {
            let records = find_set(&self.arena, at).map(|set| space(self, at, set).records());
            records.into_iter().flatten().any(|record| record.at == payload)
        })
    }
}
