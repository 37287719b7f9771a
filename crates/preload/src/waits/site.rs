//! A call site of the calling thread, and what the thread has learnt there.

use crate::swap::decision;
use crate::swap::plan::{self, Waits};
use crate::watch::Hook;
use core::cell::Cell;
use unspin_waiting::Site as Learnt;

/// Zeroed: free.
pub struct Site {
    /// Where the hook returns to; 0: free.
    caller: Cell<usize>,
    rule: Cell<Rule>,
    /// What was learnt.
    pub learnt: Learnt,
}

/// What the plan says of a site.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Rule {
    /// Its waits sleep at once.
    Sleep,
    /// They poll where that pays.
    Poll,
    /// They poll, whatever was learnt.
    Force,
}

/// Sites of a thread; a power of two. More of them, or two of one hash, take each other's place and learn anew.
const SITES: usize = 16;

/// The sites of one thread. Zeroed: none.
pub struct Sites([Site; SITES]);

impl Sites {
    #[inline(always)]
    fn slot(&self, caller: usize) -> &Site {
        let hash = (caller as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60;
        &self.0[hash as usize % SITES]
    }

    /// Whether a wait at the site that a hook was called from sleeps at once, as far as that can be told at once.
    #[inline(always)]
    pub fn sleeps(&self, hook: Hook) -> bool {
        let caller = hook.return_address();
        let site = self.slot(caller);
        site.caller.get() == caller
            && match site.rule.get() {
                Rule::Sleep => true,
                Rule::Poll => site.learnt.rests(),
                Rule::Force => false,
            }
    }

    /// The site that a hook was called from, if its waits poll.
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
            Waits::System => Rule::Sleep,
            Waits::Poll if plan::is_forced() => Rule::Force,
            Waits::Poll => Rule::Poll,
        });
        self.learnt.forget();
        self.caller.set(caller);
    }

    /// Whether its waits poll whatever was learnt.
    pub fn is_forced(&self) -> bool {
        self.rule.get() == Rule::Force
    }
}
