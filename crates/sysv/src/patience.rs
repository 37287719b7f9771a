//! How long to spin before sleeping, learnt from how waits end.
//!
//! Spinning helps if another CPU is about to post within the time that falling asleep and being woken takes. Nobody
//! can know, so each thread learns: its patience grows when a wait ends while it spins, and halves when the wait ends
//! in sleep, down to nothing. Then, once in a while, it *probes*: it spins as long as it ever would, because a partner
//! that sleeps as well must first be woken before it can answer fast.
//!
//! A probe in vain costs as much as ten hand-offs between sleepers. So the wait before it is timed first, asleep: who
//! waits for longer than two wake-ups take waits for other work than a sleeping partner's, and need not probe. Each look
//! in vain doubles the distance to the next, so that where spinning never helps it costs nothing in the long run.
//!
//! On how many CPUs the thread itself may run says nothing: a partner may be pinned to another.

use core::cell::Cell;

/// Ticks of the time-stamp counter: some 4 us, a futex round trip. A thread that waits where spinning never helps has
/// spun twice that when it stops.
const FIRST: u64 = 10_000;
/// Some 40 us: waking a process on an idle virtual CPU takes as long.
const MOST: u64 = 100_000;
/// Under 1 us nothing is to be won.
const LEAST: u64 = 1_500;
/// A wait for a partner that sleeps, as its waiter does: two wake-ups, and as much again for a machine that is busy.
const TWO_WAKE_UPS: u64 = 4 * MOST;
/// Waits without spinning before the first one that is timed, and at most between two.
const FIRST_LOOK: u32 = 128;
const LAST_LOOK: u32 = 1 << 14;
/// In the place of a number of waits: the next one probes.
const PROBE: u32 = u32::MAX;

/// See the module's text. Zeroed: never spins; see [`Patience::begin`].
#[derive(Debug)]
pub(crate) struct Patience {
    ticks: Cell<u64>,
    /// Waits without spinning still to come before one is timed; or [`PROBE`].
    until_look: Cell<u32>,
    /// Distance of looks.
    distance: Cell<u32>,
}

/// How to wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    /// Asleep.
    Sleep,
    /// Asleep, and [`Patience::timed`] wants to know for how long.
    Timed,
    /// First spinning, for so many ticks.
    Spin(u64),
}

impl Patience {
    /// A thread's first patience.
    pub fn begin(&self) {
        self.ticks.set(FIRST);
        self.distance.set(FIRST_LOOK);
        self.until_look.set(FIRST_LOOK);
    }

    /// How to wait this time.
    pub fn turn(&self) -> Turn {
        match (self.ticks.get(), self.until_look.get()) {
            (0, PROBE) => Turn::Spin(MOST),
            (0, 0) => Turn::Timed,
            (0, waits) => {
                self.until_look.set(waits - 1);
                Turn::Sleep
            }
            (ticks, _) => Turn::Spin(ticks),
        }
    }

    /// A wait ended while it spun.
    pub fn rewarded(&self) {
        self.ticks.set((self.ticks.get() * 2).clamp(FIRST, MOST));
        self.distance.set(FIRST_LOOK);
    }

    /// A wait spun in vain.
    pub fn disappointed(&self) {
        if self.ticks.get() == 0 {
            return self.look_later();
        }
        let less = self.ticks.get() / 2;
        self.ticks.set(if less < LEAST { 0 } else { less });
        self.until_look.set(self.distance.get());
    }

    /// How many ticks a wait took that was to be timed.
    pub fn timed(&self, ticks: u64) {
        if ticks <= TWO_WAKE_UPS { self.until_look.set(PROBE) } else { self.look_later() }
    }

    fn look_later(&self) {
        self.distance.set((self.distance.get() * 2).min(LAST_LOOK));
        self.until_look.set(self.distance.get());
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn patience() -> Patience {
        let patience = Patience { ticks: Cell::new(0), until_look: Cell::new(0), distance: Cell::new(0) };
        patience.begin();
        patience
    }

    /// Waits a million times, in vain while spinning and for `asleep` ticks otherwise; how often it spun, and for how long.
    fn in_vain(asleep: u64) -> (u64, u64) {
        let patience = patience();
        let (mut times, mut spun) = (0, 0);
        for _ in 0..1_000_000 {
            match patience.turn() {
                Turn::Sleep => {}
                Turn::Timed => patience.timed(asleep),
                Turn::Spin(ticks) => {
                    (times, spun) = (times + 1, spun + ticks);
                    patience.disappointed();
                }
            }
        }
        (times, spun)
    }

    #[test]
    fn in_vain_it_soon_costs_nothing() {
        let (times, spun) = in_vain(TWO_WAKE_UPS);
        assert!(times > 10 && spun / 1_000_000 < 10, "{spun} ticks in {times} of a million waits");
    }

    #[test]
    fn who_waits_for_long_does_not_probe() {
        assert_eq!(in_vain(TWO_WAKE_UPS + 1), (3, FIRST + FIRST / 2 + FIRST / 4));
    }

    #[test]
    fn one_success_brings_it_back() {
        let patience = patience();
        let probe = || loop {
            match patience.turn() {
                Turn::Spin(MOST) => return,
                Turn::Spin(_) => patience.disappointed(),
                Turn::Timed => patience.timed(MOST),
                Turn::Sleep => {}
            }
        };
        probe();
        patience.rewarded();
        assert_eq!(patience.turn(), Turn::Spin(FIRST));
        patience.rewarded();
        assert_eq!(patience.turn(), Turn::Spin(2 * FIRST));
        (0..10).for_each(|_| patience.rewarded());
        assert_eq!(patience.turn(), Turn::Spin(MOST));
    }
}
