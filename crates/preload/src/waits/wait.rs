//! One wait of the calling thread: the decision whether to poll, the poll, and the report of the result to the site.

use super::site::Site;
use super::thread::Waiter;
use super::{count_forbidden_look, cpu_pressure, permits, policy};
use crate::cancel::{DEFERRED, cancellation};
use crate::sandbox;
use crate::swap::{own_tally, plan};
use crate::watch::Hook;
use core::cell::Cell;
use unspin_sys::clock;
use unspin_sysv::cancel::{self, CancelType};
use unspin_waiting::{CheckKind, CpuPressure, PollOutcome, WaitDecision, poll};
use unspin_wire::TallyUse;
use unspin_wire::looks::Looks;

/// A wait that has begun. It has nothing to drop.
pub struct Wait {
    site: Option<&'static Site>,
    decision: WaitDecision,
    began: u64,
    /// Ticks of an unsuccessful poll; 0 if there was none.
    in_vain: Cell<u64>,
}

/// The result of a poll, for the hook.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended<T> {
    /// A look succeeded: this is the call's answer.
    Found(T),
    /// A handler has run, and the call returns EINTR.
    Interrupted,
    /// The poll was unsuccessful, or there was none: the thread must sleep now.
    Asleep,
}

/// The result of one look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Look<T> {
    /// Nothing yet.
    Nothing,
    /// The call's answer.
    Found(T),
    /// A handler has run that ends the call.
    Interrupted,
}

impl Wait {
    /// Begins a wait at the call site of a hook. `looks`: what a poll there needs of the kernel besides the calls that every poll
    /// makes.
    #[inline(always)]
    pub fn begin(hook: Hook, looks: Looks) -> Wait {
        if Wait::sleeps_at_once(hook) { Wait::SLEEP } else { Wait::decide(hook, looks) }
    }

    /// Whether a wait at the call site of a hook sleeps at once and reports nothing. Only the fast part of the decision:
    /// false if more work is needed.
    #[inline(always)]
    pub fn sleeps_at_once(hook: Hook) -> bool {
        !plan::is_polling() || Waiter::known().is_some_and(|waiter| waiter.sites.sleeps(hook))
    }

    #[expect(clippy::declare_interior_mutable_const, reason = "a value to begin with")]
    const SLEEP: Wait = Wait { site: None, decision: WaitDecision::Sleep, began: 0, in_vain: Cell::new(0) };

    /// A thread with asynchronous cancellation is not cancelled while it decides.
    #[inline(never)]
    fn decide(hook: Hook, looks: Looks) -> Wait {
        match cancel::cancel_type() {
            CancelType::Deferred => Wait::decide_now(hook, looks),
            CancelType::Asynchronous => {
                let before = cancellation(DEFERRED);
                let wait = Wait::decide_now(hook, looks);
                cancellation(before);
                wait
            }
        }
    }

    fn decide_now(hook: Hook, looks: Looks) -> Wait {
        let policy = policy();
        if !policy.permit_polls() || sandbox::is_closed() {
            return Wait::SLEEP;
        }
        // Here and not when a site is new: calls of several kinds may have one return address, as in libffi.
        if !permits(looks) {
            count_forbidden_look();
            return Wait::SLEEP;
        }
        let Some(site) = Waiter::current().and_then(|waiter| waiter.sites.find(hook)) else {
            return Wait::SLEEP;
        };
        let decision = match site.is_forced() {
            true => WaitDecision::Poll(3 * policy.wake_up),
            false => site.learnt.decide(&policy),
        };
        let began = if decision == WaitDecision::Sleep { 0 } else { clock::ticks() };
        Wait { site: Some(site), decision, began, in_vain: Cell::new(0) }
    }

    /// Whether the wait polls.
    #[inline(always)]
    pub fn polls(&self) -> bool {
        matches!(self.decision, WaitDecision::Poll(_))
    }

    /// Polls, if the decision was to poll. `items` returns how many items an answer brings, or `None` if that is
    /// unknown.
    #[inline(always)]
    pub fn poll<T>(
        &self,
        check: CheckKind,
        look: impl FnMut() -> Look<T>,
        items: impl FnOnce(&T) -> Option<u64>,
    ) -> Ended<T> {
        match self.decision {
            WaitDecision::Poll(budget) if cancel::cancel_type() == CancelType::Deferred => {
                self.poll_for(budget, check, look, items)
            }
            WaitDecision::Poll(budget) => self.poll_with_cancel_deferred(budget, check, look, items),
            _ => Ended::Asleep,
        }
    }

    /// [`poll`](Self::poll) in a thread with asynchronous cancellation: it is cancelled at the check, or after the poll has ended.
    #[inline(never)]
    fn poll_with_cancel_deferred<T>(
        &self,
        budget: u64,
        check: CheckKind,
        look: impl FnMut() -> Look<T>,
        items: impl FnOnce(&T) -> Option<u64>,
    ) -> Ended<T> {
        let before = cancellation(DEFERRED);
        let ended = self.poll_for(budget, check, look, items);
        cancellation(before);
        ended
    }

    #[inline(never)]
    fn poll_for<T>(
        &self,
        budget: u64,
        check: CheckKind,
        mut look: impl FnMut() -> Look<T>,
        items: impl FnOnce(&T) -> Option<u64>,
    ) -> Ended<T> {
        let Some(site) = self.site else { return Ended::Asleep };
        let policy = policy();
        let no_pressure = CpuPressure::new();
        let pressure = if site.is_forced() { &no_pressure } else { cpu_pressure() };
        let polled = poll(&policy, pressure, budget, check, || match look() {
            Look::Nothing => None,
            Look::Found(answer) => Some(Some(answer)),
            Look::Interrupted => Some(None),
        });
        match polled {
            PollOutcome::Found(Some(answer), took) => {
                own_tally::note_use(TallyUse::Found);
                site.learnt.report_poll(&policy, took, self.began + took, items(&answer));
                Ended::Found(answer)
            }
            PollOutcome::Found(None, took) => {
                site.learnt.report_failed_poll(&policy, took, took, self.began + took, None);
                Ended::Interrupted
            }
            PollOutcome::FoundLate(answer) => {
                own_tally::note_use(TallyUse::Found);
                site.learnt.report_cpu_needed(&policy);
                answer.map_or(Ended::Interrupted, Ended::Found)
            }
            PollOutcome::TimedOut(spent) => {
                own_tally::note_use(TallyUse::InVain);
                self.in_vain.set(spent);
                Ended::Asleep
            }
            PollOutcome::CpuNeeded => {
                own_tally::note_use(TallyUse::InVain);
                site.learnt.report_cpu_needed(&policy);
                Ended::Asleep
            }
        }
    }

    /// Reports that a look before the poll found this many items.
    pub fn report_ready(&self, items: u64) {
        if let Some(site) = self.site {
            site.learnt.report_ready(items);
        }
    }

    /// Reports that the thread has slept.
    #[inline(always)]
    pub fn report_sleep(&self) {
        if self.decision != WaitDecision::Sleep {
            self.report(None);
        }
    }

    /// Reports that a call has returned this many items; the thread may have slept in it.
    #[inline(always)]
    pub fn report_call(&self, items: u64) {
        if self.decision != WaitDecision::Sleep {
            self.report(Some(items));
        }
    }

    #[inline(never)]
    fn report(&self, items: Option<u64>) {
        match cancel::cancel_type() {
            CancelType::Deferred => self.report_now(items),
            CancelType::Asynchronous => {
                let before = cancellation(DEFERRED);
                self.report_now(items);
                cancellation(before);
            }
        }
    }

    fn report_now(&self, items: Option<u64>) {
        let Some(site) = self.site else { return };
        let (policy, now) = (policy(), clock::ticks());
        let waited = now.saturating_sub(self.began);
        match (self.decision, self.in_vain.get()) {
            (WaitDecision::TimedSleep, _) => match items {
                // A call as short as this did not sleep.
                Some(items) if waited < policy.ready => site.learnt.report_ready(items),
                _ => site.learnt.report_sleep(&policy, waited, now, items),
            },
            (WaitDecision::Poll(_), spent @ 1..) => {
                site.learnt.report_failed_poll(&policy, spent, waited, now, items)
            }
            _ => {}
        }
    }
}
