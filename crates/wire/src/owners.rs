//! The threads that have a table at this moment.

use crate::header;
use crate::image;
use crate::list;
use crate::recording::Recording;
use crate::slot;
use crate::table;
use unspin_sync::atomic::Ordering::*;
use unspin_sys::clock;
use unspin_sys::process::{Liveness, ThreadGroup};

impl Recording {
    /// Process and thread id of each thread that has a table. The list includes threads that ended without releasing
    /// their table, because they or their process were killed or the process ended, but no thread of a process that
    /// [`note_ends`](Recording::note_ends) has found to have ended. It takes some ten nanoseconds a thread, less than a
    /// [`snapshot`](Recording::snapshot).
    pub fn owners(&self) -> Vec<(u32, u32)> {
        let mut owners = Vec::new();
        for (_, image) in list::walk(self.pages(), self.images()) {
            // Relaxed: a time; no other memory depends on it.
            if image[image::ENDED].load(Relaxed) != 0 {
                continue;
            }
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
    /// when it ends. If the owner is killed, the time metered ends with the last call. A process that has used a lock
    /// records also that it is alive itself: the holds that it has not ended count until then.
    pub fn update_last_seen(&self) {
        header::update_last_seen(self.header());
        if let Some(words) = self.own_image() {
            image::set_seen(words);
        }
    }

    /// Records which processes are alive now, and which have ended: the locks that an ended process held are not held
    /// any longer. `has_ended` gets the process and the id of its parent. It is not asked again about a process that has
    /// ended.
    pub fn note_ends(&self, has_ended: &dyn Fn(ThreadGroup, u32) -> bool) {
        for (_, words) in list::walk(self.pages(), self.images()) {
            // Relaxed (all): times and ids; no other memory depends on them.
            if words[image::ENDED].load(Relaxed) != 0 {
                continue;
            }
            let (ids, namespace) =
                (words[image::PROCESS].load(Relaxed), words[image::NAMESPACE].load(Relaxed));
            let process = ThreadGroup { pid: (ids >> 32) as u32, start_time: 0, namespace };
            match has_ended(process, ids as u32) {
                true => words[image::ENDED].store(clock::ticks(), Relaxed),
                false => image::set_seen(words),
            }
        }
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
                    slot::add(&head[table::ON_CPU], on_cpu);
                    slot::add(&head[table::RUNNABLE], runnable);
                }
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::event::Key;
    use crate::kind::RecordKind;
    use crate::recording::Config;
    use crate::snapshot::Image;
    use unspin_sys::process;

    fn recording(folder: &tempfile::TempDir) -> Recording {
        let config = Config { bytes: 4 << 20, ..Config::default() };
        Recording::create(&folder.path().join("recording"), config).unwrap()
    }

    /// The only process that is recorded. Its only thread holds a lock since its beginning.
    fn holder(recording: &Recording) -> Image {
        let mut images = recording.snapshot().images;
        assert_eq!((images.len(), images[0].threads[0].holds.len()), (1, 1));
        images.remove(0)
    }

    fn hold(recording: &Recording) {
        let table = recording.claim().unwrap();
        let key = Key::new(RecordKind::Mutex, 16, 1);
        let row = table.publish(key).unwrap();
        table.begin_hold(key.lock, row, clock::ticks(), None);
    }

    #[test]
    fn ended_process_has_ended_for_good() {
        let folder = tempfile::tempdir().unwrap();
        let recording = recording(&folder);
        recording.start();
        hold(&recording);
        recording.note_ends(&|process, parent| {
            let own = (process::pid(), process::pid_namespace());
            assert_eq!(((process.pid, process.namespace), parent), (own, process::parent()));
            false
        });
        assert_eq!((holder(&recording).ended, recording.owners().len()), (None, 1));
        recording.note_ends(&|_, _| true);
        recording.note_ends(&|_, _| panic!("a process that has ended is asked for"));
        assert!(holder(&recording).ended.is_some() && recording.owners().is_empty());
    }

    /// A thread that arrives at the same time as another one leaves an image that is not used. After a vfork whose child
    /// has used locks, a process uses two.
    #[test]
    fn images_of_one_program_do_not_end_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let recording = recording(&folder);
        recording.start();
        hold(&recording);
        image::create(recording.pages(), recording.free(), recording.images()).unwrap();
        assert_eq!(holder(&recording).ended, None);
    }

    /// The parent may have ended in between.
    #[test]
    fn image_of_an_executed_program_ends_the_one_before_it() {
        let folder = tempfile::tempdir().unwrap();
        let recording = recording(&folder);
        recording.start();
        hold(&recording);
        let (_, before) = list::walk(recording.pages(), recording.images()).next().unwrap();
        let executed = Recording::open(&folder.path().join("recording")).unwrap();
        hold(&executed);
        // Relaxed (both): no other thread.
        before[image::PROCESS].fetch_xor(1, Relaxed);
        before[image::PROGRAM].fetch_xor(1, Relaxed);
        let ended: Vec<bool> =
            recording.snapshot().images.iter().map(|image| image.ended.is_some()).collect();
        assert_eq!(ended, [true, false]);
    }
}
