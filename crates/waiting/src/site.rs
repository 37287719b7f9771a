//! What a thread has learnt about one of its wait sites, and what follows for the next wait there.
//!
//! A *site* is a call site, together with the object that it waits for where that has an address. The policy compares two
//! *modes*: sleeping at once, and polling before sleeping. It measures both in the program itself, in short *trials*, because
//! what polling is worth depends on what the machine, the partner and the other threads do with it:
//!
//! - a partner that sleeps as well makes every wait look longer than a poll can be; only a trial on both sides finds out;
//! - a server that sleeps collects requests and serves them together; one that polls pays a system call for each;
//! - a poller may slow down the hyperthread beside it, or keep a CPU from the thread that it waits for.
//!
//! Two times are compared: what a wait takes, and the *cycle*, which is the time from the end of one wait to the end of the
//! next; both per item received. Polling must make waits shorter by a tenth, and must not make cycles longer: a server that
//! takes its requests one by one waits for less time and serves fewer. Where a wait does not tell how much there is to do
//! afterwards (a condition, a mutex), cycles say nothing, and waits alone are compared.
//!
//! | phase | the thread | left when |
//! |---|---|---|
//! | [`Phase::TimingSleep`] | sleeps, and takes the time | [`TRIAL`] waits are timed: to `TimingPoll` if enough of them were short, else to `Resting` |
//! | [`Phase::TimingPoll`] | polls for up to three wake-ups, and takes the time | [`TRIAL`] waits are timed: to `Polling` if that was better, or no worse in a trial of a site that polled; else to `Resting` |
//! | [`Phase::Polling`] | polls for as long as waits lately took | the credit is spent: to `Resting`; the time of the next trial has come: to `TimingSleep` |
//! | [`Phase::Resting`] | sleeps at once, without a clock | so many waits have passed: to `TimingSleep` |
//!
//! A site that polls goes on unless polling does harm. Where both partners poll, a thread that sleeps for a trial is answered
//! before it is asleep, most of the time: eight such waits do not show what the rare sleep costs.
//!
//! *Credit* bounds the harm, as competitive spinning does (Karlin, Li, Manasse, Owicki, "Empirical studies of competitive
//! spinning for a shared-memory multiprocessor", SOSP 1991): a poll that finds the answer earns a wake-up less what it took,
//! and no more than polling saved in the last trial; a poll in vain costs its length. So a site whose waits become long stops polling after a few waits. Trials in vain become
//! rarer: each doubles the number of waits before the next, and while a site polls trials take about one part in a hundred of
//! its time.

use crate::host;
use crate::policy::Policy;
use core::cell::Cell;

/// Cycles that a trial measures in each mode.
pub const TRIAL: u32 = 8;
/// Calls in a row that found everything ready, after which a trial ends without a result.
const READY_MAX: u32 = 4 * TRIAL;
/// Polls after which it is asked again whether the thread is a real-time one: it costs a system call.
const ASK_EVERY: u32 = 64;
/// Waits without a clock after a trial in vain: at first, and at most.
const REST_FIRST: u32 = 32;
const REST_LAST: u32 = 1 << 10;
/// While a site polls, a trial takes one part in so many of the time.
const TRIAL_SHARE: u64 = 128;
/// The most that can be earned, in wake-ups: so much polling in vain ends the polling.
const CREDIT_WAKE_UPS: i64 = 8;
/// Polled waits that last longer than waits asleep by more than this part of a wake-up do harm.
const HARM: u64 = 8;
/// A longer wait or cycle counts as one of so many wake-ups: it says nothing of what a wake-up is worth.
const CYCLE_WAKE_UPS: u64 = 8;

/// See the module's text. Zeroed: nothing learnt.
#[derive(Debug, Default)]
pub struct Site {
    phase: Cell<Phase>,
    /// Waits until the phase ends, in `Resting`; cycles that were timed, in a trial.
    count: Cell<u32>,
    /// Length of the next rest, in waits.
    rest: Cell<u32>,
    /// Ticks of polling in vain that may still be spent.
    credit: Cell<i64>,
    /// Ticks that a successful poll lately took.
    typical: Cell<u64>,
    /// When the previous wait ended; 0 if it was not timed.
    ended: Cell<u64>,
    /// Calls that found everything ready, one after the other.
    ready: Cell<u32>,
    /// Whether the trial interrupts `Polling` because it was due.
    is_check: Cell<bool>,
    /// Timed waits of this trial that were short.
    short: Cell<u32>,
    times: Times,
    /// Ticks of an item's wait and cycle in the trial's first half.
    asleep: Cell<Mean>,
    /// Ticks of a wait that polling has saved in the last trial.
    saved: Cell<u64>,
    /// When the next trial is due, in `Polling`; how long after the last one.
    next_trial: Cell<u64>,
    pause: Cell<u64>,
    /// When the current trial began.
    trial_began: Cell<u64>,
    /// Polls until it is asked again whether the thread is a real-time one.
    unasked: Cell<u32>,
    is_real_time: Cell<bool>,
}

/// Waits of one trial in one mode.
#[derive(Debug, Default)]
struct Times {
    waited: Cell<u64>,
    cycles: Cell<u64>,
    items: Cell<u64>,
    /// Whether cycles say anything.
    are_counted: Cell<bool>,
    /// The longest cycle, which does not count: it is most likely another program's fault.
    longest: Cell<u64>,
    longest_items: Cell<u64>,
}

/// Ticks for an item.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    wait: u64,
    cycle: u64,
}

/// See the module's text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Phase {
    /// A trial's first half.
    #[default]
    TimingSleep,
    /// A trial's second half.
    TimingPoll,
    /// Polling pays.
    Polling,
    /// Polling does not pay.
    Resting,
}

/// What a thread does with a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// It sleeps at once, and reports nothing.
    Sleep,
    /// It sleeps at once, and reports to [`Site::slept`].
    Timed,
    /// It polls for at most so many ticks, then sleeps, and reports to [`Site::polled`] or [`Site::polled_in_vain`].
    Poll(u64),
}

impl Site {
    /// Forgets what was learnt: the site is another one now.
    pub fn forget(&self) {
        self.rest.set(0);
        self.typical.set(0);
        self.begin(Phase::TimingSleep);
    }

    /// Whether a wait that begins now sleeps at once and reports nothing, as far as that can be told at once: the quick part
    /// of [`turn`](Self::turn), which is to be asked if the answer is no.
    #[inline(always)]
    pub fn rests(&self) -> bool {
        let left = self.count.get();
        let rests = self.phase.get() == Phase::Resting && left > 0;
        if rests {
            self.count.set(left - 1);
        }
        rests
    }

    /// What to do with a wait that begins now.
    #[inline]
    pub fn turn(&self, policy: &Policy) -> Turn {
        match self.phase.get() {
            Phase::Resting if self.rests() => Turn::Sleep,
            Phase::Resting => {
                self.begin(Phase::TimingSleep);
                Turn::Timed
            }
            Phase::TimingSleep => Turn::Timed,
            Phase::TimingPoll => self.poll_for(3 * policy.wake_up),
            Phase::Polling => self.poll_for(self.budget(policy)),
        }
    }

    /// A real-time thread does not poll: by yielding it would give its CPU to its equals only, or (SCHED_DEADLINE) give up the
    /// rest of its period, and a poll that finds its answer is no sleep to the kernel, which limits how long such a thread may
    /// go without one (RLIMIT_RTTIME).
    fn poll_for(&self, budget: u64) -> Turn {
        match self.unasked.get() {
            0 => {
                self.unasked.set(ASK_EVERY);
                self.is_real_time.set(host::is_real_time());
            }
            left => self.unasked.set(left - 1),
        }
        if self.is_real_time.get() { Turn::Sleep } else { Turn::Poll(budget) }
    }

    /// For how long to poll where that pays.
    fn budget(&self, policy: &Policy) -> u64 {
        (4 * self.typical.get()).clamp(policy.wake_up / 2, 2 * policy.wake_up)
    }

    /// A call found `items` ready and did not wait.
    pub fn was_ready(&self, items: u64) {
        self.times.items.set(self.times.items.get() + items);
        let ready = self.ready.get() + 1;
        self.ready.set(ready);
        if ready <= READY_MAX {
            return;
        }
        match self.phase.get() {
            Phase::TimingSleep | Phase::TimingPoll if self.is_check.get() => self.poll_on(),
            Phase::TimingSleep | Phase::TimingPoll => self.rest_longer(),
            // A look costs more than nothing where it always finds something.
            Phase::Polling => self.begin(Phase::TimingSleep),
            Phase::Resting => {}
        }
    }

    /// A wait of [`Turn::Timed`] took `waited` ticks, ended at `now`, and brought `items`; none if it does not tell how many.
    pub fn slept(&self, policy: &Policy, waited: u64, now: u64, items: Option<u64>) {
        self.ready.set(0);
        if waited <= 4 * policy.wake_up {
            self.short.set(self.short.get() + 1);
        }
        if !self.add(policy, waited, now, items) {
            return;
        }
        self.asleep.set(self.times.mean());
        if self.short.get() < TRIAL / 4 {
            return self.rest_longer();
        }
        // The first polled cycle begins where the last one asleep has ended.
        let is_check = self.is_check.get();
        self.begin(Phase::TimingPoll);
        self.is_check.set(is_check);
        self.ended.set(now);
    }

    /// A poll ended after `took` ticks, at `now`, with `items`; none if it does not tell how many.
    pub fn polled(&self, policy: &Policy, took: u64, now: u64, items: Option<u64>) {
        self.ready.set(0);
        // The hypervisor may have had the CPU meanwhile.
        let took = took.min(3 * policy.wake_up);
        let typical = self.typical.get();
        self.typical.set(if typical == 0 { took } else { typical - typical / 8 + took / 8 });
        match self.phase.get() {
            Phase::Polling => {
                self.earn(policy, (policy.wake_up as i64 - took as i64).min(self.saved.get() as i64));
                if self.phase.get() == Phase::Polling && now >= self.next_trial.get() {
                    self.begin(Phase::TimingSleep);
                    self.is_check.set(true);
                }
            }
            Phase::TimingPoll => self.end_of_timed_poll(policy, took, now, items),
            _ => {}
        }
    }

    /// A poll of `spent` ticks was in vain; the thread slept then, until `now`, and got `items`. The whole wait took `waited`.
    pub fn polled_in_vain(&self, policy: &Policy, spent: u64, waited: u64, now: u64, items: Option<u64>) {
        self.ready.set(0);
        let spent = spent.min(3 * policy.wake_up);
        match self.phase.get() {
            Phase::Polling => self.earn(policy, -(spent as i64)),
            Phase::TimingPoll => self.end_of_timed_poll(policy, waited, now, items),
            _ => {}
        }
    }

    /// A poll was broken off because another thread needed the CPU.
    pub fn was_crowded(&self, policy: &Policy) {
        match self.phase.get() {
            Phase::TimingPoll => self.rest_longer(),
            Phase::Polling => self.earn(policy, -(policy.wake_up as i64) / 4),
            _ => {}
        }
    }

    fn end_of_timed_poll(&self, policy: &Policy, waited: u64, now: u64, items: Option<u64>) {
        if !self.add(policy, waited, now, items) {
            return;
        }
        let (asleep, polled) = (self.asleep.get(), self.times.mean());
        let is_slower = match self.times.are_counted.get() {
            true => polled.cycle * 20 > asleep.cycle * 21,
            false => polled.wait > asleep.wait + policy.wake_up / HARM,
        };
        let is_shorter = polled.wait * 10 <= asleep.wait * 9;
        if is_slower || !(is_shorter || self.is_check.get()) {
            return self.rest_longer();
        }
        if is_shorter {
            self.saved.set(asleep.wait - polled.wait);
            self.credit.set(CREDIT_WAKE_UPS * policy.wake_up as i64);
        }
        self.pause.set(TRIAL_SHARE * now.wrapping_sub(self.trial_began.get()));
        self.next_trial.set(now);
        self.poll_on();
    }

    /// A trial has shown no harm.
    fn poll_on(&self) {
        self.begin(Phase::Polling);
        self.next_trial.set(self.next_trial.get() + self.pause.get());
    }

    /// Adds to the credit; without any left the site rests.
    fn earn(&self, policy: &Policy, ticks: i64) {
        let most = CREDIT_WAKE_UPS * policy.wake_up as i64;
        let credit = (self.credit.get() + ticks).min(most);
        self.credit.set(credit);
        if credit == most {
            // It pays: the next rest, if there is one, is short.
            self.rest.set(0);
        }
        if credit < 0 {
            self.rest_longer();
        }
    }

    /// Adds a timed wait, and says whether the trial has all of them.
    fn add(&self, policy: &Policy, waited: u64, now: u64, items: Option<u64>) -> bool {
        let ended = self.ended.replace(now);
        if ended == 0 {
            self.trial_began.set(now);
            self.times.clear();
            self.short.set(0);
            return false;
        }
        let most = CYCLE_WAKE_UPS * policy.wake_up;
        self.times.add(waited.min(most), now.saturating_sub(ended).min(most), items);
        self.count.set(self.count.get() + 1);
        self.count.get() >= TRIAL
    }

    fn begin(&self, phase: Phase) {
        self.phase.set(phase);
        self.count.set(0);
        self.ready.set(0);
        self.is_check.set(false);
        self.short.set(0);
        self.ended.set(0);
        self.times.clear();
    }

    fn rest_longer(&self) {
        let rest = (self.rest.get() * 2).clamp(REST_FIRST, REST_LAST);
        self.rest.set(rest);
        self.begin(Phase::Resting);
        self.count.set(rest);
    }
}

impl Times {
    fn clear(&self) {
        for cell in [&self.waited, &self.cycles, &self.items, &self.longest, &self.longest_items] {
            cell.set(0);
        }
    }

    fn add(&self, waited: u64, cycle: u64, items: Option<u64>) {
        self.are_counted.set(items.is_some());
        let items = items.unwrap_or(1);
        self.waited.set(self.waited.get() + waited);
        self.cycles.set(self.cycles.get() + cycle);
        self.items.set(self.items.get() + items);
        if cycle > self.longest.get() {
            self.longest.set(cycle);
            self.longest_items.set(items);
        }
    }

    fn mean(&self) -> Mean {
        let items = self.items.get().saturating_sub(self.longest_items.get()).max(1);
        Mean {
            wait: self.waited.get() / self.items.get().max(1),
            cycle: (self.cycles.get() - self.longest.get()) / items,
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
