//! What the protocol needs from the operating system, as a trait, so that tests and models can replace it.

use crate::Claim;
use core::time::Duration;
use unspin_sys::process::{Identity, Life, pid_namespace};

/// The reach of a writer's memory barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fenced {
    /// Every thread of every process that registered for such barriers, and the caller.
    Everywhere,
    /// Only the caller: no conclusion about readers that rely on the writer's barrier is possible.
    HereOnly,
}

/// How a thread that waits for a grace period lets other threads run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rest {
    /// Give up the CPU once.
    Yield,
    /// Sleep for about this long.
    Sleep(Duration),
}

/// The operating system as this crate sees it. [`Linux`] is the real one.
pub trait Host: Copy {
    /// Whether a registered thread still runs the program that it ran when it registered. Must never report a thread
    /// dead that can still execute.
    fn life(&self, who: &Identity) -> Life;

    /// [`life`](Host::life) for a thread of which only the [`Claim`] is known.
    fn claim_life(&self, claim: Claim) -> Life;

    /// A full memory barrier in every reader that uses [`Fences::Expedited`](crate::Fences).
    fn fence_readers(&self) -> Fenced;

    /// A clock in any unit. It only determines how often the life of one thread is checked (see
    /// [`EXAMINE_EVERY`](crate::registry::EXAMINE_EVERY)), and feeds [`Counts`](crate::Counts).
    fn ticks(&self) -> u64;

    /// Lets other threads run.
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
        // A model that depends on the time of day could not be repeated.
        if cfg!(loom) { 0 } else { unspin_sys::clock::ticks() }
    }

    fn rest(&self, how: Rest) {
        match how {
            Rest::Yield => unspin_sys::sched::yield_now(),
            // Does not change `errno`, as required of code inside a preload library.
            Rest::Sleep(time) => unspin_sys::sched::nap(time),
        }
    }
}
