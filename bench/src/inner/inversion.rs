//! Priority inversion on one CPU: a thread without real-time priority holds a mutex, a thread of high priority waits
//! for it, and a thread of medium priority keeps the owner from running.

use super::contend::Mutex;
use super::own_sets::{allowed_cpus, bind_to};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use unspin_sys::clock;

/// What the owner has to do before it releases.
const HOLD: Duration = Duration::from_millis(1);
/// How long the hog keeps the CPU. Less than the kernel lets real-time threads have of a second.
const HOG: Duration = Duration::from_millis(30);
const ROUNDS: u32 = 5;

const HOG_PRIORITY: i32 = 10;
const WAITER_PRIORITY: i32 = 20;

/// The longest wait of the thread of high priority, in milliseconds.
pub fn run(protocol: i32) -> Result<f64, String> {
    let cpu = *allowed_cpus().first().ok_or("there is no CPU")?;
    let mutex = &Mutex::new(protocol);
    let (held, is_held) = mpsc::channel();
    let (waited, waits) = mpsc::channel();
    std::thread::scope(|scope| {
        // Create the channels in this scope, so that they end before the threads are joined.
        let [own, hog, want] = [(); 3].map(|()| mpsc::channel::<()>());
        scope.spawn(move || {
            bind_to(cpu)?;
            for () in own.1 {
                mutex.with(|| {
                    let _ = held.send(());
                    burn(HOLD);
                });
            }
            Ok::<_, String>(())
        });
        scope.spawn(move || {
            bind_to(cpu)?;
            become_fifo(HOG_PRIORITY)?;
            for () in hog.1 {
                let begun = Instant::now();
                while begun.elapsed() < HOG {}
            }
            Ok::<_, String>(())
        });
        scope.spawn(move || {
            let ready = bind_to(cpu).and_then(|()| become_fifo(WAITER_PRIORITY));
            for () in want.1 {
                let begun = Instant::now();
                ready.clone()?;
                mutex.with(|| {
                    let _ = waited.send(begun.elapsed());
                });
            }
            Ok::<_, String>(())
        });
        let lost = |_| "a thread has no right to a real-time priority".to_owned();
        let mut longest = Duration::ZERO;
        for _ in 0..ROUNDS {
            own.0.send(()).map_err(lost)?;
            is_held.recv().map_err(|e| e.to_string())?;
            // Wake them in this order: the hog must run before the waiter needs the owner. The waiter, once awake, goes
            // first.
            hog.0.send(()).map_err(lost)?;
            want.0.send(()).map_err(lost)?;
            longest = longest.max(waits.recv().map_err(|e| e.to_string())?);
        }
        Ok(longest.as_secs_f64() * 1e3)
    })
}

/// Uses so much of this thread's CPU time.
fn burn(time: Duration) {
    let begin = clock::thread_cpu_ns();
    while clock::thread_cpu_ns() - begin < time.as_nanos() as u64 {}
}

/// The calling thread is a real-time thread from now on.
pub fn become_fifo(priority: i32) -> Result<(), String> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: live parameters; 0 is the calling thread.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) } {
        0 => Ok(()),
        _ => Err(format!("SCHED_FIFO: {}", std::io::Error::last_os_error())),
    }
}

/// Why this cannot be measured here, if it cannot.
pub fn missing() -> Option<String> {
    std::thread::spawn(|| become_fifo(1)).join().unwrap_or_else(|_| Err("a thread panicked".into())).err()
}
