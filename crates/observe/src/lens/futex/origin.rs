//! The code that waits at a futex.

use crate::lens::callers::UserFrame;
use unspin_report::next::lens::futex::FutexOrigin;

/// The code that made a call, by its stack.
pub fn of(frames: &[UserFrame]) -> FutexOrigin {
    let own = |frame: &&UserFrame| frame.function != "syscall" && !frame.function.starts_with('[');
    let Some(first) = frames.iter().find(own) else { return FutexOrigin::Other };
    let begins = |words: &[&str]| words.iter().any(|word| first.function.starts_with(word));
    if begins(&["runtime.", "runtime/", "internal/runtime"]) {
        FutexOrigin::Go
    } else if begins(&["parking_lot", "<parking_lot"]) {
        FutexOrigin::ParkingLot
    } else if begins(&["std::", "<std::", "core::"]) {
        FutexOrigin::Rust
    } else if is_libc(first) {
        of_libc(frames)
    } else {
        FutexOrigin::Other
    }
}

/// What waits in libc, by the names of its functions: glibc's `__lll_lock_wait`, or `pthread_mutex_lock` of any libc.
fn of_libc(frames: &[UserFrame]) -> FutexOrigin {
    let in_libc = frames.iter().take_while(|frame| is_libc(frame));
    let functions: Vec<&str> = in_libc.map(|frame| frame.function.as_str()).collect();
    let has =
        |words: &[&str]| functions.iter().any(|function| words.iter().any(|word| function.contains(word)));
    if has(&["lll_lock_wait_private"]) {
        FutexOrigin::WithinLibc
    } else if has(&["lll_lock_wait", "mutex_lock", "mutex_timedlock", "mutex_clocklock", "mutex_cond_lock"]) {
        FutexOrigin::Mutex
    } else {
        FutexOrigin::Libc
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
        assert_eq!(of(&[syscall.clone(), frame("std::sys::futex", "prog")]), FutexOrigin::Rust);
        assert_eq!(of(&[frame("pthread_cond_wait", "libc.so.6")]), FutexOrigin::Libc);
        assert_eq!(of(&[frame("pthread_mutex_lock", "libc.so.6")]), FutexOrigin::Mutex);
        assert_eq!(of(&[frame("__lll_lock_wait", "libc.so.6"), frame("f", "prog")]), FutexOrigin::Mutex);
        assert_eq!(of(&[frame("__lll_lock_wait_private", "libc.so.6")]), FutexOrigin::WithinLibc);
        let other = [frame("sem_wait", "libc.so.6"), frame("mutex_lock", "prog")];
        assert_eq!(of(&other), FutexOrigin::Libc, "a function of the program");
        assert_eq!(of(&[frame("runtime.futex", "prog")]), FutexOrigin::Go);
        assert_eq!(of(&[syscall]), FutexOrigin::Other);
    }
}
