//! The code that waits at a futex.

use crate::lens::callers::UserFrame;
use serde::Serialize;

/// The code that waits at a futex, by the stack of the longest waits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// libc: a condition, a join, a lock of another kind than a mutex.
    Libc,
    /// A mutex of libc.
    #[serde(rename = "libc")]
    Mutex,
    /// A lock that libc takes for itself: of malloc, of a stream of stdio.
    #[serde(rename = "libc")]
    WithinLibc,
    /// Go's runtime.
    Go,
    /// Rust's standard library.
    Rust,
    /// The crate `parking_lot`.
    ParkingLot,
    /// Other code, or unknown.
    Other,
}

impl Origin {
    /// The code that made a call, by its stack.
    pub fn of(frames: &[UserFrame]) -> Origin {
        let own = |frame: &&UserFrame| frame.function != "syscall" && !frame.function.starts_with('[');
        let Some(first) = frames.iter().find(own) else { return Origin::Other };
        let begins = |words: &[&str]| words.iter().any(|word| first.function.starts_with(word));
        if begins(&["runtime.", "runtime/", "internal/runtime"]) {
            Origin::Go
        } else if begins(&["parking_lot", "<parking_lot"]) {
            Origin::ParkingLot
        } else if begins(&["std::", "<std::", "core::"]) {
            Origin::Rust
        } else if is_libc(first) {
            Origin::of_libc(frames)
        } else {
            Origin::Other
        }
    }

    /// What waits in libc, by the names of its functions: glibc's `__lll_lock_wait`, or `pthread_mutex_lock` of any libc.
    fn of_libc(frames: &[UserFrame]) -> Origin {
        let in_libc = frames.iter().take_while(|frame| is_libc(frame));
        let functions: Vec<&str> = in_libc.map(|frame| frame.function.as_str()).collect();
        let has = |words: &[&str]| {
            functions.iter().any(|function| words.iter().any(|word| function.contains(word)))
        };
        if has(&["lll_lock_wait_private"]) {
            Origin::WithinLibc
        } else if has(&[
            "lll_lock_wait",
            "mutex_lock",
            "mutex_timedlock",
            "mutex_clocklock",
            "mutex_cond_lock",
        ]) {
            Origin::Mutex
        } else {
            Origin::Libc
        }
    }
}

fn is_libc(frame: &UserFrame) -> bool {
    frame.module.starts_with("libc.so") || frame.module.starts_with("libpthread")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origin_is_found_behind_the_system_call() {
        let frame = |function: &str, module: &str| UserFrame {
            place: function.into(),
            function: function.into(),
            module: module.into(),
        };
        let syscall = frame("syscall", "libc.so.6");
        assert_eq!(Origin::of(&[syscall.clone(), frame("std::sys::futex", "prog")]), Origin::Rust);
        assert_eq!(Origin::of(&[frame("pthread_cond_wait", "libc.so.6")]), Origin::Libc);
        assert_eq!(Origin::of(&[frame("pthread_mutex_lock", "libc.so.6")]), Origin::Mutex);
        assert_eq!(Origin::of(&[frame("__lll_lock_wait", "libc.so.6"), frame("f", "prog")]), Origin::Mutex);
        assert_eq!(Origin::of(&[frame("__lll_lock_wait_private", "libc.so.6")]), Origin::WithinLibc);
        let other = [frame("sem_wait", "libc.so.6"), frame("mutex_lock", "prog")];
        assert_eq!(Origin::of(&other), Origin::Libc, "a function of the program");
        assert_eq!(Origin::of(&[frame("runtime.futex", "prog")]), Origin::Go);
        assert_eq!(Origin::of(&[syscall]), Origin::Other);
    }
}
