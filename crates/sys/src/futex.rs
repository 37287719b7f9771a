//! Futexes. This module works on one word that processes may share; [`any`] on several shared words at a time;
//! [`private`] on words of one process; [`pi`] on words of one process with priority inheritance.

pub mod any;
pub mod pi;

use crate::{Errno, raw};
use core::sync::atomic::AtomicU32;
use core::time::Duration;

/// Why a wait returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wake {
    /// Woken, or the word already had another value, or a spurious wake-up: read the word again.
    Woken,
    /// The timeout has passed.
    TimedOut,
    /// A signal handler ran.
    Interrupted,
}

/// Sleeps while `*word == expected`, at most for `timeout` (relative, monotonic).
pub fn wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) -> Wake {
    let ts = timeout.map(|d| libc::timespec {
        tv_sec: i64::try_from(d.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: d.subsec_nanos() as i64,
    });
    let ts = ts.as_ref().map_or(0, |t| t as *const libc::timespec as usize);
    // SAFETY: `word` is a live aligned word and `ts` is null or a live timespec; FUTEX_WAIT writes neither.
    let result = unsafe {
        raw::call(libc::SYS_futex, [word.as_ptr() as usize, libc::FUTEX_WAIT as usize, expected as usize, ts])
    };
    match result {
        Err(Errno::ETIMEDOUT) => Wake::TimedOut,
        Err(Errno::EINTR) => Wake::Interrupted,
        _ => Wake::Woken,
    }
}

/// Wakes at most `count` sleepers of `word` and returns how many it woke.
pub fn wake(word: &AtomicU32, count: u32) -> u32 {
    wake_at(word, count)
}

/// [`wake`] for the word at this address. The word may be freed already: then this wakes no thread, or another word's
/// sleeper needlessly.
pub fn wake_at(word: *const AtomicU32, count: u32) -> u32 {
    // SAFETY: FUTEX_WAKE uses the address as a key only.
    let result = unsafe {
        raw::call(
            libc::SYS_futex,
            [word as usize, libc::FUTEX_WAKE as usize, count.min(i32::MAX as u32) as usize],
        )
    };
    result.unwrap_or(0) as u32
}

/// The clock of an absolute time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    /// CLOCK_REALTIME.
    Realtime,
    /// CLOCK_MONOTONIC.
    Monotonic,
}

/// A point in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Until {
    /// The clock.
    pub clock: Clock,
    /// Time since that clock's zero.
    pub at: Duration,
}

impl Until {
    /// `timeout` from now, on the monotonic clock.
    pub fn after(timeout: Duration) -> Until {
        Until { clock: Clock::Monotonic, at: Clock::Monotonic.now().saturating_add(timeout) }
    }

    /// Whether the time has come.
    pub fn is_over(self) -> bool {
        self.clock.now() >= self.at
    }

    /// The time as a timespec for the kernel.
    fn timespec(self) -> libc::timespec {
        libc::timespec {
            tv_sec: i64::try_from(self.at.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: self.at.subsec_nanos() as i64,
        }
    }
}

impl Clock {
    /// The time since its zero.
    pub fn now(self) -> Duration {
        let id = match self {
            Clock::Realtime => libc::CLOCK_REALTIME,
            Clock::Monotonic => libc::CLOCK_MONOTONIC,
        };
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: writes one timespec. This is the vDSO's function, which neither sets errno nor calls a hook.
        unsafe { libc::clock_gettime(id, &mut now) };
        Duration::new(now.tv_sec.max(0) as u64, now.tv_nsec as u32)
    }
}

/// Futexes on words that are private to one process.
pub mod private {
    use super::{Clock, Until, Wake};
    use crate::{Errno, raw};
    use core::sync::atomic::AtomicU32;

    /// Sleeps while `*word == expected`, at most until `until`.
    pub fn wait(word: &AtomicU32, expected: u32, until: Option<Until>) -> Wake {
        wait_as(ANY, word, expected, until)
    }

    /// [`wait`] as a sleeper of the given sorts (a bit mask): [`wake_as`] wakes only sleepers that share a bit with it.
    pub fn wait_as(bits: u32, word: &AtomicU32, expected: u32, until: Option<Until>) -> Wake {
        let mut operation = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;
        if until.is_some_and(|until| until.clock == Clock::Realtime) {
            operation |= libc::FUTEX_CLOCK_REALTIME;
        }
        let time = until.map(Until::timespec);
        let time = time.as_ref().map_or(0, |t| t as *const libc::timespec as usize);
        // SAFETY: `word` is a live aligned word and `time` is null or a live timespec; FUTEX_WAIT_BITSET writes
        // neither.
        let result = unsafe {
            let arguments =
                [word.as_ptr() as usize, operation as usize, expected as usize, time, 0, bits as usize];
            raw::call(libc::SYS_futex, arguments)
        };
        match result {
            Err(Errno::ETIMEDOUT) => Wake::TimedOut,
            Err(Errno::EINTR) => Wake::Interrupted,
            _ => Wake::Woken,
        }
    }

    /// Wakes at most `count` sleepers of the word at this address, by priority and then by arrival, and returns how
    /// many it woke. Takes an address because the word may be freed already: then it wakes no thread, or another word's
    /// sleeper needlessly.
    pub fn wake(word: *const AtomicU32, count: u32) -> u32 {
        wake_as(ANY, word, count)
    }

    /// [`wake`] for sleepers that have one of these bits.
    pub fn wake_as(bits: u32, word: *const AtomicU32, count: u32) -> u32 {
        let operation = libc::FUTEX_WAKE_BITSET | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: FUTEX_WAKE_BITSET uses the address as a key only.
        let result = unsafe {
            let count = count.min(i32::MAX as u32) as usize;
            raw::call(libc::SYS_futex, [word as usize, operation as usize, count, 0, 0, bits as usize])
        };
        result.unwrap_or(0) as u32
    }

    /// All sorts of sleepers.
    const ANY: u32 = libc::FUTEX_BITSET_MATCH_ANY as u32;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_until_a_past_time_returns_at_once() {
        let word = AtomicU32::new(1);
        for clock in [Clock::Realtime, Clock::Monotonic] {
            let until = Until { clock, at: clock.now() };
            assert!(until.is_over());
            assert_eq!(private::wait(&word, 1, Some(until)), Wake::TimedOut);
        }
        assert!(!Until::after(Duration::from_secs(1000)).is_over());
        assert_eq!(private::wait(&word, 0, None), Wake::Woken, "the word has another value");
        assert_eq!(private::wake(&word, 1), 0, "nobody sleeps");
    }
}
