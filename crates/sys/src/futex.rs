//! Futexes on words that several processes share.
//!
//! All calls are without `FUTEX_PRIVATE_FLAG`: every word of unspin that is slept on lies in shared memory.

use crate::{Errno, raw};
use core::sync::atomic::AtomicU32;
use core::time::Duration;

/// Why a wait returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wake {
    /// Woken, or the word had another value already. Spurious returns look the same: look at the word again.
    Woken,
    /// The time was over.
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

/// Wakes at most `count` sleepers of `word` and says how many there were.
pub fn wake(word: &AtomicU32, count: u32) -> u32 {
    // SAFETY: FUTEX_WAKE uses the address as a key only.
    let result = unsafe {
        raw::call(
            libc::SYS_futex,
            [word.as_ptr() as usize, libc::FUTEX_WAKE as usize, count.min(i32::MAX as u32) as usize],
        )
    };
    result.unwrap_or(0) as u32
}
