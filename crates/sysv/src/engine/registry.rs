//! Work under the registry lock: making objects and removing them.

use super::{Inner, count};
use crate::arena::Arena;
use crate::ipc::{Class, Registry};
use crate::lock::Taken;
use crate::names::{Call, LockName};
use crate::thread::Thread;
use crate::{msg, retire, sem, shm};
use unspin_meter::Event;

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
            |class| Registry { arena: &self.arena, class, rcu: self.rcu(), me: thread.person(), units_of };
        if taken == Taken::Inherited {
            for class in Class::ALL {
                let registry = of(class);
                registry.repair(&mut |object| self.evict(thread, &registry, object));
            }
            shm::recover(&of(Class::Shm));
        }
        let registry = of(class);
        let reaped = retire::reap(&registry, thread);
        let result = f(&registry);
        drop(held);
        if reaped > 0 {
            count(thread, Event::GracePeriod, 1);
        }
        retire::work(self, thread);
        result
    }

    /// Whether the arena still refers to a heap payload, or has it queued to be freed. The caller holds the registry
    /// lock.
    pub fn is_in_use(&'static self, registry: &Registry<'_>, payload: u64) -> bool {
        self.refers_to(registry, payload) || retire::is_retired(&self.arena, payload)
    }

    /// Whether the arena still refers to a heap payload. The caller holds the registry lock.
    pub fn refers_to(&'static self, registry: &Registry<'_>, payload: u64) -> bool {
        registry.refers_to(payload) || self.is_record(payload) || msg::owns(self, payload)
    }

    /// Marks an object as removed and ends all waits on it. Returns its size in bytes. The caller holds the registry
    /// lock.
    pub fn evict(&'static self, thread: &Thread, registry: &Registry<'_>, object: u64) -> u64 {
        match registry.class {
            Class::Sem => sem::evict(self, thread, object),
            Class::Msg => msg::evict(self, thread, registry, object),
            Class::Shm => shm::evict(&self.arena, object),
        }
    }
}

/// The size of an object in the units of its class (semaphores, for example): see [`ipc::Root`].
fn units_of(arena: &Arena, class: Class, object: u64) -> u64 {
    match class {
        Class::Sem => sem::units_of(arena, object),
        Class::Msg => 0,
        Class::Shm => shm::units_of(arena, object),
    }
}
