//! A read-write lock of ours that libc takes over: every interleaving of threads that use it through hooks, of the one that
//! begins the hand-over, and of code that calls libc directly. Checked: a writer excludes all others, its writes are seen by the
//! next holder, no thread waits for ever, and both locks are free in the end. The planted bugs are hooks that leave out steps.

use crate::handover::two_rw_locks::{GoesOn, Held, TwoRwLocks, held, reader_goes_on, writer_goes_on};
use crate::{HandOver, Refused, Waited};
use core::cell::Cell;
use loom::cell::UnsafeCell;
use loom::sync::{Condvar, Mutex, MutexGuard};
use loom::thread;
// Not loom's `Arc`, which panics a second time when it is dropped during the panic that reports a deadlock.
use std::sync::Arc;
use unspin_sync::atomic::{AtomicBool, AtomicU32, Ordering, Ordering::Relaxed};

loom::thread_local! {
    /// The number of the thread in the model.
    static ME: Cell<u32> = Cell::new(1);
}

/// A lock as simple as possible.
#[derive(Default)]
struct Simple {
    /// The number of readers, or [`WRITER`].
    state: Mutex<u32>,
    released: Condvar,
}

const WRITER: u32 = u32::MAX;

impl Simple {
    fn state(&self) -> MutexGuard<'_, u32> {
        self.state.lock().unwrap()
    }

    fn read(&self) {
        let mut state = self.state();
        while *state == WRITER {
            state = self.released.wait(state).unwrap();
        }
        *state += 1;
    }

    fn try_write(&self) -> bool {
        let mut state = self.state();
        let is_free = *state == 0;
        if is_free {
            *state = WRITER;
        }
        is_free
    }

    fn write(&self) {
        let mut state = self.state();
        while *state != 0 {
            state = self.released.wait(state).unwrap();
        }
        *state = WRITER;
    }

    fn unlock_read(&self) {
        *self.state() -= 1;
        self.released.notify_all();
    }

    fn unlock_write(&self) {
        *self.state() = 0;
        self.released.notify_all();
    }

    fn readers(&self) -> u32 {
        Some(*self.state()).filter(|&state| state != WRITER).unwrap_or(0)
    }

    fn is_write_locked(&self) -> bool {
        *self.state() == WRITER
    }
}

/// A lock and whether its hand-over has begun.
struct World {
    is_libcs: AtomicBool,
    /// How the tag is read and stored. Planted bug: Relaxed.
    tag_order: [Ordering; 2],
    ours: Simple,
    libcs: Simple,
    /// The thread that is noted as the writer.
    writer: AtomicU32,
    data: UnsafeCell<u32>,
    hand_over: HandOver,
}

// SAFETY: the data is used under the lock; the models check that it excludes.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

/// A planted mistake.
#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    None,
    /// A writer that has acquired our lock does not look for the hand-over.
    WriterDoesNotLook,
    /// A reader stores the tag while it shares our lock.
    ReaderStoresTheTag,
    /// A reader that has acquired our lock again does not look at the tag.
    ReaderDoesNotLookAgain,
}

fn me() -> u32 {
    ME.with(Cell::get)
}

impl TwoRwLocks for &World {
    fn is_libcs(self) -> bool {
        self.is_libcs.load(self.tag_order[0])
    }

    fn make_libcs(self) {
        self.is_libcs.store(true, self.tag_order[1]);
    }

    fn holds_for_reading(self) -> bool {
        false
    }

    fn is_mine(self) -> bool {
        // Relaxed, here and below: as in a `pthread_rwlock_t`.
        self.writer.load(Relaxed) == me()
    }

    fn has_writer(self) -> bool {
        self.writer.load(Relaxed) != 0
    }

    fn has_libcs_write_locked(self) -> bool {
        self.libcs.is_write_locked()
    }

    fn libcs_readers(self) -> u32 {
        self.libcs.readers()
    }

    fn has_ours_write_locked(self) -> bool {
        self.ours.is_write_locked()
    }

    fn readers_of_ours(self) -> u32 {
        self.ours.readers()
    }

    unsafe fn unlock_read_ours(self) {
        self.ours.unlock_read();
    }

    unsafe fn unlock_write_ours(self) {
        self.ours.unlock_write();
    }
}

impl World {
    /// libc's functions.
    fn libc_write(&self) {
        self.libcs.write();
        self.writer.store(me(), Relaxed);
    }

    fn libc_unlock(&self) {
        if self.writer.load(Relaxed) == me() {
            self.writer.store(0, Relaxed);
            self.libcs.unlock_write();
        } else {
            self.libcs.unlock_read();
        }
    }

    /// The hook of pthread_rwlock_wrlock(3).
    fn write(&self, mistake: Mistake) {
        if self.is_libcs() {
            return self.libc_write();
        }
        self.ours.write();
        if mistake == Mistake::WriterDoesNotLook || !self.hand_over.has_begun() {
            return self.writer.store(me(), Relaxed);
        }
        writer_goes_on(self);
        self.libc_write();
    }

    /// The hook of pthread_rwlock_rdlock(3).
    fn read(&self, mistake: Mistake) {
        if self.is_libcs() {
            return self.libcs.read();
        }
        self.ours.read();
        if !self.hand_over.has_begun() {
            return;
        }
        let exclusive = || self.ours.try_write();
        let again = || {
            self.ours.read();
            Ok(Waited::No)
        };
        let goes_on = match mistake {
            Mistake::ReaderStoresTheTag => {
                self.make_libcs();
                self.ours.unlock_read();
                Ok(GoesOn::WithLibcs)
            }
            Mistake::ReaderDoesNotLookAgain => {
                self.ours.unlock_read();
                match exclusive() {
                    true => {
                        writer_goes_on(self);
                        Ok(GoesOn::WithLibcs)
                    }
                    false => again().map(GoesOn::WithOurs),
                }
            }
            Mistake::None | Mistake::WriterDoesNotLook => reader_goes_on(self, exclusive, again),
        };
        match goes_on {
            Ok(GoesOn::WithOurs(_)) => {}
            Ok(GoesOn::WithLibcs) => self.libcs.read(),
            Err(Refused::Busy | Refused::TooManyReaders) => unreachable!("`again` waits"),
        }
    }

    /// The hook of pthread_rwlock_unlock(3).
    fn unlock(&self) {
        if self.is_libcs() {
            return self.libc_unlock();
        }
        let held = match self.hand_over.has_begun() {
            true => held(self),
            false if self.has_writer() => Held::OursForWriting,
            false => Held::OursForReading,
        };
        match held {
            Held::Libcs => self.libc_unlock(),
            Held::OursForWriting => {
                self.writer.store(0, Relaxed);
                self.ours.unlock_write();
            }
            Held::OursForReading => self.ours.unlock_read(),
        }
    }

    fn add_one(&self) {
        // SAFETY: the model checks that the access is exclusive.
        self.data.with_mut(|data| unsafe { *data += 1 });
    }

    fn hold_for_writing(&self, mistake: Mistake) {
        self.write(mistake);
        self.add_one();
        self.unlock();
    }

    fn hold_for_reading(&self, mistake: Mistake) {
        self.read(mistake);
        // SAFETY: the model checks that no thread writes.
        self.data.with(|data| assert!(unsafe { *data } <= 3));
        self.unlock();
    }

    /// Code that calls libc directly.
    fn hold_in_libc(&self) {
        self.libc_write();
        self.add_one();
        self.libc_unlock();
    }
}

/// What one thread of a model does.
type Act = Box<dyn Fn(&World) + Send + Sync>;

fn act(act: impl Fn(&World) + Send + Sync + 'static) -> Act {
    Box::new(act)
}

/// Runs the acts concurrently, the first one in the model's own thread, then checks what they leave.
fn explore(
    tag_order: [Ordering; 2],
    preemptions: usize,
    writes: u32,
    acts: impl Fn() -> Vec<Act> + Send + Sync + 'static,
) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(move || {
        let world = Arc::new(World {
            is_libcs: AtomicBool::new(false),
            tag_order,
            ours: Simple::default(),
            libcs: Simple::default(),
            writer: AtomicU32::new(0),
            data: UnsafeCell::new(0),
            hand_over: HandOver::default(),
        });
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
        assert_eq!((*world.ours.state(), *world.libcs.state()), (0, 0), "a lock is held for ever");
        assert!(!(&*world).has_writer());
        // SAFETY: the other threads have ended.
        world.data.with(|data| assert_eq!(unsafe { *data }, writes));
    });
}

const ORDERED: [Ordering; 2] = [Ordering::Acquire, Ordering::Release];

/// The thread that lets code in which calls libc directly uses the lock afterwards, and then such code does.
fn handed_over(mistake: Mistake) {
    explore(ORDERED, 3, 3, move || {
        vec![
            act(|world| {
                world.hand_over.begin();
                world.hold_for_writing(Mistake::None);
                world.hold_in_libc();
            }),
            act(move |world| {
                world.hold_for_reading(mistake);
                world.hold_for_writing(mistake);
            }),
        ]
    });
}

#[test]
fn holders_exclude_each_other_while_a_lock_is_handed_over() {
    handed_over(Mistake::None);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn planted_writer_does_not_look_for_the_hand_over() {
    handed_over(Mistake::WriterDoesNotLook);
}

/// Two readers and a writer use the lock through hooks, at any moment of the hand-over.
fn moved_by_any(tag_order: [Ordering; 2], mistake: Mistake) {
    explore(tag_order, 2, 1, move || {
        vec![
            act(move |world| {
                world.hand_over.begin();
                world.hold_for_reading(mistake);
            }),
            act(move |world| world.hold_for_reading(mistake)),
            act(|world| world.hold_for_writing(Mistake::None)),
        ]
    });
}

#[test]
fn readers_move_a_lock_beside_each_other_and_a_writer() {
    moved_by_any(ORDERED, Mistake::None);
}

/// The other reader is still in our lock, and releases libc's.
#[test]
#[should_panic(expected = "Causality violation")]
fn planted_reader_stores_the_tag_while_it_shares_our_lock() {
    moved_by_any(ORDERED, Mistake::ReaderStoresTheTag);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn planted_reader_does_not_look_at_the_tag_again() {
    moved_by_any(ORDERED, Mistake::ReaderDoesNotLookAgain);
}

/// A thread that reads libc's tag goes to libc's lock, which orders nothing of what was done by ours.
#[test]
#[should_panic(expected = "Causality violation")]
fn planted_tag_without_order_hides_the_last_writers_writes() {
    explore([Relaxed; 2], 2, 2, || {
        vec![
            act(|world| {
                world.hand_over.begin();
                world.hold_for_writing(Mistake::None);
            }),
            act(|world| world.hold_for_writing(Mistake::None)),
            act(|world| world.hold_for_reading(Mistake::None)),
        ]
    });
}

/// Code that calls libc directly has acquired the lock, and releases it by a hook, while a thread moves it.
#[test]
fn lock_that_libc_has_locked_is_released_by_libc() {
    explore(ORDERED, 3, 1, || {
        vec![
            act(|world| {
                world.hand_over.begin();
                world.libc_write();
                world.add_one();
                world.unlock();
            }),
            act(|world| {
                // As a thread of the program that has met the other one since.
                while !world.hand_over.has_begun() {
                    thread::yield_now();
                }
                world.hold_for_reading(Mistake::None);
            }),
        ]
    });
}
