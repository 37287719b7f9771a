//! Which call site holds a lock, for a thread that is about to wait for it.

use crate::held::HeldLocks;
use crate::image::{self, Image};
use crate::list;
use crate::pages::WORDS;
use crate::recording::Recording;
use crate::slot;
use crate::table::{OWNER, Table};
use unspin_sync::atomic::{AtomicU64, Ordering::*};
use unspin_sys::process;

impl Recording {
    /// The caller for which a thread of this process has acquired a lock that it holds now. `page` is the
    /// [page](Table::page) of the thread's table. None if that table has another owner by now, or no such lock.
    pub fn caller_of_holder(&self, page: u64, tid: u32, locks: &[u64]) -> Option<u64> {
        let head = self.pages().page(page)?;
        let owner = u64::from(process::pid()) << 32 | u64::from(tid);
        // Relaxed: an id. If the table gets another owner after this, what is read below is compared with the lock.
        (head[OWNER].load(Relaxed) == owner).then(|| self.caller_in(head, locks)).flatten()
    }

    /// [`caller_of_holder`](Recording::caller_of_holder) of the first thread that holds one of these locks, among at most
    /// `most` threads other than that of `table`.
    pub fn find_caller_of_holder(&self, table: &Table<'_>, locks: &[u64], most: usize) -> Option<u64> {
        let image = Image::at(self.pages(), self.free(), table.image())?;
        let fellows = list::walk(self.pages(), &image.words()[image::TABLES]);
        let mut others = fellows.filter(|(page, _)| *page != table.page()).take(most);
        others.find_map(|(_, head)| self.caller_in(head, locks))
    }

    fn caller_in(&self, head: &[AtomicU64; WORDS], locks: &[u64]) -> Option<u64> {
        let held = HeldLocks::new(head).iter().find(|held| locks.contains(&held.lock))?;
        let key = slot::key(self.pages().array(held.row as usize)?);
        // The entry may have been written anew while it was read: then its row is that of another lock.
        let is_of_lock = locks.iter().any(|lock| lock & ADDRESS == key.address());
        is_of_lock.then_some(key.caller)
    }
}

/// The address in [`Key::lock`](crate::Key::lock).
const ADDRESS: u64 = (1 << 56) - 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Key;
    use crate::kind::RecordKind;
    use crate::recording::Config;
    use unspin_sys::clock;

    /// Another thread holds one lock, and this thread another one.
    #[test]
    fn holder_is_found_by_thread_and_by_search() {
        let folder = tempfile::tempdir().unwrap();
        let config = Config { bytes: 4 << 20, ..Config::default() };
        let recording = Recording::create(&folder.path().join("recording"), config).unwrap();
        let hold = |address, caller| {
            let table = recording.claim().unwrap();
            let key = Key::new(RecordKind::Mutex, address, caller);
            let row = table.publish(key).unwrap();
            table.begin_hold(key.lock, row, clock::ticks(), None);
            (table.page(), process::tid(), key.lock)
        };
        let (number, tid, lock) = std::thread::scope(|scope| scope.spawn(|| hold(64, 7)).join()).unwrap();
        let (own, _, own_lock) = hold(128, 9);
        assert_eq!(recording.caller_of_holder(number, tid, &[lock]), Some(7));
        assert_eq!(recording.caller_of_holder(number, tid, &[own_lock]), None, "it does not hold that one");
        assert_eq!(recording.caller_of_holder(own, tid, &[own_lock]), None, "the table is another thread's");
        let table = recording.claim().unwrap();
        assert_eq!(recording.find_caller_of_holder(&table, &[1, lock], 64), Some(7));
        assert_eq!(recording.find_caller_of_holder(&table, &[lock], 1), None, "one table is searched");
        table.publish(Key::new(RecordKind::Mutex, 64, 11)).unwrap();
        assert_eq!(recording.find_caller_of_holder(&table, &[1], 64), None);
    }
}
