//! Models: loom explores every interleaving and every reordering of the protocols on one set. Run by `RUSTFLAGS="--cfg
//! loom" cargo test -p unspin-sysv --release --lib models`.
//!
//! [`World`] stands in for the code that takes arguments, finds sets and asks which threads are alive. All code that
//! touches shared words is the code that ships. Sleepers sleep on loom's condition variable ([`crate::sync::futex`]),
//! so one that is never woken is a deadlock, which loom reports. Beside each property is a planted bug that must be
//! found: a copy of the code that is wrong in one point.

mod death;
mod exit_monitor;
mod handoff;
mod lock;
mod removal;
mod word;

use super::fast::{self, FastPathError};
use super::{Op, PendingWake, Performed, Sem, Set, SetSection, Space, WakeList, word::Word};
use crate::participant::{ParticipantRecord, status};
use crate::store::Arena;
use crate::sync::futex;
use crate::sync::lock::{Discipline, Owner, Taken};
use loom::cell::UnsafeCell;
use std::sync::Arc;
use unspin_sync::atomic::{AtomicU32, Ordering};
use unspin_sys::Errno;
use unspin_sys::ipc::{Sembuf, flag};

/// Offset that the set would have in the arena.
const OFFSET: u64 = 4096;

/// A set, its participants, a bit mask of the dead ones, and data that the semaphores protect.
struct World {
    set: Set,
    sems: Vec<Sem>,
    participants: Vec<ParticipantRecord>,
    dead: AtomicU32,
    thing: UnsafeCell<u32>,
    steps: AtomicU32,
    /// 1 while the lock's holder has repaired the set, and the wake-ups for that are due.
    repaired: AtomicU32,
    arena: Option<Arena>,
}

// SAFETY: `thing` is the only member that is not Sync. Whether two threads access it at once is what the models test,
// and loom checks every access.
unsafe impl Sync for World {}
// SAFETY: nothing in it belongs to a particular thread.
unsafe impl Send for World {}

impl World {
    fn new(sems: usize, participants: usize) -> World {
        let set = Set::default();
        set.init(sems as u32, 0);
        World {
            set,
            sems: (0..sems).map(|_| Sem::default()).collect(),
            participants: (0..participants).map(|_| ParticipantRecord::default()).collect(),
            dead: AtomicU32::new(0),
            thing: UnsafeCell::new(0),
            steps: AtomicU32::new(0),
            repaired: AtomicU32::new(0),
            arena: None,
        }
    }

    fn space(&self) -> Space<'_> {
        Space {
            set: &self.set,
            sems: &self.sems,
            participants: &self.participants,
            offset: OFFSET,
            arena: self.arena.as_ref(),
        }
    }

    fn word(&self, sem: usize) -> Word {
        self.step();
        self.space().word(sem)
    }

    /// A point where loom may switch threads. To find orders to try, loom looks at accesses to one object, and knows
    /// only the last access to each object. So one thread's load hides another thread's load from the first thread's
    /// own exchange after it. Therefore everything that a thread does in a model begins with an exchange on one word
    /// that all threads share.
    fn step(&self) {
        // Relaxed: orders nothing, so that it does not hide what the protocols should order.
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    fn write(&self) {
        self.step();
        // SAFETY: loom checks that no other thread accesses it meanwhile.
        self.thing.with_mut(|thing| unsafe { *thing += 1 });
    }

    fn read(&self) -> u32 {
        self.step();
        // SAFETY: loom checks that no other thread writes meanwhile.
        self.thing.with(|thing| unsafe { *thing })
    }

    fn owner(me: u32) -> Owner {
        Owner::new(me, 1)
    }

    /// From now on participant `who` counts as dead.
    fn kill(&self, who: u32) {
        // Release: the kernel's own ordering: a thread that finds another one dead sees its stores.
        self.dead.fetch_or(1 << who, Ordering::Release);
    }

    fn is_dead(&self, who: u32) -> bool {
        // Acquire: partner of the Release in `kill`.
        self.dead.load(Ordering::Acquire) >> who & 1 == 1
    }

    /// Takes the lock as `Inner::acquire` does.
    fn acquire(&self, me: u32) {
        self.step();
        let (lock, me) = (self.set.lock(), World::owner(me));
        if !lock.try_acquire(me) {
            lock.acquire_slow(me, Discipline::Park, &|_: Owner| -> bool {
                unreachable!("no periodic check in a model")
            });
        }
    }

    /// Takes the lock as soon as its owner releases it, or takes it over as soon as the owner is found dead; then
    /// repairs as `Inner::repair` does.
    fn acquire_or_take_over(&self, me: u32) -> Taken {
        let (lock, owner) = (self.set.lock(), World::owner(me));
        loop {
            if lock.owner().is_none() && lock.try_acquire(owner) {
                return Taken::Clean;
            }
            if lock.take_over(owner, &|owner| self.is_dead(owner.index())) {
                let mut section = SetSection::new(self.space(), me);
                section.repair();
                section.restore_fast();
                // Relaxed: under the lock. As `Held::note_repair`.
                self.repaired.store(1, Ordering::Relaxed);
                return Taken::OwnerDied;
            }
            loom::thread::yield_now();
        }
    }

    /// A section of `me`, which holds the lock; ends it as `Guard` does.
    fn section<R>(&self, me: u32, f: impl FnOnce(&mut SetSection<'_>) -> R) -> (R, WakeList) {
        let mut section = SetSection::new(self.space(), me);
        self.step();
        let result = f(&mut section);
        self.step();
        section.restore_fast();
        // Relaxed: under the lock.
        let repaired = self.repaired.swap(0, Ordering::Relaxed) != 0;
        self.set.lock().release();
        if repaired {
            self.wake_news();
        }
        section.wakes.iter().for_each(|wake| self.wake(wake));
        (result, section.wakes)
    }

    /// As `wake::wake_news`.
    fn wake_news(&self) {
        for (participant, index) in self.participants.iter().zip(0u32..) {
            self.step();
            // Acquire: as in `wake::wake_news`.
            let end = participant.waiter.status.load(Ordering::Acquire);
            if status::is_news(end) {
                self.wake(PendingWake { index, end, asleep: true });
            }
        }
    }

    /// As `wake::wake`.
    fn wake(&self, wake: PendingWake) {
        let waiter = &self.participants[wake.index as usize].waiter;
        self.step();
        if wake.asleep {
            waiter.wake();
        }
        // Acquire: as in `wake::wake`.
        if waiter.status.load(Ordering::Acquire) == wake.end && !self.is_dead(wake.index) {
            waiter.confirm(wake.end);
        }
    }

    /// Writes a vector to the record where wakers find it, as `Vector::read` does.
    fn arm_exit_notice(&self, me: u32, ops: &[Op]) {
        let participant = &self.participants[me as usize];
        // Relaxed: published by the Release in `SetSection::enqueue`.
        participant.op_words().zip(ops).for_each(|(to, op)| to.store(op.0, Ordering::Relaxed));
        participant.waiter.nsops.store(ops.len() as u32, Ordering::Relaxed);
        participant.waiter.pid.store(pid(me), Ordering::Relaxed);
    }

    /// The slow path, as `semop::perform`; `None` if the operation waits.
    fn perform(&self, me: u32, ops: &[Op]) -> Option<Result<(), Errno>> {
        self.arm_exit_notice(me, ops);
        self.acquire(me);
        self.section(me, |section| self.perform_within(section, me)).0
    }

    fn perform_within(&self, section: &mut SetSection<'_>, me: u32) -> Option<Result<(), Errno>> {
        if section.space.is_deleted() {
            return Some(Err(Errno::EIDRM));
        }
        let ops = self.participants[me as usize].ops();
        ops.clone().for_each(|op| section.mark_slow(op.sem()));
        match section.evaluate(ops.clone(), None) {
            Performed::Fails(errno) => Some(Err(errno)),
            Performed::Blocks(_) => {
                section.enqueue(None);
                None
            }
            Performed::Done => {
                section.commit(ops, pid(me), None);
                section.serve();
                Some(Ok(()))
            }
        }
    }

    /// One operation, from the fast path to the end of its wait.
    fn semop(&self, me: u32, op: Op) -> Result<(), Errno> {
        self.step();
        match fast::perform(&self.sems[op.sem()], op, pid(me)) {
            Ok(()) => Ok(()),
            Err(FastPathError::Fails(errno)) => Err(errno),
            Err(_) => self.perform(me, &[op]).unwrap_or_else(|| self.wait(me)),
        }
    }

    /// As `wait::wait`.
    fn wait(&self, me: u32) -> Result<(), Errno> {
        let waiter = &self.participants[me as usize].waiter;
        loop {
            if let Some(result) = self.try_end(me) {
                return result;
            }
            self.step();
            waiter.mark_sleeping();
            self.step();
            futex::wait(&waiter.status, status::SLEEPING, None);
        }
    }

    /// As `wait::try_end`.
    fn try_end(&self, me: u32) -> Option<Result<(), Errno>> {
        let waiter = &self.participants[me as usize].waiter;
        self.step();
        let now = waiter.load_status();
        if status::is_waiting(now) {
            return None;
        }
        self.step();
        waiter.acknowledge();
        Some(match now & 0xFF {
            status::FAILED => Err(Errno((now >> 8) as i32)),
            _ => Ok(()),
        })
    }

    /// Takes `me` out of the queue, as a timeout does. Returns how its wait ended.
    fn give_up(&self, me: u32) -> Result<(), Errno> {
        self.acquire(me);
        self.section(me, |section| {
            section.withdraw(Errno::EAGAIN);
            section.serve();
        });
        self.try_end(me).expect("a wait that was withdrawn is over")
    }

    /// Checks that no participant waits, and that everything is as it was before any participant did.
    fn assert_at_rest(&self) {
        // Relaxed: all threads have been joined.
        assert_eq!(self.set.contended.waiters.load(Ordering::Relaxed), 0);
        for (index, sem) in self.sems.iter().enumerate() {
            assert_eq!(sem.named.load(Ordering::Relaxed), 0);
            assert!(!self.word(index).is_slow(), "the fast path is closed for good");
        }
        for participant in &self.participants {
            assert_eq!(last(&participant.waiter.status), status::IDLE);
        }
    }
}

/// The value stored last. To be called once all threads have been joined. An ordinary load in loom may return a store
/// that was replaced by another store made without knowledge of it (as when an exchange is followed by another thread's
/// plain store). The reason is that loom does not know that nothing comes between what an exchange reads and what it
/// writes.
fn last(word: &AtomicU32) -> u32 {
    // SAFETY: no other thread accesses it any more.
    unsafe { word.unsync_load() }
}

fn pid(me: u32) -> u32 {
    100 + me
}

fn op(sem: u16, sem_op: i16) -> Op {
    Op::new(Sembuf { sem_num: sem, sem_op, sem_flg: 0 })
}

fn nowait(sem: u16, sem_op: i16) -> Op {
    Op::new(Sembuf { sem_num: sem, sem_op, sem_flg: flag::IPC_NOWAIT as i16 })
}

/// Runs the threads of a model on a world, each with its participant index, and then runs `after`. There are at most
/// `preemptions` switches that no thread asked for.
fn explore(
    preemptions: usize,
    world: impl Fn() -> World + Send + Sync + 'static,
    threads: &'static [fn(&World, u32)],
    after: fn(&World),
) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    let executions = std::sync::Arc::new(core::sync::atomic::AtomicU64::new(0));
    let count = executions.clone();
    builder.check(move || {
        // Relaxed: a count.
        count.fetch_add(1, Ordering::Relaxed);
        let world = Arc::new(world());
        let others: Vec<_> = threads[1..]
            .iter()
            .zip(1u32..)
            .map(|(&body, me)| {
                let world = world.clone();
                loom::thread::spawn(move || body(&world, me))
            })
            .collect();
        threads[0](&world, 0);
        others.into_iter().for_each(|other| other.join().unwrap());
        after(&world);
    });
    // Relaxed: a count.
    let executions = executions.load(Ordering::Relaxed);
    assert!(executions > 5, "loom saw {executions} executions: the threads do not meet");
    println!("{executions} executions");
}
