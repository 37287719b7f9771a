//! Readers and writers of one lock: how often they get it, and how long a writer waits.

use super::contend::{Pace, Ticks, pass, rates};
use super::rwlock::{ReadWrite, RwContended, RwTask};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Time between two writes of the writer that waits.
const BETWEEN_WRITES: Duration = Duration::from_millis(1);

/// Threads that take one lock again and again.
#[derive(Clone, Copy, Debug)]
pub struct Crowd {
    /// How many.
    pub threads: usize,
    /// How many of a thousand acquisitions write, on average.
    pub writers_per_mille: u64,
    /// How long they hold the lock.
    pub pace: Pace,
    /// For how long.
    pub time: Duration,
}

/// Millions of acquisitions per second, and the acquisitions of the thread with the fewest, as a share of an even
/// distribution.
pub fn run(lock: RwContended, crowd: Crowd) -> (f64, f64) {
    lock.with_lock(crowd)
}

impl RwTask for Crowd {
    type Output = (f64, f64);

    fn run(self, lock: &impl ReadWrite) -> (f64, f64) {
        let Ticks { hold, think } = self.pace.ticks();
        rates(self.threads, self.time, |number| {
            let mut draws = Draws::of_thread(number);
            move || {
                if draws.is_write(self.writers_per_mille) {
                    lock.write(|| pass(hold));
                } else {
                    lock.read(|| pass(hold));
                }
                pass(think);
            }
        })
    }
}

/// Random numbers by Marsaglia's xorshift (2003), for a nanosecond each.
struct Draws(u64);

impl Draws {
    /// Different for each thread, the same in each run.
    fn of_thread(number: usize) -> Draws {
        // The multiple of an odd number is zero for zero only.
        Draws((number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// True so many times of a thousand. Readers alone draw nothing.
    #[inline(always)]
    fn is_write(&mut self, per_mille: u64) -> bool {
        if per_mille == 0 {
            return false;
        }
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % 1000 < per_mille
    }
}

/// Readers of one lock, and a writer that wants it once a millisecond.
#[derive(Clone, Copy, Debug)]
pub struct WriterAmongReaders {
    /// How many readers.
    pub readers: usize,
    /// How long they hold the lock.
    pub pace: Pace,
    /// For how long.
    pub time: Duration,
}

/// The writer's longest wait in milliseconds, and its writes a second.
///
/// The readers stop at the end, so a wait that has not ended by then counts as it is.
pub fn writer_wait(lock: RwContended, crowd: WriterAmongReaders) -> (f64, f64) {
    lock.with_lock(crowd)
}

impl RwTask for WriterAmongReaders {
    type Output = (f64, f64);

    fn run(self, lock: &impl ReadWrite) -> (f64, f64) {
        let Ticks { hold, think } = self.pace.ticks();
        let stop = &AtomicBool::new(false);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let (mut longest, mut writes) = (Duration::ZERO, 0u32);
                // Relaxed: a sign that it is over, whenever it is seen.
                while !stop.load(Relaxed) {
                    std::thread::sleep(BETWEEN_WRITES);
                    let wanted = Instant::now();
                    lock.write(|| longest = longest.max(wanted.elapsed()));
                    writes += 1;
                }
                (longest, writes)
            });
            rates(self.readers, self.time, |_| {
                || {
                    lock.read(|| pass(hold));
                    pass(think);
                }
            });
            // Relaxed: as above.
            stop.store(true, Relaxed);
            let (longest, writes) = writer.join().expect("it only writes");
            (longest.as_secs_f64() * 1e3, f64::from(writes) / self.time.as_secs_f64())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_write_at_the_wanted_rate() {
        let writes = |per_mille| {
            let mut draws = Draws::of_thread(3);
            (0..100_000).filter(|_| draws.is_write(per_mille)).count()
        };
        assert_eq!([0, 1000].map(writes), [0, 100_000]);
        assert!((900..1_100).contains(&writes(10)), "{}", writes(10));
        assert!((49_000..51_000).contains(&writes(500)), "{}", writes(500));
    }
}
