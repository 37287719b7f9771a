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
//! What is compared is the *cycle*: the time from the end of one wait to the end of the next, per item received.
//!
//! | phase | the thread | left when |
//! |---|---|---|
//! | [`Phase::TimingSleep`] | sleeps, and takes the time | [`TRIAL`] waits are timed: to `TimingPoll` if enough of them were short, else to `Resting` |
//! | [`Phase::TimingPoll`] | polls for up to three wake-ups, and takes the time | [`TRIAL`] waits are timed: to `Polling` if cycles became shorter by a tenth, else to `Resting` |
//! | [`Phase::Polling`] | polls for as long as waits lately took | the credit is spent: to `Resting`; the time of the next trial has come: to `TimingSleep` |
//! | [`Phase::Resting`] | sleeps at once, without a clock | so many waits have passed: to `TimingSleep` |
//!
//! *Credit* bounds the harm: a poll that ends with the answer earns what the trial says that it saves, a poll in vain costs
//! its length. So a site whose waits become long stops polling after a few waits. Trials in vain become rarer: each doubles
//! the number of waits before the next, and while a site polls trials take about one part in a hundred of its time.

use crate::policy::Policy;
use core::cell::Cell;

/// Cycles that a trial measures in each mode.
pub const TRIAL: u32 = 8;
/// Calls that found everything ready, after which a trial ends without a result.
const READY_MAX: u32 = 16 * TRIAL;
/// Waits without a clock after a trial in vain: at first, and at most.
const REST_FIRST: u32 = 32;
const REST_LAST: u32 = 1 << 14;
/// While a site polls, a trial takes one part in so many of the time.
const TRIAL_SHARE: u64 = 128;
/// The most that can be earned, in wake-ups: so much polling in vain ends the polling.
const CREDIT_WAKE_UPS: i64 = 8;
/// A longer cycle counts as one of so many wake-ups: it says nothing of what a wake-up is worth.
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
    /// Calls in this trial that found everything ready.
    ready: Cell<u32>,
    /// Timed waits of this trial that were short.
    short: Cell<u32>,
    cycles: Cycles,
    /// Ticks of an item's cycle, by the last trial.
    asleep: Cell<u64>,
    polled: Cell<u64>,
    /// When the next trial is due, in `Polling`.
    next_trial: Cell<u64>,
    /// When the current trial began.
    trial_began: Cell<u64>,
}

/// Cycles of one trial in one mode.
#[derive(Debug, Default)]
struct Cycles {
    ticks: Cell<u64>,
    items: Cell<u64>,
    /// The longest, which does not count: it is most likely another program's fault.
    longest: Cell<u64>,
    longest_items: Cell<u64>,
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
        self.asleep.set(0);
        self.polled.set(0);
        self.begin_trial();
    }

    /// What to do with a wait that begins now.
    #[inline]
    pub fn turn(&self, policy: &Policy) -> Turn {
        match self.phase.get() {
            Phase::Resting => match self.count.get() {
                0 => {
                    self.begin_trial();
                    Turn::Timed
                }
                left => {
                    self.count.set(left - 1);
                    Turn::Sleep
                }
            },
            Phase::TimingSleep => Turn::Timed,
            Phase::TimingPoll => Turn::Poll(3 * policy.wake_up),
            Phase::Polling => Turn::Poll(self.budget(policy)),
        }
    }

    /// For how long to poll where that pays.
    fn budget(&self, policy: &Policy) -> u64 {
        (4 * self.typical.get()).clamp(policy.wake_up / 2, 3 * policy.wake_up)
    }

    /// A call found `items` ready and did not wait.
    pub fn was_ready(&self, policy: &Policy, items: u64) {
        self.cycles.items.set(self.cycles.items.get() + items);
        let ready = self.ready.get() + 1;
        self.ready.set(ready);
        let is_trial = matches!(self.phase.get(), Phase::TimingSleep | Phase::TimingPoll);
        if is_trial && ready > READY_MAX {
            self.rest_longer(policy);
        }
    }

    /// A wait of [`Turn::Timed`] took `waited` ticks, ended at `now`, and brought `items`.
    pub fn slept(&self, policy: &Policy, waited: u64, now: u64, items: u64) {
        if waited < policy.ready {
            return self.was_ready(policy, items);
        }
        if waited <= 4 * policy.wake_up {
            self.short.set(self.short.get() + 1);
        }
        if !self.cycle(policy, now, items) {
            return;
        }
        self.asleep.set(self.cycles.mean());
        if self.short.get() < TRIAL / 4 {
            return self.rest_longer(policy);
        }
        // The first polled cycle begins where the last one asleep has ended.
        self.begin(Phase::TimingPoll);
        self.ended.set(now);
    }

    /// A poll ended after `took` ticks, at `now`, with `items`.
    pub fn polled(&self, policy: &Policy, took: u64, now: u64, items: u64) {
        let typical = self.typical.get();
        self.typical.set(if typical == 0 { took } else { typical - typical / 8 + took / 8 });
        match self.phase.get() {
            Phase::Polling => {
                self.earn(policy);
                if now >= self.next_trial.get() {
                    self.begin_trial();
                }
            }
            Phase::TimingPoll => self.end_of_cycle_polled(policy, now, items),
            _ => {}
        }
    }

    /// A poll of `spent` ticks was in vain; the thread slept then, until `now`, and got `items`.
    pub fn polled_in_vain(&self, policy: &Policy, spent: u64, now: u64, items: u64) {
        match self.phase.get() {
            Phase::Polling => {
                let credit = self.credit.get() - spent as i64;
                self.credit.set(credit);
                if credit < 0 {
                    self.rest.set(REST_FIRST);
                    self.rest_now();
                }
            }
            Phase::TimingPoll => self.end_of_cycle_polled(policy, now, items),
            _ => {}
        }
    }

    /// A poll was broken off because another thread needed the CPU.
    pub fn was_crowded(&self, policy: &Policy) {
        match self.phase.get() {
            Phase::TimingPoll => self.rest_longer(policy),
            Phase::Polling => self.credit.set(self.credit.get() - policy.wake_up as i64),
            _ => {}
        }
    }

    fn end_of_cycle_polled(&self, policy: &Policy, now: u64, items: u64) {
        if !self.cycle(policy, now, items) {
            return;
        }
        self.polled.set(self.cycles.mean());
        if self.polled.get() * 10 > self.asleep.get() * 9 {
            return self.rest_longer(policy);
        }
        self.rest.set(REST_FIRST);
        self.credit.set(CREDIT_WAKE_UPS * policy.wake_up as i64);
        self.begin(Phase::Polling);
        let trial = now.wrapping_sub(self.trial_began.get());
        self.next_trial.set(now + TRIAL_SHARE * trial);
    }

    fn earn(&self, policy: &Policy) {
        let saved = self.asleep.get().saturating_sub(self.polled.get()) as i64;
        let most = CREDIT_WAKE_UPS * policy.wake_up as i64;
        self.credit.set((self.credit.get() + saved).min(most));
    }

    /// Adds a cycle, and says whether the trial has all of them.
    fn cycle(&self, policy: &Policy, now: u64, items: u64) -> bool {
        let ended = self.ended.replace(now);
        if ended == 0 {
            self.trial_began_unless_known(now);
            self.cycles.clear();
            return false;
        }
        let ticks = now.saturating_sub(ended).min(CYCLE_WAKE_UPS * policy.wake_up);
        self.cycles.add(ticks, items);
        let count = self.count.get() + 1;
        self.count.set(count);
        count >= TRIAL
    }

    fn trial_began_unless_known(&self, now: u64) {
        if self.phase.get() == Phase::TimingSleep {
            self.trial_began.set(now);
        }
    }

    fn begin_trial(&self) {
        self.begin(Phase::TimingSleep);
    }

    fn begin(&self, phase: Phase) {
        self.phase.set(phase);
        self.count.set(0);
        self.ready.set(0);
        self.short.set(0);
        self.ended.set(0);
        self.cycles.clear();
    }

    fn rest_longer(&self, _: &Policy) {
        self.rest.set((self.rest.get() * 2).clamp(REST_FIRST, REST_LAST));
        self.rest_now();
    }

    fn rest_now(&self) {
        self.begin(Phase::Resting);
        self.count.set(self.rest.get());
    }
}

impl Cycles {
    fn clear(&self) {
        self.ticks.set(0);
        self.items.set(0);
        self.longest.set(0);
        self.longest_items.set(0);
    }

    fn add(&self, ticks: u64, items: u64) {
        self.ticks.set(self.ticks.get() + ticks);
        self.items.set(self.items.get() + items);
        if ticks > self.longest.get() {
            self.longest.set(ticks);
            self.longest_items.set(items);
        }
    }

    /// Ticks for an item.
    fn mean(&self) -> u64 {
        let items = self.items.get().saturating_sub(self.longest_items.get()).max(1);
        (self.ticks.get() - self.longest.get()) / items
    }
}
