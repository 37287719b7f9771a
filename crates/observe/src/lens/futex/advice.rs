//! What to do next about a futex.

use super::origin::Origin;
use super::sums::{FutexWaits, Wakes};
use crate::lens::next::{Next, Step};
use crate::lens::subject::Subject;

/// What the table shows of a futex.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shown {
    /// No function that waits, and none that wakes.
    Nothing,
    /// Only functions that wait.
    Callers,
    /// Only functions that wake threads.
    Wakers,
    /// Both.
    CallersAndWakers,
}

/// What to do next about a futex.
pub fn next(waits: &FutexWaits, wakes: &Wakes, origin: Origin, shown: Shown, subject: &Subject) -> Next {
    let (text, step) = if waits.waits == 0 && wakes.woken > 0 {
        (
            "the waits of these threads are not counted here: they have not ended, were not observed, were lost, or are in another \
             row: that of futex_waitv, or of the futex from which FUTEX_REQUEUE moved the threads to this one",
            Step::None,
        )
    } else if waits.waits == 0 && wakes.unknown > 0 {
        ("no wait is known here: FUTEX_UNLOCK_PI does not say whether it woke a thread", Step::None)
    } else if waits.waits == 0 {
        (
            "these calls woke no thread and moved none: needless system calls, if a check of the word can tell that no thread \
             waits",
            Step::None,
        )
    } else if waits.unfinished == waits.waits {
        ("no wait ended: an idle thread, or a lock that is not released", Step::None)
    } else if matches!(origin, Origin::Mutex | Origin::WithinLibc) {
        // A woken thread may find it taken again: each release wakes one thread only.
        of_origin(origin, shown, subject)
    } else if origin == Origin::Go && waits.timed_out * 2 <= waits.waits {
        // Its scheduler parks idle threads here, and wakes them when there is work: their number is Go's choice.
        of_origin(origin, shown, subject)
    } else if waits.value_changed * 2 > waits.waits {
        (
            "the lock was released before most threads slept: spin before sleeping, or hold it for less time",
            Step::None,
        )
    } else if waits.waited_again * 4 > waits.woken && origin == Origin::Libc {
        in_libc(
            subject,
            "many woken threads wait again at once: wake fewer threads. The pthread lens names the condition, and its wakers:",
            "many woken threads wait again at once: wake fewer threads. unspin meter names the condition, and its wakers, if it \
             starts the program",
        )
    } else if waits.waited_again * 4 > waits.woken && matches!(shown, Shown::Nothing | Shown::Callers) {
        ("many woken threads wait again at once: wake fewer threads where this futex is woken", Step::None)
    } else if waits.waited_again * 4 > waits.woken {
        ("many woken threads wait again at once: wake fewer threads in the wakers above", Step::None)
    } else if waits.timed_out * 2 > waits.waits {
        ("most waits end by their timeouts: timers rather than locks", Step::None)
    } else {
        of_origin(origin, shown, subject)
    };
    Next::new(text, step, subject)
}

/// The first text with the command for the pthread lens if the program is known, otherwise the second one.
fn in_libc(subject: &Subject, if_started: &'static str, otherwise: &'static str) -> (&'static str, Step) {
    match subject.words().is_empty() {
        false => (if_started, Step::Pthread),
        true => (otherwise, Step::None),
    }
}

/// About waits of which only the code that waits is known.
fn of_origin(origin: Origin, shown: Shown, subject: &Subject) -> (&'static str, Step) {
    match origin {
        Origin::Libc => in_libc(
            subject,
            "libc waits: the pthread lens names the lock, its holders and its callers:",
            "libc waits: unspin meter names the lock, its holders and its callers, if it starts the program",
        ),
        Origin::Mutex => in_libc(
            subject,
            "a mutex of libc: hold it for less time, or lock it less often. The pthread lens names it, its holders and its callers:",
            "a mutex of libc: hold it for less time, or lock it less often. unspin meter names it, its holders and its callers, if \
             it starts the program",
        ),
        Origin::WithinLibc => (
            "a lock within libc, of malloc or of a stream of stdio: allocate less often, or print from fewer threads. Samples of \
             the functions that call it:",
            Step::ProfileUser,
        ),
        Origin::Go => (
            "Go's runtime waits: runtime.SetMutexProfileFraction(1) and go tool pprof name Go's locks; idle threads of its \
             scheduler wait here too",
            Step::None,
        ),
        Origin::Rust | Origin::ParkingLot => (
            "a lock or a parked thread of Rust: look at its callers; --waits poll lets it poll before it sleeps",
            Step::None,
        ),
        Origin::Other => match shown {
            Shown::CallersAndWakers => ("look at its callers and wakers above", Step::None),
            Shown::Callers => ("look at its callers above", Step::None),
            Shown::Wakers => ("look at its wakers above", Step::None),
            Shown::Nothing => (
                "no caller is known: the thread waited before the observation began, or its code has no frame pointers (build it \
                 with -fno-omit-frame-pointer). The program's functions by name:",
                Step::ProfileUser,
            ),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROCESS: Subject = Subject::Process(7);

    #[test]
    fn threads_that_were_woken_did_wait() {
        let text = |wakes: Wakes| {
            next(&FutexWaits::default(), &wakes, Origin::Other, Shown::CallersAndWakers, &PROCESS).next
        };
        assert!(text(Wakes::one(0)).contains("needless"));
        assert!(text(Wakes::one(2)).starts_with("the waits of these threads are not counted here"));
        assert!(text(Wakes::unlock(0)).starts_with("no wait is known here"));
    }

    #[test]
    fn idle_threads_of_go_are_not_the_programs_choice() {
        let waits = FutexWaits { waits: 10, woken: 10, waited_again: 9, ..FutexWaits::default() };
        let text = |origin| next(&waits, &Wakes::default(), origin, Shown::Callers, &PROCESS).next;
        assert!(text(Origin::Go).contains("idle threads of its scheduler"));
        assert!(text(Origin::Other).contains("wake fewer threads"));
    }

    /// A release of a mutex wakes one thread: no call wakes too many.
    #[test]
    fn woken_threads_that_find_a_mutex_taken_are_not_too_many() {
        let waits = FutexWaits { waits: 10, woken: 10, waited_again: 9, ..FutexWaits::default() };
        let next = |origin, subject: &Subject| {
            next(&waits, &Wakes::one(1), origin, Shown::CallersAndWakers, subject)
        };
        let started = Subject::Program(vec!["./server".into()]);
        let mutex = next(Origin::Mutex, &started);
        assert!(
            mutex.next.starts_with("a mutex of libc: ") && !mutex.next.contains("fewer threads"),
            "{mutex:?}"
        );
        assert_eq!(mutex.command.as_deref(), Some("unspin meter ./server"));
        let running = next(Origin::Mutex, &PROCESS);
        assert!(running.next.contains("unspin meter names it") && running.command.is_none(), "{running:?}");
        let condition = next(Origin::Libc, &started);
        assert!(
            condition.next.contains("wake fewer threads. The pthread lens names the condition"),
            "{condition:?}"
        );
        assert_eq!(condition.command, mutex.command);
        assert_eq!(next(Origin::WithinLibc, &PROCESS).command.as_deref(), Some("unspin profile --user -p 7"));
    }

    #[test]
    fn only_what_the_table_shows_is_pointed_at() {
        let waits = FutexWaits { waits: 4, woken: 4, ..FutexWaits::default() };
        let next = |shown| next(&waits, &Wakes::default(), Origin::Other, shown, &PROCESS);
        assert_eq!(next(Shown::CallersAndWakers).next, "look at its callers and wakers above");
        assert_eq!(next(Shown::Callers).next, "look at its callers above");
        assert_eq!(next(Shown::Wakers).next, "look at its wakers above");
        let nothing = next(Shown::Nothing);
        assert!(nothing.next.starts_with("no caller is known: "), "{nothing:?}");
        assert_eq!(nothing.command.as_deref(), Some("unspin profile --user -p 7"));
    }
}
