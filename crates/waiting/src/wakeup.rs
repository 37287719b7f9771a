//! Measures the cost of waking a thread whose CPU is idle.
//!
//! One thread sleeps. After its CPU has gone idle another thread reads the clock and wakes it. The sleeper reads the
//! clock when it runs again. The cost is the median of some tens of such wake-ups. It contains the exit from the CPU's
//! idle state; on a virtual machine the hypervisor has to schedule the virtual CPU again for that.
//!
//! The two threads are bound to two CPUs. A thread that is woken on its waker's CPU would take that CPU over at once,
//! which costs next to nothing.
//!
//! On a CPU that other threads keep busy a wake-up is much faster, or much slower. Such wake-ups are not made: before
//! each, the kernel is asked how many threads are runnable. On a machine that is busy all the time a typical cost is assumed.

use crate::parameters::PollParameters;
use core::time::Duration;
use unspin_sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use unspin_sync::sync::Arc;
use unspin_sync::thread::{Builder, JoinHandle};
use unspin_sys::event::{Epoll, EventFd};
use unspin_sys::{Errno, clock, futex, sched};

/// The cost of a wake-up, in nanoseconds: the median of up to [`ROUNDS`] wake-ups.
/// [`ASSUMED_NS`] where too few wake-ups met an idle machine, and only there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MeasuredWakeUp {
    /// For a thread that sleeps on a futex.
    pub futex_ns: u64,
    /// For a thread that sleeps in epoll_wait(2).
    pub epoll_ns: u64,
}

/// Number of wake-ups of each kind to measure, unless that takes longer than `TIME_MAX`.
pub const ROUNDS: usize = 31;
/// The time in which wake-ups of one kind begin: a user waits for it at the start of a program.
const TIME_MAX: Duration = Duration::from_millis(10);
/// Fewer valid measurements than this say nothing.
const ROUNDS_MIN: usize = 9;
/// The cost of a wake-up, in nanoseconds, where it cannot be measured.
pub const ASSUMED_NS: u64 = PollParameters::ASSUMED_WAKE_UP_NS;
/// How long the sleeper's CPU stays idle before the wake-up.
const IDLE: Duration = Duration::from_micros(200);

impl MeasuredWakeUp {
    /// Nothing is measured.
    pub const ASSUMED: MeasuredWakeUp = MeasuredWakeUp { futex_ns: ASSUMED_NS, epoll_ns: ASSUMED_NS };

    /// Measures both kinds. Takes 20 ms, and the time until two threads get a CPU. Fails if the process cannot create another
    /// thread or descriptor.
    pub fn measure() -> Result<MeasuredWakeUp, Errno> {
        // In a separate thread, so that the caller keeps its CPU affinity.
        let measured = started(|| {
            let cpus = sched::allowed_cpus();
            let (waker, sleeper) = (cpus.first().copied(), cpus.get(1).copied());
            waker.inspect(|&cpu| sched::stay_on(cpu));
            MeasuredWakeUp::measure_against(sleeper)
        })?;
        measured.join().unwrap_or(Err(Errno::EAGAIN))
    }

    /// Measures with the sleeper on this CPU.
    fn measure_against(cpu: Option<usize>) -> Result<MeasuredWakeUp, Errno> {
        let (epoll, event) = (Epoll::new()?, EventFd::new()?);
        epoll.add(&event)?;
        let epoll_ns = median_of(
            move |event: &EventFd| {
                epoll.wait();
                event.reset();
            },
            EventFd::post,
            Arc::new(event),
            cpu,
        )?;
        let futex_ns = median_of(
            |word: &AtomicU32| {
                // Acquire: pairs with the Release below.
                while word.load(Ordering::Acquire) == 0 {
                    futex::wait(word, 0, None);
                }
                // Relaxed: the waker writes again only after it has read the time that the sleeper publishes.
                word.store(0, Ordering::Relaxed);
            },
            |word| {
                // Release: pairs with the Acquire above.
                word.store(1, Ordering::Release);
                futex::wake(word, 1);
            },
            Arc::new(AtomicU32::new(0)),
            cpu,
        )?;
        Ok(MeasuredWakeUp { futex_ns, epoll_ns })
    }

    /// Whether neither cost is assumed.
    pub fn is_measured(self) -> bool {
        self.futex_ns != ASSUMED_NS && self.epoll_ns != ASSUMED_NS
    }

    /// The larger cost. A poll can pay for that long, whatever the thread would sleep on.
    pub fn ns(self) -> u64 {
        self.futex_ns.max(self.epoll_ns)
    }
}

/// A thread, unless no more are permitted (`ulimit -u`).
fn started<R: Send + 'static>(body: impl FnOnce() -> R + Send + 'static) -> Result<JoinHandle<R>, Errno> {
    Builder::new().spawn(body).map_err(|_| Errno::EAGAIN)
}

/// The median time, in nanoseconds, from the beginning of `wakes` to the end of `sleeps` in another thread, on that
/// CPU.
fn median_of<T: Send + Sync + 'static>(
    sleeps: impl Fn(&T) + Send + 'static,
    wakes: impl Fn(&T),
    what: Arc<T>,
    cpu: Option<usize>,
) -> Result<u64, Errno> {
    let awake_at = Arc::new(AtomicU64::new(0));
    let is_over = Arc::new(AtomicBool::new(false));
    let sleeper = {
        let (what, awake_at, is_over) = (Arc::clone(&what), Arc::clone(&awake_at), Arc::clone(&is_over));
        started(move || {
            cpu.inspect(|&cpu| sched::stay_on(cpu));
            loop {
                sleeps(&what);
                // Relaxed: the waker stores it before the wake-up that it belongs to; the wake-up orders the two accesses. It is read
                // after that wake-up and before the answer: the waker waits for one answer to each wake-up, however late this thread is.
                let is_last = is_over.load(Ordering::Relaxed);
                // Release: pairs with the Acquire below: the sleeper has finished with `what`.
                awake_at.store(clock::ticks(), Ordering::Release);
                if is_last {
                    break;
                }
            }
        })?
    };
    let mut times = Vec::with_capacity(ROUNDS);
    let end = clock::monotonic_ns() + TIME_MAX.as_nanos() as u64;
    loop {
        sched::sleep(IDLE);
        // The calling thread is one of the runnable threads. If the kernel gives no number all wake-ups count.
        let is_idle = sched::runnable().is_none_or(|runnable| runnable <= 1);
        let is_last = clock::monotonic_ns() >= end || is_idle && times.len() + 1 == ROUNDS;
        if !is_idle && !is_last {
            continue;
        }
        // Relaxed: see the sleeper's load.
        is_over.store(is_last, Ordering::Relaxed);
        let woken_at = clock::ticks();
        wakes(&what);
        // Acquire: pairs with the Release above.
        while awake_at.load(Ordering::Acquire) == 0 {
            sched::sleep(Duration::from_micros(20));
        }
        // Relaxed: the sleeper writes it again only after the next wake-up.
        let time = awake_at.swap(0, Ordering::Relaxed).saturating_sub(woken_at);
        if is_idle {
            times.push(time);
        }
        if is_last {
            break;
        }
    }
    let _ = sleeper.join();
    if times.len() < ROUNDS_MIN {
        return Ok(ASSUMED_NS);
    }
    times.sort_unstable();
    let ticks = u128::from(times[times.len() / 2]);
    Ok(match (ticks * 1_000_000_000 / u128::from(clock::ticks_per_second().max(1))) as u64 {
        // A measured cost is never the assumed one.
        ASSUMED_NS => ASSUMED_NS + 1,
        measured => measured,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The waker's time is over before the sleeper gets a CPU, as on a busy machine.
    #[test]
    fn sleeper_that_starts_late_is_waited_for() {
        let late = |_: &()| sched::sleep(4 * TIME_MAX);
        assert_eq!(median_of(late, |()| (), Arc::new(()), None), Ok(ASSUMED_NS));
    }

    #[test]
    fn a_wake_up_takes_time_but_less_than_a_second() {
        let cost = MeasuredWakeUp::measure().unwrap();
        assert!((100..1_000_000_000).contains(&cost.futex_ns), "{cost:?}");
        assert!((100..1_000_000_000).contains(&cost.epoll_ns), "{cost:?}");
        assert_eq!(cost.ns(), cost.futex_ns.max(cost.epoll_ns));
        println!("{cost:?}");
    }
}
