//! Models of the registry: readers find objects by id and key without a lock, while the table grows and objects are
//! added and removed. Run by `RUSTFLAGS="--cfg loom" cargo test -p unspin-sysv --release --lib models`.
//!
//! Readers execute their own fences ([`FenceMode::Full`]), because loom has no `membarrier`. If a block is freed while a
//! reader may still access it, loom reports an unordered access ([`crate::store`]).

use super::{Id, Registry, find_index, find_key};
use crate::class::Class;
use crate::participant::ParticipantRecord;
use crate::store::Arena;
use loom::thread::spawn;
use std::sync::Arc;
use unspin_rcu::registry::Recovery;
use unspin_rcu::{Domain, FenceMode, Rcu, Slot};
use unspin_sync::atomic::Ordering;
use unspin_sys::creds::Creds;
use unspin_sys::process::Identity;

const KEYS: [i32; 2] = [7, 9];

/// An arena with room for one growth, two objects, and one reader.
struct World {
    arena: Arena,
    objects: [u64; 2],
    domain: Domain,
    slots: Vec<Slot>,
    reader: unspin_rcu::ParticipantId,
    me: ParticipantRecord,
}

impl World {
    /// A world in which `present` of the two objects have been added.
    fn new(present: usize) -> World {
        let arena = Arena::new().with_table(1).with_keys(4).with_table(2).with_keys(8);
        let (arena, first) = arena.with_object();
        let (arena, second) = arena.with_object();
        let (domain, slots) = (Domain::default(), vec![Slot::default()]);
        let who = Identity { pid: 1, tid: 1, start_time: 1, image: 1 << 20, namespace: 1 };
        let reader = Rcu::new(&domain, &slots)
            .registry()
            .register(&who, FenceMode::Full, &mut |_, _| Recovery::Done)
            .unwrap();
        let world = World {
            arena,
            objects: [first, second],
            domain,
            slots,
            reader,
            me: ParticipantRecord::default(),
        };
        Registry::init(&world.arena, Class::Sem).unwrap();
        for n in 0..present {
            world.add(n);
        }
        world
    }

    fn registry(&self) -> Registry<'_> {
        let rcu = Rcu::new(&self.domain, &self.slots);
        Registry { arena: &self.arena, class: Class::Sem, rcu, me: &self.me, units_of: |_, _, _| 1 }
    }

    /// Adds object `n`, as `semget` does. Returns its id.
    fn add(&self, n: usize) -> Id {
        let registry = self.registry();
        let id = registry.reserve(2).unwrap();
        let creds = Creds::new(1, 1, 0);
        let perm = self.arena.get::<super::Perm>(self.objects[n]).unwrap();
        perm.init(id.0, KEYS[n], 0o600, &creds);
        registry.add(self.objects[n]);
        id
    }

    /// Removes object `n`, as `IPC_RMID` does.
    fn remove(&self, n: usize) {
        self.arena.get::<super::Perm>(self.objects[n]).unwrap().delete();
        self.registry().remove(self.objects[n], 1);
    }

    /// Looks an object up by key, then by the id that it has. Returns whether it was found by key.
    fn look(&self, n: usize) -> bool {
        let slot = &self.slots[self.reader.index()];
        // SAFETY: the slot was registered for the one reader, with these fences.
        let section = unsafe { slot.enter(&self.domain, FenceMode::Full) };
        let found = find_key(&self.arena, Class::Sem, KEYS[n]);
        if let Some(object) = found {
            assert_eq!(object, self.objects[n], "found another one");
            let perm = self.arena.get::<super::Perm>(object).unwrap();
            // Relaxed: immutable once published.
            let id = Id(perm.id.load(Ordering::Relaxed));
            let again = find_index(&self.arena, Class::Sem, id.index());
            assert!(again == object || perm.is_deleted(), "lost: found by key and not by id");
        }
        // SAFETY: as above; nothing that was found is used any more.
        unsafe { slot.leave(section) };
        found.is_some()
    }
}

fn ignore<T>(_: T) {}

fn against(present: usize, reader: fn(&World), writer: fn(&World)) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || {
        let world = Arc::new(World::new(present));
        let shared = world.clone();
        let other = spawn(move || reader(&shared));
        writer(&world);
        other.join().unwrap();
    });
}

/// An object that exists before the table and the map grow is found at any time, in the old or the new ones. Nothing is
/// freed that a reader may access.
#[test]
fn table_growth_hides_no_object() {
    against(1, |world| assert!(world.look(0), "lost"), |world| ignore(world.add(1)));
}

#[test]
fn added_object_is_complete_when_found() {
    against(
        1,
        |world| ignore(world.look(1)),
        |world| {
            world.add(1);
            assert!(world.registry().find_key(KEYS[1]).is_some());
        },
    );
}

#[test]
fn removed_object_is_freed_after_last_reader() {
    against(
        1,
        |world| ignore(world.look(0)),
        |world| {
            world.remove(0);
            assert_eq!(world.registry().find_key(KEYS[0]), None);
        },
    );
}

#[test]
#[should_panic(expected = "lost")]
fn planted_table_published_before_filled() {
    against(
        1,
        |world| assert!(world.look(0), "lost"),
        |world| {
            let new = world.arena.allocate(super::Table::bytes(2)).unwrap();
            world.arena.get::<super::Table>(new).unwrap().init(2);
            world.arena.header().root(Class::Sem).table.store(new, Ordering::Release);
            super::Table::publish(&world.arena, new, 0, world.objects[0]);
        },
    );
}

#[test]
#[should_panic(expected = "Causality violation")]
fn planted_table_freed_without_grace_period() {
    against(
        1,
        |world| ignore(world.look(0)),
        |world| {
            let old = world.arena.header().root(Class::Sem).table.load(Ordering::Relaxed);
            world.arena.free(old);
        },
    );
}

#[test]
#[should_panic(expected = "Causality violation")]
fn planted_object_freed_without_grace_period() {
    against(
        1,
        |world| ignore(world.look(0)),
        |world| {
            let root = &world.arena.header().root(Class::Sem);
            // Relaxed: by the only writer.
            super::Table::publish(&world.arena, root.table.load(Ordering::Relaxed), 0, 0);
            world.arena.free(world.objects[0]);
        },
    );
}
