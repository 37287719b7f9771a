//! Work under the registry lock: making objects and removing them.

use super::classes::units_of;
use super::{Inner, reclaim};
use crate::class::Class;
use crate::engine::lock_names::{Call, LockName};
use crate::registry::Registry;
use crate::shm;
use crate::sync::lock::Taken;
use crate::thread::Thread;
use unspin_wire::Event;

impl Inner {
    /// Runs `f` under the registry lock, with the registry of a class. Repairs the registry first if the previous owner
    /// died.
    pub fn with_registry<R>(
        &'static self,
        thread: &Thread,
        class: Class,
        call: Call,
        f: impl FnOnce(&Registry<'static>) -> R,
    ) -> R {
        let lock = &self.arena.header().registry.0;
        let (held, taken) = self.acquire(thread, LockName::Registry, call, lock);
        let of =
            |class| Registry { arena: &self.arena, class, rcu: self.rcu(), me: thread.record(), units_of };
        if taken == Taken::OwnerDied {
            for class in Class::ALL {
                let registry = of(class);
                registry.repair(&mut |object| self.evict(thread, &registry, object));
            }
            shm::recover(&of(Class::Shm));
        }
        let registry = of(class);
        let reaped = reclaim::reap(&registry, thread);
        let result = f(&registry);
        drop(held);
        if reaped > 0 {
            thread.count(Event::GracePeriod, 1);
        }
        reclaim::work(self, thread);
        result
    }
}
