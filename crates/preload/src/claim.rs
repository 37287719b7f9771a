//! The right to prepare something that all threads share. One thread at a time has it.
//!
//! A child made by fork has one thread. If another thread of its parent had the claim at that time, no thread of the child
//! would ever give it up. So the claim stores its owner's thread id, and a thread that waits checks whether the owner
//! is a thread of its own process.

use unspin_sync::atomic::{AtomicU32, Ordering};
use unspin_sys::process::{self, Identity, Liveness};
use unspin_sys::sched;

/// The owner's thread id; 0: the claim is free.
pub struct Claim(AtomicU32);

/// The answer to a thread that wants the claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claimed {
    /// The calling thread has it now, and must call [`Claim::give_up`].
    Now,
    /// The calling thread has had it before, further up its stack.
    Before,
    /// This other thread has it.
    ByAnother(u32),
}

impl Claim {
    /// A free claim.
    pub const fn free() -> Claim {
        Claim(AtomicU32::new(0))
    }

    /// Takes the claim if it is free. To be called with signals blocked: a handler that needs what is prepared would
    /// find its own thread preparing it.
    pub fn take(&self) -> Claimed {
        let me = process::tid();
        // Acquire: pairs with the Release in `give_up`: the next owner sees what the last one prepared.
        match self.0.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Claimed::Now,
            Err(owner) if owner == me => Claimed::Before,
            Err(owner) => Claimed::ByAnother(owner),
        }
    }

    /// Gives the claim up.
    pub fn give_up(&self) {
        // Release: pairs with the Acquire in `take`.
        self.0.store(0, Ordering::Release);
    }

    /// Lets the owner run. If the owner is not a thread of this process, frees the claim.
    pub fn wait_for(&self, owner: u32) {
        let in_this_process = Identity { pid: process::pid(), tid: owner, ..Identity::default() };
        if in_this_process.liveness() == Liveness::Dead {
            // Relaxed: the next owner begins anew, and does not rely on what the lost one wrote.
            let _ = self.0.compare_exchange(owner, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
        sched::yield_or_sleep();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_at_a_time_has_the_claim() {
        let claim = Claim::free();
        assert_eq!((claim.take(), claim.take()), (Claimed::Now, Claimed::Before));
        let me = process::tid();
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(claim.take(), Claimed::ByAnother(me)));
        });
        claim.give_up();
        assert_eq!(claim.take(), Claimed::Now);
    }

    #[test]
    fn claim_of_a_thread_that_does_not_exist_is_freed() {
        let claim = Claim::free();
        // Larger than any pid_max.
        let lost = 1 << 28;
        claim.0.store(lost, Ordering::Relaxed);
        assert_eq!(claim.take(), Claimed::ByAnother(lost));
        claim.wait_for(lost);
        assert_eq!(claim.take(), Claimed::Now);
    }
}
