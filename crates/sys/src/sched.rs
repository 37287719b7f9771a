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
