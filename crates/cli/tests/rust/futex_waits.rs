//! A thread wants a mutex of the standard library. Another holds it until the thread sleeps, and then for 20 ms, each of 20 times.
//! Prints the seconds it waited.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

static KNOWN_MUTEX: Mutex<()> = Mutex::new(());
/// The round in which the thread is about to wait. From then on it sleeps for nothing else.
static ABOUT: AtomicU32 = AtomicU32::new(0);

#[inline(never)]
fn wait_for_mutex(round: u32) -> Duration {
    let before = Instant::now();
    ABOUT.store(round, Ordering::SeqCst);
    drop(KNOWN_MUTEX.lock().unwrap());
    before.elapsed()
}

/// Whether the other thread sleeps.
fn sleeps() -> bool {
    let main = std::process::id().to_string();
    let mut tasks = fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap());
    let other = tasks.find(|task| task.file_name() != *main).unwrap();
    let stat = fs::read_to_string(other.path().join("stat")).unwrap();
    stat.rsplit_once(") ").unwrap().1.starts_with('S')
}

fn main() {
    let start = Arc::new(Barrier::new(2));
    let other = Arc::clone(&start);
    let locker = std::thread::spawn(move || {
        let mut waited = Duration::ZERO;
        for round in 1..=20 {
            other.wait();
            waited += wait_for_mutex(round);
            other.wait();
        }
        waited
    });
    for round in 1..=20 {
        let guard = KNOWN_MUTEX.lock().unwrap();
        start.wait();
        while ABOUT.load(Ordering::SeqCst) != round || !sleeps() {
            sleep(Duration::from_millis(1));
        }
        sleep(Duration::from_millis(20));
        drop(guard);
        start.wait();
    }
    println!("{:.6}", locker.join().unwrap().as_secs_f64());
}
