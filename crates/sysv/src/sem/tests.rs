//! Tests of what a section does with vectors and waiters, on a set on the heap. There is no arena and no process; one
//! thread plays all participants. The reference is the kernel's `ipc/sem.c` (section 3 of the semantics).

use super::change::Change;
use super::redo::{self, state};
use super::{Op, Performed, Sem, Set, SetSection, Space, WakeList, queue};
use crate::participant::{ParticipantRecord, WaitList, status};
use unspin_sync::atomic::Ordering::Relaxed;
use unspin_sys::Errno;
use unspin_sys::ipc::{SEMVMX, Sembuf, flag};

const OFFSET: u64 = 4096;
/// The participant that posts.
const POSTER: u32 = 0;

struct World {
    set: Set,
    sems: Vec<Sem>,
    participants: Vec<ParticipantRecord>,
}

impl World {
    fn new(values: &[i32], participants: usize) -> World {
        let set = Set::default();
        set.init(values.len() as u32, 0);
        let world = World {
            set,
            sems: values.iter().map(|_| Sem::default()).collect(),
            participants: (0..participants).map(|_| ParticipantRecord::default()).collect(),
        };
        world.section(POSTER, |section| {
            values.iter().enumerate().for_each(|(sem, &value)| section.set_value(sem, value, 0));
        });
        world
    }

    fn space(&self) -> Space<'_> {
        Space {
            set: &self.set,
            sems: &self.sems,
            participants: &self.participants,
            offset: OFFSET,
            arena: None,
        }
    }

    fn section(&self, me: u32, f: impl FnOnce(&mut SetSection<'_>)) -> WakeList {
        let mut section = SetSection::new(self.space(), me);
        f(&mut section);
        section.restore_fast();
        section.wakes
    }

    /// The complete call; `None` if the participant waits now.
    fn semop(&self, me: u32, ops: &[Op]) -> Option<Result<(), Errno>> {
        let participant = &self.participants[me as usize];
        participant.op_words().zip(ops).for_each(|(to, op)| to.store(op.0, Relaxed));
        participant.waiter.nsops.store(ops.len() as u32, Relaxed);
        participant.waiter.pid.store(pid(me), Relaxed);
        let mut answer = None;
        self.section(me, |section| {
            ops.iter().for_each(|op| section.mark_slow(op.sem()));
            match section.evaluate(ops.iter().copied(), None) {
                Performed::Fails(errno) => answer = Some(Err(errno)),
                Performed::Blocks(_) => section.enqueue(None),
                Performed::Done => {
                    section.commit(ops.iter().copied(), pid(me), None);
                    section.serve();
                    answer = Some(Ok(()));
                }
            }
        });
        answer
    }

    fn waits(&self, me: u32, ops: &[Op]) {
        assert_eq!(self.semop(me, ops), None, "participant {me} should wait");
    }

    fn post(&self, ops: &[Op]) {
        assert_eq!(self.semop(POSTER, ops), Some(Ok(())));
    }

    /// How the participant's wait ended, which is acknowledged; `None` if it has not.
    fn try_end(&self, me: u32) -> Option<Result<(), Errno>> {
        let waiter = &self.participants[me as usize].waiter;
        let now = waiter.load_status();
        if status::is_waiting(now) {
            return None;
        }
        waiter.acknowledge();
        Some(match now & 0xFF {
            status::FAILED => Err(Errno((now >> 8) as i32)),
            _ => Ok(()),
        })
    }

    fn is_served(&self, me: u32) -> bool {
        self.try_end(me) == Some(Ok(()))
    }

    fn values(&self) -> Vec<i32> {
        (0..self.sems.len()).map(|sem| self.space().word(sem).value()).collect()
    }

    fn count(&self, sem: usize, queue: WaitList) -> usize {
        let mut count = 0;
        self.section(POSTER, |section| {
            section.mark_all_slow();
            count = section.count_waiters(sem, queue, |_| false);
        });
        count
    }

    fn repair(&self, me: u32) -> WakeList {
        self.section(me, |section| section.repair())
    }

    /// The waiters of a list in order, checked forwards and backwards.
    fn order(&self, queue: WaitList, sem: usize) -> Vec<u32> {
        let list = queue::list(&self.space(), queue, sem);
        let forwards: Vec<u32> = list.iter(&self.participants).map(|(index, _)| index).collect();
        let mut backwards = Vec::new();
        let mut link = list.tail.load(Relaxed);
        while let Some(index) = link.checked_sub(1) {
            backwards.push(index);
            link = self.participants[index as usize].waiter.prev.load(Relaxed);
        }
        backwards.reverse();
        assert_eq!(forwards, backwards);
        forwards
    }

    fn slow(&self) -> Vec<bool> {
        (0..self.sems.len()).map(|sem| self.space().word(sem).is_slow()).collect()
    }
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

#[test]
fn oldest_waiter_that_can_proceed_is_served_first() {
    let world = World::new(&[0, 0], 5);
    world.waits(1, &[op(0, -1), op(1, 0)]);
    world.waits(2, &[op(0, -1)]);
    world.waits(3, &[op(0, -1), op(1, 0)]);
    world.waits(4, &[op(0, -1)]);
    for next in 1..5 {
        world.post(&[op(0, 1)]);
        let served: Vec<u32> = (1..5).filter(|&me| world.try_end(me) == Some(Ok(()))).collect();
        // A waiter that was served before is idle by now, and counts as ended for good.
        assert!(served.contains(&next), "{served:?}");
        assert!((next + 1..5).all(|later| !served.contains(&later)), "{served:?}");
        assert_eq!(world.values(), [0, 0]);
        assert_eq!(world.space().word(0).pid(), pid(next), "the waiter's operation is the last");
    }
    assert_eq!(world.slow(), [false, false]);
}

#[test]
fn waiter_that_cannot_proceed_is_skipped() {
    let world = World::new(&[0], 4);
    world.waits(1, &[op(0, -2)]);
    world.waits(2, &[op(0, -1)]);
    world.post(&[op(0, 1)]);
    assert_eq!((world.try_end(1), world.try_end(2)), (None, Some(Ok(()))));
    world.post(&[op(0, 1)]);
    assert_eq!(world.try_end(1), None);
    world.post(&[op(0, 1)]);
    assert!(world.is_served(1));
}

#[test]
fn vector_on_one_semaphore_waits_in_complex_list() {
    let world = World::new(&[0], 2);
    world.waits(1, &[op(0, -1), op(0, -1)]);
    world.post(&[op(0, 1)]);
    assert_eq!(world.try_end(1), None);
    world.post(&[op(0, 1)]);
    assert!(world.is_served(1));
    assert_eq!(world.values(), [0]);
}

#[test]
fn all_zero_waiters_are_served_first() {
    let world = World::new(&[1, 0], 6);
    world.waits(1, &[op(1, -1)]);
    world.waits(2, &[op(0, 0)]);
    world.waits(3, &[op(0, 0)]);
    world.waits(4, &[op(0, 0), op(1, 0)]);
    // Passes zero on the first semaphore and posts the second. The taker is older, yet the waiters for zero on both
    // semaphores are served: at their turn they have not seen the post of the second.
    world.post(&[op(0, -1)]);
    assert!((2..5).all(|me| world.is_served(me)));
    assert_eq!(world.try_end(1), None);
    world.post(&[op(1, 1)]);
    assert!(world.is_served(1));
}

#[test]
fn decrement_to_zero_releases_zero_waiters() {
    let world = World::new(&[0], 3);
    world.waits(1, &[op(0, -1)]);
    world.semop(2, &[op(0, 1), op(0, 0)]);
    assert_eq!(world.try_end(2), None, "one that adds and then waits for zero is complex");
    world.post(&[op(0, 1)]);
    assert!(world.is_served(1));
    assert_eq!((world.values(), world.try_end(2)), (vec![0], None));
}

#[test]
fn after_complex_success_oldest_waiter_is_tried_first() {
    // Waiter 1 waits for semaphore 1. Waiter 2, which is younger, posts that semaphore when it is served.
    let world = World::new(&[0, 0], 3);
    world.waits(1, &[op(1, -1)]);
    world.waits(2, &[op(0, -1), op(1, 1)]);
    world.post(&[op(0, 1)]);
    assert!(world.is_served(2) && world.is_served(1));
    assert_eq!((world.values(), world.slow()), (vec![0, 0], vec![false, false]));
}

#[test]
fn queued_operation_fails_with_erange_when_it_overflows() {
    let world = World::new(&[0, SEMVMX], 2);
    world.waits(1, &[op(0, -1), op(1, 1)]);
    world.post(&[op(0, 1)]);
    assert_eq!(world.try_end(1), Some(Err(Errno::ERANGE)));
    assert_eq!(world.values(), [1, SEMVMX], "nothing of the vector has happened");
    assert_eq!(world.slow(), [false, false]);
}

#[test]
fn nowait_applies_only_to_blocking_operation() {
    let world = World::new(&[0, 0], 2);
    assert_eq!(world.semop(1, &[nowait(0, -1), op(1, -1)]), Some(Err(Errno::EAGAIN)));
    world.waits(1, &[op(0, -1), nowait(1, -1)]);
    world.post(&[op(0, 1)]);
    assert_eq!(world.try_end(1), Some(Err(Errno::EAGAIN)));
    assert_eq!(world.values(), [1, 0]);
}

#[test]
fn waiter_is_counted_on_first_blocking_operation() {
    let world = World::new(&[0, 0], 3);
    world.waits(1, &[op(0, -1), op(1, -1)]);
    world.waits(2, &[op(1, 0), op(0, -2)]);
    let counts = |world: &World| [0, 1].map(|sem| world.count(sem, WaitList::Alter));
    assert_eq!(counts(&world), [2, 0]);
    world.post(&[op(0, 1)]);
    assert_eq!(counts(&world), [1, 1], "the first moved on to its second operation");
    assert_eq!([0, 1].map(|sem| world.count(sem, WaitList::Zero)), [0, 0]);
    world.section(POSTER, |section| section.set_value(1, 3, 0));
    assert_eq!([0, 1].map(|sem| world.count(sem, WaitList::Zero)), [0, 1]);
}

#[test]
fn setall_serves_every_kind_of_waiter() {
    let world = World::new(&[1, 0, 0], 5);
    world.waits(1, &[op(0, 0)]);
    world.waits(2, &[op(1, -3)]);
    world.waits(3, &[op(2, -1), op(1, -1)]);
    world.waits(4, &[op(2, -9)]);
    world.section(POSTER, |section| {
        section.set_all(&[0, 4, 1], 77);
        section.serve();
    });
    assert!((1..4).all(|me| world.is_served(me)));
    assert_eq!((world.try_end(4), world.values()), (None, vec![0, 0, 0]));
    world.section(4, |section| section.withdraw(Errno::EAGAIN));
    assert_eq!(world.try_end(4), Some(Err(Errno::EAGAIN)));
    assert_eq!(world.slow(), [false, false, false]);
}

#[test]
fn removal_ends_waits_and_confirms_grants() {
    let world = World::new(&[0], 4);
    world.waits(1, &[op(0, -1)]);
    world.waits(2, &[op(0, -5)]);
    let wakes = world.section(POSTER, |section| {
        section.set_value(0, 1, 0);
        section.serve();
    });
    assert_eq!(wakes.len(), 1);
    assert!(status::is_granted(world.participants[1].waiter.load_status()));
    world.section(POSTER, |section| section.remove());
    assert_eq!(
        world.participants[1].waiter.load_status(),
        status::CONFIRMED,
        "nothing is taken back from a set that is gone"
    );
    assert_eq!(world.try_end(2), Some(Err(Errno::EIDRM)));
    assert_eq!(world.slow(), [true], "no operation succeeds any more");
}

/// A thread that has found a waiter alive confirms the grant late: the waiter has waited again and been granted that
/// second operation. The confirmation must not apply to the second grant.
#[test]
fn late_confirmation_does_not_confirm_next_grant() {
    let world = World::new(&[0], 2);
    let granted = || {
        world.waits(1, &[op(0, -1)]);
        world.post(&[op(0, 1)]);
        world.participants[1].waiter.load_status()
    };
    let first = granted();
    world.participants[1].waiter.acknowledge();
    let second = granted();
    world.participants[1].waiter.confirm(first);
    assert_eq!(
        world.participants[1].waiter.load_status(),
        second,
        "it may be dead since, and this one to be taken back"
    );
    world.participants[1].waiter.confirm(second);
    assert_eq!(world.participants[1].waiter.load_status(), status::CONFIRMED);
}

#[test]
fn wake_list_overflow_is_recorded() {
    let world = World::new(&[1], 41);
    for me in 1..41 {
        world.waits(me, &[op(0, 0)]);
        world.participants[me as usize].waiter.mark_sleeping();
    }
    let wakes = world.section(POSTER, |section| {
        section.set_value(0, 0, 0);
        section.serve();
    });
    assert_eq!((wakes.len(), wakes.has_overflowed()), (8, true));
    assert!((1..41).all(|me| status::is_granted(world.participants[me as usize].waiter.load_status())));
    let listed: Vec<u32> = wakes.iter().map(|wake| wake.index).collect();
    assert_eq!(listed, (1..9).collect::<Vec<u32>>(), "oldest first");
}

#[test]
fn recovery_dequeues_dead_waiter_and_reverts_its_grant() {
    let world = World::new(&[0, 5], 4);
    world.waits(1, &[op(0, -1), op(1, -2)]);
    world.waits(2, &[op(0, -1)]);
    world.waits(3, &[op(0, -1)]);
    world.post(&[op(0, 1)]);
    assert!(status::is_granted(world.participants[1].waiter.load_status()));
    assert_eq!(world.values(), [0, 3]);
    // 1 was dead: the next waiter gets what is taken back.
    world.section(POSTER, |section| {
        section.recover_dead(1);
        section.serve();
    });
    assert_eq!((world.participants[1].waiter.load_status(), world.values()), (status::REVERTED, vec![0, 5]));
    assert!(world.is_served(2));
    world.section(POSTER, |section| section.recover_dead(3));
    assert_eq!(world.participants[3].waiter.load_status(), status::IDLE);
    assert_eq!((world.order(WaitList::Alter, 0), world.slow()), (vec![], vec![false, false]));
}

#[test]
fn repair_rebuilds_half_linked_lists_in_arrival_order() {
    for seed in 0..200u32 {
        let world = World::new(&[0, 1], 9);
        for (n, me) in [4, 7, 1, 8, 2, 3].into_iter().enumerate() {
            match n % 3 {
                0 => world.waits(me, &[op(0, -1)]),
                1 => world.waits(me, &[op(1, 0)]),
                _ => world.waits(me, &[op(0, -1), op(1, -1)]),
            }
        }
        let mut random = seed.wrapping_mul(0x9E37_79B9) | 1;
        let mut any = |below: u32| {
            random ^= random << 13;
            random ^= random >> 17;
            random ^= random << 5;
            random % below
        };
        for participant in &world.participants {
            participant.waiter.prev.store(any(11), Relaxed);
            participant.waiter.next.store(any(11), Relaxed);
        }
        for sem in &world.sems {
            [&sem.alter.head, &sem.alter.tail, &sem.zero.head, &sem.zero.tail]
                .into_iter()
                .for_each(|end| end.store(any(11), Relaxed));
            sem.named.store(any(5), Relaxed);
            sem.next_marked_slow.store(any(3), Relaxed);
        }
        world.set.contended.waiters.store(any(20), Relaxed);
        world.set.contended.marked_slow.store(any(3), Relaxed);
        assert!(world.repair(POSTER).is_empty());
        assert_eq!(world.order(WaitList::Alter, 0), [4, 8], "seed {seed}");
        assert_eq!(world.order(WaitList::Zero, 1), [7, 2]);
        assert_eq!(world.order(WaitList::ComplexAlter, 0), [1, 3]);
        assert_eq!(world.set.contended.waiters.load(Relaxed), 6);
        assert_eq!([0, 1].map(|sem| world.sems[sem].named.load(Relaxed)), [4, 4]);
        assert_eq!(world.slow(), [true, true]);
        // The semaphores can be used.
        world.post(&[op(0, 3)]);
        assert_eq!([4, 8, 1, 3].map(|me| world.is_served(me)), [true, true, true, false]);
        assert_eq!(world.values(), [0, 0]);
        assert!(world.is_served(7) && world.is_served(2));
    }
}

/// A record of each kind, with its waiter in the given status, and the values after repair.
#[test]
fn decided_redo_record_of_dead_holder_is_applied() {
    let writer = 2;
    let decided = [8, 9];
    let untouched = [1, 2];
    let cases = [
        (state::COMMITTED, writer, status::IDLE, decided),
        (state::GRANT, 1, status::QUEUED, untouched),
        (state::GRANT, 1, status::SLEEPING, untouched),
        (state::GRANT, 1, status::GRANTED, decided),
        (state::GRANT, 1, status::CONFIRMED, decided),
        (state::GRANT, 1, status::IDLE, decided),
        (state::REVERT, 1, status::GRANTED, untouched),
        (state::REVERT, 1, status::REVERTED, decided),
        (state::REVERT, 1, status::IDLE, decided),
        (state::IDLE, writer, status::IDLE, untouched),
        (77, writer, status::IDLE, untouched),
    ];
    for (kind, about, now, expected) in cases {
        for written in 0..3 {
            if written > 0 && expected == untouched {
                continue; // No value is written before the change is decided.
            }
            let world = World::new(&[1, 2], 3);
            world.waits(1, &[op(0, -20)]);
            let values = [(0, decided[0]), (1, decided[1])];
            world.section(writer, |section| {
                section.mark_all_slow();
                redo::prepare(
                    &world.space(),
                    &world.participants[2],
                    (kind, about),
                    (55, 0),
                    changes(values),
                );
                world.participants[1].waiter.status.store(now, Relaxed);
                values[..written].iter().for_each(|&(sem, value)| world.space().put(sem, value, 55));
            });
            world.repair(POSTER);
            let case = format!("kind {kind}, status {now}, {written} written");
            assert_eq!(world.values(), expected, "{case}");
            assert_eq!(world.participants[2].redo.state.load(Relaxed), state::IDLE, "{case}");
            let pids = [0, 1].map(|sem| world.space().word(sem).pid());
            assert_eq!(pids, if expected == decided { [55, 55] } else { [0, 0] }, "{case}");
            let waits = status::is_waiting(now);
            assert_eq!(world.set.contended.waiters.load(Relaxed), u32::from(waits), "{case}");
        }
    }
}

fn changes(values: [(usize, i32); 2]) -> impl Iterator<Item = (usize, Change)> {
    values.into_iter().map(|(sem, value)| (sem, Change::to(value)))
}

/// The waiter has gone on to another wait with the same index: the earlier grant to it is decided.
#[test]
fn grant_record_is_decided_when_waiter_waits_again() {
    let world = World::new(&[1, 2], 3);
    world.waits(1, &[op(0, -20)]);
    world.section(2, |section| {
        section.mark_all_slow();
        let values = [(0, 8), (1, 9)];
        redo::prepare(&world.space(), &world.participants[2], (state::GRANT, 1), (55, 0), changes(values));
    });
    world.participants[1].waiter.ticket.store(99, Relaxed);
    world.repair(POSTER);
    assert_eq!(world.values(), [8, 9]);
    // Tickets go on above the highest.
    assert!(world.set.contended.ticket.load(Relaxed) >= 99);
}

/// A waiter of one set may recover a dead waiter of another set, and is served meanwhile, under another lock.
#[test]
fn waiter_recovers_another_set_while_it_is_granted() {
    let (here, there) = (World::new(&[0], 2), World::new(&[5, 5], 0));
    here.waits(1, &[op(0, -1)]);
    let elsewhere = Space { participants: &here.participants, offset: 2 * OFFSET, ..there.space() };
    let burier = &here.participants[1];
    redo::prepare(&elsewhere, burier, (state::COMMITTED, 1), (pid(1), 0), changes([(0, 6), (1, 7)]));
    here.post(&[op(0, 1)]);
    redo::apply(&elsewhere, burier);
    assert_eq!(there.values(), [6, 7]);
    assert!(here.is_served(1));
}

/// After a grant to a dead waiter is taken back, `sempid` is the pid from before the grant, also if the dead waiter had
/// served itself.
#[test]
fn revert_restores_displaced_sempid() {
    let world = World::new(&[0, 0], 3);
    world.post(&[op(0, 1)]);
    world.waits(1, &[op(0, -1), op(1, -1)]);
    world.section(1, |section| {
        section.mark_slow(1);
        section.set_value(1, 1, pid(2));
        section.serve();
    });
    // As if it had died before it read its status.
    world.participants[1].waiter.status.store(status::GRANTED, Relaxed);
    assert_eq!([0, 1].map(|sem| world.space().word(sem).pid()), [pid(1), pid(1)]);
    world.section(POSTER, |section| section.recover_dead(1));
    assert_eq!(world.values(), [1, 1]);
    assert_eq!([0, 1].map(|sem| world.space().word(sem).pid()), [pid(POSTER), pid(2)]);
}

#[test]
fn repair_finishes_interrupted_setall() {
    let world = World::new(&[1, 2], 2);
    world.section(1, |section| {
        section.mark_all_slow();
        for (sem, value) in world.sems.iter().zip([5, 6]) {
            sem.tentative.store(value, Relaxed);
        }
        world.set.contended.overwriter.store(55, Relaxed);
        world.set.contended.overwriting.store(1, Relaxed);
        world.space().put(0, 5, 55);
    });
    world.repair(POSTER);
    assert_eq!((world.values(), world.space().word(1).pid()), (vec![5, 6], 55));
    assert_eq!(world.set.contended.overwriting.load(Relaxed), 0);
}

#[test]
fn repair_serves_waiters_and_finishes_removal() {
    let world = World::new(&[0], 3);
    world.waits(1, &[op(0, -1)]);
    world.waits(2, &[op(0, -1)]);
    // The holder died between writing the value and serving.
    world.section(POSTER, |section| section.set_value(0, 1, 7));
    world.repair(POSTER);
    assert_eq!((world.try_end(1), world.try_end(2)), (Some(Ok(())), None));
    // The holder may also die between marking the set as removed and ending the waits.
    world.set.perm.delete();
    world.repair(POSTER);
    assert_eq!(world.try_end(2), Some(Err(Errno::EIDRM)));
    assert_eq!(world.slow(), [true]);
}
