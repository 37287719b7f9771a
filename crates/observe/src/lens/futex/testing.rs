//! Calls for tests, and a report of some.

use super::call::FutexAction;
use super::lens::{FutexLens, Point};
use super::report::FutexReport;
use crate::lens::conditions::Conditions;
use crate::lens::naming::Naming;
use crate::observed::Sink;
use unspin_report::next::Subject;
use unspin_symbols::Symbols;
use unspin_trace::{KernelSymbols, Losses, Payload, Record, Sample, StackId, Stacks, Target, VALUES};

/// Passes calls to a lens.
pub struct Calls {
    pub lens: FutexLens,
    pub stacks: Stacks,
}

impl Calls {
    pub fn new() -> Calls {
        let pairs = [
            [Point::Futex, Point::Exit],
            [Point::Enter(FutexAction::WakeSeveral), Point::Exit],
            [Point::Restart, Point::RestartExit],
        ];
        let events = pairs.concat();
        Calls { lens: FutexLens::of(events), stacks: Stacks::default() }
    }

    pub fn sample(&mut self, event: usize, tid: u32, time: u64, first: u64, second: u64, stack: StackId) {
        let mut values = [0; VALUES];
        values[..2].copy_from_slice(&[first, second]);
        let sample = Sample { event, cpu: 0, ip: 0, in_kernel: true, values, stack };
        let record = Record { time, pid: PID, tid, payload: Payload::Sample(sample) };
        self.lens.note(&record, &Stacks::default());
    }

    /// A call from one time to another, with what it returns.
    pub fn call(&mut self, tid: u32, operation: u64, address: u64, times: [u64; 2], returned: i64) {
        let stack = self.stacks.number(&[(-512_i64).cast_unsigned(), 0x1000 + operation]);
        self.sample(0, tid, times[0], address, operation, stack);
        self.sample(1, tid, times[1], returned.cast_unsigned(), 0, StackId::EMPTY);
    }
}

/// A process that does not exist.
pub const PID: u32 = u32::MAX - 1;
pub const WAIT: u64 = 128;
pub const WAKE: u64 = 129;

/// Waits at three futexes, and wakes at two.
pub fn example() -> FutexReport {
    let mut calls = Calls::new();
    calls.call(1, WAIT, 0x10, [0, 1_000_000], 0);
    calls.call(1, WAIT, 0x10, [1_001_000, 3_001_000], 0);
    calls.call(1, WAIT, 0x20, [4_000_000, 4_010_000], -110);
    calls.call(2, WAKE, 0x10, [1_000_000, 1_000_100], 1);
    calls.call(2, WAKE, 0x10, [3_000_000, 3_000_100], 1);
    calls.call(2, WAKE, 0x30, [3_000_200, 3_000_300], 0);
    let conditions = Conditions {
        target: Target::Tree(7),
        subject: Subject::Process(7),
        seconds: 0.005,
        cpus: 2,
        losses: Losses { records: 2, ..Losses::default() },
    };
    let naming = Naming { kernel: KernelSymbols::none(), programs: Symbols::new() };
    FutexReport::new(&calls.lens, &calls.stacks, &naming, &conditions)
}
