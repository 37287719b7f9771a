//! The longest time that a real-time thread waits for a lock if a CPU hog interferes whose priority is between its own
//! and the owner's: three threads on one CPU. Needs permission for real-time priorities (CAP_SYS_NICE or `ulimit -r
//! 99`).
//!
//! ```text
//! cargo run --release -p unspin-locks --example inversion [rounds]
//! ```
//!
//! The owner needs the CPU for 1 ms, the hog for 100 ms. With inheritance the waiter waits only for the owner, without
//! it for both.

use core::cell::UnsafeCell;
use core::time::Duration;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;
use unspin_locks::{LockKind, LockVisitor, RawLock};

const OWNER: Duration = Duration::from_millis(1);
const HOG: Duration = Duration::from_millis(100);

fn main() {
    let rounds = std::env::args().nth(1).map_or(Ok(20), |text| text.parse::<usize>());
    let Ok(rounds) = rounds else {
        eprintln!("inversion: the number of rounds is not a number");
        std::process::exit(2);
    };
    if !thread::spawn(|| become_real_time(1)).join().expect("it asks only") {
        eprintln!("inversion: no real-time priority: give the process CAP_SYS_NICE or `ulimit -r 99`");
        std::process::exit(1);
    }
    print("glibc normal", rounds, || Box::new(Glibc::new(libc::PTHREAD_PRIO_NONE)));
    print("glibc PI", rounds, || Box::new(Glibc::new(libc::PTHREAD_PRIO_INHERIT)));
    for kind in [LockKind::RtFair, LockKind::RtSteal, LockKind::RtAdaptive, LockKind::Adaptive] {
        print(kind.name(), rounds, || kind.visit(Ours).expect("one of ours"));
    }
}

fn print(name: &str, rounds: usize, new: impl Fn() -> Box<dyn Mutex>) {
    let mut waits: Vec<Duration> = (0..rounds)
        .map(|_| {
            // Real-time threads may use 0.95 s of each second; beyond that the kernel lets ordinary threads run.
            thread::sleep(3 * HOG);
            longest_wait(&*new())
        })
        .collect();
    waits.sort();
    let ms = |wait: Duration| wait.as_secs_f64() * 1e3;
    println!(
        "{name:>12}  longest wait {:8.3} ms  median {:8.3} ms",
        ms(waits[rounds - 1]),
        ms(waits[rounds / 2])
    );
}

trait Mutex: Sync {
    fn lock(&self);
    fn unlock(&self);
}

struct Glibc(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: a pthread mutex may be shared between threads.
unsafe impl Sync for Glibc {}

impl Glibc {
    fn new(protocol: i32) -> Glibc {
        let mutex = UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER);
        // SAFETY: live attributes, initialised before use, and a live mutex that no thread has used yet; a glibc mutex
        // may be moved until then.
        unsafe {
            let mut attributes = core::mem::zeroed();
            libc::pthread_mutexattr_init(&mut attributes);
            libc::pthread_mutexattr_setprotocol(&mut attributes, protocol);
            libc::pthread_mutex_init(mutex.get(), &attributes);
        }
        Glibc(mutex)
    }
}

impl Mutex for Glibc {
    fn lock(&self) {
        // SAFETY: a live, initialised mutex.
        unsafe { libc::pthread_mutex_lock(self.0.get()) };
    }

    fn unlock(&self) {
        // SAFETY: as above, and held by this thread.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
    }
}

struct Ours;

struct Raw<L>(L);

impl LockVisitor for Ours {
    type Output = Box<dyn Mutex>;

    fn visit<L: RawLock>(self) -> Box<dyn Mutex> {
        Box::new(Raw(L::new()))
    }
}

impl<L: RawLock> Mutex for Raw<L> {
    fn lock(&self) {
        self.0.lock(&mut L::Node::default());
    }

    fn unlock(&self) {
        // SAFETY: held by this thread.
        unsafe { self.0.unlock() };
    }
}

/// One round: the owner holds the lock, the waiter waits, the hog comes and lets the owner continue.
///
/// Release and Acquire: one thread raises a flag and another waits for it; no other data is passed through a flag.
fn longest_wait(mutex: &dyn Mutex) -> Duration {
    let [is_held, waits, may_go_on] = core::array::from_fn(|_| AtomicBool::new(false));
    thread::scope(|s| {
        let owner = s.spawn(|| {
            stay_on_one_cpu();
            mutex.lock();
            is_held.store(true, Ordering::Release);
            while !may_go_on.load(Ordering::Acquire) {
                thread::park();
            }
            burn(OWNER);
            mutex.unlock();
        });
        let owner = owner.thread().clone();
        wait_for(&is_held);
        let waiter = s.spawn(|| {
            stay_on_one_cpu();
            become_real_time(20);
            waits.store(true, Ordering::Release);
            mutex.lock();
            let served = Instant::now();
            mutex.unlock();
            served
        });
        wait_for(&waits);
        let may_go_on = &may_go_on;
        let hog = s.spawn(move || {
            stay_on_one_cpu();
            // Runs only while the waiter sleeps.
            become_real_time(10);
            let began = Instant::now();
            may_go_on.store(true, Ordering::Release);
            owner.unpark();
            burn(HOG);
            began
        });
        let began = hog.join().expect("it burns only");
        waiter.join().expect("it waits only").saturating_duration_since(began)
    })
}

fn wait_for(flag: &AtomicBool) {
    while !flag.load(Ordering::Acquire) {
        thread::sleep(Duration::from_millis(1));
    }
}

fn burn(time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {}
}

fn become_real_time(priority: i32) -> bool {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: a live sched_param; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) == 0 }
}

/// Binds the calling thread to the first CPU that it may use.
fn stay_on_one_cpu() {
    // SAFETY: a zeroed cpu_set_t is a valid one, and 0 is the calling thread.
    unsafe {
        let mut all: libc::cpu_set_t = core::mem::zeroed();
        libc::sched_getaffinity(0, size_of_val(&all), &mut all);
        let first = (0..libc::CPU_SETSIZE as usize).find(|&cpu| libc::CPU_ISSET(cpu, &all)).unwrap_or(0);
        let mut one: libc::cpu_set_t = core::mem::zeroed();
        libc::CPU_SET(first, &mut one);
        libc::sched_setaffinity(0, size_of_val(&one), &one);
    }
}
