//! One poll: repeated checks, at intervals that leave the CPU to threads that need it.

use crate::cpu_pressure::CpuPressure;
use crate::host;
use crate::parameters::PollParameters;
use unspin_sync::hint;

/// The cost of one check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckKind {
    /// A load from memory: checks follow each other closely at first.
    Load,
    /// A system call.
    Call,
}

/// The result of a poll.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PollOutcome<T> {
    /// A check succeeded, this many ticks after the poll began.
    Found(T, u64),
    /// A check found it, after another thread had needed the CPU.
    FoundLate(T),
    /// The time is over, after this many ticks.
    TimedOut(u64),
    /// Another thread needed the CPU.
    CpuNeeded,
}

/// Checks by load follow each other closely for this time. After that the poller yields between checks.
const CLOSE_NS: u64 = 800;
/// Number of pause instructions between two checks after that: some hundred nanoseconds.
const PAUSES: u32 = 12;
/// The time between two checks that indicates that the thread lost its CPU. The kernel's timer interrupt takes less.
const AWAY_NS: u64 = 6_000;
/// So many wake-ups between two checks mean that a computing thread had the CPU for its slice: some 0.2 ms.
const SLICE_WAKE_UPS: u64 = 6;

/// Calls `check` until it returns something, for at most `budget` ticks.
#[inline]
pub fn poll<T>(
    parameters: &PollParameters,
    pressure: &CpuPressure,
    budget: u64,
    kind: CheckKind,
    mut check: impl FnMut() -> Option<T>,
) -> PollOutcome<T> {
    let began = host::ticks();
    if pressure.is_high(began) {
        return PollOutcome::CpuNeeded;
    }
    let (close, away_max) = (host::ticks_in(CLOSE_NS), host::ticks_in(AWAY_NS));
    let mut switches = None;
    let mut last_check = began;
    loop {
        let found = check();
        let now = host::ticks();
        let (spent, away) = (now.wrapping_sub(began), now.wrapping_sub(last_check));
        // A short absence does not matter if the answer came meanwhile.
        let most = if found.is_some() { SLICE_WAKE_UPS * parameters.wake_up } else { away_max };
        let is_late = away > most && is_switch(&mut switches);
        if is_late {
            pressure.report(away, now, parameters.wake_up);
        }
        match found {
            Some(found) if is_late => return PollOutcome::FoundLate(found),
            Some(found) => return PollOutcome::Found(found, spent),
            None if is_late => return PollOutcome::CpuNeeded,
            None => {}
        }
        if spent > budget {
            return PollOutcome::TimedOut(spent);
        }
        last_check = now;
        if kind == CheckKind::Load && spent < close {
            hint::spin_loop();
            continue;
        }
        if switches.is_none() {
            switches = Some(host::involuntary_switches());
        }
        host::yield_now();
        for _ in 0..PAUSES {
            hint::spin_loop();
        }
    }
}

/// Whether the thread has lost its CPU to another thread since `switches` was first filled. The hypervisor may also
/// take a CPU, and an interrupt may take long. To stop polling for these would help no thread.
fn is_switch(switches: &mut Option<u64>) -> bool {
    let now = host::involuntary_switches();
    switches.replace(now).is_some_and(|before| before != now)
}
