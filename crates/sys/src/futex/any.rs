//! Sleeping on several shared words at once: futex_waitv(2), Linux 5.16.

use super::{Until, Wake};
use crate::{Errno, raw};
use core::mem::MaybeUninit;
use core::sync::atomic::AtomicU32;
use core::time::Duration;

/// Maximum number of words (`FUTEX_WAITV_MAX` of include/uapi/linux/futex.h).
pub const MOST: usize = 128;

/// `struct futex_waitv`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Waitv {
    value: u64,
    address: u64,
    flags: u32,
    reserved: u32,
}

/// `FUTEX2_SIZE_U32`; a shared futex, as `FUTEX2_PRIVATE` is not set.
const SHARED_U32: u32 = 2;

/// Sleeps while each word has the value beside it, at most for `timeout` (relative, monotonic). Words beyond [`MOST`]
/// are ignored. `None` if the kernel lacks the call or a filter forbids it.
pub fn wait<'a>(
    words: impl Iterator<Item = (&'a AtomicU32, u32)>,
    timeout: Option<Duration>,
) -> Option<Wake> {
    let mut waiters = [const { MaybeUninit::<Waitv>::uninit() }; MOST];
    let mut count = 0;
    for (to, (word, value)) in waiters.iter_mut().zip(words) {
        to.write(Waitv {
            value: value.into(),
            address: word.as_ptr() as u64,
            flags: SHARED_U32,
            reserved: 0,
        });
        count += 1;
    }
    let until = timeout.map(|timeout| Until::after(timeout).timespec());
    let until = until.as_ref().map_or(0, |until| until as *const libc::timespec as usize);
    let arguments = [waiters.as_ptr() as usize, count, 0, until, libc::CLOCK_MONOTONIC as usize];
    // SAFETY: the first `count` structures are initialised, each with the address of a live aligned word; `until` is
    // null or a live timespec. The call writes none of them.
    match unsafe { raw::call(libc::SYS_futex_waitv, arguments) } {
        Err(Errno::ENOSYS | Errno::EPERM) => None,
        Err(Errno::ETIMEDOUT) => Some(Wake::TimedOut),
        Err(Errno::EINTR) => Some(Wake::Interrupted),
        _ => Some(Wake::Woken),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::futex;
    use core::sync::atomic::Ordering::SeqCst;
    use std::io::Write as _;

    #[test]
    fn wake_on_any_word_ends_the_wait() {
        let words: [AtomicU32; 3] = Default::default();
        let all = || words.iter().map(|word| (word, 0));
        if wait(all(), Some(Duration::ZERO)).is_none() {
            let _ = writeln!(
                std::io::stderr(),
                "SKIPPED wake_on_any_word_ends_the_wait: this kernel has no futex_waitv; install Linux 5.16"
            );
            return;
        }
        assert_eq!(wait(all(), Some(Duration::from_millis(1))), Some(Wake::TimedOut));
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| wait(all(), None));
            while !sleeper.is_finished() {
                futex::wake(&words[1], 1);
                std::thread::yield_now();
            }
            assert_eq!(sleeper.join().unwrap(), Some(Wake::Woken));
        });
        words[2].store(1, SeqCst);
        assert_eq!(wait(all(), None), Some(Wake::Woken), "a word has another value");
    }
}
