//! The registry: the objects of a class, with their ids and keys. Readers take no lock. A thread that adds or removes
//! objects holds the registry lock, which is one for all classes.
//!
//! The table of objects is authoritative; the map of keys and the counts are derived from it. If the lock's holder
//! dies, the thread that takes over the lock rebuilds them from the table ([`Registry::repair`]). An object is added by
//! one store, of its offset into the table. It is removed by one store, of its *deleted* mark.

use super::lookup::{find_key, is_object, objects};
use super::{Id, Keys, MAX_OBJECTS, Perm, Root, Table};
use crate::class::Class;
use crate::participant::ParticipantRecord;
use crate::store::Arena;
use crate::store::deferred_free;
use crate::store::heap;
use unspin_rcu::Rcu;
use unspin_sync::atomic::{Ordering::Relaxed, Ordering::Release};
use unspin_sys::Errno;
use unspin_sys::next_id::NextId;

/// The registry of a class. Participant `me` holds the registry lock.
pub(crate) struct Registry<'a> {
    pub arena: &'a Arena,
    pub class: Class,
    pub rcu: Rcu<'a>,
    pub me: &'a ParticipantRecord,
    /// The size of the object at an offset, in the unit of [`Root::units`].
    pub units_of: fn(&Arena, Class, u64) -> u64,
}

/// `ipc_min_cycle` of `ipc/util.c`: indices run through at least this range before one is reused.
const MIN_CYCLE: u32 = 64;

impl<'a> Registry<'a> {
    /// Gives a class of a new arena an empty table and map.
    pub fn init(arena: &Arena, class: Class) -> Result<(), Errno> {
        // No other process knows the arena yet, so any participant's record serves for the allocations.
        arena.reserve_participant(0)?;
        let me = &arena.participants(1)[0];
        let root = arena.header().root(class);
        let (table, keys) = new_tables(arena, me, super::table::FIRST_CAPACITY)?;
        // Release: partner of the Acquire loads in `find_index` and `find_key`.
        root.table.store(table, Release);
        root.keys.store(keys, Release);
        heap::publish(me);
        Ok(())
    }

    fn root(&self) -> &'a Root {
        let header = self.arena.header();
        header.root(self.class)
    }

    /// The object of `key`. The lock keeps it from being removed.
    pub fn find_key(&self, key: i32) -> Option<u64> {
        find_key(self.arena, self.class, key)
    }

    /// Reserves an id: an index, and its sequence number. Indices are assigned cyclically (`ipc_idr_alloc`), so that an
    /// id is not reused for long. An id that `kernel.sem_next_id` or `kernel.msg_next_id` names comes first; if its
    /// index is in use, the next free index. `ENOSPC` if there are `limit` objects already, `ENOMEM` without memory.
    pub fn reserve(&self, limit: u32) -> Result<Id, Errno> {
        let root = self.root();
        let in_use = root.in_use.load(Relaxed);
        if in_use >= limit.min(MAX_OBJECTS) {
            return Err(Errno::ENOSPC);
        }
        if let Some(wanted) = self.next_id().and_then(NextId::take).map(Id) {
            let mut indices = wanted.index() as u32..MAX_OBJECTS;
            let index = indices.find(|&i| self.object(i) == 0).ok_or(Errno::ENOSPC)?;
            self.make_room(index)?;
            return Ok(wanted.with_index(index));
        }
        let range = (in_use.saturating_mul(3) / 2).clamp(MIN_CYCLE, MAX_OBJECTS);
        let last = root.last.load(Relaxed);
        let candidates = (last..range).chain(0..last.min(range)).chain(range..MAX_OBJECTS);
        let index = candidates.into_iter().find(|&i| self.object(i) == 0).ok_or(Errno::ENOSPC)?;
        self.make_room(index)?;
        if index < last {
            root.sequence.store(Id::next_sequence(root.sequence.load(Relaxed)), Relaxed);
        }
        root.last.store(index + 1, Relaxed);
        Ok(Id::new(index, root.sequence.load(Relaxed)))
    }

    /// The setting that names the next id. Ids of segments are the kernel's.
    fn next_id(&self) -> Option<NextId> {
        match self.class {
            Class::Sem => Some(NextId::Sem),
            Class::Msg => Some(NextId::Msg),
            Class::Shm => None,
        }
    }

    /// Reserves an id that the caller has chosen. `ENOSPC` if its index is in use, `ENOMEM` without memory.
    pub fn claim(&self, id: Id) -> Result<(), Errno> {
        match self.object(id.index() as u32) {
            0 => self.make_room(id.index() as u32),
            _ => Err(Errno::ENOSPC),
        }
    }

    /// Removes the key of an object; the object stays. A thread that looks the key up meanwhile may still find the
    /// object, and must check.
    pub fn forget_key(&self, object: u64) {
        let Some(perm) = self.arena.get::<Perm>(object) else { return };
        let key = perm.key.swap(0, Relaxed);
        if key != 0 {
            let index = Id(perm.id.load(Relaxed)).index();
            Keys::remove(self.arena, self.root().keys.load(Relaxed), key, index);
        }
    }

    fn object(&self, index: u32) -> u64 {
        // Relaxed: changed only under the lock, which we hold.
        Table::find(self.arena, self.root().table.load(Relaxed), index as usize)
    }

    /// Publishes an object under an id that was reserved; its [`Perm`] holds id and key.
    pub fn add(&self, object: u64) {
        let Some(perm) = self.arena.get::<Perm>(object) else { return };
        let (id, key) = (Id(perm.id.load(Relaxed)), perm.key.load(Relaxed));
        let root = self.root();
        // From this store on the object exists, whichever thread dies.
        Table::publish(self.arena, root.table.load(Relaxed), id.index(), object);
        heap::publish(self.me);
        if key != 0 {
            Keys::insert(self.arena, root.keys.load(Relaxed), key, id.index());
        }
        root.in_use.store(root.in_use.load(Relaxed) + 1, Relaxed);
        let units = (self.units_of)(self.arena, self.class, object);
        root.units.store(root.units.load(Relaxed).wrapping_add(units), Relaxed);
    }

    /// Unlinks an object that is marked as deleted, and retires its memory of `bytes` bytes.
    pub fn remove(&self, object: u64, bytes: u64) {
        let Some(perm) = self.arena.get::<Perm>(object) else { return };
        let (id, key) = (Id(perm.id.load(Relaxed)), perm.key.load(Relaxed));
        let root = self.root();
        if key != 0 {
            Keys::remove(self.arena, root.keys.load(Relaxed), key, id.index());
        }
        root.in_use.store(root.in_use.load(Relaxed).saturating_sub(1), Relaxed);
        let units = (self.units_of)(self.arena, self.class, object);
        root.units.store(root.units.load(Relaxed).saturating_sub(units), Relaxed);
        heap::unpublish(self.me, object);
        Table::publish(self.arena, root.table.load(Relaxed), id.index(), 0);
        self.arena.note_change();
        deferred_free::retire(self.arena, &self.rcu, self.me, object, bytes);
    }

    /// Makes sure that `index` has an entry, and that the map has room for another key.
    fn make_room(&self, index: u32) -> Result<(), Errno> {
        let root = self.root();
        let table = root.table.load(Relaxed);
        let capacity = self.arena.get::<Table>(table).map_or(0, Table::capacity);
        let keys = root.keys.load(Relaxed);
        if index >= capacity {
            let grown = (capacity * 2).max(index + 1).min(MAX_OBJECTS);
            self.replace_table(capacity, grown)?;
            self.replace_keys(grown)
        } else if self.arena.get::<Keys>(keys).is_none_or(|keys| !keys.has_room()) {
            self.replace_keys(capacity)
        } else {
            Ok(())
        }
    }

    /// `grow_ary`: fills a copy, publishes it, and retires the old table. Readers that still use the old table find
    /// every object that existed when they began.
    fn replace_table(&self, from: u32, to: u32) -> Result<(), Errno> {
        let (arena, root) = (self.arena, self.root());
        let new = heap::allocate(arena, self.me, Table::bytes(to))?;
        arena.get::<Table>(new).ok_or(Errno::ENOMEM)?.init(to);
        for index in 0..from {
            Table::publish(arena, new, index as usize, self.object(index));
        }
        let old = root.table.load(Relaxed);
        // Release: partner of the Acquire in `find_index`: the entries are visible when the table is.
        root.table.store(new, Release);
        heap::unpublish(self.me, old);
        deferred_free::retire(arena, &self.rcu, self.me, old, Table::bytes(from));
        Ok(())
    }

    /// Builds a new map of keys from the table, and publishes it.
    fn replace_keys(&self, objects: u32) -> Result<(), Errno> {
        let (arena, root) = (self.arena, self.root());
        let capacity = Keys::capacity_for(objects);
        let new = heap::allocate(arena, self.me, Keys::bytes(capacity))?;
        arena.get::<Keys>(new).ok_or(Errno::ENOMEM)?.init(capacity);
        for object in self.objects() {
            let Some(perm) = arena.get::<Perm>(object) else { continue };
            let (id, key) = (Id(perm.id.load(Relaxed)), perm.key.load(Relaxed));
            if key != 0 && !perm.is_deleted() {
                Keys::insert(arena, new, key, id.index());
            }
        }
        let old = root.keys.load(Relaxed);
        // Release: partner of the Acquire in `find_key`.
        root.keys.store(new, Release);
        heap::unpublish(self.me, old);
        let entries = arena.get::<Keys>(old).map_or(0, Keys::capacity);
        deferred_free::retire(arena, &self.rcu, self.me, old, Keys::bytes(entries));
        Ok(())
    }

    /// Offsets of all objects, by index.
    pub fn objects(&self) -> impl Iterator<Item = u64> + use<'a> {
        objects(self.arena, self.class)
    }

    /// Finishes what a dead holder may have left incomplete. `finish_removal` ends the waits on an object that is
    /// marked as deleted, and returns its size in bytes.
    #[cold]
    pub fn repair(&self, finish_removal: &mut dyn FnMut(u64) -> u64) {
        // The dead holder may have taken an object out of the table without counting the change. Threads that have it
        // cached would go on using it, and then the next object at the same offset.
        self.arena.note_change();
        deferred_free::repair(self.arena, self.me);
        let root = self.root();
        for object in self.objects() {
            if self.arena.get::<Perm>(object).is_some_and(Perm::is_deleted) {
                let bytes = finish_removal(object);
                self.remove(object, bytes);
            }
        }
        let (mut in_use, mut units) = (0, 0u64);
        for object in self.objects() {
            in_use += 1;
            units = units.wrapping_add((self.units_of)(self.arena, self.class, object));
        }
        root.in_use.store(in_use, Relaxed);
        root.units.store(units, Relaxed);
        let capacity = self.arena.get::<Table>(root.table.load(Relaxed)).map_or(0, Table::capacity);
        // Without memory the map stays as it is: complete except for the key that the dead holder was adding.
        let _ = self.replace_keys(capacity);
    }

    /// Whether this class or another one refers to this heap payload.
    pub fn refers_to(&self, payload: u64) -> bool {
        let used_by = |class| {
            let root = self.arena.header().root(class);
            root.table.load(Relaxed) == payload
                || root.keys.load(Relaxed) == payload
                || is_object(self.arena, class, payload)
        };
        Class::ALL.into_iter().any(used_by)
    }
}

fn new_tables(arena: &Arena, me: &ParticipantRecord, objects: u32) -> Result<(u64, u64), Errno> {
    let table = heap::allocate(arena, me, Table::bytes(objects))?;
    arena.get::<Table>(table).ok_or(Errno::ENOMEM)?.init(objects);
    let capacity = Keys::capacity_for(objects);
    let keys = heap::allocate(arena, me, Keys::bytes(capacity))?;
    arena.get::<Keys>(keys).ok_or(Errno::ENOMEM)?.init(capacity);
    Ok((table, keys))
}
