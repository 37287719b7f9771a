//! From the beginnings and ends of waits to waits.
//!
//! `lock:contention_begin` says that a thread begins to wait for a lock, `lock:contention_end` that it has the lock or has
//! given up. Between them waits can nest: a thread that spins for a lock is interrupted, and the interrupt spins for
//! another; a thread that spins for a mutex is scheduled, which spins for a run queue. All of them are reported for the same
//! thread, so the waits of a thread form a stack. A mutex tells a second beginning when its waiter goes from spinning to
//! sleeping, and back: with the same lock, and with the flag that says whether it spins changed. Any other second beginning
//! for the same lock means that the end of the first wait was lost.

use super::flags::LockFlags;
use std::collections::HashMap;
use unspin_trace::StackId;

/// A thread. Some records have no number of their own for it; such threads are told apart by CPU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Waiter {
    /// By its number.
    Thread(u32),
    /// The idle thread of a CPU: all those have the number 0.
    Idle(u32),
    /// An exiting thread that has given up its number, by the CPU that it runs on: all those have the number -1.
    Exiting(u32),
}

/// The number of a thread that has given up its own (`perf_event_pid_type` in kernel/events/core.c).
const NO_NUMBER: u32 = u32::MAX;

impl Waiter {
    /// Of a record.
    pub fn new(tid: u32, cpu: u32) -> Waiter {
        match tid {
            0 => Waiter::Idle(cpu),
            NO_NUMBER => Waiter::Exiting(cpu),
            _ => Waiter::Thread(tid),
        }
    }
}

/// A wait that has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// The lock's address.
    pub lock: u64,
    /// The flags of its beginning.
    pub flags: LockFlags,
    /// The stack of its beginning.
    pub stack: StackId,
    /// Nanoseconds that the thread spun.
    pub spin_ns: u64,
    /// Nanoseconds that it slept.
    pub sleep_ns: u64,
    /// Of the nanoseconds spun, those that earlier parts of the wait had.
    pub added_spin_ns: u64,
    /// Of the nanoseconds slept, those that earlier parts of the wait had.
    pub added_sleep_ns: u64,
    /// Whether it got the lock.
    pub outcome: ContentionEnd,
}

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ContentionEnd {
    /// The thread has the lock.
    Acquired,
    /// It gave up: a signal, a timeout, a deadlock that was avoided.
    GaveUp,
}

/// What could not be paired.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Unpaired {
    /// Ends without a beginning: waits that had begun before, or beginnings that were lost.
    pub ends: u64,
    /// Beginnings whose ends were lost.
    pub beginnings: u64,
    /// Waits that had not ended when the observation ended.
    pub unfinished: u64,
}

/// Pairs beginnings and ends.
#[derive(Debug, Default)]
pub struct Contention {
    waiting: HashMap<Waiter, Vec<Pending>>,
    unpaired: Unpaired,
}

/// A wait that has not ended.
#[derive(Clone, Copy, Debug)]
struct Pending {
    wait: Wait,
    /// The flags since the last beginning.
    phase: LockFlags,
    since: u64,
}

/// Waits of a thread that can nest: a thread, the scheduler, and interrupts of four levels. Further ones are remains of
/// waits whose ends were lost.
const DEPTH_MAX: usize = 8;

impl Contention {
    /// A thread begins to wait, or goes on to wait in another way.
    pub fn begin(&mut self, waiter: Waiter, lock: u64, flags: LockFlags, stack: StackId, now: u64) {
        let pending = self.waiting.entry(waiter).or_default();
        if let Some(same) = pending.iter().rposition(|pending| pending.wait.lock == lock) {
            self.unpaired.beginnings += (pending.len() - same - 1) as u64;
            pending.truncate(same + 1);
            let earlier = &mut pending[same];
            if earlier.continues_with(flags, stack) {
                earlier.add(now);
                earlier.phase = flags;
                return;
            }
            pending.pop();
            self.unpaired.beginnings += 1;
        }
        // A thread that spins cannot sleep: the ends of spinning waits were lost.
        if !flags.spins() {
            let before = pending.len();
            pending.retain(|pending| !pending.phase.spins() || pending.phase.is_mutex());
            self.unpaired.beginnings += (before - pending.len()) as u64;
        }
        if pending.len() == DEPTH_MAX {
            pending.remove(0);
            self.unpaired.beginnings += 1;
        }
        let wait = Wait::new(lock, flags, stack);
        pending.push(Pending { wait, phase: flags, since: now });
    }

    /// A wait has ended.
    pub fn end(&mut self, waiter: Waiter, lock: u64, outcome: ContentionEnd, now: u64) -> Option<Wait> {
        let found = self.waiting.get_mut(&waiter).and_then(|pending| {
            let at = pending.iter().rposition(|pending| pending.wait.lock == lock)?;
            self.unpaired.beginnings += (pending.len() - at - 1) as u64;
            pending.truncate(at + 1);
            pending.pop()
        });
        let Some(mut pending) = found else {
            self.unpaired.ends += 1;
            return None;
        };
        pending.add(now);
        Some(Wait { outcome, ..pending.wait })
    }

    /// Divides the waits that go on at this time: returns them as they are now. Later they have the part until now as added.
    pub fn cut(&mut self, now: u64) -> Vec<Wait> {
        let cut = |pending: &mut Pending| {
            pending.add(now);
            let wait = pending.wait;
            pending.wait.added_spin_ns = wait.spin_ns;
            pending.wait.added_sleep_ns = wait.sleep_ns;
            wait
        };
        self.waiting.values_mut().flatten().map(cut).collect()
    }

    /// A thread has ended: it waits for nothing.
    pub fn thread_ended(&mut self, tid: u32) {
        if let Some(pending) = self.waiting.remove(&Waiter::Thread(tid)) {
            self.unpaired.beginnings += pending.len() as u64;
        }
    }

    /// What could not be paired so far.
    pub fn unpaired(&self) -> Unpaired {
        let unfinished = self.waiting.values().map(Vec::len).sum::<usize>() as u64;
        Unpaired { unfinished, ..self.unpaired }
    }
}

impl Pending {
    /// Whether a beginning with these flags and this stack is of the same wait: a mutex's waiter that goes from spinning to
    /// sleeping, or back. The first beginning is reported by another instruction than those, so the same stack is a new wait.
    fn continues_with(&self, flags: LockFlags, stack: StackId) -> bool {
        let other_stack = stack == StackId::EMPTY || stack != self.wait.stack;
        flags.is_mutex() && self.phase.is_mutex() && flags.spins() != self.phase.spins() && other_stack
    }

    /// Adds the time since the last beginning.
    fn add(&mut self, now: u64) {
        let time = now.saturating_sub(self.since);
        match self.phase.spins() {
            true => self.wait.spin_ns += time,
            false => self.wait.sleep_ns += time,
        }
        self.since = now.max(self.since);
    }
}

impl Wait {
    fn new(lock: u64, flags: LockFlags, stack: StackId) -> Wait {
        let outcome = ContentionEnd::Acquired;
        Wait { lock, flags, stack, spin_ns: 0, sleep_ns: 0, added_spin_ns: 0, added_sleep_ns: 0, outcome }
    }
}

#[cfg(test)]
mod tests {
    use super::super::flags::{MUTEX, SPIN};
    use super::*;
    use unspin_trace::Stacks;

    const THREAD: Waiter = Waiter::Thread(7);

    fn begin(contention: &mut Contention, waiter: Waiter, lock: u64, flags: u32, now: u64) {
        contention.begin(waiter, lock, LockFlags(flags), StackId::EMPTY, now);
    }

    fn end(contention: &mut Contention, waiter: Waiter, lock: u64, now: u64) -> Option<(u64, u64)> {
        let wait = contention.end(waiter, lock, ContentionEnd::Acquired, now)?;
        Some((wait.spin_ns, wait.sleep_ns))
    }

    #[test]
    fn spinning_and_sleeping_of_one_wait_are_separate() {
        let mut contention = Contention::default();
        begin(&mut contention, THREAD, 0x10, MUTEX | SPIN, 100);
        begin(&mut contention, THREAD, 0x10, MUTEX, 130);
        begin(&mut contention, THREAD, 0x10, MUTEX | SPIN, 1000);
        assert_eq!(end(&mut contention, THREAD, 0x10, 1005), Some((35, 870)));
        assert_eq!(contention.unpaired(), Unpaired::default());
    }

    #[test]
    fn waits_nest_in_interrupts() {
        let mut contention = Contention::default();
        begin(&mut contention, THREAD, 0x10, SPIN, 100);
        begin(&mut contention, THREAD, 0x20, SPIN, 110);
        assert_eq!(end(&mut contention, THREAD, 0x20, 115), Some((5, 0)));
        assert_eq!(end(&mut contention, THREAD, 0x10, 120), Some((20, 0)));
        assert_eq!(contention.unpaired(), Unpaired::default());
    }

    #[test]
    fn idle_threads_of_two_cpus_are_two_waiters() {
        let mut contention = Contention::default();
        begin(&mut contention, Waiter::new(0, 0), 0x10, SPIN, 100);
        begin(&mut contention, Waiter::new(0, 1), 0x10, SPIN, 110);
        assert_eq!(end(&mut contention, Waiter::new(0, 0), 0x10, 120), Some((20, 0)));
        assert_eq!(end(&mut contention, Waiter::new(0, 1), 0x10, 120), Some((10, 0)));
    }

    #[test]
    fn exiting_threads_of_two_cpus_are_two_waiters() {
        let mut contention = Contention::default();
        let [first, second] = [0, 1].map(|cpu| Waiter::new(u32::MAX, cpu));
        begin(&mut contention, first, 0x10, SPIN, 100);
        begin(&mut contention, second, 0x10, SPIN, 110);
        assert_eq!(end(&mut contention, first, 0x10, 120), Some((20, 0)));
        assert_eq!(end(&mut contention, second, 0x10, 125), Some((15, 0)));
        assert_eq!(contention.unpaired(), Unpaired::default());
    }

    /// Otherwise the time between two waits, which may be seconds, would be counted as waited.
    #[test]
    fn second_beginning_for_same_lock_is_a_new_wait_if_the_end_was_lost() {
        for flags in [SPIN, 0, MUTEX, MUTEX | SPIN] {
            let mut contention = Contention::default();
            begin(&mut contention, THREAD, 0x10, flags, 100);
            begin(&mut contention, THREAD, 0x10, flags, 1_000_000);
            let (spin_ns, sleep_ns) = end(&mut contention, THREAD, 0x10, 1_000_007).unwrap();
            assert_eq!(spin_ns + sleep_ns, 7, "{flags}");
            assert_eq!(contention.unpaired(), Unpaired { ends: 0, beginnings: 1, unfinished: 0 });
        }
    }

    #[test]
    fn first_beginning_of_a_mutex_after_sleeping_is_a_new_wait() {
        let mut stacks = Stacks::default();
        let [first, again] = [0x10, 0x20].map(|place| stacks.number(&[place, 0x30]));
        let mut contention = Contention::default();
        let mut begin = |flags, stack, now| contention.begin(THREAD, 0x10, LockFlags(flags), stack, now);
        begin(MUTEX | SPIN, first, 100);
        begin(MUTEX, again, 110);
        // Its end is lost.
        begin(MUTEX | SPIN, first, 1_000_000);
        assert_eq!(end(&mut contention, THREAD, 0x10, 1_000_007), Some((7, 0)));
        assert_eq!(contention.unpaired().beginnings, 1);
    }

    #[test]
    fn lost_ends_and_beginnings_are_counted() {
        let mut contention = Contention::default();
        assert_eq!(end(&mut contention, THREAD, 0x10, 100), None);
        assert_eq!(contention.unpaired().ends, 1);
        begin(&mut contention, THREAD, 0x10, SPIN, 200);
        // It sleeps, so it no longer spins.
        begin(&mut contention, THREAD, 0x20, 0, 300);
        assert_eq!(contention.unpaired().beginnings, 1);
        assert_eq!(contention.unpaired().unfinished, 1);
        contention.thread_ended(7);
        assert_eq!(contention.unpaired(), Unpaired { ends: 1, beginnings: 2, unfinished: 0 });
        for lock in 1..=DEPTH_MAX as u64 + 3 {
            begin(&mut contention, THREAD, lock, SPIN, 400);
        }
        assert_eq!(contention.unpaired().unfinished, DEPTH_MAX as u64);
        assert_eq!(contention.unpaired().beginnings, 5);
    }

    #[test]
    fn inner_wait_whose_end_was_lost_does_not_hide_the_outer_end() {
        let mut contention = Contention::default();
        begin(&mut contention, THREAD, 0x10, SPIN, 100);
        begin(&mut contention, THREAD, 0x20, SPIN, 110);
        assert_eq!(end(&mut contention, THREAD, 0x10, 150), Some((50, 0)));
        assert_eq!(contention.unpaired(), Unpaired { ends: 0, beginnings: 1, unfinished: 0 });
    }
}
