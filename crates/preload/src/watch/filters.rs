//! Seccomp filters: the tally and the recording count them.

use super::Thread;
use crate::sandbox;
use crate::swap::plan;
use unspin_wire::{Event, TallyCount};

/// To be called before the program begins.
pub fn prepare() {
    sandbox::set_notice(&ON_FILTER);
}

/// Counts seccomp filters in the tally and in the recording.
static ON_FILTER: sandbox::Notice = sandbox::Notice { before: before_filter, after: after_filter };

/// To read the plan and to claim a table takes system calls, and so do writers of biased read-write locks.
fn before_filter() {
    let _ = (plan::get(), Thread::current());
    unspin_locks::rw::forgo_membarrier();
}

fn after_filter() {
    if let Some(plan) = plan::get() {
        plan.count(TallyCount::Filters);
    }
    if let Some(thread) = Thread::current() {
        thread.table().count_event(Event::SeccompFilter, 1);
    }
}
