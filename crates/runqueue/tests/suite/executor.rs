//! The executor as programs use it, on both policies.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::Poll;
use std::time::{Duration, Instant};
use unspin_runqueue::queue::Policy;
use unspin_runqueue::schedule::{Nice, Priority};
use unspin_runqueue::{Async, Builder, Executor, Shutdown, block_on, sleep, timeout, yield_now};

/// After this time what has not ended counts as hanging.
const PATIENCE: Duration = Duration::from_secs(600);

/// Calls `test` with an executor of each policy, with one worker, two, and more than the machine has CPUs.
fn on_each(test: impl Fn(&Executor)) {
    for policy in Policy::ALL {
        for workers in [1, 2, 16] {
            let executor = Builder::new().policy(policy).workers(workers).build().unwrap();
            test(&executor);
            assert!(executor.wait_until_idle(Some(PATIENCE)), "{policy} {workers}");
        }
    }
}

#[test]
fn tasks_started_from_inside_and_outside_all_run() {
    on_each(|executor| {
        let ran = Arc::new(AtomicUsize::new(0));
        let outer = ran.clone();
        let task = executor.spawn(async move {
            let handles: Vec<_> = (0..1_000)
                .map(|_| {
                    let ran = outer.clone();
                    unspin_runqueue::spawn(async move {
                        yield_now().await;
                        ran.fetch_add(1, SeqCst);
                    })
                })
                .collect();
            for handle in handles {
                handle.await.unwrap();
            }
        });
        for _ in 0..100 {
            let ran = ran.clone();
            drop(executor.spawn(async move {
                ran.fetch_add(1, SeqCst);
            }));
        }
        executor.block_on(task).unwrap();
        assert!(executor.wait_until_idle(Some(PATIENCE)));
        assert_eq!(ran.load(SeqCst), 1_100);
    });
}

#[test]
fn block_on_of_another_executor_starts_tasks_there() {
    let [outer, inner] =
        ["outer", "inner"].map(|name| Builder::new().workers(1).thread_name(name).build().unwrap());
    let spawner = inner.spawner().clone();
    let name = || async { std::thread::current().name().unwrap().to_string() };
    let names = outer.spawn(async move {
        let inside = spawner.block_on(async { unspin_runqueue::spawn(name()).await.unwrap() });
        (inside, unspin_runqueue::spawn(name()).await.unwrap())
    });
    let (inside, after) = outer.block_on(names).unwrap();
    assert_eq!((&*inside, &*after), ("inner-0", "outer-0"));
}

/// What one task has asked for does not count for the next one.
#[test]
fn task_that_yields_and_ends_does_not_make_the_next_one_yield() {
    let executor = Builder::new().workers(1).build().unwrap();
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = |name: &'static str| {
        let order = order.clone();
        move || order.lock().unwrap().push(name)
    };
    let (first, second, third) = (log("goes on"), log("goes on"), log("waits"));
    let tasks = executor.spawn(async move {
        let yields_and_ends = unspin_runqueue::spawn_with(Priority::RealTime(1), Nice::DEFAULT, async {
            let _ = futures_lite::future::poll_once(yield_now()).await;
        });
        let goes_on = unspin_runqueue::spawn_with(Priority::Normal, Nice::LOWEST, async move {
            first();
            let mut is_woken = false;
            std::future::poll_fn(|context| {
                context.waker().wake_by_ref();
                if std::mem::replace(&mut is_woken, true) { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
            second();
        });
        let waits = unspin_runqueue::spawn_with(Priority::Normal, Nice::HIGHEST, async move { third() });
        for task in [yields_and_ends, goes_on, waits] {
            task.await.unwrap();
        }
    });
    executor.block_on(tasks).unwrap();
    assert_eq!(*order.lock().unwrap(), ["goes on", "goes on", "waits"]);
}

/// An executor that a thread's destructors use.
struct AtTheEnd(Executor, std::sync::mpsc::Sender<i32>);

impl Drop for AtTheEnd {
    fn drop(&mut self) {
        let task = self.0.spawn(async { 7 });
        self.1.send(self.0.block_on(task).unwrap()).unwrap();
    }
}

#[test]
fn thread_that_ends_can_start_and_await_tasks() {
    thread_local!(static AT_THE_END: std::cell::RefCell<Option<AtTheEnd>> = const { std::cell::RefCell::new(None) });
    let (sender, results) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let executor = Builder::new().workers(1).build().unwrap();
        AT_THE_END.with_borrow_mut(|at_the_end| *at_the_end = Some(AtTheEnd(executor, sender)));
        // Registers the destructors of what `block_on` uses: they run first.
        AT_THE_END.with_borrow(|at_the_end| at_the_end.as_ref().unwrap().0.block_on(async {}));
    })
    .join()
    .unwrap();
    assert_eq!(results.recv(), Ok(7));
}

#[test]
fn first_timer_wakes_a_worker_that_sleeps_without_the_reactor() {
    on_each(|executor| {
        std::thread::sleep(Duration::from_millis(20));
        executor.block_on(sleep(Duration::from_millis(10)));
    });
}

#[test]
fn thread_that_leaves_the_reactor_hands_it_over() {
    let threads =
        [50, 100, 150].map(|ms| std::thread::spawn(move || block_on(sleep(Duration::from_millis(ms)))));
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn timer_of_a_caller_ends_while_all_workers_are_busy() {
    let executor = Builder::new().workers(1).build().unwrap();
    let (end, is_over) = std::sync::mpsc::channel::<()>();
    let busy = executor.spawn(async move { is_over.recv().unwrap() });
    executor.block_on(sleep(Duration::from_millis(50)));
    end.send(()).unwrap();
    executor.block_on(busy).unwrap();
}

/// The driver of the reactor runs a task that blocks, and the other workers sleep since before the reactor was used.
#[test]
fn idle_worker_replaces_a_driver_that_blocks() {
    let executor = Builder::new().workers(3).build().unwrap();
    std::thread::sleep(Duration::from_millis(20));
    let (end, is_over) = std::sync::mpsc::channel::<()>();
    let (ready, timers) = std::sync::mpsc::channel();
    // Both tasks on one worker: the second is started by the first, which then blocks when its timer ends.
    let blocks = executor.spawn(async move {
        drop(unspin_runqueue::spawn(async move {
            sleep(Duration::from_millis(60)).await;
            ready.send(()).unwrap();
        }));
        sleep(Duration::from_millis(20)).await;
        is_over.recv().unwrap();
    });
    timers.recv().unwrap();
    end.send(()).unwrap();
    executor.block_on(blocks).unwrap();
}

#[test]
fn timers_are_never_early_and_timeouts_cancel() {
    on_each(|executor| {
        let tasks = [30u64, 10, 20].map(|ms| {
            let (time, began) = (Duration::from_millis(ms), Instant::now());
            executor.spawn(async move {
                sleep(time).await;
                began.elapsed() >= time
            })
        });
        for task in tasks {
            assert!(executor.block_on(task).unwrap());
        }
        let late = executor.spawn(timeout(Duration::from_millis(5), std::future::pending::<()>()));
        assert!(executor.block_on(late).unwrap().is_err());
    });
}

#[test]
fn sockets_carry_data_between_tasks() {
    use std::net::{SocketAddr, TcpListener, TcpStream};
    on_each(|executor| {
        let address: SocketAddr = ([127, 0, 0, 1], 0).into();
        let listener = Async::<TcpListener>::bind(address).unwrap();
        let address = listener.get_ref().local_addr().unwrap();
        let server = executor.spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut buffer = [0; 16];
            for _ in 0..100 {
                let n = stream.read_with(|mut io| std::io::Read::read(&mut io, &mut buffer)).await.unwrap();
                let sent =
                    stream.write_with(|mut io| std::io::Write::write(&mut io, &buffer[..n])).await.unwrap();
                assert_eq!(sent, n);
            }
        });
        let client = executor.spawn(async move {
            let stream = Async::<TcpStream>::connect(address).await.unwrap();
            for number in 0..100u64 {
                let bytes = number.to_ne_bytes();
                stream.write_with(|mut io| std::io::Write::write(&mut io, &bytes)).await.unwrap();
                let mut buffer = [0; 8];
                stream.read_with(|mut io| std::io::Read::read_exact(&mut io, &mut buffer)).await.unwrap();
                assert_eq!(buffer, bytes);
            }
        });
        executor.block_on(async {
            client.await.unwrap();
            server.await.unwrap();
        });
    });
    let refused = block_on(Async::<TcpStream>::connect(([127, 0, 0, 1], 1)));
    assert_eq!(refused.unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused);
}

#[test]
fn panics_and_cancellation_reach_the_handle_only() {
    on_each(|executor| {
        let panics = executor.spawn(async { panic!("on purpose") });
        let waits = executor.spawn(std::future::pending::<()>());
        sleep_here(2);
        waits.cancel();
        executor.block_on(async {
            let error = panics.await.unwrap_err();
            assert_eq!(error.panic_message(), Some("on purpose"));
            assert!(waits.await.unwrap_err().is_cancelled());
            assert_eq!(executor.spawn(async { 1 }).await.unwrap(), 1, "the workers go on");
        });
    });
}

fn sleep_here(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

#[test]
fn blocking_closures_run_beside_the_workers() {
    on_each(|executor| {
        let handles: Vec<_> = (0..20)
            .map(|number| {
                executor
                    .spawn_blocking(move || {
                        sleep_here(1);
                        // A closure can start tasks.
                        block_on(unspin_runqueue::spawn(async move { number })).unwrap()
                    })
                    .unwrap()
            })
            .collect();
        executor.block_on(async {
            for (number, handle) in handles.into_iter().enumerate() {
                assert_eq!(handle.await.unwrap(), number);
            }
            let panics = executor.spawn_blocking(|| panic!("in a closure")).unwrap();
            assert!(panics.await.unwrap_err().is_panic());
        });
    });
}

#[test]
fn shutdown_waits_for_tasks_and_cancels_those_that_are_left() {
    for policy in Policy::ALL {
        let start = || Builder::new().policy(policy).workers(2).build().unwrap();
        let executor = start();
        let ended = Arc::new(AtomicUsize::new(0));
        for _ in 0..10 {
            let ended = ended.clone();
            drop(executor.spawn(async move {
                sleep(Duration::from_millis(5)).await;
                ended.fetch_add(1, SeqCst);
            }));
        }
        assert_eq!(executor.shutdown(PATIENCE), Shutdown::Complete);
        assert_eq!(ended.load(SeqCst), 10);

        struct Counts(Arc<AtomicUsize>);
        impl Drop for Counts {
            fn drop(&mut self) {
                self.0.fetch_add(1, SeqCst);
            }
        }
        let executor = start();
        let dropped = Arc::new(AtomicUsize::new(0));
        for number in 0..30 {
            let guard = Counts(dropped.clone());
            drop(executor.spawn(async move {
                let _guard = guard;
                match number % 3 {
                    0 => std::future::pending().await,
                    1 => sleep(Duration::from_secs(1_000)).await,
                    _ => loop {
                        yield_now().await;
                    },
                }
            }));
        }
        let late = executor.spawner().clone();
        assert_eq!(executor.shutdown(Duration::from_millis(10)), Shutdown::Cancelled(30));
        assert_eq!(dropped.load(SeqCst), 30);
        assert!(block_on(late.spawn(async {})).unwrap_err().is_cancelled());
        assert!(block_on(late.spawn_blocking(|| ()).unwrap()).unwrap_err().is_cancelled());
    }
}

#[test]
fn shutdown_waits_for_blocking_closures() {
    let executor = Builder::new().workers(1).build().unwrap();
    let is_done = Arc::new(AtomicBool::new(false));
    let done = is_done.clone();
    let closure = executor.spawn_blocking(move || {
        sleep_here(100);
        done.store(true, SeqCst);
    });
    drop(closure.unwrap());
    assert_eq!(executor.tasks(), 1);
    assert_eq!(executor.shutdown(PATIENCE), Shutdown::Complete);
    assert!(is_done.load(SeqCst));
}

#[test]
fn scope_waits_for_a_blocking_closure_that_a_task_has_started() {
    let is_done = Arc::new(AtomicBool::new(false));
    let done = is_done.clone();
    let scope = Builder::new().workers(2).scope(|executor| {
        drop(executor.spawn(async {
            let closure = unspin_runqueue::spawn_blocking(move || {
                sleep_here(20);
                drop(unspin_runqueue::spawn(async move { done.store(true, SeqCst) }));
            });
            drop(closure.unwrap());
        }));
    });
    scope.unwrap();
    assert!(is_done.load(SeqCst));
}

#[test]
fn blocking_closure_that_outlasts_the_grace_is_reported_and_goes_on() {
    let executor = Builder::new().workers(1).build().unwrap();
    let (release, is_released) = std::sync::mpsc::channel();
    let runs = executor.spawn_blocking(move || is_released.recv().unwrap()).unwrap();
    drop(executor.spawn(std::future::pending::<()>()));
    // Returns although the closure runs.
    assert_eq!(executor.shutdown(Duration::from_millis(20)), Shutdown::Cancelled(2));
    assert!(!runs.is_finished());
    release.send("released").unwrap();
    assert_eq!(block_on(runs).unwrap(), "released");
}

#[test]
fn executor_that_is_dropped_by_its_own_task_ends() {
    let executor = Builder::new().workers(2).build().unwrap();
    let spawner = executor.spawner().clone();
    let task = spawner.spawn(async move { drop(executor) });
    let _ = block_on(task);
    assert!(block_on(spawner.spawn(async {})).is_err());
}

#[test]
fn urgent_tasks_run_first() {
    for policy in Policy::ALL {
        let executor = Builder::new().policy(policy).workers(1).build().unwrap();
        let order = Arc::new(std::sync::Mutex::new(Vec::new()));
        let notes = order.clone();
        let all = executor.spawn(async move {
            let start = |priority, nice, name: &'static str| {
                let notes = notes.clone();
                unspin_runqueue::spawn_with(priority, Nice::new(nice), async move {
                    notes.lock().unwrap().push(name)
                })
            };
            let tasks = [
                start(Priority::Normal, 19, "nice 19"),
                start(Priority::Normal, 0, "nice 0"),
                start(Priority::RealTime(1), 0, "real-time 1"),
                start(Priority::Normal, -20, "nice -20"),
                start(Priority::RealTime(50), 0, "real-time 50"),
            ];
            for task in tasks {
                task.await.unwrap();
            }
        });
        executor.block_on(all).unwrap();
        let expected = ["real-time 50", "real-time 1", "nice -20", "nice 0", "nice 19"];
        assert_eq!(*order.lock().unwrap(), expected, "{policy}");
    }
}

#[test]
fn executor_with_no_workers_a_lock_of_libc_or_nul_in_its_name_is_refused() {
    let text = |builder: Builder| builder.build().unwrap_err().to_string();
    assert_eq!(text(Builder::new().workers(0)), "an executor has 1 to 1024 workers, not 0");
    assert_eq!(text(Builder::new().workers(2_000)), "an executor has 1 to 1024 workers, not 2000");
    let lock = Builder::new().lock(unspin_locks::LockKind::System);
    assert_eq!(text(lock), "a run queue has no lock of the kind system, which is libc's mutex");
    let name = Builder::new().thread_name("a\0b");
    assert_eq!(text(name), "the thread name \"a\\0b\" has a NUL byte: remove it");
}
