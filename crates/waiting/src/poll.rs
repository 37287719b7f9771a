//! One poll: looks, at a pace that leaves the CPU to threads that need it.

use crate::crowd::Crowd;
use crate::host;
use crate::policy::Policy;
use unspin_sync::hint;

/// What a look costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Looks {
    /// A load: looks follow each other closely at first.
    Load,
    /// A system call.
    Call,
}

/// How a poll ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Polled<T> {
    /// A look found it, so many ticks after the poll began.
    Found(T, u64),
    /// A look found it, after another thread had needed the CPU.
    FoundLate(T),
    /// The time is over, after so many ticks.
    InVain(u64),
    /// Another thread needed the CPU.
    Crowded,
}

/// Looks by load follow each other closely for so many ticks; after that the poller yields between looks.
const CLOSE: u64 = 2_000;
/// Pauses between two looks after that: some hundred nanoseconds.
const PAUSES: u32 = 12;
/// Ticks between two looks that say that the CPU was away: some 6 us at 2.6 GHz; a tick of the kernel's clock takes less.
const AWAY: u64 = 16_000;

/// Looks until `look` finds something, for at most `budget` ticks.
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
        let spent = now.wrapping_sub(began);
        let is_late = now.wrapping_sub(looked) > AWAY && is_switch(&mut switches);
        if is_late {
            crowd.note(now.wrapping_sub(looked), now, policy.wake_up);
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

/// Whether the thread has lost its CPU to another one since it asked for the first time. The hypervisor may take a CPU as
/// well, and an interrupt may last; no thread is served by stopping for these.
fn is_switch(switches: &mut Option<u64>) -> bool {
    let now = host::involuntary_switches();
    switches.replace(now).is_some_and(|before| before != now)
}
