//! Sleeping while monitoring processes for exit. When a process with adjustments dies, the waiters of the set may be
//! able to proceed. The kernel wakes one thread that sleeps on that process's robust word. That thread wakes the others,
//! applies the undos, and serves the waiters.
//!
//! The sleeper polls every few milliseconds instead in three cases: no thread holds the word of a living process (as
//! after it executed a program without this library); there are more processes than words that one thread can sleep on;
//! the kernel has no futex_waitv (before Linux 5.16).

use crate::engine::Inner;
use crate::engine::lock_names::Call;
use crate::participant::{MonitoredProcesses, status};
use crate::recovery::process::Process;
use crate::recovery::process_table::ExitNotice;
use crate::thread::Thread;
use crate::thread::cancel_point::{self as cancel, CancellationPoint};
use core::iter;
use core::time::Duration;
use unspin_sync::atomic::AtomicU32;
use unspin_sys::futex::{self, Wake};

/// Interval of the checks of a sleeper that no wake-up may reach.
const POLL_INTERVAL: Duration = Duration::from_millis(4);

/// How long one of the first two waiters sleeps before it looks at the robust words that it monitors; each look costs a
/// wake-up. The kernel may have woken a thread that was stopped, or killed, before it could wake the others.
const FRONT_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// A value that no word has: a sleep that expects it ends at once.
const NEVER: u32 = u32::MAX;

/// Sleeps on the thread's status, at most for `timeout`, and meanwhile monitors the processes in its list of monitored
/// processes.
#[inline]
pub(crate) fn sleep(
    inner: &'static Inner,
    thread: &Thread,
    timeout: Duration,
    point: CancellationPoint,
) -> Wake {
    let record = thread.record();
    match record.monitored_processes().is_empty() {
        true => {
            cancel::run_sleep(point, || futex::wait(&record.waiter.status, status::SLEEPING, Some(timeout)))
        }
        false => monitor(inner, thread, timeout, point),
    }
}

/// Not inlined: the words to sleep on take 3 KiB of the program's stack, which other sleepers do not need.
#[cold]
#[inline(never)]
fn monitor(inner: &'static Inner, thread: &Thread, timeout: Duration, point: CancellationPoint) -> Wake {
    let mut left = timeout;
    loop {
        let unarmed = handle_exits(inner, thread);
        if !status::is_waiting(thread.record().waiter.load_status()) {
            return Wake::Woken;
        }
        let monitored = thread.record().monitored_processes();
        let look = match () {
            () if unarmed == Unarmed::Some || monitored.is_full() => POLL_INTERVAL,
            () if monitored.is_among_first_two() => FRONT_CHECK_INTERVAL,
            () => left,
        };
        match await_any(inner, thread, look.min(left), (unarmed, point)) {
            Wake::TimedOut if look < left => left -= look,
            other => return other,
        }
    }
}

/// Sleeps on the thread's status, and on the robust words that are held.
fn await_any(
    inner: &Inner,
    thread: &Thread,
    timeout: Duration,
    (unarmed, point): (Unarmed, CancellationPoint),
) -> Wake {
    let record = thread.record();
    let words = || {
        processes_in(record.monitored_processes()).filter_map(|process| {
            match inner.arm_exit_notice(process) {
                ExitNotice::Armed(value) => Some((inner.robust_word_of(process), value)),
                // No longer held, since the check a moment ago: do not sleep, check again.
                ExitNotice::Unarmed if unarmed == Unarmed::None => {
                    Some((inner.robust_word_of(process), NEVER))
                }
                ExitNotice::Unarmed | ExitNotice::Gone => None,
            }
        })
    };
    let own: (&AtomicU32, u32) = (&record.waiter.status, status::SLEEPING);
    cancel::run_sleep(point, || futex::any::wait(iter::once(own).chain(words()), Some(timeout)))
        .unwrap_or_else(|| {
            cancel::run_sleep(point, || futex::wait(own.0, own.1, Some(timeout.min(POLL_INTERVAL))))
        })
}

fn processes_in(monitored: MonitoredProcesses<'_>) -> impl Iterator<Item = Process> + '_ {
    monitored.iter().filter_map(Process::from_word)
}

/// If a monitored robust word is no longer held: wakes the others that sleep on it, applies the undos of dead
/// processes, and updates the list of monitored processes. Returns whether a word is still not held.
fn handle_exits(inner: &'static Inner, thread: &Thread) -> Unarmed {
    let monitored = thread.record().monitored_processes();
    let unarmed =
        || processes_in(monitored).filter(|&process| inner.arm_exit_notice(process) == ExitNotice::Unarmed);
    let mut handled = false;
    for process in unarmed() {
        inner.wake_other_sleepers(process);
        handled = true;
    }
    if handled {
        inner.with_object_of_waiter(thread, Call::Wait, thread.record(), |section| {
            section.refresh_wait(inner)
        });
        if unarmed().next().is_some() {
            return Unarmed::Some;
        }
    }
    Unarmed::None
}

/// Whether there is a process whose end the kernel will not announce.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Unarmed {
    None,
    Some,
}

/// Asks `/proc` about each process that the thread monitors, in case the kernel did not announce its end. The kernel
/// handles no more than 2048 words of a thread's robust list (`ROBUST_LIST_LIMIT`), and a program can corrupt its own
/// list.
pub(crate) fn ask_about_all(inner: &Inner, thread: &Thread) {
    for process in processes_in(thread.record().monitored_processes()) {
        inner.ask(process);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::{Engine, Kind, Options};
    use unspin_sync::atomic::Ordering::Relaxed;
    use unspin_sys::ipc::{Sembuf, flag};
    use unspin_sys::robust::WAITERS;

    /// As if the kernel had woken a thread that was killed before it could wake the others.
    #[test]
    fn lost_exit_notice_is_found_by_front_waiter() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None).unwrap();
        let inner = engine.inner.unwrap();
        let id = engine.semget(flag::IPC_PRIVATE, 1, 0o600).unwrap();
        let op = |sem_op, sem_flg: i32| [Sembuf { sem_num: 0, sem_op, sem_flg: sem_flg as i16 }];
        engine.semop_ops(id, &op(1, 0)).unwrap();
        let holder = child(&engine, id, &op(-1, flag::SEM_UNDO));
        // SAFETY: GETVAL takes no address.
        while unsafe { engine.semctl(id, 0, flag::GETVAL, 0) }.unwrap() != 0 {
            std::thread::yield_now();
        }
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| engine.semop_ops(id, &op(-1, 0)));
            let watches = || {
                inner
                    .participants()
                    .iter()
                    .flat_map(|record| processes_in(record.monitored_processes()))
                    .next()
            };
            // Relaxed (both): nothing but the word is needed.
            let word = loop {
                let word = watches().map(|process| inner.robust_word_of(process));
                match word.filter(|word| word.load(Relaxed) & WAITERS != 0) {
                    Some(word) => break word,
                    None => std::thread::yield_now(),
                }
            };
            std::thread::sleep(Duration::from_millis(20));
            word.fetch_and(!WAITERS, Relaxed);
            end(holder);
            assert_eq!(sleeper.join().unwrap(), Ok(()));
        });
    }

    extern "C" fn interrupted(_: i32) {}

    /// A child that performs the operations, unless SIGUSR1 interrupts it, and then only waits for its end.
    fn child(engine: &Engine, id: i32, ops: &[Sembuf]) -> i32 {
        // SAFETY: the child only makes calls of the engine and plain system calls, and never returns.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                let mut action: libc::sigaction = core::mem::zeroed();
                action.sa_sigaction = interrupted as extern "C" fn(i32) as usize;
                libc::sigaction(libc::SIGUSR1, &action, core::ptr::null_mut());
                let _ = engine.semop_ops(id, ops);
                loop {
                    libc::pause();
                }
            }
            child
        }
    }

    /// A semaphore as a lock: a waiter behind the second sleeps on two words. The one behind a waiter that is interrupted takes its
    /// words over. As each owner is killed, the next one has the lock.
    #[test]
    fn waiters_for_a_lock_monitor_the_one_before_them() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None).unwrap();
        let inner = engine.inner.unwrap();
        let id = engine.semget(flag::IPC_PRIVATE, 1, 0o600).unwrap();
        let lock = [(0, 0), (1, flag::SEM_UNDO)].map(|(sem_op, flags)| Sembuf {
            sem_num: 0,
            sem_op,
            sem_flg: flags as i16,
        });
        // SAFETY: the two commands that follow take no address.
        let get = |command| unsafe { engine.semctl(id, 0, command, 0) }.unwrap();
        let (waiters, owner) = (|| get(flag::GETZCNT), || get(flag::GETPID));
        let children: Vec<i32> = (0..6)
            .map(|number| {
                let child = child(&engine, id, &lock);
                while if number == 0 { owner() != child } else { waiters() != number } {
                    std::thread::yield_now();
                }
                child
            })
            .collect();
        let monitored = |&pid: &i32| -> Vec<u64> {
            let waiting = inner.participants().iter().find(|it| it.waiter.pid.load(Relaxed) == pid as u32);
            waiting.into_iter().flat_map(|record| record.monitored_processes().iter()).collect()
        };
        let counts: Vec<usize> = children.iter().skip(1).map(|child| monitored(child).len()).collect();
        assert_eq!(counts, [1, 2, 1, 1, 1]);
        let before_the_fifth = monitored(&children[4]);
        while waiters() != 4 {
            // Again and again: a signal that comes before the thread sleeps does not end its wait.
            // SAFETY: takes no address.
            unsafe { libc::kill(children[4], libc::SIGUSR1) };
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(monitored(&children[5]).contains(&before_the_fifth[0]), "it takes that over");
        end(children[4]);
        let children = [&children[..4], &children[5..]].concat();
        for pair in children.windows(2) {
            assert_eq!(owner(), pair[0]);
            end(pair[0]);
            while owner() != pair[1] {
                std::thread::yield_now();
            }
        }
        end(children[4]);
    }

    fn end(child: i32) {
        // SAFETY: a child of this thread's process, which nothing else has reaped.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, core::ptr::null_mut(), 0);
        }
    }
}
