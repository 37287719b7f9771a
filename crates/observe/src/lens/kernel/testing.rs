//! A report for tests.

use super::contention::WaiterId;
use super::flags::{LockFlags, SPIN, WRITE};
use super::lens::{KernelLens, LockUse};
use super::report::KernelReport;
use super::sums::Sums;
use crate::lens::conditions::Conditions;
use crate::lens::naming::Naming;
use unspin_report::next::Subject;
use unspin_symbols::Symbols;
use unspin_trace::{KernelSymbols, Losses, Stacks, Target};

const SYMBOLS: &[u8] = b"\
ffffffff81000000 T __pv_queued_spin_lock_slowpath
ffffffff81000100 T __schedule
ffffffff81000200 T schedule
ffffffff81000300 T do_semtimedop
ffffffff81000400 T rwsem_down_write_slowpath
ffffffff81000500 T other
ffffffff81000600 T end
ffffffff82000000 D tasklist_lock
ffffffff82000040 d next
";

/// Where the functions begin.
pub const TEXT: u64 = 0xffff_ffff_8100_0000;

/// Waits for a run-queue lock by two callers, a semaphore set, an unknown rwsem, and a variable.
pub fn example() -> KernelReport {
    let (mut lens, mut stacks) = (KernelLens::default(), Stacks::default());
    let mut wait = |lock: u64, flags: u32, callers: &[u64], spin_ns: u64, sleep_ns: u64| {
        let chain: Vec<u64> = callers.iter().map(|offset| TEXT + offset).collect();
        let one = LockUse { lock, flags: LockFlags(flags), stack: stacks.number(&chain) };
        let slept = u64::from(sleep_ns > 0);
        let max_ns = spin_ns + sleep_ns;
        let sums =
            Sums { waits: 1, slept, gave_up: 0, whole_ns: spin_ns + sleep_ns, spin_ns, sleep_ns, max_ns };
        lens.sums.entry(one).or_default().merge(&sums);
    };
    wait(0x10, SPIN, &[0x10, 0x110, 0x210], 4000, 0);
    wait(0x10, SPIN, &[0x10, 0x510], 1000, 0);
    wait(0x20, SPIN, &[0x10, 0x110, 0x210], 2000, 0);
    wait(0x30, SPIN, &[0x10, 0x310], 3000, 0);
    wait(0x40, WRITE, &[0x410, 0x510], 0, 90_000);
    wait(0xffff_ffff_8200_0000, SPIN | WRITE, &[0x10, 0x510], 500, 0);
    let conditions = Conditions {
        target: Target::System,
        subject: Subject::System(Vec::new()),
        seconds: 0.001,
        cpus: 2,
        losses: Losses { records: 3, ..Losses::default() },
    };
    lens.contention.begin(WaiterId::Thread(9), 0x50, LockFlags(SPIN), Default::default(), 0);
    KernelReport::new(&lens, &stacks, &naming(), &conditions)
}

/// The names of the kernel's functions here.
pub fn naming() -> Naming {
    Naming { kernel: KernelSymbols::parse(SYMBOLS), programs: Symbols::new() }
}
