//! The threads that have a table at this moment.

use crate::header;
use crate::image;
use crate::list;
use crate::recording::Recording;
use crate::slot;
use crate::table;
use unspin_sync::atomic::Ordering::*;
use unspin_sys::process::Life;

impl Recording {
    /// Process and thread id of each thread that has a table; those too that ended without giving it back, for they were
    /// killed or their process ended. Some ten nanoseconds a thread: cheaper than a [`snapshot`](Recording::snapshot).
    pub fn owners(&self) -> Vec<(u32, u32)> {
        let mut owners = Vec::new();
        for (_, image) in list::walk(self.pages(), self.images()) {
            for (_, head) in list::walk(self.pages(), &image[image::TABLES]) {
                // Relaxed: a name.
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

    /// Says that somebody is there: the owner every second or so, a process when it ends. If the owner is killed, the time
    /// metered ends with the last call.
    pub fn beat(&self) {
        header::beat(self.header());
    }

    /// Notes for each thread that has a table how long it was on a CPU and how long it waited for one, in nanoseconds, if
    /// `used` knows that of a process and thread id whose table is so many ticks old. To be called once, after the end: a
    /// thread that lives notes it itself when it ends.
    pub fn note_used(&self, used: &dyn Fn(u32, u32, u64) -> Option<(u64, u64)>) {
        let (_, end) = header::ticks(self.header(), Life::Alive);
        for (_, image) in list::walk(self.pages(), self.images()) {
            for (_, head) in list::walk(self.pages(), &image[image::TABLES]) {
                // Relaxed (both): the thread is gone.
                let (owner, since) = (head[table::OWNER].load(Relaxed), head[table::SINCE].load(Relaxed));
                let lived = end.saturating_sub(since);
                if let Some((on_cpu, runnable)) = used((owner >> 32) as u32, owner as u32, lived) {
                    slot::bump(&head[table::ON_CPU], on_cpu);
                    slot::bump(&head[table::RUNNABLE], runnable);
                }
            }
        }
    }
}
