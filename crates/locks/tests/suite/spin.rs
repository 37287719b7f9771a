//! The spin lock in real threads: more of them than CPUs, an owner that does not run, other threads' releases, children, and
//! code that uses libc's spin lock in the same word.

use core::cell::UnsafeCell;
use core::time::Duration;
use std::sync::Barrier;
use std::sync::mpsc::channel;
use std::thread;
use unspin_locks::spin::{Attempted, FreeAs};
use unspin_locks::{AdaptiveSpin, Waited};

/// A lock, and twice the same number: a thread without exclusive access sees or causes a difference.
struct Guarded {
    lock: AdaptiveSpin,
    numbers: UnsafeCell<[u64; 2]>,
}

// SAFETY: the numbers are used under the lock only.
unsafe impl Sync for Guarded {}

impl Guarded {
    /// Leaked on purpose, as the other locks of this suite.
    fn new() -> &'static Guarded {
        Box::leak(Box::new(Guarded { lock: AdaptiveSpin::new(), numbers: UnsafeCell::new([0; 2]) }))
    }

    /// The word as libc's.
    fn libcs(&self) -> *mut libc::pthread_spinlock_t {
        (&raw const self.lock).cast_mut().cast()
    }

    fn lock(&self) -> Waited {
        self.lock.lock().expect("the lock is not libc's")
    }

    fn unlock(&self) {
        // SAFETY: the caller holds the lock, or misuses it on purpose and has no data.
        assert!(unsafe { self.lock.unlock() }, "the lock is not libc's");
    }

    /// Adds one, under the lock; panics if another thread is inside too.
    fn add(&self) {
        // SAFETY: the caller holds the lock. If locks do not exclude, it shows here.
        let numbers = unsafe { &mut *self.numbers.get() };
        let before = core::hint::black_box(numbers[0]);
        assert_eq!(before, numbers[1], "another thread is in here");
        numbers[0] = before + 1;
        core::hint::black_box(&mut *numbers);
        numbers[1] = before + 1;
    }

    fn sum(&self) -> u64 {
        // SAFETY: no thread adds any more.
        unsafe { (*self.numbers.get())[0] }
    }
}

#[test]
fn sixty_four_threads_finish() {
    let _others = crate::beside_others();
    let guarded = Guarded::new();
    let (threads, rounds) = (64, 2_000);
    thread::scope(|s| {
        for _ in 0..threads {
            s.spawn(|| {
                for _ in 0..rounds {
                    guarded.lock();
                    guarded.add();
                    guarded.unlock();
                }
            });
        }
    });
    assert_eq!(guarded.sum(), threads * rounds);
    assert!(!guarded.lock.is_locked());
}

/// Owners that give up their CPU, and attempts that do not wait.
#[test]
fn owners_that_do_not_run_are_waited_for_asleep() {
    let _others = crate::beside_others();
    let guarded = Guarded::new();
    let acquired: u64 = thread::scope(|s| {
        let counts: Vec<_> = (0..16)
            .map(|number| {
                s.spawn(move || {
                    let mut acquired = 0;
                    for round in 0..300 {
                        if (number + round) % 4 == 0 {
                            if guarded.lock.try_lock() != Attempted::Acquired {
                                continue;
                            }
                        } else {
                            guarded.lock();
                        }
                        guarded.add();
                        acquired += 1;
                        if round % 16 == 0 {
                            thread::yield_now();
                        }
                        guarded.unlock();
                    }
                    acquired
                })
            })
            .collect();
        counts.into_iter().map(|count| count.join().unwrap()).sum()
    });
    assert_eq!(guarded.sum(), acquired);
}

#[test]
fn waiter_of_a_long_hold_sleeps_and_is_woken() {
    let _others = crate::beside_others();
    let mut held = Duration::from_millis(20);
    loop {
        let guarded = Guarded::new();
        guarded.lock();
        let (started, is_started) = channel();
        let waited = thread::scope(|s| {
            let waiter = s.spawn(|| {
                started.send(()).unwrap();
                let waited = guarded.lock();
                guarded.unlock();
                waited
            });
            is_started.recv().unwrap();
            thread::sleep(held);
            guarded.unlock();
            waiter.join().unwrap()
        });
        if waited == Waited::Slept {
            return;
        }
        // On a busy machine the waiter may have come after the release.
        assert!(held < Duration::from_secs(60), "{waited:?} while the lock was held for {held:?}");
        held *= 2;
    }
}

#[test]
fn another_thread_may_release() {
    let _others = crate::beside_others();
    let guarded = Guarded::new();
    assert_eq!(guarded.lock(), Waited::No);
    thread::scope(|s| {
        let waiter = s.spawn(|| guarded.lock());
        thread::sleep(Duration::from_millis(10));
        s.spawn(|| guarded.unlock()).join().unwrap();
        waiter.join().unwrap();
    });
    assert!(guarded.lock.is_locked());
    guarded.unlock();
    guarded.unlock();
    assert_eq!(guarded.lock.try_lock(), Attempted::Acquired);
}

/// A thread that forks while it holds the lock and others wait: the child uses the lock alone and with threads of its own.
#[test]
fn forked_child_is_not_blocked_by_its_parents_waiters() {
    let _alone = crate::alone();
    for round in 0..10 {
        let guarded = Guarded::new();
        let begun = Barrier::new(5);
        thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    begun.wait();
                    for _ in 0..300 {
                        guarded.lock();
                        guarded.add();
                        guarded.unlock();
                    }
                });
            }
            begun.wait();
            thread::sleep(Duration::from_micros(round * 100));
            guarded.lock();
            thread::sleep(Duration::from_micros(round * 100));
            // SAFETY: the child uses this lock, its own threads and their memory; glibc makes its allocator usable in a
            // child.
            let child = unsafe { libc::fork() };
            if child == 0 {
                // SAFETY: a child that hangs is killed by the alarm, and its parent sees that.
                unsafe { libc::alarm(600) };
                thread::scope(|s| {
                    for _ in 0..2 {
                        s.spawn(|| {
                            guarded.lock();
                            guarded.add();
                            guarded.unlock();
                        });
                    }
                    thread::sleep(Duration::from_millis(1));
                    guarded.unlock();
                });
                // SAFETY: ends the child, which must not return into the tests.
                unsafe { libc::_exit(0) }
            }
            guarded.unlock();
            let mut status = 0;
            // SAFETY: our child, a live int.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            assert_eq!(status, 0, "the child found its lock unusable");
        });
        assert_eq!(guarded.sum(), 1_200);
    }
}

/// Threads that call libc directly beside threads that use our lock, from before the hand-over on.
#[test]
fn libcs_lock_in_the_same_word_excludes() {
    let _others = crate::beside_others();
    for _ in 0..20 {
        let guarded = Guarded::new();
        guarded.lock();
        let rounds = 200;
        let by_hook = || {
            for _ in 0..rounds {
                if guarded.lock.lock().is_none() {
                    // SAFETY: a live lock.
                    unsafe { libc::pthread_spin_lock(guarded.libcs()) };
                }
                guarded.add();
                // SAFETY: the thread holds the lock.
                match unsafe { guarded.lock.release(FreeAs::Libcs) } {
                    Some(sleepers) => AdaptiveSpin::wake(&guarded.lock, sleepers),
                    // SAFETY: likewise.
                    None => drop(unsafe { libc::pthread_spin_unlock(guarded.libcs()) }),
                }
            }
        };
        let by_libc = || {
            for _ in 0..rounds {
                // SAFETY: a live lock, which this thread releases.
                unsafe {
                    libc::pthread_spin_lock(guarded.libcs());
                    guarded.add();
                    libc::pthread_spin_unlock(guarded.libcs());
                }
            }
        };
        thread::scope(|s| {
            (0..3).for_each(|_| drop(s.spawn(by_hook)));
            (0..3).for_each(|_| drop(s.spawn(by_libc)));
            thread::sleep(Duration::from_millis(2));
            guarded.unlock();
        });
        assert_eq!(guarded.sum(), 6 * rounds);
        assert_eq!(guarded.lock.try_lock(), Attempted::Libcs);
    }
}

/// libc's release wakes no sleeper. A sleep has a limit.
#[test]
fn release_by_libc_ends_the_wait() {
    let _others = crate::beside_others();
    let guarded = Guarded::new();
    guarded.lock();
    thread::scope(|s| {
        let waiters: Vec<_> = (0..4).map(|_| s.spawn(|| guarded.lock.lock())).collect();
        thread::sleep(Duration::from_millis(10));
        // SAFETY: a live lock, which this thread holds.
        unsafe { libc::pthread_spin_unlock(guarded.libcs()) };
        assert!(waiters.into_iter().all(|waiter| waiter.join().unwrap().is_none()));
    });
}
