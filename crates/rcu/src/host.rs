//! What the protocol needs from the operating system, as a trait, so that tests and models can replace it.

use crate::PackedIdentity;
use core::time::Duration;
use unspin_sys::process::{Identity, Liveness, pid_namespace};

/// The reach of a writer's memory barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FenceReach {
    /// Every thread of every process that registered for such barriers, and the caller.
    Everywhere,
    /// Only the caller: no conclusion about readers that rely on the writer's barrier is possible.
    CallerOnly,
}

/// How a thread that waits for a grace period lets other threads run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PauseKind {
    /// Give up the CPU once.
    Yield,
    /// Sleep for about this long.
    Sleep(Duration),
}

/// The operating system as this crate sees it. [`Linux`] is the real one.
pub trait Host: Copy {
    /// Whether a registered thread still runs the program that it ran when it registered. Must never report a thread
    /// dead that can still execute.
    fn liveness(&self, identity: &Identity) -> Liveness;

    /// [`liveness`](Host::liveness) for a thread of which only the [`PackedIdentity`] is known.
    fn claimer_liveness(&self, claim: PackedIdentity) -> Liveness;

    /// A full memory barrier in every reader that uses [`FenceMode::Expedited`](crate::FenceMode).
    fn fence_readers(&self) -> FenceReach;

    /// A clock in any unit. It only determines how often the life of one thread is checked (see
    /// [`EXAMINE_EVERY_NS`](crate::registry::EXAMINE_EVERY_NS)), and feeds
    /// [`GracePeriodCounts`](crate::GracePeriodCounts).
    fn ticks(&self) -> u64;

    /// This many nanoseconds in the unit of [`ticks`](Host::ticks).
    fn ticks_in(&self, ns: u64) -> u64;

    /// Lets other threads run.
    fn pause(&self, how: PauseKind);
}

/// Linux: `/proc` and `tgkill(2)` for life, `membarrier(2)` for fences, the time-stamp counter for ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Linux;

impl Host for Linux {
    fn liveness(&self, identity: &Identity) -> Liveness {
        identity.liveness()
    }

    fn claimer_liveness(&self, claim: PackedIdentity) -> Liveness {
        let here = Identity { namespace: pid_namespace(), ..Identity::default() };
        if !claim.may_share_namespace(&here) {
            return Liveness::Alive;
        }
        match Identity::of_thread(claim.tid()) {
            Some(now) if claim.matches(&now) => Liveness::Alive,
            _ => Liveness::Dead,
        }
    }

    fn fence_readers(&self) -> FenceReach {
        if unspin_sys::membarrier::issue_global_expedited() {
            FenceReach::Everywhere
        } else {
            FenceReach::CallerOnly
        }
    }

    fn ticks(&self) -> u64 {
        // A model that depends on the time of day could not be repeated.
        if cfg!(loom) { 0 } else { unspin_sys::clock::ticks() }
    }

    fn ticks_in(&self, ns: u64) -> u64 {
        if cfg!(loom) { ns } else { unspin_sys::clock::ticks_in(ns) }
    }

    fn pause(&self, how: PauseKind) {
        match how {
            PauseKind::Yield => unspin_sys::sched::yield_now(),
            // Does not change `errno`, as required of code inside a preload library.
            PauseKind::Sleep(time) => unspin_sys::sched::sleep(time),
        }
    }
}
