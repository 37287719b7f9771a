//! The code that waits at a futex.

use crate::lens::callers::UserFrame;
use serde::Serialize;

/// The code that waits at a futex, by the stack of the longest waits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// libc: a mutex, a condition, a join.
    Libc,
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
        } else if first.module.starts_with("libc.so") || first.module.starts_with("libpthread") {
            Origin::Libc
        } else {
            Origin::Other
        }
    }
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
        assert_eq!(Origin::of(&[frame("pthread_mutex_lock", "libc.so.6")]), Origin::Libc);
        assert_eq!(Origin::of(&[frame("runtime.futex", "prog")]), Origin::Go);
        assert_eq!(Origin::of(&[syscall]), Origin::Other);
    }
}
