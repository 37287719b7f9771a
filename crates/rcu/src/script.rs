//! An operating system whose answers a test scripts.

use crate::host::{FenceReach, PauseKind};
use crate::registry::EXAMINE_EVERY_NS;
use crate::{Domain, Host, PackedIdentity, Slot};
use unspin_sync::atomic::{AtomicU64, Ordering, fence};
use unspin_sys::process::{Identity, Liveness};

/// Threads have ids below 64; each is alive until a test kills it. `ticks` is not one of the atomics whose order a
/// model explores. A thread is found dead only after its last instruction, as the kernel guarantees.
pub(crate) struct ScriptedHost {
    dead: AtomicU64,
    ticks: unspin_sync::machine::AtomicU64,
    fenced: FenceReach,
}

impl ScriptedHost {
    pub(crate) fn new() -> ScriptedHost {
        ScriptedHost { dead: AtomicU64::default(), ticks: Default::default(), fenced: FenceReach::Everywhere }
    }

    #[cfg(not(loom))]
    pub(crate) fn without_membarrier() -> ScriptedHost {
        ScriptedHost { fenced: FenceReach::CallerOnly, ..ScriptedHost::new() }
    }

    /// From now on thread `tid` counts as dead.
    pub(crate) fn kill(&self, tid: u32) {
        // Release: a thread that finds the thread dead sees its last stores.
        self.dead.fetch_or(1 << tid, Ordering::Release);
    }

    fn ask(&self, tid: u32) -> Liveness {
        // Acquire: partner is `kill`.
        if self.dead.load(Ordering::Acquire) >> tid & 1 == 1 { Liveness::Dead } else { Liveness::Alive }
    }
}

impl Host for &ScriptedHost {
    fn liveness(&self, identity: &Identity) -> Liveness {
        self.ask(identity.tid)
    }

    fn claimer_liveness(&self, claim: PackedIdentity) -> Liveness {
        self.ask(claim.tid())
    }

    fn fence_readers(&self) -> FenceReach {
        fence(Ordering::SeqCst);
        self.fenced
    }

    fn ticks(&self) -> u64 {
        // The clock jumps far enough for every check to reach the operating system.
        self.ticks.fetch_add(EXAMINE_EVERY_NS, unspin_sync::machine::Ordering::Relaxed) + EXAMINE_EVERY_NS
    }

    fn ticks_in(&self, ns: u64) -> u64 {
        ns
    }

    fn pause(&self, _: PauseKind) {
        unspin_sync::thread::yield_now();
    }
}

/// The identity of thread `tid`, in its own process.
pub(crate) fn thread(tid: u32) -> Identity {
    Identity { pid: tid, tid, start_time: 100, image: 0x7000_0000, namespace: 1 }
}

/// A new domain with `n` slots.
pub(crate) fn arena(n: usize) -> (Domain, Vec<Slot>) {
    (Domain::default(), (0..n).map(|_| Slot::default()).collect())
}
