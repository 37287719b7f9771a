//! The parts of an engine.

use crate::kind::Kind;
use crate::participant::ParticipantRecord;
use crate::rules::Rules;
use crate::store::Arena;
use unspin_rcu::{FenceMode, Rcu};
use unspin_sync::atomic::AtomicPtr;
use unspin_sync::atomic::Ordering::Acquire;
use unspin_sys::Errno;
use unspin_sys::robust::RobustFutex;
use unspin_waiting::PollParameters;
use unspin_wire::Recording;

/// The parts of an engine. Made once and never dropped: threads refer to it until they end.
#[derive(Debug)]
pub(crate) struct Inner {
    pub number: u64,
    pub kind: Kind,
    pub rules: Rules,
    pub arena: Arena,
    pub recording: Option<&'static Recording>,
    pub fences: FenceMode,
    /// Immutable: what the waits of this process cost.
    pub polling: PollParameters,
    /// Through it one thread of this process holds the process's robust word: see [`crate::recovery::process`].
    pub robust_futex: RobustFutex,
    /// The engine that was opened before this one, a linked list: see [`crate::recovery::damage`].
    pub older: AtomicPtr<Inner>,
}

impl Inner {
    /// The engine that a link of the list of engines refers to.
    pub fn of_link(link: &AtomicPtr<Inner>) -> Option<&'static Inner> {
        // Acquire: pairs with the Release stores in `damage::watch`.
        let inner = link.load(Acquire);
        // SAFETY: the pointer is null or refers to an engine, which is never freed.
        unsafe { inner.as_ref() }
    }

    /// Fails with `ENOSYS` once the arena is found damaged.
    #[inline]
    pub fn check(&self) -> Result<(), Errno> {
        if self.arena.is_whole() { Ok(()) } else { Err(Errno::ENOSYS) }
    }

    pub fn rcu(&self) -> Rcu<'_> {
        Rcu::new(&self.arena.header().domain.0, self.arena.slots())
    }

    /// The records of all slots that were ever used.
    #[inline]
    pub fn participants(&self) -> &[ParticipantRecord] {
        self.arena.participants(self.rcu().registry().high_water_mark())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::{Engine, Options};

    #[test]
    fn waits_poll_for_the_cost_of_a_wake_up_that_the_options_state() {
        let dir = tempfile::tempdir().unwrap();
        let polling = |wake_up_ns: u64| {
            let options = Options { wake_up_ns, ..Options::default() };
            Engine::open(Kind::Rcu, &dir.path().join("arena"), &options, None).unwrap().inner.unwrap().polling
        };
        assert_eq!(polling(100_000), PollParameters::new(100_000));
        assert!(polling(100_000).wake_up > polling(Options::default().wake_up_ns).wake_up);
        assert!(!polling(0).permit_polls() && polling(1).permit_polls());
    }
}
