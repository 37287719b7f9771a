//! A call site of the calling thread, and what the thread has learnt there.

use crate::swap::decision;
use crate::swap::plan::{self, WaitPolicy};
use crate::watch::Hook;
use core::cell::Cell;
use unspin_waiting::SiteHistory;

/// One call site. Zeroed: the slot is free.
pub struct Site {
    /// The return address of the hook; 0: the slot is free.
    caller: Cell<usize>,
    rule: Cell<Rule>,
    /// What the thread has learnt at the site.
    pub learnt: SiteHistory,
}

/// The plan's rule for a site.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Rule {
    /// Waits sleep at once.
    Sleep,
    /// Waits poll where that pays.
    Poll,
    /// Waits always poll, whatever was learnt.
    Force,
}

/// Number of slots; a power of two. Sites with the same hash replace each other, and start learning again.
const SITES: usize = 16;

/// The sites of one thread. Zeroed: there are none.
pub struct Sites([Site; SITES]);

impl Sites {
    #[inline(always)]
    fn slot(&self, caller: usize) -> &Site {
        let hash = (caller as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60;
        &self.0[hash as usize % SITES]
    }

    /// Whether a wait at the hook's call site sleeps at once. Only the fast part of the decision: false if more work is
    /// needed.
    #[inline(always)]
    pub fn sleeps(&self, hook: Hook) -> bool {
        let caller = hook.return_address();
        let site = self.slot(caller);
        site.caller.get() == caller
            && match site.rule.get() {
                Rule::Sleep => true,
                Rule::Poll => site.learnt.sleeps_at_once(),
                Rule::Force => false,
            }
    }

    /// The hook's call site, if its waits poll.
    #[inline(always)]
    pub fn find(&self, hook: Hook) -> Option<&Site> {
        let caller = hook.return_address();
        let site = self.slot(caller);
        if site.caller.get() != caller {
            site.begin(caller, hook);
        }
        (site.rule.get() != Rule::Sleep).then_some(site)
    }
}

impl Site {
    #[cold]
    fn begin(&self, caller: usize, hook: Hook) {
        self.rule.set(match decision::waits(hook) {
            WaitPolicy::System => Rule::Sleep,
            WaitPolicy::Poll if plan::is_forced() => Rule::Force,
            WaitPolicy::Poll => Rule::Poll,
        });
        self.learnt.reset();
        self.caller.set(caller);
    }

    /// Whether its waits always poll, whatever was learnt.
    pub fn is_forced(&self) -> bool {
        self.rule.get() == Rule::Force
    }
}
