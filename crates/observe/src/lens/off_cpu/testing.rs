//! Records for tests, and a report of some.

use super::lens::{OffCpuLens, SWITCH, WAKEUP};
use super::report::OffCpuReport;
use crate::lens::conditions::Conditions;
use crate::lens::naming::Naming;
use crate::observed::Sink;
use unspin_report::next::Subject;
use unspin_symbols::Symbols;
use unspin_trace::{KernelSymbols, Losses, Payload, Record, Sample, StackId, Stacks, Switch, Target, VALUES};

/// A process that does not exist.
pub const PID: u32 = u32::MAX - 1;

pub fn note(lens: &mut OffCpuLens, time: u64, tid: u32, payload: Payload) {
    lens.note(&Record { time, pid: PID, tid, payload }, &Stacks::default());
}

pub fn sample(event: usize, values: &[u64], stack: StackId) -> Payload {
    let mut all = [0; VALUES];
    all[..values.len()].copy_from_slice(values);
    Payload::Sample(Sample { event, cpu: 0, ip: 0, in_kernel: true, values: all, stack })
}

/// A thread that runs, blocks at each of these stacks for 1 ms, is woken and runs again, each 10 µs later.
pub fn blocked_at(stacks: &[StackId]) -> OffCpuLens {
    noted(OffCpuLens::default(), stacks)
}

/// The same, noted by this lens.
pub fn noted(mut lens: OffCpuLens, stacks: &[StackId]) -> OffCpuLens {
    note(&mut lens, 0, 5, Payload::Fork { parent: PID });
    note(&mut lens, 10_000, 5, Payload::Switch(Switch::In));
    let mut now = 10_000;
    for &stack in stacks {
        note(&mut lens, now + 10_000, 5, sample(SWITCH, &[5, 1], stack));
        note(&mut lens, now + 1_010_000, 7, sample(WAKEUP, &[5], StackId::EMPTY));
        note(&mut lens, now + 1_020_000, 5, Payload::Switch(Switch::In));
        now += 1_020_000;
    }
    note(&mut lens, now + 10_000, 5, Payload::Exit);
    lens.end(now + 50_000);
    lens
}

const SYMBOLS: &[u8] = b"\
ffffffff81000000 T schedule
ffffffff81000100 T futex_do_wait
ffffffff81000200 T __x64_sys_futex
ffffffff81000300 T anon_pipe_read
ffffffff81000400 T end
";

/// A thread that was blocked at a futex twice and at a pipe once, for 1 ms each.
pub fn example() -> OffCpuReport {
    let (stacks, [futex, pipe]) = stacks();
    let lens = blocked_at(&[futex, pipe, futex]);
    let losses = Losses { records: 1, ..Losses::default() };
    let conditions = Conditions {
        target: Target::Children,
        subject: Subject::Program(vec!["./server".into()]),
        seconds: 0.0031,
        cpus: 2,
        losses,
    };
    OffCpuReport::new(&lens, &stacks, &naming(), &conditions)
}

/// The stacks of a thread that is blocked at a futex, and at a pipe.
pub fn stacks() -> (Stacks, [StackId; 2]) {
    let text = 0xffff_ffff_8100_0000;
    let mut stacks = Stacks::default();
    let futex = stacks.number(&[text + 0x10, text + 0x110, text + 0x210]);
    let pipe = stacks.number(&[text + 0x10, text + 0x310]);
    (stacks, [futex, pipe])
}

/// The names of the kernel's functions there.
pub fn naming() -> Naming {
    Naming { kernel: KernelSymbols::parse(SYMBOLS), programs: Symbols::new() }
}
