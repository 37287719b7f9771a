//! CPUs and the scheduler.

use crate::{Errno, file, futex, raw};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use core::time::Duration;

/// Number of CPUs that the calling thread may run on, at least 1.
pub fn affinity_count() -> usize {
    affinity().iter().map(|word| word.count_ones() as usize).sum::<usize>().max(1)
}

/// A CPU mask: 8192 bits, the most CPUs that x86-64 kernels support.
type Cpus = [u64; 128];

/// The CPUs that the calling thread may run on; none if the kernel does not report them.
fn affinity() -> Cpus {
    let mut mask: Cpus = [0; 128];
    // SAFETY: the kernel writes at most the given size into `mask`.
    let _ = unsafe {
        raw::call(libc::SYS_sched_getaffinity, [0, size_of_val(&mask), mask.as_mut_ptr() as usize])
    };
    mask
}

/// The numbers of the CPUs that the calling thread may run on.
pub fn allowed_cpus() -> Vec<usize> {
    let mask = affinity();
    (0..mask.len() * 64).filter(|cpu| mask[cpu / 64] >> (cpu % 64) & 1 == 1).collect()
}

/// Binds the calling thread to a CPU, if it may run there.
pub fn stay_on(cpu: usize) {
    let mut mask: Cpus = [0; 128];
    let Some(word) = mask.get_mut(cpu / 64) else { return };
    *word = 1 << (cpu % 64);
    // SAFETY: a live mask; 0 is the calling thread.
    let _ =
        unsafe { raw::call(libc::SYS_sched_setaffinity, [0, size_of_val(&mask), mask.as_ptr() as usize]) };
}

/// Binds the calling thread, and what it starts from now on, to the CPU that it runs on. Where one thread always waits for
/// another, as a tracer does for what it steps, two CPUs would only wait for each other: the kernel busily waits until a
/// tracee is off its CPU.
pub fn stay_here() {
    // SAFETY: no arguments.
    if let Ok(cpu) = usize::try_from(unsafe { libc::sched_getcpu() }) {
        stay_on(cpu);
    }
}

/// Binds the calling thread, and what it starts from now on, to these CPUs.
///
/// # Errors
/// If the thread may run on none of them, or the kernel does not permit it.
pub fn stay_on_all(cpus: &[usize]) -> Result<(), Errno> {
    let mut mask: Cpus = [0; 128];
    for &cpu in cpus {
        if let Some(word) = mask.get_mut(cpu / 64) {
            *word |= 1 << (cpu % 64);
        }
    }
    // SAFETY: a live mask; 0 is the calling thread.
    let set =
        unsafe { raw::call(libc::SYS_sched_setaffinity, [0, size_of_val(&mask), mask.as_ptr() as usize]) };
    set.map(|_| ())
}

/// Number of threads of this machine that run or are ready to run now, including the calling one: proc(5),
/// `/proc/loadavg`. None if the kernel does not report it.
pub fn runnable() -> Option<u32> {
    let mut buffer = [0; 96];
    let text = core::str::from_utf8(file::read_small(c"/proc/loadavg", &mut buffer).ok()?).ok()?;
    text.split_ascii_whitespace().nth(3)?.split('/').next()?.parse().ok()
}

/// Gives up the CPU once.
pub fn yield_now() {
    // SAFETY: no arguments.
    let _ = unsafe { raw::call(libc::SYS_sched_yield, []) };
}

/// Yields to the thread that the caller waits for. A real-time thread sleeps for some 50 µs, because sched_yield(2)
/// would not give the CPU to a thread of lower priority: if that thread may run only on this CPU, the caller would wait
/// for ever.
pub fn yield_or_sleep() {
    match real_time_priority() {
        0 => yield_now(),
        _ => sleep(Duration::from_micros(50)),
    }
}

/// Sleeps until the time is over or a signal arrives. Does not change `errno`, which the C library's sleep would write.
pub fn sleep(time: Duration) {
    // A futex that no thread wakes.
    let private_word = AtomicU32::new(0);
    futex::wait(&private_word, 0, Some(time));
}

/// Whether the kernel may be asked about threads. A program that has restricted its system calls (seccomp(2)) may have
/// forbidden those calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ThreadQueries {
    /// The calls may be made.
    Allowed,
    /// The calls must not be made.
    Forbidden,
}

static FORBIDDEN: AtomicBool = AtomicBool::new(false);

/// Sets whether the kernel may be asked.
pub fn set_thread_queries(queries: ThreadQueries) {
    // Relaxed: a thread that installs a filter sees its own store; other threads get the filter after the store, if at
    // all.
    FORBIDDEN.store(queries == ThreadQueries::Forbidden, Ordering::Relaxed);
}

/// Whether the kernel may be asked.
pub fn thread_queries() -> ThreadQueries {
    // Relaxed: see `set_thread_queries`.
    if FORBIDDEN.load(Ordering::Relaxed) { ThreadQueries::Forbidden } else { ThreadQueries::Allowed }
}

/// Makes the calling thread a real-time thread of the lowest priority (SCHED_FIFO 1), if that is permitted: it runs
/// before all threads that are none. Threads and processes that it creates are none.
pub fn become_real_time() {
    let parameters = libc::sched_param { sched_priority: 1 };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    let arguments = [0, policy as usize, &raw const parameters as usize];
    // SAFETY: the kernel reads the live `sched_param`. 0 is the calling thread.
    let _ = unsafe { raw::call(libc::SYS_sched_setscheduler, arguments) };
}

/// The policy of tasks that a scheduler of sched_ext schedules which does not take all tasks (include/uapi/linux/sched.h).
const SCHED_EXT: usize = 7;

/// Gives the calling thread the policy SCHED_EXT. What it creates inherits that. Without a scheduler of sched_ext the kernel treats
/// it as a normal thread. `EINVAL` if the kernel has no sched_ext, `EACCES` or `EPERM` if the loaded scheduler or the kernel
/// refuses the thread.
pub fn become_extensible() -> Result<(), Errno> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the kernel reads the live `sched_param`. 0 is the calling thread.
    unsafe { raw::call(libc::SYS_sched_setscheduler, [0, SCHED_EXT, &raw const parameters as usize]) }
        .map(drop)
}

/// The calling thread's current real-time priority: 1 to 99 for SCHED_FIFO and SCHED_RR, 100 for SCHED_DEADLINE, which
/// precedes them, and 0 for all other classes. Its own priority, not an inherited one.
///
/// Also 0 where [`ThreadQueries`] are forbidden.
pub fn real_time_priority() -> u32 {
    if thread_queries() == ThreadQueries::Forbidden {
        return 0;
    }
    // SAFETY: 0 is the calling thread; no pointers.
    let policy = unsafe { raw::call(libc::SYS_sched_getscheduler, [0]) };
    match policy.map(|policy| policy as i32 & !libc::SCHED_RESET_ON_FORK) {
        Ok(libc::SCHED_FIFO | libc::SCHED_RR) => {
            let mut parameters = libc::sched_param { sched_priority: 0 };
            // SAFETY: as above, and a live sched_param.
            let _ = unsafe { raw::call(libc::SYS_sched_getparam, [0, &raw mut parameters as usize]) };
            parameters.sched_priority.max(1) as u32
        }
        Ok(libc::SCHED_DEADLINE) => 100,
        _ => 0,
    }
}

/// The least [`precedence`] of a thread of a real-time class.
pub const REAL_TIME: i32 = 100;

/// How much the scheduler prefers a thread to others; the greater, the more. 0 is the calling thread. Priorities that
/// the thread has inherited do not count.
///
/// Real-time classes precede all others: [`REAL_TIME`]. Among the others the nice value decides; SCHED_IDLE is below
/// every nice value (sched(7)). None if the thread does not exist, or where [`ThreadQueries`] are forbidden.
pub fn precedence(tid: u32) -> Option<i32> {
    if thread_queries() == ThreadQueries::Forbidden {
        return None;
    }
    let tid = tid as usize;
    // SAFETY: no pointers.
    let policy = unsafe { raw::call(libc::SYS_sched_getscheduler, [tid]) }.ok()?;
    match policy as i32 & !libc::SCHED_RESET_ON_FORK {
        libc::SCHED_FIFO | libc::SCHED_RR => {
            let mut parameters = libc::sched_param { sched_priority: 0 };
            // SAFETY: a live sched_param.
            unsafe { raw::call(libc::SYS_sched_getparam, [tid, &raw mut parameters as usize]) }.ok()?;
            Some(REAL_TIME + parameters.sched_priority)
        }
        libc::SCHED_DEADLINE => Some(2 * REAL_TIME),
        libc::SCHED_IDLE => Some(0),
        // The kernel returns 20 less the nice value: 1 to 40 (getpriority(2)).
        // SAFETY: no pointers.
        _ => unsafe { raw::call(libc::SYS_getpriority, [libc::PRIO_PROCESS as usize, tid]) }
            .ok()
            .map(|nice| nice as i32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    /// Makes the calling thread real-time; returns whether that is permitted.
    fn become_real_time() -> bool {
        let parameters = libc::sched_param { sched_priority: 3 };
        let policy = libc::SCHED_RR | libc::SCHED_RESET_ON_FORK;
        // SAFETY: a live sched_param; 0 is the calling thread, which the test ends.
        let given = unsafe {
            raw::call(libc::SYS_sched_setscheduler, [0, policy as usize, &raw const parameters as usize])
        };
        if given.is_err() {
            let _ = writeln!(
                std::io::stderr(),
                "SKIPPED: no real-time priority here: give the process CAP_SYS_NICE or `ulimit -r 99`"
            );
        }
        given.is_ok()
    }

    #[test]
    fn the_calling_thread_is_runnable() {
        assert!(runnable().is_none_or(|threads| threads >= 1));
    }

    #[test]
    fn idle_thread_has_the_lowest_precedence() {
        let (own, idle) = std::thread::spawn(|| {
            let own = precedence(0);
            let parameters = libc::sched_param { sched_priority: 0 };
            // SAFETY: a live sched_param; 0 is the calling thread, which the test ends. Every thread may do this.
            let set = unsafe {
                raw::call(
                    libc::SYS_sched_setscheduler,
                    [0, libc::SCHED_IDLE as usize, &raw const parameters as usize],
                )
            };
            assert!(set.is_ok());
            (own, precedence(0))
        })
        .join()
        .unwrap();
        assert!(own.is_some_and(|own| (1..=40).contains(&own)), "{own:?}");
        assert_eq!(idle, Some(0));
        assert_eq!(precedence(u32::MAX >> 1), None);
    }

    #[test]
    fn real_time_priority_is_that_which_was_set() {
        let thread = std::thread::spawn(|| (real_time_priority(), become_real_time(), real_time_priority()));
        let (before, given, after) = thread.join().unwrap();
        assert_eq!((before, after), (0, if given { 3 } else { 0 }));
    }

    /// How often the calling thread has left the CPU to wait.
    fn sleeps_of_this_thread() -> i64 {
        // SAFETY: a structure of integers, which the call fills in.
        unsafe {
            let mut usage: libc::rusage = core::mem::zeroed();
            assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, &mut usage), 0);
            usage.ru_nvcsw
        }
    }

    /// Both threads run on one CPU. If the first one only yielded, it would keep the CPU, until real-time throttling takes
    /// it from all real-time threads for a while (sched_rt_runtime_us). So it has to leave the CPU by itself: in each round,
    /// unless the time of its sleep is over before it sleeps.
    #[test]
    fn yield_or_sleep_lets_a_lower_priority_thread_run() {
        static DONE: AtomicBool = AtomicBool::new(false);
        // SAFETY: no arguments.
        let cpu = unsafe { libc::sched_getcpu() } as usize;
        let rounds = std::thread::spawn(move || {
            stay_on(cpu);
            let given = become_real_time();
            let lesser = std::thread::spawn(move || {
                stay_on(cpu);
                DONE.store(true, Ordering::SeqCst);
            });
            let before = sleeps_of_this_thread();
            let rounds =
                (0u64..).take_while(|_| !DONE.load(Ordering::SeqCst)).inspect(|_| yield_or_sleep()).count();
            let sleeps = sleeps_of_this_thread() - before;
            lesser.join().unwrap();
            given.then_some((rounds, sleeps))
        });
        if let Some((rounds, sleeps)) = rounds.join().unwrap() {
            assert!(rounds == 0 || sleeps > 0, "{rounds} rounds");
        }
    }
}
