//! Words that one thread writes and other threads read.
//!
//! A separate load, addition and store would lose what a signal handler of the same thread adds in between. One
//! instruction does not: x86 executes it as a whole with respect to its own thread. Without the lock prefix it costs as
//! much as the three. Other threads see each word as it was before or after.

use core::sync::atomic::AtomicU64;

/// Adds to a word that no other thread writes.
#[inline(always)]
pub fn add(word: &AtomicU64, n: u64) {
    // SAFETY: reads and writes the 8 aligned bytes of a live word, which may be written through a shared reference.
    unsafe {
        core::arch::asm!(
            "add qword ptr [{word}], {n}",
            word = in(reg) word.as_ptr(),
            n = in(reg) n,
            options(nostack),
        );
    }
}

/// [`add`] of 1, which takes no register.
#[inline(always)]
pub fn increment(word: &AtomicU64) {
    // SAFETY: as in `add`.
    unsafe {
        core::arch::asm!("inc qword ptr [{word}]", word = in(reg) word.as_ptr(), options(nostack));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::Ordering::Relaxed;

    #[test]
    fn sums_wrap() {
        let word = AtomicU64::new(u64::MAX);
        add(&word, 3);
        increment(&word);
        // Relaxed: one thread.
        assert_eq!(word.load(Relaxed), 3);
    }
}
