//! Whether the kernel counts the involuntary context switches of a thread (getrusage(2), `ru_nivcsw`). A thread that polls
//! notices by this count that another thread needs its CPU. gVisor leaves it at 0.

use super::{Child, Waited};
use crate::mem::Mapping;
use crate::{Errno, process, raw, sched};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// What the children and their parent share. All zeroes at first.
///
/// Relaxed throughout: each word is one fact, and the parent reads the verdict after the child's end.
struct Race {
    /// Whether the children are to end: set by the parent.
    is_over: AtomicU32,
    /// How often the children have run that use the CPUs.
    turns: AtomicU32,
    /// How often the child has looked that watches its count, as its progress.
    looks: AtomicU32,
    verdict: AtomicU32,
}

const COUNTED: u32 = 1;
const UNCOUNTED: u32 = 2;
/// After the other process has run so often while this one yielded, the count would have risen.
const TURNS: u32 = 64;
/// Where no process can be bound to a CPU, so many for each CPU keep them all busy.
const OF_EACH_CPU: usize = 2;
/// On more CPUs than these they are not kept busy.
const CPUS_MAX: usize = 16;

/// Whether a thread that yields its CPU to another one is counted as switched. `None` if that could not be found out: no two
/// processes got one CPU in time. sched_yield(2) and getrusage(2) must be permitted.
///
/// # Errors
/// Those of fork(2) and mmap(2).
pub fn switches_are_counted() -> Result<Option<bool>, Errno> {
    // SAFETY: no arguments.
    let cpu = usize::try_from(unsafe { libc::sched_getcpu() }).map_err(|_| Errno::ENOSYS)?;
    if let Some(found) = race(Some(cpu), 1)? {
        return Ok(Some(found));
    }
    // A filter may forbid sched_setaffinity(2), or kill for it.
    match sched::affinity_count() {
        cpus @ ..=CPUS_MAX => race(None, OF_EACH_CPU * cpus),
        _ => Ok(None),
    }
}

/// Lets so many processes run beside the one that watches its count, on one CPU or where the kernel places them.
fn race(cpu: Option<usize>, others: usize) -> Result<Option<bool>, Errno> {
    let race = Mapping::map_shared_with_children(size_of::<Race>())?;
    // SAFETY: zeroed memory, aligned and large enough, of atomics only; it lives until the end of this function, and the
    // children have copies of the mapping.
    let race = unsafe { &*race.start().as_ptr().cast::<Race>() };
    let mut running = [const { None }; OF_EACH_CPU * CPUS_MAX];
    for child in running.iter_mut().take(others) {
        *child = Some(Child::start(|| run(race, cpu))?);
    }
    let watched = Child::start(|| watch(race, cpu))?;
    let waited = watched.wait(&|| race.looks.load(Relaxed));
    race.is_over.store(1, Relaxed);
    Ok(match (waited, race.verdict.load(Relaxed)) {
        (Waited::Ended, COUNTED) => Some(true),
        (Waited::Ended, UNCOUNTED) => Some(false),
        _ => None,
    })
}

/// The child that uses a CPU. It ends by itself if the parent is killed.
fn run(race: &Race, cpu: Option<usize>) {
    const MOST: u32 = 1 << 24;
    if !is_bound(cpu) {
        return;
    }
    while race.is_over.load(Relaxed) == 0 && race.turns.fetch_add(1, Relaxed) < MOST {
        sched::yield_now();
    }
}

/// The child that yields and looks at its count.
fn watch(race: &Race, cpu: Option<usize>) {
    const MOST: u32 = 1 << 18;
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
        // On several CPUs others run without a switch.
        if seen >= TURNS && cpu.is_some() {
            return race.verdict.store(UNCOUNTED, Relaxed);
        }
    }
}

/// Binds the calling process to the CPU, if there is one; also true if there is no other.
fn is_bound(cpu: Option<usize>) -> bool {
    let Some(cpu) = cpu else { return true };
    let mut mask = [0u64; 128];
    let Some(word) = mask.get_mut(cpu / 64) else { return false };
    *word = 1 << (cpu % 64);
    let arguments = [0, size_of_val(&mask), mask.as_ptr() as usize];
    // SAFETY: a live mask; 0 is the calling thread.
    let bound = unsafe { raw::call(libc::SYS_sched_setaffinity, arguments) };
    bound.is_ok() || sched::affinity_count() == 1
}
