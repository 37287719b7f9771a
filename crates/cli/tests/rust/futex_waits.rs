//! A thread wants a mutex of the standard library that another holds for 20 ms at a time. Prints the seconds it waited.

use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

static KNOWN_MUTEX: Mutex<()> = Mutex::new(());

#[inline(never)]
fn wait_for_mutex() -> Duration {
    let before = Instant::now();
    drop(KNOWN_MUTEX.lock().unwrap());
    before.elapsed()
}

fn main() {
    let start = Arc::new(Barrier::new(2));
    let other = Arc::clone(&start);
    let locker = std::thread::spawn(move || {
        let mut waited = Duration::ZERO;
        for _ in 0..20 {
            other.wait();
            waited += wait_for_mutex();
            other.wait();
        }
        waited
    });
    for _ in 0..20 {
        let guard = KNOWN_MUTEX.lock().unwrap();
        start.wait();
        std::thread::sleep(Duration::from_millis(20));
        drop(guard);
        start.wait();
    }
    println!("{:.6}", locker.join().unwrap().as_secs_f64());
}
