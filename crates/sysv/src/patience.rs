//! How long to spin before sleeping, learnt from how waits end.
//!
//! Spinning helps if another CPU is about to post within the time that falling asleep and being woken takes. Nobody
//! can know, so each thread learns: its patience grows when a wait ends while it spins, and halves when the wait ends
//! in sleep, down to nothing. Then it *probes*: once in a while it spins as long as it ever would, because a partner
//! that sleeps as well must first be woken before it can answer fast. Each probe in vain doubles the distance to the
//! next, so that where spinning never helps it costs nothing in the long run.
//!
//! A thread that may run on one CPU only never spins.

use core::cell::Cell;

/// Ticks of the time-stamp counter: some 4 us, a futex round trip. A thread that waits where spinning never helps has
/// spun twice that when it stops.
const FIRST: u64 = 10_000;
/// Some 40 us: waking a process on an idle virtual CPU takes as long.
const MOST: u64 = 100_000;
/// Under 1 us nothing is to be won.
const LEAST: u64 = 1_500;
/// Waits without spinning before the first probe, and at most between two.
const FIRST_PROBE: u32 = 128;
const LAST_PROBE: u32 = 1 << 14;

/// See the module's text. Zeroed: never spins; see [`Patience::begin`].
#[derive(Debug)]
pub(crate) struct Patience {
    ticks: Cell<u64>,
    /// Waits without spinning still to come before a probe.
    until_probe: Cell<u32>,
    /// Distance of probes.
    distance: Cell<u32>,
    cpus: Cell<u32>,
}

impl Patience {
    /// A thread's first patience.
    pub fn begin(&self, cpus: u32) {
        self.ticks.set(FIRST);
        self.distance.set(FIRST_PROBE);
        self.until_probe.set(FIRST_PROBE);
        self.cpus.set(cpus);
    }

    /// Ticks to spin in this wait; 0: not at all.
    pub fn ticks(&self) -> u64 {
        if self.cpus.get() < 2 || self.ticks.get() != 0 {
            return if self.cpus.get() < 2 { 0 } else { self.ticks.get() };
        }
        if self.until_probe.get() > 0 {
            self.until_probe.set(self.until_probe.get() - 1);
            return 0;
        }
        MOST
    }

    /// A wait ended while it spun.
    pub fn rewarded(&self) {
        self.ticks.set((self.ticks.get() * 2).clamp(FIRST, MOST));
        self.distance.set(FIRST_PROBE);
    }

    /// A wait spun in vain.
    pub fn disappointed(&self) {
        if self.ticks.get() == 0 {
            self.distance.set((self.distance.get() * 2).min(LAST_PROBE));
        }
        let less = self.ticks.get() / 2;
        self.ticks.set(if less < LEAST { 0 } else { less });
        self.until_probe.set(self.distance.get());
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn patience(cpus: u32) -> Patience {
        let patience = Patience {
            ticks: Cell::new(0),
            until_probe: Cell::new(0),
            distance: Cell::new(0),
            cpus: Cell::new(0),
        };
        patience.begin(cpus);
        patience
    }

    #[test]
    fn one_cpu_never_spins() {
        let patience = patience(1);
        assert!((0..100_000).all(|_| patience.ticks() == 0));
    }

    #[test]
    fn in_vain_it_soon_costs_nothing() {
        let patience = patience(2);
        let spun: u64 = (0..1_000_000)
            .map(|_| {
                let ticks = patience.ticks();
                if ticks > 0 {
                    patience.disappointed();
                }
                ticks
            })
            .sum();
        assert!(spun > 0 && spun / 1_000_000 < 10, "{spun} ticks in a million waits");
    }

    #[test]
    fn one_success_brings_it_back() {
        let patience = patience(2);
        while patience.ticks() != MOST {
            if patience.ticks() > 0 {
                patience.disappointed();
            }
        }
        patience.rewarded();
        assert_eq!(patience.ticks(), FIRST);
        patience.rewarded();
        assert_eq!(patience.ticks(), 2 * FIRST);
        (0..10).for_each(|_| patience.rewarded());
        assert_eq!(patience.ticks(), MOST);
    }
}
