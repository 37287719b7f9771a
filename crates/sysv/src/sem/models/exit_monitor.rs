//! A sleeper that monitors a process for exit. A process that becomes a holder after the sleeper has queued, and then
//! dies, does not leave it asleep.
//!
//! The dying thread plays the kernel's part: it marks a word and wakes one of its sleepers. The sleeper does what
//! `crate::waiting::exit_monitor` does.

use super::*;
use unspin_sys::robust::{OWNER_DIED, WAITERS};

/// A set with one semaphore, a record of adjustments of participant 1's process, and the process's robust word.
struct Scene {
    world: World,
    record: u64,
    robust_word: AtomicU32,
}

/// Participant 1 as a thread, and as a process.
const HOLDER: u32 = 1;
const PROCESS: u64 = 7;

impl Scene {
    /// Participant 0 waits for more tokens than there are.
    fn new() -> Scene {
        let (arena, record) = crate::store::Arena::new().with_undo(1);
        let mut world = World::new(1, 2);
        world.arena = Some(arena);
        let scene = Scene { world, record, robust_word: AtomicU32::new(HOLDER) };
        let space = scene.world.space();
        let record = space.record(record).unwrap();
        record.assign(PROCESS, pid(HOLDER));
        space.add_record(&record);
        // One token: participant 0 needs two, and participant 1 will take it first.
        scene.world.perform(HOLDER, &[op(0, 1)]).unwrap().unwrap();
        assert_eq!(scene.world.perform(0, &[op(0, -2)]), None);
        scene
    }

    /// A section of `me`, begun and ended as `Guard` does.
    fn section(&self, me: u32, f: impl FnOnce(&mut SetSection<'_>)) {
        self.world.acquire(me);
        self.world.section(me, |section| {
            // Acquire: partner of the exchange in `die`.
            let gone = |_: u64| self.robust_word.load(Ordering::Acquire) == OWNER_DIED;
            section.apply_dead_undo(gone, |_| false);
            f(section);
            section.serve();
            section.assign_monitors();
        });
    }

    /// An operation of the holder that can proceed, and serves no waiter.
    fn perform(&self, op: Op, assign_monitors: fn(&mut SetSection<'_>)) {
        self.world.step();
        self.world.acquire(HOLDER);
        self.world.section(HOLDER, |section| {
            section.mark_slow(0);
            let record = section.space.record(self.record).unwrap();
            assert_eq!(section.perform_one(op, pid(HOLDER), Some(&record)), Performed::Done);
            assign_monitors(section);
        });
    }

    /// Ends as a process that the kernel ends.
    fn die(&self) {
        self.world.step();
        // AcqRel: the kernel orders everything.
        let before = self.robust_word.swap(OWNER_DIED, Ordering::AcqRel);
        self.world.step();
        if before & WAITERS != 0 {
            futex::wake(&self.robust_word, 1);
        }
    }

    /// Like `wait::wait` and `exit_monitor::monitor`.
    fn wait(&self, me: u32) -> Result<(), Errno> {
        let participant = &self.world.participants[me as usize];
        loop {
            if let Some(result) = self.world.try_end(me) {
                return result;
            }
            self.world.step();
            participant.waiter.mark_sleeping();
            self.world.step();
            if participant.monitored_processes().is_empty() {
                futex::wait(&participant.waiter.status, status::SLEEPING, None);
                continue;
            }
            // Relaxed: as in `Inner::arm_exit_notice`.
            let seen = self.robust_word.fetch_or(WAITERS, Ordering::Relaxed);
            if seen & !WAITERS == OWNER_DIED {
                self.robust_word.store(OWNER_DIED, Ordering::Relaxed);
                self.section(me, |section| section.fill_monitored_processes());
                continue;
            }
            self.world.step();
            futex::wait_any(&[
                (&participant.waiter.status, status::SLEEPING),
                (&self.robust_word, seen | WAITERS),
            ]);
        }
    }
}

fn undo_op(sem: u16, sem_op: i16) -> Op {
    Op::new(Sembuf { sem_num: sem, sem_op, sem_flg: flag::SEM_UNDO as i16 })
}

/// Participant 0 sleeps for two tokens, of which there is one. Participant 1 takes that one with SEM_UNDO, posts
/// another one without, and dies: now there are two.
fn explore_exit_monitor(assign_monitors: fn(&mut SetSection<'_>)) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(move || {
        let scene = Arc::new(Scene::new());
        let holder = {
            let scene = scene.clone();
            loom::thread::spawn(move || {
                scene.perform(undo_op(0, -1), assign_monitors);
                scene.perform(op(0, 1), |_| {});
                scene.die();
            })
        };
        assert_eq!(scene.wait(0), Ok(()));
        holder.join().unwrap();
        assert_eq!(scene.world.word(0).value(), 0);
        assert!(!scene.world.word(0).is_slow(), "no adjustment is left");
    });
}

#[test]
fn new_holder_is_monitored_by_sleeping_waiter() {
    explore_exit_monitor(|section| section.assign_monitors());
}

#[test]
#[should_panic(expected = "deadlock")]
fn planted_holder_does_not_assign_monitors() {
    explore_exit_monitor(|_| {});
}

#[test]
#[should_panic(expected = "deadlock")]
fn planted_holder_does_not_notify_first_waiter() {
    explore_exit_monitor(|section| {
        section.space.participants[0].monitored_processes().add(PROCESS);
    });
}
