//! What to do next about a futex.

use crate::next::{Next, Step, Subject};
use serde::Serialize;

/// The code that waits at a futex, by the stack of the longest waits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FutexOrigin {
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
    #[default]
    Other,
}

/// What the table shows of a futex.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Shown {
    #[default]
    /// No function that waits, and none that wakes.
    Nothing,
    /// Only functions that wait.
    Callers,
    /// Only functions that wake threads.
    Wakers,
    /// Both.
    CallersAndWakers,
}

/// What is known of a futex. Waits are counted by how they ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct FutexFacts {
    /// All waits.
    pub waits: u64,
    /// Those whose thread was woken.
    pub woken: u64,
    /// Of the woken, those whose thread waited there again at once.
    pub waited_again: u64,
    /// Those that did not sleep, because the value had changed.
    pub value_changed: u64,
    /// Those that ended by their timeouts.
    pub timed_out: u64,
    /// Those that had not ended.
    pub unfinished: u64,
    /// Threads that were woken, or moved to another futex.
    pub threads_woken: u64,
    /// Calls that do not say whether they woke a thread.
    pub unknown_wakes: u64,
    /// The code that waits.
    pub origin: FutexOrigin,
    /// What the table shows of it.
    pub shown: Shown,
}

/// What to do next about a futex.
pub fn next(futex: &FutexFacts, subject: &Subject) -> Next {
    let FutexFacts { origin, shown, .. } = *futex;
    let (text, step) = if futex.waits == 0 && futex.threads_woken > 0 {
        (
            "the waits of these threads are not counted here: they have not ended, were not observed, were lost, or are in another \
             row: that of futex_waitv, or of the futex from which FUTEX_REQUEUE moved the threads to this one",
            Step::None,
        )
    } else if futex.waits == 0 && futex.unknown_wakes > 0 {
        ("no wait is known here: FUTEX_UNLOCK_PI does not say whether it woke a thread", Step::None)
    } else if futex.waits == 0 {
        (
            "these calls woke no thread and moved none: needless system calls, if a check of the word can tell that no thread \
             waits",
            Step::None,
        )
    } else if futex.unfinished == futex.waits {
        ("no wait ended: an idle thread, or a lock that is not released", Step::None)
    } else if matches!(origin, FutexOrigin::Mutex | FutexOrigin::WithinLibc) {
        // A woken thread may find it taken again: each release wakes one thread only.
        of_origin(origin, shown, subject)
    } else if origin == FutexOrigin::Go && futex.timed_out.saturating_mul(2) <= futex.waits {
        // Its scheduler parks idle threads here, and wakes them when there is work: their number is Go's choice.
        of_origin(origin, shown, subject)
    } else if futex.value_changed.saturating_mul(2) > futex.waits {
        (
            "the lock was released before most threads slept: spin before sleeping, or hold it for less time",
            Step::None,
        )
    } else if futex.waited_again.saturating_mul(4) > futex.woken && origin == FutexOrigin::Libc {
        in_libc(
            subject,
            "many woken threads wait again at once: wake fewer threads. The pthread lens names the condition, and its wakers:",
            "many woken threads wait again at once: wake fewer threads. unspin meter names the condition, and its wakers, if it \
             starts the program",
        )
    } else if futex.waited_again.saturating_mul(4) > futex.woken
        && matches!(shown, Shown::Nothing | Shown::Callers)
    {
        ("many woken threads wait again at once: wake fewer threads where this futex is woken", Step::None)
    } else if futex.waited_again.saturating_mul(4) > futex.woken {
        ("many woken threads wait again at once: wake fewer threads in the wakers above", Step::None)
    } else if futex.timed_out.saturating_mul(2) > futex.waits {
        ("most waits end by their timeouts: timers rather than locks", Step::None)
    } else {
        of_origin(origin, shown, subject)
    };
    Next::with_step(text, step, subject)
}

/// The first text with the command for the pthread lens if the program is known, otherwise the second one.
fn in_libc(subject: &Subject, if_started: &'static str, otherwise: &'static str) -> (&'static str, Step) {
    match subject.words().is_empty() {
        false => (if_started, Step::Pthread),
        true => (otherwise, Step::None),
    }
}

/// About waits of which only the code that waits is known.
fn of_origin(origin: FutexOrigin, shown: Shown, subject: &Subject) -> (&'static str, Step) {
    match origin {
        FutexOrigin::Libc => in_libc(
            subject,
            "libc waits: the pthread lens names the lock, its holders and its callers:",
            "libc waits: unspin meter names the lock, its holders and its callers, if it starts the program",
        ),
        FutexOrigin::Mutex => in_libc(
            subject,
            "a mutex of libc: hold it for less time, or lock it less often. The pthread lens names it, its holders and its callers:",
            "a mutex of libc: hold it for less time, or lock it less often. unspin meter names it, its holders and its callers, if \
             it starts the program",
        ),
        FutexOrigin::WithinLibc => (
            "a lock within libc, of malloc or of a stream of stdio: allocate less often, or print from fewer threads. Samples of \
             the functions that call it:",
            Step::ProfileUser,
        ),
        FutexOrigin::Go => (
            "Go's runtime waits: runtime.SetMutexProfileFraction(1) and go tool pprof name Go's locks; idle threads of its \
             scheduler wait here too",
            Step::None,
        ),
        FutexOrigin::Rust | FutexOrigin::ParkingLot => (
            "a lock or a parked thread of Rust: look at its callers; --waits poll lets it poll before it sleeps",
            Step::None,
        ),
        FutexOrigin::Other => match shown {
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

    /// Woken threads wait again.
    const OFTEN: FutexFacts = FutexFacts {
        waits: 10,
        woken: 10,
        waited_again: 9,
        value_changed: 0,
        timed_out: 0,
        unfinished: 0,
        threads_woken: 1,
        unknown_wakes: 0,
        origin: FutexOrigin::Other,
        shown: Shown::CallersAndWakers,
    };

    #[test]
    fn threads_that_were_woken_did_wait() {
        let text = |threads_woken, unknown_wakes| {
            next(&FutexFacts { threads_woken, unknown_wakes, ..FutexFacts::default() }, &PROCESS).text
        };
        assert!(text(0, 0).contains("needless"));
        assert!(text(2, 0).starts_with("the waits of these threads are not counted here"));
        assert!(text(0, 1).starts_with("no wait is known here"));
    }

    #[test]
    fn idle_threads_of_go_are_not_the_programs_choice() {
        let text = |origin| next(&FutexFacts { origin, shown: Shown::Callers, ..OFTEN }, &PROCESS).text;
        assert!(text(FutexOrigin::Go).contains("idle threads of its scheduler"));
        assert!(text(FutexOrigin::Other).contains("wake fewer threads"));
    }

    /// A release of a mutex wakes one thread: no call wakes too many.
    #[test]
    fn woken_threads_that_find_a_mutex_taken_are_not_too_many() {
        let next = |origin, subject: &Subject| next(&FutexFacts { origin, ..OFTEN }, subject);
        let started = Subject::Program(vec!["./server".into()]);
        let mutex = next(FutexOrigin::Mutex, &started);
        assert!(
            mutex.text.starts_with("a mutex of libc: ") && !mutex.text.contains("fewer threads"),
            "{mutex:?}"
        );
        assert_eq!(mutex.command.as_deref(), Some("unspin meter ./server"));
        let running = next(FutexOrigin::Mutex, &PROCESS);
        assert!(running.text.contains("unspin meter names it") && running.command.is_none(), "{running:?}");
        let condition = next(FutexOrigin::Libc, &started);
        assert!(
            condition.text.contains("wake fewer threads. The pthread lens names the condition"),
            "{condition:?}"
        );
        assert_eq!(condition.command, mutex.command);
        assert_eq!(
            next(FutexOrigin::WithinLibc, &PROCESS).command.as_deref(),
            Some("unspin profile --user -p 7")
        );
    }

    #[test]
    fn only_what_the_table_shows_is_pointed_at() {
        let next = |shown| next(&FutexFacts { waited_again: 0, shown, ..OFTEN }, &PROCESS);
        assert_eq!(next(Shown::CallersAndWakers).text, "look at its callers and wakers above");
        assert_eq!(next(Shown::Callers).text, "look at its callers above");
        assert_eq!(next(Shown::Wakers).text, "look at its wakers above");
        let nothing = next(Shown::Nothing);
        assert!(nothing.text.starts_with("no caller is known: "), "{nothing:?}");
        assert_eq!(nothing.command.as_deref(), Some("unspin profile --user -p 7"));
    }
}
