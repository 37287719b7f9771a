//! Condition variables. A wait has three parts: it ends the hold of the mutex, waits for the condition, and locks the
//! mutex again.
//!
//! Only the kernel knows where the wait for the condition ended and the wait for the mutex began. A thread that went to
//! sleep once slept for the condition and found the mutex free. A thread that went to sleep twice or more also slept
//! for the mutex. Its wait for the mutex is counted from the latest signal, so it includes the wake-up.
//!
//! For a condition of our own all of this is known.
//!
//! Beside the times the meter counts the calls that wake (rows of kind `Signal` and `Broadcast`) and the threads that
//! they woke (`WokenBySignal`, `WokenByBroadcast`). A thread *found nothing to do* if it waits again at the same call
//! site, with the mutex that its last wait there has locked, and has woken no thread in between: the loop
//! `while (!ready) wait`. This is seen without further state: the hold that ends is counted in the row of the mutex
//! that was locked again by this call site, so the thread has not unlocked the mutex since.
//!
//! A condition can be the queue of a lock that the program has built from it (CPython's global interpreter lock). Then
//! a thread that a signal has woken signals the same condition later, from another critical section of the mutex. The
//! time in between is recorded as a hold in the row of the condition.

use super::attempt::{Attempt, is_success, record_init};
use super::semaphore::is_time;
use super::signalled::WakeCall;
use super::{mutex, signalled};
use crate::bypass;
use crate::glibc::condition::ConditionLayout;
use crate::glibc::mutex::MutexLayout;
use crate::sandbox;
use crate::swap::condition::{self as swapped, Outcome as Ended, Owner, Seen};
use crate::swap::deadline::{clock_of, time};
use crate::swap::mutex::Mutex;
use crate::swap::shared;
use crate::watch::{Hook, Object, Thread, WokenFrom};
use core::ffi::c_int;
use libc::{EINVAL, clockid_t, pthread_cond_t, pthread_condattr_t, pthread_mutex_t, timespec};
use unspin_locks::Waited;
use unspin_sys::{clock, entry, process};
use unspin_wire::{AttemptOutcome, RecordKind, RowRef};

crate::next::define_next_codes! {
    /// pthread_cond_init(3).
    fn cond_init = pthread_cond_init(condition: *mut pthread_cond_t, attributes: *const pthread_condattr_t);
    /// pthread_cond_destroy(3).
    fn cond_destroy = pthread_cond_destroy(condition: *mut pthread_cond_t);
}

entry! {
    /// pthread_cond_init(3).
    fn pthread_cond_init(2) = init;
    /// pthread_cond_wait(3).
    fn pthread_cond_wait(2) = wait;
    /// pthread_cond_timedwait(3).
    fn pthread_cond_timedwait(3) = timedwait;
    /// pthread_cond_clockwait(3).
    fn pthread_cond_clockwait(4) = clockwait;
    /// pthread_cond_signal(3).
    fn pthread_cond_signal(1) = signal;
    /// pthread_cond_broadcast(3).
    fn pthread_cond_broadcast(1) = broadcast;
}

unsafe extern "C-unwind" fn init(
    condition: *mut pthread_cond_t,
    attributes: *const pthread_condattr_t,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` passes the registers.
    let (code, hook) = unsafe { (real::cond_init(condition, attributes), Hook::new(sp, bp)) };
    if code == 0 {
        record_init(condition, hook);
    }
    code
}

/// pthread_cond_wait(3).
///
/// # Safety
/// As for libc's; `sp` and `bp` are the registers that `entry` passes.
pub unsafe extern "C-unwind" fn wait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` passes the registers.
    let (condition, mutex, hook) =
        unsafe { (ConditionLayout::of(condition), MutexLayout::of(mutex), Hook::new(sp, bp)) };
    during(condition, mutex, hook, || match swapped::owner(condition) {
        Owner::Ours(ours) => {
            swapped::wait(ours, Mutex::new(mutex, hook), None, hook, |mutex| condition.wait(mutex))
        }
        Owner::Shared => shared::wait(condition, Mutex::new(mutex, hook), |mutex| condition.wait(mutex)),
        Owner::Libc => by_libc(mutex, hook, |mutex| condition.wait(mutex)),
    })
}

/// pthread_cond_timedwait(3).
///
/// # Safety
/// As for libc's; `sp` and `bp` are the registers that `entry` passes.
pub unsafe extern "C-unwind" fn timedwait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    until: *const timespec,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` passes the registers.
    unsafe {
        let (condition, mutex, hook) =
            (ConditionLayout::of(condition), MutexLayout::of(mutex), Hook::new(sp, bp));
        until_then(condition, mutex, (condition.clock(), until), hook, |mutex| {
            condition.timedwait(mutex, until)
        })
    }
}

unsafe extern "C-unwind" fn clockwait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    until: *const timespec,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` passes the registers.
    unsafe {
        let (condition, mutex, hook) =
            (ConditionLayout::of(condition), MutexLayout::of(mutex), Hook::new(sp, bp));
        until_then(condition, mutex, (clock, until), hook, |mutex| condition.clockwait(mutex, clock, until))
    }
}

/// A wait with a deadline. `waits` is libc's function.
///
/// # Safety
/// `until` points to a live time, unless libc serves the condition.
unsafe fn until_then(
    condition: &ConditionLayout,
    mutex: &MutexLayout,
    (clock, until): (clockid_t, *const timespec),
    hook: Hook,
    waits: impl FnOnce(&MutexLayout) -> c_int,
) -> c_int {
    let waited = || match (swapped::owner(condition), clock_of(clock)) {
        (Owner::Libc, _) => by_libc(mutex, hook, waits),
        // SAFETY: the caller's promise.
        (owner, Some(clock)) if unsafe { is_time(until) } => match owner {
            Owner::Ours(ours) => {
                // SAFETY: as above.
                let until = unsafe { time(clock, until) };
                swapped::wait(ours, Mutex::new(mutex, hook), until, hook, waits)
            }
            _ => shared::wait(condition, Mutex::new(mutex, hook), waits),
        },
        _ => Ended::by_libc(EINVAL),
    };
    during(condition, mutex, hook, waited)
}

/// A wait for a condition that libc serves.
fn by_libc(mutex: &MutexLayout, hook: Hook, waits: impl FnOnce(&MutexLayout) -> c_int) -> Ended {
    match bypass::exists() {
        false => Ended::by_libc(waits(mutex)),
        true => swapped::wait_in_libc(Mutex::new(mutex, hook), waits),
    }
}

/// Makes and measures a wait.
fn during(
    condition: &ConditionLayout,
    mutex: &MutexLayout,
    hook: Hook,
    waited: impl FnOnce() -> Ended,
) -> c_int {
    let held = mutex::object(mutex).held();
    let attempt = Thread::current()
        .and_then(|thread| Attempt::new(thread, Object::new(RecordKind::Condition, condition), held, hook));
    let Some(Attempt { thread, row, .. }) = attempt else { return waited().code };
    let again = thread.row(Object::new(RecordKind::Reacquired, mutex), hook);
    let wait = Wait { thread, row, again, condition: &raw const *condition as usize, held, hook };
    let begun = wait.begin();
    let ended = waited();
    wait.end(begun, ended);
    ended.code
}

/// The thread's count of voluntary context switches; 0 if system calls are not allowed.
fn switches() -> u64 {
    if sandbox::is_closed() { 0 } else { process::voluntary_switches() }
}

struct Wait {
    thread: &'static Thread,
    /// The row of the condition, and the row of the mutex that is locked again.
    row: RowRef,
    again: Option<RowRef>,
    condition: usize,
    held: u64,
    hook: Hook,
}

/// What was noted before the wait.
struct Begun {
    at: u64,
    /// The thread's count of voluntary context switches.
    switches: u64,
    /// Whether the meter had seen the thread lock the mutex.
    held: bool,
}

impl Wait {
    fn begin(&self) -> Begun {
        let table = self.thread.table();
        table.reclassify_attempt(self.row, AttemptOutcome::NoWait, AttemptOutcome::Slept);
        if !self.thread.has_clock() {
            return Begun { at: 0, switches: 0, held: false };
        }
        let at = clock::ticks();
        let hold = table.end_hold(self.held);
        if let Some(hold) = &hold {
            self.thread.end_hold(hold, hold.row_ref(), at);
        }
        let woken = self.thread.take_woken();
        if hold.is_some_and(|hold| Some(hold.row_ref()) == self.again) {
            self.found_nothing_to_do(woken);
        }
        self.thread.set_waiting(self.held);
        table.set_wait_start(self.row, at);
        Begun { at, switches: switches(), held: hold.is_some() }
    }

    fn end(&self, begun: Begun, Ended { code, seen }: Ended) {
        let table = self.thread.table();
        // The thread holds the mutex again, unless the call was refused: then it never released the mutex.
        let back = is_success(code) || code == libc::ETIMEDOUT;
        let spun = seen.is_some_and(|seen| seen.condition != Waited::Slept);
        let outcome = match is_success(code) {
            true if spun => AttemptOutcome::Spun,
            true => AttemptOutcome::Slept,
            false => AttemptOutcome::Rejected,
        };
        table.reclassify_attempt(self.row, AttemptOutcome::Slept, outcome);
        if let Some(again) = self.again.filter(|_| back) {
            table.count_attempt(again);
        }
        if !self.thread.has_clock() {
            return;
        }
        self.thread.set_waiting(0);
        table.set_wait_start(self.row, 0);
        let now = clock::ticks();
        let (how, for_mutex) = self.back(&begun, now, seen);
        if is_success(code) {
            self.record_woken(&begun, now);
        }
        if back {
            let wait = now.saturating_sub(begun.at).saturating_sub(for_mutex);
            let (spun, slept) = if spun { (wait, 0) } else { (0, wait) };
            table.add_wait(self.row, outcome, spun, slept);
        }
        let Some(again) = self.again.filter(|_| begun.held) else { return };
        if !back || how == Waited::No {
            return self.thread.record_acquired(self.held, again);
        }
        table.reclassify_attempt(again, AttemptOutcome::NoWait, AttemptOutcome::Slept);
        if how == Waited::Spun {
            self.thread.record_acquired_after(self.held, again, now, for_mutex, 0);
            table.reclassify_attempt(again, AttemptOutcome::Slept, AttemptOutcome::Spun);
        } else {
            self.thread.record_acquired_after(self.held, again, now, 0, for_mutex);
        }
    }

    /// Counts the thread as woken by the latest call that woke threads from this condition.
    fn record_woken(&self, begun: &Begun, now: u64) {
        let (at, call) = signalled::latest(self.condition);
        // One tick less: `signalled` drops the lowest bit of its times.
        if at < begun.at & !1 {
            return;
        }
        let object = woken_by(call, self.condition);
        let Some(row) = self.thread.row(object, self.hook) else { return };
        self.thread.table().count_attempt(row);
        let is_signal = call == WakeCall::Signal;
        self.thread.set_woken(object.held());
        self.thread.set_woken_from(is_signal.then_some(WokenFrom {
            condition: self.condition,
            mutex: self.held,
            row: self.row,
            again: self.again.unwrap_or(RowRef::NONE),
            at: now,
        }));
    }

    /// The thread waits again although it was woken, and has done nothing in between.
    #[cold]
    fn found_nothing_to_do(&self, woken: u64) {
        let calls = [WakeCall::Signal, WakeCall::Broadcast].map(|call| woken_by(call, self.condition));
        if let Some(object) = calls.into_iter().find(|object| object.held() == woken)
            && let Some(row) = self.thread.row(object, self.hook)
        {
            self.thread.table().reclassify_attempt(row, AttemptOutcome::NoWait, AttemptOutcome::Rejected);
        }
    }

    /// How the thread waited for the mutex, and for how many ticks.
    fn back(&self, begun: &Begun, now: u64, seen: Option<Seen>) -> (Waited, u64) {
        if let Some(Seen { woken, mutex: Some(how), .. }) = seen {
            return (how, if how == Waited::No { 0 } else { now.saturating_sub(woken) });
        }
        let sleeps = switches().wrapping_sub(begun.switches);
        let wanted_at = seen.map_or_else(|| signalled::latest(self.condition).0, |seen| seen.woken);
        match sleeps {
            0 | 1 => (Waited::No, 0),
            _ if wanted_at >= begun.at & !1 => (Waited::Slept, now.saturating_sub(wanted_at)),
            _ => (Waited::Slept, 0),
        }
    }
}

/// The kind of row that counts the threads that a call has woken, for a condition.
fn woken_by(call: WakeCall, condition: usize) -> Object {
    let kind = match call {
        WakeCall::Signal => RecordKind::WokenBySignal,
        WakeCall::Broadcast => RecordKind::WokenByBroadcast,
    };
    Object { kind, address: condition }
}

/// pthread_cond_signal(3).
///
/// # Safety
/// As for libc's; `sp` and `bp` are the registers that `entry` passes.
pub unsafe extern "C-unwind" fn signal(condition: *mut pthread_cond_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's condition; `entry` passes the registers.
    let (condition, hook) = unsafe { (ConditionLayout::of(condition), Hook::new(sp, bp)) };
    let owner = swapped::owner(condition);
    note_call(condition, owner, WakeCall::Signal, hook);
    match owner {
        Owner::Ours(ours) => {
            ours.signal();
            0
        }
        Owner::Shared => shared::signal(condition, || condition.signal()),
        Owner::Libc => condition.signal(),
    }
}

/// pthread_cond_broadcast(3).
///
/// # Safety
/// As for libc's; `sp` and `bp` are the registers that `entry` passes.
pub unsafe extern "C-unwind" fn broadcast(condition: *mut pthread_cond_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's condition; `entry` passes the registers.
    let (condition, hook) = unsafe { (ConditionLayout::of(condition), Hook::new(sp, bp)) };
    let owner = swapped::owner(condition);
    note_call(condition, owner, WakeCall::Broadcast, hook);
    match owner {
        Owner::Ours(ours) => {
            ours.broadcast();
            0
        }
        Owner::Shared => shared::signal(condition, || condition.broadcast()),
        Owner::Libc => condition.broadcast(),
    }
}

/// pthread_cond_destroy(3).
///
/// # Safety
/// As for libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_destroy(condition: *mut pthread_cond_t) -> c_int {
    // SAFETY: the program's condition.
    unsafe {
        if let Owner::Ours(ours) = swapped::owner(ConditionLayout::of(condition)) {
            ours.retire();
        }
        real::cond_destroy(condition)
    }
}

/// Counts a call that wakes threads, before it is made. Notes its time if a thread waits for the condition.
#[inline(always)]
fn note_call(condition: &ConditionLayout, owner: Owner, call: WakeCall, hook: Hook) {
    if let Some(thread) = Thread::current() {
        count_call(thread, condition, owner, call, hook);
    }
}

#[inline(never)]
fn count_call(
    thread: &'static Thread,
    condition: &ConditionLayout,
    owner: Owner,
    call: WakeCall,
    hook: Hook,
) {
    let (kind, now) = match call {
        WakeCall::Signal => (RecordKind::Signal, thread.now()),
        WakeCall::Broadcast => (RecordKind::Broadcast, thread.now()),
    };
    let attempt = Attempt::new(thread, Object::new(kind, condition), 0, hook);
    let is_awaited = match owner {
        Owner::Ours(ours) => ours.exist(),
        Owner::Shared | Owner::Libc => condition.has_waiters(),
    };
    if is_awaited && let Some(Attempt { row, .. }) = attempt {
        thread.table().reclassify_attempt(row, AttemptOutcome::NoWait, AttemptOutcome::Slept);
    }
    if !thread.has_clock() {
        return;
    }
    let address = &raw const *condition as usize;
    if is_awaited {
        signalled::note(address, call, now);
    }
    thread.take_woken();
    thread.record_give_back(address, now);
}
