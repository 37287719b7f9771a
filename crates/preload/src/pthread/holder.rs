//! Who makes a thread wait: the call site for which another thread had acquired the lock, as seen when the wait begins.
//!
//! The whole wait is counted for that call site, although others may hold the lock before the wait ends. Of many waits each
//! holder gets its share, because a hold that is twice as long is met twice as often.
//!
//! The owner's thread id is in a mutex, and in a read-write lock that is held for writing. Where no id is known, or the owner
//! has no table, a bounded number of tables is searched. All of that is a few loads, and the thread is about to sleep.

use crate::watch::{Object, Thread};
use unspin_wire::{AttemptOutcome, Key, RecordKind, RowRef};

/// In how many threads' tables to look for a lock without an owner's id. A table takes a cache miss, some 100 ns.
const TABLES_SEARCHED: usize = 64;

/// The call site that holds a lock for which a thread begins to wait.
#[derive(Clone, Copy)]
pub struct Holder {
    kind: RecordKind,
    address: usize,
    /// 0: not known.
    caller: usize,
}

impl Holder {
    /// Finds the holder of an object. `owner` is the thread id of the holder, 0 if it is not known.
    pub fn find(thread: &Thread, object: Object, owner: u32) -> Option<Holder> {
        let kind = object.kind.holder().filter(|_| thread.has_clock())?;
        let key = |kind| Key::new(kind, object.address, 0).lock;
        let caller = match object.kind {
            RecordKind::Read | RecordKind::Write => thread.caller_of_holder(
                &[key(RecordKind::Write), key(RecordKind::Read)],
                owner,
                TABLES_SEARCHED,
            ),
            _ => thread.caller_of_holder(&[object.held()], owner, TABLES_SEARCHED),
        };
        Some(Holder { kind, address: object.address, caller: caller.unwrap_or(0) })
    }

    /// Records a wait for it, in ticks.
    pub fn note(self, thread: &Thread, spun: u64, slept: u64) {
        if self.caller == 0 {
            return;
        }
        let object = Object { kind: self.kind, address: self.address };
        let Some(row) = thread.row_of(object.used_by(self.caller)) else { return };
        record(thread, row, spun, slept);
    }
}

fn record(thread: &Thread, row: RowRef, spun: u64, slept: u64) {
    let table = thread.table();
    table.count_attempt(row);
    table.reclassify_attempt(row, AttemptOutcome::NoWait, AttemptOutcome::Slept);
    table.add_wait(row, AttemptOutcome::Slept, spun, slept);
}
