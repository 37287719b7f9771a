//! What it costs to wake a thread whose CPU is idle.
//!
//! One thread sleeps; after its CPU has gone idle another thread notes the time, wakes it, and the sleeper notes the time at
//! which it runs again. The median of some tens of such wake-ups is the cost. It contains the way out of the CPU's idle state,
//! which on a virtual machine means that the hypervisor schedules the CPU again.
//!
//! The two threads are bound to two CPUs: a thread that is woken on its waker's CPU takes it over at once, which costs next to
//! nothing.
//!
//! A CPU that other threads keep busy wakes a thread much faster, or much later. Such wake-ups do not count: before each the
//! kernel is asked how many threads are runnable. On a machine that is busy throughout a usual cost is assumed.

use core::time::Duration;
use unspin_sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use unspin_sync::sync::Arc;
use unspin_sync::thread;
use unspin_sys::event::{Epoll, Event};
use unspin_sys::{Errno, clock, futex, sched};

/// What a wake-up costs, in nanoseconds: the median of up to [`ROUNDS`].
/// [`ASSUMED_NS`] where too few CPUs were idle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WakeUp {
    /// Of a thread that sleeps on a futex.
    pub futex_ns: u64,
    /// Of a thread that sleeps in epoll_wait(2).
    pub epoll_ns: u64,
}

/// Wake-ups of each sort that are timed: so many that count, unless that takes too many tries.
pub const ROUNDS: usize = 31;
const TRIES: usize = 3 * ROUNDS;
/// Fewer that count say nothing.
const ROUNDS_MIN: usize = 9;
/// A wake-up of a virtual machine whose CPU has halted, in nanoseconds: assumed where it cannot be measured.
pub const ASSUMED_NS: u64 = 40_000;
/// How long the sleeper's CPU is left idle before it is woken.
const IDLE: Duration = Duration::from_micros(200);

impl WakeUp {
    /// Measures both sorts. Takes some 20 ms, three times as long on a busy machine. Fails if the process may have no more threads or descriptors.
    pub fn measure() -> Result<WakeUp, Errno> {
        // In a thread of its own, so that the caller keeps its CPUs.
        let measured = thread::spawn(|| {
            let cpus = sched::allowed_cpus();
            let (waker, sleeper) = (cpus.first().copied(), cpus.get(1).copied());
            waker.inspect(|&cpu| sched::stay_on(cpu));
            WakeUp::measure_against(sleeper)
        });
        measured.join().unwrap_or(Err(Errno::EAGAIN))
    }

    /// With the sleeper on that CPU.
    fn measure_against(cpu: Option<usize>) -> Result<WakeUp, Errno> {
        let (epoll, event) = (Epoll::new()?, Event::new()?);
        epoll.add(&event)?;
        let epoll_ns = median_of(
            move |event: &Event| {
                epoll.wait();
                event.take();
            },
            Event::give,
            Arc::new(event),
            cpu,
        );
        let futex_ns = median_of(
            |word: &AtomicU32| {
                // Acquire: partner of the Release below.
                while word.load(Ordering::Acquire) == 0 {
                    futex::wait(word, 0, None);
                }
                // Relaxed: the waker writes again only after it has read the time that the sleeper publishes.
                word.store(0, Ordering::Relaxed);
            },
            |word| {
                // Release: partner of the Acquire above.
                word.store(1, Ordering::Release);
                futex::wake(word, 1);
            },
            Arc::new(AtomicU32::new(0)),
            cpu,
        );
        Ok(WakeUp { futex_ns, epoll_ns })
    }

    /// The dearer one: for as long as that a poll can pay, whatever the thread would sleep on.
    pub fn ns(self) -> u64 {
        self.futex_ns.max(self.epoll_ns)
    }
}

/// The median time from the beginning of `wakes` to the end of `sleeps` in another thread, on that CPU, in nanoseconds.
fn median_of<T: Send + Sync + 'static>(
    sleeps: impl Fn(&T) + Send + 'static,
    wakes: impl Fn(&T),
    what: Arc<T>,
    cpu: Option<usize>,
) -> u64 {
    let awake_at = Arc::new(AtomicU64::new(0));
    let is_over = Arc::new(AtomicBool::new(false));
    let sleeper = {
        let (what, awake_at, is_over) = (Arc::clone(&what), Arc::clone(&awake_at), Arc::clone(&is_over));
        thread::spawn(move || {
            cpu.inspect(|&cpu| sched::stay_on(cpu));
            // Relaxed: the waker stores it before the wake-up that it is about, which orders.
            while !is_over.load(Ordering::Relaxed) {
                sleeps(&what);
                // Release: partner of the Acquire below: the sleeper is done with `what`.
                awake_at.store(clock::ticks(), Ordering::Release);
            }
        })
    };
    let mut times = Vec::with_capacity(ROUNDS);
    for tried in 1..=TRIES {
        sched::nap(IDLE);
        // The calling thread is one of them; where the kernel does not say, all wake-ups count.
        let is_idle = sched::runnable().is_none_or(|runnable| runnable <= 1);
        let is_last = tried == TRIES || is_idle && times.len() + 1 == ROUNDS;
        // Relaxed: see the sleeper.
        is_over.store(is_last, Ordering::Relaxed);
        let woken_at = clock::ticks();
        wakes(&what);
        // Acquire: partner of the Release above.
        while awake_at.load(Ordering::Acquire) == 0 {
            sched::nap(Duration::from_micros(20));
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
        return ASSUMED_NS;
    }
    times.sort_unstable();
    let ticks = u128::from(times[times.len() / 2]);
    (ticks * 1_000_000_000 / u128::from(clock::ticks_per_second().max(1))) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_up_takes_time_but_less_than_a_second() {
        let cost = WakeUp::measure().unwrap();
        assert!((100..1_000_000_000).contains(&cost.futex_ns), "{cost:?}");
        assert!((100..1_000_000_000).contains(&cost.epoll_ns), "{cost:?}");
        assert_eq!(cost.ns(), cost.futex_ns.max(cost.epoll_ns));
        println!("{cost:?}");
    }
}
