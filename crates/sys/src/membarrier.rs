//! `membarrier(2)`: lets readers do without a fence by making the writer issue it on every CPU.
//!
//! The *global expedited* command reaches the threads of every process that registered for it, which is what
//! a protocol across processes needs; the private command reaches one address space only.

use crate::raw;

// <linux/membarrier.h>
const MEMBARRIER_CMD_GLOBAL_EXPEDITED: usize = 1 << 1;
const MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED: usize = 1 << 2;

fn command(cmd: usize) -> bool {
    // SAFETY: membarrier takes no pointers.
    unsafe { raw::call(libc::SYS_membarrier, [cmd, 0, 0]) }.is_ok()
}

/// Registers this process (its address space) as a receiver of [`global_expedited`] barriers. `false` where
/// the kernel or a seccomp filter refuses: the readers of such a process must issue their own fences.
pub fn register_global_expedited() -> bool {
    command(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED)
}

/// A full memory barrier on every running thread of every registered process, and on the caller. `false`
/// where it is refused: then nothing was ordered.
pub fn global_expedited() -> bool {
    command(MEMBARRIER_CMD_GLOBAL_EXPEDITED)
}
