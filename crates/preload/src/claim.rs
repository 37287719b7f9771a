//! The right to prepare something that all threads share. One thread at a time has it.
//!
//! A child made by fork has one thread. If another thread of its parent had the claim at that time, no thread of the
//! child would ever give it up. So the claim stores the owner's process generation with its thread id, and a thread of
//! another generation takes the claim over. (A child made by vfork shares the generation and the memory: there the
//! owner still runs.)

use unspin_sync::atomic::{AtomicU64, Ordering};
use unspin_sys::{generation, process, sched};

/// The owner: its process generation in the upper half, its thread id in the lower; 0: the claim is free.
pub struct Claim(AtomicU64);

/// The answer to a thread that wants the claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claimed {
    /// The calling thread has it now, and must call [`Claim::give_up`].
    Now,
    /// The calling thread has had it before, further up its stack.
    Before,
    /// Another thread of this process has it.
    ByAnother,
}

impl Claim {
    /// A free claim.
    pub const fn free() -> Claim {
        Claim(AtomicU64::new(0))
    }

    /// Takes the claim if it is free, or if a fork has left its owner behind. To be called with signals blocked: a
    /// handler that needs what is prepared would find its own thread preparing it.
    pub fn take(&self) -> Claimed {
        let generation = u64::from(generation::get());
        let me = generation << 32 | u64::from(process::tid());
        let mut seen = 0;
        loop {
            // Acquire: pairs with the Release in `give_up`: the next owner sees what the last one prepared. (What a
            // lost owner wrote is not relied on.)
            match self.0.compare_exchange(seen, me, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Claimed::Now,
                Err(owner) if owner == me => return Claimed::Before,
                Err(owner) if owner == 0 || owner >> 32 != generation => seen = owner,
                Err(_) => return Claimed::ByAnother,
            }
        }
    }

    /// Gives the claim up.
    pub fn give_up(&self) {
        // Release: pairs with the Acquire in `take`.
        self.0.store(0, Ordering::Release);
    }
}

/// Lets the owner of a claim run.
pub fn wait_for_owner() {
    sched::yield_or_sleep();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_at_a_time_has_the_claim() {
        let claim = Claim::free();
        assert_eq!((claim.take(), claim.take()), (Claimed::Now, Claimed::Before));
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(claim.take(), Claimed::ByAnother));
        });
        claim.give_up();
        assert_eq!(claim.take(), Claimed::Now);
    }

    #[test]
    fn claim_of_an_owner_that_a_fork_left_behind_is_taken_over() {
        let claim = Claim::free();
        let lost = u64::from(generation::get() - 1) << 32 | u64::from(process::tid());
        claim.0.store(lost, Ordering::Relaxed);
        assert_eq!(claim.take(), Claimed::Now);
        claim.give_up();
        assert_eq!(claim.0.load(Ordering::Relaxed), 0);
    }
}
