//! The longest waits at futexes, with the names of the table.

use super::call::FutexWaitOutcome;
use super::futex_use::FutexUse;
use super::kept_waits::FutexWaitEnd;
use super::lens::FutexLens;
use super::origin;
use super::report::{self, FutexReport};
use crate::lens::callers::{Callers, from_caller};
use crate::lens::naming::Naming;
use crate::lens::timeline::lens_timeline::{LensTimeline, NamedWait, WaitField, WaitLabel, WaitValue};
use crate::lens::timeline::longest::KeptWait;
use crate::settings::Lens;
use unspin_report::next::lens::futex::FutexOrigin;
use unspin_trace::Stacks;

const FIELDS: &[WaitField] = &[
    WaitField { key: "kind", label: "Kind", value: WaitValue::Label(0) },
    WaitField { key: "address", label: "Address", value: WaitValue::Label(1) },
    WaitField { key: "caller", label: "Caller", value: WaitValue::Label(2) },
    WaitField { key: "outcome", label: "Ended", value: WaitValue::Outcome },
    WaitField { key: "waker", label: "Woken by", value: WaitValue::Waker },
];

impl FutexReport {
    /// The longest waits.
    pub fn timeline(lens: &FutexLens, stacks: &Stacks, naming: &Naming) -> LensTimeline {
        let callers = Callers::new(&lens.spaces, &naming.programs);
        let kept = lens.kept.as_deref().map(|kept| &kept.waits);
        let uses = kept.map_or_else(Vec::new, |kept| kept.uses());
        let names = report::names(lens, stacks, &callers);
        let label = |one: &FutexUse| {
            let frames = callers.frames(one.space, stacks.get(one.stack).user);
            let (name, address) = names.of(&one.futex, &frames, &callers);
            let caller = from_caller(&frames).first().map(|frame| frame.place.clone());
            let kind = kind(origin::of(&frames)).to_owned();
            let mut functions: Vec<String> =
                frames.into_iter().map(|frame| frame.function_or_place()).collect();
            functions.reverse();
            let values = vec![kind, address, caller.unwrap_or_default()];
            WaitLabel { name, values, frames: functions }
        };
        LensTimeline {
            lens: Lens::Futex,
            fields: FIELDS,
            labels: uses.into_iter().map(label).collect(),
            waits: kept.map_or_else(Vec::new, |kept| kept.sorted().into_iter().map(wait).collect()),
            left_out: kept.map(|kept| kept.left_out()).unwrap_or_default(),
        }
    }
}

/// The code that waits.
fn kind(origin: FutexOrigin) -> &'static str {
    match origin {
        FutexOrigin::Mutex => "mutex of libc",
        FutexOrigin::WithinLibc => "lock within libc",
        FutexOrigin::Libc => "libc",
        FutexOrigin::Go => "Go's runtime",
        FutexOrigin::Rust => "Rust's standard library",
        FutexOrigin::ParkingLot => "parking_lot",
        FutexOrigin::Other => "",
    }
}

fn wait(kept: &KeptWait<FutexWaitEnd>) -> NamedWait {
    let &KeptWait { track, start, end, what, detail: FutexWaitEnd { outcome, waker } } = kept;
    NamedWait { track, start, end, label: what as usize, outcome: word(outcome), waker, cpu_ns: 0 }
}

/// How a wait ended.
fn word(outcome: Option<FutexWaitOutcome>) -> &'static str {
    match outcome {
        Some(FutexWaitOutcome::Woken) => "woken",
        Some(FutexWaitOutcome::ValueChanged) => "did not sleep, the value had changed (EAGAIN)",
        Some(FutexWaitOutcome::Interrupted) => "by a signal (EINTR)",
        Some(FutexWaitOutcome::TimedOut) => "by its timeout (ETIMEDOUT)",
        Some(FutexWaitOutcome::Failed) => "by an error",
        None => "not yet",
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Calls, PID, WAIT, WAKE};
    use super::*;
    use crate::lens::collector::Collector;
    use crate::lens::timeline::track::Track;
    use crate::observed::Sink;
    use unspin_symbols::Symbols;
    use unspin_trace::{KernelSymbols, StackId};

    #[test]
    fn kept_waits_add_up_to_the_table_and_have_their_wakers() {
        let mut calls = Calls::new();
        calls.lens.keep_waits();
        calls.sample(0, 1, 1000, 0x10, WAIT, StackId::EMPTY);
        calls.call(2, WAKE, 0x10, [3000, 3100], 1);
        calls.sample(1, 1, 3200, 0, 0, StackId::EMPTY);
        calls.call(1, WAIT, 0x20, [4000, 4500], -110);
        calls.sample(0, 3, 5000, 0x10, WAIT, StackId::EMPTY);
        calls.lens.end(9000);
        let naming = Naming { kernel: KernelSymbols::none(), programs: Symbols::new() };
        let timeline = FutexReport::timeline(&calls.lens, &calls.stacks, &naming);
        let sum: u64 = timeline.waits.iter().map(NamedWait::ns).sum();
        assert_eq!(sum, calls.lens.waits.values().map(|waits| waits.wait_ns).sum::<u64>());
        let of = |n: usize| {
            let wait: &NamedWait = &timeline.waits[n];
            let address = timeline.labels[wait.label].values[1].as_str();
            (wait.track, [wait.start, wait.end], address, wait.outcome, wait.waker)
        };
        let thread = |tid| Track::Thread(PID, tid);
        assert_eq!(of(0), (thread(1), [1000, 3200], "0x10", "woken", Some(thread(2))));
        assert_eq!(of(1), (thread(1), [4000, 4500], "0x20", "by its timeout (ETIMEDOUT)", None));
        assert_eq!(of(2), (thread(3), [5000, 9000], "0x10", "not yet", None));
        assert_eq!(timeline.waits.len(), 3);
    }
}
