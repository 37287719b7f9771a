//! Whether the kernel counts the involuntary context switches of a thread (getrusage(2), `ru_nivcsw`). A thread that polls
//! notices by this count that another thread needs its CPU. gVisor leaves it at 0.

use super::{Child, Waited};
use crate::mem::Mapping;
use crate::{Errno, process, raw, sched};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// What two children and their parent share. All zeroes at first.
///
/// Relaxed throughout: each word is one fact, and the parent reads the verdict after the child's end.
struct Race {
    /// Whether both children are to run: cleared by the parent at the end.
    is_over: AtomicU32,
    /// How often the second child has run.
    turns: AtomicU32,
    /// How often the first child has looked, as its progress.
    looks: AtomicU32,
    verdict: AtomicU32,
}

const COUNTED: u32 = 1;
const UNCOUNTED: u32 = 2;
/// After the other thread has run so often while this one yielded, the count would have risen.
const TURNS: u32 = 64;

/// Whether a thread that yields its CPU to another one is counted as switched. `None` if that could not be found out: the two
/// could not be bound to one CPU, or did not get it in time. sched_yield(2) and getrusage(2) must be permitted.
///
/// # Errors
/// Those of fork(2) and mmap(2).
pub fn switches_are_counted() -> Result<Option<bool>, Errno> {
    let race = Mapping::map_shared_with_children(size_of::<Race>())?;
    // SAFETY: zeroed memory, aligned and large enough, of atomics only; it lives until the end of this function, and the
    // children have copies of the mapping.
    let race = unsafe { &*race.start().as_ptr().cast::<Race>() };
    // SAFETY: no arguments.
    let cpu = unsafe { libc::sched_getcpu() };
    let cpu = usize::try_from(cpu).map_err(|_| Errno::ENOSYS)?;
    let other = Child::start(|| run(race, cpu))?;
    let watched = Child::start(|| watch(race, cpu))?;
    let waited = watched.wait(&|| race.looks.load(Relaxed));
    race.is_over.store(1, Relaxed);
    drop(other);
    Ok(match (waited, race.verdict.load(Relaxed)) {
        (Waited::Ended, COUNTED) => Some(true),
        (Waited::Ended, UNCOUNTED) => Some(false),
        _ => None,
    })
}

/// The child that uses the CPU. It ends by itself if the parent is killed.
fn run(race: &Race, cpu: usize) {
    const MOST: u32 = 1 << 24;
    if !is_bound(cpu) {
        return;
    }
    while race.is_over.load(Relaxed) == 0 && race.turns.fetch_add(1, Relaxed) < MOST {
        sched::yield_now();
    }
}

/// The child that yields and looks at its count.
fn watch(race: &Race, cpu: usize) {
    const MOST: u32 = 1 << 22;
    if !is_bound(cpu) {
        return;
    }
    let before = process::involuntary_switches();
    let mut seen = 0;
    while race.looks.fetch_add(1, Relaxed) < MOST {
        let turns = race.turns.load(Relaxed);
        sched::yield_now();
        seen += u32::from(turns > 0 && race.turns.load(Relaxed) != turns);
        if seen > 0 && process::involuntary_switches() != before {
            return race.verdict.store(COUNTED, Relaxed);
        }
        if seen >= TURNS {
            return race.verdict.store(UNCOUNTED, Relaxed);
        }
    }
}

/// Binds the calling process to a CPU; also true if there is no other.
fn is_bound(cpu: usize) -> bool {
    let mut mask = [0u64; 128];
    let Some(word) = mask.get_mut(cpu / 64) else { return false };
    *word = 1 << (cpu % 64);
    let arguments = [0, size_of_val(&mask), mask.as_ptr() as usize];
    // SAFETY: a live mask; 0 is the calling thread.
    let bound = unsafe { raw::call(libc::SYS_sched_setaffinity, arguments) };
    bound.is_ok() || sched::affinity_count() == 1
}
