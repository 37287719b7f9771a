//! A process can be forked when it has joined all of its threads, although the kernel may still count the last one: it wakes the
//! joiner before it removes the thread.

use std::thread;
use std::time::Duration;

use unspin_sys::child::{self, End};

/// Enough to meet a thread that is still counted: one of the first 40 was, where nothing waited for the removal.
const JOINS: i32 = 3000;

/// The test, with the lines that the harness would print.
fn main() {
    println!("\nrunning 1 test");
    a_process_that_has_joined_its_threads_can_be_forked();
    println!(
        "test a_process_that_has_joined_its_threads_can_be_forked ... ok\n\ntest result: ok. 1 passed; 0 failed"
    );
}

fn a_process_that_has_joined_its_threads_can_be_forked() {
    for number in 0..JOINS {
        thread::spawn(|| ()).join().unwrap();
        let code = number % 100;
        let pid = child::fork(|| code).unwrap_or_else(|why| panic!("fork after join {number}: {why}"));
        let ended = child::wait_for(pid, Duration::from_secs(100)).unwrap().unwrap();
        assert_eq!(ended.end, End::Exited(code));
    }
}
