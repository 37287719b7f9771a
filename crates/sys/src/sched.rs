//! CPUs and the scheduler.

use crate::raw;

/// CPUs that the calling thread may run on, at least 1.
pub fn affinity_count() -> usize {
    let mut mask = [0u64; 128]; // 8192 CPUs, the most that x86-64 kernels are built for
    // SAFETY: the kernel writes at most the given size into `mask`.
    let bytes = unsafe {
        raw::call(libc::SYS_sched_getaffinity, [0, size_of_val(&mask), mask.as_mut_ptr() as usize])
    };
    match bytes {
        Ok(n) => mask[..n / 8].iter().map(|w| w.count_ones() as usize).sum::<usize>().max(1),
        Err(_) => 1,
    }
}

/// Gives up the CPU once.
pub fn yield_now() {
    // SAFETY: no arguments.
    let _ = unsafe { raw::call(libc::SYS_sched_yield, []) };
}

/// The calling thread's priority in a real-time class as it is now: 1 to 99 for SCHED_FIFO and SCHED_RR, 100 for
/// SCHED_DEADLINE, which goes before them, and 0 for all other classes. Its own, not one that it was lent.
pub fn real_time_priority() -> u32 {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_the_priority_that_it_was_given() {
        let asked = std::thread::spawn(|| {
            let before = real_time_priority();
            let parameters = libc::sched_param { sched_priority: 3 };
            // SAFETY: a live sched_param; 0 is the calling thread, which ends here.
            let given = unsafe {
                raw::call(
                    libc::SYS_sched_setscheduler,
                    [
                        0,
                        (libc::SCHED_RR | libc::SCHED_RESET_ON_FORK) as usize,
                        &raw const parameters as usize,
                    ],
                )
            };
            (before, given.is_ok(), real_time_priority())
        });
        let (before, given, after) = asked.join().unwrap();
        assert_eq!(before, 0);
        if given {
            assert_eq!(after, 3);
        } else {
            println!("SKIPPED: no real-time priority here: give the process CAP_SYS_NICE or `ulimit -r 99`");
            assert_eq!(after, 0);
        }
    }
}
