use crate::arena_file::{Header, SLOTS_AT};
use crate::engine::Inner;
use crate::engine::Object;
use crate::engine::lock_names::Call;
use crate::msg::MsgQueue;
use crate::participant::{Waiter, status};
use crate::sem::Set;
use crate::store::heap;
use crate::sync::lock::{Lock, Owner};
use crate::sync::lock_count::OwnLockCount;
use crate::thread::Thread;
use crate::{ArenaError, Class, Engine, Kind, Options};
use std::path::Path;
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Duration;
use unspin_rcu::Slot;
use unspin_sync::atomic::AtomicU64;
use unspin_sync::atomic::Ordering::{Relaxed, SeqCst};
use unspin_sync::machine::{self, AtomicBool};
use unspin_sys::Errno;
use unspin_sys::ipc::{Sembuf, flag};

fn open(kind: Kind, path: &Path) -> Engine {
    Engine::open(kind, path, &Options::default(), None).unwrap()
}

fn op(sem_num: u16, sem_op: i16) -> Sembuf {
    Sembuf { sem_num, sem_op, sem_flg: 0 }
}

/// An engine with a set, a queue, and a participating thread that does nothing.
struct Scene {
    dir: tempfile::TempDir,
    engine: Engine,
    set: i32,
    queue: i32,
    bystander: Owner,
    /// The bystander ends when this is dropped.
    _stays: mpsc::Sender<()>,
}

impl Scene {
    fn new(kind: Kind) -> Scene {
        let dir = tempfile::tempdir().unwrap();
        let engine = open(kind, &dir.path().join("arena"));
        let set = engine.semget(7, 3, flag::IPC_CREAT | 0o600).unwrap();
        let queue = engine.msgget(7, flag::IPC_CREAT | 0o600).unwrap();
        let (stays, left) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            engine.semop_ops(set, &[op(0, 1), op(1, 1)]).unwrap();
            tell.send(Thread::of(engine.inner.unwrap()).unwrap().owner()).unwrap();
            let _ = left.recv();
        });
        Scene { dir, engine, set, queue, bystander: told.recv().unwrap(), _stays: stays }
    }

    fn inner(&self) -> &'static Inner {
        self.engine.inner.unwrap()
    }

    fn lock(&self, which: Which) -> &'static Lock {
        let inner = self.inner();
        match which {
            Which::Set => inner.find::<Set>(self.set).unwrap().1.lock(),
            Which::WaitList => inner.find::<MsgQueue>(self.queue).unwrap().1.lock(),
            Which::Registry => &inner.arena.header().registry.0,
            Which::Global => &inner.arena.header().global.0,
        }
    }

    /// Calls that together take every lock.
    fn calls(&self) -> [Result<(), Errno>; 3] {
        calls(self.engine, self.set, self.queue)
    }
}

fn calls(engine: Engine, set: i32, queue: i32) -> [Result<(), Errno>; 3] {
    [
        engine.semop_ops(set, &[op(0, 1), op(1, 1)]),
        engine.send(queue, 1, b"text", flag::IPC_NOWAIT),
        engine.semget(flag::IPC_PRIVATE, 1, 0o600).map(drop),
    ]
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Which {
    Set,
    WaitList,
    Registry,
    Global,
}

const LOCKS: [(Kind, Which); 4] = [
    (Kind::Rcu, Which::Set),
    (Kind::Rcu, Which::WaitList),
    (Kind::Rcu, Which::Registry),
    (Kind::Global, Which::Global),
];

/// The lock names a living thread that does not hold it: another thread, or the waiter itself.
#[test]
fn lock_naming_non_holder_poisons_arena() {
    for (kind, which) in LOCKS {
        for own in [false, true] {
            let scene = Scene::new(kind);
            let me = Thread::of(scene.inner()).unwrap().owner();
            assert!(scene.lock(which).try_acquire(if own { me } else { scene.bystander }));
            let answers = scene.calls();
            assert!(answers.iter().any(Result::is_err), "{which:?}, own {own}: {answers:?}");
            assert_eq!(scene.calls(), [Err(Errno::ENOSYS); 3], "{which:?}, own {own}");
            let path = scene.dir.path().join("arena");
            let refused = Engine::open(kind, &path, &Options::default(), None).map(drop);
            assert!(matches!(refused, Err(ArenaError::Overwritten(_))), "{refused:?}");
        }
    }
}

/// A case that cannot be told from a stopped owner: the lock names a thread whose own count was overwritten, so that it
/// says that it holds a lock. The wait ends when that thread next takes a lock, whichever lock that is.
#[test]
fn owner_with_overwritten_count_is_disproved_after_next_lock() {
    for (kind, which) in LOCKS {
        let scene = Scene::new(kind);
        let (engine, queue) = (scene.engine, scene.queue);
        let me = Thread::of(scene.inner()).unwrap();
        let lie = OwnLockCount::default().more();
        me.record().lock_count.enter(lie);
        assert!(scene.lock(which).try_acquire(me.owner()));
        let (tell, told) = mpsc::channel();
        let set = scene.set;
        let waiter = thread::spawn(move || {
            let calls = calls(engine, set, queue);
            tell.send(()).unwrap();
            calls
        });
        // Many times as long as detection takes where it is possible.
        let early = told.recv_timeout(Duration::from_millis(300));
        assert_eq!(early, Err(mpsc::RecvTimeoutError::Timeout), "{which:?}: a stopped owner was robbed");
        crate::arena_parts::renew_lock_count(&engine);
        assert!(waiter.join().unwrap().contains(&Err(Errno::ENOSYS)), "{which:?}");
        assert!(engine.is_damaged(), "{which:?}");
    }
}

/// Two locks name two threads, each of which waits for the other's lock: so neither holds the lock that names it.
#[test]
fn waiters_on_locks_naming_each_other_detect_damage() {
    for _ in 0..20 {
        let scene = Scene::new(Kind::Rcu);
        let (inner, engine, set, queue) = (scene.inner(), scene.engine, scene.set, scene.queue);
        let locks = [Which::Set, Which::WaitList].map(|which| scene.lock(which));
        let met = Arc::new(Barrier::new(2));
        let threads = [0, 1].map(|n| {
            let met = met.clone();
            thread::spawn(move || {
                assert!(locks[n].try_acquire(Thread::of(inner).unwrap().owner()));
                met.wait();
                match n {
                    0 => engine.send(queue, 1, b"text", flag::IPC_NOWAIT),
                    _ => engine.semop_ops(set, &[op(0, 1), op(1, 1)]),
                }
            })
        });
        let answers = threads.map(|thread| thread.join().unwrap());
        assert!(engine.is_damaged() && answers.iter().any(Result::is_err), "{answers:?}");
    }
}

/// Two engines that have each mapped the arena, as two processes have.
#[test]
fn poisoned_arena_fails_calls_of_all_processes() {
    for (kind, which) in LOCKS {
        let scene = Scene::new(kind);
        let other = open(kind, &scene.dir.path().join("arena"));
        other.semop_ops(scene.set, &[op(0, 1)]).unwrap();
        let set = scene.set;
        let sleeper = thread::spawn(move || other.semop_ops(set, &[op(2, -1)]));
        while other.semaphore(set, 2).unwrap().ncount == 0 {
            thread::yield_now();
        }
        assert!(scene.lock(which).try_acquire(scene.bystander));
        // The other engine waits for the same lock. It finds that no thread will release it, or that the arena was
        // poisoned.
        let waiter = thread::spawn(move || other.semop_ops(set, &[op(0, 1), op(1, 1)]));
        let _ = scene.calls();
        assert_eq!(scene.calls(), [Err(Errno::ENOSYS); 3], "{which:?}");
        let _ = waiter.join().unwrap();
        assert_eq!(other.semop_ops(set, &[op(0, 1)]), Err(Errno::ENOSYS), "{which:?}: by the short way too");
        assert!(sleeper.join().unwrap().is_err());
        assert_eq!((other.is_damaged(), other.semget(7, 0, 0)), (true, Err(Errno::ENOSYS)), "{which:?}");
    }
}

/// Slow owners, and other threads that check them all the time.
#[test]
fn genuine_owner_is_never_disproved() {
    let scene = Scene::new(Kind::Rcu);
    let (inner, engine, set) = (scene.inner(), scene.engine, scene.set);
    let lock = scene.lock(Which::Set);
    static DONE: AtomicBool = AtomicBool::new(false);
    static SUSPECTED: machine::AtomicU64 = machine::AtomicU64::new(0);
    let owners = [0, 1].map(|n| {
        thread::spawn(move || {
            for round in 0..20_000 {
                engine.semop_ops(set, &[op(0, 1), op(1, -1), op(1, 1)]).unwrap();
                if n == 0 && round % 2000 == 0 {
                    let me = Thread::of(inner).unwrap();
                    let guard = inner.guard_by_id::<Set>(me, Call::Semop, set, |_| Ok(())).unwrap();
                    // Longer than the others spin, and than they sleep before they check the owner.
                    thread::sleep(Duration::from_millis(12));
                    // The other threads have so many occasions, however busy the machine is.
                    let enough = SUSPECTED.load(SeqCst) + 200;
                    while SUSPECTED.load(SeqCst) < enough && !DONE.load(SeqCst) {
                        thread::yield_now();
                    }
                    drop(guard);
                }
                if round % 64 == 0 {
                    engine.semctl_set(set, 0);
                }
            }
        })
    });
    let suspicious = thread::spawn(move || {
        while !DONE.load(SeqCst) {
            if let Some(owner) = lock.owner() {
                SUSPECTED.fetch_add(1, SeqCst);
                let participant = &inner.participants()[owner.index() as usize];
                if participant.lock_count.disproves_owner(lock, owner) {
                    // The owners must not wait for this thread.
                    DONE.store(true, SeqCst);
                    panic!("a genuine owner is disproved");
                }
            }
        }
    });
    owners.into_iter().for_each(|owner| owner.join().unwrap());
    DONE.store(true, SeqCst);
    suspicious.join().unwrap();
    assert!(SUSPECTED.load(SeqCst) >= 2000, "no owner was checked");
    assert!(!engine.is_damaged());
}

impl Engine {
    fn semctl_set(&self, set: i32, value: usize) {
        // SAFETY: SETVAL takes no address.
        unsafe { self.semctl(set, 0, flag::SETVAL, value) }.unwrap();
    }
}

/// State by which other threads find a sleeper is overwritten, so no thread that posts finds it. The sleeper's own
/// check repairs that.
#[test]
fn waiter_with_overwritten_queue_is_served() {
    let spoil: [fn(&'static Inner, &'static Set, u32); 5] = [
        |_, set, _| set.contended.waiters.store(0, Relaxed),
        |inner, set, _| inner.sems(set)[0].alter.head.store(0, Relaxed),
        |inner, set, me| inner.sems(set)[0].alter.head.store(me + 7, Relaxed),
        |inner, set, _| inner.sems(set)[0].named.store(0, Relaxed),
        // So that no thread that posts takes the lock.
        |inner, set, _| inner.sems(set)[0].word.store(0, Relaxed),
    ];
    let sleepers: Vec<_> = spoil
        .into_iter()
        .map(|spoil| {
            spawn_sleeper(spoil, |engine, set| {
                engine.semop_ops(set, &[op(0, 1)]).unwrap();
            })
        })
        .collect();
    for (n, (scene, sleeper)) in sleepers.into_iter().enumerate() {
        assert_eq!(sleeper.join().unwrap(), Ok(()), "spoilt {n}");
        assert!(!scene.engine.is_damaged());
    }
}

/// A sleeper's own record is overwritten, or what leads to its set. Its wait ends with an error.
#[test]
fn waiter_with_overwritten_record_fails() {
    fn waiter(inner: &'static Inner, me: u32) -> &'static Waiter {
        &inner.participants()[me as usize].waiter
    }
    let spoil: [fn(&'static Inner, &'static Set, u32); 5] = [
        |inner, _, me| waiter(inner, me).object.store(4096, Relaxed),
        |inner, _, me| waiter(inner, me).ticket.store(u64::MAX, Relaxed),
        |inner, _, me| waiter(inner, me).nsops.store(0, Relaxed),
        |inner, _, me| waiter(inner, me).status.store(status::IDLE, Relaxed),
        |inner, set, _| {
            let id = crate::registry::Id(set.perm.id.load(Relaxed));
            let table = inner.arena.header().root(Class::Sem).table.load(Relaxed);
            crate::registry::Table::publish(&inner.arena, table, id.index(), 0);
        },
    ];
    let sleepers: Vec<_> = spoil.into_iter().map(|spoil| spawn_sleeper(spoil, |_, _| {})).collect();
    for (n, (_scene, sleeper)) in sleepers.into_iter().enumerate() {
        let answer = sleeper.join().unwrap();
        assert!(answer.is_err(), "spoilt {n}: {answer:?}");
    }
}

/// A section number in the slot that no thread can have stored does not defer signal handlers for ever.
#[test]
fn overwritten_slot_does_not_defer_signals_forever() {
    let scene = Scene::new(Kind::Rcu);
    let inner = scene.inner();
    let thread = Thread::of(inner).unwrap();
    // The first word of a slot is the section's number.
    let at = SLOTS_AT + u64::from(thread.index()) * size_of::<Slot>() as u64;
    let number = inner.arena.get::<AtomicU64>(at).unwrap();
    {
        let _read = thread.read();
        assert!(number.load(Relaxed) != 0 && thread.is_critical());
    }
    assert!(!thread.is_critical());
    for noise in [u64::MAX, 1 << 63, 1 << 40] {
        number.store(noise, Relaxed);
        assert!(!thread.is_critical(), "{noise:#x}");
    }
    number.store(0, Relaxed);
}

/// A free list that leads to memory in use gives nothing out; nor does an end that lies before the heap.
#[test]
fn heap_gives_no_block_twice() {
    for (words, to) in [(1..34, "a set"), (0..1, "a set"), (0..1, "the head")] {
        let scene = Scene::new(Kind::Rcu);
        let inner = scene.inner();
        let (at, set) = inner.find::<Set>(scene.set).unwrap();
        let heap = core::mem::offset_of!(Header, heap) as u64;
        let value = if to == "a set" { at - heap::HEAD } else { 64 };
        for word in words.clone() {
            inner.arena.get::<AtomicU64>(heap + word * 8).unwrap().store(value, Relaxed);
        }
        let made: Vec<_> = (0..10).map(|_| scene.engine.semget(flag::IPC_PRIVATE, 3, 0o600)).collect();
        // Without free lists there is fresh memory; without the end there is none.
        assert!(made.iter().all(|it| it.is_ok() == words.contains(&1)), "{words:?} to {to}: {made:?}");
        assert_eq!((set.count(), scene.engine.is_damaged()), (3, false));
        assert_eq!(scene.engine.semget(7, 3, 0), Ok(scene.set), "what there is goes on");
    }
}

type Sleeper = thread::JoinHandle<Result<(), Errno>>;

/// A thread that sleeps for semaphore 0 of a set; then `spoil` runs, then `after`.
fn spawn_sleeper(
    spoil: impl FnOnce(&'static Inner, &'static Set, u32),
    after: impl FnOnce(Engine, i32),
) -> (Scene, Sleeper) {
    let scene = Scene::new(Kind::Rcu);
    let (engine, set) = (scene.engine, scene.set);
    engine.semctl_set(set, 0);
    let (tell, told) = mpsc::channel();
    let sleeper = thread::spawn(move || {
        tell.send(Thread::of(engine.inner.unwrap()).unwrap().index()).unwrap();
        engine.semop_ops(set, &[op(0, -1)])
    });
    let me = told.recv().unwrap();
    let status = &scene.inner().participants()[me as usize].waiter.status;
    while status.load(SeqCst) != status::SLEEPING {
        thread::yield_now();
    }
    spoil(scene.inner(), scene.inner().find::<Set>(set).unwrap().1, me);
    after(engine, set);
    (scene, sleeper)
}

impl Inner {
    fn sems(&'static self, set: &'static Set) -> &'static [crate::sem::Sem] {
        crate::sem::calls::object::space(self, self.arena.offset_of(set), set).sems
    }
}
