//! What a thread has learnt about one of its wait sites, and the decision for the next wait there.
//!
//! A *site* is a call site, together with the address of the object that the thread waits for, if it has one. The
//! policy compares two *modes*: sleeping at once, and polling before sleeping. It measures both in the running program,
//! in short *trials*. It measures because the benefit of polling depends on the machine, on the partner and on the
//! other threads:
//!
//! - A partner that also sleeps makes every wait look longer than a poll can last. Only a trial on both sides reveals
//!   that polling pays.
//! - A server that sleeps collects requests and serves them together. A server that polls pays one system call for each
//!   request.
//! - A poller may slow down the other hyperthread of its core, or keep a CPU from the thread that it waits for.
//!
//! The policy compares two times, both per item received: the duration of a wait, and the *cycle*, which is the time
//! from the end of one wait to the end of the next. Polling must make waits shorter by a tenth, and must not make
//! cycles longer (by more than 5 %): a server that takes its requests one by one has shorter waits, but serves fewer
//! requests. Some waits do not tell how much work follows (a condition variable, a mutex). Their cycles say nothing,
//! and only the waits are compared.
//!
//! | phase | the thread | the phase ends when |
//! |---|---|---|
//! | [`Phase::TimingSleep`] | sleeps, and measures the time | [`TRIAL`] waits are timed: to `TimingPoll` if enough of them were short, else to `Resting` |
//! | [`Phase::TimingPoll`] | polls for up to three wake-ups, and measures the time | [`TRIAL`] waits are timed: to `Polling` if that was better, or no worse in a trial of a site that polled before; else to `Resting` |
//! | [`Phase::Polling`] | polls for a few times as long as recent successful polls took | the credit is spent: to `Resting`; the next trial is due: to `TimingSleep` |
//! | [`Phase::Resting`] | sleeps at once, and reads no clock | the given number of waits has passed: to `TimingSleep` |
//!
//! A site that polls continues unless a trial shows harm. Where both partners poll, a thread that sleeps for a trial
//! mostly gets its answer before it is asleep. The eight waits of a trial then do not show the cost of the rare real
//! sleep.
//!
//! *Credit* limits the harm, as in competitive spinning (Karlin, Li, Manasse, Owicki, "Empirical studies of competitive
//! spinning for a shared-memory multiprocessor", SOSP 1991). A successful poll earns the cost of a wake-up less the
//! poll's own duration, but at most what polling saved in the last trial. An unsuccessful poll costs its duration. So a
//! site whose waits become long stops polling after a few waits. Unsuccessful trials become rarer: each doubles the
//! number of waits before the next. While a site polls, trials take about one part in a hundred of its time.

use crate::host;
use crate::parameters::PollParameters;
use core::cell::Cell;

/// Cycles that a trial measures in each mode.
pub const TRIAL: u32 = 8;
/// After more consecutive calls than this that found everything ready, a trial ends without a result.
const READY_MAX: u32 = 4 * TRIAL;
/// Number of polls between two checks of whether the thread is a real-time thread. The check costs a system call.
const ASK_EVERY: u32 = 64;
/// Length of the rest after an unsuccessful trial, in waits without a clock: the first one, and the longest one.
const REST_FIRST: u32 = 32;
const REST_LAST: u32 = 1 << 10;
/// While a site polls, a trial takes one part in this many of the time.
const TRIAL_SHARE: u64 = 128;
/// Upper limit of the credit, in wake-ups: this much unsuccessful polling ends the phase `Polling`.
const CREDIT_WAKE_UPS: i64 = 8;
/// Polling is harmful if polled waits are longer than sleeping waits by more than 1/`HARM` of a wake-up.
const HARM: u64 = 8;
/// A longer wait or cycle counts as this many wake-ups: its length says nothing about the value of a wake-up.
const CYCLE_WAKE_UPS: u64 = 8;

/// What is known of one wait site; see the module documentation. All zero: nothing is learnt yet.
#[derive(Debug, Default)]
pub struct SiteHistory {
    phase: Cell<Phase>,
    /// In `Resting`: waits until the phase ends. In a trial: cycles timed so far.
    count: Cell<u32>,
    /// Length of the latest rest, in waits; the next one is twice as long. 0: the next rest is the shortest.
    rest: Cell<u32>,
    /// Ticks of unsuccessful polling that may still be spent.
    credit: Cell<i64>,
    /// Moving average of the ticks that a successful poll took.
    typical: Cell<u64>,
    /// Time at which the previous wait ended; 0 if it was not timed.
    ended: Cell<u64>,
    /// Number of consecutive calls that found everything ready.
    ready: Cell<u32>,
    /// Whether this trial is a scheduled interruption of `Polling`.
    is_check: Cell<bool>,
    /// Number of timed waits of this trial that were short.
    short: Cell<u32>,
    times: Times,
    /// Mean ticks of wait and cycle per item in the first half of the trial.
    sleep_mean: Cell<Mean>,
    /// Ticks per wait that polling saved in the last trial.
    saved: Cell<u64>,
    /// `next_trial`: the time at which the next trial is due, in `Polling`. `pause`: the ticks between two trials.
    next_trial: Cell<u64>,
    pause: Cell<u64>,
    /// Time at which the current trial began.
    trial_began: Cell<u64>,
    /// Polls until the next check of whether the thread is a real-time thread.
    until_scheduling_check: Cell<u32>,
    is_real_time: Cell<bool>,
}

/// Sums over the waits of one trial in one mode.
#[derive(Debug, Default)]
struct Times {
    waited: Cell<u64>,
    cycles: Cell<u64>,
    items: Cell<u64>,
    /// Whether the waits tell their number of items, so that cycles can be compared.
    are_counted: Cell<bool>,
    /// The longest cycle and its items. It is left out of the mean: most likely another program caused it.
    longest: Cell<u64>,
    longest_items: Cell<u64>,
}

/// Mean ticks per item.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    wait: u64,
    cycle: u64,
}

/// The phases of a site; see the table in the module documentation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Phase {
    /// First half of a trial.
    #[default]
    TimingSleep,
    /// Second half of a trial.
    TimingPoll,
    /// Polling pays.
    Polling,
    /// Polling does not pay.
    Resting,
}

/// What a thread does for one wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitDecision {
    /// The thread sleeps at once, and reports nothing.
    Sleep,
    /// The thread sleeps at once, and reports to [`SiteHistory::report_sleep`].
    TimedSleep,
    /// The thread polls for at most this many ticks, then sleeps. It reports to [`SiteHistory::report_poll`],
    /// [`SiteHistory::report_failed_poll`] or [`SiteHistory::report_cpu_needed`].
    Poll(u64),
}

impl SiteHistory {
    /// Forgets what was learnt: this memory is now used for another site.
    pub fn reset(&self) {
        self.rest.set(0);
        self.typical.set(0);
        self.enter_phase(Phase::TimingSleep);
    }

    /// Fast part of [`decide`](Self::decide). True: the wait that begins now sleeps at once and reports nothing; it is
    /// counted. False: the caller must ask `decide`.
    #[inline(always)]
    pub fn sleeps_at_once(&self) -> bool {
        let left = self.count.get();
        let rests = self.phase.get() == Phase::Resting && left > 0;
        if rests {
            self.count.set(left - 1);
        }
        rests
    }

    /// Decides what to do with a wait that begins now.
    #[inline]
    pub fn decide(&self, parameters: &PollParameters) -> WaitDecision {
        match self.phase.get() {
            Phase::Resting if self.sleeps_at_once() => WaitDecision::Sleep,
            Phase::Resting => {
                self.enter_phase(Phase::TimingSleep);
                WaitDecision::TimedSleep
            }
            Phase::TimingSleep => WaitDecision::TimedSleep,
            Phase::TimingPoll => self.poll_for(3 * parameters.wake_up),
            Phase::Polling => self.poll_for(self.budget(parameters)),
        }
    }

    /// Polls, unless the thread is a real-time thread. By yielding, such a thread gives its CPU only to threads of
    /// equal priority, or (SCHED_DEADLINE) gives up the rest of its period. And the kernel limits how long a real-time
    /// thread may run without sleeping (RLIMIT_RTTIME): a successful poll does not count as a sleep.
    fn poll_for(&self, budget: u64) -> WaitDecision {
        match self.until_scheduling_check.get() {
            0 => {
                self.until_scheduling_check.set(ASK_EVERY);
                self.is_real_time.set(host::is_real_time());
            }
            left => self.until_scheduling_check.set(left - 1),
        }
        if self.is_real_time.get() { WaitDecision::Sleep } else { WaitDecision::Poll(budget) }
    }

    /// Ticks to poll in the phase `Polling`.
    fn budget(&self, parameters: &PollParameters) -> u64 {
        (4 * self.typical.get()).clamp(parameters.wake_up / 2, 2 * parameters.wake_up)
    }

    /// Reports a call that found `items` ready and did not wait.
    pub fn report_ready(&self, items: u64) {
        self.times.items.set(self.times.items.get() + items);
        let ready = self.ready.get() + 1;
        self.ready.set(ready);
        if ready <= READY_MAX {
            return;
        }
        match self.phase.get() {
            Phase::TimingSleep | Phase::TimingPoll if self.is_check.get() => self.continue_polling(),
            Phase::TimingSleep | Phase::TimingPoll => self.rest_longer(),
            // Where each call finds something at once, a poll's extra checks only cost time.
            Phase::Polling => self.enter_phase(Phase::TimingSleep),
            Phase::Resting => {}
        }
    }

    /// Reports a wait of [`WaitDecision::TimedSleep`]: it took `waited` ticks, ended at `now`, and received `items`
    /// (`None` if unknown).
    pub fn report_sleep(&self, parameters: &PollParameters, waited: u64, now: u64, items: Option<u64>) {
        self.ready.set(0);
        if waited <= 4 * parameters.wake_up {
            self.short.set(self.short.get() + 1);
        }
        if !self.add(parameters, waited, now, items) {
            return;
        }
        self.sleep_mean.set(self.times.mean());
        if self.short.get() < TRIAL / 4 {
            return self.rest_longer();
        }
        // The first polled cycle begins where the last sleeping one has ended.
        let is_check = self.is_check.get();
        self.enter_phase(Phase::TimingPoll);
        self.is_check.set(is_check);
        self.ended.set(now);
    }

    /// Reports a successful poll: it took `took` ticks, ended at `now`, and received `items` (`None` if unknown).
    pub fn report_poll(&self, parameters: &PollParameters, took: u64, now: u64, items: Option<u64>) {
        self.ready.set(0);
        // The hypervisor may have taken the CPU during the poll.
        let took = took.min(3 * parameters.wake_up);
        let typical = self.typical.get();
        self.typical.set(if typical == 0 { took } else { typical - typical / 8 + took / 8 });
        match self.phase.get() {
            Phase::Polling => {
                self.add_credit(
                    parameters,
                    (parameters.wake_up as i64 - took as i64).min(self.saved.get() as i64),
                );
                if self.phase.get() == Phase::Polling && now >= self.next_trial.get() {
                    self.enter_phase(Phase::TimingSleep);
                    self.is_check.set(true);
                }
            }
            Phase::TimingPoll => self.end_of_timed_poll(parameters, took, now, items),
            _ => {}
        }
    }

    /// Reports an unsuccessful poll of `spent` ticks. The thread then slept until `now` and received `items` (`None` if
    /// unknown). The whole wait took `waited` ticks.
    pub fn report_failed_poll(
        &self,
        parameters: &PollParameters,
        spent: u64,
        waited: u64,
        now: u64,
        items: Option<u64>,
    ) {
        self.ready.set(0);
        let spent = spent.min(3 * parameters.wake_up);
        match self.phase.get() {
            Phase::Polling => self.add_credit(parameters, -(spent as i64)),
            Phase::TimingPoll => self.end_of_timed_poll(parameters, waited, now, items),
            _ => {}
        }
    }

    /// Reports a poll that was broken off because another thread needed the CPU.
    pub fn report_cpu_needed(&self, parameters: &PollParameters) {
        match self.phase.get() {
            Phase::TimingPoll => self.rest_longer(),
            Phase::Polling => self.add_credit(parameters, -(parameters.wake_up as i64) / 4),
            _ => {}
        }
    }

    fn end_of_timed_poll(&self, parameters: &PollParameters, waited: u64, now: u64, items: Option<u64>) {
        if !self.add(parameters, waited, now, items) {
            return;
        }
        let (asleep, polled) = (self.sleep_mean.get(), self.times.mean());
        let is_slower = match self.times.are_counted.get() {
            true => polled.cycle * 20 > asleep.cycle * 21,
            false => polled.wait > asleep.wait + parameters.wake_up / HARM,
        };
        let is_shorter = polled.wait * 10 <= asleep.wait * 9;
        if is_slower || !(is_shorter || self.is_check.get()) {
            return self.rest_longer();
        }
        if is_shorter {
            self.saved.set(asleep.wait - polled.wait);
            self.credit.set(CREDIT_WAKE_UPS * parameters.wake_up as i64);
        }
        self.pause.set(TRIAL_SHARE * now.wrapping_sub(self.trial_began.get()));
        self.next_trial.set(now);
        self.continue_polling();
    }

    /// Goes on polling: a trial has shown no harm, or has ended without a result.
    fn continue_polling(&self) {
        self.enter_phase(Phase::Polling);
        self.next_trial.set(self.next_trial.get() + self.pause.get());
    }

    /// Adds `ticks` to the credit. If the credit becomes negative the site rests.
    fn add_credit(&self, parameters: &PollParameters, ticks: i64) {
        let most = CREDIT_WAKE_UPS * parameters.wake_up as i64;
        let credit = (self.credit.get() + ticks).min(most);
        self.credit.set(credit);
        if credit == most {
            // Polling pays: the next rest, if there is one, is short.
            self.rest.set(0);
        }
        if credit < 0 {
            self.rest_longer();
        }
    }

    /// Adds a timed wait. Returns whether the trial is complete.
    fn add(&self, parameters: &PollParameters, waited: u64, now: u64, items: Option<u64>) -> bool {
        let ended = self.ended.replace(now);
        if ended == 0 {
            self.trial_began.set(now);
            self.times.clear();
            self.short.set(0);
            return false;
        }
        let most = CYCLE_WAKE_UPS * parameters.wake_up;
        self.times.add(waited.min(most), now.saturating_sub(ended).min(most), items);
        self.count.set(self.count.get() + 1);
        self.count.get() >= TRIAL
    }

    fn enter_phase(&self, phase: Phase) {
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
        self.enter_phase(Phase::Resting);
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
