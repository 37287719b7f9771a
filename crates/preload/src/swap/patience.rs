//! How long to spin before a sleep: as long as that has paid lately, for the conditions and semaphores of one hash.

use unspin_sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use unspin_sync::hint;
use unspin_sys::{clock, sched};

/// What is spun at least, to learn whether it pays again, and at most: in ticks, some 0.3 us and 20 us. A sleep and a wake-up
/// take some 5 us of CPU time, and 50 us where the CPU has to be brought back from a deep sleep.
const LEAST: u32 = 1_000;
const MOST: u32 = 60_000;
/// The share that the latest wait has in what is learnt.
const SHARE: u32 = 8;

const WORDS: usize = 256;
static LEARNT: [AtomicU32; WORDS] = [const { AtomicU32::new(LEAST) }; WORDS];

/// What was learnt: how many ticks a wait takes that ends soon enough. Relaxed throughout: a guess.
pub struct Patience(&'static AtomicU32);

impl Patience {
    /// That of an object.
    pub fn of<T>(object: *const T) -> Patience {
        let hash = (object as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
        Patience(&LEARNT[hash as usize % WORDS])
    }

    /// Spins until that is so, and says whether it came to be.
    pub fn spin(self, is_so: impl Fn() -> bool) -> bool {
        if CPUS.load(Relaxed) < 2 {
            return false;
        }
        let learnt = self.0.load(Relaxed);
        let most = learnt.saturating_mul(2).clamp(LEAST, MOST);
        let begin = clock::ticks();
        let (paid, took) = loop {
            let took = clock::ticks().wrapping_sub(begin).min(u64::from(u32::MAX)) as u32;
            if is_so() {
                break (true, took.min(MOST));
            }
            if took >= most {
                break (false, 0);
            }
            hint::spin_loop();
        };
        self.0.store(learnt - learnt / SHARE + took / SHARE, Relaxed);
        paid
    }
}

/// CPUs of the process as it began; 0 before [`prepare`].
static CPUS: AtomicUsize = AtomicUsize::new(0);

/// Counts the CPUs.
pub fn prepare() {
    CPUS.store(sched::affinity_count(), Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_pay_is_left() {
        let object = 0u64;
        CPUS.store(2, Relaxed);
        // Relaxed: one thread.
        Patience::of(&object).0.store(MOST, Relaxed);
        for _ in 0..200 {
            assert!(!Patience::of(&object).spin(|| false));
        }
        assert!(Patience::of(&object).0.load(Relaxed) < 2 * SHARE);
        assert!(Patience::of(&object).spin(|| true));
        CPUS.store(1, Relaxed);
        assert!(!Patience::of(&object).spin(|| true), "with one CPU nobody else runs meanwhile");
    }
}
