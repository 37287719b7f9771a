//! What only real-time threads show. Those that need their scheduling class say so and do nothing where they may not have it.

use super::*;
use core::time::Duration;
use std::sync::atomic::AtomicBool;
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Instant;
use unspin_sys::sched;

/// Serialises tests that keep CPU 0 busy.
static ALONE: Mutex<()> = Mutex::new(());

/// Makes the calling thread a real-time one of this priority, or an ordinary one (0); whether the system lets it.
fn become_real_time(priority: u32) -> bool {
    let parameters = libc::sched_param { sched_priority: priority as i32 };
    let policy = if priority > 0 { libc::SCHED_FIFO } else { libc::SCHED_OTHER };
    // SAFETY: a live sched_param; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, policy, &parameters) == 0 }
}

/// Keeps the calling thread on one CPU, the first it may use.
fn stay_on_one_cpu() {
    // SAFETY: a zeroed cpu_set_t is a valid one, and 0 is the calling thread.
    unsafe {
        let mut all: libc::cpu_set_t = core::mem::zeroed();
        assert_eq!(libc::sched_getaffinity(0, size_of_val(&all), &mut all), 0);
        let first = (0..libc::CPU_SETSIZE as usize).find(|&cpu| libc::CPU_ISSET(cpu, &all)).expect("a CPU");
        let mut one: libc::cpu_set_t = core::mem::zeroed();
        libc::CPU_SET(first, &mut one);
        assert_eq!(libc::sched_setaffinity(0, size_of_val(&one), &one), 0);
    }
}

fn may_be_real_time(test: &str) -> bool {
    let may = thread::spawn(|| become_real_time(1)).join().unwrap();
    if !may {
        println!(
            "SKIPPED {test}: no real-time priority here: give the process CAP_SYS_NICE or `ulimit -r 99`"
        );
    }
    may
}

fn unlock<L: RawLock>(lock: &L) {
    // SAFETY: each test holds the lock where it calls this, or means to misuse it.
    unsafe { lock.unlock() }
}

fn acquire<L: RawLock>(lock: &L) {
    lock.lock(&mut L::Node::default());
}

fn wait_until(happened: impl Fn() -> bool) {
    while !happened() {
        thread::sleep(Duration::from_millis(1));
    }
}

/// A flag between threads.
#[derive(Default)]
struct Flag(AtomicBool);

impl Flag {
    fn raise(&self) {
        // Release: partner of the Acquire in `is_up`.
        self.0.store(true, Ordering::Release);
    }

    fn is_up(&self) -> bool {
        // Acquire: partner of the Release in `raise`.
        self.0.load(Ordering::Acquire)
    }
}

/// How long a hog keeps the CPU from everybody below it: well below what the kernel lets real-time threads have at a time
/// (sched_rt_runtime_us, 0.95 s), after which ordinary threads would run all the same.
const HOG: Duration = Duration::from_millis(100);

/// Without inheritance the waiter waits for the hog, unless the kernel has just had pity on ordinary threads, because of what
/// other real-time threads have taken.
const STARVED: [&str; 2] = ["hog", "waiter"];

/// The order in which the waiter had the lock and the hog its time.
type Served = Mutex<Vec<&'static str>>;

/// An ordinary thread that holds the lock and sleeps until it may go on, and then needs the CPU for a while.
fn hold<L: RawLock>(lock: &L, is_held: &Flag, may_go_on: &Flag) {
    stay_on_one_cpu();
    acquire(lock);
    is_held.raise();
    while !may_go_on.is_up() {
        thread::park();
    }
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(10) {}
    unlock(lock);
}

/// A real-time thread that waits for the lock: when the others on its CPU run, it sleeps.
fn wait<L: RawLock>(lock: &L, waits: &Flag, order: &Served) {
    stay_on_one_cpu();
    assert!(become_real_time(20));
    waits.raise();
    acquire(lock);
    order.lock().unwrap().push("waiter");
    unlock(lock);
}

/// A real-time thread of a priority in between, which needs the CPU for long, as soon as the owner could go on.
fn hog(owner: &thread::Thread, may_go_on: &Flag, order: &Served) {
    stay_on_one_cpu();
    assert!(become_real_time(10));
    may_go_on.raise();
    owner.unpark();
    let began = Instant::now();
    while began.elapsed() < HOG {}
    order.lock().unwrap().push("hog");
}

/// On one CPU: an ordinary thread holds the lock, a real-time thread waits for it, and a hog of a priority in between wants
/// the CPU. Who was first?
fn with_a_hog_between<L: RawLock>() -> Vec<&'static str> {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let (lock, order) = (L::new(), Served::default());
    let [is_held, waits, may_go_on] = core::array::from_fn(|_| Flag::default());
    thread::scope(|s| {
        let owner = s.spawn(|| hold(&lock, &is_held, &may_go_on)).thread().clone();
        wait_until(|| is_held.is_up());
        s.spawn(|| wait(&lock, &waits, &order));
        wait_until(|| waits.is_up());
        let (may_go_on, order) = (&may_go_on, &order);
        s.spawn(move || hog(&owner, may_go_on, order));
    });
    order.into_inner().unwrap()
}

#[test]
fn a_waiter_with_inheritance_does_not_wait_for_a_hog() {
    if may_be_real_time("a_waiter_with_inheritance_does_not_wait_for_a_hog") {
        assert_eq!(with_a_hog_between::<RtFair>(), ["waiter", "hog"]);
        assert_eq!(with_a_hog_between::<RtSteal>(), ["waiter", "hog"]);
        assert_eq!(with_a_hog_between::<RtAdaptive>(), ["waiter", "hog"]);
        assert!((0..5).any(|_| with_a_hog_between::<crate::Steal>() == STARVED));
    }
}

/// On one CPU: an ordinary thread holds one lock, another one holds a second and waits for the first, a real-time thread
/// waits for the second, and a hog comes.
fn with_a_hog_before_a_chain<L: RawLock>() -> Vec<&'static str> {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let (first, second, order) = (L::new(), L::new(), Served::default());
    let [first_is_held, second_is_held, waits, may_go_on] = core::array::from_fn(|_| Flag::default());
    thread::scope(|s| {
        let owner = s.spawn(|| hold(&first, &first_is_held, &may_go_on)).thread().clone();
        wait_until(|| first_is_held.is_up());
        s.spawn(|| {
            stay_on_one_cpu();
            acquire(&second);
            second_is_held.raise();
            acquire(&first);
            unlock(&first);
            unlock(&second);
        });
        wait_until(|| second_is_held.is_up());
        // Lets it fall asleep.
        thread::sleep(Duration::from_millis(30));
        s.spawn(|| wait(&second, &waits, &order));
        wait_until(|| waits.is_up());
        let (may_go_on, order) = (&may_go_on, &order);
        s.spawn(move || hog(&owner, may_go_on, order));
    });
    order.into_inner().unwrap()
}

#[test]
fn a_boost_reaches_the_end_of_a_chain() {
    if may_be_real_time("a_boost_reaches_the_end_of_a_chain") {
        assert_eq!(with_a_hog_before_a_chain::<RtFair>(), ["waiter", "hog"]);
        assert_eq!(with_a_hog_before_a_chain::<RtSteal>(), ["waiter", "hog"]);
        assert_eq!(with_a_hog_before_a_chain::<RtAdaptive>(), ["waiter", "hog"]);
        assert!((0..5).any(|_| with_a_hog_before_a_chain::<crate::Steal>() == STARVED));
    }
}

/// Waiters of these priorities come one after the other; in which order they are served.
fn served<O: Order>(priorities: &[u32]) -> Vec<u32> {
    let lock = Inheriting::<O>::new();
    let order = Mutex::new(Vec::new());
    acquire(&lock);
    thread::scope(|s| {
        for &priority in priorities {
            let (lock, order) = (&lock, &order);
            s.spawn(move || {
                assert!(become_real_time(priority));
                acquire(lock);
                order.lock().unwrap().push(priority);
                unlock(lock);
            });
            // Lets it fall asleep before the next one comes.
            thread::sleep(Duration::from_millis(20));
        }
        unlock(&lock);
    });
    order.into_inner().unwrap()
}

#[test]
fn real_time_threads_are_served_by_priority_and_before_others() {
    if may_be_real_time("real_time_threads_are_served_by_priority_and_before_others") {
        assert_eq!(served::<Strict>(&[0, 3, 9, 5]), [9, 5, 3, 0]);
        assert_eq!(served::<Lateral<Park>>(&[0, 3, 9, 5]), [9, 5, 3, 0]);
        assert_eq!(served::<Lateral<SpinThenPark>>(&[0, 3, 9, 5]), [9, 5, 3, 0]);
    }
}

#[test]
fn a_sleeper_that_becomes_a_real_time_thread_changes_queues() {
    if !may_be_real_time("a_sleeper_that_becomes_a_real_time_thread_changes_queues") {
        return;
    }
    let lock = RtAdaptive::new();
    acquire(&lock);
    thread::scope(|s| {
        let (tell, told) = std::sync::mpsc::channel();
        let lock = &lock;
        s.spawn(move || {
            tell.send(caller::tid()).unwrap();
            acquire(lock);
            unlock(lock);
        });
        let sleeper = told.recv().unwrap();
        // Relaxed: a glance.
        wait_until(|| lock.slept.load(Ordering::Relaxed) == 1);
        assert!(!pi::has_waiters(&lock.word), "an ordinary thread");
        let parameters = libc::sched_param { sched_priority: 7 };
        // SAFETY: a live sched_param, a thread of ours.
        assert_eq!(unsafe { libc::sched_setscheduler(sleeper as i32, libc::SCHED_FIFO, &parameters) }, 0);
        wait_until(|| pi::has_waiters(&lock.word));
        unlock(lock);
    });
    assert!(!lock.is_locked());
}

/// Time enough to find out that one gets nothing.
fn soon() -> Until {
    Until::after(Duration::from_millis(30))
}

fn ones_own_lock_is_not_to_be_had<O: Order>(priority: u32) {
    let lock = Inheriting::<O>::new();
    thread::scope(|s| {
        let owner = s.spawn(|| {
            become_real_time(priority);
            acquire(&lock);
            assert_eq!(lock.lock_until(&mut (), soon()), None);
            // Waits for a stranger.
            acquire(&lock);
            unlock(&lock);
        });
        thread::sleep(Duration::from_millis(60));
        assert!(lock.is_locked() && !owner.is_finished());
        unlock(&lock);
        owner.join().unwrap();
    });
    assert!(!lock.is_locked());
}

#[test]
fn whoever_locks_twice_waits_for_a_stranger() {
    for priority in [0, 5] {
        ones_own_lock_is_not_to_be_had::<Strict>(priority);
        ones_own_lock_is_not_to_be_had::<Lateral<SpinThenPark>>(priority);
    }
}

fn a_lock_of_the_dead_stays_locked<O: Order>() {
    let lock = Inheriting::<O>::new();
    thread::scope(|s| s.spawn(|| acquire(&lock)).join().unwrap());
    thread::scope(|s| {
        let heir = s.spawn(|| {
            become_real_time(5);
            lock.lock_until(&mut (), soon())
        });
        assert_eq!(heir.join().unwrap(), None);
    });
    assert!(lock.is_locked());
    unlock(&lock);
    assert!(lock.try_lock());
}

#[test]
fn whoever_ends_with_a_lock_keeps_it() {
    a_lock_of_the_dead_stays_locked::<Strict>();
    a_lock_of_the_dead_stays_locked::<Lateral<SpinThenPark>>();
}

/// The owner goes on as if it held the lock, and releases it too.
fn a_stranger_releases_what_others_queue_for<O: Order>() {
    let lock = Inheriting::<O>::new();
    let (is_held, may_end) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|s| {
        s.spawn(|| {
            acquire(&lock);
            is_held.wait();
            may_end.wait();
        });
        is_held.wait();
        let waiters: Vec<_> = (1..4)
            .map(|priority| {
                let lock = &lock;
                s.spawn(move || {
                    become_real_time(priority);
                    acquire(lock);
                    unlock(lock);
                })
            })
            .collect();
        thread::sleep(Duration::from_millis(30));
        unlock(&lock);
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
        may_end.wait();
    });
    assert!(!lock.is_locked());
    // Relaxed: all have ended.
    assert_eq!(lock.gate.load(Ordering::Relaxed) & REVOKED, 0);
}

#[test]
fn a_strangers_release_reaches_the_kernels_queue() {
    a_stranger_releases_what_others_queue_for::<Strict>();
    a_stranger_releases_what_others_queue_for::<Lateral<Park>>();
}

/// Real-time and ordinary threads, with and without times.
fn all_sorts_at_once<O: Order>() {
    const ROUNDS: u64 = 2_000;
    let (lock, sum) = (Inheriting::<O>::new(), core::cell::Cell::new(0u64));
    struct Shared<'a, O>(&'a Inheriting<O>, &'a core::cell::Cell<u64>);
    // SAFETY: the cell is used under the lock only.
    unsafe impl<O> Sync for Shared<'_, O> {}
    let shared = &Shared(&lock, &sum);
    let acquired: u64 = thread::scope(|s| {
        let threads: Vec<_> = [0, 0, 0, 0, 2, 2, 5]
            .into_iter()
            .enumerate()
            .map(|(number, priority)| {
                s.spawn(move || {
                    become_real_time(priority);
                    let Shared(lock, sum) = shared;
                    (0..ROUNDS)
                        .filter(|round| {
                            let late = Until::after(Duration::from_micros(50));
                            let has_it =
                                (number as u64 + round) % 3 > 0 || lock.lock_until(&mut (), late).is_some();
                            if has_it {
                                if (number as u64 + round) % 3 > 0 {
                                    acquire(*lock);
                                }
                                sum.set(sum.get() + 1);
                                unlock(*lock);
                            }
                            if priority > 0 && round % 16 == 0 {
                                thread::sleep(Duration::from_micros(100));
                            }
                            has_it
                        })
                        .count() as u64
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(sum.get(), acquired);
    assert!(!lock.is_locked() && acquired >= 7 * ROUNDS / 2);
}

#[test]
fn real_time_and_ordinary_threads_at_once() {
    all_sorts_at_once::<Strict>();
    all_sorts_at_once::<Lateral<Park>>();
    all_sorts_at_once::<Lateral<SpinThenPark>>();
}

#[test]
fn what_a_thread_holds_is_counted() {
    thread::spawn(|| {
        assert!(!caller::is_urgent());
        let (first, second) = (RtAdaptive::new(), RtFair::new());
        acquire(&first);
        acquire(&second);
        unlock(&first);
        assert!(caller::was_urgent());
        unlock(&second);
        assert!(!caller::was_urgent());
        // More releases than acquisitions.
        unlock(&second);
        acquire(&first);
        assert!(caller::was_urgent());
        unlock(&first);
        assert!(!caller::was_urgent());
        assert_eq!(sched::real_time_priority(), 0);
    })
    .join()
    .unwrap();
}
