//! unshare(CLONE_SYSVSEM): a thread stops sharing the adjustments of its process.

use super::undo_record as record;
use crate::class::Class;
use crate::engine::lock_names::Call;
use crate::engine::{Engine, Inner};
use crate::recovery::process::Process;
use crate::registry;
use crate::sem::Set;
use crate::thread::Thread;
use unspin_sys::process;

impl Engine {
    /// Does to adjustments what `unshare(CLONE_SYSVSEM)`, or entering a new IPC namespace, does (`exit_sem` of
    /// ipc/sem.c). If the process has only one thread, its adjustments are applied now. If it has several, they stay
    /// with the other threads. In the kernel the thread that left then has adjustments of its own, which this engine
    /// does not support.
    pub fn unshare_undo(&self) {
        let Some(inner) = self.inner.filter(|inner| inner.has_process_entry()) else { return };
        if process::thread_count() == 1
            && let Ok(thread) = Thread::of(inner)
            && let Ok(process) = inner.process_entry(thread)
        {
            inner.undo_all(thread, process);
        }
    }
}

impl Inner {
    /// Applies the adjustments of a living process, on every set.
    fn undo_all(&'static self, thread: &Thread, process: Process) {
        let _read = thread.read();
        for at in registry::objects(&self.arena, Class::Sem) {
            let Some(set) = self.arena.get::<Set>(at) else { continue };
            let Ok(mut guard) = self.guard_alive(thread, Call::Semop, (at, set)) else { continue };
            let section = guard.section();
            if let Some(record) = record::find(section, process) {
                section.undo(&record);
                guard.serve();
            }
        }
    }
}
