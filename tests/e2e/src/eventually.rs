//! Waits for events that a program reaches after an unknown time.

use std::fmt::Display;
use std::time::{Duration, Instant};

/// After this long a program is taken to hang. No test asserts a time: the longest takes seconds, and minutes where
/// twenty programs share a CPU with it, since the spin lock of the engine `global` must wait for its turn each time.
pub const HANGS_AFTER: Duration = Duration::from_secs(300);

/// Polls until there is an answer.
///
/// # Panics
/// If there is none for minutes. `what` says what was waited for.
pub fn eventually<T>(what: impl Display, mut ask: impl FnMut() -> Option<T>) -> T {
    let answer = within(HANGS_AFTER, &mut ask);
    answer.unwrap_or_else(|| panic!("{what}: not after {} s", HANGS_AFTER.as_secs()))
}

/// Polls for some time.
pub fn within<T>(time: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + time;
    let mut pause = Duration::from_micros(200);
    loop {
        let answer = ask();
        if answer.is_some() || Instant::now() > deadline {
            return answer;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}
