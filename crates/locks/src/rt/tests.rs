//! Properties that only real-time threads show. A test that needs a real-time scheduling class prints a message and
//! does nothing if that is not permitted.

use super::*;
use core::time::Duration;
use std::io::Write as _;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Instant;
use unspin_sys::sched;

/// Serialises tests that keep CPU 0 busy.
static ALONE: Mutex<()> = Mutex::new(());

/// Makes the calling thread real-time with this priority, or ordinary (0). Returns whether the system permits it.
fn become_real_time(priority: u32) -> bool {
    let parameters = libc::sched_param { sched_priority: priority as i32 };
    let policy = if priority > 0 { libc::SCHED_FIFO } else { libc::SCHED_OTHER };
    // SAFETY: a live sched_param; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, policy, &parameters) == 0 }
}

/// Binds the calling thread to one CPU, the first that it may use.
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
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED {test}: no real-time priority here: give the process CAP_SYS_NICE or `ulimit -r 99`"
        );
    }
    may
}

fn unlock<L: RawLock>(lock: &L) {
    // SAFETY: each test holds the lock where it calls this, or misuses it on purpose.
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

/// Waits until a thread sleeps that raises a flag and then acquires.
fn wait_until_asleep(tid: u32) {
    let sleeps = || {
        let stat =
            std::fs::read_to_string(format!("/proc/self/task/{tid}/stat")).expect("/proc, and the thread");
        stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'))
    };
    wait_until(sleeps);
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

/// How long a hog keeps the CPU from all threads of lower priority. It is well below the time that the kernel grants
/// real-time threads per period (sched_rt_runtime_us, 0.95 s), after which ordinary threads would run all the same.
const HOG: Duration = Duration::from_millis(100);

/// Without inheritance the waiter waits for the hog, unless the kernel's real-time throttling has just let ordinary
/// threads run, because of the time that other real-time threads have used.
const STARVED: [&str; 2] = ["hog", "waiter"];

/// The order in which the waiter got the lock and the hog its CPU time.
type Served = Mutex<Vec<&'static str>>;

/// An ordinary thread: holds the lock, sleeps until it may go on, and then needs the CPU for a while.
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

/// A real-time thread that waits for the lock. While it sleeps, the other threads of its CPU run.
fn wait<L: RawLock>(lock: &L, waits: &Flag, order: &Served) {
    stay_on_one_cpu();
    assert!(become_real_time(20));
    waits.raise();
    acquire(lock);
    order.lock().unwrap().push("waiter");
    unlock(lock);
}

/// A real-time thread of a priority in between, which needs the CPU for long as soon as the owner could go on.
fn hog(owner: &thread::Thread, may_go_on: &Flag, order: &Served) {
    stay_on_one_cpu();
    assert!(become_real_time(10));
    may_go_on.raise();
    owner.unpark();
    let began = Instant::now();
    while began.elapsed() < HOG {}
    order.lock().unwrap().push("hog");
}

/// On one CPU: an ordinary thread holds the lock, a real-time thread waits for it, and a hog of a priority in between
/// wants the CPU. Returns the order in which the waiter and the hog were served.
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
fn inheritance_bounds_the_wait_beside_a_cpu_hog() {
    if may_be_real_time("inheritance_bounds_the_wait_beside_a_cpu_hog") {
        assert_eq!(with_a_hog_between::<RtFair>(), ["waiter", "hog"]);
        assert_eq!(with_a_hog_between::<RtSteal>(), ["waiter", "hog"]);
        assert_eq!(with_a_hog_between::<RtAdaptive>(), ["waiter", "hog"]);
        assert!((0..5).any(|_| with_a_hog_between::<crate::Steal>() == STARVED));
    }
}

/// On one CPU: an ordinary thread holds one lock; another ordinary thread holds a second lock and waits for the first;
/// a real-time thread waits for the second; then a hog comes.
fn with_a_hog_before_a_chain<L: RawLock>() -> Vec<&'static str> {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let (first, second, order) = (L::new(), L::new(), Served::default());
    let [first_is_held, waits, may_go_on] = core::array::from_fn(|_| Flag::default());
    let (sender, receiver) = channel();
    thread::scope(|s| {
        let owner = s.spawn(|| hold(&first, &first_is_held, &may_go_on)).thread().clone();
        wait_until(|| first_is_held.is_up());
        let (first, second) = (&first, &second);
        s.spawn(move || {
            stay_on_one_cpu();
            acquire(second);
            sender.send(caller::tid()).unwrap();
            acquire(first);
            unlock(first);
            unlock(second);
        });
        wait_until_asleep(receiver.recv().unwrap());
        s.spawn(|| wait(second, &waits, &order));
        wait_until(|| waits.is_up());
        let (may_go_on, order) = (&may_go_on, &order);
        s.spawn(move || hog(&owner, may_go_on, order));
    });
    order.into_inner().unwrap()
}

#[test]
fn boost_reaches_the_end_of_a_lock_chain() {
    if may_be_real_time("boost_reaches_the_end_of_a_lock_chain") {
        assert_eq!(with_a_hog_before_a_chain::<RtFair>(), ["waiter", "hog"]);
        assert_eq!(with_a_hog_before_a_chain::<RtSteal>(), ["waiter", "hog"]);
        assert_eq!(with_a_hog_before_a_chain::<RtAdaptive>(), ["waiter", "hog"]);
        assert!((0..5).any(|_| with_a_hog_before_a_chain::<crate::Steal>() == STARVED));
    }
}

/// Waiters with these priorities come one after another; returns the order in which they are served.
fn served<O: QueuePolicy>(priorities: &[u32]) -> Vec<u32> {
    let lock = PriorityInheriting::<O>::new();
    let order = Mutex::new(Vec::new());
    acquire(&lock);
    thread::scope(|s| {
        for &priority in priorities {
            let (lock, order) = (&lock, &order);
            let (sender, receiver) = channel();
            s.spawn(move || {
                assert!(become_real_time(priority));
                sender.send(caller::tid()).unwrap();
                acquire(lock);
                order.lock().unwrap().push(priority);
                unlock(lock);
            });
            wait_until_asleep(receiver.recv().unwrap());
        }
        unlock(&lock);
    });
    order.into_inner().unwrap()
}

#[test]
fn real_time_threads_acquire_first_by_priority() {
    if may_be_real_time("real_time_threads_acquire_first_by_priority") {
        assert_eq!(served::<QueueAll>(&[0, 3, 9, 5]), [9, 5, 3, 0]);
        assert_eq!(served::<QueueUrgent<Park>>(&[0, 3, 9, 5]), [9, 5, 3, 0]);
        assert_eq!(served::<QueueUrgent<SpinThenPark>>(&[0, 3, 9, 5]), [9, 5, 3, 0]);
    }
}

#[test]
fn sleeper_that_becomes_real_time_moves_to_the_kernels_queue() {
    if !may_be_real_time("sleeper_that_becomes_real_time_moves_to_the_kernels_queue") {
        return;
    }
    let lock = RtAdaptive::new();
    // As if a thread that has waited long were in the kernel's queue: so the sleeper does not go there for that reason.
    // Relaxed: no other thread uses the lock yet.
    lock.starved_slot.store((host::generation() % 255 + 1) as u8, Ordering::Relaxed);
    acquire(&lock);
    thread::scope(|s| {
        let (sender, receiver) = channel();
        let lock = &lock;
        s.spawn(move || {
            sender.send(caller::tid()).unwrap();
            acquire(lock);
            unlock(lock);
        });
        let sleeper = receiver.recv().unwrap();
        // Relaxed: a snapshot, which orders nothing.
        wait_until(|| lock.slept.load(Ordering::Relaxed) == 1);
        assert!(!pi::has_waiters(&lock.word), "an ordinary thread");
        let parameters = libc::sched_param { sched_priority: 7 };
        // SAFETY: a live sched_param, and a thread of this process.
        assert_eq!(unsafe { libc::sched_setscheduler(sleeper as i32, libc::SCHED_FIFO, &parameters) }, 0);
        wait_until(|| pi::has_waiters(&lock.word));
        unlock(lock);
    });
    assert!(!lock.is_locked());
}

/// Long enough to see that the thread does not get the lock.
fn soon() -> Until {
    Until::after(Duration::from_millis(30))
}

fn try_lock_of_own_lock_fails<O: QueuePolicy>(priority: u32) {
    let lock = &PriorityInheriting::<O>::new();
    let (sender, receiver) = channel();
    thread::scope(|s| {
        s.spawn(move || {
            become_real_time(priority);
            acquire(lock);
            assert_eq!(lock.lock_until(&mut (), soon()), None);
            sender.send(caller::tid()).unwrap();
            // Waits for a foreign unlock.
            acquire(lock);
            unlock(lock);
        });
        wait_until_asleep(receiver.recv().unwrap());
        unlock(lock);
    });
    assert!(!lock.is_locked());
}

#[test]
fn second_lock_by_the_owner_waits_for_a_foreign_unlock() {
    for priority in [0, 5] {
        try_lock_of_own_lock_fails::<QueueAll>(priority);
        try_lock_of_own_lock_fails::<QueueUrgent<SpinThenPark>>(priority);
    }
}

fn lock_of_an_ended_thread_stays_locked<O: QueuePolicy>() {
    let lock = PriorityInheriting::<O>::new();
    thread::scope(|s| s.spawn(|| acquire(&lock)).join().unwrap());
    thread::scope(|s| {
        let successor = s.spawn(|| {
            become_real_time(5);
            lock.lock_until(&mut (), soon())
        });
        assert_eq!(successor.join().unwrap(), None);
    });
    assert!(lock.is_locked());
    unlock(&lock);
    assert!(lock.try_lock());
}

#[test]
fn thread_that_ends_as_owner_keeps_the_lock() {
    lock_of_an_ended_thread_stays_locked::<QueueAll>();
    lock_of_an_ended_thread_stays_locked::<QueueUrgent<SpinThenPark>>();
}

/// The owner continues as if it held the lock, and releases it too.
fn foreign_unlock_releases_a_lock_with_queued_threads<O: QueuePolicy>() {
    let lock = PriorityInheriting::<O>::new();
    let (is_held, may_end) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|s| {
        s.spawn(|| {
            acquire(&lock);
            is_held.wait();
            may_end.wait();
        });
        is_held.wait();
        let (sender, receiver) = channel();
        let waiters: Vec<_> = (1..4)
            .map(|priority| {
                let (lock, sender) = (&lock, sender.clone());
                s.spawn(move || {
                    become_real_time(priority);
                    sender.send(caller::tid()).unwrap();
                    acquire(lock);
                    unlock(lock);
                })
            })
            .collect();
        receiver.iter().take(3).for_each(wait_until_asleep);
        unlock(&lock);
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
        may_end.wait();
    });
    assert!(!lock.is_locked());
    // Relaxed: all threads have ended.
    assert_eq!(lock.gate.load(Ordering::Relaxed) & REVOKED, 0);
}

#[test]
fn foreign_unlock_reaches_the_kernels_queue() {
    foreign_unlock_releases_a_lock_with_queued_threads::<QueueAll>();
    foreign_unlock_releases_a_lock_with_queued_threads::<QueueUrgent<Park>>();
}

/// A lock and the data that it protects.
struct Counted<O> {
    lock: PriorityInheriting<O>,
    sum: core::cell::Cell<u64>,
}

// SAFETY: the sum is used under the lock only.
unsafe impl<O> Sync for Counted<O> {}

impl<O: QueuePolicy> Counted<O> {
    /// Adds one under the lock; every third time with a short timeout. Returns whether it got the lock.
    fn add(&self, way: u64) -> bool {
        let has_it = if way.is_multiple_of(3) {
            self.lock.lock_until(&mut (), Until::after(Duration::from_micros(50))).is_some()
        } else {
            acquire(&self.lock);
            true
        };
        if has_it {
            self.sum.set(self.sum.get() + 1);
            unlock(&self.lock);
        }
        has_it
    }
}

/// Real-time and ordinary threads, with and without timeouts.
fn real_time_stealing_and_timed_threads_exclude_each_other<O: QueuePolicy>() {
    const ROUNDS: u64 = 2_000;
    let counted = &Counted { lock: PriorityInheriting::<O>::new(), sum: core::cell::Cell::new(0) };
    let rounds = move |number: u64, priority| {
        become_real_time(priority);
        let one = |round: &u64| {
            if priority > 0 && round.is_multiple_of(16) {
                // Leaves the CPU to the other threads.
                thread::sleep(Duration::from_micros(100));
            }
            counted.add(number + round)
        };
        (0..ROUNDS).filter(one).count() as u64
    };
    let acquired: u64 = thread::scope(|s| {
        let threads: Vec<_> = (0..)
            .zip([0, 0, 0, 0, 2, 2, 5])
            .map(|(n, priority)| s.spawn(move || rounds(n, priority)))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(counted.sum.get(), acquired);
    assert!(!counted.lock.is_locked() && acquired >= 7 * ROUNDS / 2);
}

#[test]
fn real_time_and_ordinary_threads_at_once() {
    real_time_stealing_and_timed_threads_exclude_each_other::<QueueAll>();
    real_time_stealing_and_timed_threads_exclude_each_other::<QueueUrgent<Park>>();
    real_time_stealing_and_timed_threads_exclude_each_other::<QueueUrgent<SpinThenPark>>();
}

#[test]
fn held_locks_of_a_thread_are_counted() {
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
