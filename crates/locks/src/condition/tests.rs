use super::*;
use core::cell::Cell;
use core::pin::Pin;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use unspin_sync::thread::spawn;

fn waiting(condition: &Condition, priority: u32) -> Pin<Box<Node>> {
    let node = Box::pin(Node::new(priority));
    // SAFETY: the node is boxed, and each test lets all nodes leave.
    unsafe { condition.enqueue(&node) };
    node
}

fn leave(condition: &Condition, node: &Node, leaving: LeaveReason) -> LeaveResult {
    // SAFETY: each test lets each node leave once, where it was enqueued.
    unsafe { condition.leave(node, leaving) }
}

fn pass_on(node: &Node) {
    // SAFETY: each test calls it once per node.
    unsafe { node.pass_on() }
}

fn is_woken(node: &Node) -> bool {
    node.must_sleep_on().is_none()
}

/// A table of them is zeroed memory, in which a line of the cache has one.
#[test]
fn condition_without_waiters_is_zeroes() {
    assert_eq!((size_of::<Condition>(), align_of::<Condition>()), (24, 8));
    // SAFETY: a live value, whose padding was zeroed with it.
    let bytes = unsafe { core::mem::transmute::<Condition, [u8; 24]>(Condition::NEW) };
    assert_eq!(bytes, [0; 24]);
}

/// A waiter that waits for its mutex does not delay a waiter of another mutex.
#[test]
fn broadcast_wakes_waiters_of_different_mutexes_at_once() {
    let condition = Condition::NEW;
    let mutexes = [0, 1, 0].map(|n| core::ptr::without_provenance::<u64>(8 + n));
    let nodes = mutexes.map(|mutex| Box::pin(Node::new(0).for_mutex(mutex)));
    for node in &nodes {
        // SAFETY: the nodes are boxed, and all leave below.
        unsafe { condition.enqueue(node) };
    }
    condition.broadcast();
    assert_eq!(nodes.each_ref().map(|node| is_woken(node)), [true, true, false]);
    for node in &nodes {
        assert_eq!(leave(&condition, node, LeaveReason::Returns), LeaveResult::Signalled);
        pass_on(node);
    }
}

/// Waiters for these objects, in this order.
fn waiting_for(condition: &Condition, objects: &[usize]) -> Vec<Pin<Box<Node>>> {
    let nodes: Vec<_> = objects.iter().map(|&object| Box::pin(Node::new(0).for_object(object))).collect();
    for node in &nodes {
        // SAFETY: the nodes are boxed, and each test lets all nodes leave.
        unsafe { condition.enqueue(node) };
    }
    nodes
}

fn woken(nodes: &[Pin<Box<Node>>]) -> Vec<bool> {
    nodes.iter().map(|node| is_woken(node)).collect()
}

#[test]
fn signal_and_broadcast_reach_the_waiters_of_their_object_only() {
    let condition = Condition::NEW;
    let nodes = waiting_for(&condition, &[1, 2, 1, 2]);
    assert!(condition.has_waiters_for(2) && !condition.has_waiters_for(3));
    condition.signal_for(3);
    assert_eq!(woken(&nodes), [false; 4]);
    condition.signal_for(2);
    assert_eq!(woken(&nodes), [false, true, false, false]);
    condition.broadcast_for(2);
    assert_eq!(woken(&nodes), [false, true, false, true]);
    assert!(!condition.has_waiters_for(2) && condition.has_waiters_for(1));
    condition.retire_object(2);
    // A cancelled waiter passes its signal on to a waiter of its own object.
    let late = waiting_for(&condition, &[2]);
    leave(&condition, &nodes[1], LeaveReason::Cancelled);
    assert_eq!((woken(&nodes), woken(&late)), (vec![false, true, false, true], vec![true]));
    for node in nodes.iter().skip(2).chain(nodes.first()).chain(&late) {
        leave(&condition, node, LeaveReason::Returns);
        pass_on(node);
    }
    pass_on(&nodes[1]);
    condition.retire();
}

/// A signal looks at one waiter of each object until it has found its own, however many threads wait for the others.
#[test]
fn waiters_of_other_objects_are_passed_in_one_step_for_each_object() {
    let condition = Condition::NEW;
    let crowd = waiting_for(&condition, &[1; 1000]);
    let few = waiting_for(&condition, &[2, 3, 2]);
    // SAFETY: no other thread uses the condition.
    let steps = || unsafe { condition.list.rings().count() };
    assert_eq!(steps(), 3);
    condition.signal_for(2);
    assert_eq!((woken(&few), steps()), (vec![true, false, false], 3));
    condition.broadcast_for(2);
    assert_eq!((woken(&few), steps()), (vec![true, false, true], 2));
    condition.broadcast_for(1);
    assert_eq!((woken(&crowd)[0], steps()), (true, 1));
    condition.signal_for(3);
    assert_eq!((woken(&few), steps()), (vec![true; 3], 0));
    for node in crowd.iter().chain(&few) {
        leave(&condition, node, LeaveReason::Returns);
        pass_on(node);
    }
    condition.retire();
}

/// Waiters of three objects come and leave, and are signalled, at random: compared with a list that is searched.
#[test]
fn waiters_are_in_order_whoever_leaves_and_whichever_object_is_signalled() {
    let condition = Condition::NEW;
    let mut waiting: Vec<Pin<Box<Node>>> = Vec::new();
    // Knuth's generator for 64 bits (MMIX).
    let mut random = 1u64;
    let mut below = |limit: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % limit
    };
    for _ in 0..20_000 {
        match below(8) {
            0..4 if waiting.len() < 40 => {
                let node = Box::pin(Node::new(below(3) as u32).for_object(below(3)));
                // SAFETY: the node is boxed, and leaves below.
                unsafe { condition.enqueue(&node) };
                waiting.push(node);
            }
            0..6 if !waiting.is_empty() => {
                let node = waiting.remove(below(waiting.len()));
                assert_eq!(leave(&condition, &node, LeaveReason::Returns), LeaveResult::Unsignalled);
                assert!(node.object() < 3);
            }
            _ => {
                let object = below(3);
                let of_object = |node: &&Pin<Box<Node>>| node.object() == object;
                let first = waiting.iter().filter(of_object).map(|node| node.priority()).max();
                assert_eq!(condition.has_waiters_for(object), first.is_some());
                condition.signal_for(object);
                if let Some(priority) = first {
                    let is_next = |node: &Pin<Box<Node>>| of_object(&node) && node.priority() == priority;
                    let node =
                        waiting.remove(waiting.iter().position(is_next).expect("one has the priority"));
                    assert_eq!(leave(&condition, &node, LeaveReason::Returns), LeaveResult::Signalled);
                }
            }
        }
    }
    for node in &waiting {
        assert_eq!(leave(&condition, node, LeaveReason::Returns), LeaveResult::Unsignalled);
    }
    condition.retire();
}

#[test]
fn everyone_is_woken_at_once_whatever_the_object_and_the_mutex() {
    let condition = Condition::NEW;
    let nodes = waiting_for(&condition, &[1, 2, 1, 3, 2]);
    condition.wake_everyone();
    assert_eq!(woken(&nodes), [true; 5]);
    for node in &nodes {
        assert!(!node.is_followed());
        assert_eq!(leave(&condition, node, LeaveReason::Returns), LeaveResult::Signalled);
        pass_on(node);
    }
    condition.wake_everyone();
}

#[test]
fn signals_wake_waiters_in_order_of_arrival() {
    let condition = Condition::NEW;
    condition.signal();
    let nodes: Vec<_> = (0..3).map(|_| waiting(&condition, 0)).collect();
    assert!(nodes.iter().all(|node| !is_woken(node)), "a signal before is not theirs");
    for (at, node) in nodes.iter().enumerate() {
        condition.signal();
        assert!(nodes.iter().enumerate().all(|(i, node)| is_woken(node) == (i <= at)));
        assert_eq!(leave(&condition, node, LeaveReason::Returns), LeaveResult::Signalled);
        pass_on(node);
    }
    condition.retire();
}

#[test]
fn real_time_waiters_come_first_by_priority() {
    let condition = Condition::NEW;
    let priorities = [0, 5, 0, 9, 5, 1, 0];
    let nodes: Vec<_> = priorities.iter().map(|&priority| waiting(&condition, priority)).collect();
    for expected in [3, 1, 4, 5, 0, 2, 6] {
        condition.signal();
        assert!(is_woken(&nodes[expected]), "node {expected}, of priority {}", priorities[expected]);
        assert_eq!(leave(&condition, &nodes[expected], LeaveReason::Returns), LeaveResult::Signalled);
    }
    condition.retire();
}

#[test]
fn broadcast_wakes_ordinary_waiters_one_by_one_and_real_time_at_once() {
    let condition = Condition::NEW;
    let nodes: Vec<_> = [0, 0, 7, 0, 3].map(|priority| waiting(&condition, priority)).into();
    condition.broadcast();
    let later = waiting(&condition, 0);
    let woken = |expected: [bool; 5]| assert_eq!(expected, core::array::from_fn(|i| is_woken(&nodes[i])));
    woken([true, false, true, false, true]);
    pass_on(&nodes[2]);
    pass_on(&nodes[4]);
    woken([true, false, true, false, true]);
    pass_on(&nodes[0]);
    woken([true, true, true, false, true]);
    pass_on(&nodes[1]);
    woken([true, true, true, true, true]);
    pass_on(&nodes[3]);
    assert!(!is_woken(&later), "who came after the broadcast");
    assert_eq!(leave(&condition, &later, LeaveReason::Returns), LeaveResult::Unsignalled);
    condition.retire();
}

#[test]
fn left_waiter_gets_no_signal_and_cancelled_one_passes_it_on() {
    let condition = Condition::NEW;
    let nodes: Vec<_> = (0..4).map(|_| waiting(&condition, 0)).collect();
    assert_eq!(leave(&condition, &nodes[0], LeaveReason::Returns), LeaveResult::Unsignalled);
    assert_eq!(leave(&condition, &nodes[2], LeaveReason::Cancelled), LeaveResult::Unsignalled);
    condition.signal();
    assert!(is_woken(&nodes[1]) && !is_woken(&nodes[3]));
    assert_eq!(leave(&condition, &nodes[1], LeaveReason::Cancelled), LeaveResult::Signalled);
    assert!(is_woken(&nodes[3]));
    assert_eq!(leave(&condition, &nodes[3], LeaveReason::Returns), LeaveResult::Signalled);
    condition.retire();
}

#[test]
fn waiter_cancelled_during_a_broadcast_wakes_the_next() {
    let condition = Arc::new(Condition::NEW);
    let nodes: Vec<_> = (0..3).map(|_| waiting(&condition, 0)).collect();
    condition.broadcast();
    let middle = nodes[1].as_ref().get_ref() as *const Node as usize;
    let cancelled = {
        let condition = condition.clone();
        spawn(move || {
            // SAFETY: the node is in a box that outlives the thread.
            let node = unsafe { &*(middle as *const Node) };
            assert_eq!(leave(&condition, node, LeaveReason::Cancelled), LeaveResult::Signalled);
            pass_on(node);
        })
    };
    assert!(!is_woken(&nodes[2]));
    pass_on(&nodes[0]);
    cancelled.join().unwrap();
    assert!(is_woken(&nodes[2]));
    condition.retire();
}

/// A mutex whose guard is kept where closures can reach it.
fn wait_on<'a, T>(
    condition: &Condition,
    mutex: &'a Mutex<T>,
    guard: std::sync::MutexGuard<'a, T>,
    until: Option<Until>,
) -> (std::sync::MutexGuard<'a, T>, WaitEnd) {
    let guard = Cell::new(Some(guard));
    let woken = condition.wait(0, until, || drop(guard.take()), || guard.set(Some(mutex.lock().unwrap())));
    (guard.take().unwrap(), woken)
}

#[test]
fn wait_ends_at_its_timeout() {
    let (condition, mutex) = (Condition::NEW, Mutex::new(()));
    for clock in [crate::Clock::Realtime, crate::Clock::Monotonic] {
        let until = Until { clock, at: clock.now() + Duration::from_millis(5) };
        let (_guard, woken) = wait_on(&condition, &mutex, mutex.lock().unwrap(), Some(until));
        assert!(woken == WaitEnd::TimedOut && until.is_over());
    }
    condition.retire();
}

/// A queue with one slot between many producers and many consumers, with occasional timeouts and broadcasts.
#[test]
fn no_signal_is_lost_with_many_threads() {
    const EACH: usize = 2_000;
    let shared = Arc::new((Mutex::new(None::<usize>), Condition::NEW, Condition::NEW, AtomicUsize::new(0)));
    let producers: Vec<_> = (0..8)
        .map(|p| {
            let shared = shared.clone();
            spawn(move || {
                let (slot, filled, emptied, _) = &*shared;
                for i in 0..EACH {
                    let mut guard = slot.lock().unwrap();
                    while guard.is_some() {
                        let until = (i % 7 == 0).then(|| Until::after(Duration::from_micros(20)));
                        guard = wait_on(emptied, slot, guard, until).0;
                    }
                    *guard = Some(p * EACH + i);
                    if i % 5 == 0 { filled.broadcast() } else { filled.signal() }
                }
            })
        })
        .collect();
    let consumers: Vec<_> = (0..8)
        .map(|_| {
            let shared = shared.clone();
            spawn(move || {
                let (slot, filled, emptied, sum) = &*shared;
                for i in 0..EACH {
                    let mut guard = slot.lock().unwrap();
                    while guard.is_none() {
                        let until = (i % 3 == 0).then(|| Until::after(Duration::from_micros(20)));
                        guard = wait_on(filled, slot, guard, until).0;
                    }
                    // Relaxed: read after all threads have ended.
                    sum.fetch_add(guard.take().unwrap(), Ordering::Relaxed);
                    if i % 5 == 0 { emptied.broadcast() } else { emptied.signal() }
                }
            })
        })
        .collect();
    producers.into_iter().chain(consumers).for_each(|thread| thread.join().unwrap());
    shared.1.retire();
    shared.2.retire();
    // Relaxed: as above.
    assert_eq!(shared.3.load(Ordering::Relaxed), (0..8 * EACH).sum());
}

#[test]
fn latch_excludes_under_preemption() {
    let condition = Arc::new(Condition::NEW);
    let threads: Vec<_> = (0..64)
        .map(|_| {
            let condition = condition.clone();
            spawn(move || {
                for i in 0..2_000 {
                    let node = waiting(&condition, 0);
                    if i % 2 == 0 {
                        condition.signal();
                    }
                    leave(&condition, &node, LeaveReason::Returns);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    condition.retire();
}

/// The child calls only functions that are safe after a fork of a process with many threads.
fn is_true_in_a_child(question: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child runs `question` and ends.
    match unsafe { libc::fork() } {
        0 => {
            let code = i32::from(!question());
            // SAFETY: ends the child.
            unsafe { libc::_exit(code) }
        }
        child => {
            let mut status = -1;
            // SAFETY: our child, a live int.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            status == 0
        }
    }
}

/// In a child of a process in which threads waited and one thread held the latch.
#[test]
fn forked_child_drops_its_parents_waiters() {
    let condition = Condition::NEW;
    let parents_waiters: Vec<_> = (0..3).map(|_| waiting(&condition, 0)).collect();
    condition.signal();
    condition.latch.acquire(host::generation());
    let in_child = || {
        // A child overwrites the stacks of threads that it does not have.
        parents_waiters.iter().for_each(|ghost| unsafe {
            // SAFETY: the child's copy, which it does not use any more.
            (core::ptr::from_ref(&**ghost) as *mut u8).write_bytes(0xAA, size_of::<Node>());
        });
        condition.signal();
        condition.broadcast();
        condition.retire();
        let node = waiting(&condition, 0);
        condition.signal();
        let right = is_woken(&node);
        leave(&condition, &node, LeaveReason::Returns);
        condition.retire();
        right
    };
    assert!(is_true_in_a_child(in_child));
    condition.latch.release();
    assert!(is_woken(&parents_waiters[0]));
    for ghost in &parents_waiters {
        leave(&condition, ghost, LeaveReason::Returns);
    }
    condition.retire();
}

/// A thread that is in a child, because it forked while it waited, returns.
#[test]
fn waiter_that_forked_returns_in_the_child() {
    let condition = Condition::NEW;
    let node = waiting(&condition, 0);
    let in_child = || {
        node.is_stranded() && leave(&condition, &node, LeaveReason::Returns) == LeaveResult::Unsignalled && {
            condition.retire();
            true
        }
    };
    assert!(is_true_in_a_child(in_child));
    assert!(!node.is_stranded());
    assert_eq!(leave(&condition, &node, LeaveReason::Returns), LeaveResult::Unsignalled);
}
