//! The locations of the parts of an arena, for tests that damage it.

use crate::arena_file::{Header, PARTICIPANTS_AT, PROCESSES_AT, SLOTS_AT};
use crate::class::Class;
use crate::engine::Object;
use crate::engine::{Engine, Inner};
use crate::msg::{self, MsgQueue};
use crate::participant::ParticipantRecord;
use crate::recovery::process;
use crate::registry::{self, Keys, Table};
use crate::sem::Set;
use crate::sem::calls::object::{find_set, space};
use crate::shm;
use crate::store::Arena;
use crate::store::heap;
use crate::sync::lock::{Lock, Owner};
use crate::thread::Thread;
use core::mem::offset_of;
use unspin_rcu::Slot;
use unspin_sync::atomic::Ordering::Relaxed;
use unspin_sys::Errno;

pub use crate::store::part::Part;

/// Number of participants, and of entries of tables, that are listed. The others have the same layout.
const SOME: usize = 4;

/// The parts of an engine's arena. No other thread may change the arena meanwhile. Empty for the `kernel` engine.
/// `ENOSYS` if the arena is damaged.
pub fn all(engine: &Engine) -> Result<Vec<Part>, Errno> {
    let Some(inner) = engine.inner else { return Ok(Vec::new()) };
    let thread = Thread::of(inner)?;
    let mut parts = common_parts(&inner.arena);
    let _read = thread.read();
    for class in Class::ALL {
        let root = inner.arena.header().root(class);
        // Relaxed (both): no other thread changes them.
        let (table, keys) = (root.table.load(Relaxed), root.keys.load(Relaxed));
        parts.push(Part::new("table", table, Table::bytes(SOME as u32) as usize));
        parts.push(Part::new("keys", keys, Keys::bytes(SOME as u32) as usize));
        parts.extend([table, keys].map(head));
        for at in registry::objects(&inner.arena, class) {
            parts.push(head(at));
            match class {
                Class::Sem => of_set(inner, at, &mut parts),
                Class::Msg => of_queue(inner, at, &mut parts),
                Class::Shm => parts.extend(shm::parts(at)),
            }
        }
    }
    Ok(parts)
}

/// The word of a lock that the calling thread holds.
pub fn own_lock_word(engine: &Engine) -> Result<u32, Errno> {
    let Some(inner) = engine.inner else { return Ok(0) };
    Ok(Thread::of(inner)?.owner().word())
}

/// Whether the thread with this id, of this pid namespace, holds the lock of a semaphore set or of a message queue. The
/// thread must be stopped, and so must a thread that could remove an object. With the engine `global`, that is the one
/// lock of all objects.
pub fn holds_object_lock(engine: &Engine, tid: u32) -> Result<bool, Errno> {
    let Some(inner) = engine.inner else { return Ok(false) };
    let thread = Thread::of(inner)?;
    let registry = inner.rcu().registry();
    let records = (0..registry.high_water_mark()).filter_map(|index| registry.participant(index));
    let owners: Vec<Owner> = records
        .filter(|&participant| registry.identity(participant).is_some_and(|identity| identity.tid == tid))
        .map(|participant| Owner::new(participant.index() as u32, participant.generation()))
        .collect();
    if owners.is_empty() {
        return Ok(false);
    }
    let _read = thread.read();
    let arena = &inner.arena;
    let sets = registry::objects(arena, Class::Sem).filter_map(|at| find_set(arena, at)).map(Object::lock);
    let queues =
        registry::objects(arena, Class::Msg).filter_map(|at| MsgQueue::at(arena, at)).map(Object::lock);
    let locks = [&arena.header().global.0].into_iter().chain(sets).chain(queues);
    Ok(locks.filter_map(Lock::owner).any(|owner| owners.contains(&owner)))
}

/// Writes the calling thread's count of locks anew, as taking and releasing a lock does. A test that has overwritten
/// the record of an idle participant needs to restore only this: other threads cannot tell such a participant from an
/// owner that is stopped.
pub fn renew_lock_count(engine: &Engine) {
    if let Some(thread) = engine.inner.and_then(|inner| Thread::current(inner.number)) {
        let _critical = thread.critical();
        thread.count_lock();
        thread.uncount_lock();
    }
}

fn head(payload: u64) -> Part {
    Part::new("head of a block", payload - heap::HEAD, heap::HEAD as usize)
}

fn lock<O: Object>(inner: &Inner, object: &O) -> Part {
    Part::new("lock", inner.arena.offset_of(object.lock()), 4)
}

/// The parts that every arena has.
fn common_parts(arena: &Arena) -> Vec<Part> {
    let slots =
        (0..SOME).map(|i| Part::new("slot", SLOTS_AT + (i * size_of::<Slot>()) as u64, size_of::<Slot>()));
    let participants = (0..SOME).flat_map(|i| {
        let at = PARTICIPANTS_AT + (i * size_of::<ParticipantRecord>()) as u64;
        let field = |what, field: usize, bytes| Part::new(what, at + field as u64, bytes);
        [
            field("waiter", offset_of!(ParticipantRecord, waiter), 64),
            field("redo", offset_of!(ParticipantRecord, redo), 64),
            field("message wait", offset_of!(ParticipantRecord, msg_wait), 64),
            field("busy, and block under way", offset_of!(ParticipantRecord, lock_count), 16),
            field("operations and changes", offset_of!(ParticipantRecord, lines), 64),
            field("watched", offset_of!(ParticipantRecord, monitored), 32),
            Part::new("robust word", arena.offset_of(arena.participant_word(i)), 4),
        ]
    });
    let entry = size_of::<process::ProcessEntry>();
    let processes = (0..SOME).flat_map(|i| {
        [
            Part::new("process", PROCESSES_AT + (i * entry) as u64, entry),
            Part::new("robust word", arena.offset_of(arena.process_word(i)), 4),
        ]
    });
    let header = |what, field: usize, bytes| Part::new(what, field as u64, bytes);
    let mut parts = vec![
        header("header", offset_of!(Header, kind), 48),
        header("changes", offset_of!(Header, changes), 8),
        header("lock", offset_of!(Header, global), 4),
        header("lock", offset_of!(Header, registry), 4),
        header("roots", offset_of!(Header, roots), 3 * 128),
        header("processes", offset_of!(Header, processes), 4),
        header("making", offset_of!(Header, making), 64),
        header("heap", offset_of!(Header, heap), 256),
        header("domain", offset_of!(Header, domain), 256),
        header("deferred", offset_of!(Header, deferred), 128),
    ];
    parts.extend(slots.chain(participants).chain(processes));
    parts
}

fn of_set(inner: &'static Inner, at: u64, parts: &mut Vec<Part>) {
    let Some(set) = find_set(&inner.arena, at) else { return };
    parts.push(lock(inner, set));
    parts.push(Part::new("set", at, size_of::<Set>()));
    let space = space(inner, at, set);
    parts.extend(space.sems.iter().map(|sem| Part::new("semaphore", inner.arena.offset_of(&sem.word), 64)));
    parts.extend(
        space.records().flat_map(|record| [head(record.at), Part::new("adjustments", record.at, 68)]),
    );
}

fn of_queue(inner: &'static Inner, at: u64, parts: &mut Vec<Part>) {
    let Some(queue) = MsgQueue::at(&inner.arena, at) else { return };
    parts.push(lock(inner, queue));
    parts.push(Part::new("queue", at, size_of::<MsgQueue>()));
    parts.extend(msg::object::parts(inner, queue, SOME));
}
