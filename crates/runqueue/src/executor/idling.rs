//! What the workers of an executor do while they have no task: one lingers, one drives the reactor, the others sleep on
//! futexes.

use crate::executor::context::Context;
use crate::executor::timed_wait::TimedWait;
use crate::ordered::{Load, decrement, increment};
use crate::pool::{Parker, Sleeper, Slept};
use crate::reactor::{Reactor, Wait};
use core::time::Duration;
use unspin_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use unspin_sys::clock;
use unspin_waiting::{CheckKind, CpuPressure, PollOutcome, PollParameters, SiteHistory, WaitDecision, poll};

/// How the idle workers of an executor spend their time.
pub(crate) struct Idling {
    parameters: PollParameters,
    pressure: CpuPressure,
    /// There is a deputy, a worker that checks at short intervals whether the reactor has a driver: see `be_deputy`.
    has_deputy: AtomicBool,
    /// Workers that sleep without a timeout, because the reactor was not used when they went to sleep.
    without_timeout: AtomicUsize,
    /// Ticks after which a worker that always has tasks looks for events of the reactor.
    check_interval: u64,
}

/// The first and the longest time after which a thread looks whether the reactor has a driver. The time doubles while
/// there is one.
pub(crate) const LOOK_FIRST: Duration = Duration::from_millis(5);
pub(crate) const LOOK_LAST: Duration = Duration::from_secs(1);
/// A worker that always has tasks looks for events once in a millisecond. A look costs about a microsecond.
const CHECK_NS: u64 = 1_000_000;

impl Idling {
    pub fn new() -> Idling {
        let wake_up_ns = unspin_waiting::wakeup::ASSUMED_NS;
        Idling {
            parameters: PollParameters::new(wake_up_ns),
            pressure: CpuPressure::new(),
            has_deputy: AtomicBool::new(false),
            without_timeout: AtomicUsize::new(0),
            check_interval: clock::ticks_in(CHECK_NS),
        }
    }

    /// Ticks after which a worker that always has tasks looks for events of the reactor.
    pub fn check_interval(&self) -> u64 {
        self.check_interval
    }

    /// Sleeps until the worker is unparked. If the reactor has no driver, the worker becomes the driver, and also returns
    /// when the reactor has woken tasks.
    fn sleep_or_drive(&self, parker: &Parker) -> Slept {
        // Sequentially consistent, as is the count of users: this worker sees the use, or the worker that begins the use or
        // drives the reactor then sees this one in the count.
        increment(&self.without_timeout);
        let Some(reactor) = Reactor::in_use() else {
            parker.park();
            decrement(&self.without_timeout);
            return Slept::Unparked;
        };
        decrement(&self.without_timeout);
        if let Some(slept) = self.drive(reactor, parker) {
            return slept;
        }
        // Relaxed (both): the flag only limits how many workers look soon.
        if self.has_deputy.swap(true, Ordering::Relaxed) {
            return self.be_deputy(reactor, parker, LOOK_LAST);
        }
        let slept = self.be_deputy(reactor, parker, LOOK_FIRST);
        self.has_deputy.store(false, Ordering::Relaxed);
        slept
    }

    /// Wakes a worker that sleeps without a timeout, if there is no deputy, so that it sleeps again with a timeout. For a
    /// worker that is about to drive the reactor, or that is the first to use it.
    pub fn wake_deputy(&self) {
        // Relaxed (the flag): a hint. If there is a deputy it looks, and the worker after it comes here.
        if self.without_timeout.load_seq_cst() > 0 && !self.has_deputy.load(Ordering::Relaxed) {
            Context::with(|context| {
                if let Some(context) = context {
                    context.shared.pool.wake_idle(Some(context.worker));
                }
            });
        }
    }

    /// Drives the reactor until the worker is unparked, or tasks were woken. None: another thread is the driver.
    fn drive(&self, reactor: &Reactor, parker: &Parker) -> Option<Slept> {
        let mut driver = reactor.try_drive()?;
        self.wake_deputy();
        if !parker.enter_driver() {
            parker.park();
            return Some(Slept::Unparked);
        }
        as_driver(|| driver.turn(Wait::ForEvents));
        drop(driver);
        Some(if parker.leave_driver() { Slept::Unparked } else { Slept::Early })
    }

    /// Sleeps on the futex, and drives the reactor if it finds that no thread does. It checks that after growing times,
    /// because the last driver may be running a long task.
    fn be_deputy(&self, reactor: &Reactor, parker: &Parker, first: Duration) -> Slept {
        let mut time = first;
        loop {
            if parker.park_for(time) {
                return Slept::Unparked;
            }
            if let Some(slept) = self.drive(reactor, parker) {
                return slept;
            }
            time = (time * 2).min(LOOK_LAST);
        }
    }
}

/// Calls `f` as a worker without a task, which runs the tasks that it wakes itself.
fn as_driver<R>(f: impl FnOnce() -> R) -> R {
    Context::with(|context| {
        let Some(context) = context else { return f() };
        context.in_driver.set(true);
        let result = f();
        context.in_driver.set(false);
        result
    })
}

impl Sleeper for Idling {
    fn linger(&self, history: &SiteHistory, is_ready: &mut dyn FnMut() -> bool) {
        let wait = match history.decide(&self.parameters) {
            WaitDecision::Sleep => None,
            WaitDecision::TimedSleep => Some(TimedWait::Asleep(clock::ticks())),
            WaitDecision::Poll(budget) => self.poll(history, budget, is_ready),
        };
        Context::with(|context| {
            if let Some(context) = context {
                context.wait.set(wait);
            }
        });
    }

    fn sleep(&self, history: &SiteHistory, parker: &Parker) -> Slept {
        Context::with(|context| {
            let slept = self.sleep_or_drive(parker);
            if let Some(context) = context {
                context.skip_ticks();
                self.report(history, context.wait.take());
            }
            slept
        })
    }

    fn interrupt(&self) {
        if let Some(reactor) = Reactor::get_existing() {
            reactor.interrupt();
        }
    }
}

impl Idling {
    /// Polls for tasks, and for events of the reactor. If the poll finds nothing, the worker sleeps: the result is what to
    /// tell the policy after that sleep.
    fn poll(
        &self,
        history: &SiteHistory,
        budget: u64,
        is_ready: &mut dyn FnMut() -> bool,
    ) -> Option<TimedWait> {
        let began = clock::ticks();
        let reactor = Reactor::in_use();
        let kind = if reactor.is_some() { CheckKind::Call } else { CheckKind::Load };
        let check = || {
            if let Some(reactor) = reactor
                && !is_ready()
            {
                as_driver(|| turn_briefly(reactor));
            }
            is_ready().then_some(())
        };
        match poll(&self.parameters, &self.pressure, budget, kind, check) {
            PollOutcome::Found((), took) => {
                history.report_poll(&self.parameters, took, clock::ticks(), None);
                None
            }
            PollOutcome::FoundLate(()) | PollOutcome::CpuNeeded => {
                history.report_cpu_needed(&self.parameters);
                None
            }
            PollOutcome::TimedOut(spent) => Some(TimedWait::Polled(began, spent)),
        }
    }

    fn report(&self, history: &SiteHistory, wait: Option<TimedWait>) {
        let parameters = &self.parameters;
        match wait {
            None => {}
            Some(TimedWait::Asleep(began)) => {
                let now = clock::ticks();
                history.report_sleep(parameters, now.saturating_sub(began), now, None);
            }
            Some(TimedWait::Polled(began, spent)) => {
                let now = clock::ticks();
                history.report_failed_poll(parameters, spent, now.saturating_sub(began), now, None);
            }
        }
    }
}

/// Takes the events that are there, without waiting, unless another thread drives the reactor.
pub(crate) fn turn_briefly(reactor: &Reactor) {
    if let Some(mut driver) = reactor.try_drive() {
        driver.turn(Wait::No);
    }
}
