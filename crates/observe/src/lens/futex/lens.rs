//! Joins the beginnings and ends of futex calls.

use super::call::{self, FutexAction, FutexWaitOutcome, Scope};
use super::futex_use::{Futex, FutexUse};
use super::kept_waits::KeptWaits;
use super::sums::{FutexWaits, FutexWakes};
use crate::lens::collector::Collector;
use crate::lens::spaces::{SharedPlace, SpaceId, Spaces, shared_place};
use crate::lens::timeline::track::Track;
use crate::observed::{Sink, trace_error};
use std::collections::HashMap;
use unspin_launch::error::Error;
use unspin_trace::{CallChain, Event, Payload, Record, RunningThread, StackId, Stacks, Tracefs, Tracer};

/// Joins the calls, and adds them up.
#[derive(Debug, Default)]
pub struct FutexLens {
    /// What each event is.
    events: Vec<Point>,
    threads: HashMap<u32, FutexThread>,
    pub(super) spaces: Spaces,
    /// The shared places that were looked up, by process and address.
    shared: HashMap<(SpaceId, u64), Option<SharedPlace>>,
    pub(super) waits: HashMap<FutexUse, FutexWaits>,
    pub(super) wakes: HashMap<FutexUse, FutexWakes>,
    /// Ends without a beginning, and beginnings without an end.
    pub(super) unpaired: u64,
    /// The longest waits, if they are to be kept.
    pub(super) kept: Option<Box<KeptWaits>>,
}

/// A tracepoint: the beginning of one of the calls, or the end of any.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Point {
    /// futex(2): address and operation.
    Futex,
    /// A call that always does the same: address and flags.
    Enter(FutexAction),
    Exit,
    /// restart_syscall(2): the kernel goes on with the call that a signal such as SIGCONT has interrupted.
    Restart,
    /// The end of restart_syscall(2). Its call may be another one, such as nanosleep.
    RestartExit,
}

/// What a thread does.
#[derive(Clone, Debug, Default)]
struct FutexThread {
    call: Option<FutexCall>,
    /// The wait that was woken last, and when it was: the thread has made no other futex call since.
    woken: Option<(FutexUse, u64)>,
}

/// A call that has not returned.
#[derive(Clone, Debug)]
struct FutexCall {
    what: FutexUse,
    action: FutexAction,
    since: u64,
    /// The time up to which its wait is in the sums: its beginning, or the last time that the sums were taken.
    added_until: u64,
    /// When a signal interrupted it, if restart_syscall(2) may go on with it.
    interrupted: Option<u64>,
}

impl FutexCall {
    fn new(what: FutexUse, action: FutexAction, since: u64) -> FutexCall {
        FutexCall { what, action, since, added_until: since, interrupted: None }
    }
}

/// If a thread waits again within this time, it was woken in vain: it did less than a wake-up costs.
const AT_ONCE_NS: u64 = 20_000;

/// Each call's tracepoints, with its address and its operation or flags.
const CALLS: [(&str, &[&str], [Point; 2]); 6] = [
    ("futex", &["uaddr", "op"], [Point::Futex, Point::Exit]),
    ("futex_wait", &["uaddr", "flags"], [Point::Enter(FutexAction::Wait), Point::Exit]),
    ("futex_waitv", &["waiters", "flags"], [Point::Enter(FutexAction::WaitForSeveral), Point::Exit]),
    ("futex_wake", &["uaddr", "flags"], [Point::Enter(FutexAction::Wake), Point::Exit]),
    ("futex_requeue", &["waiters", "flags"], [Point::Enter(FutexAction::WakeSeveral), Point::Exit]),
    ("restart_syscall", &[], [Point::Restart, Point::RestartExit]),
];

impl Collector for FutexLens {
    const HAS_KERNEL_NAMES: bool = false;

    /// Kernels before 6.7 have only futex(2), and since 5.16 futex_waitv(2).
    fn with_events() -> Result<(FutexLens, Vec<Event>), Error> {
        let tracefs = Tracefs::find().map_err(trace_error)?;
        let (mut points, mut events) = (Vec::new(), Vec::new());
        for (name, fields, pair) in CALLS {
            let enter = tracefs.tracepoint(&format!("syscalls:sys_enter_{name}"), fields);
            let exit = tracefs.tracepoint(&format!("syscalls:sys_exit_{name}"), &["ret"]);
            match (enter, exit) {
                (Ok(enter), Ok(exit)) => {
                    points.extend(pair);
                    events.push(Event::tracepoint(enter, CallChain::User));
                    events.push(Event::tracepoint(exit, CallChain::None));
                }
                (Err(e), _) | (_, Err(e)) if name == "futex" => return Err(trace_error(e)),
                _ => {}
            }
        }
        Ok((FutexLens::of(points), events))
    }

    fn drain(&mut self, now: u64) -> FutexLens {
        for thread in self.threads.values_mut() {
            if let Some(call) = &mut thread.call
                && matches!(call.action, FutexAction::Wait | FutexAction::WaitForSeveral)
            {
                let until = call.interrupted.unwrap_or(now);
                let part = until.saturating_sub(call.added_until);
                call.added_until = until.max(call.added_until);
                self.waits.entry(call.what.clone()).or_default().merge(&FutexWaits::part(part));
            }
        }
        FutexLens {
            waits: std::mem::take(&mut self.waits),
            wakes: std::mem::take(&mut self.wakes),
            spaces: self.spaces.clone(),
            ..FutexLens::default()
        }
    }

    fn absorb(&mut self, earlier: &FutexLens) {
        for (one, waits) in &earlier.waits {
            self.waits.entry(one.clone()).or_default().merge(waits);
        }
        for (one, wakes) in &earlier.wakes {
            self.wakes.entry(one.clone()).or_default().merge(wakes);
        }
    }

    fn keep_waits(&mut self) {
        self.kept = Some(Box::default());
    }
}

impl FutexLens {
    /// The lens for events that mean these points.
    pub fn of(events: Vec<Point>) -> FutexLens {
        FutexLens { events, ..FutexLens::default() }
    }

    fn enter(&mut self, record: &Record, action: FutexAction, address: u64, scope: Scope, stack: StackId) {
        let space = self.spaces.of(record.pid);
        let futex = match action {
            FutexAction::WaitForSeveral | FutexAction::WakeSeveral => Futex::Several(space, address),
            _ => self.futex(record.pid, space, address, scope),
        };
        let what = FutexUse { futex, space, stack };
        if let Some(kept) = &mut self.kept
            && matches!(action, FutexAction::Wake | FutexAction::WakeSeveral | FutexAction::Unlock)
        {
            kept.wakes.begin(&what.futex, Track::Thread(record.pid, record.tid), record.time);
        }
        let thread = self.threads.entry(record.tid).or_default();
        if let Some((before, at)) = thread.woken.take()
            && action == FutexAction::Wait
            && before.futex == what.futex
            && record.time.saturating_sub(at) <= AT_ONCE_NS
        {
            self.waits.entry(before).or_default().waited_again += 1;
        }
        match thread.call.replace(FutexCall::new(what, action, record.time)) {
            // The program has handled the signal and goes on: the kernel did not restart the call.
            Some(call @ FutexCall { interrupted: Some(at), .. }) => {
                self.add_wait(record.tid, &call, Some(FutexWaitOutcome::Interrupted), at);
            }
            // Its end was lost.
            Some(_) => self.unpaired += 1,
            None => {}
        }
    }

    /// Counts a wait that ends at this time, and adds the part of it that the sums lack.
    fn add_wait(&mut self, tid: u32, call: &FutexCall, outcome: Option<FutexWaitOutcome>, end: u64) {
        let whole = FutexWaits::one(outcome, end.saturating_sub(call.since));
        let one = FutexWaits { wait_ns: end.saturating_sub(call.added_until), ..whole };
        self.waits.entry(call.what.clone()).or_default().merge(&one);
        if let Some(kept) = &mut self.kept {
            let track = Track::Thread(self.spaces.pid(call.what.space), tid);
            kept.note(track, [call.since, end], &call.what, outcome);
        }
    }

    fn add_wake(&mut self, record: &Record, what: FutexUse, wake: FutexWakes) {
        if let Some(kept) = &mut self.kept {
            let waker = Track::Thread(record.pid, record.tid);
            kept.wakes.end(&what.futex, waker, wake.woken + wake.unknown);
        }
        self.wakes.entry(what).or_default().merge(&wake);
    }

    /// The kernel restarts a call with the stack of that call. If it restarts another one, such as nanosleep, the
    /// program has handled the signal that interrupted the known call.
    fn restart(&mut self, tid: u32, stack: StackId) {
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        match thread.call.take() {
            Some(call @ FutexCall { interrupted: Some(at), .. })
                if ![stack, StackId::EMPTY].contains(&call.what.stack) =>
            {
                self.add_wait(tid, &call, Some(FutexWaitOutcome::Interrupted), at);
            }
            call => thread.call = call.map(|call| FutexCall { interrupted: None, ..call }),
        }
    }

    fn exit(&mut self, record: &Record, returned: i64, end: Point) {
        let call = self.threads.get_mut(&record.tid).and_then(|thread| thread.call.take());
        let Some(mut call) = call else {
            self.unpaired += u64::from(end == Point::Exit);
            return;
        };
        if returned == RESTARTED_LATER {
            call.interrupted = Some(record.time);
            self.threads.entry(record.tid).or_default().call = Some(call);
            return;
        }
        match call.action {
            FutexAction::Wait | FutexAction::WaitForSeveral => {}
            FutexAction::Wake | FutexAction::WakeSeveral => {
                return self.add_wake(record, call.what, FutexWakes::one(returned));
            }
            FutexAction::Unlock => {
                return self.add_wake(record, call.what, FutexWakes::unlock(returned));
            }
            FutexAction::Other => return,
        }
        let outcome = FutexWaitOutcome::of(returned);
        self.add_wait(record.tid, &call, Some(outcome), record.time);
        let thread = self.threads.entry(record.tid).or_default();
        thread.woken = (outcome == FutexWaitOutcome::Woken).then_some((call.what, record.time));
    }

    fn futex(&mut self, pid: u32, space: SpaceId, address: u64, scope: Scope) -> Futex {
        let shared = match scope {
            Scope::Private => None,
            Scope::Shared => {
                let known = self.shared.entry((space, address));
                known.or_insert_with(|| shared_place(pid, address)).clone()
            }
        };
        shared.map_or(Futex::Private(space, address), Futex::Shared)
    }

    /// A wait that had begun before the observation counts from its beginning.
    fn note_earlier_wait(&mut self, thread: &RunningThread, now: u64) {
        let Some(call) = thread.call.filter(|call| call.number == FUTEX) else { return };
        let [address, operation, ..] = call.arguments;
        if call::action(operation as u32) == FutexAction::Wait {
            let space = self.spaces.of(thread.pid);
            let futex = self.futex(thread.pid, space, address, Scope::of(operation as u32));
            let what = FutexUse { futex, space, stack: StackId::EMPTY };
            let call = FutexCall::new(what, FutexAction::Wait, now);
            self.threads.insert(thread.tid, FutexThread { call: Some(call), woken: None });
        }
    }

    /// The thread has ended within a call.
    fn end_call(&mut self, tid: u32, now: u64) {
        let Some(call) = self.threads.remove(&tid).and_then(|thread| thread.call) else { return };
        if matches!(call.action, FutexAction::Wait | FutexAction::WaitForSeveral) {
            // Of an interrupted wait it is not known whether it would have gone on.
            let outcome = call.interrupted.map(|_| FutexWaitOutcome::Interrupted);
            self.add_wait(tid, &call, outcome, call.interrupted.unwrap_or(now));
        }
    }
}

/// The number of futex(2).
#[cfg(target_arch = "x86_64")]
const FUTEX: u64 = 202;
#[cfg(not(target_arch = "x86_64"))]
const FUTEX: u64 = 98;

/// ERESTART_RESTARTBLOCK (errno.h of the kernel), which a wait with a timeout returns when a signal interrupts it: if no handler
/// of the program runs, restart_syscall(2) goes on with the wait.
const RESTARTED_LATER: i64 = -516;

impl Sink for FutexLens {
    fn note(&mut self, record: &Record, _: &Stacks) {
        let sample = match &record.payload {
            Payload::Sample(sample) => sample,
            payload => {
                let executes = matches!(payload, Payload::Comm { exec: true, .. });
                if *payload == Payload::Exit || executes {
                    self.end_call(record.tid, record.time);
                }
                return self.spaces.note(record);
            }
        };
        let [first, second, ..] = sample.values;
        match self.events.get(sample.event) {
            Some(Point::Futex) => {
                let operation = second as u32;
                self.enter(record, call::action(operation), first, Scope::of(operation), sample.stack);
            }
            Some(&Point::Enter(action)) => {
                self.enter(record, action, first, Scope::of(second as u32), sample.stack);
            }
            Some(Point::Restart) => self.restart(record.tid, sample.stack),
            Some(&end @ (Point::Exit | Point::RestartExit)) => self.exit(record, first.cast_signed(), end),
            None => {}
        }
    }

    fn begin(&mut self, tracer: &Tracer, now: u64) {
        for thread in tracer.running_threads() {
            self.note_earlier_wait(&thread, now);
        }
    }

    fn end(&mut self, now: u64) {
        let tids: Vec<u32> = self.threads.keys().copied().collect();
        tids.into_iter().for_each(|tid| self.end_call(tid, now));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Calls, PID, WAIT, WAKE};
    use super::*;

    /// FUTEX_UNLOCK_PI of a private futex.
    const UNLOCK_PI: u64 = 135;

    fn sum(lens: &FutexLens) -> FutexWaits {
        let mut all = FutexWaits::default();
        lens.waits.values().for_each(|waits| all.merge(waits));
        all
    }

    #[test]
    fn waits_are_counted_by_how_they_end() {
        let mut calls = Calls::new();
        for (n, returned) in [0, -11, -4, -110, -14].into_iter().enumerate() {
            let start = n as u64 * 1_000_000;
            calls.call(1, WAIT, 0x10, [start, start + 500], returned);
        }
        let all = sum(&calls.lens);
        assert_eq!((all.waits, all.woken, all.value_changed, all.interrupted), (5, 1, 1, 1));
        assert_eq!((all.timed_out, all.failed, all.wait_ns, all.waited_again), (1, 1, 2500, 0));
        assert_eq!(calls.lens.waits.len(), 1, "of one stack");
    }

    #[test]
    fn thread_that_waits_again_at_once_was_woken_in_vain() {
        let mut calls = Calls::new();
        calls.call(1, WAIT, 0x10, [0, 100], 0);
        calls.call(1, WAIT, 0x10, [200, 300], 0);
        calls.call(1, WAIT, 0x20, [400, 500], 0);
        calls.call(1, WAIT, 0x20, [1_000_000, 1_000_100], 0);
        assert_eq!(sum(&calls.lens).waited_again, 1);
    }

    #[test]
    fn wakes_are_counted_with_the_threads_they_woke() {
        let mut calls = Calls::new();
        calls.call(2, WAKE, 0x10, [0, 1], 3);
        calls.call(2, WAKE, 0x10, [2, 3], 0);
        assert_eq!(
            calls.lens.wakes.values().next(),
            Some(&FutexWakes { calls: 2, woken: 3, none: 1, unknown: 0 })
        );
    }

    /// It returns 0 if it gave the lock to a waiter, and if no thread waited.
    #[test]
    fn unlock_of_a_priority_lock_does_not_say_whether_it_woke_a_thread() {
        let mut calls = Calls::new();
        calls.call(2, UNLOCK_PI, 0x10, [0, 1], 0);
        calls.call(2, UNLOCK_PI, 0x10, [2, 3], -1);
        assert_eq!(
            calls.lens.wakes.values().next(),
            Some(&FutexWakes { calls: 2, woken: 0, none: 1, unknown: 1 })
        );
    }

    /// SIGSTOP and SIGCONT interrupt a wait with a timeout, which restart_syscall(2) goes on with.
    #[test]
    fn wait_that_the_kernel_restarts_is_one_wait() {
        let mut calls = Calls::new();
        let stack = calls.stacks.number(&[(-512_i64).cast_unsigned(), 0x1234]);
        calls.sample(0, 1, 1000, 0x10, WAIT, stack);
        calls.sample(1, 1, 1300, RESTARTED_LATER.cast_unsigned(), 0, StackId::EMPTY);
        calls.sample(4, 1, 3000, 0, 0, stack);
        calls.sample(5, 1, 3200, RESTARTED_LATER.cast_unsigned(), 0, StackId::EMPTY);
        calls.sample(4, 1, 3500, 0, 0, stack);
        calls.sample(5, 1, 4000, 0, 0, StackId::EMPTY);
        let all = sum(&calls.lens);
        assert_eq!((all.waits, all.woken, all.interrupted, all.wait_ns), (1, 1, 0, 3000));
        assert_eq!(calls.lens.unpaired, 0);
    }

    /// The program handles the signal, and then waits elsewhere or sleeps.
    #[test]
    fn wait_that_the_kernel_does_not_restart_ends_with_the_signal() {
        let mut calls = Calls::new();
        let [wait, sleep] = [0x1234, 0x5678].map(|ip| calls.stacks.number(&[(-512_i64).cast_unsigned(), ip]));
        for restarted in [None, Some(sleep)] {
            calls.sample(0, 1, 1000, 0x10, WAIT, wait);
            calls.sample(1, 1, 1300, RESTARTED_LATER.cast_unsigned(), 0, StackId::EMPTY);
            match restarted {
                Some(stack) => calls.sample(4, 1, 9000, 0, 0, stack),
                None => calls.sample(0, 1, 9000, 0x20, WAKE, wait),
            }
            calls.sample(5, 1, 9500, 0, 0, StackId::EMPTY);
        }
        calls.sample(0, 1, 10_000, 0x10, WAIT, wait);
        calls.sample(1, 1, 10_300, RESTARTED_LATER.cast_unsigned(), 0, StackId::EMPTY);
        calls.lens.end(20_000);
        let all = sum(&calls.lens);
        assert_eq!((all.waits, all.interrupted, all.wait_ns, calls.lens.unpaired), (3, 3, 900, 0));
    }

    /// The addresses of the futexes are in a list in the program's memory, which the event does not hold.
    #[test]
    fn requeue_counts_the_threads_that_it_moves_at_its_list() {
        let mut calls = Calls::new();
        calls.sample(2, 2, 10, 0x40, 0, StackId::EMPTY);
        calls.sample(3, 2, 11, 5, 0, StackId::EMPTY);
        let (what, wakes) = calls.lens.wakes.iter().next().unwrap();
        assert_eq!(
            (wakes, calls.lens.unpaired),
            (&FutexWakes { calls: 1, woken: 5, ..FutexWakes::default() }, 0)
        );
        assert!(matches!(what.futex, Futex::Several(_, 0x40)), "{what:?}");
    }

    #[test]
    fn waits_that_do_not_end_count_until_the_end() {
        let mut calls = Calls::new();
        calls.sample(0, 1, 1000, 0x10, WAIT, StackId::EMPTY);
        calls.sample(0, 2, 1000, 0x10, WAIT, StackId::EMPTY);
        let exit = Record { time: 1400, pid: PID, tid: 2, payload: Payload::Exit };
        calls.lens.note(&exit, &Stacks::default());
        calls.lens.end(1900);
        let all = sum(&calls.lens);
        assert_eq!((all.waits, all.unfinished, all.wait_ns), (2, 2, 900 + 400));
    }

    /// The time in an interval is at most the interval for each thread, and the parts add up to the whole.
    #[test]
    fn wait_across_intervals_is_divided_among_them() {
        let mut calls = Calls::new();
        calls.sample(0, 1, 1000, 0x10, WAIT, StackId::EMPTY);
        let parts = [1300, 1700].map(|now| calls.lens.drain(now));
        assert_eq!(parts.each_ref().map(|part| (sum(part).waits, sum(part).wait_ns)), [(0, 300), (0, 400)]);
        calls.sample(1, 1, 1900, 0, 0, StackId::EMPTY);
        let mut last = calls.lens.drain(2000);
        let end = sum(&last);
        assert_eq!((end.waits, end.woken, end.wait_ns, end.max_ns, end.whole_ns), (1, 1, 200, 900, 900));
        parts.iter().for_each(|part| last.absorb(part));
        assert_eq!((sum(&last).waits, sum(&last).wait_ns), (1, 900));
    }

    #[test]
    fn interrupted_wait_is_not_added_after_the_interruption() {
        let mut calls = Calls::new();
        let stack = calls.stacks.number(&[1]);
        calls.sample(0, 1, 1000, 0x10, WAIT, stack);
        calls.sample(1, 1, 1100, RESTARTED_LATER.cast_unsigned(), 0, StackId::EMPTY);
        assert_eq!(sum(&calls.lens.drain(1500)).wait_ns, 100);
        assert_eq!(sum(&calls.lens.drain(1600)).wait_ns, 0);
        calls.sample(4, 1, 1700, 0, 0, stack);
        calls.sample(5, 1, 1900, 0, 0, StackId::EMPTY);
        let end = sum(&calls.lens.drain(2000));
        assert_eq!((end.waits, end.whole_ns, end.wait_ns), (1, 900, 800), "the kernel went on with it");
    }

    #[test]
    fn calls_with_a_lost_record_are_counted() {
        let mut calls = Calls::new();
        calls.sample(1, 1, 10, 0, 0, StackId::EMPTY);
        calls.sample(0, 1, 20, 0x10, WAIT, StackId::EMPTY);
        calls.sample(0, 1, 30, 0x10, WAIT, StackId::EMPTY);
        calls.sample(1, 1, 40, 0, 0, StackId::EMPTY);
        assert_eq!((calls.lens.unpaired, sum(&calls.lens).waits), (2, 1));
    }
}
