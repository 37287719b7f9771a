//! What to do next about a futex.

use super::origin::Origin;
use super::sums::{Waits, Wakes};
use crate::lens::next::{Next, Step};
use crate::lens::subject::Subject;

/// What to do next about a futex.
pub fn next(waits: &Waits, wakes: &Wakes, origin: Origin, subject: &Subject) -> Next {
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
    } else if origin == Origin::Go && waits.timed_out * 2 <= waits.waits {
        // Its scheduler parks idle threads here, and wakes them when there is work: their number is Go's choice.
        of_origin(origin, subject)
    } else if waits.value_changed * 2 > waits.waits {
        (
            "the lock was released before most threads slept: spin before sleeping, or hold it for less time",
            Step::None,
        )
    } else if waits.waited_again * 4 > waits.woken {
        ("many woken threads wait again at once: wake fewer threads", Step::None)
    } else if waits.timed_out * 2 > waits.waits {
        ("most waits end by their timeouts: timers rather than locks", Step::None)
    } else {
        of_origin(origin, subject)
    };
    Next::new(text, step, subject)
}

/// About waits of which only the code that waits is known.
fn of_origin(origin: Origin, subject: &Subject) -> (&'static str, Step) {
    let is_started = !subject.words().is_empty();
    match origin {
        Origin::Libc if is_started => {
            ("libc waits: the pthread lens names the lock, its holders and its callers:", Step::Pthread)
        }
        Origin::Libc => (
            "libc waits: unspin meter names the lock, its holders and its callers, if it starts the program",
            Step::None,
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
        Origin::Other => ("look at its callers and wakers", Step::None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_were_woken_did_wait() {
        let text = |wakes: Wakes| next(&Waits::default(), &wakes, Origin::Other, &Subject::Process(7)).next;
        assert!(text(Wakes::one(0)).contains("needless"));
        assert!(text(Wakes::one(2)).starts_with("the waits of these threads are not counted here"));
        assert!(text(Wakes::unlock(0)).starts_with("no wait is known here"));
    }

    #[test]
    fn idle_threads_of_go_are_not_the_programs_choice() {
        let waits = Waits { waits: 10, woken: 10, waited_again: 9, ..Waits::default() };
        let text = |origin| next(&waits, &Wakes::default(), origin, &Subject::Process(7)).next;
        assert!(text(Origin::Go).contains("idle threads of its scheduler"));
        assert!(text(Origin::Other).contains("wake fewer threads"));
    }
}
