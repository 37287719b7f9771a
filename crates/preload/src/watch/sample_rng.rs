//! Random choice of the holds that are timed at level `sampled`. With a fixed interval, a thread that acquires its
//! locks in turn would have the same lock timed every time, and the others never. Drawing from the clock does not help:
//! if the program is as regular as the clock, each draw determines the next one, and the same few draws repeat for
//! ever.

use core::cell::Cell;

/// A sequence of pseudo-random numbers that is independent of the program: `SplitMix64` (Steele, Lea and Flood 2014).
pub struct SampleRng(Cell<u64>);

impl SampleRng {
    /// A sequence without a seed: until `begin`, every thread would draw the same numbers.
    pub const fn new() -> SampleRng {
        SampleRng(Cell::new(0))
    }

    /// Starts the sequence at `seed`.
    pub fn begin(&self, seed: u64) {
        self.0.set(seed);
    }

    /// A number from 1 to 2 · `every` - 1; the mean is `every`.
    #[inline]
    pub fn draw(&self, every: u32) -> u32 {
        let state = self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.0.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 32;
        let numbers = u64::from(every.saturating_mul(2) - 1);
        1 + ((mixed * numbers) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_so_many_is_drawn() {
        for every in [1, 2, 3, 16, 1000] {
            let random = SampleRng::new();
            let draws: Vec<u64> = (0..100_000).map(|_| random.draw(every).into()).collect();
            let (least, most) = (*draws.iter().min().unwrap(), *draws.iter().max().unwrap());
            let mean = draws.iter().sum::<u64>() as f64 / draws.len() as f64;
            assert!(least >= 1 && most < 2 * u64::from(every), "{every}: from {least} to {most}");
            assert!((mean / f64::from(every) - 1.0).abs() < 0.02, "{every}: {mean}");
        }
        assert!(SampleRng::new().draw(u32::MAX) >= 1);
    }

    /// A thread that acquires two locks in turn.
    #[test]
    fn turns_are_not_followed() {
        let random = SampleRng::new();
        for seed in 0..100 {
            random.begin(seed);
            let mut timed = [0; 2];
            let mut hold = 0;
            while hold < 20_000 {
                timed[hold % 2] += 1;
                hold += random.draw(16) as usize;
            }
            assert!(timed.iter().all(|n| (500..750).contains(n)), "{seed}: {timed:?}");
        }
    }
}
