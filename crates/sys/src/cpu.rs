//! The CPU on which the calling thread runs, for the cost of a load.
//!
//! Since 2.35, glibc registers each thread for restartable sequences (rseq(2)). The kernel writes the CPU's number into
//! the registered area whenever the thread is scheduled. glibc exports the area's distance from the thread pointer as a
//! symbol.

use crate::glibc;
use core::arch::asm;
use core::sync::atomic::{AtomicIsize, Ordering};

/// Distance of the CPU number from the thread pointer; 0 if unknown.
static AT: AtomicIsize = AtomicIsize::new(0);

/// 1 plus the number of the calling thread's CPU; 0 if unknown. The result may be outdated at once.
#[inline(always)]
pub fn get() -> u32 {
    // Relaxed: a constant once it is known, and 0 is always a valid answer.
    let at = AT.load(Ordering::Relaxed);
    if at == 0 {
        return 0;
    }
    let cpu: u32;
    // SAFETY: `at` is the distance of this thread's rseq `cpu_id`, which only the kernel writes.
    unsafe {
        asm!(
            "mov {cpu:e}, dword ptr fs:[{at}]",
            cpu = out(reg) cpu,
            at = in(reg) at,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    // -1 there means that the thread is not registered.
    cpu.wrapping_add(1)
}

/// Finds the area, once; until then the CPU is unknown. Asks the dynamic linker, which may allocate: a program part
/// that cannot tolerate that later calls this at the start.
pub fn prepare() {
    static LOOKED: core::sync::atomic::AtomicBool = core::sync::atomic::AtomicBool::new(false);
    // Relaxed: it only decides which thread came first.
    if !LOOKED.load(Ordering::Relaxed) && !LOOKED.swap(true, Ordering::Relaxed) {
        look();
    }
}

#[cold]
fn look() {
    // dlsym(3) would find nothing, and until 2.34 its first call takes a key of thread-specific data.
    if glibc::is_before(2, 35) {
        return;
    }
    // SAFETY: the names are C strings. Where glibc has the symbols, they are a `ptrdiff_t` and an `unsigned int` that
    // do not change once the program runs.
    let (offset, size) = unsafe {
        let offset = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_offset".as_ptr()).cast::<isize>();
        let size = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr()).cast::<u32>();
        (offset.as_ref().copied(), size.as_ref().copied())
    };
    // A size of 0 means that nothing is registered.
    if let (Some(offset), Some(1..)) = (offset, size) {
        // Relaxed: see `get`.
        AT.store(offset + CPU_ID, Ordering::Relaxed);
    }
}

/// Offset of `cpu_id` in `struct rseq` (linux/rseq.h).
const CPU_ID: isize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sched;
    use std::io::Write as _;

    #[test]
    fn cpu_equals_that_of_the_kernel() {
        prepare();
        prepare();
        if get() == 0 {
            let _ = writeln!(
                std::io::stderr(),
                "SKIPPED: no restartable sequences here (glibc 2.35, Linux 4.18)"
            );
            return;
        }
        let named = || {
            let mut cpu = 0u32;
            // SAFETY: a live unsigned int; the other arguments may be null.
            unsafe { libc::syscall(libc::SYS_getcpu, &mut cpu, 0, 0) };
            cpu + 1
        };
        // The thread may migrate between the two calls.
        assert!((0..1_000).any(|_| get() == named()));
        sched::yield_now();
        assert!(std::thread::spawn(|| get() != 0).join().unwrap());
    }
}
