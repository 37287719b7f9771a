//! A sleeper that monitors processes for exit. When a process with adjustments dies, the waiters of the set may be able
//! to proceed. The kernel wakes one thread that sleeps on that process's robust word. That thread wakes the others,
//! applies the undos, and serves the waiters.
//!
//! The sleeper polls every few milliseconds instead in three cases: no thread holds the word of a living process (as
//! after it executed a program without this library); there are more processes than words that one thread can sleep on;
//! the kernel has no futex_waitv (before Linux 5.16).

use crate::engine::Inner;
use crate::engine::lock_names::Call;
use crate::participant::{Watch, status};
use crate::recovery::process::Process;
use crate::recovery::process_table::Prospect;
use crate::thread::Thread;
use crate::thread::cancel_point::{self as cancel, Point};
use core::iter;
use core::time::Duration;
use unspin_sync::atomic::AtomicU32;
use unspin_sys::futex::{self, Wake};

/// Interval of the checks of a sleeper that no wake-up may reach.
const UNTOLD_NAP: Duration = Duration::from_millis(4);

/// How long one of the first two waiters sleeps before it looks at the robust words that it monitors; each look costs a
/// wake-up. The kernel may have woken a thread that was stopped, or killed, before it could wake the others.
const FRONT_NAP: Duration = Duration::from_millis(100);

/// A value that no word has: a sleep that expects it ends at once.
const NEVER: u32 = u32::MAX;

/// Sleeps on the thread's status, at most for `nap`, and meanwhile monitors the processes in its watch list.
#[inline]
pub(crate) fn sleep(inner: &'static Inner, thread: &Thread, nap: Duration, point: Point) -> Wake {
    let person = thread.person();
    match person.watch().is_empty() {
        true => cancel::during(point, || futex::wait(&person.waiter.status, status::SLEEPING, Some(nap))),
        false => keep(inner, thread, nap, point),
    }
}

/// Not inlined: the words to sleep on take 3 KiB of the program's stack, which other sleepers do not need.
#[cold]
#[inline(never)]
fn keep(inner: &'static Inner, thread: &Thread, nap: Duration, point: Point) -> Wake {
    let mut left = nap;
    loop {
        let untold = attend(inner, thread);
        if !status::is_waiting(thread.person().waiter.look()) {
            return Wake::Woken;
        }
        let watch = thread.person().watch();
        let look = match () {
            () if untold == Untold::Some || watch.is_full() => UNTOLD_NAP,
            () if watch.is_in_front() => FRONT_NAP,
            () => left,
        };
        match await_any(inner, thread, look.min(left), (untold, point)) {
            Wake::TimedOut if look < left => left -= look,
            other => return other,
        }
    }
}

/// Sleeps on the thread's status, and on the robust words that are held.
fn await_any(inner: &Inner, thread: &Thread, nap: Duration, (untold, point): (Untold, Point)) -> Wake {
    let person = thread.person();
    let words = || {
        watched(person.watch()).filter_map(|process| match inner.announce(process) {
            Prospect::Told(value) => Some((inner.life_of(process), value)),
            // No longer held, since the check a moment ago: do not sleep, check again.
            Prospect::Untold if untold == Untold::None => Some((inner.life_of(process), NEVER)),
            Prospect::Untold | Prospect::Gone => None,
        })
    };
    let own: (&AtomicU32, u32) = (&person.waiter.status, status::SLEEPING);
    cancel::during(point, || futex::any::wait(iter::once(own).chain(words()), Some(nap)))
        .unwrap_or_else(|| cancel::during(point, || futex::wait(own.0, own.1, Some(nap.min(UNTOLD_NAP)))))
}

fn watched(watch: Watch<'_>) -> impl Iterator<Item = Process> + '_ {
    watch.iter().filter_map(Process::from_word)
}

/// If a monitored robust word is no longer held: wakes the others that sleep on it, applies the undos of dead
/// processes, and updates the watch list. Returns whether a word is still not held.
fn attend(inner: &'static Inner, thread: &Thread) -> Untold {
    let watch = thread.person().watch();
    let untold = || watched(watch).filter(|&process| inner.announce(process) == Prospect::Untold);
    let mut attended = false;
    for process in untold() {
        inner.pass_on(process);
        attended = true;
    }
    if attended {
        inner.with_waiting(thread, Call::Wait, thread.person(), |section| section.watch(inner));
        if untold().next().is_some() {
            return Untold::Some;
        }
    }
    Untold::None
}

/// Whether there is a process whose end the kernel will not announce.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Untold {
    None,
    Some,
}

/// Asks `/proc` about each process that the thread monitors, in case the kernel did not announce its end. The kernel
/// handles no more than 2048 words of a thread's robust list (`ROBUST_LIST_LIMIT`), and a program can corrupt its own
/// list.
pub(crate) fn doubt(inner: &Inner, thread: &Thread) {
    for process in watched(thread.person().watch()) {
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
    fn a_death_that_nobody_tells_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None).unwrap();
        let inner = engine.inner.unwrap();
        let id = engine.semget(flag::IPC_PRIVATE, 1, 0o600).unwrap();
        let op = |sem_op, sem_flg: i32| [Sembuf { sem_num: 0, sem_op, sem_flg: sem_flg as i16 }];
        engine.semop_ops(id, &op(1, 0)).unwrap();
        // SAFETY: the child only makes calls of the engine and plain system calls, and never returns.
        let holder = unsafe { libc::fork() };
        if holder == 0 {
            // SAFETY: as above.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            let _ = engine.semop_ops(id, &op(-1, flag::SEM_UNDO));
            loop {
                // SAFETY: as above.
                unsafe { libc::pause() };
            }
        }
        // SAFETY: GETVAL takes no address.
        while unsafe { engine.semctl(id, 0, flag::GETVAL, 0) }.unwrap() != 0 {
            std::thread::yield_now();
        }
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| engine.semop_ops(id, &op(-1, 0)));
            let watches = || inner.people().iter().flat_map(|person| watched(person.watch())).next();
            // Relaxed (both): nothing but the word is needed.
            let word = loop {
                let word = watches().map(|process| inner.life_of(process));
                match word.filter(|word| word.load(Relaxed) & WAITERS != 0) {
                    Some(word) => break word,
                    None => std::thread::yield_now(),
                }
            };
            std::thread::sleep(Duration::from_millis(20));
            word.fetch_and(!WAITERS, Relaxed);
            // SAFETY: our child, which nothing else has reaped.
            unsafe {
                libc::kill(holder, libc::SIGKILL);
                libc::waitpid(holder, core::ptr::null_mut(), 0);
            }
            assert_eq!(sleeper.join().unwrap(), Ok(()));
        });
    }
}
