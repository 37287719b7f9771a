//! What has ended the thread's latest wait for a condition.

use super::Thread;
use unspin_wire::RowRef;

/// A wait for a condition that a signal has ended. Valid when zeroed: none.
#[derive(Clone, Copy)]
pub struct WokenFrom {
    /// The address of the condition.
    pub condition: usize,
    /// The key of the mutex in the list of held locks.
    pub mutex: u64,
    /// The row of the condition.
    pub row: RowRef,
    /// The row of the mutex that the wait has locked again.
    pub again: RowRef,
    /// The end of the wait, in ticks.
    pub at: u64,
}

impl WokenFrom {
    /// No wait.
    pub const NONE: WokenFrom =
        WokenFrom { condition: 0, mutex: 0, row: RowRef::NONE, again: RowRef::NONE, at: 0 };
}

impl Thread {
    /// Notes the mutex that a wait for a condition releases for a while; 0: the thread holds it again.
    pub fn set_waiting(&self, lock: u64) {
        self.waiting.set(lock);
    }

    /// Notes what has ended the thread's latest wait for a condition: [`Object::held`](crate::watch::Object::held) of the row that counts it.
    pub fn set_woken(&self, woken: u64) {
        self.woken.set(woken);
    }

    /// What [`set_woken`](Thread::set_woken) has noted, which is forgotten.
    pub fn take_woken(&self) -> u64 {
        self.woken.replace(0)
    }

    /// Notes the latest wait that a signal has ended.
    pub fn set_woken_from(&self, wait: Option<WokenFrom>) {
        self.woken_from.set(wait.unwrap_or(WokenFrom::NONE));
    }

    /// Records a hold of a lock that the program has built from a condition and a mutex, if this is its end: the thread
    /// was woken from the condition, has released the mutex since, has locked it again, and wakes the next thread.
    pub fn record_give_back(&self, condition: usize, now: u64) {
        let from = self.woken_from.get();
        if from.condition != condition {
            return;
        }
        let Some(hold) = self.table().latest_hold(from.mutex) else { return };
        if hold.row_ref() != from.again {
            self.table().add_hold(from.row, now.saturating_sub(from.at));
            self.woken_from.set(WokenFrom::NONE);
        }
    }
}
