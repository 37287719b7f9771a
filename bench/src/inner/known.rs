//! Threads that use several locks a known number of times, and print that number.

use super::calls::expect;
use super::known_counts::KnownCounts;
use super::lock::{Lock, LockKind};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use unspin_wire::RecordKind;

/// Mutexes that the threads share.
const MUTEXES: usize = 4;

/// A C object that threads share.
struct Shared<T>(UnsafeCell<T>);

// SAFETY: used for C objects that synchronise, through the C library only.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn boxed(object: T) -> Box<Shared<T>> {
        Box::new(Shared(UnsafeCell::new(object)))
    }

    fn get(&self) -> *mut T {
        self.0.get()
    }
}

/// Each of so many threads goes so many rounds; in each round it takes a mutex of several, one mutex twice (recursively), a
/// spin lock, and a read-write lock both ways, and tries in vain to take a mutex and a spin lock that the main thread holds.
pub fn run(threads: u64, rounds: u64) -> Vec<KnownCounts> {
    let shared: Vec<Box<Lock>> = (0..MUTEXES).map(|_| Lock::boxed(LockKind::Mutex)).collect();
    let spin = Lock::boxed(LockKind::Spin);
    let gates = [LockKind::Mutex, LockKind::Spin].map(Lock::boxed);
    let twice = Shared::boxed(recursive());
    let rwlock = Shared::boxed(libc::PTHREAD_RWLOCK_INITIALIZER);
    gates.iter().for_each(|gate| gate.lock());
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (shared, spin, gates, twice, rwlock) = (&shared, &spin, &gates, &twice, &rwlock);
            scope.spawn(move || {
                for round in 0..rounds {
                    let mutex = &shared[(thread + round) as usize % MUTEXES];
                    mutex.lock();
                    mutex.unlock();
                    spin.lock();
                    spin.unlock();
                    // SAFETY: live objects of these types, initialised, each released by the thread that took it.
                    unsafe {
                        expect(libc::pthread_mutex_lock(twice.get()), 0);
                        expect(libc::pthread_mutex_lock(twice.get()), 0);
                        expect(libc::pthread_mutex_unlock(twice.get()), 0);
                        expect(libc::pthread_mutex_unlock(twice.get()), 0);
                        expect(libc::pthread_rwlock_rdlock(rwlock.get()), 0);
                        expect(libc::pthread_rwlock_unlock(rwlock.get()), 0);
                        expect(libc::pthread_rwlock_wrlock(rwlock.get()), 0);
                        expect(libc::pthread_rwlock_unlock(rwlock.get()), 0);
                    }
                    gates.iter().for_each(|gate| expect(gate.try_lock(), libc::EBUSY));
                }
            });
        }
    });
    gates.iter().for_each(|gate| gate.unlock());
    let all = threads * rounds;
    let acquired = |kind, object, acquired| KnownCounts { acquired, ..KnownCounts::new(kind, object) };
    let shared = shared.iter().enumerate().map(|(mutex, lock)| {
        let passes = |thread| (0..rounds).filter(move |round| (thread + round) as usize % MUTEXES == mutex);
        acquired(RecordKind::Mutex, lock.address(), (0..threads).flat_map(passes).count() as u64)
    });
    let gates =
        gates.iter().map(|gate| KnownCounts { rejected: all, ..acquired(gate.kind(), gate.address(), 1) });
    let mut truths: Vec<KnownCounts> = shared.chain(gates).collect();
    truths.push(acquired(RecordKind::Spin, spin.address(), all));
    truths.push(acquired(RecordKind::Mutex, twice.get() as *const u8, 2 * all));
    truths.push(acquired(RecordKind::Read, rwlock.get() as *const u8, all));
    truths.push(acquired(RecordKind::Write, rwlock.get() as *const u8, all));
    truths
}

/// A recursive mutex that no thread has used yet, so that it may be moved.
fn recursive() -> libc::pthread_mutex_t {
    let (mut mutex, mut attributes) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: attributes are initialised before they are read, the mutex before it is taken out; both are plain data to
    // glibc and to musl.
    unsafe {
        expect(libc::pthread_mutexattr_init(attributes.as_mut_ptr()), 0);
        expect(libc::pthread_mutexattr_settype(attributes.as_mut_ptr(), libc::PTHREAD_MUTEX_RECURSIVE), 0);
        expect(libc::pthread_mutex_init(mutex.as_mut_ptr(), attributes.as_ptr()), 0);
        mutex.assume_init()
    }
}
