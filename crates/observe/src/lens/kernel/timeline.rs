//! The longest waits for locks of the kernel, with the names of the table.

use super::contention::LockWaitOutcome;
use super::lens::{KernelLens, LockUse, LockWaitEnd};
use super::naming;
use super::report::{self, KernelReport};
use crate::lens::naming::Naming;
use crate::lens::timeline::lens_timeline::{LensTimeline, NamedWait, WaitField, WaitLabel, WaitValue};
use crate::lens::timeline::longest::KeptWait;
use crate::settings::Lens;
use unspin_trace::Stacks;

const FIELDS: &[WaitField] = &[
    WaitField { key: "kind", label: "Kind", value: WaitValue::Label(0) },
    WaitField { key: "address", label: "Address", value: WaitValue::Label(1) },
    WaitField { key: "caller", label: "Caller", value: WaitValue::Label(2) },
    WaitField { key: "outcome", label: "Ended", value: WaitValue::Outcome },
];

impl KernelReport {
    /// The longest waits.
    pub fn timeline(lens: &KernelLens, stacks: &Stacks, naming: &Naming) -> LensTimeline {
        let kept = lens.kept.as_ref();
        let names = report::names(lens, stacks, &naming.kernel);
        let label = |one: &LockUse| {
            let stack = stacks.get(one.stack).kernel;
            let frames = naming::frames(&naming.kernel, stack);
            let caller = naming::callers(&frames).first().map(|frame| frame.place.clone());
            let mut functions = naming::functions(&naming.kernel, stack);
            functions.reverse();
            let kind = one.flags.kind();
            let name = names.get(&(one.lock, one.flags.lock_kind())).cloned();
            WaitLabel {
                name: name.unwrap_or_else(|| kind.into()),
                values: vec![kind.into(), format!("{:#x}", one.lock), caller.unwrap_or_default()],
                frames: functions,
            }
        };
        LensTimeline {
            lens: Lens::Kernel,
            fields: FIELDS,
            labels: kept.map_or_else(Vec::new, |kept| kept.uses().into_iter().map(label).collect()),
            waits: kept.map_or_else(Vec::new, |kept| kept.sorted().into_iter().map(wait).collect()),
            left_out: kept.map(|kept| kept.left_out()).unwrap_or_default(),
        }
    }
}

fn wait(kept: &KeptWait<LockWaitEnd>) -> NamedWait {
    let &KeptWait { track, start, end, what, detail: LockWaitEnd { outcome, slept } } = kept;
    let outcome = match (outcome, slept) {
        (LockWaitOutcome::Acquired, false) => "acquired, by spinning",
        (LockWaitOutcome::Acquired, true) => "acquired, after a sleep",
        (LockWaitOutcome::GaveUp, _) => "without the lock",
    };
    NamedWait { track, start, end, label: what as usize, outcome, waker: None, cpu_ns: 0 }
}

#[cfg(test)]
mod tests {
    use super::super::flags::{MUTEX, SPIN};
    use super::super::testing::{TEXT, naming};
    use super::*;
    use crate::lens::collector::Collector;
    use crate::lens::timeline::track::Track;
    use crate::observed::Sink;
    use unspin_trace::{Payload, Record, Sample, StackId, VALUES};

    /// The stack of a wait for a run queue.
    fn locked() -> (Stacks, StackId) {
        let mut stacks = Stacks::default();
        let stack = stacks.number(&[0x10, 0x110, 0x210].map(|offset| TEXT + offset));
        (stacks, stack)
    }

    /// A wait of a thread of process 1, or of the idle thread of CPU 3 if the number is 0, for the lock at 0x10.
    fn note(lens: &mut KernelLens, tid: u32, times: [u64; 2], flags: u32, stack: StackId) {
        for (event, time, second) in [(0, times[0], flags.into()), (1, times[1], 0)] {
            let mut values = [0; VALUES];
            values[..2].copy_from_slice(&[0x10, second]);
            let sample = Sample { event, cpu: 3, ip: 0, in_kernel: true, values, stack };
            let record = Record { time, pid: tid.min(1), tid, payload: Payload::Sample(sample) };
            lens.note(&record, &Stacks::default());
        }
    }

    #[test]
    fn kept_waits_add_up_to_the_table() {
        let mut lens = KernelLens::default();
        lens.keep_waits();
        let (stacks, stack) = locked();
        note(&mut lens, 7, [1000, 1600], MUTEX, stack);
        note(&mut lens, 8, [1200, 1900], MUTEX | SPIN, stack);
        note(&mut lens, 0, [2000, 2010], SPIN, stack);
        let timeline = KernelReport::timeline(&lens, &stacks, &naming());
        let sum: u64 = timeline.waits.iter().map(NamedWait::ns).sum();
        assert_eq!(sum, lens.sums.values().map(|sums| sums.wait_ns()).sum::<u64>());
        let waits: Vec<_> =
            timeline.waits.iter().map(|wait| (wait.track, wait.start, wait.ns(), wait.outcome)).collect();
        assert_eq!(
            waits,
            [
                (Track::Thread(1, 7), 1000, 600, "acquired, after a sleep"),
                (Track::Thread(1, 8), 1200, 700, "acquired, by spinning"),
                (Track::Idle(3), 2000, 10, "acquired, by spinning"),
            ]
        );
        let label = &timeline.labels[timeline.waits[2].label];
        assert_eq!(label.name, "run-queue lock");
        assert_eq!(label.values, ["spinlock", "0x10", "__schedule+0x10"]);
        assert_eq!(label.frames.last().unwrap(), "__pv_queued_spin_lock_slowpath");
    }
}
