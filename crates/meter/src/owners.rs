//! The threads that have a table at this moment.

use crate::header;
use crate::image;
use crate::list;
use crate::recording::Recording;
use crate::slot;
use crate::table;
use unspin_sync::atomic::Ordering::*;
use unspin_sys::process::Liveness;

impl Recording {
    /// Process and thread id of each thread that has a table. The list includes threads that ended without releasing
    /// their table, because they or their process were killed or the process ended. It takes some ten nanoseconds a
    /// thread, less than a [`snapshot`](Recording::snapshot).
    pub fn owners(&self) -> Vec<(u32, u32)> {
        let mut owners = Vec::new();
        for (_, image) in list::walk(self.pages(), self.images()) {
            for (_, head) in list::walk(self.pages(), &image[image::TABLES]) {
                // Relaxed: an id; no other memory depends on it.
                let owner = head[table::OWNER].load(Relaxed);
                if owner != 0 {
                    owners.push(((owner >> 32) as u32, owner as u32));
                }
            }
        }
        owners
    }

    /// Whether any process has joined.
    pub fn is_joined(&self) -> bool {
        list::walk(self.pages(), self.images()).next().is_some()
    }

    /// Records that a participant is alive. The owner of the recording calls this about once a second, and a process
    /// when it ends. If the owner is killed, the time metered ends with the last call.
    pub fn update_last_seen(&self) {
        header::update_last_seen(self.header());
    }

    /// Stores for each thread that still has a table how long it was on a CPU and how long it waited for a CPU, in
    /// nanoseconds. `used` gets process id, thread id and the age of the table in ticks, and returns the times if it
    /// knows them. Call it once, after the end. A thread that ends normally stores its times itself.
    pub fn store_cpu_times(&self, used: &dyn Fn(u32, u32, u64) -> Option<(u64, u64)>) {
        let (_, end) = header::ticks(self.header(), Liveness::Alive);
        for (_, image) in list::walk(self.pages(), self.images()) {
            for (_, head) in list::walk(self.pages(), &image[image::TABLES]) {
                // Relaxed (both): the thread has ended.
                let (owner, since) = (head[table::OWNER].load(Relaxed), head[table::SINCE].load(Relaxed));
                let lived = end.saturating_sub(since);
                if let Some((on_cpu, runnable)) = used((owner >> 32) as u32, owner as u32, lived) {
                    slot::increment(&head[table::ON_CPU], on_cpu);
                    slot::increment(&head[table::RUNNABLE], runnable);
                }
            }
        }
    }
}
