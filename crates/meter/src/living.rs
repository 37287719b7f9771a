//! The threads that have a table at this moment.

use crate::image;
use crate::list;
use crate::recording::Recording;
use crate::table;
use unspin_sync::atomic::Ordering::*;

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
}
