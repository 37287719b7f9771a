//! A spin lock in the four bytes of a `pthread_spinlock_t`. A thread that finds it free takes it, even if others wait. A waiter
//! spins, and sleeps as soon as the owner cannot be running, so that a preempted owner costs no time slice.
//!
//! **Beside libc's lock.** The word also has the values of glibc's spin lock for x86, and both kinds of lock exclude each
//! other in one word. So code that calls libc directly may use a lock of ours at any time, and no tag is needed: the
//! value tells which implementation serves the lock.
//!
//! | value | state |
//! |---|---|
//! | 1 | free, libc's: what pthread_spin_init(3) and pthread_spin_unlock(3) of glibc store |
//! | 0, -1 to -2³⁰ | held, libc's: less than 0 as each waiter of libc decrements the word once |
//! | 2 | free, ours (`FREE`) |
//! | less than -2³⁰ (`HELD`) | held, ours |
//!
//! *libc's lock acquires* if its decrement leaves 0. Of 1 that is an acquisition. Of 2 it leaves libc's free lock, and the
//! next decrement acquires that: a lock that libc acquires becomes libc's. Of a held lock of ours it leaves a held lock
//! of ours (`BORROWED`), and libc's waiter then reads until the word is greater than 0. *Ours acquires* if it replaces
//! exactly 2. So each acquisition is one atomic step from a free value to a held one, and only a release leaves the held
//! values. libc's trylock replaces exactly 1 and does not see that 2 is free. So once such code exists, the releases of
//! this lock store libc's free value ([`FreeAs::Libcs`]).
//!
//! **The duty to wake.** While any thread sleeps, one of two things holds. Either the word says so (`SLEEPERS`), or a
//! thread that is awake has the *duty*: it must set `SLEEPERS` again as soon as it owns the lock or goes to sleep, and
//! wake all sleepers if it finds that the lock is libc's. A woken thread has the duty. A spinner that announces itself
//! (`SPINNER`) takes the duty from the releasing owner, which then need not wake a sleeper. So no wake-up is lost among
//! threads that use this lock.
//!
//! **A sleep has a limit** (`sleep_limit`), for what the duty does not cover: libc's release stores 1 and wakes no
//! sleeper; a program may initialise a lock for which threads wait, or cancel the thread that has the duty. The limit also
//! bounds how long spinners that take the duty from each other pass over a sleeper: it then competes itself, and after a
//! long wait it spins for longer each time (`STARVING_PERIODS`).
//!
//! **The futex is not private to the process.** glibc ignores the argument `pshared` of pthread_spin_init(3), so
//! programs that pass a wrong one work.

use crate::Waited;
use crate::host;
use crate::park::{self, Wake};
use crate::stamp::is_long;
use crate::waiting::{SpinPolicy, SpinStep, SpinThenPark};
use core::marker::PhantomData;
use core::time::Duration;
use unspin_sync::atomic::{AtomicU32, Ordering};

#[cfg(all(test, any(loom, shuttle)))]
pub(crate) mod as_raw;
#[cfg(all(test, loom))]
mod libcs;

/// The lock whose waiters spin adaptively, then sleep: see the module documentation.
pub type AdaptiveSpin = SpinLock<SpinThenPark>;

/// A lock that any thread takes if it finds it free.
#[derive(Debug)]
#[repr(transparent)]
pub struct SpinLock<W> {
    /// The lock state, and the futex on which waiters sleep.
    word: AtomicU32,
    waiting: PhantomData<W>,
}

/// The free lock.
const FREE: u32 = 2;
/// libc's free lock.
const LIBCS_FREE: u32 = 1;
/// The two highest bits of a lock that a thread holds, within [`OWNERSHIP`]. Set by the acquiring thread.
const HELD: u32 = 0b10 << 30;
const OWNERSHIP: u32 = 0b11 << 30;
/// A thread sleeps, or is about to. Set by a thread that goes to sleep, and by an acquiring thread that has the duty.
/// Cleared by the release, which then wakes one sleeper or leaves that to a spinner. Set needlessly, it costs one system
/// call.
const SLEEPERS: u32 = 1 << 29;
/// A thread spins and takes over the duty. Set by a spinner if `SLEEPERS` is set. Cleared by the release, and by a thread
/// that goes to sleep (so that no sleeper depends on a spinner that does not exist after a fork). Cleared needlessly, it is
/// set again by a spinner.
const SPINNER: u32 = 1 << 28;
/// Where the owner's CPU is: 1 plus its number, 0 if unknown. Of CPUs beyond the 2047th the lowest bits only, a wrong hint.
const CPU_AT: u32 = 16;
const CPU: u32 = 0x7FF;
/// The decrements of libc's waiters are taken from these bits; beyond 2¹⁶ at a time they also change the number of the CPU,
/// and 2²⁷ leave the bits above as they are. All are set by the acquiring thread.
const BORROWED: u32 = 1 << 27 | 0xFFFF;

/// For how many periods of spinning a waiter that has waited long spins: with those of
/// [`unspin_waiting::spin`] about half a millisecond, in which an owner releases a lock some thousand times.
const STARVING_PERIODS: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 64 };

/// How a release leaves the lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FreeAs {
    /// As a lock of this kind.
    Ours,
    /// As libc's.
    Libcs,
}

/// The sleepers that a release has to wake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "a sleeper that is not woken sleeps until its limit"]
pub enum Sleepers {
    /// None.
    None,
    /// One of them, which has the duty then.
    One,
    /// All of them: they go to libc's lock, which knows no duty.
    All,
}

/// The result of an attempt that does not wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attempted {
    /// The thread has acquired the lock.
    Acquired,
    /// Another thread holds it.
    Held,
    /// libc serves the lock.
    Libcs,
}

/// Which implementation serves a lock with a value, and whether it is free.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Free,
    Held,
    Libcs,
}

#[inline(always)]
fn state(word: u32) -> State {
    match word {
        FREE => State::Free,
        _ if word & OWNERSHIP == HELD => State::Held,
        _ => State::Libcs,
    }
}

/// The word of a lock that the calling thread owns, with these flags.
#[inline(always)]
fn own_word(flags: u32) -> u32 {
    HELD | flags | (host::cpu() & CPU) << CPU_AT | BORROWED
}

/// For how long a thread sleeps that has slept this often: a few milliseconds at first, so that a release without a wake-up
/// costs little; later longer, so that the waiters for a lock that is held for seconds take few CPU time. A model has no
/// limit, which would hide a lost wake-up.
fn sleep_limit(sleeps: u32) -> Option<Duration> {
    const FIRST: Duration = Duration::from_millis(4);
    const DOUBLINGS: u32 = 4;
    if cfg!(any(loom, shuttle)) { None } else { Some(FIRST * (1 << sleeps.min(DOUBLINGS))) }
}

/// The state of one thread's wait.
struct WaitState {
    /// Ticks at which the wait began.
    arrived: u64,
    /// The thread may be the only one that knows of sleepers, so it must set `SLEEPERS`.
    has_wake_duty: bool,
    /// How often the thread has slept.
    sleeps: u32,
    /// Periods of spinning that are left before it sleeps, once it has waited long.
    periods: u32,
}

impl WaitState {
    fn begin() -> WaitState {
        WaitState { arrived: host::ticks(), has_wake_duty: false, sleeps: 0, periods: STARVING_PERIODS }
    }

    fn waited(&self) -> Waited {
        if self.sleeps > 0 { Waited::Slept } else { Waited::Spun }
    }

    /// The word once this waiter owns the lock.
    fn word_if_owned(&self) -> u32 {
        own_word(if self.has_wake_duty { SLEEPERS } else { 0 })
    }

    /// The word once this waiter sleeps.
    fn word_if_asleep(&self, word: u32) -> u32 {
        (word | SLEEPERS) & !SPINNER
    }

    /// Whether the thread spins for another period although its policy lets it sleep: if it has waited long and the owner may
    /// be running.
    fn spins_on(&mut self, owner: u32) -> bool {
        let starves = self.sleeps > 0 && is_long(host::ticks().wrapping_sub(self.arrived));
        if !starves || self.periods == 0 || owner != 0 && owner == host::cpu() {
            return false;
        }
        self.periods -= 1;
        true
    }

    /// The thread has slept.
    fn note_sleep(&mut self, how: Wake) {
        // A thread that no other one has woken has taken no duty. The duty to wake the others is where it was.
        self.has_wake_duty = how == Wake::Woken;
        self.sleeps += 1;
        self.periods = STARVING_PERIODS;
    }
}

impl<W: SpinPolicy> SpinLock<W> {
    /// A free lock.
    #[cfg(not(loom))]
    #[expect(clippy::declare_interior_mutable_const, reason = "a value to begin with, as in lock_api")]
    pub const NEW: SpinLock<W> = SpinLock { word: AtomicU32::new(FREE), waiting: PhantomData };

    /// A free lock.
    pub fn new() -> SpinLock<W> {
        SpinLock { word: AtomicU32::new(FREE), waiting: PhantomData }
    }

    /// Makes a lock that no thread uses, whatever its bytes were, a free one of this kind.
    pub fn init(&self) {
        // Relaxed: the program publishes the lock.
        self.word.store(FREE, Ordering::Relaxed);
    }

    /// Acquires the lock if it is free and no lock of libc.
    // The load first: a lock of another implementation, or one that is held, keeps its cache line where it is.
    #[inline(always)]
    pub fn try_lock_free(&self) -> bool {
        // Relaxed: the compare-exchange provides the ordering.
        self.word.load(Ordering::Relaxed) == FREE && self.exchange(FREE, own_word(0))
    }

    /// Acquires the lock if it is free.
    #[inline(always)]
    pub fn try_lock(&self) -> Attempted {
        loop {
            // Relaxed: the compare-exchange provides the ordering.
            match state(self.word.load(Ordering::Relaxed)) {
                State::Held => return Attempted::Held,
                State::Libcs => return Attempted::Libcs,
                State::Free if self.exchange(FREE, own_word(0)) => return Attempted::Acquired,
                State::Free => {}
            }
        }
    }

    /// Acquires the lock. `None`: libc serves it, possibly since the thread has begun to wait.
    #[inline(always)]
    pub fn lock(&self) -> Option<Waited> {
        if self.try_lock_free() { Some(Waited::No) } else { self.wait() }
    }

    /// Releases the lock. The caller wakes ([`wake`](Self::wake)) the sleepers that this returns. `None`: libc serves the
    /// lock, and nothing was done.
    ///
    /// # Safety
    /// The caller holds the lock, or accepts that the thread that holds it no longer has exclusive access to the data.
    #[inline(always)]
    pub unsafe fn release(&self, to: FreeAs) -> Option<Sleepers> {
        // Relaxed: the swap orders.
        match state(self.word.load(Ordering::Relaxed)) {
            State::Held => Some(self.release_held(to)),
            State::Free => {
                if to == FreeAs::Libcs {
                    self.exchange(FREE, LIBCS_FREE);
                }
                Some(Sleepers::None)
            }
            State::Libcs => None,
        }
    }

    #[inline(always)]
    fn release_held(&self, to: FreeAs) -> Sleepers {
        // Not a compare-exchange: waiters of libc decrement the word, and have no state that a store could lose.
        // Release: partner of the Acquire in `exchange`, by the next owner, and of the decrement in libc's lock.
        let released = self.word.swap(free_word(to), Ordering::Release);
        let has_sleepers = released & (OWNERSHIP | SLEEPERS) == HELD | SLEEPERS;
        match to {
            _ if !has_sleepers => Sleepers::None,
            FreeAs::Ours if released & SPINNER != 0 => Sleepers::None,
            FreeAs::Ours => Sleepers::One,
            FreeAs::Libcs => Sleepers::All,
        }
    }

    /// Wakes sleepers. The memory of the lock may be gone already.
    pub fn wake(lock: *const Self, sleepers: Sleepers) {
        let count = match sleepers {
            Sleepers::None => return,
            Sleepers::One => 1,
            Sleepers::All => i32::MAX as u32,
        };
        park::wake_shared_at(lock.cast(), count);
    }

    /// [`release`](Self::release) as a lock of this kind, with the wake-up. Returns whether the lock was one.
    ///
    /// # Safety
    /// As for [`release`](Self::release).
    #[inline(always)]
    pub unsafe fn unlock(&self) -> bool {
        let lock = &raw const *self;
        // SAFETY: the caller's promise.
        match unsafe { self.release(FreeAs::Ours) } {
            None => false,
            Some(Sleepers::None) => true,
            Some(some) => {
                SpinLock::wake(lock, some);
                true
            }
        }
    }

    /// Whether libc serves the lock.
    pub fn is_libcs(&self) -> bool {
        // Relaxed: a lock of libc stays one.
        state(self.word.load(Ordering::Relaxed)) == State::Libcs
    }

    /// Whether a thread holds the lock: true at some moment during the call.
    pub fn is_locked(&self) -> bool {
        // Relaxed: a snapshot, which orders nothing. Also of a lock of libc, which is free if it is greater than 0.
        (self.word.load(Ordering::Relaxed) as i32) <= 0
    }

    #[inline(always)]
    fn exchange(&self, seen: u32, new: u32) -> bool {
        // Acquire: partner of the Release in `release`, by the last owner. Relaxed on failure: the caller reads the word
        // again.
        self.word.compare_exchange(seen, new, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[cold]
    #[inline(never)]
    fn wait(&self) -> Option<Waited> {
        match self.try_lock() {
            Attempted::Acquired => return Some(Waited::No),
            Attempted::Libcs => return None,
            Attempted::Held => {}
        }
        host::prepare();
        let mut wait = WaitState::begin();
        // The four bytes have no room for what waits have learnt.
        let mut spinning = W::begin(0);
        loop {
            // Relaxed: the compare-exchanges provide the ordering.
            let word = self.word.load(Ordering::Relaxed);
            match state(word) {
                State::Held => {}
                State::Free if self.exchange(FREE, wait.word_if_owned()) => return Some(wait.waited()),
                State::Free => {
                    spinning.lost_race();
                    continue;
                }
                State::Libcs => {
                    if wait.has_wake_duty {
                        SpinLock::wake(self, Sleepers::All);
                    }
                    return None;
                }
            }
            self.announce(&mut wait, word);
            let owner = word >> CPU_AT & CPU;
            if spinning.pause(owner) == SpinStep::Recheck {
                continue;
            }
            if wait.spins_on(owner) {
                spinning = W::begin(0);
                continue;
            }
            let asleep = wait.word_if_asleep(word);
            if asleep != word && !self.exchange(word, asleep) {
                continue;
            }
            wait.note_sleep(park::wait_shared_for(&self.word, asleep, sleep_limit(wait.sleeps)));
            spinning = W::begin(0);
        }
    }

    /// Announces a spinner if that saves the owner a wake-up.
    fn announce(&self, wait: &mut WaitState, word: u32) {
        if word & (SLEEPERS | SPINNER) == SLEEPERS && self.exchange(word, word | SPINNER) {
            wait.has_wake_duty = true;
        }
    }
}

#[inline(always)]
fn free_word(to: FreeAs) -> u32 {
    match to {
        FreeAs::Ours => FREE,
        FreeAs::Libcs => LIBCS_FREE,
    }
}

impl<W: SpinPolicy> Default for SpinLock<W> {
    fn default() -> SpinLock<W> {
        SpinLock::new()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// A lock with these bytes.
    fn with_word(word: i32) -> AdaptiveSpin {
        SpinLock { word: AtomicU32::new(word as u32), waiting: PhantomData }
    }

    fn word(lock: &AdaptiveSpin) -> i32 {
        // Relaxed: the only thread.
        lock.word.load(Ordering::Relaxed) as i32
    }

    fn release(lock: &AdaptiveSpin, to: FreeAs) -> Option<Sleepers> {
        // SAFETY: the lock protects nothing.
        unsafe { lock.release(to) }
    }

    #[test]
    fn fits_into_libcs_spin_lock() {
        assert_eq!((size_of::<AdaptiveSpin>(), align_of::<AdaptiveSpin>()), (4, 4));
    }

    #[test]
    fn values_of_libc_are_left_to_libc() {
        for value in [1, 0, -1, -100_000, -(1 << 30), 3, i32::MAX] {
            let lock = with_word(value);
            assert_eq!((lock.try_lock_free(), lock.try_lock()), (false, Attempted::Libcs), "{value}");
            assert_eq!((lock.lock(), release(&lock, FreeAs::Ours)), (None, None), "{value}");
            assert_eq!(word(&lock), value);
        }
    }

    #[test]
    fn held_lock_stays_ours_under_the_decrements_of_libc() {
        for flags in [0, SLEEPERS, SPINNER | SLEEPERS] {
            for waiters in [0, 1, 65_536, 1 << 20, 1 << 27] {
                let lock = with_word(own_word(flags) as i32 - waiters);
                assert!(lock.is_locked() && lock.try_lock() == Attempted::Held, "{flags:x} {waiters}");
                let expected = if flags == SLEEPERS { Sleepers::One } else { Sleepers::None };
                assert_eq!(release(&lock, FreeAs::Ours), Some(expected), "{flags:x} {waiters}");
                assert_eq!(word(&lock), FREE as i32);
            }
        }
    }

    #[test]
    fn release_to_libc_leaves_libcs_free_lock_and_wakes_all() {
        for (flags, expected) in
            [(0, Sleepers::None), (SLEEPERS, Sleepers::All), (SLEEPERS | SPINNER, Sleepers::All)]
        {
            let lock = with_word(own_word(flags) as i32);
            assert_eq!(release(&lock, FreeAs::Libcs), Some(expected));
            assert_eq!(word(&lock), LIBCS_FREE as i32);
        }
    }

    #[test]
    fn release_of_a_free_lock_leaves_it_free() {
        let lock = AdaptiveSpin::new();
        assert_eq!((release(&lock, FreeAs::Libcs), word(&lock)), (Some(Sleepers::None), LIBCS_FREE as i32));
        let lock = AdaptiveSpin::new();
        assert_eq!(release(&lock, FreeAs::Ours), Some(Sleepers::None));
        assert!(!lock.is_locked() && lock.try_lock() == Attempted::Acquired);
        lock.init();
        assert_eq!(lock.lock(), Some(Waited::No));
    }

    #[test]
    fn later_sleeps_are_longer_up_to_a_limit() {
        let limits: Vec<_> = (0..8).map(|sleeps| sleep_limit(sleeps).unwrap().as_millis()).collect();
        assert_eq!(limits, [4, 8, 16, 32, 64, 64, 64, 64]);
    }
}
