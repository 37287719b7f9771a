//! One poll: repeated checks, at intervals that leave the CPU to threads that need it.

use crate::crowd::Crowd;
use crate::host;
use crate::policy::Policy;
use unspin_sync::hint;

/// The cost of one check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Looks {
    /// A load from memory: checks follow each other closely at first.
    Load,
    /// A system call.
    Call,
}

/// The result of a poll.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Polled<T> {
    /// A check succeeded, this many ticks after the poll began.
    Found(T, u64),
    /// A look found it, after another thread had needed the CPU.
    FoundLate(T),
    /// The time is over, after this many ticks.
    InVain(u64),
    /// Another thread needed the CPU.
    Crowded,
}

/// Checks by load follow each other closely for this many ticks. After that the poller yields between checks.
const CLOSE: u64 = 2_000;
/// Number of pause instructions between two checks after that: some hundred nanoseconds.
const PAUSES: u32 = 12;
/// Ticks between two checks that indicate that the thread lost its CPU: some 6 us at 2.6 GHz. The kernel's timer
/// interrupt takes less.
const AWAY: u64 = 16_000;
/// So many wake-ups between two looks mean that a computing thread had the CPU for its slice: some 0.2 ms.
const SLICE_WAKE_UPS: u64 = 6;

/// Calls `look` until it returns something, for at most `budget` ticks.
#[inline]
pub fn poll<T>(
    policy: &Policy,
    crowd: &Crowd,
    budget: u64,
    looks: Looks,
    mut look: impl FnMut() -> Option<T>,
) -> Polled<T> {
    let began = host::ticks();
    if crowd.is_here(began) {
        return Polled::Crowded;
    }
    let mut switches = None;
    let mut looked = began;
    loop {
        let found = look();
        let now = host::ticks();
        let (spent, away) = (now.wrapping_sub(began), now.wrapping_sub(looked));
        // A short absence does not matter if the answer came meanwhile.
        let most = if found.is_some() { SLICE_WAKE_UPS * policy.wake_up } else { AWAY };
        let is_late = away > most && is_switch(&mut switches);
        if is_late {
            crowd.note(away, now, policy.wake_up);
        }
        match found {
            Some(found) if is_late => return Polled::FoundLate(found),
            Some(found) => return Polled::Found(found, spent),
            None if is_late => return Polled::Crowded,
            None => {}
        }
        if spent > budget {
            return Polled::InVain(spent);
        }
        looked = now;
        if looks == Looks::Load && spent < CLOSE {
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
