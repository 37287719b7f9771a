//! A mutex of ours that libc takes over: every interleaving of threads that use it through hooks, of the one that begins the
//! hand-over, and of code that calls libc directly. Checked: one owner at a time, its writes are seen by the next owner,
//! no thread waits for ever, a thread that is not the owner is refused, and both locks are free in the end. The planted
//! bugs are hooks that leave out or exchange steps.

use crate::handover::two_locks::{OwnerCheck, TwoLocks, is_libcs_by_now, move_held_to_libc, move_to_libc};
use crate::{HandOver, RawLock, Steal};
use core::cell::Cell;
use loom::cell::UnsafeCell;
use loom::thread;
// Not loom's `Arc`, which panics a second time when it is dropped during the panic that reports a deadlock.
use std::sync::Arc;
use unspin_sync::atomic::{AtomicBool, AtomicU32, Ordering, Ordering::Relaxed};

loom::thread_local! {
    /// The number of the thread in the model.
    static ME: Cell<u32> = Cell::new(1);
}

/// The words of a mutex, as those of a `pthread_mutex_t`, with data that it protects. Owner and users are written by the
/// owner, with the same ordering as there. libc's lock is modelled by one whose own models check it.
#[derive(Debug)]
struct Words {
    is_libcs: AtomicBool,
    /// How the tag is read and stored. Planted bug: Relaxed.
    tag_order: [Ordering; 2],
    ours: Steal,
    libcs: Steal,
    owner: AtomicU32,
    users: AtomicU32,
    data: UnsafeCell<u32>,
}

/// A mutex and whether its hand-over has begun.
struct World {
    words: Words,
    hand_over: HandOver,
    check: OwnerCheck,
}

// SAFETY: the data is used under the mutex; the models check that it excludes.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

/// A planted mistake.
#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    None,
    /// A thread that has acquired our lock does not look for the hand-over.
    DoesNotLook,
    /// A thread that moves a mutex that it holds releases our lock before it has libc's.
    ReleasesOursFirst,
    /// Such a thread stores the tag before it has libc's lock.
    StoresTheTagFirst,
    /// A release goes to our lock whenever that is locked.
    JudgesByOurLock,
    /// A release does not compare the owner.
    ComparesNoOwner,
}

impl TwoLocks for &Words {
    fn is_libcs(self) -> bool {
        self.is_libcs.load(self.tag_order[0])
    }

    fn make_libcs(self) {
        self.is_libcs.store(true, self.tag_order[1]);
    }

    fn has_libcs_locked(self) -> bool {
        self.libcs.is_locked()
    }

    fn has_ours_locked(self) -> bool {
        self.ours.is_locked()
    }

    unsafe fn unlock_ours(self) {
        // SAFETY: the caller's promise.
        unsafe { self.ours.unlock() };
    }

    fn is_mine(self) -> bool {
        // Relaxed, here and below: as in a `pthread_mutex_t`.
        self.owner.load(Relaxed) == me()
    }

    fn disown(self) {
        self.owner.store(0, Relaxed);
        self.add_users(u32::MAX);
    }

    fn depth(self) -> u32 {
        0
    }

    fn set_depth(self, _: u32) {}
}

fn me() -> u32 {
    ME.with(Cell::get)
}

impl Words {
    fn own(&self) {
        self.owner.store(me(), Relaxed);
        self.add_users(1);
    }

    fn add_users(&self, users: u32) {
        self.users.store(self.users.load(Relaxed).wrapping_add(users), Relaxed);
    }

    /// libc's pthread_mutex_lock(3).
    fn libc_lock(&self) {
        self.libcs.lock(&mut Default::default());
        self.own();
    }

    /// libc's pthread_mutex_unlock(3).
    fn libc_unlock(&self) {
        self.disown();
        // SAFETY: the program releases the mutex.
        unsafe { self.libcs.unlock() };
    }
}

impl World {
    /// The hook of pthread_mutex_lock(3).
    fn lock(&self, mistake: Mistake) {
        let words = &self.words;
        if words.is_libcs() {
            return words.libc_lock();
        }
        words.ours.lock(&mut Default::default());
        if mistake == Mistake::DoesNotLook || !self.hand_over.has_begun() {
            return words.own();
        }
        move_to_libc(words, || words.libc_lock());
    }

    /// The hook of pthread_mutex_unlock(3). Returns whether the mutex was released.
    fn unlock(&self, mistake: Mistake) -> bool {
        let words = &self.words;
        let checks = self.check != OwnerCheck::None && mistake != Mistake::ComparesNoOwner;
        // libc's function, where the tag is libc's, or is by now.
        let in_libc = || {
            let is_refused = checks && !words.is_mine();
            if !is_refused {
                words.libc_unlock();
            }
            !is_refused
        };
        if words.is_libcs() {
            return in_libc();
        }
        let is_libcs = match mistake {
            Mistake::JudgesByOurLock => !words.ours.is_locked(),
            _ => is_libcs_by_now(words, &self.hand_over),
        };
        if is_libcs {
            return in_libc();
        }
        if checks && !words.is_mine() {
            return false;
        }
        words.disown();
        // SAFETY: the program releases the mutex.
        unsafe { words.ours.unlock() };
        true
    }

    /// Adds one, and returns the sum. Loom reports two threads at a time as a causality violation.
    fn write(&self) -> u32 {
        // SAFETY: the model checks that the access is exclusive.
        self.words.data.with_mut(|data| unsafe {
            *data += 1;
            *data
        })
    }

    fn hold(&self, mistake: Mistake) {
        self.lock(mistake);
        self.write();
        assert!(self.unlock(mistake), "the owner is refused");
    }

    /// Code that calls libc directly.
    fn hold_in_libc(&self) {
        self.words.libc_lock();
        self.write();
        self.words.libc_unlock();
    }

    /// A hold that begins a wait for a condition of libc, which releases the mutex.
    fn hold_and_wait_in_libc(&self, mistake: Mistake) {
        self.lock(Mistake::None);
        let written = self.write();
        if !self.hand_over.has_begun() {
            self.write();
            return assert!(self.unlock(Mistake::None));
        }
        let words = &self.words;
        match mistake {
            // As `move_held_to_libc`, if another thread has not moved it.
            Mistake::ReleasesOursFirst if !words.is_libcs() => {
                words.disown();
                words.make_libcs();
                // SAFETY: this thread holds the mutex.
                unsafe { words.ours.unlock() };
                words.libc_lock();
            }
            Mistake::StoresTheTagFirst if !words.is_libcs() => {
                words.disown();
                move_to_libc(words, || words.libc_lock());
            }
            _ if words.is_libcs() => {}
            _ => move_held_to_libc(words, self.check, &self.hand_over, || words.libc_lock()),
        }
        // libc's wait has not begun.
        assert_eq!(self.write(), written + 1, "another thread has had the mutex");
        words.libc_unlock();
    }
}

/// What one thread of a model does.
type Act = Box<dyn Fn(&World) + Send + Sync>;

fn act(act: impl Fn(&World) + Send + Sync + 'static) -> Act {
    Box::new(act)
}

/// Runs the acts concurrently, the first one in the model's own thread, then checks what they leave.
fn explore(
    check: OwnerCheck,
    preemptions: usize,
    writes: u32,
    acts: impl Fn() -> Vec<Act> + Send + Sync + 'static,
) {
    explore_with([Ordering::Acquire, Ordering::Release], check, preemptions, writes, acts);
}

/// [`explore`], with this order of reads and stores of the tag.
fn explore_with(
    tag_order: [Ordering; 2],
    check: OwnerCheck,
    preemptions: usize,
    writes: u32,
    acts: impl Fn() -> Vec<Act> + Send + Sync + 'static,
) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(move || {
        let words = Words {
            is_libcs: AtomicBool::new(false),
            tag_order,
            ours: Steal::new(),
            libcs: Steal::new(),
            owner: AtomicU32::new(0),
            users: AtomicU32::new(0),
            data: UnsafeCell::new(0),
        };
        let world = Arc::new(World { words, hand_over: HandOver::default(), check });
        let mut acts = acts().into_iter();
        let first = acts.next().expect("a model has a thread");
        let others: Vec<_> = (2..)
            .zip(acts)
            .map(|(number, act)| {
                let world = world.clone();
                thread::spawn(move || {
                    ME.with(|me| me.set(number));
                    act(&world);
                })
            })
            .collect();
        first(&world);
        others.into_iter().for_each(|other| other.join().unwrap());
        let words = &world.words;
        assert!(!words.ours.is_locked() && !words.libcs.is_locked(), "a lock is held for ever");
        assert_eq!((words.owner.load(Relaxed), words.users.load(Relaxed)), (0, 0));
        // SAFETY: the other threads have ended.
        words.data.with(|data| assert_eq!(unsafe { *data }, writes));
    });
}

/// The thread that lets code in which calls libc directly uses the mutex afterwards, and then such code does.
fn handed_over(check: OwnerCheck, mistake: Mistake) {
    explore(check, 3, 3, move || {
        vec![
            act(move |world| {
                world.hand_over.begin();
                world.hold(Mistake::None);
                world.hold_in_libc();
            }),
            act(move |world| world.hold(mistake)),
        ]
    });
}

#[test]
fn threads_exclude_each_other_while_a_mutex_is_handed_over() {
    handed_over(OwnerCheck::None, Mistake::None);
    handed_over(OwnerCheck::LockedAndOwner, Mistake::None);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn planted_owner_does_not_look_for_the_hand_over() {
    handed_over(OwnerCheck::None, Mistake::DoesNotLook);
}

/// Two threads use the mutex through hooks, at any moment of the hand-over.
fn moved_one_after_another(tag_order: [Ordering; 2]) {
    explore_with(tag_order, OwnerCheck::None, 2, 3, || {
        vec![
            act(|world| {
                world.hand_over.begin();
                world.hold(Mistake::None);
            }),
            act(|world| world.hold(Mistake::None)),
            act(|world| world.hold(Mistake::None)),
        ]
    });
}

#[test]
fn waiters_of_our_lock_move_to_libcs_one_after_another() {
    moved_one_after_another([Ordering::Acquire, Ordering::Release]);
}

/// A thread that reads libc's tag before the thread that has stored it has libc's lock.
#[test]
#[should_panic(expected = "Causality violation")]
fn planted_tag_without_order_hides_the_last_owners_writes() {
    moved_one_after_another([Relaxed; 2]);
}

/// Code that calls libc directly has locked the mutex, and releases it by a hook, while a thread acquires it.
fn released_by_a_hook(mistake: Mistake) {
    explore(OwnerCheck::None, 3, 2, move || {
        vec![
            act(move |world| {
                world.hand_over.begin();
                world.words.libc_lock();
                world.write();
                assert!(world.unlock(mistake));
            }),
            act(|world| {
                // As a thread of the program that has met the other one since.
                while !world.hand_over.has_begun() {
                    thread::yield_now();
                }
                world.hold(Mistake::None);
            }),
        ]
    });
}

#[test]
fn mutex_that_libc_has_locked_is_released_by_libc() {
    released_by_a_hook(Mistake::None);
}

#[test]
#[should_panic(expected = "deadlock")]
fn planted_release_judges_by_our_lock_alone() {
    released_by_a_hook(Mistake::JudgesByOurLock);
}

/// A thread releases an errorcheck mutex that it does not own, at any moment of the hand-over.
fn foreign_release_is_refused(mistake: Mistake) {
    explore(OwnerCheck::LockedAndOwner, 2, 2, move || {
        vec![
            act(|world| {
                world.lock(Mistake::None);
                world.hand_over.begin();
                world.write();
                assert!(world.unlock(Mistake::None), "the owner is refused");
            }),
            act(move |world| assert!(!world.unlock(mistake), "another thread releases the mutex")),
            act(|world| world.hold(Mistake::None)),
        ]
    });
}

#[test]
fn errorcheck_mutex_is_released_by_its_owner_only() {
    foreign_release_is_refused(Mistake::None);
}

#[test]
#[should_panic(expected = "another thread releases the mutex")]
fn planted_release_compares_no_owner() {
    foreign_release_is_refused(Mistake::ComparesNoOwner);
}

/// The owner moves a mutex that it holds, to wait for a condition of libc.
fn moved_while_held(mistake: Mistake) {
    explore(OwnerCheck::None, 3, 3, move || {
        vec![
            act(move |world| world.hold_and_wait_in_libc(mistake)),
            act(|world| {
                world.hand_over.begin();
                world.hold(Mistake::None);
            }),
        ]
    });
}

#[test]
fn owner_keeps_the_mutex_that_it_moves() {
    moved_while_held(Mistake::None);
}

#[test]
#[should_panic(expected = "another thread has had the mutex")]
fn planted_owner_releases_our_lock_before_it_has_libcs() {
    moved_while_held(Mistake::ReleasesOursFirst);
}

#[test]
#[should_panic(expected = "another thread has had the mutex")]
fn planted_owner_stores_the_tag_before_it_has_libcs_lock() {
    moved_while_held(Mistake::StoresTheTagFirst);
}
