//! A read-write lock that contains a lock of ours.
//!
//! The return values, and the order in which a call looks at its arguments and at the lock, are glibc's
//! (nptl/pthread_rwlock_common.c, pthread_rwlock_tryrdlock.c, pthread_rwlock_trywrlock.c): a deadline is checked even if
//! the lock is free, and the writer is refused before it waits. A call that acquires the lock at once need not compare the
//! writer, as there is none.
//!
//! Once code [bypasses](crate::bypass) the hooks, a lock must be libc's for everyone ([`two_rw_locks`] has the protocol). So
//! each acquisition of our lock looks afterwards whether there is such code.

use super::algorithm::Algorithm;
use super::moving::{SOON, exclusively};
use super::tag::Tag;
use super::{acquire_libcs, read_deadline};
use crate::bypass;
use crate::glibc::mutex::current_tid;
use crate::glibc::rwlock::{Mode, Reading, RwLockLayout, Writing};
use crate::swap::acquisition::Acquisition;
use crate::swap::deadline::Deadline;
use crate::swap::own_tally;
use crate::swap::plan::LockFamily;
use core::ffi::c_int;
use libc::{EAGAIN, EBUSY, EDEADLK, EINVAL, ETIMEDOUT};
use unspin_locks::handover::two_rw_locks::{self, GoesOn, Held, TwoRwLocks};
use unspin_locks::{Recursion, Refused, Until, Waited};

/// A read-write lock that contains a lock of ours, beside libc's.
#[derive(Clone, Copy)]
pub struct ReplacedRwLock<'lock> {
    /// The words of the `pthread_rwlock_t`.
    pub words: &'lock RwLockLayout,
    /// The operations of the lock.
    pub algorithm: &'static Algorithm,
    /// Whether a thread may acquire for reading what it holds already.
    pub recursion: Recursion,
}

/// Notes how a thread has waited.
fn noted(waited: Waited) -> Waited {
    own_tally::note(LockFamily::RwLock, waited);
    waited
}

impl ReplacedRwLock<'_> {
    /// pthread_rwlock_clockrdlock(3) or pthread_rwlock_clockwrlock(3).
    #[inline(always)]
    pub fn acquire<M: Mode>(self, deadline: Option<Deadline>) -> Acquisition {
        let Some(until) = read_deadline(deadline) else { return Acquisition::with_code(EINVAL) };
        if M::IS_READING { self.read(until, deadline) } else { self.write(until, deadline) }
    }

    /// pthread_rwlock_tryrdlock(3) or pthread_rwlock_trywrlock(3).
    #[inline(always)]
    pub fn try_lock<M: Mode>(self) -> c_int {
        if M::IS_READING { self.try_read() } else { self.try_write() }
    }

    #[inline(always)]
    fn read(self, until: Option<Until>, deadline: Option<Deadline>) -> Acquisition {
        let waited = match (self.algorithm.read_now)(self.words, self.recursion) {
            Ok(()) => Ok(Waited::No),
            Err(Refused::Busy) if self.words.is_written_by(current_tid()) => {
                return Acquisition::with_code(EDEADLK);
            }
            Err(Refused::Busy) => (self.algorithm.read)(self.words, self.recursion, until).map(noted),
            Err(refused) => Err(refused),
        };
        match waited {
            Ok(_) if bypass::exists() => self.read_during_hand_over(until, deadline),
            Ok(waited) => Acquisition::success(waited),
            Err(refused) => Acquisition::with_code(code(refused, ETIMEDOUT)),
        }
    }

    #[inline(always)]
    fn write(self, until: Option<Until>, deadline: Option<Deadline>) -> Acquisition {
        let waited = if (self.algorithm.try_write)(self.words) {
            Waited::No
        } else if self.words.is_written_by(current_tid()) {
            return Acquisition::with_code(EDEADLK);
        } else {
            match (self.algorithm.write)(self.words, until) {
                Some(waited) => noted(waited),
                None => return Acquisition::with_code(ETIMEDOUT),
            }
        };
        if bypass::exists() {
            two_rw_locks::writer_goes_on(self);
            return Acquisition::by_libc(acquire_libcs::<Writing>(self.words, deadline));
        }
        self.words.own(current_tid());
        Acquisition::success(waited)
    }

    /// One attempt of a call that may block.
    #[inline(always)]
    pub fn try_first<M: Mode>(self) -> c_int {
        match M::IS_READING {
            true => self.finish_try_read((self.algorithm.read_now)(self.words, self.recursion)),
            false => self.try_write(),
        }
    }

    #[inline(always)]
    fn try_read(self) -> c_int {
        self.finish_try_read((self.algorithm.try_read)(self.words, self.recursion))
    }

    #[inline(always)]
    fn finish_try_read(self, tried: Result<(), Refused>) -> c_int {
        if bypass::exists() {
            return self.try_read_during_hand_over(tried);
        }
        tried.map_or_else(|refused| code(refused, EBUSY), |()| 0)
    }

    #[inline(always)]
    fn try_write(self) -> c_int {
        if bypass::exists() {
            return self.try_write_during_hand_over();
        }
        if !(self.algorithm.try_write)(self.words) {
            return EBUSY;
        }
        self.finish_try_write()
    }

    /// To be called after the thread has acquired our lock for writing in one attempt.
    #[inline(always)]
    pub fn finish_try_write(self) -> c_int {
        if bypass::exists() {
            two_rw_locks::writer_goes_on(self);
            return Writing::trylock(self.words);
        }
        self.words.own(current_tid());
        0
    }

    /// pthread_rwlock_unlock(3).
    #[inline(always)]
    pub fn unlock(self) -> c_int {
        if bypass::exists() {
            return self.unlock_during_hand_over();
        }
        // While this thread has the lock for reading, no thread is noted as the writer.
        if self.words.has_writer() {
            self.words.disown();
            // SAFETY: the program releases the lock; a thread that releases a lock that another thread holds is responsible
            // for the result.
            unsafe { (self.algorithm.unlock_write)(self.words) };
        } else {
            // SAFETY: as above.
            unsafe { (self.algorithm.unlock_read)(self.words) };
        }
        0
    }

    /// Goes on after the thread has acquired our lock for reading.
    #[cold]
    #[inline(never)]
    pub fn read_during_hand_over(self, until: Option<Until>, deadline: Option<Deadline>) -> Acquisition {
        let goes_on = two_rw_locks::reader_goes_on(
            self,
            || exclusively(self.words, self.algorithm, until),
            || self.read_beside_movers(until),
        );
        match goes_on {
            Ok(GoesOn::WithOurs(waited)) => Acquisition::success(waited),
            Ok(GoesOn::WithLibcs) => Acquisition::by_libc(acquire_libcs::<Reading>(self.words, deadline)),
            Err(refused) => Acquisition::with_code(code(refused, ETIMEDOUT)),
        }
    }

    /// Goes on after an attempt to acquire our lock for reading.
    #[cold]
    #[inline(never)]
    fn try_read_during_hand_over(self, tried: Result<(), Refused>) -> c_int {
        let tried = match tried {
            Ok(()) => Ok(Waited::No),
            Err(Refused::Busy) => self.read_beside_movers(Some(Until::after(SOON))),
            Err(refused) => Err(refused),
        };
        let goes_on = tried.and_then(|_| {
            two_rw_locks::reader_goes_on(
                self,
                || (self.algorithm.try_write)(self.words),
                || self.read_beside_movers(Some(Until::after(SOON))),
            )
        });
        match goes_on {
            Ok(GoesOn::WithOurs(_)) => 0,
            Ok(GoesOn::WithLibcs) => Reading::trylock(self.words),
            Err(refused) => code(refused, EBUSY),
        }
    }

    /// Acquires our lock for reading. A thread that moves the lock is no writer of the program: this thread waits for it even if
    /// the time is over.
    fn read_beside_movers(self, until: Option<Until>) -> Result<Waited, Refused> {
        match (self.algorithm.read)(self.words, self.recursion, until) {
            Err(Refused::Busy) if !self.words.has_writer() => {
                (self.algorithm.read)(self.words, self.recursion, Some(Until::after(SOON)))
            }
            result => result,
        }
    }

    /// A thread that moves the lock, or would, has it for a moment only: this thread waits for that.
    #[cold]
    #[inline(never)]
    fn try_write_during_hand_over(self) -> c_int {
        if self.words.has_writer() || (self.algorithm.write)(self.words, Some(Until::after(SOON))).is_none() {
            return if self.is_libcs() { Writing::trylock(self.words) } else { EBUSY };
        }
        self.finish_try_write()
    }

    #[cold]
    #[inline(never)]
    fn unlock_during_hand_over(self) -> c_int {
        match two_rw_locks::held(self) {
            Held::Libcs => return self.words.unlock(),
            Held::OursForWriting => {
                // If code that calls libc directly has overwritten the note, that is its own.
                if self.is_mine() || !self.has_libcs_write_locked() {
                    self.words.disown();
                }
                // SAFETY: as in `unlock`.
                unsafe { self.unlock_write_ours() };
            }
            // SAFETY: as in `unlock`.
            Held::OursForReading => unsafe { self.unlock_read_ours() },
        }
        0
    }
}

/// The return value for a refusal; `busy` if another thread has the lock.
fn code(refused: Refused, busy: c_int) -> c_int {
    match refused {
        Refused::Busy => busy,
        Refused::TooManyReaders => EAGAIN,
    }
}

impl TwoRwLocks for ReplacedRwLock<'_> {
    fn is_libcs(self) -> bool {
        Tag::of(self.words) == Tag::LIBC
    }

    fn make_libcs(self) {
        Tag::move_to_libc(self.words);
    }

    fn holds_for_reading(self) -> bool {
        unspin_locks::rw::holds() > 0
    }

    fn is_mine(self) -> bool {
        self.words.is_written_by(current_tid())
    }

    fn has_writer(self) -> bool {
        self.words.has_writer()
    }

    fn has_libcs_write_locked(self) -> bool {
        self.words.has_libcs_write_locked()
    }

    fn libcs_readers(self) -> u32 {
        self.words.readers()
    }

    fn has_ours_write_locked(self) -> bool {
        (self.algorithm.is_write_locked)(self.words)
    }

    fn readers_of_ours(self) -> u32 {
        (self.algorithm.readers)(self.words)
    }

    unsafe fn unlock_read_ours(self) {
        // SAFETY: the caller's promise.
        unsafe { (self.algorithm.unlock_read)(self.words) };
    }

    unsafe fn unlock_write_ours(self) {
        // SAFETY: the caller's promise.
        unsafe { (self.algorithm.unlock_write)(self.words) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glibc::rwlock::Mode;
    use libc::{CLOCK_MONOTONIC, CLOCK_REALTIME, pthread_rwlock_t, timespec};
    use unspin_locks::RwLockKind;

    /// Calls the function for a lock of each kind.
    fn each_kind(test: impl Fn(ReplacedRwLock<'_>)) {
        for algorithm in RwLockKind::ALL.into_iter().filter_map(Algorithm::of) {
            let mut object = libc::PTHREAD_RWLOCK_INITIALIZER;
            let address: *mut pthread_rwlock_t = &mut object;
            // SAFETY: a live lock.
            let words = unsafe { RwLockLayout::of(address) };
            test(ReplacedRwLock { words, algorithm, recursion: Recursion::Allowed });
            // SAFETY: a live lock. libc's own one is free, whatever was done.
            assert_eq!((Writing::trylock(words), words.unlock()), (0, 0));
        }
    }

    fn elsewhere(lock: ReplacedRwLock<'_>, call: impl FnOnce(ReplacedRwLock<'_>) -> c_int + Send) -> c_int {
        let ReplacedRwLock { words, algorithm, recursion } = lock;
        std::thread::scope(|scope| {
            scope.spawn(|| call(ReplacedRwLock { words, algorithm, recursion })).join().unwrap()
        })
    }

    fn acquire<M: Mode>(lock: ReplacedRwLock<'_>) -> c_int {
        lock.acquire::<M>(None).code
    }

    fn acquire_until<M: Mode>(lock: ReplacedRwLock<'_>, clock: c_int, tv_nsec: i64) -> c_int {
        let until = timespec { tv_sec: -1, tv_nsec };
        // SAFETY: a live time.
        lock.acquire::<M>(Some(unsafe { Deadline::new(clock, &until) })).code
    }

    #[test]
    fn writer_is_refused_where_it_would_wait_for_itself() {
        each_kind(|lock| {
            assert_eq!(acquire::<Writing>(lock), 0);
            assert!(lock.words.has_writer() && lock.words.is_written_by(current_tid()));
            assert_eq!((acquire::<Writing>(lock), acquire::<Reading>(lock)), (EDEADLK, EDEADLK));
            assert_eq!((lock.try_lock::<Writing>(), lock.try_lock::<Reading>()), (EBUSY, EBUSY));
            assert_eq!(acquire_until::<Reading>(lock, CLOCK_REALTIME, 0), EDEADLK);
            let past = |lock: ReplacedRwLock<'_>| acquire_until::<Reading>(lock, CLOCK_MONOTONIC, 0);
            assert_eq!(elsewhere(lock, past), ETIMEDOUT);
            assert_eq!((lock.unlock(), lock.words.has_writer()), (0, false));
        });
    }

    #[test]
    fn readers_share_and_keep_writers_out() {
        each_kind(|lock| {
            assert_eq!((acquire::<Reading>(lock), lock.try_lock::<Reading>()), (0, 0));
            assert_eq!(elsewhere(lock, |lock| acquire::<Reading>(lock) + lock.unlock()), 0);
            assert_eq!(lock.readers_of_ours(), 2);
            assert_eq!(elsewhere(lock, |lock| lock.try_lock::<Writing>()), EBUSY);
            let past = |lock: ReplacedRwLock<'_>| acquire_until::<Writing>(lock, CLOCK_MONOTONIC, 0);
            assert_eq!(elsewhere(lock, past), ETIMEDOUT);
            assert_eq!((lock.unlock(), lock.unlock(), lock.readers_of_ours()), (0, 0, 0));
            assert_eq!((acquire::<Writing>(lock), lock.unlock()), (0, 0));
        });
    }

    /// Another thread waits for the lock for writing. In libc's default kinds a reader overtakes it.
    #[test]
    fn reader_does_not_wait_for_ever_behind_a_writer_that_waits() {
        each_kind(|lock| {
            assert_eq!(acquire::<Reading>(lock), 0);
            let ReplacedRwLock { words, algorithm, recursion } = lock;
            std::thread::scope(|scope| {
                let lock = || ReplacedRwLock { words, algorithm, recursion };
                let writer = scope.spawn(move || acquire::<Writing>(lock()) + lock().unlock());
                // The writer waits from then on.
                while (algorithm.read_now)(words, Recursion::Excluded).is_ok() {
                    // SAFETY: acquired in the line before.
                    unsafe { (algorithm.unlock_read)(words) };
                }
                let past = move || acquire_until::<Reading>(lock(), CLOCK_MONOTONIC, 0);
                assert_eq!(scope.spawn(move || past() + lock().unlock()).join().unwrap(), 0);
                let reads = move || acquire::<Reading>(lock()) + lock().unlock();
                assert_eq!(scope.spawn(reads).join().unwrap(), 0);
                assert_eq!((lock().unlock(), writer.join().unwrap()), (0, 0));
            });
        });
    }

    #[test]
    fn deadline_is_checked_before_the_lock_and_a_free_lock_before_the_time() {
        each_kind(|lock| {
            for (clock, nanoseconds) in [(CLOCK_REALTIME, -1), (CLOCK_MONOTONIC, 1_000_000_000), (77, 0)] {
                assert_eq!(acquire_until::<Reading>(lock, clock, nanoseconds), EINVAL);
                assert_eq!(acquire_until::<Writing>(lock, clock, nanoseconds), EINVAL);
            }
            assert_eq!((acquire_until::<Reading>(lock, CLOCK_REALTIME, 0), lock.unlock()), (0, 0));
            assert_eq!((acquire_until::<Writing>(lock, CLOCK_MONOTONIC, 0), lock.unlock()), (0, 0));
        });
    }

    #[test]
    fn any_thread_releases_and_a_release_of_a_free_lock_leaves_it_free() {
        each_kind(|lock| {
            assert_eq!(acquire::<Writing>(lock), 0);
            assert_eq!(elsewhere(lock, |lock| lock.unlock()), 0);
            assert_eq!(lock.unlock(), 0);
            assert_eq!((lock.try_lock::<Writing>(), lock.unlock()), (0, 0));
            assert_eq!(acquire::<Reading>(lock), 0);
            assert_eq!(elsewhere(lock, |lock| lock.unlock()), 0);
            assert_eq!((lock.try_lock::<Writing>(), lock.unlock()), (0, 0));
        });
    }

    /// The calls of a hook that has read the tag before the hand-over began.
    #[test]
    fn reader_and_writer_move_a_lock_to_libc() {
        each_kind(|lock| {
            let waited = (lock.algorithm.try_read)(lock.words, lock.recursion);
            assert_eq!((waited, lock.read_during_hand_over(None, None).code), (Ok(()), 0));
            assert!(lock.is_libcs() && lock.readers_of_ours() == 0 && lock.words.readers() == 1);
            assert_eq!(lock.unlock_during_hand_over(), 0);
            assert_eq!(lock.try_read_during_hand_over(Err(Refused::Busy)), 0);
            assert_eq!((lock.words.readers(), lock.unlock_during_hand_over()), (1, 0));
            assert_eq!((lock.try_write_during_hand_over(), lock.is_libcs()), (0, true));
        });
    }

    #[test]
    fn lock_that_another_thread_reads_stays_ours_until_it_has_left() {
        each_kind(|lock| {
            assert_eq!(elsewhere(lock, |lock| lock.try_lock::<Reading>()), 0);
            let tried = (lock.algorithm.try_read)(lock.words, lock.recursion);
            assert_eq!(lock.try_read_during_hand_over(tried), 0);
            assert!(!lock.is_libcs() && lock.readers_of_ours() == 2);
            assert_eq!(two_rw_locks::held(lock), Held::OursForReading);
            assert_eq!((lock.unlock_during_hand_over(), lock.unlock_during_hand_over()), (0, 0));
            assert_eq!((lock.readers_of_ours(), lock.words.readers()), (0, 0));
        });
    }

    /// Code that calls libc directly has acquired a lock that is still ours, or this library has.
    #[test]
    fn release_during_the_hand_over_finds_the_lock_that_is_held() {
        each_kind(|lock| {
            assert_eq!((Reading::lock(lock.words), two_rw_locks::held(lock)), (0, Held::Libcs));
            assert_eq!((lock.unlock_during_hand_over(), lock.words.readers()), (0, 0));
            assert_eq!((Writing::lock(lock.words), two_rw_locks::held(lock)), (0, Held::Libcs));
            assert_eq!((lock.unlock_during_hand_over(), lock.words.has_writer()), (0, false));
            assert_eq!((acquire::<Writing>(lock), two_rw_locks::held(lock)), (0, Held::OursForWriting));
            assert_eq!(elsewhere(lock, |lock| lock.unlock_during_hand_over()), 0);
            assert!(!lock.words.has_writer() && !lock.has_ours_write_locked());
            assert_eq!((acquire::<Reading>(lock), two_rw_locks::held(lock)), (0, Held::OursForReading));
            assert_eq!((lock.unlock_during_hand_over(), lock.readers_of_ours()), (0, 0));
        });
    }
}
