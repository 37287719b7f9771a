//! A sleeper that watches others: the death of a process that is owed something by a set may let those proceed who wait for
//! it. The kernel wakes one who sleeps on that process's word; he passes it on, undoes, and serves.
//!
//! Where nobody holds the word of a living process, as after it executed a program without this library, where there are more
//! processes than words that one can sleep on, and where the kernel has no futex_waitv (before Linux 5.16), the sleeper looks
//! every few milliseconds instead.

use crate::cancel::{self, Point};
use crate::engine::Inner;
use crate::participant::{Watch, status};
use crate::process::{Process, Prospect};
use crate::thread::Thread;
use crate::wait;
use core::iter;
use core::time::Duration;
use unspin_sync::atomic::AtomicU32;
use unspin_sys::futex::{self, Wake};

/// How long a sleeper sleeps that nobody would wake.
const UNTOLD_NAP: Duration = Duration::from_millis(4);

/// How long one that stands in front sleeps without a look at the words that it watches, which costs a wake-up. The kernel may
/// have woken one who has been stopped, or killed, before he could pass it on.
const FRONT_NAP: Duration = Duration::from_millis(100);

/// No word has this value: a sleep that expects it ends at once.
const NEVER: u32 = u32::MAX;

/// Sleeps on the thread's status, at most for `nap`, and meanwhile sees to those whom it has to watch.
#[inline]
pub(crate) fn sleep(inner: &'static Inner, thread: &Thread, nap: Duration, point: Point) -> Wake {
    let person = thread.person();
    match person.watch().is_empty() {
        true => cancel::during(point, || futex::wait(&person.waiter.status, status::SLEEPING, Some(nap))),
        false => keep(inner, thread, nap, point),
    }
}

/// Not inlined: the words to sleep on take 3 KiB of the program's stack, which other sleepers need not have.
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

/// Sleeps on the thread's status, and on the words that will tell.
fn await_any(inner: &Inner, thread: &Thread, nap: Duration, (untold, point): (Untold, Point)) -> Wake {
    let person = thread.person();
    let words = || {
        watched(person.watch()).filter_map(|process| match inner.announce(process) {
            Prospect::Told(value) => Some((inner.life_of(process), value)),
            // Since the look a moment ago: look again, now.
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

/// If the word of somebody is held no more: wakes the others who sleep on it, undoes what the dead did, and takes note of who
/// is to be watched now.
fn attend(inner: &'static Inner, thread: &Thread) -> Untold {
    let watch = thread.person().watch();
    let untold = || watched(watch).filter(|&process| inner.announce(process) == Prospect::Untold);
    let mut attended = false;
    for process in untold() {
        inner.pass_on(process);
        attended = true;
    }
    if attended {
        wait::with_own(inner, thread, |section| section.watch(inner));
        if untold().next().is_some() {
            return Untold::Some;
        }
    }
    Untold::None
}

/// Whether there is somebody of whose end the kernel will not tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Untold {
    None,
    Some,
}

/// Asks for each process that the thread watches, in case the kernel failed to tell: it goes no further than 2048 words of a
/// thread's list (`ROBUST_LIST_LIMIT`), and a program can spoil its own.
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

    /// As if the kernel had woken one who was killed before he could pass it on.
    #[test]
    fn a_death_that_nobody_tells_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None).unwrap();
        let inner = engine.inner.unwrap();
        let id = engine.semget(flag::IPC_PRIVATE, 1, 0o600).unwrap();
        let op = |sem_op, sem_flg: i32| [Sembuf { sem_num: 0, sem_op, sem_flg: sem_flg as i16 }];
        engine.semop_ops(id, &op(1, 0)).unwrap();
        // SAFETY: the child makes calls of the engine and plain system calls only, and never returns.
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
            // Relaxed (both): the word is all that matters.
            let word = loop {
                let word = watches().map(|process| inner.life_of(process));
                match word.filter(|word| word.load(Relaxed) & WAITERS != 0) {
                    Some(word) => break word,
                    None => std::thread::yield_now(),
                }
            };
            std::thread::sleep(Duration::from_millis(20));
            word.fetch_and(!WAITERS, Relaxed);
            // SAFETY: our child, which nobody has reaped.
            unsafe {
                libc::kill(holder, libc::SIGKILL);
                libc::waitpid(holder, core::ptr::null_mut(), 0);
            }
            assert_eq!(sleeper.join().unwrap(), Ok(()));
        });
    }
}
