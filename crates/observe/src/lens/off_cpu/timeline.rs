//! The longest times that threads were blocked, with names.

use super::kept_waits::BlockedWait;
use super::lens::OffCpuLens;
use super::reason;
use super::report::OffCpuReport;
use super::states::Blocked;
use crate::lens::callers::{Callers, from_caller};
use crate::lens::kernel;
use crate::lens::naming::Naming;
use crate::lens::spaces::SpaceId;
use crate::lens::timeline::lens_timeline::{LensTimeline, NamedWait, WaitField, WaitLabel, WaitValue};
use crate::lens::timeline::longest::KeptWait;
use crate::settings::Lens;
use unspin_trace::Stacks;

const FIELDS: &[WaitField] = &[
    WaitField { key: "call", label: "System call", value: WaitValue::Label(0) },
    WaitField { key: "caller", label: "Caller", value: WaitValue::Label(1) },
    WaitField { key: "waker", label: "Woken by", value: WaitValue::Waker },
];

impl OffCpuReport {
    /// The longest times that threads were blocked.
    pub fn timeline(lens: &OffCpuLens, stacks: &Stacks, naming: &Naming) -> LensTimeline {
        let callers = Callers::new(&lens.spaces, &naming.programs);
        let kept = lens.kept.as_deref().map(|kept| &kept.waits);
        let label = |one: &(SpaceId, Blocked)| label(*one, &callers, stacks, naming);
        LensTimeline {
            lens: Lens::OffCpu,
            fields: FIELDS,
            labels: kept.map_or_else(Vec::new, |kept| kept.uses().into_iter().map(label).collect()),
            waits: kept.map_or_else(Vec::new, |kept| kept.sorted().into_iter().map(wait).collect()),
            left_out: kept.map(|kept| kept.left_out()).unwrap_or_default(),
        }
    }
}

fn label(
    (space, blocked): (SpaceId, Blocked),
    callers: &Callers<'_>,
    stacks: &Stacks,
    naming: &Naming,
) -> WaitLabel {
    let (reason, call) = reason::of(blocked, stacks, &naming.kernel);
    let (in_kernel, in_program) = match blocked {
        Blocked::At(stack, _) => (stacks.get(stack).kernel, stacks.get(stack).user),
        Blocked::Before(..) => (&[][..], &[][..]),
    };
    let frames = callers.frames(space, in_program);
    let caller = from_caller(&frames).first().map(|frame| frame.place.clone());
    let mut functions = kernel::functions(&naming.kernel, in_kernel);
    functions.extend(frames.into_iter().map(|frame| frame.function_or_place()));
    functions.reverse();
    WaitLabel {
        name: reason.name().into(),
        values: vec![call.unwrap_or_default(), caller.unwrap_or_default()],
        frames: functions,
    }
}

fn wait(kept: &KeptWait<BlockedWait>) -> NamedWait {
    let &KeptWait { track, start, end, what, detail: BlockedWait { waker, cpu_ns } } = kept;
    NamedWait { track, start, end, label: what as usize, outcome: "", waker, cpu_ns }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{PID, naming, noted, stacks};
    use super::*;
    use crate::lens::collector::Collector;
    use crate::lens::timeline::track::Track;

    #[test]
    fn kept_waits_add_up_to_the_time_blocked() {
        let (stacks, [futex, pipe]) = stacks();
        let mut lens = OffCpuLens::default();
        lens.keep_waits();
        let lens = noted(lens, &[futex, pipe, futex]);
        let timeline = OffCpuReport::timeline(&lens, &stacks, &naming());
        let sum: u64 = timeline.waits.iter().map(NamedWait::ns).sum();
        assert_eq!(sum, lens.blocked.values().map(|sum| sum.ns).sum::<u64>());
        assert_eq!((timeline.waits.len(), sum), (3, 3_000_000));
        let [first, second, _] = &timeline.waits[..] else { panic!("{timeline:?}") };
        assert_eq!((first.track, first.start, first.end), (Track::Thread(PID, 5), 20_000, 1_020_000));
        assert_eq!(first.waker, Some(Track::Thread(PID, 7)));
        assert_eq!(second.cpu_ns - first.cpu_ns, 10_000);
        let label = &timeline.labels[first.label];
        assert_eq!((label.name.as_str(), label.values[0].as_str()), ("futex", "futex"));
        assert_eq!(label.frames, ["__x64_sys_futex", "futex_do_wait", "schedule"]);
    }
}
