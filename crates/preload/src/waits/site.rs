//! A call site of the calling thread, and what the thread has learnt there.

use crate::swap::decision;
use crate::swap::plan::Waits;
use crate::watch::Hook;
use core::cell::Cell;
use unspin_waiting::Site as Learnt;

/// Zeroed: free.
pub struct Site {
    /// Where the hook returns to; 0: free.
    caller: Cell<usize>,
    polls: Cell<u32>,
    /// What was learnt.
    pub learnt: Learnt,
}

/// Sites of a thread; a power of two. More of them, or two of one hash, take each other's place and learn anew.
const SITES: usize = 16;

/// The sites of one thread. Zeroed: none.
pub struct Sites([Site; SITES]);

impl Sites {
    /// The site that a hook was called from, if its waits poll.
    #[inline(always)]
    pub fn find(&self, hook: Hook) -> Option<&Site> {
        let caller = hook.return_address();
        let hash = (caller as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60;
        let site = &self.0[hash as usize % SITES];
        if site.caller.get() != caller {
            site.begin(caller, hook);
        }
        (site.polls.get() != 0).then_some(site)
    }
}

impl Site {
    #[cold]
    fn begin(&self, caller: usize, hook: Hook) {
        self.polls.set(u32::from(decision::waits(hook) == Waits::Poll));
        self.learnt.forget();
        self.caller.set(caller);
    }
}
