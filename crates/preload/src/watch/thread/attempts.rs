//! Attempts: each is counted in the row of its object and of the hook's caller.

use super::{ABSENT, Thread};
use crate::sandbox;
use crate::watch::wrappers::Caller;
use crate::watch::{Hook, Object, modules, table_pages};
use unspin_wire::{Key, Recording, RowRef};

impl Thread {
    /// Counts an attempt as one without a wait, and returns its row. `held` is the key, in the list of held locks, of
    /// the lock that the caller will release later; 0 if there is none.
    #[inline(always)]
    pub fn attempt(&self, object: Object, held: u64, hook: Hook) -> Option<RowRef> {
        match self.attempt_direct(object, hook) {
            Some(row) => Some(row),
            None => self.attempt_indirect(object, held, hook),
        }
    }

    /// [`attempt`](Self::attempt) of a hook whose caller is known to be no wrapper, and has a row; else `None`. Nearly every
    /// attempt ends here.
    #[inline(always)]
    pub fn attempt_direct(&self, object: Object, hook: Hook) -> Option<RowRef> {
        self.table().count_direct_attempt(object.used_by(hook.return_address()))
    }

    #[cold]
    #[inline(never)]
    fn attempt_indirect(&self, object: Object, held: u64, hook: Hook) -> Option<RowRef> {
        let Caller { address, is_direct } = hook.caller();
        let key = object.used_by(address);
        let Some(row) = self.table().count_known_attempt(key) else {
            return self.first_attempt(key, held, hook);
        };
        if is_direct {
            self.table().remember_direct(key, row);
        }
        Some(row)
    }

    #[cold]
    #[inline(never)]
    fn first_attempt(&self, key: Key, held: u64, hook: Hook) -> Option<RowRef> {
        let row = self.publish(key, hook)?;
        if held != 0 {
            self.candidates.add(held, hook.call_position());
        }
        self.table().count_attempt(row);
        Some(row)
    }

    /// The row of this use of an object; no attempt is counted.
    pub fn row(&self, object: Object, hook: Hook) -> Option<RowRef> {
        let key = object.used_by(hook.caller().address);
        self.table().find(key).or_else(|| self.publish(key, hook))
    }

    /// The row of a key with the caller of another thread, which has a row for that caller already: the stack of this thread
    /// tells nothing about it.
    pub fn row_of(&self, key: Key) -> Option<RowRef> {
        self.table().find(key).or_else(|| {
            self.recording_for_new_row()?;
            self.publish_row(key)
        })
    }

    /// The caller for which a thread holds one of these locks: the thread `owner`, or without one, or if it is not found, one
    /// of `most` threads.
    pub fn caller_of_holder(&self, locks: &[u64], owner: u32, most: usize) -> Option<usize> {
        let recording = self.recording.get()?;
        let of_owner = || recording.caller_of_holder(table_pages::get(owner), owner, locks);
        let caller = (owner != 0).then(of_owner).flatten();
        caller
            .or_else(|| recording.find_caller_of_holder(self.table(), locks, most))
            .map(|caller| caller as usize)
    }

    /// The recording, if a row can be added to it.
    fn recording_for_new_row(&self) -> Option<&'static Recording> {
        let recording = self.recording.get()?;
        if recording.is_lost() {
            // The file was cut short. From the next hook on the thread is not recorded; its table is not given back.
            self.phase.set(ABSENT);
            return None;
        }
        if sandbox::is_closed() {
            self.table().count_dropped_sample();
            return None;
        }
        Some(recording)
    }

    fn publish_row(&self, key: Key) -> Option<RowRef> {
        let row = self.table().publish(key);
        if row.is_none() {
            self.table().count_dropped_sample();
        }
        row
    }

    fn publish(&self, key: Key, hook: Hook) -> Option<RowRef> {
        let recording = self.recording_for_new_row()?;
        modules::cover(recording, self.table(), key.caller);
        let row = self.publish_row(key);
        recording.keep_stack(self.table(), key, hook.registers());
        row
    }

    /// Whether it is not yet known of some function that acquired a lock whether it is a wrapper.
    #[inline(always)]
    pub fn has_candidates(&self) -> bool {
        !self.candidates.is_empty()
    }

    /// To be called before a lock is released: decides whether the function that acquired it is a wrapper, if that is
    /// not yet known.
    #[inline(always)]
    pub fn classify_wrapper(&self, lock: u64, hook: Hook) {
        if !self.candidates.is_empty() && !sandbox::is_closed() {
            self.candidates.classify(lock, hook.sp);
        }
    }
}
