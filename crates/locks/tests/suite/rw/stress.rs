//! Many threads, few CPUs.

use super::pair::Pair;
use super::{Property, check};
use core::time::Duration;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use unspin_locks::{Clock, RawRwLock, Recursion, Until};

const THREADS: u64 = 24;
const ROUNDS: u64 = 2_000;

struct AllCalls;

impl Property for AllCalls {
    /// All ways to acquire at once, often with short timeouts. Each thread that wrote adds one, and no thread is left waiting.
    fn check<L: RawRwLock>() {
        for writers in [2, 100] {
            let pair = Pair::<L>::new();
            let written: u64 = thread::scope(|s| {
                let counts: Vec<_> = (0..THREADS)
                    .map(|number| {
                        s.spawn(move || {
                            let ways = (0..ROUNDS).map(|round| number * 7_919 + round * 104_729);
                            ways.filter(|&way| once(pair, way, way % 200 < writers)).count() as u64
                        })
                    })
                    .collect();
                counts.into_iter().map(|count| count.join().unwrap()).sum()
            });
            assert!(written > 0);
            assert_eq!(pair.sum(), written);
        }
    }
}

/// Acquires and releases once in one of the available ways. Returns whether it has written.
fn once<L: RawRwLock>(pair: &Pair<L>, way: u64, writes: bool) -> bool {
    let soon = |clock: Clock| Some(Until { clock, at: clock.now() + Duration::from_micros(way % 50) });
    let until = match way / 3 % 3 {
        0 => soon(Clock::Monotonic),
        1 => soon(Clock::Realtime),
        _ => None,
    };
    let tries = way.is_multiple_of(5);
    if writes {
        let is_in = if tries { pair.lock.try_write() } else { pair.lock.write(until).is_some() };
        if is_in {
            pair.add();
            pair.leave_write();
        }
        return is_in;
    }
    let recursion = if way.is_multiple_of(7) { Recursion::Excluded } else { Recursion::Allowed };
    let is_in = match tries {
        true => pair.lock.try_read(recursion).is_ok(),
        false => pair.lock.read(recursion, until).is_ok(),
    };
    if is_in {
        pair.get();
        let again = way.is_multiple_of(11);
        if again {
            pair.read();
        }
        if way.is_multiple_of(13) {
            thread::yield_now();
        }
        pair.get();
        if again {
            pair.leave_read();
        }
        pair.leave_read();
    }
    false
}

#[test]
fn all_calls_of_many_threads_keep_their_promise() {
    let _others = crate::beside_others();
    check::<AllCalls>();
}

struct Waves;

impl Property for Waves {
    /// More threads than there are lines for their slots, and threads that come and go.
    fn check<L: RawRwLock>() {
        let pair = Pair::<L>::new();
        for _ in 0..3 {
            thread::scope(|s| {
                for number in 0..600 {
                    let builder = thread::Builder::new().stack_size(64 << 10);
                    let act = move || {
                        pair.read();
                        pair.get();
                        if number % 50 == 0 {
                            thread::sleep(Duration::from_millis(1));
                        }
                        pair.leave_read();
                        if number % 100 == 0 {
                            pair.write();
                            pair.add();
                            pair.leave_write();
                        }
                    };
                    builder.spawn_scoped(s, act).unwrap();
                }
            });
        }
        assert_eq!(pair.sum(), 18);
    }
}

#[test]
fn waves_of_short_lived_threads() {
    let _others = crate::beside_others();
    check::<Waves>();
}

struct WritersAmongReaders;

impl Property for WritersAmongReaders {
    /// Readers that overlap at all times do not keep a writer out for ever; nor do writers a reader.
    fn check<L: RawRwLock>() {
        let pair = Pair::<L>::new();
        // Leaked, as the pair is.
        let done: &AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
        thread::scope(|s| {
            for _ in 0..8 {
                s.spawn(|| {
                    // Relaxed: the threads are joined.
                    while !done.load(Ordering::Relaxed) {
                        pair.read();
                        pair.get();
                        pair.leave_read();
                    }
                });
            }
            for _ in 0..50 {
                pair.write();
                pair.add();
                pair.leave_write();
            }
            done.store(true, Ordering::Relaxed);
        });
        assert_eq!(pair.sum(), 50);
    }
}

#[test]
fn writers_come_among_busy_readers() {
    let _others = crate::beside_others();
    check::<WritersAmongReaders>();
}

struct ReleasesByOthers;

impl Property for ReleasesByOthers {
    /// One thread acquires for reading and another one releases, among readers and attempts to write.
    fn check<L: RawRwLock>() {
        let pair = Pair::<L>::new();
        let stop: &AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
        let (hands, takes) = std::sync::mpsc::sync_channel(1);
        // Relaxed (all): a sign that it is over.
        thread::scope(|s| {
            for number in 0..4 {
                s.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        if number < 3 {
                            pair.read();
                            pair.get();
                            pair.leave_read();
                        } else if pair.lock.try_write() {
                            pair.leave_write();
                        }
                    }
                });
            }
            s.spawn(move || {
                for () in takes {
                    pair.leave_read();
                }
            });
            for _ in 0..3_000 {
                pair.read();
                hands.send(()).unwrap();
            }
            drop(hands);
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!(pair.sum(), 0);
    }
}

#[test]
fn releases_by_other_threads_leave_nothing_held() {
    let _others = crate::beside_others();
    check::<ReleasesByOthers>();
}

struct TwoWritersAmongReaders;

impl Property for TwoWritersAmongReaders {
    /// Readers that hold it for milliseconds and overlap at all times: two writers come in, one after the other.
    fn check<L: RawRwLock>() {
        let pair = Pair::<L>::new();
        let stop: &AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
        thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    // Relaxed: a sign that it is over.
                    while !stop.load(Ordering::Relaxed) {
                        pair.read();
                        thread::sleep(Duration::from_millis(5));
                        pair.leave_read();
                    }
                });
            }
            let writers = [0; 2].map(|_| {
                s.spawn(|| {
                    pair.write();
                    pair.add();
                    pair.leave_write();
                })
            });
            writers.into_iter().for_each(|writer| writer.join().unwrap());
            // Relaxed: as above.
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!(pair.sum(), 2);
    }
}

#[test]
fn two_writers_come_among_slow_readers() {
    let _others = crate::beside_others();
    check::<TwoWritersAmongReaders>();
}
