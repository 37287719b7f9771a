//! unshare(CLONE_SYSVSEM): a thread gives up its part in the adjustments of its process.

use super::{Set, record};
use crate::engine::{Engine, Inner};
use crate::ipc::{self, Class};
use crate::names::Call;
use crate::process::Process;
use crate::thread::Thread;
use unspin_sys::process;

impl Engine {
    /// What `unshare(CLONE_SYSVSEM)`, and with it a new IPC namespace, does to adjustments (`exit_sem` of ipc/sem.c): those
    /// of a process of one thread are applied now. Those of a process of several stay with the others; that the thread
    /// which left them begins anew, by itself, is not known here.
    pub fn unshare_undo(&self) {
        let Some(inner) = self.inner.filter(|inner| inner.has_entered()) else { return };
        if process::thread_count() == 1
            && let Ok(thread) = Thread::of(inner)
            && let Ok(process) = inner.enlist(thread)
        {
            inner.undo_all(thread, process);
        }
    }
}

impl Inner {
    /// Applies the adjustments that a living process has, on every set.
    fn undo_all(&'static self, thread: &Thread, process: Process) {
        let _read = thread.read();
        for at in ipc::objects(&self.arena, Class::Sem) {
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
