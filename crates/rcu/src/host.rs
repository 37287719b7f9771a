//! What the protocol asks of the operating system, so that tests and models can answer in its place.

use crate::Claim;
use core::time::Duration;
use unspin_sys::process::{Identity, Life, pid_namespace};

/// How far a writer's memory barrier reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fenced {
    /// Every thread of every process that registered for such barriers, and the caller.
    Everywhere,
    /// The caller alone: nothing can be said about readers that rely on the writer's barrier.
    HereOnly,
}

/// How a thread that waits for a grace period lets others run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rest {
    /// Give up the CPU once.
    Yield,
    /// Sleep for about this long.
    Sleep(Duration),
}

/// The operating system as this crate sees it. [`Linux`] is the real one.
pub trait Host: Copy {
    /// Whether a registered thread still runs the program it ran when it registered. Must never call a
    /// thread dead that can still execute.
    fn life(&self, who: &Identity) -> Life;

    /// [`life`](Host::life) for a thread that got no further than its [`Claim`].
    fn claim_life(&self, claim: Claim) -> Life;

    /// A full memory barrier in every reader that uses [`Fences::Expedited`](crate::Fences).
    fn fence_readers(&self) -> Fenced;

    /// A clock, in units that matter only to how often the life of one thread is asked for (see
    /// [`EXAMINE_EVERY`](crate::registry::EXAMINE_EVERY)) and to [`Counts`](crate::Counts).
    fn ticks(&self) -> u64;

    /// Lets others run.
    fn rest(&self, how: Rest);
}

/// Linux: `/proc` and `tgkill(2)` for life, `membarrier(2)` for fences, the time-stamp counter for ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Linux;

impl Host for Linux {
    fn life(&self, who: &Identity) -> Life {
        who.life()
    }

    fn claim_life(&self, claim: Claim) -> Life {
        let here = Identity { namespace: pid_namespace(), ..Identity::default() };
        if !claim.same_namespace(&here) {
            return Life::Alive;
        }
        match Identity::of_thread(claim.tid()) {
            Some(now) if claim.agrees(&now) => Life::Alive,
            _ => Life::Dead,
        }
    }

    fn fence_readers(&self) -> Fenced {
        if unspin_sys::membarrier::global_expedited() { Fenced::Everywhere } else { Fenced::HereOnly }
    }

    fn ticks(&self) -> u64 {
        // A model that depended on the time of day could not be repeated.
        if cfg!(loom) { 0 } else { unspin_sys::clock::ticks() }
    }

    fn rest(&self, how: Rest) {
        match how {
            Rest::Yield => unspin_sys::sched::yield_now(),
            // Leaves `errno` alone, as whoever calls inside a preload must.
            Rest::Sleep(time) => unspin_sys::sched::nap(time),
        }
    }
}
